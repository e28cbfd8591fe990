"""`cp_async(target, place, source, start, nbytes)`, its commit and its wait, as closures over lanes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.models.pipeline import COPY_BYTES
from course.simulator.access import Site
from course.simulator.errors import LaunchError
from course.simulator.source.async_copies import AsyncCopies
from course.simulator.source.compiler.expressions import Expressions
from course.simulator.source.compiler.functions import arguments
from course.simulator.source.compiler.program import Evaluate, Expr, Scope
from course.simulator.source.compiler.values import array_name, untuple
from course.simulator.source.compiler.wideaccess import refuse_misaligned
from course.simulator.source.lanes import DEAD, Mask, State
from course.simulator.source.memory import View, gather, locate, notify
from course.simulator.types import ArrayType, NoneType, TupleType, describe

__all__ = ["compile_copy"]

_WIDTHS = COPY_BYTES["ca"]


def compile_copy(compiler: Expressions, scope: Scope, node: ast.Call, path: str) -> Expr:
    """Compile cuda.cp_async, cuda.cp_async_commit or cuda.cp_async_wait."""
    line = node.lineno
    if path == "cp_async_commit":
        arguments(compiler, scope, node, 0)
        return Expr(lambda state, mask: _copies(state).commit(state, mask, line), NoneType())
    if path == "cp_async_wait":
        groups = _known(scope, node, arguments(compiler, scope, node, 1)[0], "the number of groups")
        if groups < 0:
            raise scope.mistyped(node, f"cp_async_wait leaves 0 or more groups on their way: {scope.source.text(node)}")
        return Expr(lambda state, mask: _copies(state).wait(state, mask, line, groups), NoneType())
    return _start(compiler, scope, node)


def _copies(state: State) -> AsyncCopies:
    if state.copies is None:
        state.copies = AsyncCopies()
    copies: AsyncCopies = state.copies
    return copies


def _known(scope: Scope, node: ast.Call, expr: Expr, what: str) -> int:
    if not expr.known or isinstance(expr.const, bool) or not isinstance(expr.const, (int, np.integer)):
        raise scope.mistyped(
            node, f"{what} must be a constant: a number, or a name set outside the kernel: {scope.source.text(node)}"
        )
    return int(expr.const)


def _start(compiler: Expressions, scope: Scope, node: ast.Call) -> Expr:
    exprs = arguments(compiler, scope, node, 5)
    text, width = scope.source.text(node), _known(scope, node, exprs[4], "the number of bytes")
    into, out_of = exprs[0].kind, exprs[2].kind
    if not isinstance(into, ArrayType) or not isinstance(out_of, ArrayType) or into.dtype.names or out_of.dtype.names:
        raise scope.mistyped(node, f"cp_async copies from an array of numbers to an array of numbers: {text}")
    for kind, space, way in ((into, "shared", "to"), (out_of, "global", "from")):
        if kind.space != space:
            raise scope.mistyped(node, f"cp_async copies {way} {space} memory, not {way} {kind.space} memory: {text}")
    if into.dtype != out_of.dtype:
        change = f"{describe(out_of.dtype)} to {describe(into.dtype)}"
        raise scope.mistyped(node, f"cp_async copies bytes and cannot change {change}: {text}")
    if width not in _WIDTHS:
        raise scope.mistyped(node, f"cp.async copies {_listed(_WIDTHS)} bytes, not {width}: {text}")
    if width % into.dtype.itemsize:
        raise scope.mistyped(
            node, f"{width} bytes are no whole number of elements of {into.dtype.itemsize} bytes: {text}"
        )
    places = [_indices(compiler, scope, node, exprs[at], kind) for at, kind in ((1, into), (3, out_of))]
    load = _site(compiler, scope, node, out_of, 2)
    store = _site(compiler, scope, node, into, 0)
    elements = width // into.dtype.itemsize
    return Expr(_starter((exprs[0].run, exprs[2].run), places, (store, load), elements, width), NoneType())


def _site(compiler: Expressions, scope: Scope, node: ast.Call, kind: ArrayType, at: int) -> Site:
    """One side of the copy, written as an access: `tile[y, x]` for the arguments `tile, (y, x)`."""
    index = scope.source.text(node.args[at + 1])
    inside = index[1:-1] if isinstance(node.args[at + 1], ast.Tuple) else index
    return compiler.program.site(
        scope, node, kind.space, "load" if kind.space == "global" else "store",
        kind.root or array_name(node.args[at]), text=f"{scope.source.text(node.args[at])}[{inside}]", asynchronous=True,
    )  # fmt: skip


def _indices(compiler: Expressions, scope: Scope, node: ast.Call, expr: Expr, kind: ArrayType) -> list[Evaluate]:
    items = untuple(expr) if isinstance(expr.kind, TupleType) else [expr]
    if len(items) != kind.ndim:
        raise scope.mistyped(
            node, f"{len(items)} indices for an array of {kind.ndim} dimension(s): {scope.source.text(node)}"
        )
    return [compiler.index(scope, node, item).run for item in items]


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"


def _starter(
    views: tuple[Evaluate, Evaluate], places: list[list[Evaluate]], sites: tuple[Site, Site], elements: int, width: int
) -> Callable[[State, Mask], None]:
    """Closure of cp_async; of each pair, the first is the target and the second the source."""

    def execute(state: State, mask: Mask) -> None:
        copies = _copies(state)
        target, source = (view(state, mask) for view in views)
        into, inside = _place(state, mask, target, places[0], sites[0], elements)
        out_of, inside = _place(state, inside, source, places[1], sites[1], elements)
        if inside is DEAD:
            return
        for view, element, site in ((source, out_of, sites[1]), (target, into, sites[0])):
            refuse_misaligned(
                state, inside, view, element, width, site,
                f"Both addresses must be multiples of {width} bytes: start at another element, or copy fewer bytes "
                "at a time.",
            )  # fmt: skip
        values = [gather(state, source, out_of + place) for place in range(elements)]
        notify(state, sites[1], ((0, width),), source, out_of, inside)
        if state.observer is not None:
            notify(state, sites[0], ((0, width),), target, into, inside, _together(values))
        copies.start(state, inside, sites[0], target, into, values, width)

    return execute


def _place(
    state: State, mask: Mask, view: View, indices: list[Evaluate], site: Site, elements: int
) -> tuple[Any, Mask]:
    """First element number of each lane's copy, and the lanes whose copy lies inside the array."""
    if mask is DEAD:
        return 0, DEAD
    if elements > 1 and view.strides[-1] != 1:
        raise LaunchError(
            f"{site.text} copies {elements} elements that must be neighbours, and those of "
            f"{view.name} along its last axis are not.",
            line=site.line,
        )
    first = [run(state, mask) for run in indices]
    element, inside, _ = locate(state, mask, view, first, site.line, False)
    if elements > 1 and inside is not DEAD:
        last = [*first[:-1], first[-1] + np.int64(elements - 1)]
        _, inside, _ = locate(state, inside, view, last, site.line, False)
    return element, inside


def _together(values: list[Any]) -> Any:
    """The values of one lane as one: what the check for two lanes that write different values compares."""
    if len(values) == 1:
        return values[0]
    stacked = np.ascontiguousarray(np.stack(np.broadcast_arrays(*values), axis=-1))
    return stacked.view(f"V{stacked.shape[-1] * stacked.itemsize}")[..., 0]
