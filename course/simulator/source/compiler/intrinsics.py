"""Calls in a kernel: which function is meant, and the functions of numba.cuda."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course.simulator.fused import fused
from course.simulator.names import VECTORS, CudaName
from course.simulator.source.compiler import asynccopies, atomics, warps
from course.simulator.source.compiler.arithmetic import greater, lesser
from course.simulator.source.compiler.expressions import Expressions
from course.simulator.source.compiler.functions import (
    arguments,
    builtin,
    convert_call,
    dtype_of,
    plain,
    plain_name,
    scalars,
)
from course.simulator.source.compiler.program import Expr, Scope
from course.simulator.source.compiler.values import INT64, array_name, make_tuple, untuple
from course.simulator.source.compiler.wideaccess import wide_load, wide_store
from course.simulator.source.lanes import convert
from course.simulator.types import ArrayType, NoneType, TupleType

__all__ = ["call"]


def call(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    """Compile a call."""
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        raise scope.refuse(node, f"* and ** in a call are not supported: {scope.source.text(node)}")
    if isinstance(node.func, ast.Attribute) and not _from_module(compiler, scope, node.func):
        raise scope.refuse(node, f"method .{node.func.attr}() is not supported: {scope.source.text(node)}")
    callee = compiler.expression(scope, node.func)
    if not callee.known or callee.kind is not None:
        raise scope.mistyped(node, f"this is no function: {scope.source.text(node.func)}")
    function = callee.const
    if isinstance(function, CudaName):
        return _cuda_call(compiler, scope, node, function.path)
    if hasattr(function, "py_func"):
        return compiler.device_call(scope, node, function)
    _refuse_whole_arrays(scope, node, function)
    if node.keywords:
        raise scope.refuse(node, f"keyword arguments are not supported here: {scope.source.text(node)}")
    dtype = dtype_of(function)
    if function in (int, float, bool, complex) or dtype is not None:
        return convert_call(compiler, scope, node, function, dtype)
    special = builtin(function)
    if special is not None:
        return special(compiler, scope, node)
    name = plain_name(function)
    if name is not None:
        return plain(compiler, scope, node, function, name)
    if function is range:
        raise scope.refuse(node, "range(...) is supported in `for ... in range(...)` only.")
    if isinstance(function, np.ufunc):
        instead = f": use math.{function.__name__}" if hasattr(math, function.__name__) else ""
        raise scope.mistyped(node, f"numba has no np.{function.__name__} for a GPU{instead}.")
    of_library = str(getattr(function, "__module__", None)).split(".")[0] in ("numpy", "numba", "course", "math")
    if callable(function) and hasattr(function, "__code__") and not of_library:
        raise scope.refuse(
            node, f"{scope.source.text(node.func)} is a plain Python function: decorate it with @cuda.jit(device=True)."
        )
    raise scope.refuse(node, f"{scope.source.text(node.func)}(...) is not supported in a kernel.")


_MAKERS = {
    np.zeros, np.empty, np.ones, np.full, np.arange, np.linspace, np.array, np.asarray, np.zeros_like, np.empty_like,
    np.ones_like, np.full_like, np.eye, np.identity,
}  # fmt: skip
_WHOLE = {np.dot, np.sum, np.mean, np.prod, np.cumsum, np.max, np.min, np.argmax, np.argmin, np.any, np.all, sum}


def _refuse_whole_arrays(scope: Scope, node: ast.Call, function: Any) -> None:
    """A thread makes no array with NumPy, and does nothing to a whole one: name what does."""
    text = scope.source.text(node.func)
    if getattr(function, "__hash__", None) is None:
        return
    if function in _MAKERS:
        raise scope.refuse(
            node, f"{text}(...) makes no array in a kernel. Use cuda.local.array(shape, dtype) for an array of each "
            "thread or cuda.shared.array(shape, dtype) for one of the block, with constant sizes, and set its elements."
        )  # fmt: skip
    if function in _WHOLE or function is np.matmul:
        raise scope.refuse(
            node, f"{text}(...) works on whole arrays, and a thread of a kernel on one element at a time: "
            "write the loop over the elements."
        )  # fmt: skip


def _from_module(compiler: Expressions, scope: Scope, node: ast.Attribute) -> bool:
    base = compiler.expression(scope, node.value)
    return base.known and base.kind is None


def _cuda_call(compiler: Expressions, scope: Scope, node: ast.Call, path: str) -> Expr:
    if path in ("shared.array", "local.array"):
        return _declare(compiler, scope, node, path.split(".")[0])
    if node.keywords:
        raise scope.refuse(node, f"keyword arguments are not supported here: {scope.source.text(node)}")
    if path == "const.array_like":
        return _constant_array(compiler, scope, node)
    if path in ("grid", "gridsize"):
        return _grid(compiler, scope, node, path)
    if path.startswith("atomic."):
        return atomics.compile_atomic(compiler, scope, node, path.split(".")[1])
    if path in ("load4", "store4"):
        return _wide(compiler, scope, node, path)
    if path.startswith("cp_async"):
        return asynccopies.compile_copy(compiler, scope, node, path)
    if path in ("threadfence", "threadfence_block", "threadfence_system"):
        arguments(compiler, scope, node, 0)
        return Expr(lambda state, mask: warps.pass_barrier(state, mask, node.lineno, "fence"), NoneType())
    if path in ("selp", "fma", "cbrt") or path.startswith("fp16."):
        return _arithmetic(compiler, scope, node, path)
    if path in VECTORS:
        return _vector(compiler, scope, node, path)
    return warps.compile_warp(compiler, scope, node, path)


def _known_shape(scope: Scope, node: ast.AST, expr: Expr) -> tuple[int, ...]:
    value = expr.const
    sizes = value if isinstance(value, tuple) else (value,)
    if not expr.known or not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise scope.mistyped(
            node, "the shape of a shared or local array must be a constant: a number, or a name set outside "
            f"the kernel, got {scope.source.text(node)}. Use shared.array(0, ...) for a size given at the launch."
        )  # fmt: skip
    if any(isinstance(child, ast.BinOp) and any(isinstance(leaf, ast.Name) for leaf in ast.walk(child))
           for child in ast.walk(node)):  # fmt: skip
        raise scope.mistyped(
            node, f"numba takes no arithmetic in the shape of a shared or local array: {scope.source.text(node)}. "
            "Compute the number outside the kernel (W = T + 1) and use its name."
        )  # fmt: skip
    return tuple(int(size) for size in sizes)


def _declare(compiler: Expressions, scope: Scope, node: ast.Call, space: Any) -> Expr:
    given: dict[str, ast.expr] = dict(zip(("shape", "dtype", "alignment"), node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    if not {"shape", "dtype"} <= set(given) <= {"shape", "dtype", "alignment"}:
        raise scope.mistyped(node, f"expected a shape and a dtype: {scope.source.text(node)}")
    shape = _known_shape(scope, given["shape"], compiler.expression(scope, given["shape"]))
    dtype = _dtype_argument(compiler, scope, given["dtype"])
    if (space == "local" and 0 in shape) or (space == "shared" and 0 in shape and shape != (0,)):
        raise scope.mistyped(node, f"the array has no elements: {scope.source.text(node)}")
    return compiler.declare(scope, node, space, shape, dtype)


def _dtype_argument(compiler: Expressions, scope: Scope, node: ast.expr) -> np.dtype[Any]:
    expr = compiler.expression(scope, node)
    if expr.known and isinstance(expr.const, str):
        raise scope.mistyped(node, f"give the dtype as a type (float32), not as text: {scope.source.text(node)}")
    dtype = dtype_of(expr.const) if expr.known else None
    if dtype is None:
        raise scope.mistyped(node, f"expected a type such as float32, got {scope.source.text(node)}")
    return dtype


def _constant_array(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    (expr,) = arguments(compiler, scope, node, 1)
    if not isinstance(expr.const, np.ndarray):
        raise scope.mistyped(node, f"const.array_like needs a NumPy array from outside: {scope.source.text(node)}")
    return compiler.constant_array(scope, node, expr.const)


def _grid(compiler: Expressions, scope: Scope, node: ast.Call, path: str) -> Expr:
    (expr,) = arguments(compiler, scope, node, 1)
    if not expr.known or expr.const not in (1, 2, 3):
        raise scope.mistyped(node, f"expected 1, 2 or 3 dimensions: {scope.source.text(node)}")

    def along(axis: str) -> Expr:
        place = "xyz".index(axis)
        if path == "grid":
            return Expr(lambda state, mask: state.grid_index(axis), INT64, pure=True)
        return Expr(lambda state, mask: np.int64(state.grid[place] * state.block[place]), INT64, pure=True)

    parts = [along(axis) for axis in "xyz"[: expr.const]]
    return parts[0] if len(parts) == 1 else make_tuple(parts)


def _arithmetic(compiler: Expressions, scope: Scope, node: ast.Call, path: str) -> Expr:
    name = path.split(".")[-1]
    count = {"selp": 3, "fma": 3, "cbrt": 1, "hfma": 3, "hneg": 1, "habs": 1}.get(name, 2)
    exprs = scalars(compiler, scope, node, count)
    if path.startswith("fp16."):
        kind = np.dtype(np.float16)
    elif name == "selp":
        kind = compiler.unified(scope, node, exprs[1].kind, exprs[2].kind)
    else:
        kind = compiler.unified(scope, node, exprs[0].kind, exprs[-1].kind)
    if name == "selp":
        exprs = [compiler.truth(exprs[0]), *(compiler.cast(expr, kind) for expr in exprs[1:])]
    else:
        exprs = [compiler.cast(expr, kind) for expr in exprs]
        compiler.count(kind, 2 if name.endswith("fma") else 0 if name in ("hneg", "habs", "hmax", "hmin") else 1)
    table: dict[str, Callable[..., Any]] = {
        "selp": np.where, "fma": fused, "hfma": fused, "cbrt": np.cbrt,
        "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.true_divide, "hneg": np.negative,
        "habs": np.absolute, "hmax": greater, "hmin": lesser,
    }  # fmt: skip
    compute = table[name]
    runs = [expr.run for expr in exprs]
    return Expr(lambda state, mask: convert(compute(*(run(state, mask) for run in runs)), kind), kind,
                pure=all(expr.pure for expr in exprs))  # fmt: skip


def _vector(compiler: Expressions, scope: Scope, node: ast.Call, path: str) -> Expr:
    """float32x4(a, b, c, d): numbers, and shorter vectors, side by side."""
    name, lanes = VECTORS[path]
    parts = [item for expr in arguments(compiler, scope, node, 1, lanes) for item in
             (untuple(expr) if isinstance(expr.kind, TupleType) else [expr])]  # fmt: skip
    if len(parts) == 1:
        parts *= lanes
    if len(parts) != lanes or not all(isinstance(part.kind, np.dtype) for part in parts):
        raise scope.mistyped(node, f"expected {lanes} numbers: {scope.source.text(node)}")
    kind = np.dtype(name)
    made = make_tuple([compiler.cast(part, kind) for part in parts])
    made.kind = TupleType((kind,) * lanes, vector=True)
    return made


def _wide(compiler: Expressions, scope: Scope, node: ast.Call, path: str) -> Expr:
    """load4(a, i) and store4(a, i, v): one 16-byte access of elements i to i + 3."""
    exprs = arguments(compiler, scope, node, 2 if path == "load4" else 3)
    array = exprs[0]
    if not isinstance(array.kind, ArrayType) or array.kind.ndim != 1 or array.kind.dtype.itemsize != 4 \
            or array.kind.dtype.kind not in "fiu":  # fmt: skip
        raise scope.mistyped(node, f"{path} needs a 1-D array of 4-byte numbers: {scope.source.text(node)}")
    index = compiler.index(scope, node, exprs[1])
    kind = array.kind.dtype
    site = compiler.program.site(scope, node, array.kind.space, "load" if path == "load4" else "store",
                                 array.kind.root or array_name(node.args[0]))  # fmt: skip
    if path == "load4":
        return Expr(wide_load(array.run, index.run, site), TupleType((kind,) * 4))
    if not isinstance(exprs[2].kind, TupleType) or len(exprs[2].kind.items) != 4:
        raise scope.mistyped(node, f"store4 stores a tuple of four numbers: {scope.source.text(node)}")
    return Expr(wide_store(array.run, index.run, exprs[2].run, kind, site), NoneType())
