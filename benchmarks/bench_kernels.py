"""The kernels that the simulator races numba's own simulator with; run as a script, it times numba's."""

from __future__ import annotations

import json
import os
import sys
import time

if __name__ == "__main__":
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
from numba import cuda, float32

T = 16


@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i]


@cuda.jit
def transpose(a, b):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        b[x, y] = a[y, x]


@cuda.jit
def matmul(A, B, C):  # noqa: N803
    a = cuda.shared.array((T, T), float32)
    b = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = T * cuda.blockIdx.y + ty, T * cuda.blockIdx.x + tx
    acc = float32(0)
    for k in range(0, A.shape[1], T):
        a[ty, tx] = A[row, k + tx]
        b[ty, tx] = B[k + ty, col]
        cuda.syncthreads()
        for i in range(T):
            acc += a[ty, i] * b[i, tx]
        cuda.syncthreads()
    C[row, col] = acc


def launches():
    """Name -> (kernel, grid, block, arguments)."""
    rng = np.random.default_rng(1)

    def square(n):
        return rng.random((n, n), dtype=np.float32)

    made = {
        "copy 64K": (copy, 256, 256, (rng.random(1 << 16, dtype=np.float32), np.zeros(1 << 16, np.float32))),
        "transpose 256": (transpose, (16, 16), (T, T), (square(256), square(256))),
    }
    for n in (64, 128):
        made[f"tiled matmul {n}"] = (matmul, (n // T, n // T), (T, T), (square(n), square(n), square(n)))
    return made


if __name__ == "__main__":
    seconds = {}
    for name, (kernel, grid, block, arguments) in launches().items():
        kernel[1, 1](*arguments)
        start = time.process_time()
        kernel[grid, block](*arguments)
        seconds[name] = time.process_time() - start
    json.dump(seconds, sys.stdout)
