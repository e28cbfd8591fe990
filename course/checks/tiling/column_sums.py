"""Exercise (d) of the chapter `tiling`: sums of the columns of a matrix, whose partial sums collide in the banks."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.kernel import Budget, KernelCheck, Sizes
from course.models import tiling

__all__ = ["EXERCISE"]

_SIDE = 32


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    rows, columns = sizes["rows"], sizes["columns"]
    x = generator.uniform(1, 2, (rows, columns)).astype(np.float32)
    out = np.full(columns, np.nan, np.float32)
    # A warp loads 32 neighbours of one row, as in a transpose.
    loads = tiling.transpose(rows, columns, tile=_SIDE).load_sectors
    return Launch(
        grid=-(-columns // _SIDE),
        block=(_SIDE, _SIDE),
        arguments=(x, out),
        watched=(Watched("out", out, x.sum(0, np.float64).astype(np.float32)), Watched("x", x, x.copy())),
        budgets={"loads": {"sectors": loads}, "shared accesses": {"extra_wavefronts": 0}},
    )


def _more(generator: random.Random) -> list[Sizes]:
    """More rows than a block has, and fewer; columns that are no multiple of the block."""

    def size(blocks: int) -> int:
        return _SIDE * blocks + generator.randint(1, _SIDE - 1)

    shapes = [(size(2), size(1)), (size(0), size(2)), (size(3), size(0)), (_SIDE, size(1)), (size(0), size(0)),
              (1, size(0))]  # fmt: skip
    return [{"rows": rows, "columns": columns} for rows, columns in shapes]


EXERCISE = KernelCheck(
    name="tiling/column_sums",
    kernel="column_sums",
    statement=(
        "`column_sums[blocks, (32, 32)](x, out)` adds up the columns of a matrix: `out[j] = x[0, j] + x[1, j] + ...`. "
        "Each block does 32 columns. Warp y adds up the rows y, y + 32, y + 64 and so on, one column in each lane. "
        "Then the 32 partial sums of each column meet in shared memory. In the kernel that you get, this last step has "
        "bank conflicts in its stores and in its loads. Change it so that no shared access has one, and leave the "
        "global loads as good as they are. Rows and columns are any numbers from 1 up."
    ),
    keys={"x": "float32 matrix, rows x columns, read only", "out": "float32 array, one element for each column"},
    result_points=1,
    finding_points=1,
    budgets=(
        Budget("loads", 1, "load", "In a load, neighbouring lanes should take neighbouring columns of one row."),
        Budget(
            "shared accesses",
            2,
            "both",
            "How many words is it from the word of one lane to the word of the next, in the store, and in the load? In "
            "which banks are they?",
            space="shared",
        ),
    ),
    visible=({"rows": 64, "columns": 64}, {"rows": 77, "columns": 40}, {"rows": 3, "columns": 33}),
    more=_more,
    launch=_launch,
    given=("results", "findings", "loads"),
)
