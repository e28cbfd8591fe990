"""Asynchronous copies without a mistake, many of them close to one."""

from __future__ import annotations

import numpy as np
from numba import float32, int8

from course import cuda
from tests.simulator.hazard_zoo import N, Zoo, floats

ZOO = Zoo(__file__)
one_warp = {"block": 32, "grid": 8}
T = 16


def rows() -> tuple[np.ndarray, np.ndarray]:
    return floats(9, 64), np.zeros(N, np.float32)


def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return floats(40, 50), floats(50, 30), np.zeros((40, 30), np.float32)


@ZOO.add()
@cuda.jit
def waited_and_met(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[g] = t[63 - i]


@ZOO.add()
@cuda.jit
def its_own_copy_needs_no_barrier(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    out[g] = t[i]


@ZOO.add(**one_warp)
@cuda.jit
def one_warp_and_syncwarp(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    cuda.cp_async(t, i, x, cuda.grid(1), 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncwarp()
    out[cuda.grid(1)] = t[31 - i]


@ZOO.add()
@cuda.jit
def first_of_two_groups(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, (0, i), x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async(t, (1, i), x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(1)
    cuda.syncthreads()
    first = t[0, 63 - i]
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[g] = first + t[1, 63 - i]


@ZOO.add(args=rows, block=64)
@cuda.jit
def two_stages(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    total = float32(0)
    cuda.cp_async(t, (0, i), x, (0, i), 4)
    cuda.cp_async_commit()
    for k in range(x.shape[0]):
        cuda.cp_async_wait(0)
        cuda.syncthreads()
        if k + 1 < x.shape[0]:
            cuda.cp_async(t, ((k + 1) % 2, i), x, (k + 1, i), 4)
        cuda.cp_async_commit()
        total += t[k % 2, 63 - i]
    out[cuda.grid(1)] = total


@ZOO.add(args=rows, block=64)
@cuda.jit
def two_stages_with_a_second_barrier(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    total = float32(0)
    cuda.cp_async(t, (0, i), x, (0, i), 4)
    cuda.cp_async_commit()
    for k in range(x.shape[0]):
        if k + 1 < x.shape[0]:
            cuda.cp_async(t, ((k + 1) % 2, i), x, (k + 1, i), 4)
        cuda.cp_async_commit()
        cuda.cp_async_wait(1)
        cuda.syncthreads()
        total += t[k % 2, 63 - i]
        cuda.syncthreads()
    out[cuda.grid(1)] = total


@ZOO.add(args=rows, block=64)
@cuda.jit
def three_stages(x, out):
    t = cuda.shared.array((3, 64), float32)
    i = cuda.threadIdx.x
    total = float32(0)
    for k in range(2):
        cuda.cp_async(t, (k, i), x, (k, i), 4)
        cuda.cp_async_commit()
    for k in range(x.shape[0]):
        cuda.cp_async_wait(1)
        cuda.syncthreads()
        if k + 2 < x.shape[0]:
            cuda.cp_async(t, ((k + 2) % 3, i), x, (k + 2, i), 4)
        cuda.cp_async_commit()
        total += t[k % 3, 63 - i]
    out[cuda.grid(1)] = total


@ZOO.add(args=matrices, grid=(2, 3), block=(T, T))
@cuda.jit
def product_of_any_shape(a, b, c):
    a_tiles = cuda.shared.array((2, T, T), float32)
    b_tiles = cuda.shared.array((2, T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    tiles = (a.shape[1] + T - 1) // T
    total = float32(0)
    for k in range(tiles + 1):
        if k < tiles:
            if row < a.shape[0] and k * T + x < a.shape[1]:
                cuda.cp_async(a_tiles, (k % 2, y, x), a, (row, k * T + x), 4)
            else:
                a_tiles[k % 2, y, x] = 0
            if k * T + y < b.shape[0] and column < b.shape[1]:
                cuda.cp_async(b_tiles, (k % 2, y, x), b, (k * T + y, column), 4)
            else:
                b_tiles[k % 2, y, x] = 0
        cuda.cp_async_commit()
        if k > 0:
            cuda.cp_async_wait(1)
            cuda.syncthreads()
            for j in range(T):
                total += a_tiles[(k - 1) % 2, y, j] * b_tiles[(k - 1) % 2, j, x]
            cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit(device=True)
def begin(t, stage, x, k, i):
    cuda.cp_async(t[stage], i, x[k], i, 4)
    cuda.cp_async_commit()


@ZOO.add(args=rows, block=64)
@cuda.jit
def copies_of_a_device_function(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    begin(t, 0, x, 0, i)
    begin(t, 1, x, 1, i)
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[cuda.grid(1)] = t[0, 63 - i] + t[1, 63 - i]


@ZOO.add(args=lambda: (floats(4 * N), np.zeros(4 * N, np.float32)))
@cuda.jit
def sixteen_bytes_each(x, out):
    t = cuda.shared.array(256, float32)
    i = cuda.threadIdx.x
    first = 4 * cuda.grid(1)
    cuda.cp_async(t, 4 * i, x, first, 16)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    for k in range(4):
        out[first + k] = t[255 - 4 * i - k]


@ZOO.add(args=lambda: (np.arange(4 * N, dtype=np.int8), np.zeros(4 * N, np.int8)))
@cuda.jit
def four_single_bytes_each(x, out):
    t = cuda.shared.array(256, int8)
    i = cuda.threadIdx.x
    first = 4 * cuda.grid(1)
    cuda.cp_async(t, 4 * i, x, first, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    for k in range(4):
        out[first + k] = t[4 * i + k]


@ZOO.add(args=lambda: (floats(16, 32), np.zeros(128, np.float32)), grid=1, block=128)
@cuda.jit
def sixteen_bytes_into_rows_padded_by_four(x, out):
    t = cuda.shared.array((16, 36), float32)
    i = cuda.threadIdx.x
    cuda.cp_async(t, (i // 8, 4 * (i % 8)), x, (i // 8, 4 * (i % 8)), 16)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[i] = t[i % 16, i // 16]


@ZOO.add()
@cuda.jit
def stored_and_then_copied_to(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    t[i] = 0
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    t[i] += 1
    cuda.syncthreads()
    out[g] = t[63 - i]
