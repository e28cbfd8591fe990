"""Mistakes with asynchronous copies."""

from __future__ import annotations

import numpy as np
from numba import float32, int32

from course import cuda
from tests.simulator.hazard_zoo import N, Zoo, floats

ZOO = Zoo(__file__)
one_warp = {"block": 32, "grid": 8}
STAGES = 3


def counts() -> tuple[np.ndarray, np.ndarray]:
    return np.ones(N, np.int32), np.zeros(N, np.int32)


def rows() -> tuple[np.ndarray, np.ndarray]:
    return floats(8, 64), np.zeros(N, np.float32)


# ---- no wait ---------------------------------------------------------------------------------------------


@ZOO.add("async-not-waited")
@cuda.jit
def no_wait(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.syncthreads()
    out[g] = t[63 - i]  # <- no_wait


@ZOO.add("async-not-waited")
@cuda.jit
def wait_after_the_read(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.syncthreads()
    value = t[63 - i]  # <- wait_after_the_read
    cuda.cp_async_wait(0)
    out[g] = value


@ZOO.add("async-not-waited")
@cuda.jit
def overwritten_before_the_wait(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    t[i] = 0  # <- overwritten_before_the_wait
    cuda.cp_async_wait(0)
    out[g] = t[i]


@ZOO.add("async-not-waited")
@cuda.jit
def copied_to_twice(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async(t, i, x, (g + 1) % x.size, 4)  # <- copied_to_twice
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    out[g] = t[i]


@ZOO.add("async-not-waited", counts)
@cuda.jit
def counted_up_before_the_wait(x, out):
    t = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.atomic.add(t, i, 1)  # <- counted_up_before_the_wait
    cuda.cp_async_wait(0)
    out[g] = t[i]


@cuda.jit(device=True)
def mirrored(t, i):
    return t[63 - i]  # <- read_in_device


@ZOO.add("async-not-waited")
@cuda.jit
def read_in_device(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    cuda.cp_async(t, i, x, cuda.grid(1), 4)
    cuda.cp_async_commit()
    cuda.syncthreads()
    out[cuda.grid(1)] = mirrored(t, i)


@ZOO.add("async-not-waited")
@cuda.jit
def last_block_does_not_wait(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    if cuda.blockIdx.x < cuda.gridDim.x - 1:
        cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[g] = t[63 - i]  # <- last_block_does_not_wait


@ZOO.add("async-not-waited", rows, block=64)
@cuda.jit
def no_wait_in_the_loop(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    total = float32(0)
    cuda.cp_async(t, (0, i), x, (0, i), 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    for k in range(x.shape[0]):
        if k + 1 < x.shape[0]:
            cuda.cp_async(t, ((k + 1) % 2, i), x, (k + 1, i), 4)
        cuda.cp_async_commit()
        total += t[k % 2, 63 - i]  # <- no_wait_in_the_loop
        cuda.syncthreads()
    out[cuda.grid(1)] = total


# ---- the wrong group -------------------------------------------------------------------------------------


@ZOO.add("async-wrong-group")
@cuda.jit
def one_group_too_many_may_wait(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(1)
    cuda.syncthreads()
    out[g] = t[63 - i]  # <- one_group_too_many_may_wait


@ZOO.add("async-wrong-group")
@cuda.jit
def second_of_two_groups(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, (0, i), x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async(t, (1, i), x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(1)
    cuda.syncthreads()
    out[g] = t[0, 63 - i] + t[1, 63 - i]  # <- second_of_two_groups


@ZOO.add("async-wrong-group", rows, block=64)
@cuda.jit
def two_stages_and_a_wait_for_three(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    total = float32(0)
    cuda.cp_async(t, (0, i), x, (0, i), 4)
    cuda.cp_async_commit()
    for k in range(x.shape[0]):
        cuda.cp_async_wait(1)
        cuda.syncthreads()
        if k + 1 < x.shape[0]:
            cuda.cp_async(t, ((k + 1) % 2, i), x, (k + 1, i), 4)
        cuda.cp_async_commit()
        total += t[k % 2, 63 - i]  # <- two_stages_and_a_wait_for_three
        cuda.syncthreads()
    out[cuda.grid(1)] = total


@ZOO.add("async-wrong-group", rows, block=64)
@cuda.jit
def no_empty_groups_at_the_end(x, out):
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
        total += t[k % 2, 63 - i]  # <- no_empty_groups_at_the_end
        cuda.syncthreads()
    out[cuda.grid(1)] = total


@ZOO.add("async-wrong-group", rows, block=64)
@cuda.jit
def the_tile_that_is_on_its_way(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    total = float32(0)
    cuda.cp_async(t, (0, i), x, (0, i), 4)
    cuda.cp_async_commit()
    for k in range(x.shape[0] - 1):
        cuda.cp_async(t, ((k + 1) % 2, i), x, (k + 1, i), 4)
        cuda.cp_async_commit()
        cuda.cp_async_wait(1)
        cuda.syncthreads()
        total += t[(k + 1) % 2, 63 - i]  # <- the_tile_that_is_on_its_way
        cuda.syncthreads()
    cuda.cp_async_wait(0)
    out[cuda.grid(1)] = total


@ZOO.add("async-wrong-group")
@cuda.jit
def each_copy_a_group_of_its_own(x, out):
    t = cuda.shared.array((3, 64), float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    for k in range(STAGES):
        cuda.cp_async(t, (k, i), x, g, 4)
        cuda.cp_async_commit()
    cuda.cp_async_wait(2)
    cuda.syncthreads()
    out[g] = t[0, 63 - i]
    out[g] += t[1, 63 - i]  # <- each_copy_a_group_of_its_own


# ---- no commit -------------------------------------------------------------------------------------------


@ZOO.add("async-not-committed")
@cuda.jit
def no_commit(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[g] = t[63 - i]  # <- no_commit


@ZOO.add("async-not-committed")
@cuda.jit
def commit_before_the_copy(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async_commit()
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[g] = t[63 - i]  # <- commit_before_the_copy


@ZOO.add("async-not-committed")
@cuda.jit
def second_array_not_committed(x, out):
    t = cuda.shared.array(64, float32)
    u = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async(u, i, x, g, 4)
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[g] = t[63 - i] + u[63 - i]  # <- second_array_not_committed


@ZOO.add("async-not-committed")
@cuda.jit
def never_used_and_never_committed(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, (0, i), x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    cuda.cp_async(t, (1, i), x, g, 4)  # <- never_used_and_never_committed
    out[g] = t[0, 63 - i]


@ZOO.add("async-not-committed")
@cuda.jit
def half_of_the_warps_commit(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    if i < 32:
        cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[g] = t[63 - i]  # <- half_of_the_warps_commit


# ---- barriers, bounds, alignment ---------------------------------------------------------------------------


@ZOO.add("shared-race")
@cuda.jit
def no_barrier_after_the_wait(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    out[g] = t[63 - i]  # <- no_barrier_after_the_wait


@ZOO.add("shared-race")
@cuda.jit
def barrier_before_the_wait(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    cuda.cp_async(t, i, x, g, 4)
    cuda.cp_async_commit()
    cuda.syncthreads()
    cuda.cp_async_wait(0)
    out[g] = t[63 - i]  # <- barrier_before_the_wait


@ZOO.add("missing-syncwarp", **one_warp)
@cuda.jit
def no_syncwarp_after_the_wait(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    cuda.cp_async(t, i, x, cuda.grid(1), 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    out[cuda.grid(1)] = t[31 - i]  # <- no_syncwarp_after_the_wait


@ZOO.add("shared-race", rows, block=64)
@cuda.jit
def copy_over_a_tile_in_use(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    total = float32(0)
    for k in range(x.shape[0]):
        cuda.cp_async(t, i, x, (k, i), 4)  # <- copy_over_a_tile_in_use
        cuda.cp_async_commit()
        cuda.cp_async_wait(0)
        cuda.syncthreads()
        total += t[63 - i]
    out[cuda.grid(1)] = total


@ZOO.add("shared-race", rows, block=64)
@cuda.jit
def copy_started_before_the_barrier(x, out):
    t = cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    total = float32(0)
    cuda.cp_async(t, (0, i), x, (0, i), 4)
    cuda.cp_async_commit()
    for k in range(x.shape[0]):
        cuda.cp_async_wait(0)
        if k + 1 < x.shape[0]:
            cuda.cp_async(t, ((k + 1) % 2, i), x, (k + 1, i), 4)  # <- copy_started_before_the_barrier
        cuda.cp_async_commit()
        cuda.syncthreads()
        total += t[k % 2, 63 - i]
    out[cuda.grid(1)] = total


@ZOO.add("lane-conflict")
@cuda.jit
def two_lanes_copy_to_one_place(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    cuda.cp_async(t, i // 2, x, cuda.grid(1), 4)  # <- two_lanes_copy_to_one_place
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    out[cuda.grid(1)] = t[i // 2]


@ZOO.add("out-of-bounds", lambda: (floats(N - 3), np.zeros(N, np.float32)))
@cuda.jit
def copy_behind_the_end_in_last_block(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = 0
    cuda.cp_async(t, i, x, cuda.grid(1), 4)  # <- copy_behind_the_end_in_last_block
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    out[cuda.grid(1)] = t[i]


@ZOO.add("misaligned", lambda: (floats(4 * N + 4), np.zeros(N, np.float32)))
@cuda.jit
def sixteen_bytes_from_every_float(x, out):
    t = cuda.shared.array(256, float32)
    i = cuda.threadIdx.x
    cuda.cp_async(t, 4 * i, x, cuda.grid(1), 16)  # <- sixteen_bytes_from_every_float
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    out[cuda.grid(1)] = t[4 * i]


@ZOO.add("misaligned", lambda: (floats(16, 32), np.zeros(N, np.float32)), block=128)
@cuda.jit
def sixteen_bytes_into_padded_rows(x, out):
    t = cuda.shared.array((16, 33), float32)
    i = cuda.threadIdx.x
    cuda.cp_async(t, (i // 8, 4 * (i % 8)), x, (i // 8, 4 * (i % 8)), 16)  # <- sixteen_bytes_into_padded_rows
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    out[i] = t[i // 8, 4 * (i % 8)]
