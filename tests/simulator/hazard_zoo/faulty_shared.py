"""Mistakes with shared memory and barriers."""

from __future__ import annotations

from numba import cuda, float32, int32

from tests.simulator.hazard_zoo import N, Zoo, floats, two

ZOO = Zoo(__file__)
one_warp = {"block": 32, "grid": 8}


# ---- race between the warps of a block -------------------------------------------------------------------


@ZOO.add("shared-race")
@cuda.jit
def race_straight(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    t[i] = x[g]
    out[g] = t[63 - i]  # <- race_straight


@ZOO.add("shared-race")
@cuda.jit
def race_in_loop(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    acc = float32(0.0)
    for k in range(0, x.size, 64):
        t[i] = x[k + i]  # <- race_in_loop
        cuda.syncthreads()
        acc += t[63 - i]
    out[cuda.grid(1)] = acc


@ZOO.add("shared-race")
@cuda.jit
def race_in_reduction(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    s = 32
    while s >= 32:
        if i < s:
            t[i] += t[i + s]  # <- race_in_reduction
        cuda.syncthreads()
        s //= 2
    out[cuda.grid(1)] = t[0]


@ZOO.add("shared-race")
@cuda.jit
def race_in_branch(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    t[i] = x[g]
    if i >= 32:
        out[g] = t[i - 32]  # <- race_in_branch
    else:
        out[g] = 0.0


@cuda.jit(device=True)
def mirrored(t, i):
    return t[63 - i]  # <- race_in_device


@ZOO.add("shared-race")
@cuda.jit
def race_in_device(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    out[cuda.grid(1)] = mirrored(t, i)


@ZOO.add("shared-race")
@cuda.jit
def race_in_last_block(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    t[i] = x[g]
    if cuda.blockIdx.x < cuda.gridDim.x - 1:
        cuda.syncthreads()
    out[g] = t[63 - i]  # <- race_in_last_block


@ZOO.add("shared-race", lambda: (floats(64, 64), floats(64, 64), floats(64, 64)), (2, 2), (32, 32))
@cuda.jit
def race_tiled_matmul(A, B, C):  # noqa: N803
    a = cuda.shared.array((32, 32), float32)
    b = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0.0)
    for k in range(0, A.shape[1], 32):
        a[ty, tx] = A[row, k + tx]
        b[ty, tx] = B[k + ty, col]  # <- race_tiled_matmul
        cuda.syncthreads()
        for i in range(32):
            acc += a[ty, i] * b[i, tx]
    C[row, col] = acc


@ZOO.add("shared-race")
@cuda.jit
def race_on_histogram_without_atomics(x, out):
    h = cuda.shared.array(4, int32)
    i = cuda.threadIdx.x
    if i < 4:
        h[i] = 0
    cuda.syncthreads()
    h[i // 32] += i  # lanes of one warp, and below two warps
    cuda.syncthreads()
    h[(i + 31) // 32] = i  # <- race_on_histogram_without_atomics
    cuda.syncthreads()
    out[cuda.grid(1)] = h[0]


@ZOO.add("shared-race")
@cuda.jit
def race_atomic_and_plain(x, out):
    total = cuda.shared.array(1, float32)
    i = cuda.threadIdx.x
    if i == 0:
        total[0] = 0.0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[cuda.grid(1)])
    out[cuda.grid(1)] = total[0]  # <- race_atomic_and_plain


# ---- unwritten shared memory -----------------------------------------------------------------------------


@ZOO.add("uninitialised-shared")
@cuda.jit
def unwritten_straight(x, out):
    t = cuda.shared.array(64, float32)
    out[cuda.grid(1)] = t[cuda.threadIdx.x] + x[0]  # <- unwritten_straight


@ZOO.add("uninitialised-shared")
@cuda.jit
def unwritten_in_loop(x, out):
    t = cuda.shared.array(128, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    acc = float32(0.0)
    for k in range(0, 128, 64):
        acc += t[(i + k) % 128]  # <- unwritten_in_loop
    out[cuda.grid(1)] = acc


@ZOO.add("uninitialised-shared")
@cuda.jit
def unwritten_in_branch(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    if i < 63:
        t[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    if i > 32:
        out[cuda.grid(1)] = t[i]  # <- unwritten_in_branch


@cuda.jit(device=True)
def summed(t, n):
    acc = float32(0.0)
    for j in range(n):
        acc += t[j]  # <- unwritten_in_device
    return acc


@ZOO.add("uninitialised-shared")
@cuda.jit
def unwritten_in_device(x, out):
    t = cuda.shared.array(65, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = summed(t, 65)


@ZOO.add("uninitialised-shared", lambda: (floats(N - 5), floats(N)))
@cuda.jit
def unwritten_in_last_block(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    if g < x.size:
        t[i] = x[g]
    cuda.syncthreads()
    out[g] = t[63 - i]  # <- unwritten_in_last_block


@ZOO.add("uninitialised-shared")
@cuda.jit
def unwritten_counter(x, out):
    count = cuda.shared.array(1, int32)
    if x[cuda.grid(1)] > 0.5:
        cuda.atomic.add(count, 0, 1)  # <- unwritten_counter
    cuda.syncthreads()
    out[cuda.grid(1)] = count[0]


# ---- barriers that not all threads reach -----------------------------------------------------------------


@ZOO.add("divergent-barrier")
@cuda.jit
def barrier_in_branch(x, out):
    i = cuda.threadIdx.x
    if i < 32:
        cuda.syncthreads()  # <- barrier_in_branch
    out[cuda.grid(1)] = x[i]


@ZOO.add("divergent-barrier")
@cuda.jit
def barrier_in_loop(x, out):
    i = cuda.threadIdx.x
    acc = float32(0.0)
    for k in range(i // 16):
        acc += x[k]
        cuda.syncthreads()  # <- barrier_in_loop
    out[cuda.grid(1)] = acc


@ZOO.add("divergent-barrier")
@cuda.jit
def barrier_in_while(x, out):
    i = cuda.threadIdx.x
    s = i
    while s > 8:
        cuda.syncthreads()  # <- barrier_in_while
        s //= 2
    out[cuda.grid(1)] = x[s]


@cuda.jit(device=True)
def wait(x):
    cuda.syncthreads()  # <- barrier_in_device
    return x


@ZOO.add("divergent-barrier")
@cuda.jit
def barrier_in_device(x, out):
    g = cuda.grid(1)
    if x[g] > 0.5:
        out[g] = wait(x[g])


@ZOO.add("divergent-barrier", lambda: (floats(N - 5), floats(N)))
@cuda.jit
def barrier_in_last_block(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    g = cuda.grid(1)
    if g < x.size:
        t[i] = x[g]
        cuda.syncthreads()  # <- barrier_in_last_block
        out[g] = t[i]


@ZOO.add("divergent-barrier")
@cuda.jit
def barrier_after_break(x, out):
    i = cuda.threadIdx.x
    for k in range(4):
        if k + i > 64:
            break
        cuda.syncthreads()  # <- barrier_after_break
    out[cuda.grid(1)] = x[i]


# ---- lanes of a warp that rely on lockstep ---------------------------------------------------------------


@ZOO.add("missing-syncwarp", two, **one_warp)
@cuda.jit
def lockstep_straight(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    out[cuda.grid(1)] = t[31 - i]  # <- lockstep_straight


@ZOO.add("missing-syncwarp", two, **one_warp)
@cuda.jit
def lockstep_in_loop(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    t[i + 32] = 0.0
    cuda.syncwarp()
    s = 16
    while s > 0:
        t[i] += t[i + s]  # <- lockstep_in_loop
        s //= 2
    out[cuda.grid(1)] = t[i]


@ZOO.add("missing-syncwarp", two, **one_warp)
@cuda.jit
def lockstep_in_branch(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    if i < 16:
        out[cuda.grid(1)] = t[i + 16]  # <- lockstep_in_branch


@cuda.jit(device=True)
def other_half(t, i):
    return t[i ^ 16]  # <- lockstep_in_device


@ZOO.add("missing-syncwarp", two, **one_warp)
@cuda.jit
def lockstep_in_device(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    out[cuda.grid(1)] = other_half(t, i)


@ZOO.add("missing-syncwarp", two, **one_warp)
@cuda.jit
def lockstep_in_last_block(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    t[i] = x[cuda.grid(1)]
    if cuda.blockIdx.x < cuda.gridDim.x - 1:
        cuda.syncwarp()
    out[cuda.grid(1)] = t[31 - i]  # <- lockstep_in_last_block


# ---- lanes of a warp that store to one word --------------------------------------------------------------


@ZOO.add("lane-conflict", two, **one_warp)
@cuda.jit
def clash_in_loop(x, out):
    t = cuda.shared.array(4, float32)
    i = cuda.threadIdx.x
    for k in range(4):
        t[k] = x[i + k]  # <- clash_in_loop
    cuda.syncthreads()
    out[cuda.grid(1)] = t[i % 4]


@ZOO.add("lane-conflict", two, **one_warp)
@cuda.jit
def clash_in_branch(x, out):
    largest = cuda.shared.array(1, float32)
    i = cuda.threadIdx.x
    if i == 0:
        largest[0] = 0.0
    cuda.syncthreads()
    if x[cuda.grid(1)] > 0.5:
        largest[0] = x[cuda.grid(1)]  # <- clash_in_branch
    cuda.syncthreads()
    out[cuda.grid(1)] = largest[0]
