# ruff: noqa: E501, N803, SIM102, SIM108  (kernels are written as students write them)
"""Kernels over everything the simulator runs, each with inputs and what NumPy says about the result.

Imported twice: by the tests, and by a subprocess in which numba.cuda is numba's own simulator.
Sizes are ragged on purpose: no multiple of the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import cuda, float32, float64, int32

N, B = 300, 128
G = (N + B - 1) // B
T = 16
W = T + 1
SCALE = 3
TABLE = np.arange(16, dtype=np.float32) ** 2
PAIR = (2, 5)


@dataclass
class Case:
    """One launch: outputs are the array arguments at `out`; `expected` computes them from the arguments."""

    kernel: Any
    arguments: Callable[[Any], list[Any]]
    out: tuple[int, ...]
    expected: Callable[..., Any] | None = None
    grid: Any = G
    block: Any = B
    numba_simulator: bool = True
    """Whether numba's own simulator can run it (it lacks some functions, and promotes as NumPy does)."""
    shared: int = 0
    tolerance: float = 1e-5


CASES: dict[str, Case] = {}


def case(arguments: Callable[[Any], list[Any]], out: Any, **rest: Any) -> Callable[[Any], Any]:
    def register(kernel: Any) -> Any:
        name = kernel.py_func.__name__ if hasattr(kernel, "py_func") else kernel.fn.__name__
        assert name not in CASES
        CASES[name] = Case(kernel, arguments, out if isinstance(out, tuple) else (out,), **rest)
        return kernel

    return register


def floats(rng: Any, *shape: int) -> Any:
    return rng.standard_normal(shape or (N,)).astype(np.float32)


def ints(rng: Any, low: int = -100, high: int = 100, size: Any = N, dtype: Any = np.int32) -> Any:
    return rng.integers(low, high, size).astype(dtype)


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape or (N,), dtype)


def f1(rng: Any) -> list[Any]:
    return [floats(rng), zeros()]


def i1(rng: Any) -> list[Any]:
    return [ints(rng), zeros(dtype=np.int64)]


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


# ---- device functions -----------------------------------------------------------------------------


@cuda.jit(device=True)
def _clamp(v, low, high):
    if v < low:
        return low
    if v > high:
        return high
    return v


@cuda.jit(device=True)
def _norm(a, b):
    return math.sqrt(a * a + b * b)


@cuda.jit(device=True)
def _both(a, b):
    return a + b, a - b


@cuda.jit(device=True)
def _store(array, i, v):
    array[i] = v


@cuda.jit(device=True)
def _twice(array, i):
    return _clamp(array[i], float32(-1), float32(1)) * 2


