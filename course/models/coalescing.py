"""What one warp-wide load or store costs: lane addresses in, requests, sectors and bytes out.

A *request* is one memory instruction of one warp. The hardware looks at the addresses of its
active lanes and fetches every 32-byte *sector* that any of them touches, once. This file is that
one rule, for one warp or for millions, with nothing else in it.

Arrays of addresses have the shape (warps, lanes); a single warp may leave the first axis out.
The rule is NVIDIA's (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory") and is
held in tests/models/test_coalescing.py to the counters of an H200.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "ACCESS_BYTES",
    "LINE_BYTES",
    "SECTOR_BYTES",
    "WARP_LANES",
    "Coalescing",
    "MisalignedAccess",
    "active_lanes",
    "coalesce",
    "index_addresses",
    "lane_addresses",
    "thread_indices",
    "units_touched",
]

WARP_LANES = 32
"""Lanes of an NVIDIA warp."""
SECTOR_BYTES = 32
"""Bytes of a sector, the smallest piece that L1 and L2 exchange (NVIDIA, CC 6.0 and later)."""
LINE_BYTES = 128
"""Bytes of a cache line: four sectors."""
ACCESS_BYTES = (1, 2, 4, 8, 16)
"""Bytes that one lane can load or store with one instruction."""

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class MisalignedAccess(ValueError):
    """A lane's address is no multiple of its access size: a GPU stops the kernel there."""


@dataclass(frozen=True)
class Coalescing:
    """Cost of one request, or of many: every array holds one entry per warp.

    A warp without active lanes issues no request; its entries are 0.
    """

    active_lanes: Integers
    sectors: Integers
    """Distinct 32-byte sectors touched (or distinct units of `unit_bytes`)."""
    lines: Integers
    """Distinct 128-byte lines touched."""
    element_bytes: int
    unit_bytes: int = SECTOR_BYTES

    @property
    def requested_bytes(self) -> Integers:
        """Bytes the active lanes asked for: active lanes x element size."""
        return self.active_lanes * self.element_bytes

    @property
    def transferred_bytes(self) -> Integers:
        """Bytes moved to serve them: 32 x sectors."""
        return self.sectors * self.unit_bytes

    @property
    def requests(self) -> int:
        """Requests issued: warps with at least one active lane."""
        return int(np.count_nonzero(self.active_lanes))

    @property
    def sectors_per_request(self) -> float:
        """Sectors of an average request; nan when no request is issued."""
        return float(self.sectors.sum() / self.requests) if self.requests else float("nan")

    @property
    def efficiency(self) -> float:
        """Requested bytes / transferred bytes; nan when no request is issued.

        Above 1 when lanes share addresses: one transferred byte then serves several lanes.
        """
        moved = int(self.transferred_bytes.sum())
        return float(self.requested_bytes.sum() / moved) if moved else float("nan")

    def __str__(self) -> str:
        if not self.requests:
            return "No lane is active, so no request is issued and no byte moves."
        unit = "sector" if self.unit_bytes == SECTOR_BYTES else f"{self.unit_bytes}-byte unit"
        sectors, lines = int(self.sectors.sum()), int(self.lines.sum())
        return (
            f"{_count(self.requests, 'request')}: {_count(sectors, unit)} in "
            f"{_count(lines, 'line')}, {int(self.requested_bytes.sum())} B requested, "
            f"{int(self.transferred_bytes.sum())} B transferred, "
            f"efficiency {100 * self.efficiency:.4g} %."
        )


def lane_addresses(
    stride: int = 1,
    offset: int = 0,
    element_bytes: int = 4,
    *,
    lanes: int = WARP_LANES,
    warps: int = 1,
    base: int = 0,
) -> Integers:
    """Byte addresses of a strided access, shape (warps, lanes).

    Global lane i (counted through all warps) reads element ``i * stride + offset`` of an array
    that starts at byte `base`. `stride` may be negative or 0; the lowest address may not be
    negative. Raises ValueError for an element size that no instruction has.
    """
    _element_size(element_bytes)
    _at_least("lanes", lanes, 1)
    _at_least("warps", warps, 1)
    lane = np.arange(warps * lanes, dtype=np.int64).reshape(warps, lanes)
    return index_addresses(lane * _integer("stride", stride) + _integer("offset", offset), element_bytes, base=base)


