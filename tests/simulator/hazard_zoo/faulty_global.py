"""Mistakes with global memory: races, clashes, and indices that leave the array."""

from __future__ import annotations

import numpy as np
from numba import float32, int32

from course import cuda
from tests.simulator.hazard_zoo import N, Zoo, floats, two

ZOO = Zoo(__file__)


def shifted() -> tuple[np.ndarray, np.ndarray]:
    return floats(4 * N + 4), np.zeros(4 * N, np.float32)


# ---- races between threads -------------------------------------------------------------------------------


@ZOO.add("global-race")
@cuda.jit
def blocks_straight(x, out):
    g = cuda.grid(1)
    out[g] = x[g]
    x[g] = out[out.size - 1 - g]  # <- blocks_straight


@ZOO.add("global-race")
@cuda.jit
def blocks_in_loop(x, out):
    g = cuda.grid(1)
    for _ in range(3):
        out[g] = out[(g + 1) % out.size] + x[g]  # <- blocks_in_loop


@ZOO.add("global-race")
@cuda.jit
def blocks_in_branch(x, out):
    g = cuda.grid(1)
    if g + 1 < x.size:
        x[g + 1] = x[g]  # <- blocks_in_branch


@cuda.jit(device=True)
def put(out, at, value):
    out[at % 64] = value  # <- blocks_in_device


@ZOO.add("global-race")
@cuda.jit
def blocks_in_device(x, out):
    g = cuda.grid(1)
    put(out, g, x[g])


@ZOO.add("global-race")
@cuda.jit
def blocks_last(x, out):
    g = cuda.grid(1)
    out[g] = x[g]
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        out[cuda.threadIdx.x] = -1.0  # <- blocks_last


@ZOO.add("global-race", two, 1, 64)
@cuda.jit
def warps_of_a_block(x, out):
    i = cuda.grid(1)
    out[i] = x[i]
    x[i] = out[63 - i]  # <- warps_of_a_block


@ZOO.add("global-race")
@cuda.jit
def sum_without_atomics(x, out):
    out[0] += x[cuda.grid(1)]  # <- sum_without_atomics


@ZOO.add("global-race")
@cuda.jit
def counter_read_too_early(x, out):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])
    if cuda.threadIdx.x == 0:
        x[cuda.blockIdx.x] = out[0]  # <- counter_read_too_early


@ZOO.add("global-race", lambda: (floats(66), np.zeros(N, np.float32)))
@cuda.jit
def in_place_stencil(x, out):
    g = cuda.grid(1)
    if 0 < g < x.size - 1:
        x[g] = 0.5 * (x[g - 1] + x[g + 1])  # <- in_place_stencil


