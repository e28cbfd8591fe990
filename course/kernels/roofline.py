"""The kernels of chapter `roofline` that its explorer profiles: few and many FLOP for every byte they move.

The tiled product with one output a thread is `course.kernels.tiling.tiled_matmul`.
"""

from __future__ import annotations

from typing import Any

from numba import float32

from course import cuda

__all__ = ["copy", "matmul", "matmul_registers", "saxpy", "stream"]


@cuda.jit
def copy(x: Any, out: Any) -> None:
    """No FLOP: one value read, one written."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cuda.jit
def saxpy(a: Any, x: Any, y: Any) -> None:
    """A multiply and an add for every three floats moved."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


@cuda.jit
def stream(x: Any, out: Any, n: int, reads: int, writes: int, flop: int, step: Any) -> None:
    """Any mix: element i reads `reads` values, does `flop` additions and writes `writes` values.

    x and out hold one plane of n values after another, so every access is coalesced. Picking the largest value
    is no FLOP. Without writes a compiler would drop the whole kernel; the simulator counts it as written.
    """
    i = cuda.grid(1)
    if i < n:
        value = x[i]
        for plane in range(1, reads):
            value = max(value, x[plane * n + i])
        for _ in range(flop):
            value = value + step
        for plane in range(writes):
            out[plane * n + i] = value


@cuda.jit
def matmul(a: Any, b: Any, c: Any) -> None:
    """C = A B as the formula says it: two floats read from global memory for every multiply-add."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def matmul_registers(a: Any, b: Any, c: Any) -> None:
    """C = A B in tiles of 64 x 64: 16 x 16 threads a block, and each keeps 4 x 4 results in registers.

    The sizes are multiples of 64. One thread for each result would take blocks of 4096 threads. Of shared memory
    a thread loads 4 + 4 values for 16 multiply-adds; with one result for each thread these are 2 for one.
    """
    a_tile = cuda.shared.array((64, 16), float32)
    b_tile = cuda.shared.array((16, 64), float32)
    totals = cuda.local.array((4, 4), float32)
    a_values = cuda.local.array(4, float32)
    b_values = cuda.local.array(4, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = 64 * cuda.blockIdx.x + x, 64 * cuda.blockIdx.y + y
    for i in range(4):
        for j in range(4):
            totals[i, j] = 0
    for step in range(0, a.shape[1], 16):
        for i in range(4):
            a_tile[y + 16 * i, x] = a[row + 16 * i, step + x]
            b_tile[y, x + 16 * i] = b[step + y, column + 16 * i]
        cuda.syncthreads()
        for k in range(16):
            for i in range(4):
                a_values[i] = a_tile[y + 16 * i, k]
                b_values[i] = b_tile[k, x + 16 * i]
            for i in range(4):
                for j in range(4):
                    totals[i, j] += a_values[i] * b_values[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            c[row + 16 * i, column + 16 * j] = totals[i, j]
