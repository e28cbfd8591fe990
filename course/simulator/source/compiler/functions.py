"""Functions of Python, math and NumPy that a kernel may call, with the types numba gives them."""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from course.simulator.source.compiler.arithmetic import (
    each,
    first_of_zeros,
    floor_divide,
    gamma,
    greater,
    lesser,
    lgamma,
    maximum,
    minimum,
    remainder,
    round_to,
    round_whole,
    scaled,
)
from course.simulator.source.compiler.expressions import Expressions
from course.simulator.source.compiler.operators import BINARY, watched
from course.simulator.source.compiler.program import Expr, Scope
from course.simulator.source.compiler.values import BOOL, FLOAT64, INT64, constant, settled, untuple, what
from course.simulator.source.lanes import Mask, State, Value
from course.simulator.source.resolver import resolver
from course.simulator.types import ArrayType, NoneType, TupleType

__all__ = ["arguments", "builtin", "convert_call", "dtype_of", "plain", "plain_name", "scalars"]


def builtin(function: Any) -> Callable[[Expressions, Scope, ast.Call], Expr] | None:
    """How a function of Python is compiled; None for any other."""
    return _BUILTIN.get(function) if getattr(function, "__hash__", None) is not None else None


def plain_name(function: Any) -> str | None:
    """``math.sqrt``, ``numpy.sin``: the name of a function on numbers; None where it is not supported."""
    module = "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", None)
    name = f"{module}.{getattr(function, '__name__', '')}"
    return name if name in _PLAIN else None


def dtype_of(value: Any) -> np.dtype[Any] | None:
    """A NumPy or numba scalar type, or a dtype, as a dtype; None for anything else."""
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    kind = type(value)
    if kind.__module__.startswith("numba") and kind.__name__ in ("Boolean", "Integer", "Float", "Complex", "Record"):
        from numba.np.numpy_support import as_dtype

        return np.dtype(as_dtype(value))
    return None


def arguments(compiler: Expressions, scope: Scope, node: ast.Call, least: int, most: int | None = None) -> list[Expr]:
    """Compile the arguments of a call, of which there must be `least` to `most`."""
    most = least if most is None else most
    if not least <= len(node.args) <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        raise scope.mistyped(node, f"expected {expected} argument(s), got {len(node.args)}: {scope.source.text(node)}")
    return [compiler.expression(scope, argument) for argument in node.args]


def scalars(compiler: Expressions, scope: Scope, node: ast.Call, least: int, most: int | None = None) -> list[Expr]:
    """Compile arguments that must be numbers."""
    exprs = arguments(compiler, scope, node, least, most)
    for expr in exprs:
        if not isinstance(expr.kind, np.dtype):
            raise scope.mistyped(node, f"expected numbers: {scope.source.text(node)}")
    return exprs


def convert_call(
    compiler: Expressions, scope: Scope, node: ast.Call, function: Any, dtype: np.dtype[Any] | None
) -> Expr:
    """`int(x)`, `float32(x)`, `np.uint8(x)`, `complex(a, b)`."""
    exprs = scalars(compiler, scope, node, 0 if function in (int, float, bool, complex) else 1, 2)
    if len(exprs) == 2:
        if function is not complex and (dtype is None or dtype.kind != "c"):
            raise scope.refuse(node, f"two arguments are not supported here: {scope.source.text(node)}")
        if dtype is None:
            dtype = np.dtype(np.complex64 if all(e.kind == np.float32 for e in exprs) else np.complex128)
        made = dtype
        half = np.dtype(f"f{made.itemsize // 2}")
        real, imaginary = (compiler.cast(expr, half).run for expr in exprs)
        return Expr(lambda state, mask: _complex(real(state, mask), imaginary(state, mask), made), made)
    if not exprs:
        return constant(0, np.dtype({int: "i8", float: "f8", bool: "?", complex: "c16"}[function]), function())
    (expr,) = exprs
    if dtype is None:
        if function is int and expr.kind.kind in "iu":
            dtype = INT64 if expr.kind.kind == "i" else np.dtype(np.uint64)
        elif function is complex:
            narrow = expr.kind in (np.dtype(np.float32), np.dtype(np.complex64))
            dtype = np.dtype(np.complex64 if narrow else np.complex128)
        elif function is float and expr.kind.kind == "f":
            dtype = expr.kind if expr.kind.itemsize >= 4 else np.dtype(np.float32)
        else:
            dtype = {int: INT64, float: FLOAT64, bool: BOOL}[function]
        found = resolver().signature(function, f"builtins.{function.__name__}", (expr.kind,))
        if found is not None:
            dtype = np.dtype(found[1])
    return compiler.cast(expr, dtype)


