# ruff: noqa: E501, SIM108  (kernels are written as students write them)
"""Shuffles, votes, and other functions of warps and of the hardware."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import cuda, float32, float64, int32

from tests.simulator.cases.case import TABLE, B, G, N, case, f1, floats, ints, zeros

# ---- warps -------------------------------------------------------------------------------------------


@case(lambda rng: [floats(rng, 96), zeros(3)], 1, expected=lambda x, y: x.reshape(3, 32).sum(axis=1), grid=1, block=96,
      numba_simulator=False, tolerance=1e-4)  # fmt: skip
@cuda.jit
def shuffle_down(x, y):
    i = cuda.grid(1)
    v = x[i]
    offset = 16
    while offset > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, offset)
        offset //= 2
    if cuda.laneid == 0:
        y[i // 32] = v


@case(lambda rng: [floats(rng, 64), zeros(3, 64)], 1, grid=1, block=64, numba_simulator=False,
      expected=lambda x, y: np.stack([np.repeat(x[3::32], 32), np.array([x[i ^ 1] for i in range(64)]),
                                      np.array([x[i - 2] if i % 32 >= 2 else x[i] for i in range(64)])]))  # fmt: skip
@cuda.jit
def shuffles(x, y):
    i = cuda.grid(1)
    y[0, i] = cuda.shfl_sync(0xFFFFFFFF, x[i], 3)
    y[1, i] = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
    y[2, i] = cuda.shfl_up_sync(0xFFFFFFFF, x[i], 2)


@case(lambda rng: [ints(rng, 0, 3, 64), zeros(4, 64, dtype=np.int64)], 1, grid=1, block=64, numba_simulator=False,
      expected=lambda x, y: _votes(x))  # fmt: skip
@cuda.jit
def votes(x, y):
    i = cuda.grid(1)
    y[0, i] = cuda.any_sync(0xFFFFFFFF, x[i] == 2)
    y[1, i] = cuda.all_sync(0xFFFFFFFF, x[i] < 3)
    y[2, i] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, x[i] == 1))
    y[3, i] = cuda.popc(cuda.match_any_sync(0xFFFFFFFF, x[i]))


def _votes(x: Any) -> Any:
    warps = x.reshape(2, 32)
    per_warp = [(warps == 2).any(axis=1), (warps < 3).all(axis=1), (warps == 1).sum(axis=1)]
    same = [int((warp == v).sum()) for warp in warps for v in warp]
    return np.stack([*(np.repeat(v, 32) for v in per_warp), same])


@case(lambda rng: [ints(rng), zeros(3, G, dtype=np.int32)], 1,
      expected=lambda x, y: np.stack([[(c > 0).sum() for c in np.split(x, range(B, N, B))], np.zeros(G), np.ones(G)]))  # fmt: skip
@cuda.jit
def block_votes(x, y):
    i = cuda.grid(1)
    v = x[i] if i < x.size else int32(0)
    positive = 1 if v > 0 else 0
    count = cuda.syncthreads_count(positive)
    everyone = cuda.syncthreads_and(positive)
    anyone = cuda.syncthreads_or(positive)
    if cuda.threadIdx.x == 0:
        y[0, cuda.blockIdx.x] = count
        y[1, cuda.blockIdx.x] = everyone
        y[2, cuda.blockIdx.x] = anyone


@case(lambda rng: [ints(rng, 1, 2**31 - 1, dtype=np.uint32), zeros(4, N, dtype=np.int64)], 1,
      expected=lambda x, y: np.stack([[bin(int(v)).count("1") for v in x], [32 - int(v).bit_length() for v in x],
                                      [int(f"{int(v):032b}"[::-1], 2) for v in x],
                                      [(int(v) & -int(v)).bit_length() for v in x]]))  # fmt: skip
@cuda.jit
def bit_functions(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = cuda.popc(x[i])
        y[1, i] = cuda.clz(x[i])
        y[2, i] = cuda.brev(x[i])
        y[3, i] = cuda.ffs(x[i])


@case(lambda rng: [floats(rng), zeros(3, N)], 1, tolerance=1e-4,
      expected=lambda x, y: np.stack([x * x + x, np.where(x > 0, x, 0), np.cbrt(np.abs(x))]))  # fmt: skip
@cuda.jit
def fused(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = cuda.fma(x[i], x[i], x[i])
        y[1, i] = cuda.selp(x[i] > 0, x[i], float32(0))
        y[2, i] = cuda.cbrt(abs(x[i]))
        cuda.threadfence()


@case(lambda rng: [floats(rng, 64), zeros(64)], 1, expected=lambda x, y: x[[i ^ 1 for i in range(64)]], grid=1, block=64,
      numba_simulator=False)  # fmt: skip
@cuda.jit
def warp_barrier(x, y):
    t = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    t[i] = x[i]
    cuda.syncwarp()
    y[i] = t[i ^ 1]


@case(lambda rng: [floats(rng), zeros(dtype=np.float64)], 1, expected=lambda x, y: x.astype(np.float64) + 0.25)
@cuda.jit
def typed_names(x, y):
    i = cuda.grid(1)
    if i < x.size:
        quarter = numba.float64(0.25)
        y[i] = float64(x[i]) + quarter


@case(lambda rng: [ints(rng, 0, 16), zeros()], 1, expected=lambda k, y: TABLE[k] + TABLE.shape[0])
@cuda.jit
def global_array(k, y):
    i = cuda.grid(1)
    if i < k.size:
        y[i] = TABLE[k[i]] + TABLE.shape[0]


@case(lambda rng: [floats(rng), zeros()], 1, expected=lambda x, y: x * 1 + (x + 1) * 2 + 3 * 3 + 4 * 4,
      numba_simulator=False)  # fmt: skip
@cuda.jit
def vector_types(x, y):
    i = cuda.grid(1)
    if i < x.size:
        a = cuda.float32x4(x[i], x[i] + 1, 3, 4)
        b = cuda.float2(a.z, a.w)
        y[i] = a.x * 1 + a.y * 2 + b.x * 3 + b.y * 4


@case(lambda rng: [floats(rng, 12, 20), zeros(12, 20)], 1, expected=lambda a, b: a + 1, grid=1, block=(32, 16))
@cuda.jit
def rows_written_through_views(a, b):
    x, y = cuda.grid(2)
    if y < a.shape[0]:
        source, target = a[y], b[y]
        if x < source.size:
            target[x] = source[x] + 1


@case(f1, 1, expected=lambda x, y: (x * 2).astype(np.float32), numba_simulator=False)
@cuda.jit
def uniform_branches(x, y):
    i = cuda.grid(1)
    if cuda.blockIdx.x % 2 == 0:
        factor = 2
    else:
        factor = cuda.blockIdx.x // cuda.blockIdx.x * 2
    for _ in range(cuda.blockIdx.x):
        factor += 0
    if i < x.size:
        y[i] = x[i] * factor


@case(lambda rng: [np.array([1.7, -1.7, 3e9, -3e9, 1e20, -1e20, np.nan, 300.5, -5.5], np.float32),
                   zeros(9, dtype=np.int32), zeros(9, dtype=np.int64), zeros(9, dtype=np.uint8)], (1, 2, 3),
      numba_simulator=False, grid=1, block=32,
      expected=lambda x, a, b, c: (  # as an H200 converts them
          np.array([1, -1, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0, 300, -5]),
          np.array([1, -1, 3 * 10**9, -3 * 10**9, 2**63 - 1, -(2**63), -(2**63), 300, -5]),
          np.array([1, 0, 255, 0, 255, 0, 0, 44, 0])))  # fmt: skip
@cuda.jit
def float_to_integer(x, a, b, c):
    i = cuda.grid(1)
    if i < x.size:
        a[i] = int32(x[i])
        b[i] = int(x[i])
        c[i] = np.uint8(x[i])


@case(lambda rng: [np.array([-7, 7, -7, 7, 2**31 - 1, -(2**31)], np.int32), np.array([2, -2, -2, 2, 3, 3], np.int32),
                   zeros(5, 6, dtype=np.int64)], 2, numba_simulator=False, grid=1, block=32,
      expected=lambda a, b, y: np.array([  # a power goes through float64: I2F.F64.S64, F2I.S64.F64.TRUNC
          [-4, -4, 3, 3, 715827882, -715827883], [1, -1, -1, 1, 1, 1],
          [49, 49, 49, 49, 4611686014132420608, 4611686018427387904], [-28, 28, -28, 28, 8589934588, -8589934592],
          [-343, 343, -343, 343, 4611686024869838848, 0]]))  # fmt: skip
@cuda.jit
def integer_arithmetic(a, b, y):
    i = cuda.grid(1)
    if i < a.size:
        y[0, i] = a[i] // b[i]
        y[1, i] = a[i] % b[i]
        y[2, i] = a[i] ** 2
        y[3, i] = (a[i] << 3) >> 1
        y[4, i] = a[i] ** 3