def index_addresses(indices: npt.ArrayLike, element_bytes: int = 4, *, base: int = 0) -> Integers:
    """Byte addresses of a gather: element `indices[..., lane]` of an array that starts at `base`.

    `indices` holds integers, shape (lanes,) or (warps, lanes); the result has the same shape.
    """
    _element_size(element_bytes)
    index = _integers("indices", indices)
    addresses: Integers = index * element_bytes + _integer("base", base)
    if addresses.size and addresses.min() < 0:
        raise ValueError(
            f"lowest address is {int(addresses.min())}: expected addresses from 0 up. "
            "Raise the offset or the base so that every lane stays inside the array."
        )
    return addresses


def thread_indices(block: tuple[int, ...], *, lanes: int = WARP_LANES) -> tuple[Integers, Integers, Mask]:
    """How a block of (x, y, z) threads becomes warps: x first, then y, then z.

    Returns (x, y, active), each of shape (warps, lanes): the threadIdx.x and threadIdx.y of every
    lane, and which lanes exist. The last warp is padded with inactive lanes.
    Source: CUDA C++ Programming Guide, "Thread Hierarchy".
    """
    if not 1 <= len(block) <= 3:
        raise ValueError(f"block is {block!r}: expected one to three sizes, such as (32, 8).")
    for size in block:
        _at_least("block size", size, 1)
    _at_least("lanes", lanes, 1)
    width, height = block[0], block[1] if len(block) > 1 else 1
    threads = int(np.prod(block))
    warps = -(-threads // lanes)
    thread = np.arange(warps * lanes, dtype=np.int64).reshape(warps, lanes)
    return thread % width, thread // width % height, thread < threads


def active_lanes(active: int | npt.ArrayLike | None, shape: tuple[int, ...]) -> Mask:
    """A mask of `shape` from None (all lanes), a count (the first n lanes) or an array of bools."""
    lanes = shape[-1]
    if active is None:
        return np.ones(shape, np.bool_)
    if isinstance(active, (int, np.integer)) and not isinstance(active, (bool, np.bool_)):
        if not 0 <= active <= lanes:
            raise ValueError(f"active is {active}: expected 0 to {lanes} lanes.")
        return np.broadcast_to(np.arange(lanes) < active, shape)
    mask = np.asarray(active)
    if mask.dtype != np.bool_:
        raise TypeError(
            f"active has elements of type {mask.dtype}: expected True or False per lane, "
            "or one whole number of leading active lanes."
        )
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"active has shape {mask.shape}: expected {shape}, one value per lane.") from None


def coalesce(
    addresses: npt.ArrayLike,
    element_bytes: int = 4,
    active: int | npt.ArrayLike | None = None,
    *,
    unit_bytes: int = SECTOR_BYTES,
) -> Coalescing:
    """Count what each request costs.

    addresses: byte address of every lane, shape (lanes,) or (warps, lanes).
    element_bytes: what each lane loads or stores, in bytes (1, 2, 4, 8 or 16).
    active: lanes that take part: None (all), a count, or bools of the addresses' shape.
    unit_bytes: the service unit; 32 is the sector of NVIDIA's caches, others are for comparison.

    Raises MisalignedAccess when an active lane's address is no multiple of `element_bytes`.
    """
    _element_size(element_bytes)
    unit = _power_of_two("unit_bytes", unit_bytes)
    table = _integers("addresses", addresses)
    if table.ndim == 1:
        table = table[np.newaxis]
    if table.ndim != 2:
        raise ValueError(f"addresses have shape {table.shape}: expected (lanes,) or (warps, lanes).")
    if not table.shape[1]:
        raise ValueError("addresses are empty: expected at least one lane; pass active=0 for an idle warp.")
    mask = active_lanes(active, table.shape)
    _refuse_negative_or_misaligned(table, mask, element_bytes)
    if mask.all():
        lanes = np.full(len(table), table.shape[1], np.int64)
    else:
        lanes = mask.sum(axis=1, dtype=np.int64)
        # An inactive lane copies an active one, so that it touches no unit of its own.
        table = np.where(mask, table, np.take_along_axis(table, mask.argmax(axis=1)[:, np.newaxis], axis=1))
    sectors, lines = _distinct_units(table, lanes > 0, element_bytes, (unit, LINE_BYTES))
    return Coalescing(
        active_lanes=lanes,
        sectors=sectors,
        lines=lines,
        element_bytes=element_bytes,
        unit_bytes=unit,
    )


