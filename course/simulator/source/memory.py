"""Memory as the lanes see it: views, element numbers, bounds, and the moving of values.

A `View` is an array as a kernel holds it: a flat NumPy buffer, and an offset, shape and strides counted
in elements, each the same for all lanes or different per lane (a row `A[i]`). Buffers are shaped
(elements,) in global memory, (gz, gy, gx, elements) in shared and (elements, gz, gy, gx, T) in local.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Access, Site, Space
from course.simulator.errors import LaunchError
from course.simulator.source.lanes import DEAD, Mask, State, Value, both, full

__all__ = ["Record", "View", "fill_poison", "gather", "index_record", "locate", "notify", "pieces", "scatter", "sliced"]

Size = Any
"""An int, or one per lane."""


@dataclass(frozen=True)
class View:
    """An array or a part of one, in units of its elements."""

    flat: npt.NDArray[Any]
    space: Space
    name: str
    base: int
    """Byte address of the buffer's first element."""
    unit: int
    """Bytes from one element of the buffer to the next."""
    offset: Size
    shape: tuple[Size, ...]
    strides: tuple[int, ...]
    initialised: npt.NDArray[np.bool_] | None = None
    """Local memory under observation: which elements were written, shaped as `flat`."""

    @property
    def length(self) -> int:
        """Elements of the buffer (of one block, of one thread)."""
        return int(self.flat.shape[-1 if self.space == "shared" else 0])

    def field(self, name: str) -> View:
        """The same elements, one field of the record."""
        fields = self.flat.dtype.fields
        assert fields is not None
        written = self.initialised
        return replace(self, flat=self.flat[name], base=self.base + fields[name][1], initialised=written)

    def merged(self, mask: Mask, old: View) -> View:
        """Merge: this view for the lanes of a mask, `old` for the others: both must lie in one buffer."""
        same = isinstance(old, View) and old.flat is self.flat and old.strides == self.strides
        if not same:
            raise LaunchError("threads hold different arrays in one variable: that is not supported, use an index.")
        shape = tuple(
            n if (isinstance(n, int) and n is o) or (isinstance(n, int) and isinstance(o, int) and n == o)
            else np.where(mask, n, o)
            for n, o in zip(self.shape, old.shape, strict=True)
        )  # fmt: skip
        return replace(self, offset=np.where(mask, self.offset, old.offset), shape=shape)


@dataclass(frozen=True)
class Record:
    """A reference to one record per lane: where it lies, not what it holds."""

    view: View
    element: Size
    inside: Mask
    """Lanes whose index was in bounds; None: all."""

    def merged(self, mask: Mask, old: Record) -> Record:
        """Merge: this record for the lanes of a mask, `old` for the others."""
        if old.view.flat is not self.view.flat:
            raise LaunchError("threads hold records of different arrays in one variable: that is not supported.")
        return Record(self.view, np.where(mask, self.element, old.element), None)


def pieces(dtype: np.dtype[Any], space: Space, *, packed: bool = False) -> tuple[tuple[int, int], ...]:
    """(offset, size) of the instructions that move one element.

    numba loads the two halves of a complex number from global memory separately, and every byte of
    what lies in a packed record or of a whole record.
    """
    if packed or dtype.names:
        return tuple((byte, 1) for byte in range(dtype.itemsize))
    if dtype.kind == "c" and space != "shared":
        half = dtype.itemsize // 2
        return ((0, half), (half, half))
    return ((0, dtype.itemsize),)


def locate(
    state: State, mask: Mask, view: View, indices: Sequence[Value], line: int, literal: bool
) -> tuple[Any, Mask, Any]:
    """Element numbers of `view[indices]`: (elements, mask of the lanes in bounds, out-of-bounds lanes or None).

    A negative index counts from the end, as numba makes it; it is reported unless it is `literal`.
    """
    element: Any = view.offset
    outside: Any = None
    for axis, index in enumerate(indices):
        size, stride = view.shape[axis], view.strides[axis]
        if index.ndim == 0 and isinstance(size, int):
            number = int(index)
            if not 0 <= number < size:
                index, wrong = _wrapped(state, mask, view, indices, axis, line, literal)
                outside = wrong if outside is None else outside if wrong is None else outside | wrong
                number = int(index) if 0 <= int(index) < size else 0  # no lane gets there
            element = element + number * stride
            continue
        low, high = state.range_of(index)
        if not isinstance(size, int) or low < 0 or high >= size:
            index, wrong = _wrapped(state, mask, view, indices, axis, line, literal)
            outside = wrong if outside is None else outside if wrong is None else outside | wrong
        term = index if stride == 1 else index * np.int64(stride)
        element = term if isinstance(element, int) and element == 0 else element + term
    if outside is None:
        return element, mask, None
    inside = ~np.asarray(outside)
    return element, (both(mask, inside) if inside.any() else DEAD), outside


