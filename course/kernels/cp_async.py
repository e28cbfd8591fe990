"""The kernels of chapter `cp_async`: one tiled loop, with three ways to bring the tiles.

Thread i adds up its distance to every point of y: ``out[i] = sum of |x[i] - y[j]|``. The block brings y to shared
memory tile by tile, `each` elements a thread. x has a whole number of blocks, y a whole number of tiles. Shared
arrays have constant shapes, so each kernel is made for its block and its tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32

from course import cuda

__all__ = ["arguments", "examples", "in_registers", "synchronous", "with_copies"]


def synchronous(threads: int, each: int = 1) -> Any:
    """Make the kernel that loads a tile, and then computes it."""
    size = threads * each

    @cuda.jit
    def synchronous_kernel(x: Any, y: Any, out: Any) -> None:
        tile = cuda.shared.array(size, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        mine, total = x[i], float32(0)
        for first in range(0, y.size, size):
            for e in range(each):
                tile[e * threads + t] = y[first + e * threads + t]
            cuda.syncthreads()
            for j in range(size):
                total += abs(mine - tile[j])
            cuda.syncthreads()
        out[i] = total

    return synchronous_kernel


def in_registers(threads: int, each: int = 1) -> Any:
    """Make the kernel that holds its part of the next tile in registers while it computes a tile."""
    size = threads * each
    shape = (2, size)

    @cuda.jit
    def in_registers_kernel(x: Any, y: Any, out: Any) -> None:
        tile = cuda.shared.array(shape, float32)
        held = cuda.local.array(each, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        mine, total = x[i], float32(0)
        for e in range(each):
            held[e] = y[e * threads + t]
        for k in range(y.size // size):
            for e in range(each):
                tile[k % 2, e * threads + t] = held[e]
            cuda.syncthreads()
            if k + 1 < y.size // size:
                for e in range(each):
                    held[e] = y[(k + 1) * size + e * threads + t]
            for j in range(size):
                total += abs(mine - tile[k % 2, j])
        out[i] = total

    return in_registers_kernel


def with_copies(threads: int, each: int = 1, stages: int = 2) -> Any:
    """Make the kernel whose tiles come with `cp_async`, `stages` - 1 of them ahead. y has so many tiles at least."""
    size = threads * each
    shape, ahead, groups = (stages, size), stages - 1, stages - 2

    @cuda.jit
    def with_copies_kernel(x: Any, y: Any, out: Any) -> None:
        tile = cuda.shared.array(shape, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        mine, total = x[i], float32(0)
        for k in range(ahead):
            for e in range(each):
                cuda.cp_async(tile, (k, e * threads + t), y, k * size + e * threads + t, 4)
            cuda.cp_async_commit()
        for k in range(y.size // size):
            cuda.cp_async_wait(groups)
            cuda.syncthreads()
            if k + ahead < y.size // size:
                for e in range(each):
                    place = e * threads + t
                    cuda.cp_async(tile, ((k + ahead) % stages, place), y, (k + ahead) * size + place, 4)
            cuda.cp_async_commit()
            for j in range(size):
                total += abs(mine - tile[k % stages, j])
        out[i] = total

    return with_copies_kernel


def arguments(blocks: int, points: int, threads: int = 64, seed: int = 1) -> tuple[Any, Any, Any]:
    """x for so many blocks, so many points y, and room for the sums."""
    generator = np.random.default_rng(seed)
    x, y = (generator.random(count, dtype=np.float32) for count in (blocks * threads, points))
    return x, y, np.zeros_like(x)


def examples() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Launches of which the chapter shows the registers: name -> (kernel, arguments)."""
    made = {
        f"{make.__name__}(64, {each})": (make(64, each), arguments(1, 64 * each))
        for each in (1, 16)
        for make in (synchronous, in_registers, with_copies)
    }
    deep = {f"with_copies(64, {each}, 3)": (with_copies(64, each, 3), arguments(1, 192 * each)) for each in (1, 16)}
    return made | deep
