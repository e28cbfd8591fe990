"""Compiled values while a kernel is compiled: constants, tuples, and what comes from outside the kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from course.simulator.names import CudaName, cuda_path
from course.simulator.source.compiler.program import NOTHING, Expr, Scope
from course.simulator.source.lanes import Mask, State, Value, convert
from course.simulator.types import NoneType, TupleType, Type, describe

__all__ = [
    "BOOL", "FLOAT64", "INT32", "INT64", "again", "array_name", "constant", "make_tuple", "never", "once", "outside",
    "settled", "special_register", "untuple", "what",
]  # fmt: skip

BOOL, INT32, INT64, FLOAT64 = np.dtype(np.bool_), np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)


def constant(value: Any, kind: Type, const: Any) -> Expr:
    """An expression whose number is known."""
    number = _number(value, kind)
    return Expr(lambda state, mask: number, kind, const, pure=True)


def _number(value: Any, kind: Type) -> Any:
    if isinstance(kind, TupleType):
        return tuple(_number(item, inner) for item, inner in zip(value, kind.items, strict=True))
    return kind.type(value) if isinstance(kind, np.dtype) else value


def settled(expr: Expr) -> Expr:
    """A number that is known, free of what its text does besides; any other expression as it is."""
    return constant(expr.const, expr.kind, expr.const) if expr.known and isinstance(expr.kind, np.dtype) else expr


def outside(scope: Scope, node: ast.AST, value: Any) -> Expr:
    """A literal, or a value from outside the kernel."""
    if isinstance(value, (bool, np.bool_)):
        return constant(value, BOOL, bool(value))
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise scope.mistyped(node, f"{value} does not fit in 64 bits.")
        return constant(value, INT64 if value < 2**63 else np.dtype(np.uint64), value)
    if isinstance(value, float):
        return constant(value, FLOAT64, value)
    if isinstance(value, complex):
        return constant(value, np.dtype(np.complex128), value)
    if isinstance(value, np.generic) and isinstance(value, (np.number, np.bool_)):
        return constant(value, value.dtype, value.item())
    if isinstance(value, tuple):
        return make_tuple([outside(scope, node, item) for item in value], value)
    if value is None:
        return Expr(lambda state, mask: None, NoneType(), None, pure=True)
    if isinstance(value, np.ndarray):
        return Expr(never, None, value)
    path = cuda_path(value)
    if path is not None:
        return special_register(path) or Expr(never, None, CudaName(path))
    return Expr(never, None, value)


def make_tuple(parts: list[Expr], const: Any = NOTHING) -> Expr:
    """A tuple of expressions."""
    if const is NOTHING and parts and all(expr.known for expr in parts):
        const = tuple(expr.const for expr in parts)
    runs = [expr.run for expr in parts]
    expr = Expr(
        lambda state, mask: tuple(run(state, mask) for run in runs),
        TupleType(tuple(expr.kind for expr in parts)),
        const,
        all(expr.pure for expr in parts),
    )
    expr.parts = parts  # type: ignore[attr-defined]
    return expr


class _Once:
    """Runs a tuple once for all its items, so that what it loads is counted once.

    An item that is read a second time, or for other lanes, starts the next round.
    """

    def __init__(self, run: Any) -> None:
        self._run = run
        self._round: tuple[Any, State, Mask] | None = None
        self._read: set[int] = set()

    def __call__(self, place: int, state: State, mask: Mask) -> Any:
        found = self._round
        if found is None or place in self._read or found[1] is not state or found[2] is not mask:
            found, self._read = (self._run(state, mask), state, mask), set()
        self._read.add(place)
        # Nothing is kept longer than the round lasts: the arrays may be large.
        self._round = None if len(self._read) == len(found[0]) else found
        return found[0][place]


def untuple(expr: Expr) -> list[Expr]:
    """The items of a tuple, as expressions."""
    parts = getattr(expr, "parts", None)
    if parts is not None:
        return list(parts)
    once = _Once(expr.run)

    def item(place: int, kind: Type) -> Expr:
        def evaluate(state: State, mask: Mask) -> Value:
            value = once(place, state, mask)
            return convert(value, kind) if isinstance(kind, np.dtype) else value

        return Expr(evaluate, kind, pure=expr.pure)

    return [item(place, kind) for place, kind in enumerate(expr.kind.items)]


def array_name(node: ast.AST) -> str:
    """Name of the array in `x[i]`, `p[i].x`, `A[i][j]`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def what(expr: Expr) -> str:
    """What an expression is, for messages."""
    if expr.kind is None:
        return getattr(expr.const, "__name__", None) or repr(expr.const)
    return describe(expr.kind)


def never(state: State, mask: Mask) -> Value:
    """Stand in for the value of what exists while compiling only."""
    raise AssertionError("a module or function has no value at run time")


def once(expr: Expr) -> Expr:
    """Keep the value so that `again` can give it a second time."""
    if expr.known:
        return expr
    run = expr.run
    kept: list[Value] = []

    def evaluate(state: State, mask: Mask) -> Value:
        value = run(state, mask)
        kept[:] = [value]
        return value

    first = Expr(evaluate, expr.kind, pure=expr.pure)
    first.kept = kept  # type: ignore[attr-defined]
    return first


def again(expr: Expr) -> Expr:
    """The value that `once` kept."""
    kept = getattr(expr, "kept", None)
    return expr if kept is None else Expr(lambda state, mask: kept[0], expr.kind, pure=True)


def special_register(path: str) -> Expr | None:
    """threadIdx.x and its like; None when the name is no value."""
    head, _, axis = path.partition(".")
    if head in ("threadIdx", "blockIdx", "blockDim", "gridDim") and axis in ("x", "y", "z"):
        place = "xyz".index(axis)
        run: dict[str, Callable[[State, Mask], Value]] = {
            "threadIdx": lambda state, mask: state.thread_index(axis),
            "blockIdx": lambda state, mask: state.block_index(axis),
            "blockDim": lambda state, mask: np.int32(state.block[place]),
            "gridDim": lambda state, mask: np.int32(state.grid[place]),
        }
        return Expr(run[head], INT32, pure=True)
    if path == "laneid":
        return Expr(lambda state, mask: state.warp_lane(), INT32, pure=True)
    if path == "warpsize":
        return Expr(lambda state, mask: np.int32(state.warp_lanes), INT32, pure=True)
    return None