@case(f1, 1, expected=lambda x, y: np.clip(x, -1, 1))
@cuda.jit
def device_function(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = _clamp(x[i], float32(-1), float32(1))


@case(f1, 1, expected=lambda x, y: np.clip(x, -1, 1) * 2 + np.hypot(x, x))
@cuda.jit
def device_calls_device(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = _twice(x, i) + _norm(x[i], x[i])


@case(i1, 1, expected=lambda x, y: (x.astype(np.int64) + 3) * (x - 3))
@cuda.jit
def device_tuple(x, y):
    i = cuda.grid(1)
    if i < x.size:
        s, d = _both(x[i], 3)
        y[i] = s * d


@case(f1, 1, expected=lambda x, y: x)
@cuda.jit
def device_stores(x, y):
    i = cuda.grid(1)
    if i < x.size:
        _store(y, i, x[i])


def _made_in_closure() -> Any:
    factor = 5
    kind = float32

    @cuda.jit
    def closure(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] * kind(factor)

    return closure


case(f1, 1, expected=lambda x, y: x * 5)(_made_in_closure())


# ---- types ----------------------------------------------------------------------------------------


def _mixed(rng: Any) -> list[Any]:
    return [ints(rng), floats(rng), rng.standard_normal(N), zeros(dtype=np.float64)]


@case(lambda rng: [ints(rng, 2**30, 2**31 - 1), zeros(dtype=np.int64)], 1, numba_simulator=False,
      expected=lambda x, y: x.astype(np.int64) + x)  # fmt: skip
@cuda.jit
def int32_sum_is_int64(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + x[i]


@case(lambda rng: [ints(rng, 2**30, 2**31 - 1), zeros(dtype=np.int64)], 1, numba_simulator=False,
      expected=lambda x, y: x.astype(np.int64) * x)  # fmt: skip
@cuda.jit
def int32_product_is_int64(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * x[i]


@case(lambda rng: [floats(rng), zeros(dtype=np.float64)], 1, numba_simulator=False,
      expected=lambda x, y: x.astype(np.float64) * 2.1)  # fmt: skip
@cuda.jit
def float32_by_literal_is_float64(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * 2.1


@case(lambda rng: [floats(rng), zeros(dtype=np.float64)], 1, numba_simulator=False,
      expected=lambda x, y: (x * np.float32(2.1)).astype(np.float64))  # fmt: skip
@cuda.jit
def float32_by_float32_stays(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * float32(2.1)


@case(lambda rng: [ints(rng), floats(rng), zeros(dtype=np.float64)], 2, numba_simulator=False,
      expected=lambda k, x, y: k + x.astype(np.float64))  # fmt: skip
@cuda.jit
def int_and_float32_is_float64(k, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = k[i] + x[i]


@case(lambda rng: [ints(rng), ints(rng, 1, 9), zeros(dtype=np.float64)], 2, numba_simulator=False,
      expected=lambda a, b, y: a / b)  # fmt: skip
@cuda.jit
def true_division(a, b, y):
    i = cuda.grid(1)
    if i < a.size:
        y[i] = a[i] / b[i]


@case(lambda rng: [ints(rng, 0, 255, dtype=np.uint8), zeros(dtype=np.int64)], 1, numba_simulator=False,
      expected=lambda x, y: (x.astype(np.int64) + 200) * 3 - 1000)  # fmt: skip
@cuda.jit
def uint8_widens(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = (x[i] + 200) * 3 - 1000


@case(_mixed, 3, numba_simulator=False,
      expected=lambda k, f, d, y: np.where(k > 0, k.astype(np.float64), f.astype(np.float64)) + d)  # fmt: skip
@cuda.jit
def variable_unifies(k, f, d, y):
    i = cuda.grid(1)
    if i < k.size:
        if k[i] > 0:
            v = k[i]
        else:
            v = f[i]
        y[i] = v + d[i]


@case(lambda rng: [floats(rng), zeros(dtype=np.float64)], 1, numba_simulator=False,
      expected=lambda x, y: 10 * x.astype(np.float64))  # fmt: skip
@cuda.jit
def accumulator_becomes_float64(x, y):
    i = cuda.grid(1)
    if i < x.size:
        acc = 0
        for _ in range(10):
            acc += x[i]
        y[i] = acc


@case(lambda rng: [ints(rng, 0, 2**31 - 1, dtype=np.uint32), zeros(dtype=np.uint64)], 1, numba_simulator=False,
      expected=lambda x, y: (x.astype(np.uint64) << np.uint64(7)) ^ (x.astype(np.uint64) >> np.uint64(3)))  # fmt: skip
@cuda.jit
def shifts(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = (x[i] << 7) ^ (x[i] >> 3)


@case(i1, 1, expected=lambda x, y: ((x & 12) | 3) ^ ~x)
@cuda.jit
def bit_operators(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = ((x[i] & 12) | 3) ^ ~x[i]


@case(lambda rng: [ints(rng), ints(rng, 1, 12), zeros(2, N, dtype=np.int64)], 2,
      expected=lambda a, b, y: np.stack([a // b, a % -b]))  # fmt: skip
@cuda.jit
def floor_and_modulo(a, b, y):
    i = cuda.grid(1)
    if i < a.size:
        y[0, i] = a[i] // b[i]
        y[1, i] = a[i] % -b[i]


@case(lambda rng: [floats(rng) * 50, zeros(3, N, dtype=np.int64)], 1,
      expected=lambda x, y: np.stack([x.astype(np.int64), np.rint(x).astype(np.int64), np.abs(x).astype(np.int64)]))  # fmt: skip
@cuda.jit
def conversions(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = int(x[i])
        y[1, i] = round(x[i])
        y[2, i] = int32(abs(x[i]))


@case(lambda rng: [ints(rng), floats(rng), zeros(2, N, dtype=np.float64)], 2,
      expected=lambda k, x, y: np.stack([np.minimum(k, x), np.maximum(np.maximum(k, x), 3)]))  # fmt: skip
@cuda.jit
def min_max(k, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = min(k[i], x[i])
        y[1, i] = max(k[i], x[i], 3)


@case(lambda rng: [floats(rng), zeros(3, N)], 1,
      expected=lambda x, y: np.stack([x**2, np.abs(x) ** 0.5, x**3]), tolerance=1e-4)  # fmt: skip
@cuda.jit
def powers(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = x[i] ** 2
        y[1, i] = abs(x[i]) ** float32(0.5)
        y[2, i] = pow(x[i], 3)


@case(lambda rng: [np.abs(floats(rng)) + 0.1, zeros(8, N)], 1,
      expected=lambda x, y: np.stack([np.sqrt(x), np.exp(x), np.log(x), np.sin(x), np.cos(x), np.floor(x), np.tanh(x),
                                      np.arctan2(x, np.float32(2))]), tolerance=1e-4)  # fmt: skip
@cuda.jit
def math_functions(x, y):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        y[0, i] = math.sqrt(v)
        y[1, i] = math.exp(v)
        y[2, i] = math.log(v)
        y[3, i] = math.sin(v)
        y[4, i] = math.cos(v)
        y[5, i] = math.floor(v)
        y[6, i] = math.tanh(v)
        y[7, i] = math.atan2(v, float32(2))


@case(lambda rng: [np.abs(floats(rng)) + 0.1, zeros(3, N)], 1,
      expected=lambda x, y: np.stack([[math.erf(v) for v in x], np.hypot(x, 1), np.fabs(x) * math.pi]), tolerance=1e-4)  # fmt: skip
@cuda.jit
def more_math(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = math.erf(x[i])
        y[1, i] = math.hypot(x[i], float32(1))
        y[2, i] = math.fabs(x[i]) * math.pi


@case(lambda rng: [np.abs(floats(rng)) + 0.1, zeros(4, N)], 1, tolerance=1e-4,
      expected=lambda x, y: np.stack([np.log(x), np.arctan(-x), np.minimum(x, 1), np.full(N, np.float32(3.5))]))  # fmt: skip
@cuda.jit
def numpy_functions(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = np.log(x[i])
        y[1, i] = np.arctan(-x[i])
        y[2, i] = np.minimum(x[i], np.float32(1))
        y[3, i] = np.float32(3.5)


@case(lambda rng: [floats(rng), zeros(2, N)], 1, numba_simulator=False,
      expected=lambda x, y: np.stack([1 / np.where(x > 0, x, 1), np.where(np.isnan(x * 0), 1, 0)]))  # fmt: skip
@cuda.jit
def float_specials(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = 1 / x[i] if x[i] > 0 else 1.0
        y[1, i] = 1 if math.isnan(x[i]) or math.isinf(x[i]) else 0


@case(lambda rng: [floats(rng) > 0, floats(rng) > 0, zeros(N, dtype=np.bool_)], 2, expected=lambda a, b, y: a ^ b)
@cuda.jit
def bools(a, b, y):
    i = cuda.grid(1)
    if i < a.size:
        y[i] = (a[i] and not b[i]) or (b[i] and not a[i])


@case(lambda rng: [floats(rng).astype(np.float16), floats(rng).astype(np.float16), zeros(dtype=np.float16)], 2,
      expected=lambda a, b, y: a * b + a, numba_simulator=False, tolerance=2e-3)  # fmt: skip
@cuda.jit
def half_precision(a, b, y):
    i = cuda.grid(1)
    if i < a.size:
        y[i] = a[i] * b[i] + a[i]


def _complexes(dtype: Any) -> Callable[[Any], list[Any]]:
    return lambda rng: [(floats(rng) + 1j * floats(rng)).astype(dtype), (floats(rng) + 1j).astype(dtype),
                        zeros(dtype=dtype)]  # fmt: skip


@case(_complexes(np.complex64), 2, expected=lambda a, b, y: a * b + a, tolerance=1e-4)
@cuda.jit
def complex_numbers(a, b, y):
    i = cuda.grid(1)
    if i < a.size:
        y[i] = a[i] * b[i] + a[i]


@case(lambda rng: [(floats(rng) + 1j * floats(rng)).astype(np.complex128), zeros(dtype=np.float64)], 1,
      expected=lambda z, y: z.real**2 + z.imag**2 + np.abs(z))  # fmt: skip
@cuda.jit
def complex_parts(z, y):
    i = cuda.grid(1)
    if i < z.size:
        y[i] = z[i].real ** 2 + z[i].imag ** 2 + abs(z[i])


@case(lambda rng: [rng.uniform(-2, 1, N), rng.uniform(-1, 1, N), zeros(dtype=np.int32)], 2,
      expected=lambda r, i, y: _mandelbrot(r, i))  # fmt: skip
@cuda.jit
def mandelbrot(re, im, y):
    i = cuda.grid(1)
    if i < re.size:
        c = complex(re[i], im[i])
        z = 0.0j
        y[i] = 50
        for k in range(50):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                y[i] = k
                return


def _mandelbrot(real: Any, imaginary: Any) -> Any:
    result = np.full(N, 50)
    for n, c in enumerate(real + 1j * imaginary):
        z = 0j
        for k in range(50):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                result[n] = k
                break
    return result


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
      expected=lambda a, b, y: np.array([  # as an H200 computes them
          [-4, -4, 3, 3, 715827882, -715827883], [1, -1, -1, 1, 1, 1],
          [49, 49, 49, 49, 4611686014132420609, 4611686018427387904], [-28, 28, -28, 28, 8589934588, -8589934592],
          [-343, 343, -343, 343, 4611686024869838847, 0]]))  # fmt: skip
@cuda.jit
def integer_arithmetic(a, b, y):
    i = cuda.grid(1)
    if i < a.size:
        y[0, i] = a[i] // b[i]
        y[1, i] = a[i] % b[i]
        y[2, i] = a[i] ** 2
        y[3, i] = (a[i] << 3) >> 1
        y[4, i] = a[i] ** 3