def _wrapped(
    state: State, mask: Mask, view: View, indices: Sequence[Value], axis: int, line: int, literal: bool
) -> tuple[Any, Any]:
    index, size = indices[axis], view.shape[axis]
    negative = index < 0
    wrapped = np.where(negative, index + size, index)[()]
    outside = (wrapped < 0) | (wrapped >= size)

    def message(what: str) -> Any:
        def text(lane: int) -> str:
            at = ", ".join(str(int(full(i, state.shape).flat[lane])) for i in indices)
            shape = tuple(int(full(n, state.shape).flat[lane]) for n in view.shape)
            return f"Index {at} {what} {view.name}, which has shape {shape}."

        return text

    wrong = _active(outside, mask)
    if wrong.any():
        remedy = f"Guard the access: let only threads with an index below the size of {view.name} reach it."
        state.report("out-of-bounds", line, wrong, message("is out of bounds of"), remedy, view.name)
    if not literal:
        counted = _active(negative & ~outside, mask)
        if counted.any():
            remedy = "A negative index counts from the end. If that is not meant, guard the lower end too."
            state.report("negative-index", line, counted, message("is negative and wraps in"), remedy, view.name)
    return wrapped, (outside if np.any(outside) else None)


def _active(lanes: Any, mask: Mask) -> Any:
    return np.asarray(lanes if mask is None else lanes & mask)


def gather(state: State, view: View, element: Any) -> Value:
    """Values of the elements; the numbers of idle lanes may be anything."""
    flat = view.flat
    if not view.length:
        return flat.dtype.type(0) if not flat.dtype.names else np.zeros((), flat.dtype)
    if view.space == "local":
        if isinstance(element, int):
            return flat[min(max(element, 0), view.length - 1)].copy()
        lanes = state.blocks * state.shape[3]
        return flat.reshape(-1).take(element * np.int64(lanes) + state.lane_number(), mode="clip")
    if view.space == "shared":
        if isinstance(element, int):
            element = min(max(element, 0), view.length - 1)
            return flat[..., element : element + 1].copy()
        if element.shape[:3] == (1, 1, 1):
            places = element.reshape(-1)
            grid = _regular(state, flat, places)
            if grid is not None:
                return np.array(grid, order="C").reshape(*flat.shape[:3], -1)
            return flat.take(places, axis=-1, mode="clip")
        element = element + state.block_number() * np.int64(view.length)
        return flat.reshape(-1).take(element, mode="clip")
    if isinstance(element, int):
        return flat[min(max(element, 0), view.length - 1)]
    if flat.flags.c_contiguous:
        return flat.take(element, mode="clip")
    return flat[np.clip(element, 0, view.length - 1)]


def scatter(state: State, view: View, element: Any, value: Value, mask: Mask) -> None:
    """Write values; of lanes that write to one element the last one wins."""
    flat = view.flat
    if mask is DEAD or not view.length:
        return
    if view.space == "local":
        if isinstance(element, int):
            np.copyto(flat[element], value, where=True if mask is None else mask)
            if view.initialised is not None:
                view.initialised[element] |= True if mask is None else mask
            return
        lanes = state.blocks * state.shape[3]
        element = element * np.int64(lanes) + state.lane_number()
        _write(flat.reshape(-1), element, value, mask)
        if view.initialised is not None:
            _write(view.initialised.reshape(-1), element, np.True_, mask)
        return
    if view.space == "shared":
        if isinstance(element, int):
            element = np.full((1, 1, 1, 1), element)
        if element.shape[:3] == (1, 1, 1) and (mask is None or mask.shape[:3] == (1, 1, 1)):
            _write_every_block(state, flat, element, value, mask)
        else:
            element = element + state.block_number() * np.int64(view.length)
            _write(flat.reshape(-1), element, value, mask)
        return
    _write(flat, element, value, mask)