def _complex(real: Value, imaginary: Value, dtype: np.dtype[Any]) -> Value:
    value = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), dtype)
    value.real, value.imag = real, imaginary
    return value[()]


_ELEMENTARY: dict[str, Callable[..., Value]] = {
    "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "fabs": np.fabs, "exp2": np.exp2,
    "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "radians": scaled(math.pi / 180), "degrees": scaled(180 / math.pi),
}  # fmt: skip

_INVERSE: dict[str, Callable[..., Value]] = {
    "sin": np.arcsin, "cos": np.arccos, "tan": np.arctan, "sinh": np.arcsinh, "cosh": np.arccosh, "tanh": np.arctanh,
}  # fmt: skip

_PLAIN: dict[str, Callable[..., Value]] = {
    **{f"math.{name}": ufunc for name, ufunc in _ELEMENTARY.items()},
    **{f"math.a{name}": ufunc for name, ufunc in _INVERSE.items()},
    "math.atan2": np.arctan2, "math.pow": np.power, "math.ldexp": np.ldexp, "math.erf": each(math.erf),
    "math.erfc": each(math.erfc), "math.gamma": each(gamma), "math.lgamma": each(lgamma),
    # Of NumPy, numba compiles these for a GPU; it has no np.sqrt, np.exp, np.floor there.
    **{f"numpy.{name}": _ELEMENTARY[name] for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "log", "log2",
                                                       "log10", "hypot", "isnan", "radians", "degrees")},
    **{f"numpy.arc{name}": ufunc for name, ufunc in _INVERSE.items()},
    "numpy.arctan2": np.arctan2,
    **{f"numpy.{ufunc.__name__}": first_of_zeros(ufunc) for ufunc in (np.minimum, np.maximum, np.fmin, np.fmax)},
    "numpy.conjugate": np.conjugate, "numpy.divide": np.true_divide,
    "numpy.logical_and": np.logical_and, "numpy.logical_or": np.logical_or, "numpy.logical_not": np.logical_not,
}  # fmt: skip
_NO_FLOPS = {"floor", "ceil", "trunc", "fabs", "isnan", "isinf", "isfinite", "copysign", "minimum", "maximum", "fmin",
             "fmax", "conjugate", "logical_and", "logical_or", "logical_not"}  # fmt: skip


def plain(compiler: Expressions, scope: Scope, node: ast.Call, function: Any, name: str) -> Expr:
    """A function of math or NumPy on numbers, with the types numba gives it."""
    exprs = scalars(compiler, scope, node, 1, 3)
    found = resolver().signature(function, name, tuple(expr.kind for expr in exprs))
    if found is None:
        kinds = ", ".join(expr.kind.name for expr in exprs)
        raise scope.mistyped(node, f"numba has no {name}({kinds}): {scope.source.text(node)}")
    kind = np.dtype(found[1])
    work = [np.dtype(operand) for operand in found[0]]
    if kind.kind in "fc":
        work = [kind if not (name == "math.ldexp" and place) else operand for place, operand in enumerate(work)]
    compute, runs = _PLAIN[name], [compiler.cast(expr, operand).run for expr, operand in zip(exprs, work, strict=True)]
    if name.split(".")[1] not in _NO_FLOPS:
        compiler.count(kind)
    pure = all(expr.pure for expr in exprs)
    if name == "numpy.divide":
        return Expr(watched(scope, node, runs[0], runs[1], compute, kind), kind)
    if len(runs) == 1:
        run = runs[0]
        return compiler.cast_result(lambda state, mask: compute(run(state, mask)), kind, pure)
    return compiler.cast_result(lambda state, mask: compute(*(r(state, mask) for r in runs)), kind, pure)


