"""The kernels of chapter `occupancy` that its explorer profiles: without shared memory, and with as much as asked."""

from __future__ import annotations

from typing import Any

from numba import float32

from course import cuda

__all__ = ["staged", "unstaged"]


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
