"""Expressions of a kernel: each syntax node becomes a Python closure over lane values, with numba's type."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from course.errors import CourseError
from course.simulator.errors import LaunchError
from course.simulator.kernels import lookup
from course.simulator.names import CUDA_NAMES, CudaName, is_cuda_module, numba_has
from course.simulator.source.compiler.arrays import Arrays
from course.simulator.source.compiler.program import NOTHING, Expr, Scope
from course.simulator.source.compiler.values import constant, make_tuple, never, outside, special_register, what
from course.simulator.source.lanes import UNBOUND, Mask, State, Value, convert
from course.simulator.spelling import did_you_mean, did_you_mean_path
from course.simulator.types import ArrayType, RecordType, TupleType

__all__ = ["Expressions"]

_TRIPLES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


class Expressions(Arrays):
    """Compiles expressions; the functions that a kernel may call are in `intrinsics` and `functions`."""

    def _constant(self, scope: Scope, node: ast.Constant) -> Expr:
        return outside(scope, node, node.value)

    def _name(self, scope: Scope, node: ast.Name) -> Expr:
        name = node.id
        if name in scope.env:
            return self._variable(scope, node)
        if name in scope.slots:
            meant = did_you_mean(name, [n for n in scope.env if n != name])
            raise scope.mistyped(node, f"variable {name} is used before it is assigned.{meant}")
        try:
            value = lookup(scope.source.function, name)
        except KeyError:
            own = [*scope.slots, *(n for n in scope.source.function.__globals__ if not n.startswith("_"))]
            raise scope.mistyped(node, f"name {name!r} is not defined.{did_you_mean_path(name, own)}") from None
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
            if path in CUDA_NAMES or (name in ("x", "y", "z") and path[:-2] in _TRIPLES):
                return self.cuda_value(scope, node, path)
            if not is_cuda_module(value) or not hasattr(value, name):
                raise self._no_cuda_name(scope, node, path)
        try:
            found = getattr(value, name)
        except AttributeError:
            shown = scope.source.text(node.value)
            raise scope.mistyped(node, f"{shown} has no {name}.{did_you_mean(name, dir(value), f'{shown}.')}") from None
        return outside(scope, node, found)

    def _no_cuda_name(self, scope: Scope, node: ast.expr, path: str) -> CourseError:
        """An error about `cuda.<path>`: misspelt, or a name of numba's that the simulator lacks."""
        parent, _, name = path.rpartition(".")
        siblings = [
            known.removeprefix(f"{parent}.") for known in CUDA_NAMES if known.startswith(f"{parent}." if parent else "")
        ]
        siblings = [known for known in siblings if known and "." not in known]
        where = f"cuda.{parent}" if parent else "cuda"
        if numba_has(path):
            return scope.refuse(node, f"cuda.{path} is not supported by the simulator.")
        if parent in _TRIPLES:
            return scope.mistyped(node, f"{where} has no {name}: it has x, y and z.")
        return scope.mistyped(node, f"{where} has no {name}.{did_you_mean(name, siblings, f'{where}.')}")

    def cuda_value(self, scope: Scope, node: ast.expr, path: str) -> Expr:
        """What `cuda.<path>` is, when it is not called."""
        expr = special_register(path)
        return Expr(never, None, CudaName(path)) if expr is None else expr

    def _slice(self, scope: Scope, node: ast.Slice) -> Expr:
        raise scope.refuse(node, "a slice is supported as an array index only.")

    def device_call(self, scope: Scope, node: ast.Call, callee: Any) -> Expr:
        """Call of a device function."""
        raise NotImplementedError
