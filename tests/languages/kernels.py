"""Kernels that the tests compile."""

from __future__ import annotations

import numpy as np
from numba import float32

from course import cuda

SIDE = 16
TILES = (np.zeros((64, 64), np.float32),) * 3


@cuda.jit
def tiled(a, b, c):
    """Tiled matmul, tiles without padding: the compiler joins the row reads."""
    rows = cuda.shared.array((SIDE, SIDE), float32)
    columns = cuda.shared.array((SIDE, SIDE), float32)
    x, y = cuda.grid(2)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    total = float32(0)
    for tile in range(a.shape[1] // SIDE):
        rows[i, j] = a[y, tile * SIDE + j]
        columns[i, j] = b[tile * SIDE + i, x]
        cuda.syncthreads()
        for k in range(SIDE):
            total += rows[i, k] * columns[k, j]
        cuda.syncthreads()
    c[y, x] = total


def scaled(factor, **options):
    """A family of kernels, one for each constant."""

    @cuda.jit(**options)
    def scale(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * factor

    return scale
