"""Atomic operations, carried out in lane order: every lane gets the value the lanes before it left."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.source.compiler.expressions import Expressions
from course.simulator.source.compiler.program import Expr, Scope
from course.simulator.source.compiler.values import array_name, untuple
from course.simulator.source.lanes import DEAD, Mask, State, Value
from course.simulator.source.memory import View, locate, notify, pieces
from course.simulator.types import ArrayType, NoneType, TupleType

__all__ = ["compile_atomic"]

_UFUNCS = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum, "nanmax": np.fmax,
           "nanmin": np.fmin, "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip


def _increment(old: Any, limit: Any) -> Any:
    return type(old)(0) if old >= limit else old + type(old)(1)


def _decrement(old: Any, limit: Any) -> Any:
    return limit if old == 0 or old > limit else old - type(old)(1)


_SCALAR: dict[str, Callable[[Any, Any], Any]] = {"inc": _increment, "dec": _decrement}


def compile_atomic(compiler: Expressions, scope: Scope, node: ast.Call, name: str) -> Expr:
    """cuda.atomic.<name>(array, index, value) and cas(array, index, old, value)."""
    swap = name in ("cas", "compare_and_swap")
    count = 3 if name == "compare_and_swap" else 4 if swap else 3
    if len(node.args) != count:
        raise scope.mistyped(node, f"expected {count} arguments, got {len(node.args)}: {scope.source.text(node)}")
    exprs = [compiler.expression(scope, argument) for argument in node.args]
    array = exprs[0]
    if not isinstance(array.kind, ArrayType) or array.kind.dtype.names:
        raise scope.mistyped(node, f"an atomic works on an array of numbers: {scope.source.text(node)}")
    kind = array.kind.dtype
    if name == "compare_and_swap":
        indices: list[Expr] = []
    elif isinstance(exprs[1].kind, TupleType):
        indices = [compiler.index(scope, node, item) for item in untuple(exprs[1])]
    else:
        indices = [compiler.index(scope, node, exprs[1])]
    if indices and len(indices) != array.kind.ndim:
        raise scope.mistyped(node, f"expected {array.kind.ndim} indices: {scope.source.text(node)}")
    _check_type(scope, node, name, kind)
    operands = exprs[1:] if name == "compare_and_swap" else exprs[2:]
    for operand in operands:
        if not isinstance(operand.kind, np.dtype):
            raise scope.mistyped(node, f"expected a number: {scope.source.text(node)}")
    values = [compiler.cast(operand, kind).run for operand in operands]
    runs, view_of, line = [index.run for index in indices], array.run, node.lineno
    site = compiler.program.site(scope, node, array.kind.space, "atomic",
                                 array.kind.root or array_name(node.args[0]))  # fmt: skip
    parts = pieces(kind, array.kind.space)
    if name in ("add", "sub"):
        compiler.count(kind)
    wants_old = node is not compiler.discarded

    def evaluate(state: State, mask: Mask) -> Value:
        view: View = view_of(state, mask)
        places = [run(state, mask) for run in runs] or [np.int64(0)] * len(view.shape)
        element, inside, _ = locate(state, mask, view, places, line, False)
        numbers = [run(state, mask) for run in values]
        notify(state, site, parts, view, element, inside, numbers[-1])
        if inside is DEAD:
            return kind.type(0)
        return _perform(state, view, element, numbers, inside, name, wants_old)

    return Expr(evaluate, kind if wants_old else NoneType())


def _check_type(scope: Scope, node: ast.Call, name: str, kind: np.dtype[Any]) -> None:
    allowed = {
        **dict.fromkeys(("add", "sub", "max", "min", "nanmax", "nanmin"), ("i4", "i8", "u4", "u8", "f4", "f8")),
        **dict.fromkeys(("and_", "or_", "xor", "exch"), ("i4", "i8", "u4", "u8", "f4", "f8")),
        **dict.fromkeys(("inc", "dec"), ("u4", "u8")),
    }.get(name, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))
    if kind.str[1:] not in allowed or (name in ("and_", "or_", "xor") and kind.kind == "f"):
        raise scope.mistyped(
            node, f"a GPU has no atomic {name.rstrip('_')} on {kind.name}: {scope.source.text(node)}. "
            "Use a 4- or 8-byte type."
        )  # fmt: skip


def _perform(
    state: State, view: View, element: Any, numbers: list[Value], mask: Mask, name: str, wants_old: bool
) -> Value:
    """Run the atomic for the active lanes; returns the old value of every lane."""
    if view.space == "shared":
        element = element + state.block_number() * np.int64(view.length)
    elif view.space == "local":
        element = element * np.int64(state.blocks * state.shape[3]) + state.lane_number()
    flat = view.flat if view.flat.ndim == 1 else view.flat.reshape(-1)
    active = _active(state, mask)
    where = np.broadcast_to(element, state.shape).reshape(-1).take(active)
    lanes = [np.broadcast_to(number, state.shape).reshape(-1).take(active) for number in numbers]
    old = _apply(flat, where, lanes, name, wants_old)
    if old is None:
        return None
    result = np.zeros(state.blocks * state.shape[3], flat.dtype)
    result[active] = old
    return result.reshape(state.shape)


def _active(state: State, mask: Mask) -> npt.NDArray[np.intp]:
    if mask is None:
        return np.arange(state.blocks * state.shape[3])
    return np.flatnonzero(np.broadcast_to(mask, state.shape))


def _apply(flat: npt.NDArray[Any], where: npt.NDArray[np.intp], lanes: list[npt.NDArray[Any]], name: str,
           wants_old: bool) -> npt.NDArray[Any] | None:  # fmt: skip
    ufunc = _UFUNCS.get(name)
    if ufunc is not None and not wants_old:
        ufunc.at(flat, where, lanes[0])
        return None
    order = np.argsort(where, kind="stable")
    places = where[order]
    start = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    if name == "exch":
        given = lanes[0][order]
        before = np.empty_like(given)
        before[1:] = given[:-1]
        before[start] = flat[places[start]]
        flat[where] = lanes[0]
    elif ufunc is not None and (name == "add" or len(start) == len(places)) and flat.dtype.kind in "iu":
        given = lanes[0][order]
        if len(start) == len(places):
            before = flat[places]
            flat[places] = ufunc(before, given)
        else:
            total = np.cumsum(given, dtype=flat.dtype)
            exclusive = total - given
            lengths = np.diff(np.r_[start, len(places)])
            before = exclusive - np.repeat(exclusive[start], lengths) + np.repeat(flat[places[start]], lengths)
            ufunc.at(flat, where, lanes[0])
    else:
        before = _one_by_one(flat, places, [lane[order] for lane in lanes], name)
    old = np.empty_like(before)
    old[order] = before
    return old


def _one_by_one(flat: npt.NDArray[Any], places: npt.NDArray[np.intp], lanes: list[npt.NDArray[Any]],
                name: str) -> npt.NDArray[Any]:  # fmt: skip
    before = np.empty(len(places), flat.dtype)
    function = _UFUNCS.get(name) or _SCALAR.get(name)
    for n, place in enumerate(places):
        now = before[n] = flat[place]
        if function is not None:
            flat[place] = function(now, lanes[0][n])
        elif now == lanes[0][n]:
            flat[place] = lanes[1][n]
    return before
