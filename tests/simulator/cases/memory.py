# ruff: noqa: E501, N803, SIM102  (kernels are written as students write them)
"""Views, records, constant, local and shared memory, and atomics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32, int32

from tests.simulator.cases.case import TABLE, B, G, N, T, W, case, floats, ints, zeros

# ---- views, records, constant and local memory --------------------------------------------------------


@case(lambda rng: [floats(rng, 40, 25), zeros(40)], 1, expected=lambda a, y: a.sum(axis=1), grid=1, block=64,
      tolerance=1e-4)  # fmt: skip
@cuda.jit
def row_view(a, y):
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = a[i]
        total = float32(0)
        for k in range(row.size):
            total += row[k]
        y[i] = total


@case(lambda rng: [floats(rng), zeros()], 1, expected=lambda x, y: np.r_[x[2:200:3], np.zeros(N - 66)])
@cuda.jit
def strided_slice(x, y):
    i = cuda.grid(1)
    part = x[2:200:3]
    if i < part.shape[0]:
        y[i] = part[i]


@cuda.jit(device=True)
def _sum(values):
    total = float32(0)
    for k in range(len(values)):
        total += values[k]
    return total


@case(lambda rng: [floats(rng), zeros(N - 10)], 1,
      expected=lambda x, y: np.array([x[i : i + 10].sum() for i in range(N - 10)]), tolerance=1e-4)  # fmt: skip
@cuda.jit
def sliding_slice(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = _sum(x[i : i + 10])


@case(lambda rng: [floats(rng, 30, 40), zeros(40)], 1, expected=lambda a, y: a.max(axis=0), grid=1, block=64)
@cuda.jit
def column_view(a, y):
    j = cuda.grid(1)
    if j < a.shape[1]:
        column = a[:, j]
        best = column[0]
        for k in range(1, column.shape[0]):
            best = max(best, column[k])
        y[j] = best


PARTICLE = np.dtype([("x", np.float32), ("v", np.float32), ("n", np.int32)], align=True)
PACKED = np.dtype([("m", np.float32), ("k", np.int16), ("t", np.uint8), ("u", np.uint8)])  # align=True was not said


def _records(dtype: Any) -> Callable[[Any], list[Any]]:
    def make(rng: Any) -> list[Any]:
        made = np.zeros(N, dtype)
        for name in dtype.names:
            made[name] = rng.integers(0, 100, N)
        return [made, zeros(dtype=np.float64)]

    return make


@case(_records(PARTICLE), (0, 1), expected=lambda p, y: (_moved(p), p["x"] + p["v"] * np.float32(0.5) + p["n"]))
@cuda.jit
def records(p, y):
    i = cuda.grid(1)
    if i < p.size:
        p[i].x += p[i].v * float32(0.5)
        y[i] = p[i].x + p[i]["n"]


def _moved(p: Any) -> Any:
    q = p.copy()
    q["x"] += q["v"] * np.float32(0.5)
    return q


@case(_records(PACKED), 1, expected=lambda p, y: p["t"] + p["m"] * p["k"])
@cuda.jit
def packed_records(p, y):
    i = cuda.grid(1)
    if i < p.size:
        r = p[i]
        y[i] = r.t + r.m * r.k


@case(
    lambda rng: [_records(PARTICLE)(rng)[0], np.zeros(N, PARTICLE)],
    1,
    expected=lambda p, q: p[::-1],
    numba_simulator=False,
)
@cuda.jit
def record_copy(p, q):
    i = cuda.grid(1)
    if i < p.size:
        q[i] = p[p.size - 1 - i]


@case(lambda rng: [ints(rng, 0, 16), zeros()], 1, expected=lambda k, y: TABLE[k])
@cuda.jit
def constant_table(k, y):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < k.size:
        y[i] = table[k[i]]


@case(lambda rng: [floats(rng), zeros()], 1, expected=lambda x, y: np.array([_horner(v) for v in x]), tolerance=1e-4)
@cuda.jit
def local_array(x, y):
    i = cuda.grid(1)
    if i < x.size:
        powers = cuda.local.array(5, float32)
        powers[0] = 1
        for k in range(1, 5):
            powers[k] = powers[k - 1] * x[i]
        total = float32(0)
        for k in range(5):
            total += powers[4 - k] * (k + 1)
        y[i] = total


def _horner(v: Any) -> float:
    return float(sum(float(v) ** (4 - k) * (k + 1) for k in range(5)))


@case(lambda rng: [ints(rng, 0, 8), zeros(dtype=np.int64)], 1,
      expected=lambda k, y: np.array([(int(v) * 3 + 1) % 8 * 10 for v in k]))  # fmt: skip
@cuda.jit
def local_gather(k, y):
    i = cuda.grid(1)
    if i < k.size:
        table = cuda.local.array((8,), int32)
        for j in range(8):
            table[(j + k[i]) % 8] = (j + k[i]) % 8 * 10
        y[i] = table[(k[i] * 3 + 1) % 8]


# ---- shared memory ---------------------------------------------------------------------------------


@case(lambda rng: [floats(rng), zeros(G)], 1, tolerance=1e-4,
      expected=lambda x, y: np.add.reduceat(x, np.arange(0, N, B)))  # fmt: skip
@cuda.jit
def tree_reduction(x, y):
    t = cuda.shared.array(B, float32)
    i, k = cuda.grid(1), cuda.threadIdx.x
    t[k] = x[i] if i < x.size else 0
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if k < s:
            t[k] += t[k + s]
        cuda.syncthreads()
        s //= 2
    if k == 0:
        y[cuda.blockIdx.x] = t[0]


@case(lambda rng: [floats(rng, 37, 45), floats(rng, 45, 29), zeros(37, 29)], 2, expected=lambda a, b, c: a @ b,
      grid=(2, 3), block=(T, T), tolerance=1e-4)  # fmt: skip
@cuda.jit
def tiled_matmul(A, B, C):
    a = cuda.shared.array((T, T), float32)
    b = cuda.shared.array((T, T), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0)
    for k in range((A.shape[1] + T - 1) // T):
        a[ty, tx] = 0
        b[ty, tx] = 0
        if y < A.shape[0] and tx + k * T < A.shape[1]:
            a[ty, tx] = A[y, tx + k * T]
        if x < B.shape[1] and ty + k * T < B.shape[0]:
            b[ty, tx] = B[ty + k * T, x]
        cuda.syncthreads()
        for j in range(T):
            acc += a[ty, j] * b[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = acc


@case(lambda rng: [floats(rng, 50, 70), zeros(70, 50)], 1, expected=lambda a, b: a.T, grid=(5, 4), block=(T, T))
@cuda.jit
def tiled_transpose(a, b):
    t = cuda.shared.array((T, W), dtype=float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * T + tx, cuda.blockIdx.y * T + ty
    if x < a.shape[1] and y < a.shape[0]:
        t[ty, tx] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * T + tx, cuda.blockIdx.x * T + ty
    if y < b.shape[0] and x < b.shape[1]:
        b[y, x] = t[tx, ty]


@case(lambda rng: [floats(rng), zeros()], 1, shared=B * 8,
      expected=lambda x, y: np.concatenate([c[::-1] for c in np.split(x, range(B, N, B))]) * 3)  # fmt: skip
@cuda.jit
def dynamic_shared(x, y):
    t = cuda.shared.array(0, float32)
    u = cuda.shared.array(0, float32)[B:]
    i, k = cuda.grid(1), cuda.threadIdx.x
    if i < x.size:
        t[k] = x[i]
        u[k] = 2 * x[i]
    cuda.syncthreads()
    first = cuda.blockIdx.x * cuda.blockDim.x
    last = min(x.size, first + cuda.blockDim.x) - first
    if i < x.size:
        y[i] = t[last - 1 - k] + u[last - 1 - k]


@case(lambda rng: [floats(rng), zeros()], 1, expected=lambda x, y: np.repeat(x[::B], B)[:N])
@cuda.jit
def shared_broadcast(x, y):
    t = cuda.shared.array(1, float32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        t[0] = x[i]
    cuda.syncthreads()
    if i < y.size:
        y[i] = t[0]


@case(lambda rng: [ints(rng, 0, 64), zeros(64, dtype=np.int32)], 1, expected=lambda x, h: np.bincount(x, minlength=64))
@cuda.jit
def shared_histogram(x, h):
    t = cuda.shared.array(64, int32)
    k = cuda.threadIdx.x
    if k < 64:
        t[k] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(t, x[i], 1)
    cuda.syncthreads()
    if k < 64:
        cuda.atomic.add(h, k, t[k])


@case(lambda rng: [floats(rng), zeros(2, N)], 1, expected=lambda x, y: np.stack([x * 2, x * 4]))
@cuda.jit
def swapped_buffers(x, y):
    first = cuda.shared.array(B, float32)
    second = cuda.shared.array(B, float32)
    i, k = cuda.grid(1), cuda.threadIdx.x
    a, b = first, second
    a[k] = x[i] if i < x.size else float32(0)
    for step in range(2):
        b[k] = a[k] * 2
        a, b = b, a
        if i < x.size:
            y[step, i] = a[k]


# ---- atomics -----------------------------------------------------------------------------------------


@case(lambda rng: [ints(rng, 0, 16), zeros(16, dtype=np.int32)], 1, expected=lambda x, h: np.bincount(x, minlength=16))
@cuda.jit
def histogram(x, h):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(h, x[i], 1)


@case(lambda rng: [floats(rng), np.full(3, 0, np.float32)], 1, tolerance=1e-3,
      expected=lambda x, y: np.array([x.sum(), max(0, x.max()), min(0, x.min())]))  # fmt: skip
@cuda.jit
def atomic_extremes(x, y):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(y, 0, x[i])
        cuda.atomic.max(y, 1, x[i])
        cuda.atomic.min(y, 2, x[i])


@case(lambda rng: [ints(rng), zeros(1, dtype=np.int32), zeros(dtype=np.int32)], (1, 2),
      expected=lambda x, c, y: (np.array([(x > 0).sum()]), np.sort(np.r_[x[x > 0], np.zeros((x <= 0).sum())])))  # fmt: skip
@cuda.jit
def compaction(x, count, y):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] > 0:
            place = cuda.atomic.add(count, 0, 1)
            y[place] = x[i]


@case(lambda rng: [ints(rng, 0, 2**16, dtype=np.uint32), np.array([0, 2**32 - 1, 0], np.uint32)], 1,
      expected=lambda x, y: np.array([np.bitwise_or.reduce(x), np.bitwise_and.reduce(x), np.bitwise_xor.reduce(x)]))  # fmt: skip
@cuda.jit
def atomic_bits(x, y):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.or_(y, 0, x[i])
        cuda.atomic.and_(y, 1, x[i])
        cuda.atomic.xor(y, 2, x[i])


@case(lambda rng: [zeros(2, dtype=np.uint32), zeros(dtype=np.uint32)], (0, 1),
      expected=lambda c, y: (np.array([N % 8, 0]), np.sort(np.arange(N) % 8)))  # fmt: skip
@cuda.jit
def atomic_ring(c, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = cuda.atomic.inc(c, 0, 7)


@case(lambda rng: [ints(rng, 0, 500), np.full(500, -1, np.int32), zeros(dtype=np.int32)], (1, 2),
      expected=lambda k, o, w: (np.where(np.isin(np.arange(500), k), 1, -1), np.sort(_winners(k))))  # fmt: skip
@cuda.jit
def atomic_claim(k, owner, won):
    i = cuda.grid(1)
    if i < k.size:
        if cuda.atomic.cas(owner, k[i], -1, 1) == -1:
            won[i] = 1


def _winners(k: Any) -> Any:
    won = np.zeros(N)
    won[: len(np.unique(k))] = 1
    return won


@case(lambda rng: [floats(rng, 20, 30), zeros(1, 30)], 1, expected=lambda a, y: a.sum(axis=0)[None], grid=(2, 2),
      block=(16, 16), tolerance=1e-4)  # fmt: skip
@cuda.jit
def atomic_columns(a, y):
    c, r = cuda.grid(2)
    if r < a.shape[0] and c < a.shape[1]:
        cuda.atomic.add(y, (0, c), a[r, c])
