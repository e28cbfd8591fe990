"""Kernels without a mistake, many of them close to one."""

from __future__ import annotations

import math

import numpy as np
from numba import complex128, float32, float64, int8, int32

from course import cuda
from tests.simulator.hazard_zoo import BLOCKS, N, Zoo, floats

ZOO = Zoo(__file__)
one_warp = {"block": 32, "grid": 8}


def ragged() -> tuple[np.ndarray, np.ndarray]:
    return floats(N - 5), np.zeros(N - 5, np.float32)


def counts() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(5).integers(0, 8, N).astype(np.int32), np.zeros(8, np.int32)


def tiles(rows: int = 64, columns: int = 64) -> tuple[np.ndarray, np.ndarray]:
    return floats(rows, columns), np.zeros((columns, rows), np.float32)


def matrices(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return floats(n, n), floats(n, n), np.zeros((n, n), np.float32)


# ---- every thread its own element ------------------------------------------------------------------------


@ZOO.add(args=ragged)
@cuda.jit
def guarded_copy(x, out):
    g = cuda.grid(1)
    if g < x.size:
        out[g] = x[g]


@ZOO.add(args=ragged)
@cuda.jit
def early_return(x, out):
    g = cuda.grid(1)
    if g >= x.size:
        return
    out[g] = 2 * x[g]


@ZOO.add()
@cuda.jit
def saxpy_in_place(x, y):
    g = cuda.grid(1)
    y[g] = 3.0 * x[g] + y[g]


@ZOO.add(args=lambda: (floats(1000), np.zeros(1000, np.float32)))
@cuda.jit
def grid_stride(x, out):
    for g in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[g] = math.sqrt(x[g])


@ZOO.add()
@cuda.jit
def accumulates_in_global_memory(x, out):
    g = cuda.grid(1)
    for k in range(5):
        out[g] += x[(g + k) % x.size]


@ZOO.add()
@cuda.jit
def neighbours_are_read_and_another_array_written(x, out):
    g = cuda.grid(1)
    if 0 < g < x.size - 1:
        out[g] = 0.5 * (x[g - 1] + x[g + 1])


@ZOO.add(args=lambda: tiles(50, 40), grid=(3, 4), block=(16, 16))
@cuda.jit
def naive_transpose(a, out):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        out[x, y] = a[y, x]


@ZOO.add(args=lambda: (floats(6, 10, 14), np.zeros((6, 10, 14), np.float32)), grid=(2, 2, 3), block=(8, 5, 2))
@cuda.jit
def three_dimensions_with_ragged_warps(a, out):
    x, y, z = cuda.grid(3)
    if z < a.shape[0] and y < a.shape[1] and x < a.shape[2]:
        out[z, y, x] = a[z, y, x]


@ZOO.add(args=lambda: (floats(132), np.zeros(132, np.float32)), block=33)
@cuda.jit
def blocks_of_33_threads(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]


@ZOO.add(args=lambda: (np.ones(N, np.complex128), np.zeros(N, np.complex128)))
@cuda.jit
def complex_numbers(x, out):
    g = cuda.grid(1)
    out[g] = x[g] * x[g]


@ZOO.add(args=lambda: (np.zeros(N, np.dtype([("x", "f4"), ("n", "i4")])), np.zeros(N, np.float32)))
@cuda.jit
def records(p, out):
    g = cuda.grid(1)
    p[g].x = 1.5
    out[g] = p[g].x + p[g].n


@ZOO.add(args=lambda: (floats(4 * N), np.zeros(4 * N, np.float32)))
@cuda.jit
def wide_copy(x, out):
    g = cuda.grid(1)
    cuda.store4(out, 4 * g, cuda.load4(x, 4 * g))


@ZOO.add()
@cuda.jit
def local_array(x, out):
    t = cuda.local.array(4, float32)
    g = cuda.grid(1)
    for k in range(4):
        t[k] = x[(g + k) % x.size]
    out[g] = t[3] - t[0]


@ZOO.add(args=lambda: (np.arange(N, dtype=np.int8), np.zeros(N, np.int8)))
@cuda.jit
def neighbouring_bytes(x, out):
    g = cuda.grid(1)
    out[g] = x[g]


@ZOO.add()
@cuda.jit
def slices_of_an_array(x, out):
    g = cuda.grid(1)
    low, high = out[: N // 2], out[N // 2 :]
    if g < N // 2:
        low[g] = x[g]
        high[g] = x[g + N // 2]


# ---- many threads, one word ------------------------------------------------------------------------------


@ZOO.add()
@cuda.jit
def flag_of_equal_values(x, out):
    if x[cuda.grid(1)] > 0.5:
        out[0] = 1.0


@ZOO.add()
@cuda.jit
def flag_set_at_two_lines(x, out):
    if x[cuda.grid(1)] > 0.9:
        out[0] = 1.0
    if x[cuda.grid(1)] < 0.1:
        out[0] = 1.0


@ZOO.add()
@cuda.jit
def one_thread_writes(x, out):
    if cuda.grid(1) == 0:
        out[0] = x[0]


@ZOO.add()
@cuda.jit
def one_thread_of_each_block_writes(x, out):
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = x[cuda.blockIdx.x]


@ZOO.add()
@cuda.jit
def atomic_sum(x, out):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


@ZOO.add()
@cuda.jit
def atomic_maximum(x, out):
    cuda.atomic.max(out, cuda.grid(1) % 3, x[cuda.grid(1)])


@ZOO.add(args=counts)
@cuda.jit
def global_histogram(x, out):
    cuda.atomic.add(out, x[cuda.grid(1)], 1)


@ZOO.add(args=counts)
@cuda.jit
def shared_histogram(x, out):
    h = cuda.shared.array(8, int32)
    i = cuda.threadIdx.x
    if i < 8:
        h[i] = 0
    cuda.syncthreads()
    cuda.atomic.add(h, x[cuda.grid(1)], 1)
    cuda.syncthreads()
    if i < 8:
        cuda.atomic.add(out, i, h[i])


@ZOO.add(args=lambda: (floats(N), np.zeros(BLOCKS, np.float32), np.zeros(1, np.int32), np.zeros(1, np.float32)))
@cuda.jit
def last_block_sums(x, parts, arrived, total):
    last = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        acc = float32(0.0)
        for k in range(cuda.blockDim.x):
            acc += x[cuda.blockIdx.x * cuda.blockDim.x + k]
        parts[cuda.blockIdx.x] = acc
        cuda.threadfence()
        last[0] = cuda.atomic.add(arrived, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and cuda.threadIdx.x == 0:
        acc = float32(0.0)
        for k in range(parts.size):
            acc += parts[k]
        total[0] = acc


# ---- shared memory, with its barriers --------------------------------------------------------------------


@ZOO.add()
@cuda.jit
def reversed_through_shared(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = t[63 - i]


@ZOO.add()
@cuda.jit
def own_element_without_barrier(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    t[i] *= 2
    out[cuda.grid(1)] = t[i]


@ZOO.add()
@cuda.jit
def tree_reduction(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if i < s:
            t[i] += t[i + s]
        cuda.syncthreads()
        s //= 2
    if i == 0:
        out[cuda.blockIdx.x] = t[0]


@ZOO.add(args=ragged)
@cuda.jit
def ragged_reduction(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    t[i] = x[g] if g < x.size else 0.0
    cuda.syncthreads()
    s = 32
    while s > 0:
        if i < s:
            t[i] += t[i + s]
        cuda.syncthreads()
        s //= 2
    if i == 0:
        cuda.atomic.add(out, 0, t[0])


@ZOO.add(args=lambda: matrices(64), grid=(2, 2), block=(32, 32))
@cuda.jit
def tiled_matmul(A, B, C):  # noqa: N803
    a = cuda.shared.array((32, 32), float32)
    b = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0.0)
    for k in range(0, A.shape[1], 32):
        a[ty, tx] = A[row, k + tx]
        b[ty, tx] = B[k + ty, col]
        cuda.syncthreads()
        for i in range(32):
            acc += a[ty, i] * b[i, tx]
        cuda.syncthreads()
    C[row, col] = acc


@ZOO.add(args=lambda: matrices(50), grid=(4, 4), block=(16, 16))
@cuda.jit
def ragged_tiled_matmul(A, B, C):  # noqa: N803
    a = cuda.shared.array((16, 16), float32)
    b = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0.0)
    for k in range(0, A.shape[1], 16):
        if row < A.shape[0] and k + tx < A.shape[1]:
            a[ty, tx] = A[row, k + tx]
        else:
            a[ty, tx] = 0.0
        if k + ty < B.shape[0] and col < B.shape[1]:
            b[ty, tx] = B[k + ty, col]
        else:
            b[ty, tx] = 0.0
        cuda.syncthreads()
        for i in range(16):
            acc += a[ty, i] * b[i, tx]
        cuda.syncthreads()
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = acc


@ZOO.add(args=lambda: matrices(64), grid=(4, 4), block=(16, 16))
@cuda.jit
def double_buffered_matmul(A, B, C):  # noqa: N803
    a = cuda.shared.array((2, 16, 16), float32)
    b = cuda.shared.array((2, 16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0.0)
    a[0, ty, tx] = A[row, tx]
    b[0, ty, tx] = B[ty, col]
    cuda.syncthreads()
    for step in range(A.shape[1] // 16):
        now = step % 2
        if step + 1 < A.shape[1] // 16:
            k = (step + 1) * 16
            a[1 - now, ty, tx] = A[row, k + tx]
            b[1 - now, ty, tx] = B[k + ty, col]
        for i in range(16):
            acc += a[now, ty, i] * b[now, i, tx]
        cuda.syncthreads()
    C[row, col] = acc


@ZOO.add(args=tiles, grid=(2, 2), block=(32, 8))
@cuda.jit
def padded_transpose(a, out):
    t = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
    for j in range(0, 32, 8):
        t[ty + j, tx] = a[y + j, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    for j in range(0, 32, 8):
        out[y + j, x] = t[tx, ty + j]


@ZOO.add(args=lambda: tiles(50, 70), grid=(3, 2), block=(32, 32))
@cuda.jit
def ragged_transpose(a, out):
    t = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
    if y < a.shape[0] and x < a.shape[1]:
        t[ty, tx] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = t[tx, ty]


@ZOO.add(args=ragged)
@cuda.jit
def stencil_with_halo(x, out):
    t = cuda.shared.array(66, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    t[i + 1] = x[g] if g < x.size else 0.0
    if i == 0:
        t[0] = x[g - 1] if g > 0 else 0.0
    if i == 63:
        t[65] = x[g + 1] if g + 1 < x.size else 0.0
    cuda.syncthreads()
    if g < x.size:
        out[g] = t[i] + t[i + 1] + t[i + 2]


@ZOO.add()
@cuda.jit
def scan_with_two_buffers(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    t[0, i] = x[cuda.grid(1)]
    cuda.syncthreads()
    source = 0
    step = 1
    while step < 64:
        if i >= step:
            t[1 - source, i] = t[source, i] + t[source, i - step]
        else:
            t[1 - source, i] = t[source, i]
        cuda.syncthreads()
        source = 1 - source
        step *= 2
    out[cuda.grid(1)] = t[source, i]


@ZOO.add()
@cuda.jit
def bitonic_sort(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    k = 2
    while k <= 64:
        j = k // 2
        while j > 0:
            p = i ^ j
            if p > i:
                up = (i & k) == 0
                if (t[i] > t[p]) == up:
                    t[i], t[p] = t[p], t[i]
            cuda.syncthreads()
            j //= 2
        k *= 2
    out[cuda.grid(1)] = t[i]


@ZOO.add()
@cuda.jit
def one_thread_fills_and_all_read(x, out):
    t = cuda.shared.array(4, float32)
    if cuda.threadIdx.x == 0:
        for k in range(4):
            t[k] = x[k]
    cuda.syncthreads()
    out[cuda.grid(1)] = t[cuda.threadIdx.x % 4]


@ZOO.add()
@cuda.jit
def barrier_in_a_branch_of_whole_blocks(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    if cuda.blockIdx.x % 2 == 0:
        t[i] = x[g]
        cuda.syncthreads()
        out[g] = t[63 - i]
    else:
        out[g] = x[g]


@ZOO.add()
@cuda.jit
def barrier_in_loops_of_different_length(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    acc = float32(0.0)
    for k in range(cuda.blockIdx.x):
        t[i] = x[k * 64 + i]
        cuda.syncthreads()
        acc += t[63 - i]
        cuda.syncthreads()
    out[cuda.grid(1)] = acc


@ZOO.add(args=ragged)
@cuda.jit
def threads_that_left_need_no_barrier(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    if g >= x.size:
        return
    t[i] = x[g]
    cuda.syncthreads()
    out[g] = t[i]


@cuda.jit(device=True)
def fill(t, i, value):
    t[i] = value
    cuda.syncthreads()


@ZOO.add()
@cuda.jit
def barrier_in_a_device_function(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    fill(t, i, x[cuda.grid(1)])
    out[cuda.grid(1)] = t[63 - i]


@ZOO.add(args=lambda: (np.arange(N, dtype=np.int8), np.zeros(N, np.int8)))
@cuda.jit
def shared_bytes(x, out):
    t = cuda.shared.array(64, int8)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    out[cuda.grid(1)] = t[i]


@ZOO.add(args=lambda: (np.ones(N, np.complex128), np.zeros(N, np.complex128)))
@cuda.jit
def shared_complex_beside_doubles(x, out):
    t = cuda.shared.array(64, complex128)
    u = cuda.shared.array(64, float64)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    u[i] = 2.0
    cuda.syncthreads()
    out[cuda.grid(1)] = t[63 - i] * u[(i + 7) % 64]


@ZOO.add()
@cuda.jit
def block_dependent_places_in_shared_memory(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[(i + 5 * cuda.blockIdx.x) % 64] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = t[(i + 3) % 64]


# ---- warps -----------------------------------------------------------------------------------------------


@ZOO.add(**one_warp)
@cuda.jit
def warp_reduction_with_syncwarp(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    cuda.syncwarp()
    s = 16
    while s > 0:
        if i < s:
            t[i] += t[i + s]
        cuda.syncwarp()
        s //= 2
    if i == 0:
        out[cuda.blockIdx.x] = t[0]


@ZOO.add(**one_warp)
@cuda.jit
def warp_reduction_by_shuffles(x, out):
    value = x[cuda.grid(1)]
    s = 16
    while s > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, s)
        s //= 2
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = value


@ZOO.add()
@cuda.jit
def warp_sums_then_block_sum(x, out):
    t = cuda.shared.array(2, float32)
    i = cuda.threadIdx.x
    value = x[cuda.grid(1)]
    s = 16
    while s > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, s)
        s //= 2
    if i % 32 == 0:
        t[i // 32] = value
    cuda.syncthreads()
    if i == 0:
        out[cuda.blockIdx.x] = t[0] + t[1]


@ZOO.add()
@cuda.jit
def votes(x, out):
    if cuda.syncthreads_count(1 if x[cuda.grid(1)] > 0.5 else 0) > 10:
        out[cuda.grid(1)] = 1.0


@ZOO.add(args=lambda: ((np.arange(N) % 5).astype(np.float32), np.zeros(N, np.float32)))
@cuda.jit
def divides_where_it_may(x, out):
    g = cuda.grid(1)
    if x[g] != 0 and float32(1.0) / x[g] < 2:
        out[g] = float32(1.0) / x[g]
    out[g] += float32(3.0) % x[g] if x[g] > 0 else float32(0.0)


@cuda.jit(device=True)
def share_or_nothing(a, b):
    if b == 0:
        return 0
    return a // b


@ZOO.add()
@cuda.jit
def divides_after_a_return(x, out):
    g = cuda.grid(1)
    out[g] = share_or_nothing(g, cuda.threadIdx.x)
