# ruff: noqa: E501, SIM108  (kernels are written as students write them)
"""Device functions, and types as numba gives them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32, int32

from tests.simulator.cases.case import N, case, f1, floats, i1, ints, zeros

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
