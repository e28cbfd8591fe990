# ruff: noqa: SIM102, SIM108  (kernels are written as students write them)
"""Guards, grids, index arithmetic, control flow and assignment."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32

from tests.simulator.cases.case import PAIR, SCALE, N, case, f1, floats, i1, ints, zeros

# ---- guards, grids, index arithmetic ---------------------------------------------------------------


@case(f1, 1, expected=lambda x, y: 2 * x)
@cuda.jit
def guard(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 2 * x[i]


@case(f1, 1, expected=lambda x, y: x + 1)
@cuda.jit
def early_return(x, y):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i >= x.shape[0]:
        return
    y[i] = x[i] + 1


@case(f1, 1, expected=lambda x, y: x * x, grid=2)
@cuda.jit
def grid_stride(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i] * x[i]


@case(f1, 1, expected=lambda x, y: x[::-1])
@cuda.jit
def reverse(x, y):
    i = cuda.grid(1)
    n = len(x)
    if i < n:
        y[n - 1 - i] = x[i]


@case(lambda rng: [floats(rng, 37, 53), zeros(53, 37)], 1, expected=lambda a, b: a.T, grid=(4, 3), block=(16, 16))
@cuda.jit
def transpose(a, b):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        b[x, y] = a[y, x]


@case(lambda rng: [floats(rng, 5, 7, 11), zeros(5, 7, 11)], 1, expected=lambda a, b: a + 1, grid=(3, 2, 2),
      block=(4, 4, 3))  # fmt: skip
@cuda.jit
def three_dimensions(a, b):
    x, y, z = cuda.grid(3)
    if x < a.shape[2] and y < a.shape[1] and z < a.shape[0]:
        b[z, y, x] = a[z, y, x] + 1


@case(lambda rng: [zeros(40, 4, dtype=np.int32)], 0, grid=(2, 2), block=(5, 2))
@cuda.jit
def indices(out):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    block = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y
    n = block * cuda.blockDim.x * cuda.blockDim.y + ty * cuda.blockDim.x + tx
    out[n, 0] = tx
    out[n, 1] = ty
    out[n, 2] = cuda.blockIdx.x
    out[n, 3] = cuda.blockIdx.y


@case(lambda rng: [np.asfortranarray(floats(rng, 20, 30)), zeros(20, 30)], 1, expected=lambda a, b: a * 2, grid=(2, 3),
      block=(16, 8))  # fmt: skip
@cuda.jit
def column_major(a, b):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        b[y, x] = a[y, x] * 2


@case(f1, 1, expected=lambda x, y: np.where(np.arange(N) < N - 1, np.roll(x, -1), x[-2]))
@cuda.jit
def negative_index(x, y):
    i = cuda.grid(1)
    if i < x.size - 1:
        y[i] = x[i + 1]
    elif i == x.size - 1:
        y[-1] = x[-2]


@case(lambda rng: [floats(rng), 3, np.float32(0.5), zeros()], 3, expected=lambda x, k, f, y: x * k + f)
@cuda.jit
def scalar_arguments(x, k, f, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * k + f


@case(lambda rng: [floats(rng), (2, 1.5), zeros()], 2, expected=lambda x, p, y: x * p[0] + p[1])
@cuda.jit
def tuple_argument(x, p, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * p[0] + p[1]


# ---- control flow ----------------------------------------------------------------------------------


@case(f1, 1, expected=lambda x, y: np.where(x > 0.5, x, np.where(x < -0.5, -x, 0)).astype(np.float32))
@cuda.jit
def if_elif_else(x, y):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        if v > 0.5:
            r = v
        elif v < -0.5:
            r = -v
        else:
            r = float32(0)
        y[i] = r


def _collatz(x: Any) -> Any:
    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    return np.array([steps(int(n)) for n in x])


@case(lambda rng: [ints(rng, 1, 500), zeros(dtype=np.int32)], 1, expected=lambda x, y: _collatz(x))
@cuda.jit
def collatz(x, y):
    i = cuda.grid(1)
    if i < x.size:
        n = x[i]
        count = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            count += 1
        y[i] = count


@case(lambda rng: [ints(rng, 0, 40), zeros(dtype=np.int64)], 1, expected=lambda x, y: x * (x.astype(np.int64) - 1) // 2)
@cuda.jit
def per_lane_bounds(x, y):
    i = cuda.grid(1)
    if i < x.size:
        total = 0
        for k in range(x[i]):
            total += k
        y[i] = total


@case(lambda rng: [ints(rng, 1, 30), zeros(dtype=np.int64)], 1,
      expected=lambda x, y: np.array([sum(k for k in range(int(n), 0, -3)) for n in x]))  # fmt: skip
@cuda.jit
def downward(x, y):
    i = cuda.grid(1)
    if i < x.size:
        total = 0
        for k in range(x[i], 0, -3):
            total += k
        y[i] = total


@case(lambda rng: [ints(rng, 0, 20), zeros(dtype=np.int64)], 1,
      expected=lambda x, y: np.array([next((k for k in range(15) if k * k >= n), 99) for n in x]))  # fmt: skip
@cuda.jit
def break_out(x, y):
    i = cuda.grid(1)
    if i < x.size:
        found = 99
        for k in range(15):
            if k * k >= x[i]:
                found = k
                break
        y[i] = found


@case(lambda rng: [ints(rng, 0, 20), zeros(dtype=np.int64)], 1,
      expected=lambda x, y: np.array([sum(k for k in range(int(n)) if k % 3) for n in x]))  # fmt: skip
@cuda.jit
def continue_loop(x, y):
    i = cuda.grid(1)
    if i < x.size:
        total = 0
        for k in range(x[i]):
            if k % 3 == 0:
                continue
            total += k
        y[i] = total


def _first_pair(n: int) -> int:
    for a in range(6):
        for b in range(6):
            if b > a:
                break
            if a * 7 + b * 5 > n:
                return a * 10 + b
    return -1


@case(lambda rng: [ints(rng, 0, 60), zeros(dtype=np.int64)], 1,
      expected=lambda x, y: np.array([_first_pair(int(n)) for n in x]))  # fmt: skip
@cuda.jit
def nested_leaving(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = -1
        for a in range(6):
            for b in range(6):
                if b > a:
                    break
                if a * 7 + b * 5 > x[i]:
                    y[i] = a * 10 + b
                    return


@case(lambda rng: [ints(rng, 0, 50), zeros(dtype=np.int64)], 1,
      expected=lambda x, y: np.array([len(list(iter(lambda s=[int(n)]: s.append(s.pop() // 2) or s[0], 0))) + (n > 0)
                                      for n in x]))  # fmt: skip
@cuda.jit
def while_true(x, y):
    i = cuda.grid(1)
    if i < x.size:
        n = x[i]
        count = 0
        while True:
            if n == 0:
                break
            n //= 2
            count += 1
        y[i] = count


@case(f1, 1, expected=lambda x, y: np.maximum(x, 0))
@cuda.jit
def ternary(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] if x[i] > 0 else float32(0)


@case(lambda rng: [ints(rng, -N, 2 * N), floats(rng), zeros()], 2,
      expected=lambda k, x, y: np.where((k >= 0) & (k < N) & (x[np.clip(k, 0, N - 1)] > 0), 1, 0))  # fmt: skip
@cuda.jit
def short_circuit(k, x, y):
    i = cuda.grid(1)
    if i < k.size and k[i] >= 0 and k[i] < x.size and x[k[i]] > 0:
        y[i] = 1


@case(lambda rng: [ints(rng, -N, 2 * N), floats(rng), zeros()], 2,
      expected=lambda k, x, y: np.where((k < 0) | (k >= N) | (x[np.clip(k, 0, N - 1)] > 0), 1, 0))  # fmt: skip
@cuda.jit
def short_circuit_or(k, x, y):
    i = cuda.grid(1)
    if i < k.size:
        if k[i] < 0 or k[i] >= x.size or x[k[i]] > 0:
            y[i] = 1


@case(i1, 1, expected=lambda x, y: ((x >= -10) & (x < 20)).astype(int))
@cuda.jit
def chained_comparison(x, y):
    i = cuda.grid(1)
    if 0 <= i < x.size:
        if -10 <= x[i] < 20:
            y[i] = 1


@case(i1, 1, expected=lambda x, y: np.where(~(x > 0), 1, 2))
@cuda.jit
def not_condition(x, y):
    i = cuda.grid(1)
    if not i >= x.size:
        y[i] = 1 if not x[i] > 0 else 2


@case(lambda rng: [zeros(dtype=np.int64), 7], 0, expected=lambda y, n: np.full(N, 21))
@cuda.jit
def uniform_while(y, n):
    i = cuda.grid(1)
    total = 0
    while n > 0:
        n -= 1
        total += n
    if i < y.size:
        y[i] = total


@case(lambda rng: [floats(rng), zeros()], 1,
      expected=lambda x, y: np.array([sum(x[max(0, i - 3) : i + 4]) for i in range(N)]))  # fmt: skip
@cuda.jit
def stencil(x, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    total = float32(0)
    for k in range(-3, 4):
        j = i + k
        if j < 0 or j >= x.size:
            continue
        total += x[j]
    y[i] = total


# ---- tuples, assignment ---------------------------------------------------------------------------


@case(i1, 1, expected=lambda x, y: x.astype(np.int64) * 2 - x)
@cuda.jit
def swap(x, y):
    i = cuda.grid(1)
    if i < x.size:
        a, b = x[i], 2 * x[i]
        a, b = b, a
        y[i] = a - b


@case(i1, 1, expected=lambda x, y: np.array([_fib(int(v) % 10) for v in x]))
@cuda.jit
def fibonacci(x, y):
    i = cuda.grid(1)
    if i < x.size:
        a, b = 0, 1
        for _ in range(x[i] % 10):
            a, b = b, a + b
        y[i] = a


def _fib(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@case(lambda rng: [floats(rng, 33, 21), zeros(33, 21)], 1, expected=lambda a, b: a * 33 + 21, grid=(2, 3),
      block=(16, 16))  # fmt: skip
@cuda.jit
def unpack_shape(a, b):
    rows, columns = a.shape
    x, y = cuda.grid(2)
    if x < columns and y < rows:
        b[y, x] = a[y, x] * rows + columns


@case(i1, 1, expected=lambda x, y: ((((x + 3) * 2 - 5) // 3) % 7) ** 2)
@cuda.jit
def augmented(x, y):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        v += 3
        v *= 2
        v -= 5
        v //= 3
        v %= 7
        v **= 2
        y[i] = v


@case(lambda rng: [floats(rng), floats(rng)], 1, expected=lambda x, y: (y + x) * 2)
@cuda.jit
def augmented_element(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += x[i]
        y[i] *= 2


@case(i1, 1, expected=lambda x, y: x.astype(np.int64) * SCALE + PAIR[0] * PAIR[1])
@cuda.jit
def outside_values(x, y):
    i = cuda.grid(1)
    if i < x.size:
        a = b = x[i]
        y[i] = a * SCALE + PAIR[0] * PAIR[1] + (a - b)
