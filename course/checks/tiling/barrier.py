"""Exercise (e) of the chapter `tiling`: find what is wrong with the barriers of a kernel whose results are right."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.ideal import neighbours
from course.checks.kernel import Budget, KernelCheck, Sizes
from course.models import tiling

__all__ = ["EXERCISE"]

_THREADS = 64


def _budget(rows: int, columns: int) -> int:
    """Sectors when a block loads every weight once, and every element of its columns once."""
    blocks = -(-columns // _THREADS)
    pieces = (min(_THREADS, rows - start) for start in range(0, rows, _THREADS))
    weights = sum(neighbours(piece)["sectors"] for piece in pieces)
    return blocks * weights + tiling.transpose(rows, columns, tile=32).load_sectors


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    rows, columns = sizes["rows"], sizes["columns"]
    x, weights = (generator.uniform(1, 2, shape).astype(np.float32) for shape in ((rows, columns), rows))
    out = np.full(columns, np.nan, np.float32)
    return Launch(
        grid=-(-columns // _THREADS),
        block=_THREADS,
        arguments=(x, weights, out),
        watched=(
            Watched("out", out, (weights.astype(np.float64) @ x).astype(np.float32)),
            Watched("x", x, x.copy()),
            Watched("weights", weights, weights.copy()),
        ),
        budgets={"loads": {"sectors": _budget(rows, columns)}},
    )


def _more(generator: random.Random) -> list[Sizes]:
    """One piece of the weights and several, a last piece that is full or not; blocks that are full or not."""
    part, whole = (lambda n: _THREADS * n + generator.randint(1, _THREADS - 1)), _THREADS
    shapes = [(part(1), part(0)), (2 * whole, part(1)), (part(0), 2 * whole), (part(1), part(0)), (3, part(0))]
    return [{"rows": rows, "columns": columns} for rows, columns in shapes]


EXERCISE = KernelCheck(
    name="tiling/barrier",
    kernel="weighted_sums",
    statement=(
        "`weighted_sums[blocks, 64](x, weights, out)` computes `out[j] = weights[0] * x[0, j] + weights[1] * x[1, j]` "
        "and so on, one column in each thread. All threads need all weights, so the block stages 64 at a time in "
        "shared memory. The kernel that you get gives the right result in the simulator. On a GPU it need not, because "
        "its barriers are wrong. Repair them: no race, and no barrier that some threads of a block "
        "miss. Keep the weights in shared memory."
    ),
    keys={
        "x": "float32 matrix, one row for each weight, read only",
        "weights": "float32 array, read only",
        "out": "float32 array, one element for each column",
    },
    result_points=1,
    finding_points=2,
    budgets=(
        Budget(
            "loads",
            1,
            "load",
            "A block should load each weight from global memory once, and each element of its columns once.",
        ),
    ),
    visible=({"rows": 128, "columns": 128}, {"rows": 150, "columns": 100}, {"rows": 10, "columns": 50}),
    more=_more,
    launch=_launch,
    given=("results", "loads"),
)
