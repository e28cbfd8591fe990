"""Exercise (c) of the chapter `tiling`: a tiled matrix product for sizes that are no multiple of the tile."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.kernel import Budget, KernelCheck, Sizes
from course.models.coalescing import coalesce, index_addresses, thread_indices

__all__ = ["EXERCISE", "staged"]

_TILE = 16
_FLOAT = 4


def staged(rows: int, columns: int) -> dict[str, int]:
    """Requests and sectors to load every element of a matrix once, tile by tile, lanes outside switched off.

    A block of 16 x 16 threads loads a tile of 16 x 16 elements, thread (x, y) the element [y][x].
    """
    x, y, _ = thread_indices((_TILE, _TILE))
    cost = {"instructions": 0, "sectors": 0}
    for down in range(0, rows, _TILE):
        for right in range(0, columns, _TILE):
            inside = (down + y < rows) & (right + x < columns)
            index = np.where(inside, (down + y) * columns + right + x, 0)
            request = coalesce(index_addresses(index, _FLOAT), _FLOAT, inside)
            cost["instructions"] += request.requests
            cost["sectors"] += int(request.sectors.sum())
    return cost


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    m, k, n = sizes["m"], sizes["k"], sizes["n"]
    a, b = (generator.uniform(1, 2, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float32)
    across, down = -(-n // _TILE), -(-m // _TILE)
    of_a, of_b = staged(m, k), staged(k, n)
    return Launch(
        grid=(across, down),
        block=(_TILE, _TILE),
        arguments=(a, b, c),
        watched=(
            Watched("c", c, (a.astype(np.float64) @ b).astype(np.float32)),
            Watched("a", a, a.copy()),
            Watched("b", b, b.copy()),
        ),
        budgets={
            "loads": {number: across * of_a[number] + down * of_b[number] for number in of_a},
            "shared accesses": {"extra_wavefronts": 0},
        },
    )


def _more(generator: random.Random) -> list[Sizes]:
    """Every size below, at and above a multiple of the tile, in many combinations."""

    def size(tiles: int) -> int:
        return _TILE * tiles + generator.randint(1, _TILE - 1)

    shapes = [(size(1), size(2), size(1)), (size(2), size(0), size(1)), (size(0), size(3), size(2)),
              (size(1), size(1), size(0)), (_TILE, size(1), 2 * _TILE), (size(1), 2 * _TILE, size(1)),
              (1, size(2), 1)]  # fmt: skip
    return [{"m": m, "k": k, "n": n} for m, k, n in shapes]


EXERCISE = KernelCheck(
    name="tiling/matmul",
    kernel="matmul",
    statement=(
        "`matmul[grid, block](a, b, c)` computes c = a b. A block has 16 x 16 threads, and each thread computes "
        "the element of c in column `cuda.grid(2)[0]` and row `cuda.grid(2)[1]`. In the kernel that you get, every "
        "thread loads all that it needs from global memory. Stage tiles of 16 x 16 elements in shared memory: then a "
        "block loads each element of its rows of `a` and of its columns of `b` once. Lanes whose element lies outside "
        "of a matrix load nothing. Nothing may have a bank conflict. The sizes are any numbers from 1 up."
    ),
    keys={
        "a": "float32 matrix, m x k, read only",
        "b": "float32 matrix, k x n, read only",
        "c": "float32 matrix, m x n",
    },
    result_points=1,
    finding_points=1,
    budgets=(
        Budget(
            "loads",
            3,
            "load",
            "Each thread loads one element of a and one of b for each tile, neighbouring lanes neighbouring elements.",
        ),
        Budget(
            "shared accesses",
            1,
            "both",
            "In which banks do the 32 lanes of a warp (two rows of the block) find their words?",
            space="shared",
        ),
    ),
    visible=({"m": 32, "k": 64, "n": 48}, {"m": 20, "k": 37, "n": 35}, {"m": 5, "k": 7, "n": 3}),
    more=_more,
    launch=_launch,
)
