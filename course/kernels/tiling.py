"""The kernels of chapter `tiling` that are made for a tile: one access to it, a tiled matrix product, a transpose.

Shared arrays have constant shapes, so each kernel is made for its tile: `load_from` and `store_to` for one access
of one warp, which the explorer of banks profiles, `tiled_matmul` and `tiled_transpose` for whole matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course import cuda

__all__ = ["PLACES", "load_from", "store_to", "tiled_matmul", "tiled_transpose"]

WARP = 32

# Where lane i goes: (row, column). A tile that is narrower than a warp takes several rows (columns) of it.


@cuda.jit(device=True)
def along_rows(i: Any, rows: Any, columns: Any, step: Any) -> Any:
    """t[y][x] of a block as wide as the tile."""
    return i // columns, i % columns


@cuda.jit(device=True)
def down_columns(i: Any, rows: Any, columns: Any, step: Any) -> Any:
    """t[x][y]: the same block, read the other way round."""
    return i % rows, i // rows


@cuda.jit(device=True)
def along_the_diagonal(i: Any, rows: Any, columns: Any, step: Any) -> Any:
    """t[i][i], starting over at the edges."""
    return i % rows, i % columns


@cuda.jit(device=True)
def strided(i: Any, rows: Any, columns: Any, step: Any) -> Any:
    """Every step-th element of a tile with one long row; step 0 is a broadcast."""
    return 0, step * i


PLACES = {"row": along_rows, "column": down_columns, "diagonal": along_the_diagonal, "stride": strided}
"""The device functions by the explorer's name of the pattern."""


def load_from(shape: tuple[int, int], columns: int, dtype: Any, place: Any) -> Any:
    """Make a kernel in which lane i loads one element of a tile of this shape (`columns` of it hold data)."""
    rows = shape[0]

    @cuda.jit
    def load_kernel(out: Any, step: Any, active: Any) -> None:
        t = cuda.shared.array(shape, dtype)
        i = cuda.threadIdx.x
        for n in range(i, rows * columns, WARP):  # an element that nobody wrote must not be read
            t[n // columns, n % columns] = 1
        cuda.syncthreads()
        if i < active:
            row, column = place(i, rows, columns, step)
            out[i] = t[row, column]

    return load_kernel


def store_to(shape: tuple[int, int], columns: int, dtype: Any, place: Any) -> Any:
    """Make a kernel in which lane i stores one element of a tile of this shape."""
    rows = shape[0]

    @cuda.jit
    def store_kernel(out: Any, step: Any, active: Any) -> None:
        t = cuda.shared.array(shape, dtype)
        i = cuda.threadIdx.x
        if i < active:
            row, column = place(i, rows, columns, step)
            t[row, column] = out[i]

    return store_kernel


def tiled_matmul(tile: int, pad: int, dtype: Any) -> Any:
    """Make a kernel for C = A B with tile x tile threads a block; the sizes are multiples of the tile."""
    shape = (tile, tile + pad)

    @cuda.jit
    def matmul_kernel(a: Any, b: Any, c: Any) -> None:
        a_tile = cuda.shared.array(shape, dtype)
        b_tile = cuda.shared.array(shape, dtype)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        total = dtype(0)
        for step in range(a.shape[1] // tile):
            a_tile[y, x] = a[row, step * tile + x]
            b_tile[y, x] = b[step * tile + y, column]
            cuda.syncthreads()
            for k in range(tile):
                total += a_tile[y, k] * b_tile[k, x]
            cuda.syncthreads()
        c[row, column] = total

    return matmul_kernel


def tiled_transpose(tile: int, pad: int, block_rows: int) -> Any:
    """Make a kernel for out[x, y] = a[y, x] with tile x block_rows threads a block; the sizes are multiples of it."""
    shape = (tile, tile + pad)

    @cuda.jit
    def transpose_kernel(a: Any, out: Any) -> None:
        t = cuda.shared.array(shape, np.float32)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        first_x, first_y = tile * cuda.blockIdx.x, tile * cuda.blockIdx.y
        for k in range(0, tile, block_rows):  # constant bounds: the compiler unrolls it, and all loads start at once
            t[j + k, i] = a[first_y + j + k, first_x + i]
        cuda.syncthreads()
        for k in range(0, tile, block_rows):
            out[first_x + j + k, first_y + i] = t[i, j + k]

    return transpose_kernel
