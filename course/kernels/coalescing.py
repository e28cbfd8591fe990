"""The kernels of chapter `coalescing` that its explorer profiles: one load per lane, at an index the reader chose.

Every kernel has the same shape. Lane i reads one element, and stores it at out[i]; lanes from `active` on take no
part. The line to look at is the load.
"""

from __future__ import annotations

from typing import Any

from course import cuda

__all__ = ["gather", "gather_wide", "reversed_lanes", "reversed_lanes_wide", "strided", "strided_wide"]


@cuda.jit
def strided(x: Any, out: Any, stride: int, offset: int, active: int) -> None:
    """Neighbouring lanes read elements that are `stride` apart."""
    i = cuda.grid(1)
    if i < active:
        value = x[stride * i + offset]
        out[i] = value


@cuda.jit
def reversed_lanes(x: Any, out: Any, last: int, stride: int, offset: int, active: int) -> None:
    """The same elements, but the last lane reads the first one."""
    i = cuda.grid(1)
    if i < active:
        value = x[stride * (last - i) + offset]
        out[i] = value


@cuda.jit
def gather(x: Any, out: Any, table: Any, offset: int, active: int) -> None:
    """Each lane looks up in a table which element it reads."""
    i = cuda.grid(1)
    if i < active:
        value = x[table[i] + offset]
        out[i] = value


# An element of 16 bytes is four neighbouring floats, loaded with one 128-bit instruction.


@cuda.jit
def strided_wide(x: Any, out: Any, stride: int, offset: int, active: int) -> None:
    """`strided` for elements of 16 bytes."""
    i = cuda.grid(1)
    if i < active:
        value = cuda.load4(x, 4 * (stride * i + offset))
        cuda.store4(out, 4 * i, value)


@cuda.jit
def reversed_lanes_wide(x: Any, out: Any, last: int, stride: int, offset: int, active: int) -> None:
    """`reversed_lanes` for elements of 16 bytes."""
    i = cuda.grid(1)
    if i < active:
        value = cuda.load4(x, 4 * (stride * (last - i) + offset))
        cuda.store4(out, 4 * i, value)


@cuda.jit
def gather_wide(x: Any, out: Any, table: Any, offset: int, active: int) -> None:
    """`gather` for elements of 16 bytes."""
    i = cuda.grid(1)
    if i < active:
        value = cuda.load4(x, 4 * (table[i] + offset))
        cuda.store4(out, 4 * i, value)
