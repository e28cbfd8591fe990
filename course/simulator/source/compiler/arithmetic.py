"""What the operations of a kernel compute, lane by lane, where the GPU's answer is not NumPy's.

Each rule is read from the PTX that numba-cuda makes of the operation. NumPy scalars and arrays go in and come out in
one type; the types themselves are numba's (`course.simulator.source.resolver`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course.simulator.fused import fused
from course.simulator.source.lanes import Value, convert

__all__ = [
    "each", "first_of_zeros", "floor_divide", "gamma", "greater", "lesser", "lgamma", "maximum",
    "minimum", "power", "remainder", "round_to", "round_whole", "scaled", "shift_left", "shift_right", "through_float",
]  # fmt: skip

_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)
_MATH_POW = 0x10000
"""Exponent above which numba calls pow() of floating-point numbers."""


def shift_left(value: Value, places: Value) -> Value:
    """`value << places`: PTX takes the low 32 bits of the distance, and 64 or more places leave nothing."""
    return np.left_shift(value, places & places.dtype.type(0xFFFFFFFF))


def shift_right(value: Value, places: Value) -> Value:
    """`value >> places`: as `shift_left`; the sign fills the places."""
    return np.right_shift(value, places & places.dtype.type(0xFFFFFFFF))


def floor_divide(left: Value, right: Value) -> Value:
    """`left // right`; a whole number divided by 0 gives 0."""
    if right.dtype.kind != "f":
        return _without_overflow(np.floor_divide(left, right), left, right)
    return np.floor_divide(left, right) if _exact(left, right) else _divided(left, right)[0]


def remainder(left: Value, right: Value) -> Value:
    """`left % right`, with the sign of `right`; a whole number modulo 0 gives 0."""
    if right.dtype.kind != "f":
        return np.mod(left, right)
    return np.mod(left, right) if _exact(left, right) else _divided(left, right)[1]


def _without_overflow(quotient: Value, left: Value, right: Value) -> Value:
    """The lowest number divided by -1 has no place in its type: numba gives 0."""
    if right.dtype.kind != "i":
        return quotient
    minus = right == -1
    if not minus.any():
        return quotient
    return np.where(minus & (left == np.iinfo(left.dtype).min), left.dtype.type(0), quotient)[()]


def _exact(left: Value, right: Value) -> bool:
    """Whether every quotient is small enough for the GPU's remainder to be exact."""
    whole = 2.0 ** np.finfo(right.dtype).nmant
    return bool(((np.abs(left / right) < whole) & np.isfinite(right)).all())


def _divided(left: Value, right: Value) -> tuple[Value, Value]:
    """Quotient and remainder of floats as numba's `real_divmod` makes them.

    NVVM knows no fmod: it writes |x| - floor(|x| / |y|) * |y|, which ptxas fuses. So a remainder of inf is nan, and
    that of a large quotient is off by as much as the quotient's last digit is worth.
    """
    kind, zero, one = right.dtype.type, right == 0, right.dtype.type(1)
    size, unit = np.abs(left), np.abs(right)
    rest = fused(-np.floor(size / unit), unit, size)
    rest = np.where(left < 0, -rest, rest)
    quotient = (left - rest) / right
    moved = (rest != 0) & ((right < 0) != (rest < 0))
    whole = np.where(moved, quotient - one, quotient)
    down = np.floor(whole)
    down = np.where(whole - down > kind(0.5), down + one, down)
    down = np.where((whole == 0) | np.isnan(whole), whole * whole * left / right, down)
    signed = np.where(rest != 0, np.where(moved, rest + right, rest), np.where(right < 0, -kind(0), kind(0)))
    return np.where(zero, left / right, down)[()], np.where(zero, rest, signed)[()]


def power(base: Value, exponent: Value, kind: np.dtype[Any]) -> Value:
    """`base ** exponent` for a whole exponent: by squaring in the type of the result, then through float64.

    numba-cuda's `int_power` ends in ``1.0 / r if invert else r``, which is a float64 on both ways: whole numbers above
    2**53 lose their last digits, and what does not fit saturates.
    """
    base = base.astype(kind)
    width = np.dtype(np.uint64) if exponent.dtype == np.uint64 else _INT64
    below = exponent < 0
    times = np.where(below, np.negative(exponent).astype(width), exponent.astype(width))
    unnegated, large = below & (times < 0), times > _MATH_POW
    left = np.where(large | unnegated, width.type(0), times)
    result, factor = np.ones(np.broadcast_shapes(base.shape, left.shape), kind), base
    while left.any():
        result = np.where(left & width.type(1), result * factor, result)
        left, factor = left >> width.type(1), factor * factor
    value = result.astype(_FLOAT64)
    value = np.where(below, 1.0 / value, value)
    if large.any():
        value = np.where(large, np.power(base.astype(_FLOAT64), exponent.astype(_FLOAT64)), value)
    found = convert(value, kind)
    if below.any():
        if kind.kind in "iu":
            nothing = np.where(base == 0, kind.type(np.iinfo(kind).min), kind.type(0))
            found = np.where(below & (np.abs(base) != 1), nothing, found)
        found = np.where(unnegated, kind.type(0), found)
    return found[()]


