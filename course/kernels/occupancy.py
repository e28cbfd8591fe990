"""The kernels of chapter `occupancy`: those that its explorer profiles, and those whose registers its labs ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32

from course import cuda

__all__ = ["SIDES", "WIDTHS", "copy_rows", "examples", "product", "staged", "unstaged"]

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""Loads of a thread before it stores, in the labs."""
SIDES = (1, 2, 4, 8)
"""Results of a thread, along each side of its square, in the labs."""


@cuda.jit
def unstaged(x: Any, out: Any) -> None:
    """Each thread copies its element."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cuda.jit
def staged(x: Any, out: Any, words: int) -> None:
    """Each block brings `words` floats to its shared memory; then each thread takes one that another thread brought.

    The launch says how much shared memory there is: ``staged[blocks, threads, 0, 4 * words](x, out, words)``.
    """
    tile = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    for k in range(t, words, cuda.blockDim.x):
        tile[k] = x[k]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < out.size:
        out[i] = tile[words - 1 - t % words]


def copy_rows(loads: int, **options: Any) -> Any:
    """A copy in which each thread has `loads` loads on their way before it needs the first value.

    The kernel takes x and out of shape (loads, n). The values wait in registers. options: of `cuda.jit`.
    """

    @cuda.jit(**options)
    def copy(x, out):
        values = cuda.local.array(loads, np.float32)
        for i in range(cuda.grid(1), x.shape[1], cuda.gridsize(1)):
            for j in range(loads):
                values[j] = x[j, i]
            for j in range(loads):
                out[j, i] = values[j]

    return copy


def product(side: int, **options: Any) -> Any:
    """A matrix product in which each thread keeps side x side results, in blocks of 16 x 16 threads.

    A block computes a square of 16 * side; the sides of the matrices are multiples of it. options: of `cuda.jit`.
    """
    tile = 16 * side

    @cuda.jit(**options)
    def multiply(a, b, c):
        left = cuda.shared.array((tile, 16), np.float32)
        right = cuda.shared.array((16, tile), np.float32)
        sums = cuda.local.array((side, side), np.float32)
        down, across = cuda.local.array(side, np.float32), cuda.local.array(side, np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        row, column = cuda.blockIdx.y * tile + ty, cuda.blockIdx.x * tile + tx
        for p in range(side):
            for q in range(side):
                sums[p, q] = 0
        for step in range(0, a.shape[1], 16):
            for p in range(side):
                left[ty + 16 * p, tx] = a[row + 16 * p, step + tx]
                right[ty, tx + 16 * p] = b[step + ty, column + 16 * p]
            cuda.syncthreads()
            for k in range(16):
                for p in range(side):
                    down[p], across[p] = left[ty + 16 * p, k], right[k, tx + 16 * p]
                for p in range(side):
                    for q in range(side):
                        sums[p, q] += down[p] * across[q]
            cuda.syncthreads()
        for p in range(side):
            for q in range(side):
                c[row + 16 * p, column + 16 * q] = sums[p, q]

    return multiply


def examples() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Name -> kernel and arguments: the launches whose registers the chapter asks for."""
    square = np.zeros((128, 128), np.float32)
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "unstaged": (unstaged, (square[0], square[0])),
        "staged": (staged, (square[0], square[0], 32)),
    }
    for loads in WIDTHS:
        rows = np.zeros((loads, 64), np.float32)
        for limit in (None, (256, 8)):
            options = {} if limit is None else {"launch_bounds": limit}
            found[f"copy_rows({loads}), {limit}"] = copy_rows(loads, **options), (rows, rows)
    for side in SIDES:
        for limit in (None, (256, 4), (256, 8)):
            options = {} if limit is None else {"launch_bounds": limit}
            found[f"product({side}), {limit}"] = product(side, **options), (square, square, square)
    return found
