"""Expressions of a kernel: each syntax node becomes a Python closure over lane values, with numba's type."""

from __future__ import annotations

import ast
import types
from typing import Any

import numpy as np

from course.simulator.compiler.arrays import Arrays
from course.simulator.compiler.program import NOTHING, Expr, Scope
from course.simulator.compiler.values import constant, make_tuple, never, outside, special_register, what
from course.simulator.frontend import lookup
from course.simulator.lanes import UNBOUND, LaunchError, Mask, State, Value, convert
from course.simulator.names import CUDA_NAMES, CudaName, is_cuda_module
from course.simulator.typing import ArrayType, RecordType, TupleType

__all__ = ["Expressions"]


class Expressions(Arrays):
    """Compiles expressions; the functions that a kernel may call are in `intrinsics` and `functions`."""

    def _constant(self, scope: Scope, node: ast.Constant) -> Expr:
        return outside(scope, node, node.value)

    def _name(self, scope: Scope, node: ast.Name) -> Expr:
        name = node.id
        if name in scope.env:
            return self._variable(scope, node)
        if name in scope.slots:
            raise scope.mistyped(node, f"variable {name} is used before it is assigned.")
        try:
            value = lookup(scope.source.function, name)
        except KeyError:
            raise scope.mistyped(node, f"name {name!r} is not defined.") from None
        self.program.remember(scope.source.function, name, value)
        return outside(scope, node, value)

    def _variable(self, scope: Scope, node: ast.Name) -> Expr:
        kind, const = scope.env[node.id]
        if const is not NOTHING:
            return outside(scope, node, const) if kind is None else constant(const, kind, const)
        slot, name, line = scope.slots[node.id], node.id, node.lineno

        def load(state: State, mask: Mask) -> Value:
            value = state.variables[slot]
            if value is UNBOUND:
                raise LaunchError(f"variable {name} has no value yet for any thread that gets here.", line=line)
            return value

        if not isinstance(kind, np.dtype):
            return Expr(load, kind, pure=True)

        def load_scalar(state: State, mask: Mask) -> Value:
            value = state.variables[slot]
            if value is UNBOUND:
                return load(state, mask)
            return value if value.dtype is kind else convert(value, kind)

        return Expr(load_scalar, kind, pure=True)

    def _tuple(self, scope: Scope, node: ast.Tuple) -> Expr:
        parts = [self.expression(scope, element) for element in node.elts]
        return make_tuple(parts)

    def _attribute(self, scope: Scope, node: ast.Attribute) -> Expr:
        base, name = self.expression(scope, node.value), node.attr
        if isinstance(base.const, np.ndarray):
            base = self.constant_array(scope, node.value, base.const)
        if base.known and base.kind is None:
            return self._outside_attribute(scope, node, base.const, name)
        kind, run = base.kind, base.run
        if isinstance(kind, ArrayType):
            return self._array_attribute(scope, node, base, name)
        if isinstance(kind, RecordType):
            return self._field(scope, node, base, name)
        if isinstance(kind, np.dtype) and name in ("real", "imag"):
            if kind.kind != "c":
                return base if name == "real" else constant(kind.type(0), kind, 0)
            half = np.dtype(f"f{kind.itemsize // 2}")
            return Expr(lambda state, mask: getattr(run(state, mask), name), half, pure=base.pure)
        if isinstance(kind, TupleType) and kind.vector and name in "xyzw"[: len(kind.items)]:
            place = "xyzw".index(name)
            return Expr(lambda state, mask: run(state, mask)[place], kind.items[place], pure=base.pure)
        raise scope.mistyped(node, f"{what(base)} has no attribute {name!r}: {scope.source.text(node)}")

    def _outside_attribute(self, scope: Scope, node: ast.Attribute, value: Any, name: str) -> Expr:
        path = "" if is_cuda_module(value) else value.path if isinstance(value, CudaName) else None
        if path is not None:
            path = f"{path}.{name}" if path else name
            if path in CUDA_NAMES or path.split(".")[0] in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
                return self.cuda_value(scope, node, path)
            if not is_cuda_module(value) or not hasattr(value, name):
                raise scope.refuse(node, f"cuda.{path} is not supported by the simulator.")
        if not isinstance(value, (types.ModuleType, type)) and not hasattr(value, name):
            raise scope.mistyped(node, f"{value!r} has no attribute {name!r}.")
        try:
            found = getattr(value, name)
        except AttributeError:
            raise scope.mistyped(node, f"{scope.source.text(node)} does not exist.") from None
        return outside(scope, node, found)

    def cuda_value(self, scope: Scope, node: ast.expr, path: str) -> Expr:
        """What `cuda.<path>` is, when it is not called."""
        expr = special_register(path)
        return Expr(never, None, CudaName(path)) if expr is None else expr

    def _slice(self, scope: Scope, node: ast.Slice) -> Expr:
        raise scope.refuse(node, "a slice is supported as an array index only.")

    def _call(self, scope: Scope, node: ast.Call) -> Expr:
        from course.simulator.compiler.intrinsics import call

        return call(self, scope, node)

    def device_call(self, scope: Scope, node: ast.Call, callee: Any) -> Expr:
        """Call of a device function."""
        raise NotImplementedError