def through_float(value: Value, kind: np.dtype[Any]) -> Value:
    """A small power of whole numbers: through float64, as every power."""
    return convert(value.astype(_FLOAT64), kind) if kind.kind in "iu" else value


def round_whole(value: Value) -> Value:
    """`round(x)`: to the nearest int64, half to even; saturates (cvt.rni.s64.f64)."""
    return convert(np.rint(value.astype(_FLOAT64)), _INT64)


def round_to(value: Value, digits: Value) -> Value:
    """`round(x, n)` in float64, as numba's `round_ndigits`: x itself where the power overflows."""
    number, up = value.astype(_FLOAT64), digits >= 0
    wide = digits.astype(_INT64)
    times = np.where(up, np.where(wide > 22, wide - 22, wide), np.negative(digits).astype(_INT64))
    first = power(_FLOAT64.type(10), times, _FLOAT64)
    second = np.where(up & (wide > 22), 1e22, 1.0)
    scaled_ = np.where(up, (number * first) * second, number / first)
    whole = round_whole(scaled_).astype(_FLOAT64)
    halfway = np.abs(scaled_ - whole) == 0.5
    whole = np.where(halfway, 2.0 * round_whole(scaled_ / 2.0).astype(_FLOAT64), whole)
    found = np.where(up, (whole / second) / first, whole * first)
    return np.where(~np.isfinite(number) | (up & np.isinf(scaled_)), number, found).astype(value.dtype)[()]


def _where(condition: Any, yes: Value, no: Value) -> Value:
    """np.where, of scalars a scalar again."""
    return np.asarray(np.where(condition, yes, no))[()]


def greater(left: Value, right: Value) -> Value:
    """PTX max of two floats: the other operand where one is nan, and +0.0 is above -0.0."""
    value: Value = np.fmax(left, right)
    return value if value.all() else _where((left == 0) & (right == 0), left + right, value)


def lesser(left: Value, right: Value) -> Value:
    """PTX min of two floats: the other operand where one is nan, and -0.0 is below +0.0."""
    value: Value = np.fmin(left, right)
    return value if value.all() else _where((left == 0) & (right == 0), -(-left - right), value)


def maximum(left: Value, right: Value) -> Value:
    """The later of several numbers where it is greater (numba's max of mixed types, or of more than two)."""
    return _where(right > left, right, left)


def minimum(left: Value, right: Value) -> Value:
    """The later of several numbers where it is smaller."""
    return _where(right < left, right, left)


def first_of_zeros(ufunc: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """np.maximum and its like as numba compiles them: of two zeros the first, whatever its sign."""

    def choose(left: Value, right: Value) -> Value:
        value = ufunc(left, right)
        return value if value.all() else _where((left == 0) & (right == 0), left, value)

    return choose


def scaled(factor: float) -> Callable[[Value], Value]:
    """A product with a constant of the value's own type (degrees, radians)."""
    return lambda value: value * value.dtype.type(factor)


def each(function: Callable[[float], Any]) -> Callable[[Value], Value]:
    """A function that NumPy lacks, applied to every lane."""
    vector = np.frompyfunc(function, 1, 1)
    return lambda value: np.asarray(vector(value)).astype(value.dtype)[()]


def gamma(value: float) -> float:
    """CUDA's tgamma: inf at 0 and where it overflows, nan at the negative whole numbers."""
    try:
        return math.gamma(value)
    except OverflowError:
        return math.copysign(math.inf, value)
    except ValueError:
        return math.copysign(math.inf, value) if value == 0 else math.nan


def lgamma(value: float) -> float:
    """CUDA's lgamma: inf at its poles, 0 and the negative whole numbers, and where it overflows."""
    try:
        return math.lgamma(value)
    except (OverflowError, ValueError):
        return math.inf
