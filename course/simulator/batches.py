"""Which blocks run together, and which run at all when there is no time for every block."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from course.simulator.access import Shape

__all__ = ["batches"]

LANES_PER_BATCH = 1 << 18
BYTES_PER_BATCH = 1 << 26
"""Shared and local memory of one batch, at most."""


def batches(
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    warp_lanes: int,
    shared: int,
    local: int,
    budget: float | None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[tuple[int, int, int], Shape]]:
    """(origin, shape) of each batch, both z first, for the bytes of `shared` memory a block and `local` a thread.

    With a budget (seconds of `clock`), samples blocks once it is clear that it will not do.
    """
    lanes = -(-math.prod(block) // warp_lanes) * warp_lanes
    memory = shared + lanes * local
    blocks = max(1, min(LANES_PER_BATCH // lanes, BYTES_PER_BATCH // max(memory, 1)))
    gx, gy, gz = grid
    bx = min(gx, blocks)
    by = min(gy, max(1, blocks // bx)) if bx == gx else 1
    bz = min(gz, max(1, blocks // (bx * by))) if bx == gx and by == gy else 1
    counts = (-(-gz // bz), -(-gy // by), -(-gx // bx))
    total = math.prod(counts)

    def batch(number: int) -> tuple[tuple[int, int, int], Shape]:
        z, y, x = (int(n) for n in np.unravel_index(number, counts))
        origin = (z * bz, y * by, x * bx)
        return origin, (min(bz, gz - origin[0]), min(by, gy - origin[1]), min(bx, gx - origin[2]), lanes)

    started = clock()
    for number in range(total):
        yield batch(number)
        spent = clock() - started
        if budget is not None and spent / (number + 1) * total > budget and number + 1 < total:
            yield from _sample(range(number + 1, total), counts, started + budget, clock, batch)
            return


def _sample(
    rest: range, counts: tuple[int, int, int], end: float, clock: Callable[[], float], batch: Callable[[int], Any]
) -> Iterator[Any]:
    """The last batch, those at the corners of the grid, then random ones while there is time."""
    corners = [int(np.ravel_multi_index((z, y, x), counts)) for z in {0, counts[0] - 1} for y in {0, counts[1] - 1}
               for x in {0, counts[2] - 1}]  # fmt: skip
    chosen = sorted({number for number in corners if number in rest}, reverse=True)
    for number in chosen:
        yield batch(number)
    others = [number for number in rest if number not in chosen] if len(rest) < 1_000_000 else list(rest[:1_000_000])
    random.Random(0).shuffle(others)
    for number in others:
        if clock() > end:
            return
        yield batch(number)
