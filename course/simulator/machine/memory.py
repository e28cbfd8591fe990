"""The memory of a launch: one flat address space with windows for shared and local memory, as a GPU has it.

Global memory is the arguments' arrays (and a module's variables) at their device addresses; shared memory belongs to a
block, local memory to a thread, and both are addressed from zero inside their space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Shape
from course.simulator.machine.masks import Mask, lanes_of

__all__ = ["LOCAL_WINDOW", "SHARED_WINDOW", "Memory", "Region", "outside"]

SHARED_WINDOW = 0x0100_0000_0000
LOCAL_WINDOW = 0x0200_0000_0000
WINDOW_BYTES = 1 << 32

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Region:
    """Bytes of global (or constant) memory that belong together: one array."""

    name: str
    address: int
    buffer: Bytes


def outside(address: int, regions: tuple[Region, ...]) -> tuple[Region | None, int]:
    """The array next to a wrong address, and the address as a byte of it."""
    if not regions:
        return None, address
    near = min(regions, key=lambda r: min(abs(address - r.address), abs(address - r.address - len(r.buffer))))
    return near, address - near.address


class Memory:
    """What one batch of blocks can read and write."""

    def __init__(self, regions: tuple[Region, ...], shape: Shape, shared_bytes: int, local_bytes: int) -> None:
        self.regions, self.shape = regions, shape
        blocks = int(np.prod(shape[:3]))
        self.private = {
            "shared": np.full((blocks, -(-shared_bytes // 16) * 16), 0xFF, np.uint8),
            "local": np.full((blocks * shape[3], -(-local_bytes // 16) * 16), 0xFF, np.uint8),
        }
        self.sizes = {"shared": shared_bytes, "local": local_bytes}
        self._views: dict[tuple[int, str], Any] = {}

    def _typed(self, buffer: Bytes, dtype: np.dtype[Any]) -> Any:
        key = (id(buffer), dtype.str)
        if key not in self._views:
            flat = buffer.reshape(-1)
            self._views[key] = flat[: flat.size // dtype.itemsize * dtype.itemsize].view(dtype)
        return self._views[key]

    def rows(self, space: str) -> Any:
        """Number of the row of private memory of each lane, broadcastable to the lanes."""
        z, y, x, lanes = self.shape
        block = np.arange(z * y * x).reshape(z, y, x, 1)
        return block if space == "shared" else block * lanes + np.arange(lanes)

    def load(self, space: str, addresses: Integers, dtype: np.dtype[Any], mask: Mask) -> tuple[Any, Any]:
        """Values of the lanes, and the lanes whose address is nowhere (None: there are none); these get 0."""
        size = dtype.itemsize
        shift = size.bit_length() - 1
        if space in self.private:
            raw, limit = self.private[space], self.sizes[space]
            wrong = self._beyond(addresses, size, limit, mask)
            if space == "shared" and addresses.shape[:3] == (1, 1, 1):  # the same place in every block: one column each
                columns = addresses.reshape(-1) >> shift
                if raw.size and (run := _run(columns, raw.shape[1] // size)) is not None:
                    found = self._typed(raw, dtype).reshape(len(raw), -1)[:, run].copy()
                    return found.reshape(*self.shape[:3], -1), wrong
                if raw.size:
                    found = self._typed(raw, dtype).reshape(len(raw), -1).take(columns, axis=1, mode="clip")
                else:
                    found = np.zeros((len(raw), len(columns)), dtype)
                return found.reshape(*self.shape[:3], -1), wrong
            if not raw.size:
                return np.zeros(addresses.shape, dtype), wrong
            places = (self.rows(space) * (raw.shape[1] >> shift)) + np.clip(
                addresses >> shift, 0, raw.shape[1] // size - 1
            )
            return self._typed(raw, dtype).take(places), wrong
        low, high = self._span(addresses, mask)
        for region in self.regions:
            if region.address <= low and high + size <= region.address + len(region.buffer):
                places = (addresses - region.address) >> shift
                return self._typed(region.buffer, dtype).take(places, mode="clip"), None
        found = np.zeros(addresses.shape, dtype)
        nowhere = np.ones(addresses.shape, bool)
        for region in self.regions:
            inside = (addresses >= region.address) & (addresses + size <= region.address + len(region.buffer))
            if inside.any():
                places = (addresses - region.address) >> shift
                found = np.where(inside, self._typed(region.buffer, dtype).take(places, mode="clip"), found)
                nowhere &= ~inside
        wrong = nowhere if mask is None else nowhere & mask
        return found, wrong if wrong.any() else None

    def store(self, space: str, addresses: Integers, values: Any, mask: Mask) -> Any:
        """Write values of the lanes; returns the lanes whose address is nowhere (None: there are none)."""
        size = values.dtype.itemsize
        shift = size.bit_length() - 1
        if space in self.private:
            raw, limit = self.private[space], self.sizes[space]
            wrong = self._beyond(addresses, size, limit, mask)
            if wrong is not None:
                mask = lanes_of(mask, self.shape) & ~wrong
            if not raw.size:
                return wrong
            flat = self._typed(raw, values.dtype)
            if space == "shared" and addresses.shape[:3] == (1, 1, 1) and (mask is None or mask.shape[:3] == (1, 1, 1)):
                columns = np.broadcast_to(addresses, (1, 1, 1, self.shape[3])).reshape(-1) >> shift
                wide = np.broadcast_to(values, self.shape).reshape(len(raw), -1)
                if mask is not None:
                    chosen = np.broadcast_to(mask, (1, 1, 1, self.shape[3])).reshape(-1)
                    columns, wide = columns[chosen], wide[:, chosen]
                neighbours = _run(columns, raw.shape[1] // size)
                flat.reshape(len(raw), -1)[:, columns if neighbours is None else neighbours] = wide
                return wrong
            places = (self.rows(space) * (raw.shape[1] >> shift)) + (addresses >> shift)
            self._write(flat, places, values, mask)
            return wrong
        low, high = self._span(addresses, mask)
        for region in self.regions:
            if region.address <= low and high + size <= region.address + len(region.buffer):
                self._write(
                    self._typed(region.buffer, values.dtype), (addresses - region.address) >> shift, values, mask
                )
                return None
        nowhere = lanes_of(mask, self.shape).copy()
        for region in self.regions:
            inside = (addresses >= region.address) & (addresses + size <= region.address + len(region.buffer))
            here = lanes_of(mask, self.shape) & inside
            if here.any():
                self._write(
                    self._typed(region.buffer, values.dtype), (addresses - region.address) >> shift, values, here
                )
                nowhere &= ~inside
        return nowhere if nowhere.any() else None

    def _write(self, flat: Any, places: Any, values: Any, mask: Mask) -> None:
        places, values = np.broadcast_to(places, self.shape), np.broadcast_to(values, self.shape)
        if mask is None:
            flat[places] = values
        else:
            chosen = np.broadcast_to(mask, self.shape)
            flat[places[chosen]] = values[chosen]

    def _span(self, addresses: Integers, mask: Mask) -> tuple[int, int]:
        if mask is not None:
            shape = np.broadcast_shapes(addresses.shape, mask.shape)
            addresses = np.broadcast_to(addresses, shape)[np.broadcast_to(mask, shape)]
        return int(addresses.min()), int(addresses.max())

    def _beyond(self, addresses: Integers, size: int, limit: int, mask: Mask) -> Any:
        if int(addresses.min()) >= 0 and int(addresses.max()) + size <= limit:
            return None
        wrong = (addresses < 0) | (addresses + size > limit)
        wrong = wrong if mask is None else wrong & mask
        return wrong if wrong.any() else None


def _run(columns: Integers, limit: int) -> slice | None:
    """The columns as a slice, which is much faster, where they are neighbours in order."""
    count = len(columns)
    if not count:
        return None
    first = int(columns[0])
    if first < 0 or first + count > limit or int(columns[-1]) != first + count - 1:
        return None
    return slice(first, first + count) if (np.diff(columns) == 1).all() else None
