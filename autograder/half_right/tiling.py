"""Typical wrong answers in chapter `tiling`."""

from __future__ import annotations

__all__ = ["ANSWERS"]

ANSWERS = {
    # Counts what conflicts add, takes any pad for a cure, and the pad of one row for that of the tile.
    "q5-answer": "q5 = dict(degree=32, wavefronts=31, row_length=33, wavefronts_fixed=1, degree_36=1, extra_bytes=4)",
    # Lanes that want the same word count as a conflict.
    "conflict_degree-answer": """\
def conflict_degree(words):
    banks = [0] * 32
    for word in words:
        banks[word % 32] += 1
    return max(banks)""",
    # Every edge is right, but there is no pad.
    "transpose-answer": """\
@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((32, 32), np.float32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    first_x, first_y = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    for k in range(j, 32, 8):
        if first_y + k < a.shape[0] and first_x + i < a.shape[1]:
            tile[k, i] = a[first_y + k, first_x + i]
    cuda.syncthreads()
    for k in range(j, 32, 8):
        if first_x + k < a.shape[1] and first_y + i < a.shape[0]:
            out[first_x + k, first_y + i] = tile[i, k]""",
    # Every edge is right, but the next tiles are stored while others still compute.
    "matmul-answer": """\
@cuda.jit
def matmul(a, b, c):
    left = cuda.shared.array((16, 16), np.float32)
    right = cuda.shared.array((16, 16), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for first in range(0, a.shape[1], 16):
        left[y, x] = 0
        right[y, x] = 0
        if row < a.shape[0] and first + x < a.shape[1]:
            left[y, x] = a[row, first + x]
        if first + y < b.shape[0] and column < b.shape[1]:
            right[y, x] = b[first + y, column]
        cuda.syncthreads()
        for k in range(16):
            total += left[y, k] * right[k, x]
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total""",
    # The partial sums are turned, so nothing collides, but the barrier got lost on the way.
    "column_sums-answer": """\
@cuda.jit
def column_sums(x, out):
    partial = cuda.shared.array((32, 32), np.float32)
    i, y, column = cuda.threadIdx.x, cuda.threadIdx.y, cuda.grid(2)[0]
    total = np.float32(0)
    if column < out.size:
        for row in range(y, x.shape[0], 32):
            total += x[row, column]
    partial[y, i] = total
    if y == 0 and column < out.size:
        for k in range(1, 32):
            total += partial[k, i]
        out[column] = total""",
    # The missing barrier is there now, and the other one is still in the if.
    "barrier-answer": """\
@cuda.jit
def weighted_sums(x, weights, out):
    piece = cuda.shared.array(64, np.float32)
    i, column = cuda.threadIdx.x, cuda.grid(1)
    total = np.float32(0)
    for first in range(0, weights.size, 64):
        count = min(64, weights.size - first)
        if i < count:
            piece[i] = weights[first + i]
            cuda.syncthreads()
        if column < out.size:
            for k in range(count):
                total += piece[k] * x[first + k, column]
        cuda.syncthreads()
    if column < out.size:
        out[column] = total""",
}
