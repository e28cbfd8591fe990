"""Exercise (d) of the chapter `coalescing`: reorder the indices of a gather, so that the same sum costs less."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from course.checks.outcome import Outcome, Returned, message
from course.checks.quiet import quiet
from course.checks.result import PartResult, Result
from course.checks.values import is_placeholder, kind, type_name
from course.models.coalescing import WARP_LANES, coalesce, index_addresses, units_touched

__all__ = ["EXERCISE", "GatherCheck", "budget", "sectors"]

Indices = npt.NDArray[np.int64]
_SIZES = ((1024, 8192), (1000, 3000), (2000, 1000))
"""(indices, elements of the table) of the cases: few meet in a sector, some do, all do and many are equal."""


def sectors(indices: Indices) -> int:
    """Sectors of the loads ``x[indices[i]]`` of 4-byte elements, thread i taking index i."""
    lanes = np.resize(indices, -(-len(indices) // WARP_LANES) * WARP_LANES).reshape(-1, WARP_LANES)
    active = (np.arange(lanes.size) < len(indices)).reshape(lanes.shape)
    return int(coalesce(index_addresses(lanes), 4, active).sectors.sum())


def budget(indices: Indices) -> int:
    """Each touched sector once, and once more for every place where one warp ends and the next begins."""
    warps = -(-len(indices) // WARP_LANES)
    return len(units_touched(index_addresses(indices))) + warps - 1


@dataclass(frozen=True)
class GatherCheck:
    """Checks a function that reorders an index array."""

    name: str
    statement: str
    function: str
    keys: dict[str, str]
    points: tuple[float, float]
    """Of `same indices` and of `sectors`."""

    @property
    def max_points(self) -> float:
        """Points of a function that is right on every case."""
        return float(sum(self.points))

    def cases(self, seed: int | str | None = None) -> tuple[Indices, ...]:
        """Random index arrays; no two runs with different seeds share one."""
        generator = random.Random(f"{self.name} {'practice' if seed is None else seed}")
        arrays = np.random.default_rng(generator.getrandbits(32))
        return tuple(
            arrays.integers(0, table, count + generator.randint(1, 30), dtype=np.int64) for count, table in _SIZES
        )

    def run(self, value: object, seed: int | str | None = None) -> Result:
        """Call a student's function on all cases and judge the orders that it returned."""
        if is_placeholder(value):
            return replace(self._result("Not run.", "Not run.", "Not answered yet."), answered=False)
        if not callable(value):
            return self._result("Not run.", "Not run.", f"This is {kind(value)}: give the function {self.function}.")
        return self._judged((_call(value, indices) for indices in self.cases(seed)), seed)

    def calls(self, seed: int | str | None = None) -> tuple[tuple[Indices], ...]:
        """Arguments of all calls, for a process that runs them elsewhere."""
        return tuple((indices,) for indices in self.cases(seed))

    def judge_calls(self, found: Sequence[Returned | Outcome], seed: int | str | None = None) -> Result:
        """Judge what the calls of `calls(seed)` gave elsewhere, one for each."""
        return self._judged(
            (_order(f.value) if isinstance(f, Returned) else f"The function {f.problem}." for f in found), seed
        )

    def _judged(self, orders: Iterable[Indices | str], seed: int | str | None) -> Result:
        """Judge the orders of all cases; those after the first wrong one are not asked for."""
        where = "" if seed is None else "On a hidden input: "
        same, cheap = "", ""
        for indices, order in zip(self.cases(seed), orders, strict=True):
            same = same or (order if isinstance(order, str) else _difference(indices, order))
            if same:
                break
            assert isinstance(order, np.ndarray)
            cheap = cheap or _excess(indices, order)
        if same:
            return self._result(where + same, "Not counted yet: get the same indices first.")
        if cheap:
            held = "Right, as it was before you did anything. This earns its points together with `sectors`."
            return self._result(held, where + cheap)
        return self._result("", "")

    def _result(self, same: str, cheap: str, feedback: str = "") -> Result:
        parts = tuple(
            PartResult(name, not fault, fault or "Right.", 0.0 if fault else points, points)
            for name, fault, points in zip(("same indices", "sectors"), (same, cheap), self.points, strict=True)
        )
        return Result(self.name, float(sum(part.points for part in parts)), self.max_points, parts, feedback)


def _call(function: Any, indices: Indices) -> Indices | str:
    """The order that a student's function returns, as an array of our own; or what went wrong, in words."""
    with quiet():
        try:
            return _order(function(indices.copy()))
        except BaseException as error:  # SystemExit and the like are wrong answers here, too
            return f"The function stopped with {type_name(error)}: {message(error)}."


def _order(returned: Any) -> Indices | str:
    """What a function returned, as an array of our own; or why it is none."""
    if returned is None:
        return "The function returned None: end it with return and the reordered array. A method that works " \
            "in place, such as .sort(), returns None."  # fmt: skip
    if type(returned) not in (np.ndarray, list, tuple):
        return f"The function returned {kind(returned)}, expected an array of indices."
    try:
        order = np.array(returned)
    except ValueError:  # lists of different lengths
        return f"The function returned {kind(returned)} that is no array, expected whole numbers on one axis."
    if order.ndim != 1 or order.dtype.kind not in "iu":
        return f"The function returned an array of shape {order.shape} and type {order.dtype}, expected " \
            "whole numbers on one axis."  # fmt: skip
    return order.astype(np.int64)


def _difference(indices: Indices, order: Indices) -> str:
    """Why two arrays do not give the same sum; '' when they hold the same indices equally often."""
    if np.array_equal(np.sort(indices), np.sort(order)):
        return ""
    if np.array_equal(np.sort(order), np.arange(len(indices))):
        return "These are positions in the index array, not the indices that stand there: the sum reads other elements."
    if np.array_equal(np.unique(indices), np.unique(order)):
        return "Some indices come more or less often than before: an element that was added twice is no longer."
    if len(order) != len(indices):
        return "There are fewer or more indices than before: each one must stay, also when it comes twice."
    return "Some indices were changed: only their order may change."


def _excess(indices: Indices, order: Indices) -> str:
    cost, most, before = sectors(order), budget(indices), sectors(indices)
    if cost <= most:
        return ""
    told = "as much as before" if cost >= before else f"{cost / before:.0%} of before"
    return (
        f"The loads of x cost {told}, and {cost / most:.2f} times the budget. Which indices should be read by the same "
        "warp, so that they share sectors?"
    )


EXERCISE = GatherCheck(
    name="coalescing/gather",
    function="reorder",
    statement=(
        "A kernel adds up `x[indices[i]]`, and thread i takes index i. Write `reorder(indices)`: return the same "
        "indices in an order in which the loads of `x` cost less. Budget: each sector that is needed at all once, and "
        "one more for each place where one warp ends and the next begins. The elements are 4 bytes long, and `x` is "
        "aligned."
    ),
    keys={"indices": "1-D array of int64; the same index may come twice"},
    points=(2, 2),
)