def _length(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    (expr,) = arguments(compiler, scope, node, 1)
    if isinstance(expr.kind, TupleType):
        return constant(len(expr.kind.items), INT64, len(expr.kind.items))
    if not isinstance(expr.kind, ArrayType):
        raise scope.mistyped(node, f"len() needs an array: {scope.source.text(node)}")
    run = expr.run

    def evaluate(state: State, mask: Mask) -> Value:
        size = run(state, mask).shape[0]
        return np.int64(size) if isinstance(size, int) else size

    return Expr(evaluate, INT64, pure=expr.pure)


def _extreme(name: str, pair: Any, later: Any, whole: Any) -> Callable[[Expressions, Scope, ast.Call], Expr]:
    def compile_(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
        exprs = arguments(compiler, scope, node, 1, 64)
        direct = len(exprs) == 2
        if len(exprs) == 1 and isinstance(exprs[0].kind, TupleType):
            exprs = untuple(exprs[0])
        exprs = [settled(expr) for expr in exprs]
        if len(exprs) < 2 or not all(isinstance(expr.kind, np.dtype) for expr in exprs):
            raise scope.mistyped(node, f"{name}() needs two or more numbers: {scope.source.text(node)}")
        found = resolver().signature(getattr(builtins, name), f"builtins.{name}", tuple(e.kind for e in exprs))
        if found is None:
            raise scope.mistyped(node, f"numba has no {name}() for these types: {scope.source.text(node)}")
        kind = np.dtype(found[1])
        # numba has PTX's max and min for two floats, and a comparison for everything else: they differ in nan.
        floats = direct and all(expr.kind.kind == "f" for expr in exprs)
        choose = pair if floats else whole if kind.kind in "iub" else later
        runs = [compiler.cast(expr, kind).run for expr in exprs]

        def evaluate(state: State, mask: Mask) -> Value:
            value = runs[0](state, mask)
            for run in runs[1:]:
                value = choose(value, run(state, mask))
            return value

        return compiler.folded(Expr(evaluate, kind, pure=all(expr.pure for expr in exprs)), *exprs)

    return compile_


def _absolute(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    (expr,) = scalars(compiler, scope, node, 1)
    found = resolver().signature(abs, "builtins.abs", (expr.kind,))
    if found is None:
        raise scope.mistyped(node, f"numba has no abs() of {expr.kind.name}: {scope.source.text(node)}")
    kind, run = np.dtype(found[1]), expr.run
    return compiler.cast_result(lambda state, mask: np.absolute(run(state, mask)), kind, expr.pure)


def _round(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    exprs = scalars(compiler, scope, node, 1, 2)
    found = resolver().signature(round, "builtins.round", tuple(expr.kind for expr in exprs))
    if found is None:
        raise scope.mistyped(node, f"numba has no round() for these types: {scope.source.text(node)}")
    kind, pure = np.dtype(found[1]), exprs[0].pure
    run = compiler.cast(exprs[0], np.dtype(found[0][0])).run
    if len(exprs) == 1:
        return compiler.cast_result(lambda state, mask: round_whole(run(state, mask)), kind, pure)
    digits, pure = compiler.cast(exprs[1], np.dtype(found[0][1])).run, pure and exprs[1].pure
    return compiler.cast_result(lambda state, mask: round_to(run(state, mask), digits(state, mask)), kind, pure)


def _pow(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    base, exponent = scalars(compiler, scope, node, 2)
    return compiler.binary(scope, node, BINARY[ast.Pow], base, exponent)


def _divmod(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    """Both results of one division: its operands are evaluated, and a divisor of 0 is reported, once."""
    left, right = scalars(compiler, scope, node, 2)
    found = [resolver().signature(function, f"operator.{name}", (left.kind, right.kind)) for name, function in
             (("floordiv", operator.floordiv), ("mod", operator.mod))]  # fmt: skip
    if found[0] is None or found[1] is None:
        raise scope.mistyped(node, f"numba has no divmod() for these types: {scope.source.text(node)}")
    kind = np.dtype(found[0][1])
    compiler.count(kind, 2)
    x, y = compiler.cast(left, kind).run, compiler.cast(right, kind).run

    def compute(number: Value, divisor: Value) -> Value:
        return floor_divide(number, divisor), remainder(number, divisor)

    return Expr(watched(scope, node, x, y, compute, kind), TupleType((kind, kind)))


def _print(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    """print(...) of each active lane, in lane order; at most 1024 lines a batch."""
    exprs = arguments(compiler, scope, node, 0, 64)
    for argument, expr in zip(node.args, exprs, strict=True):
        if expr.kind is None and not isinstance(expr.const, str):
            raise compiler.valueless(scope, argument, expr)
        if expr.kind is not None and not isinstance(expr.kind, np.dtype):
            raise scope.mistyped(
                argument, f"print() in a kernel takes numbers and text, got {what(expr)}: "
                f"{scope.source.text(argument)}. Print its elements one by one."
            )  # fmt: skip

    def evaluate(state: State, mask: Mask) -> Value:
        texts = [expr.const if isinstance(expr.const, str) else expr.run(state, mask) for expr in exprs]
        active = np.ones(state.shape, bool) if mask is None else np.broadcast_to(mask, state.shape)
        for lane in np.flatnonzero(active)[:1024]:
            print(*(t if isinstance(t, str) else np.broadcast_to(t, state.shape).flat[lane] for t in texts))
        return None

    return Expr(evaluate, NoneType())


_BUILTIN: dict[Any, Callable[[Expressions, Scope, ast.Call], Expr]] = {
    len: _length,
    min: _extreme("min", lesser, minimum, np.minimum),
    max: _extreme("max", greater, maximum, np.maximum),
    abs: _absolute,
    round: _round,
    pow: _pow,
    divmod: _divmod,
    print: _print,
}