def _write(flat: npt.NDArray[Any], element: Any, value: Value, mask: Mask) -> None:
    where = np.asarray(element)
    shape = np.broadcast_shapes(where.shape, value.shape, () if mask is None else mask.shape)
    if where.shape != shape:
        where = np.broadcast_to(where, shape)
    if mask is None:
        flat[where] = value
        return
    active = np.flatnonzero(np.broadcast_to(mask, shape))
    where = where.reshape(-1).take(active)
    if value.ndim:
        value = np.broadcast_to(value, shape).reshape(-1).take(active)
    flat[where] = value


def _write_every_block(state: State, flat: npt.NDArray[Any], element: Any, value: Value, mask: Mask) -> None:
    lanes = max(element.shape[3], value.shape[3] if value.ndim else 1, 1 if mask is None else mask.shape[3])
    where = np.broadcast_to(element.reshape(-1), (lanes,))
    rows = flat.reshape(-1, flat.shape[3])
    if value.ndim:
        value = np.broadcast_to(value, (*flat.shape[:3], lanes)).reshape(-1, lanes) if value.shape[:3] != (1, 1, 1) \
            else np.broadcast_to(value.reshape(1, -1), (1, lanes))  # fmt: skip
    if mask is None and lanes > 1:
        grid = _regular(state, flat, where)
        if grid is not None and _distinct(grid):
            grid[...] = value if not value.ndim else value.reshape(-1, *grid.shape[1:])
            return
    if mask is not None:
        active = np.flatnonzero(np.broadcast_to(mask.reshape(-1), (lanes,)))
        where = where[active]
        if value.ndim:
            value = value[:, active]
    rows[:, where] = value


_WORTH_LOOKING = 1 << 14
"""Lanes from which on looking for a regular pattern costs less than it saves."""


def _regular(state: State, flat: npt.NDArray[Any], places: npt.NDArray[np.int64]) -> npt.NDArray[Any] | None:
    """Elements of every block as a strided view (blocks, rows of threads, threads of a row), where they are one.

    A tile read by row, by column or broadcast along either is such a view: copying it is three times
    faster than gathering lane by lane. None when the elements have no such order.
    """
    width = state.block[0]
    if state.blocks * places.size < _WORTH_LOOKING or places.size % width:
        return None
    table = places.reshape(-1, width)
    first = int(table[0, 0])
    down = int(table[1, 0]) - first if len(table) > 1 else 0
    along = int(table[0, 1]) - first if width > 1 else 0
    key = f"steps {down} {along}"
    steps = state.cache.get(key)
    if steps is None:
        steps = np.arange(len(table))[:, np.newaxis] * down + np.arange(width) * along
        state.cache[key] = steps
    low, high = first + min(int(steps[0, 0]), int(steps[-1, -1]), int(steps[0, -1]), int(steps[-1, 0])), \
        first + max(int(steps[0, 0]), int(steps[-1, -1]), int(steps[0, -1]), int(steps[-1, 0]))  # fmt: skip
    if low < 0 or high >= flat.shape[3] or not np.array_equal(table - first, steps):
        return None
    size, row = flat.itemsize, flat.strides[2]
    blocks = flat.shape[0] * flat.shape[1] * flat.shape[2]
    return np.ndarray((blocks, *table.shape), flat.dtype, flat, first * size, (row, down * size, along * size))


def _distinct(grid: npt.NDArray[Any]) -> bool:
    """Whether no element of a regular view occurs twice."""
    _, rows, width = grid.shape
    down, along = abs(grid.strides[1]), abs(grid.strides[2])
    if rows == 1 or width == 1:
        return (down if width == 1 else along) > 0
    return min(down, along) > 0 and (down >= along * width or along >= down * rows)


