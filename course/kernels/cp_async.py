"""The kernels of chapter `cp_async`: one loop over tiles, with three ways to bring the tiles.

Every 64 numbers of y are a table of 8 rows and 8 columns, and each number is replaced by the sum of its column. A block
walks along its own stretch of y, `tiles` tiles long, and brings each tile to shared memory, `each` numbers a thread.
Shared arrays have constant shapes, so each kernel is made for its block and its tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32

from course import cuda

__all__ = ["arguments", "column_sums", "examples", "in_registers", "synchronous", "with_copies"]


def synchronous(threads: int, each: int = 1) -> Any:
    """Make the kernel that loads a tile, and then computes it."""
    size = threads * each

    @cuda.jit
    def synchronous_kernel(y: Any, out: Any, tiles: Any) -> None:
        tile = cuda.shared.array(size, float32)
        t = cuda.threadIdx.x
        first = cuda.blockIdx.x * tiles * size
        for k in range(tiles):
            for e in range(each):
                tile[e * threads + t] = y[first + k * size + e * threads + t]
            cuda.syncthreads()
            for e in range(each):
                place = e * threads + t
                total = float32(0)
                for j in range(8):
                    total += tile[place // 64 * 64 + place % 8 + 8 * j]
                out[first + k * size + place] = total
            cuda.syncthreads()

    return synchronous_kernel


def in_registers(threads: int, each: int = 1) -> Any:
    """Make the kernel that holds its part of the next tile in registers while it computes a tile."""
    size = threads * each
    shape = (2, size)

    @cuda.jit
    def in_registers_kernel(y: Any, out: Any, tiles: Any) -> None:
        tile = cuda.shared.array(shape, float32)
        held = cuda.local.array(each, float32)
        t = cuda.threadIdx.x
        first = cuda.blockIdx.x * tiles * size
        for e in range(each):
            held[e] = y[first + e * threads + t]
        for k in range(tiles):
            for e in range(each):
                tile[k % 2, e * threads + t] = held[e]
            cuda.syncthreads()
            if k + 1 < tiles:
                for e in range(each):
                    held[e] = y[first + (k + 1) * size + e * threads + t]
            for e in range(each):
                place = e * threads + t
                total = float32(0)
                for j in range(8):
                    total += tile[k % 2, place // 64 * 64 + place % 8 + 8 * j]
                out[first + k * size + place] = total

    return in_registers_kernel


def with_copies(threads: int, each: int = 1, stages: int = 2) -> Any:
    """Make the kernel whose tiles come with `cp_async`, `stages` - 1 of them ahead. There must be that many at least.

    Copies are as wide as `each` allows: four numbers at a time, or one.
    """
    size, wide = threads * each, 1 if each % 4 else 4
    shape, ahead, groups = (stages, size), stages - 1, stages - 2
    copies, nbytes = each // wide, 4 * wide

    @cuda.jit
    def with_copies_kernel(y: Any, out: Any, tiles: Any) -> None:
        tile = cuda.shared.array(shape, float32)
        t = cuda.threadIdx.x
        first = cuda.blockIdx.x * tiles * size
        for k in range(ahead):
            for c in range(copies):
                place = wide * (c * threads + t)
                cuda.cp_async(tile, (k, place), y, first + k * size + place, nbytes)
            cuda.cp_async_commit()
        for k in range(tiles):
            cuda.cp_async_wait(groups)
            cuda.syncthreads()
            if k + ahead < tiles:
                for c in range(copies):
                    place = wide * (c * threads + t)
                    cuda.cp_async(tile, ((k + ahead) % stages, place), y, first + (k + ahead) * size + place, nbytes)
            cuda.cp_async_commit()
            for e in range(each):
                place = e * threads + t
                total = float32(0)
                for j in range(8):
                    total += tile[k % stages, place // 64 * 64 + place % 8 + 8 * j]
                out[first + k * size + place] = total

    return with_copies_kernel


def arguments(blocks: int, tiles: int, numbers: int = 64) -> tuple[Any, Any, int]:
    """y for so many blocks of so many tiles of so many numbers, room for the sums, and the tiles of a block."""
    y = np.arange(blocks * tiles * numbers, dtype=np.float32) % 1000
    return y, np.zeros_like(y), tiles


def column_sums(y: Any) -> Any:
    """What the kernels compute, by NumPy."""
    return y.reshape(-1, 8, 8).sum(axis=1, keepdims=True).repeat(8, axis=1).ravel()


def examples() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Launches of which the chapter shows the registers: name -> (kernel, arguments)."""
    made = {
        f"{make.__name__}(64, {each})": (make(64, each), arguments(1, 2, 64 * each))
        for each in (1, 32)
        for make in (synchronous, in_registers, with_copies)
    }
    deep = {f"with_copies(64, {each}, 4)": (with_copies(64, each, 4), arguments(1, 4, 64 * each)) for each in (1, 32)}
    return made | deep
