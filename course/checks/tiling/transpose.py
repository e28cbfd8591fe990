"""Exercise (b) of the chapter `tiling`: a transpose of any shape that wastes no sector and no wavefront."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.kernel import Budget, KernelCheck, Sizes
from course.models import tiling

__all__ = ["EXERCISE"]

_TILE, _ROWS = 32, 8
"""Side of the tile of a block, and rows of a block."""


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    rows, columns = sizes["rows"], sizes["columns"]
    a = generator.uniform(1, 2, (rows, columns)).astype(np.float32)
    out = np.full((columns, rows), np.nan, np.float32)
    best = tiling.transpose(rows, columns, tile=_TILE, pad=1, block_rows=_ROWS)
    return Launch(
        grid=(-(-columns // _TILE), -(-rows // _TILE)),
        block=(_TILE, _ROWS),
        arguments=(a, out),
        watched=(Watched("out", out, np.ascontiguousarray(a.T)), Watched("a", a, a.copy())),
        budgets={
            "global accesses": {"sectors": best.load_sectors + best.store_sectors},
            "shared accesses": {"extra_wavefronts": best.conflicts},
        },
    )


def _more(generator: random.Random) -> list[Sizes]:
    """No multiple of the tile, wide and high ones, and some smaller than a tile."""

    def length(tiles: int) -> int:
        return _TILE * tiles + generator.randint(1, _TILE - 1)

    shapes = [(length(1), length(2)), (length(3), length(1)), (length(0), length(3)), (length(2), length(0)),
              (length(0), length(0)), (1, length(1)), (_TILE * generator.randint(1, 2), length(1))]  # fmt: skip
    return [{"rows": rows, "columns": columns} for rows, columns in shapes]


EXERCISE = KernelCheck(
    name="tiling/transpose",
    kernel="transpose",
    statement=(
        "`transpose[grid, block](a, out)` sets `out[x, y] = a[y, x]`. A block has 32 x 8 threads and does a tile of "
        "32 x 32 elements; `cuda.blockIdx.x` counts tiles along the columns of `a`, `cuda.blockIdx.y` along its rows. "
        "In the kernel that you get, the loads are good and the stores are strided. Take the way through shared "
        "memory: in every load and in every store the 32 lanes of a warp take neighbours of one row, and no shared "
        "access has a bank conflict. Rows and columns are any numbers from 1 up."
    ),
    keys={
        "a": "float32 matrix, rows x columns, read only",
        "out": "float32 matrix, columns x rows",
    },
    result_points=1,
    finding_points=2,
    budgets=(
        Budget(
            "global accesses",
            1,
            "both",
            "In the load and in the store: which index does threadIdx.x count? It must be the last one of both arrays.",
        ),
        Budget(
            "shared accesses",
            2,
            "both",
            "In which banks do the 32 lanes of a warp find their words, when they store to the tile, and when they "
            "load from it?",
            space="shared",
        ),
    ),
    visible=({"rows": 64, "columns": 64}, {"rows": 40, "columns": 70}, {"rows": 5, "columns": 33}),
    more=_more,
    launch=_launch,
)
