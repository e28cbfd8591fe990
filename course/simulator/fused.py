"""A product and a sum, rounded once: what a fused multiply-add computes, in NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["fused"]

Value = Any
_FLOAT64 = np.dtype(np.float64)
_LOW_WORD = 0 if sys.byteorder == "little" else 1


def fused(left: Value, right: Value, more: Value) -> Value:
    """`left * right + more`, rounded once."""
    kind = left.dtype
    if kind.itemsize < 8:
        product = np.multiply(left, right, dtype=_FLOAT64)
        total = np.asarray(np.add(product, more, dtype=_FLOAT64))
        if kind.itemsize == 4 and total.ndim:
            low = total.view(np.uint32)[..., _LOW_WORD::2]
            if np.left_shift(low, np.uint32(4)).all():  # no sum lies in the middle between two float32
                return total.astype(kind)
        return _odd(*_two_sum(product, more.astype(_FLOAT64))).astype(kind)
    plain = left * right + more
    # Free of exponents, so that nothing on the way can overflow or lose digits.
    (x, first), (y, second), (z, third) = np.frexp(left), np.frexp(right), np.frexp(more)
    exponent, apart = first + second, third - (first + second)
    z = np.ldexp(z, np.clip(apart, -400, 400))
    high, low = _two_product(x, y)
    middle, least = _two_sum(z, low)
    top, rest = _two_sum(high, middle)
    once = np.where(apart > 400, more, np.ldexp(top + _odd(*_two_sum(least, rest)), exponent))
    ordinary = np.isfinite(left) & np.isfinite(right) & np.isfinite(more) & (left != 0) & (right != 0)
    return np.where(ordinary, once, plain)[()]


def _two_sum(left: Value, right: Value) -> tuple[Value, Value]:
    """A sum, and what its rounding lost (Knuth)."""
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)


def _two_product(left: Value, right: Value) -> tuple[Value, Value]:
    """A product, and what its rounding lost (Veltkamp, Dekker)."""
    product = left * right

    def halves(value: Value) -> tuple[Value, Value]:
        wide = value * 134217729.0  # 2**27 + 1
        high = wide - (wide - value)
        return high, value - high

    (a, b), (c, d) = halves(left), halves(right)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _odd(total: Value, lost: Value) -> Value:
    """Round to odd: a second rounding then gives what one alone would have given (Boldo, Melquiond)."""
    total = np.asarray(total, _FLOAT64)
    even = (total.view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & np.isfinite(lost) & (lost != 0) & even
    return np.where(inexact, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total)[()]