@ZOO.add("lane-conflict")
@cuda.jit
def clash_straight(x, out):
    g = cuda.grid(1)
    out[g // 2] = x[g]  # <- clash_straight


@cuda.jit(device=True)
def fold(out, at, value):
    out[at // 4] = value  # <- clash_in_device


@ZOO.add("lane-conflict")
@cuda.jit
def clash_in_device(x, out):
    fold(out, cuda.grid(1), x[cuda.grid(1)])


@ZOO.add("lane-conflict")
@cuda.jit
def clash_in_last_block(x, out):
    g = cuda.grid(1)
    if g >= N - 64:
        out[g - g % 2] = x[g]  # <- clash_in_last_block
    else:
        out[g] = x[g]


# ---- out of bounds ---------------------------------------------------------------------------------------


@ZOO.add("out-of-bounds")
@cuda.jit
def outside_straight(x, out):
    g = cuda.grid(1)
    out[g] = x[g + 1]  # <- outside_straight


@ZOO.add("out-of-bounds")
@cuda.jit
def outside_in_loop(x, out):
    g = cuda.grid(1)
    acc = float32(0.0)
    for k in range(3):
        acc += x[g * 2 + k]  # <- outside_in_loop
    out[g] = acc


@ZOO.add("out-of-bounds")
@cuda.jit
def outside_in_branch(x, out):
    g = cuda.grid(1)
    if g <= x.size:
        out[g + 1] = x[g]  # <- outside_in_branch


@cuda.jit(device=True)
def right_of(x, i):
    return x[i + 1]  # <- outside_in_device


@ZOO.add("out-of-bounds")
@cuda.jit
def outside_in_device(x, out):
    g = cuda.grid(1)
    out[g] = right_of(x, g)


@ZOO.add("out-of-bounds", lambda: (floats(N - 5), floats(N)))
@cuda.jit
def outside_in_last_block(x, out):
    g = cuda.grid(1)
    out[g] = x[g]  # <- outside_in_last_block


@ZOO.add("out-of-bounds", lambda: (floats(20, 40), floats(20, 40)), (2, 2), (32, 16))
@cuda.jit
def outside_in_two_dimensions(x, out):
    col, row = cuda.grid(2)
    if row < x.shape[1] and col < x.shape[0]:
        out[row, col] = x[row, col]  # <- outside_in_two_dimensions


@ZOO.add("out-of-bounds")
@cuda.jit
def outside_shared(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[i]
    cuda.syncthreads()
    out[cuda.grid(1)] = t[i + 1]  # <- outside_shared


# ---- negative indices ------------------------------------------------------------------------------------


@ZOO.add("negative-index")
@cuda.jit
def negative_straight(x, out):
    g = cuda.grid(1)
    out[g] = x[g - 1]  # <- negative_straight


@ZOO.add("negative-index")
@cuda.jit
def negative_in_loop(x, out):
    g = cuda.grid(1)
    acc = float32(0.0)
    for k in range(-2, 1):
        acc += x[g + k]  # <- negative_in_loop
    out[g] = acc


@ZOO.add("negative-index")
@cuda.jit
def negative_in_branch(x, out):
    g = cuda.grid(1)
    if g % 2 == 0:
        out[g] = x[g - 2]  # <- negative_in_branch


@cuda.jit(device=True)
def left_of(x, i):
    return x[i - 1]  # <- negative_in_device


@ZOO.add("negative-index")
@cuda.jit
def negative_in_device(x, out):
    out[cuda.grid(1)] = left_of(x, cuda.grid(1))


@ZOO.add("negative-index")
@cuda.jit
def negative_in_last_block(x, out):
    g = cuda.grid(1)
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        out[g] = x[N - 64 - 1 - g]  # <- negative_in_last_block


# ---- wide accesses at odd places -------------------------------------------------------------------------


@ZOO.add("misaligned", shifted)
@cuda.jit
def misaligned_straight(x, out):
    g = cuda.grid(1)
    cuda.store4(out, 4 * g, cuda.load4(x, 4 * g + 1))  # <- misaligned_straight


@ZOO.add("misaligned", shifted)
@cuda.jit
def misaligned_in_loop(x, out):
    g = cuda.grid(1)
    for k in range(3):
        cuda.store4(out, 4 * g, cuda.load4(x, 4 * g + k))  # <- misaligned_in_loop


@ZOO.add("misaligned", shifted)
@cuda.jit
def misaligned_in_branch(x, out):
    g = cuda.grid(1)
    if g > 0:
        cuda.store4(out, 4 * g - 2, cuda.load4(x, 4 * g))  # <- misaligned_in_branch


@cuda.jit(device=True)
def four_at(x, i):
    return cuda.load4(x, i)  # <- misaligned_in_device


@ZOO.add("misaligned", shifted)
@cuda.jit
def misaligned_in_device(x, out):
    g = cuda.grid(1)
    cuda.store4(out, 4 * g, four_at(x, 4 * g + 3))


@ZOO.add("misaligned", shifted)
@cuda.jit
def misaligned_in_last_block(x, out):
    g = cuda.grid(1)
    start = 4 * g
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        start += 2
    cuda.store4(out, 4 * g, cuda.load4(x, start))  # <- misaligned_in_last_block


# ---- division by zero ------------------------------------------------------------------------------------


def zeros_among() -> tuple[np.ndarray, np.ndarray]:
    return (np.arange(N) % 7 - np.arange(N) % 3).astype(np.float32), np.zeros(N, np.float32)


@ZOO.add("division-by-zero", zeros_among)
@cuda.jit
def zero_straight(x, out):
    g = cuda.grid(1)
    out[g] = float32(1.0) / x[g]  # <- zero_straight


@ZOO.add("division-by-zero")
@cuda.jit
def zero_in_loop(x, out):
    g = cuda.grid(1)
    for k in range(4):
        out[g] += g % k  # <- zero_in_loop


@ZOO.add("division-by-zero", zeros_among)
@cuda.jit
def zero_in_branch(x, out):
    g = cuda.grid(1)
    if x[g] >= 0 and int32(1) // int32(x[g]) > 0:  # <- zero_in_branch
        out[g] = 1.0


@cuda.jit(device=True)
def share(a, b):
    return a / b  # <- zero_in_device


@ZOO.add("division-by-zero")
@cuda.jit
def zero_in_device(x, out):
    g = cuda.grid(1)
    out[g] = share(x[g], g)


@ZOO.add("division-by-zero")
@cuda.jit
def zero_in_last_block(x, out):
    g = cuda.grid(1)
    q, r = divmod(g, cuda.gridDim.x - 1 - cuda.blockIdx.x)  # <- zero_in_last_block
    out[g] = q + r


@ZOO.add("division-by-zero", zeros_among)
@cuda.jit
def zero_updated(x, out):
    g = cuda.grid(1)
    out[g] = 5.0
    out[g] %= x[g]  # <- zero_updated
