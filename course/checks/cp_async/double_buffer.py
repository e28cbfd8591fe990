"""Exercise (b) of the chapter `cp_async`: write the double-buffered loop.

Two parts are of this chapter alone. `overlap`: every tile comes with `cp_async`, and all copies but those of the
first tile land while their block computes. `waits`: at most one wait for each tile.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.ideal import neighbours
from course.checks.kernel import Budget, KernelCase, KernelCheck, Sizes
from course.models.coalescing import WARP_LANES

if TYPE_CHECKING:
    from course.profiling.profile import Profile

__all__ = ["EXERCISE", "THREADS", "PipelineCheck"]

THREADS = 64
"""Of a block, and points of a tile."""
_POINT_BYTES = 8
_WARPS = THREADS // WARP_LANES


class PipelineCheck(KernelCheck):
    """Checks a kernel whose tiles come with asynchronous copies, also for when these land."""

    def _excess(self, budget: Budget, case: KernelCase, found: Profile) -> str:
        if budget.name == "overlap":
            fault = self._in_turn(case, found)
        elif budget.name == "waits":
            fault = self._too_many_waits(case, found)
        else:
            return super()._excess(budget, case, found)
        return f"{self._where(case)}{fault} {budget.hint}" if fault else ""

    def _in_turn(self, case: KernelCase, found: Profile) -> str:
        """Why loading and computing take turns; '' when they do not."""
        budget = self.launch_of(case).budgets["overlap"]
        loads = [c for c in found.sites if c.site.space == "global" and c.site.kind == "load" and c.instructions]
        ordinary = [c for c in loads if not c.site.asynchronous]
        if sum(c.instructions for c in ordinary) > budget["ordinary"]:
            site = max(ordinary, key=lambda c: c.instructions).site
            return (
                f"line {site.line}, `{site.text}`, is an ordinary load, and points that pass through registers are not "
                "enough."
            )
        alone = found.copies.landed - found.copies.overlapped
        if alone <= budget["alone"]:
            return ""
        site = [c.site for c in loads if c.site.asynchronous][-1]
        many = f"{alone} of {found.copies.landed} copies, where {budget['alone']} are enough,"
        return (
            f"line {site.line}, `{site.text}`: {'too many copies' if case.hidden else many} land before the block has "
            "computed anything since their start."
        )

    def _too_many_waits(self, case: KernelCase, found: Profile) -> str:
        waits, most = found.copies.waits, self.launch_of(case).budgets["waits"]["most"]
        if not waits:
            return "there is no wait, and loads alone are not enough."
        if waits <= most:
            return ""
        where = [str(line.number) for line in found.lines if "cp_async_wait" in line.text]
        often = "more often than there are tiles" if case.hidden else f"{waits} times"
        enough = "once for each is enough" if case.hidden else f"{most} are enough"
        return f"the warps wait {often}, where {enough} (line {' and '.join(where)})."


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    n, blocks = sizes["n"], sizes["blocks"]
    x = generator.uniform(1, 2, THREADS * blocks).astype(np.float32)
    points = generator.uniform(1, 2, (n, 2)).astype(np.float32)
    out = np.full(x.shape, np.nan, np.float32)
    distance = np.abs(x[:, np.newaxis].astype(np.float64) - points[:, 0])
    loads = {number: blocks * cost for number, cost in neighbours(n, _POINT_BYTES).items()}
    own = neighbours(THREADS * blocks)
    first_tile = -(-min(n, THREADS) // WARP_LANES)
    return Launch(
        grid=blocks,
        block=THREADS,
        arguments=(x, points, out),
        watched=(Watched("out", out, distance @ points[:, 1].astype(np.float64)),),
        budgets={
            "loads": {number: cost + own[number] for number, cost in loads.items()},
            "overlap": {"alone": blocks * first_tile, "ordinary": own["instructions"]},
            "waits": {"most": blocks * _WARPS * -(-n // THREADS)},
        },
    )


def _more(generator: random.Random) -> list[Sizes]:
    """Last tiles that are nearly empty, half full and nearly full, and a single tile."""
    rests = (1, generator.randint(2, 31), generator.randint(33, 62), 63)
    many = [{"n": THREADS * generator.randint(1, 4) + rest, "blocks": generator.randint(1, 3)} for rest in rests]
    return [*many, {"n": generator.randint(2, 60), "blocks": 2}]


EXERCISE = PipelineCheck(
    name="cp_async/double_buffer",
    kernel="pull",
    statement=(
        "`pull[blocks, 64](x, points, out)`: thread i adds up weight * |x[i] - position| over all points, and writes "
        "the sum to `out[i]`. A point is a row of `points`: its position and its weight. Rewrite the loop with "
        "`cuda.cp_async`: two buffers, one copy of 8 bytes for each point and block, and one wait for each tile. While "
        "a tile is computed, the next one is on its way. There are just enough threads for `x`, and any number of "
        "points from 1 up."
    ),
    keys={
        "x": "float32 array, 64 elements for each block, read only",
        "points": "float32 array of shape (n, 2), read only",
        "out": "float32 array as long as `x`",
    },
    result_points=2,
    finding_points=2,
    budgets=(
        Budget("loads", 1, "load", "One copy can bring position and weight of a point together."),
        Budget(
            "overlap",
            2,
            "load",
            "Start the copies of the next tile before the threads compute this one, and wait for them only after it.",
        ),
        Budget("waits", 1, "load", "Wait once for each tile, just before its barrier."),
    ),
    visible=({"n": 256, "blocks": 2}, {"n": 150, "blocks": 1}, {"n": 40, "blocks": 1}),
    more=_more,
    launch=_launch,
)
