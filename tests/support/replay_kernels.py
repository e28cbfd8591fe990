"""The launches whose counters were recorded on an H200 (course/measured/h200_counters.json), in order.

The same kernels, grids, blocks and arrays as in the recording; a few launches have no recorded counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import complex128, cuda, float32, float64, int8

N = 1 << 16
B = 256


class Replay(NamedTuple):
    name: str
    kernel: Any
    grid: Any
    block: Any
    args: tuple[Any, ...]


@cuda.jit
def ld(a, v, s, off):
    i = cuda.grid(1)
    if i < v.size:
        v[i] = a[i * s + off]


@cuda.jit
def st(a, v, s, off):
    i = cuda.grid(1)
    if i < a.size:
        v[i * s + off] = a[i]


@cuda.jit
def gather(a, idx, v):
    i = cuda.grid(1)
    if i < v.size:
        v[i] = a[idx[i]]


@cuda.jit
def masked(a, v, m, r):
    i = cuda.grid(1)
    if i % m == r:
        v[i] = a[i]


@cuda.jit
def bcast(a, v):
    i = cuda.grid(1)
    v[i] = a[cuda.blockIdx.x]


@cuda.jit
def grp8(a, v):
    i = cuda.grid(1)
    v[i] = a[i // 8]


@cuda.jit
def aos1(p, v):
    i = cuda.grid(1)
    v[i] = p[i].x


@cuda.jit
def aos4(p, v):
    i = cuda.grid(1)
    v[i] = p[i].x + p[i].y + p[i].z + p[i].w


@cuda.jit
def aos3(p, v):
    i = cuda.grid(1)
    v[i] = p[i].x + p[i].y + p[i].z


@cuda.jit
def soa4(x, y, z, w, v):
    i = cuda.grid(1)
    v[i] = x[i] + y[i] + z[i] + w[i]


@cuda.jit
def aosw(p, v):
    i = cuda.grid(1)
    p[i].x = v[i]


@cuda.jit
def f4x1(b, v):
    i = cuda.grid(1)
    v[i] = b[4 * i] + b[4 * i + 1] * 256 + b[4 * i + 2] * 65536 + b[4 * i + 3]


@cuda.jit
def f4x1p(b, v, n):
    i = cuda.grid(1)
    v[i] = b[i] + b[n + i] * 256 + b[2 * n + i] * 65536 + b[3 * n + i]


@cuda.jit
def copy2d(a, v):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        v[y, x] = a[y, x]


@cuda.jit
def copy2d_bad(a, v):
    x, y = cuda.grid(2)
    if x < a.shape[0] and y < a.shape[1]:
        v[x, y] = a[x, y]


def shared_load(words: int, dt: Any) -> Any:
    @cuda.jit
    def k(v, s, off):
        t = cuda.shared.array(words, dt)
        i = cuda.threadIdx.x
        for j in range(i, words, cuda.blockDim.x):
            t[j] = v[0]
        cuda.syncthreads()
        v[i] = t[i * s + off]

    return k


def shared_store(words: int, dt: Any) -> Any:
    @cuda.jit
    def k(v, s, off):
        t = cuda.shared.array(words, dt)
        i = cuda.threadIdx.x
        t[i * s + off] = v[i]
        cuda.syncthreads()
        v[i] = t[(31 - i) * s + off]

    return k


@cuda.jit
def tr_naive(a, o):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        o[x, y] = a[y, x]


def tr_tiled(T: int, pad: int, rows: int) -> Any:  # noqa: N803
    W = T + pad  # noqa: N806

    @cuda.jit
    def k(a, o):
        t = cuda.shared.array((T, W), float32)
        x = cuda.blockIdx.x * T + cuda.threadIdx.x
        y0 = cuda.blockIdx.y * T + cuda.threadIdx.y
        for j in range(0, T, rows):
            t[cuda.threadIdx.y + j, cuda.threadIdx.x] = a[y0 + j, x]
        cuda.syncthreads()
        x2 = cuda.blockIdx.y * T + cuda.threadIdx.x
        y2 = cuda.blockIdx.x * T + cuda.threadIdx.y
        for j in range(0, T, rows):
            o[y2 + j, x2] = t[cuda.threadIdx.x, cuda.threadIdx.y + j]

    return k


@cuda.jit
def mm_naive(A, B, C):  # noqa: N803
    col, row = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0.0)
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        C[row, col] = acc


@cuda.jit
def mm_swapped(A, B, C):  # noqa: N803
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0.0)
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        C[row, col] = acc


def mm_tiled(T: int, pad: int) -> Any:  # noqa: N803
    W = T + pad  # noqa: N806

    @cuda.jit
    def k(A, B, C):  # noqa: N803
        a = cuda.shared.array((T, W), float32)
        b = cuda.shared.array((T, W), float32)
        tx = cuda.threadIdx.x
        ty = cuda.threadIdx.y
        row = T * cuda.blockIdx.y + ty
        col = T * cuda.blockIdx.x + tx
        acc = float32(0.0)
        for k in range(0, A.shape[1], T):
            a[ty, tx] = A[row, k + tx]
            b[ty, tx] = B[k + ty, col]
            cuda.syncthreads()
            for i in range(T):
                acc += a[ty, i] * b[i, tx]
            cuda.syncthreads()
        C[row, col] = acc

    return k


LD_STEPS = [(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 7), (1, 8), (2, 0), (2, 1), (3, 0), (4, 0), (5, 0), (6, 1),
            (7, 0), (8, 0), (8, 1), (9, 0), (12, 0), (16, 0), (31, 0), (32, 0), (33, 0), (64, 0)]  # fmt: skip
ST_STEPS = [(1, 0), (1, 1), (2, 0), (3, 0), (4, 0), (8, 0), (9, 0), (32, 0)]
SHLD_STEPS = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (4, 0), (5, 0), (6, 0), (8, 0), (16, 0), (17, 0), (24, 0),
              (31, 0), (32, 0), (33, 0), (34, 0), (36, 0), (40, 0), (48, 0), (64, 0), (65, 0)]  # fmt: skip
SHST_STEPS = [(1, 0), (2, 0), (3, 0), (4, 0), (8, 0), (16, 0), (32, 0), (33, 0), (36, 0)]
SHARED = (
    ("float32", float32, 2176),
    ("float64", float64, 2176),
    ("int8", int8, 4352),
    ("complex128", complex128, 2176),
)
P = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")])
P3 = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4")])
PD = np.dtype([("x", "f8"), ("t", "i4"), ("q", "f4")])


def replays(device: Callable[[np.ndarray], Any]) -> Iterator[Replay]:
    """Every launch; `device` turns a host array into one that lives on the device."""
    rng = np.random.default_rng(7)
    for dt in ("int8", "int16", "float32", "float64", "complex64", "complex128"):
        for s, off in LD_STEPS:
            a, v = device(np.ones(N * s + off + 64, dt)), device(np.zeros(N, dt))
            yield Replay(f"ld/{dt}/s{s}/o{off}", ld, N // B, B, (a, v, s, off))
    for dt in ("int8", "float32", "float64", "complex128"):
        for s, off in ST_STEPS:
            v, a = device(np.zeros(N * s + off + 64, dt)), device(np.ones(N, dt))
            yield Replay(f"st/{dt}/s{s}/o{off}", st, N // B, B, (a, v, s, off))
    indices = {
        "reverse": np.arange(N)[::-1],
        "random": rng.integers(0, N * 8, N),
        "perm": rng.permutation(N),
        "dup": rng.integers(0, 64, N),
        "warpperm": (np.arange(N).reshape(-1, 32)[:, rng.permutation(32)]).ravel(),
        "zipf": np.minimum(rng.zipf(1.3, N), N * 8 - 1),
    }
    a, v = device(np.ones(N * 8, "float32")), device(np.zeros(N, "float32"))
    for name, index in indices.items():
        yield Replay(f"gather/{name}", gather, N // B, B, (a, device(np.ascontiguousarray(index.astype(np.int32))), v))
    a = device(np.ones(N, "float32"))
    for m, r in [(2, 0), (2, 1), (4, 3), (8, 0), (32, 5), (33, 0), (3, 1)]:
        yield Replay(f"masked/m{m}/r{r}", masked, N // B, B, (a, v, m, r))
    yield Replay("bcast", bcast, N // B, B, (a, v))
    yield Replay("grp8", grp8, N // B, B, (a, v))
    for n in (1, 31, 32, 33, 100, 257):
        yield Replay(f"tail/{n}", ld, (n + B - 1) // B, B, (a, device(np.zeros(n, "float32")), 1, 0))
    for k in (1, 2, 3, 4, 8):
        short = device(np.zeros(N - 64, "float32"))
        yield Replay(f"view/{k}", ld, (N - 64 + B - 1) // B, B, (a[k:], short, 1, 0))

    for name, dtype in (("P", P), ("P3", P3), ("PD", PD)):
        yield Replay(f"aos1/{name}", aos1, N // B, B, (device(np.zeros(N, dtype)), v))
        yield Replay(f"aosw/{name}", aosw, N // B, B, (device(np.zeros(N, dtype)), v))
    yield Replay("aos4/P", aos4, N // B, B, (device(np.zeros(N, P)), v))
    yield Replay("aos3/P3", aos3, N // B, B, (device(np.zeros(N, P3)), v))
    fields = [device(np.ones(N, "float32")) for _ in range(4)]
    yield Replay("soa4", soa4, N // B, B, (*fields, v))
    b, whole = device(np.ones(4 * N, "uint8")), device(np.zeros(N, "int32"))
    yield Replay("bytes/interleaved", f4x1, N // B, B, (b, whole))
    yield Replay("bytes/planes", f4x1p, N // B, B, (b, whole, N))

    square, out = device(np.ones((256, 256), "float32")), device(np.zeros((256, 256), "float32"))
    for bx, by in [(32, 8), (16, 16), (8, 32), (4, 64), (64, 4), (33, 3), (1, 256), (256, 1)]:
        grid = ((256 + bx - 1) // bx, (256 + by - 1) // by)
        yield Replay(f"copy2d/{bx}x{by}", copy2d, grid, (bx, by), (square, out))
        yield Replay(f"copy2d_bad/{bx}x{by}", copy2d_bad, grid, (bx, by), (square, out))

    for dtype, numba_type, words in SHARED:
        kernel = shared_load(words, numba_type)
        few = device(np.ones(64, dtype))
        for s, off in SHLD_STEPS:
            yield Replay(f"shld/{dtype}/s{s}/o{off}", kernel, 1, 32, (few, s, off))
    for dtype, numba_type, words in SHARED:
        kernel = shared_store(words, numba_type)
        few = device(np.ones(64, dtype))
        for s, off in SHST_STEPS:
            yield Replay(f"shst/{dtype}/s{s}/o{off}", kernel, 1, 32, (few, s, off))

    size = 512
    a, o = device(rng.random((size, size), dtype=np.float32)), device(np.zeros((size, size), "float32"))
    yield Replay("tr/naive", tr_naive, (size // 32, size // 8), (32, 8), (a, o))
    for tile, pad, rows in [(32, 0, 8), (32, 1, 8), (32, 2, 8), (32, 4, 8), (16, 0, 16), (16, 1, 16)]:
        kernel = tr_tiled(tile, pad, rows)
        yield Replay(f"tr/T{tile}p{pad}", kernel, (size // tile, size // tile), (tile, rows), (a, o))
    size = 256
    a, b = (device(rng.random((size, size), dtype=np.float32)) for _ in range(2))
    c = device(np.zeros((size, size), "float32"))
    yield Replay("mm/naive", mm_naive, (size // 16, size // 16), (16, 16), (a, b, c))
    yield Replay("mm/swapped", mm_swapped, (size // 16, size // 16), (16, 16), (a, b, c))
    yield Replay("mm/naive32x8", mm_naive, (size // 32, size // 8), (32, 8), (a, b, c))
    for tile, pad in [(16, 0), (16, 1), (32, 0), (32, 1), (8, 0)]:
        yield Replay(f"mm/T{tile}p{pad}", mm_tiled(tile, pad), (size // tile, size // tile), (tile, tile), (a, b, c))