def units_touched(
    addresses: npt.ArrayLike,
    element_bytes: int = 4,
    active: int | npt.ArrayLike | None = None,
    *,
    unit_bytes: int = SECTOR_BYTES,
) -> Integers:
    """Numbers of the distinct units (address // `unit_bytes`) that one request touches, ascending."""
    _element_size(element_bytes)
    unit = _power_of_two("unit_bytes", unit_bytes)
    row = _integers("addresses", addresses).reshape(-1)
    mask = active_lanes(active, row.shape)
    _refuse_negative_or_misaligned(row[np.newaxis], mask[np.newaxis], element_bytes)
    first = row[mask] // unit
    per_lane = -(-element_bytes // unit)
    return np.unique(first[:, np.newaxis] + np.arange(per_lane))


_ROWS_AT_ONCE = 2048  # so that the temporaries stay in the cache of a core


def _distinct_units(table: Integers, issued: Mask, element_bytes: int, units: tuple[int, ...]) -> list[Integers]:
    """Distinct units of each row, by unit size; 0 where no request is issued.

    An aligned element lies in one unit, or fills several whole ones. In a row that only ascends, every
    distinct unit begins with a step; other rows are sorted first.
    """
    counts = [np.empty(len(table), np.int64) for _ in units]
    for start in range(0, len(table), _ROWS_AT_ONCE):
        chunk = slice(start, start + _ROWS_AT_ONCE)
        rows = np.ascontiguousarray(table[chunk])
        lane = rows.reshape(-1)  # one long comparison is far faster than one per row
        if _by_row(lane[1:] < lane[:-1], rows.shape, first_lane=False).any():
            rows = np.sort(rows, axis=1)
            lane = rows.reshape(-1)
        differing_bits = lane[1:] ^ lane[:-1]
        for count, unit in zip(counts, units, strict=True):
            # Two addresses lie in different units where they differ in a bit at or above the unit size.
            begins = _by_row(differing_bits >= unit, rows.shape, first_lane=True)
            count[chunk] = _true_per_row(begins) * -(-element_bytes // unit)
    for count in counts:
        count[~issued] = 0
    return counts


def _by_row(to_lane_before: Mask, shape: tuple[int, ...], *, first_lane: bool) -> Mask:
    """Comparisons of neighbours in one long row, cut into rows; the first lane of a row has its answer given."""
    found = np.empty(shape, np.bool_)
    found.reshape(-1)[1:] = to_lane_before
    found[:, 0] = first_lane
    return found


def _true_per_row(flags: Mask) -> Integers:
    """Number of True in each row: eight flags at a time, as the bytes of one 64-bit word, where that goes."""
    lanes = flags.shape[1]
    if lanes % 8 or lanes > 248:
        return np.asarray(flags.sum(axis=1, dtype=np.int64))
    words = flags.view(np.uint64)
    by_byte = words[:, 0].copy()
    for column in range(1, lanes // 8):
        by_byte += words[:, column]
    total: Integers = (by_byte * np.uint64(0x0101010101010101) >> np.uint64(56)).astype(np.int64)  # adds the bytes
    return total


def _refuse_negative_or_misaligned(table: Integers, mask: Mask, element_bytes: int) -> None:
    # All addresses or-ed together show in one pass whether any is negative or has a low bit set.
    together = int(np.bitwise_or.reduce(table if mask.all() else np.where(mask, table, 0), axis=None))
    if together >= 0 and together % element_bytes == 0:
        return
    wrong = mask & ((table < 0) | (table % element_bytes != 0))
    warp, lane = (int(n) for n in np.argwhere(wrong)[0])
    address = int(table[warp, lane])
    if address < 0:
        raise ValueError(f"lane {lane} of warp {warp} has address {address}: expected 0 or more.")
    raise MisalignedAccess(
        f"lane {lane} of warp {warp} has address {address}, which is {address % element_bytes} more than a "
        f"multiple of {element_bytes}: a {element_bytes}-byte access needs an aligned address. "
        "Start at an aligned element, or use narrower accesses."
    )


def _element_size(size: int) -> None:
    if size not in ACCESS_BYTES:
        raise ValueError(
            f"element_bytes is {size!r}: expected 1, 2, 4, 8 or 16, the sizes one lane can load at once. "
            "Read a larger or odd-sized element as several of these."
        )


def _power_of_two(name: str, value: int) -> int:
    number = _integer(name, value)
    if number < 1 or number & (number - 1):
        raise ValueError(f"{name} is {value}: expected a power of two, such as 32, 64 or 128.")
    return number


def _at_least(name: str, value: int, least: int) -> None:
    if _integer(name, value) < least:
        raise ValueError(f"{name} is {value}: expected {least} or more.")


def _integer(name: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return int(value)
    raise TypeError(f"{name} is {value!r}: expected a whole number.")


def _integers(name: str, values: npt.ArrayLike) -> Integers:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} have elements of type {array.dtype}: expected whole numbers.")
    return array.astype(np.int64, copy=False)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
