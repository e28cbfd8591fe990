"""What lanes of a warp or block do together: barriers, shuffles, votes, and counting bits."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Barrier
from course.simulator.names import CudaName
from course.simulator.source.compiler.expressions import Expressions
from course.simulator.source.compiler.program import Expr, Scope
from course.simulator.source.compiler.values import BOOL, make_tuple
from course.simulator.source.lanes import Mask, State, Value
from course.simulator.source.resolver import resolver
from course.simulator.types import NoneType

__all__ = ["compile_warp"]

INT32, UINT32, INT64 = np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.int64)


def compile_warp(compiler: Expressions, scope: Scope, node: ast.Call, path: str) -> Expr:
    """Compile a barrier, shuffle, vote or bit function of numba.cuda."""
    if path not in _COUNTS:
        raise scope.refuse(node, f"cuda.{path}(...) is not supported by the simulator.")
    least, most = _COUNTS[path]
    if not least <= len(node.args) <= most:
        raise scope.mistyped(
            node, f"expected {least} argument(s), got {len(node.args)}: {scope.source.text(node)}"
        )  # fmt: skip
    exprs = [compiler.scalar(scope, argument) for argument in node.args]
    line = node.lineno
    if path in ("syncthreads", "syncwarp"):
        kind = "block" if path == "syncthreads" else "warp"

        def barrier(state: State, mask: Mask) -> None:
            pass_barrier(state, mask, line, kind)

        return Expr(barrier, NoneType())
    if path.startswith("syncthreads_"):
        return _block_vote(compiler, exprs[0], path, line)
    if path in _BITS:
        return _bits(compiler, scope, node, exprs[0], path)
    return _warp(compiler, scope, node, exprs, path)


_COUNTS = {
    "syncthreads": (0, 0), "syncwarp": (0, 1), "syncthreads_count": (1, 1), "syncthreads_and": (1, 1),
    "syncthreads_or": (1, 1), "popc": (1, 1), "clz": (1, 1), "brev": (1, 1), "ffs": (1, 1),
    "shfl_sync": (3, 3), "shfl_up_sync": (3, 3), "shfl_down_sync": (3, 3), "shfl_xor_sync": (3, 3),
    "all_sync": (2, 2), "any_sync": (2, 2), "eq_sync": (2, 2), "ballot_sync": (2, 2),
    "match_any_sync": (2, 2), "match_all_sync": (2, 2), "activemask": (0, 0), "lanemask_lt": (0, 0),
}  # fmt: skip


def pass_barrier(state: State, mask: Mask, line: int, kind: Any) -> None:
    """Report a barrier and, for a block barrier, begin the next epoch for the lanes that reached it."""
    if state.observer is not None:
        state.observer.barrier(
            Barrier(line, kind, mask, state.live_kernel, state.shape, state.origin, state.epoch)
        )  # fmt: skip
        if kind == "block":
            everyone = mask is None or mask is state.live_kernel
            state.epoch = state.epoch + (1 if everyone else mask.astype(np.int64))


def _block_vote(compiler: Expressions, expr: Expr, path: str, line: int) -> Expr:
    run = compiler.truth(expr).run

    def evaluate(state: State, mask: Mask) -> Value:
        votes = _votes(state, mask, run(state, mask))
        pass_barrier(state, mask, line, "block")
        if path == "syncthreads_count":
            return votes.sum(axis=3, keepdims=True, dtype=np.int32)
        if path == "syncthreads_or":
            return votes.any(axis=3, keepdims=True).astype(np.int32)
        idle = False if mask is None else ~np.broadcast_to(mask, state.shape)
        return (votes | idle).all(axis=3, keepdims=True).astype(np.int32)

    return Expr(evaluate, INT32)


def _votes(state: State, mask: Mask, value: Value) -> npt.NDArray[np.bool_]:
    votes = np.broadcast_to(value, state.shape)
    return votes if mask is None else votes & mask


def _by_warp(state: State, value: Value) -> npt.NDArray[Any]:
    """A value as (..., warps of a block, lanes of a warp)."""
    return np.broadcast_to(value, state.shape).reshape(*state.shape[:3], -1, state.warp_lanes)


def _weights(state: State) -> npt.NDArray[np.uint64]:
    return np.uint64(1) << np.arange(state.warp_lanes, dtype=np.uint64)


def _active(state: State, mask: Mask) -> npt.NDArray[np.bool_]:
    return _by_warp(state, np.True_ if mask is None else mask)


def _per_lane(state: State, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
    wide = np.broadcast_to(value, (*value.shape[:4], state.warp_lanes))
    return wide.reshape(state.shape)


def _warp(compiler: Expressions, scope: Scope, node: ast.Call, exprs: list[Expr], path: str) -> Expr:
    if path.startswith("shfl_"):
        return _shuffle(compiler, scope, node, exprs, path)
    if path in ("activemask", "lanemask_lt"):

        def masks(state: State, mask: Mask) -> Value:
            if path == "lanemask_lt":
                lanes = (np.uint64(1) << state.warp_lane().astype(np.uint64)) - np.uint64(1)
                return lanes.astype(np.uint32)
            bits = (_active(state, mask) * _weights(state)).sum(axis=4, keepdims=True, dtype=np.uint64)
            return _per_lane(state, bits).astype(np.uint32)

        return Expr(masks, UINT32)
    if path in ("match_any_sync", "match_all_sync"):
        return _match(exprs[1], path)
    run = (exprs[1] if path == "eq_sync" else compiler.truth(exprs[1])).run

    def vote(state: State, mask: Mask) -> Value:
        value = run(state, mask)
        if path == "eq_sync":
            value = value != 0
        active = _active(state, mask)
        yes = _by_warp(state, value) & active
        if path == "ballot_sync":
            bits = (yes * _weights(state)).sum(axis=4, keepdims=True, dtype=np.uint64)
            return _per_lane(state, bits).astype(np.uint32).astype(np.int32)
        answer: Any
        if path == "any_sync":
            answer = yes.any(axis=4, keepdims=True)
        elif path == "all_sync":
            answer = (yes | ~active).all(axis=4, keepdims=True)
        else:
            answer = (yes | ~active).all(axis=4, keepdims=True) | ~yes.any(axis=4, keepdims=True)
        return _per_lane(state, answer)

    return Expr(vote, INT32 if path == "ballot_sync" else BOOL)


def _match(expr: Expr, path: str) -> Expr:
    run = expr.run

    def match(state: State, mask: Mask) -> Value:
        values, active = _by_warp(state, run(state, mask)), _active(state, mask)
        same = (values[..., :, None] == values[..., None, :]) & active[..., None, :]
        bits = (same * _weights(state)).sum(axis=-1, dtype=np.uint64)
        return bits.reshape(state.shape).astype(np.uint32).astype(np.int32)

    def everyone(state: State, mask: Mask) -> Value:
        values, active = _by_warp(state, run(state, mask)), _active(state, mask)
        first = np.take_along_axis(values, active.argmax(axis=-1, keepdims=True), axis=-1)
        return _per_lane(state, ((values == first) | ~active).all(axis=-1, keepdims=True))

    def all_bits(state: State, mask: Mask) -> Value:
        bits = (_active(state, mask) * _weights(state)).sum(axis=4, keepdims=True, dtype=np.uint64)
        return np.where(everyone(state, mask), _per_lane(state, bits), 0).astype(np.uint32).astype(np.int32)

    if path == "match_any_sync":
        return Expr(match, INT32)
    return make_tuple([Expr(all_bits, INT32), Expr(everyone, BOOL)])


def _shuffle(compiler: Expressions, scope: Scope, node: ast.Call, exprs: list[Expr], path: str) -> Expr:
    kind = exprs[1].kind
    if kind.str[1:] not in ("i4", "i8", "u4", "u8", "f4", "f8"):
        raise scope.mistyped(node, f"a shuffle moves 4- or 8-byte numbers, not {kind.name}: {scope.source.text(node)}")
    run, distance = exprs[1].run, compiler.index(scope, node, exprs[2]).run

    def evaluate(state: State, mask: Mask) -> Value:
        value, by = run(state, mask), distance(state, mask)
        lane = state.warp_lane().astype(np.int64)
        if path == "shfl_sync":
            source = by % state.warp_lanes
        elif path == "shfl_xor_sync":
            source = lane ^ by
        else:
            source = lane - by if path == "shfl_up_sync" else lane + by
        source = np.where((source < 0) | (source >= state.warp_lanes), lane, source)
        values, places = _by_warp(state, value), _by_warp(state, source)
        return np.take_along_axis(values, places, axis=4).reshape(state.shape)

    return Expr(evaluate, kind)


# ---- bits ---------------------------------------------------------------------------------------------


def _unsigned(value: Value) -> npt.NDArray[Any]:
    return np.asarray(value).view(f"u{value.dtype.itemsize}")


def _popcount(value: Value) -> Value:
    bits = np.zeros(value.shape, np.int64)
    for place in range(value.dtype.itemsize * 8):
        bits += (_unsigned(value) >> np.asarray(place, _unsigned(value).dtype) & 1).astype(np.int64)
    return bits


def _reversed(value: Value) -> Value:
    word, width = _unsigned(value), value.dtype.itemsize * 8
    result = np.zeros_like(word)
    for place in range(width):
        bit = word >> word.dtype.type(place) & word.dtype.type(1)
        result |= bit << word.dtype.type(width - 1 - place)
    return result.view(value.dtype)


def _leading_zeros(value: Value) -> Value:
    word, width = _unsigned(value), value.dtype.itemsize * 8
    zeros = np.full(value.shape, width, np.int64)
    for place in range(width):
        zeros = np.where(word >> word.dtype.type(place) & word.dtype.type(1), width - 1 - place, zeros)
    return zeros


def _first_set(value: Value) -> Value:
    word, width = _unsigned(value), value.dtype.itemsize * 8
    first = np.zeros(value.shape, np.int64)
    for place in reversed(range(width)):
        first = np.where(word >> word.dtype.type(place) & word.dtype.type(1), place + 1, first)
    return first


_BITS: dict[str, Callable[[Value], Value]] = {
    "popc": _popcount, "brev": _reversed, "clz": _leading_zeros, "ffs": _first_set,
}  # fmt: skip


def _bits(compiler: Expressions, scope: Scope, node: ast.Call, expr: Expr, path: str) -> Expr:
    found = resolver().signature(CudaName(path), f"cuda.{path}", (expr.kind,))
    if found is None:
        raise scope.mistyped(node, f"numba has no {path}() of {expr.kind.name}: {scope.source.text(node)}")
    kind, compute = np.dtype(found[1]), _BITS[path]
    run = compiler.cast(expr, np.dtype(found[0][0])).run
    return Expr(lambda state, mask: compute(run(state, mask)).astype(kind)[()], kind, pure=expr.pure)