def notify(state: State, site: Site, parts: tuple[tuple[int, int], ...], view: View, element: Any, mask: Mask,
           values: Value | None = None) -> None:  # fmt: skip
    """Tell the observer about the instructions of one access."""
    if state.observer is None or mask is DEAD:
        return
    if state.copies is not None and view.space == "shared":
        state.copies.touched(state, site, view, element, parts[-1][0] + parts[-1][1], mask)
    if isinstance(element, int):
        address = np.full((1, 1, 1, 1), element * view.unit + view.base)
    else:
        address = np.multiply(element, view.unit)
        address += view.base
        if not address.ndim:
            address = address.reshape(1, 1, 1, 1)
    for offset, size in parts:
        here = address + offset if offset else address
        state.observer.access(
            Access(site, size, here, mask, state.shape, state.warp_lanes, state.origin, state.epoch, values)
        )


def report_uninitialised(state: State, view: View, element: Any, mask: Mask, line: int) -> None:
    """Local memory that a lane reads before writing it."""
    written = view.initialised
    if written is None or mask is DEAD or not view.length:
        return
    seen = gather(state, replace(view, flat=written, initialised=None), element)
    wrong = _active(~seen, mask)
    if wrong.any():
        state.report("uninitialised", line, wrong, lambda _: f"{view.name} is read before this thread wrote it.",
                     f"Set the elements of {view.name} first: local memory starts with arbitrary values.",
                     view.name)  # fmt: skip


def index_record(state: State, mask: Mask, view: View, indices: Sequence[Value], line: int, literal: bool) -> Record:
    """`p[i]` of an array of records."""
    element, inside, outside = locate(state, mask, view, indices, line, literal)
    return Record(view, element, None if outside is None else ~outside if inside is not DEAD else np.False_)


def part(view: View, state: State, mask: Mask, indices: Sequence[Any], line: int, literal: bool) -> View:
    """`A[i]`, `A[i, 2:5]`: a view with fewer or shorter axes. Indices are lane values or `slice` objects of them."""
    offset, shape, strides = view.offset, [], []
    nowhere: Any = None
    for axis in range(len(view.shape)):
        size, stride = view.shape[axis], view.strides[axis]
        index = indices[axis] if axis < len(indices) else slice(None, None, None)
        if isinstance(index, slice):
            start, length, step = sliced(index, size)
            offset = offset + start * stride
            shape.append(length)
            strides.append(stride * step)
        else:
            one = replace(view, offset=0, shape=(size,), strides=(stride,))
            term, _, outside = locate(state, mask, one, [index], line, literal)
            if outside is not None:
                term = np.where(outside, 0, term)[()]
                nowhere = outside if nowhere is None else nowhere | outside
            offset = offset + term
    if nowhere is not None:  # a row that does not exist has no elements
        shape = [np.where(nowhere, 0, size)[()] for size in shape]
    return replace(view, offset=offset, shape=tuple(shape), strides=tuple(strides))


def sliced(index: slice, size: Size) -> tuple[Size, Size, int]:
    """Start, length and step of a slice along an axis of `size` elements, clipped as Python clips it."""
    step = 1 if index.step is None else int(index.step)
    everything = isinstance(size, int) and all(np.ndim(v) == 0 for v in (index.start, index.stop) if v is not None)
    if everything:
        bounds = [None if v is None else int(v) for v in (index.start, index.stop)]
        numbers = range(*slice(bounds[0], bounds[1], step).indices(size))
        return numbers.start, len(numbers), step
    low, high = (0, size) if step > 0 else (-1, size - 1)
    start = (0 if step > 0 else size - 1) if index.start is None else _clipped(index.start, size, low, high)
    stop = (size if step > 0 else -1) if index.stop is None else _clipped(index.stop, size, low, high)
    return start, np.maximum(0, -((start - stop) // step)), step


def _clipped(value: Value, size: Size, low: Size, high: Size) -> Any:
    return np.minimum(np.maximum(np.where(value < 0, value + size, value), low), high)


def fill_poison(buffer: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Fill fresh shared or local memory with values that are wrong in every sum: nan, or a large odd number."""
    if buffer.dtype.kind in "fc":
        buffer.fill(np.nan)
    elif buffer.dtype == np.bool_:
        buffer.fill(True)
    else:
        buffer.reshape(-1).view(np.uint8).fill(0x7B)
    return buffer
