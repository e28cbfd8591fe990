"""Where the fields of many records, or the axes of a tensor, lie in memory, and what a warp pays to read them.

A `Struct` is one record by the rules of C (or packed, as NumPy does by default). `Records` is an array of
them in one of three layouts: array of structs ("aos"), struct of arrays ("soa"), tiles of arrays ("aosoa").
A `Tensor` is a dense array whose axes have names; the order of the axes is its layout.

Two byte counts are kept apart: L1-transferred bytes (32 x sectors, request by request) and DRAM bytes
(each sector once, however many requests touch it: what remains if the caches hold everything).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .coalescing import ACCESS_BYTES, SECTOR_BYTES, WARP_LANES, Coalescing, Integers, coalesce, lane_addresses

__all__ = [
    "ALLOCATION_BYTES",
    "KV_DIM_FIRST",
    "KV_TOKENS_FIRST",
    "NCHW",
    "NHWC",
    "FieldTraffic",
    "Records",
    "Struct",
    "Tensor",
    "padded_pitch",
    "struct",
]

ALLOCATION_BYTES = 256
"""Alignment of an allocation on the device (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory")."""

Layout = Literal["aos", "soa", "aosoa"]

NCHW = ("n", "c", "h", "w")
NHWC = ("n", "h", "w", "c")
"""Channels last."""
KV_TOKENS_FIRST = ("blocks", "tokens", "heads", "dim")
KV_DIM_FIRST = ("blocks", "heads", "dim", "tokens")


@dataclass(frozen=True)
class Struct:
    """One record: names, sizes and byte offsets of its fields."""

    names: tuple[str, ...]
    field_bytes: tuple[int, ...]
    offsets: tuple[int, ...]
    struct_bytes: int
    """Bytes from one record to the next, the padding included."""
    alignment_bytes: int
    packed: bool

    @property
    def padding_bytes(self) -> int:
        """Bytes of a record that hold no field."""
        return self.struct_bytes - sum(self.field_bytes)

    def index(self, field: str) -> int:
        """Position of a field; KeyError lists the fields."""
        if field not in self.names:
            raise KeyError(f"the struct has no field {field!r}: expected one of {', '.join(self.names)}.")
        return self.names.index(field)

    def __str__(self) -> str:
        fields = ", ".join(f"{name} at {offset}" for name, offset in zip(self.names, self.offsets, strict=True))
        return f"A struct of {self.struct_bytes} B ({self.padding_bytes} B of padding): {fields}."


def struct(fields: Mapping[str, npt.DTypeLike] | Sequence[tuple[str, npt.DTypeLike]], *, align: bool = True) -> Struct:
    """Lay out one record, for example ``struct({"x": "f4", "charge": "f8"})``.

    fields: name -> scalar type, in order, in NumPy's spelling.
    align: True: every field starts at a multiple of its alignment and the record is as long as a multiple of the
    largest one, as in C; False: packed, as NumPy does unless told otherwise.
    """
    pairs = list(fields.items() if isinstance(fields, Mapping) else fields)
    if not pairs:
        raise ValueError("fields is empty: expected at least one field.")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"fields are {', '.join(names)}: expected every name once.")
    kinds = [np.dtype(kind) for _, kind in pairs]
    for name, kind in zip(names, kinds, strict=True):
        if kind.itemsize not in ACCESS_BYTES or kind.kind not in "biuf":
            raise ValueError(f"field {name} is {kind}: expected a number of 1, 2, 4 or 8 bytes.")
    offsets, end, largest = [], 0, 1
    for kind in kinds:
        # In device code a number is aligned to its size (CUDA C++ Programming Guide, "Built-in Types").
        alignment = kind.itemsize if align else 1
        start = -(-end // alignment) * alignment
        offsets.append(start)
        end, largest = start + kind.itemsize, max(largest, alignment)
    return Struct(
        names=tuple(names),
        field_bytes=tuple(kind.itemsize for kind in kinds),
        offsets=tuple(offsets),
        struct_bytes=-(-end // largest) * largest,
        alignment_bytes=largest,
        packed=not align,
    )


@dataclass(frozen=True)
class FieldTraffic:
    """What reading (or writing) some fields of every record costs, in bytes and requests."""

    fields: tuple[str, ...]
    requests: int
    sectors: int
    useful_bytes: int
    """Bytes of these fields, each once."""
    dram_bytes: int
    """Distinct sectors of the whole launch x 32: DRAM traffic if nothing is fetched twice."""

    @property
    def l1_bytes(self) -> int:
        """L1-transferred bytes: 32 x sectors of every request."""
        return SECTOR_BYTES * self.sectors

    @property
    def sectors_per_request(self) -> float:
        """Sectors of an average request."""
        return self.sectors / self.requests

    @property
    def amplification(self) -> float:
        """DRAM bytes / useful bytes."""
        return self.dram_bytes / self.useful_bytes

    def __str__(self) -> str:
        return (
            f"Fields {', '.join(self.fields)}: {self.requests} requests of {self.sectors_per_request:.4g} sectors, "
            f"{self.l1_bytes} B at L1, {self.dram_bytes} B from DRAM for {self.useful_bytes} useful bytes."
        )


@dataclass(frozen=True)
class Records:
    """`count` records in one layout, in an allocation that starts at byte 0."""

    record: Struct
    layout: Layout
    count: int
    tile: int = WARP_LANES
    """Records of one tile; only "aosoa" uses it."""

    def __post_init__(self) -> None:
        if self.layout not in ("aos", "soa", "aosoa"):
            raise ValueError(f'layout is {self.layout!r}: expected "aos", "soa" or "aosoa".')
        for name, value in (("count", self.count), ("tile", self.tile)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value!r}: expected a whole number of 1 or more.")

    def addresses(self, field: str, records: npt.ArrayLike) -> Integers:
        """Byte address of a field of these records; IndexError outside."""
        index = np.asarray(records)
        if index.size and not np.issubdtype(index.dtype, np.integer):
            raise TypeError(f"records have elements of type {index.dtype}: expected whole numbers.")
        if index.size and (index.min() < 0 or index.max() >= self.count):
            raise IndexError(f"records reach from {index.min()} to {index.max()}: expected 0 to {self.count - 1}.")
        index = index.astype(np.int64)
        at = self.record.index(field)
        sizes = self.record.field_bytes
        found: Integers
        if self.layout == "aos":
            found = index * self.record.struct_bytes + self.record.offsets[at]
        elif self.layout == "soa":  # one allocation per field
            found = self._starts(self.count, [ALLOCATION_BYTES] * len(sizes))[at] + index * sizes[at]
        else:  # a tile is itself a struct, of one array per field
            tile, inside = np.divmod(index, self.tile)
            starts = self._starts(self.tile, [1 if self.record.packed else size for size in sizes])
            found = tile * starts[-1] + starts[at] + inside * sizes[at]
        return found

    def traffic(self, fields: Iterable[str] | None = None, *, bytewise: bool = False) -> FieldTraffic:
        """Cost when thread i reads these fields of record i, one request per field and warp, for all records.

        fields: the fields a kernel touches; None for all.
        bytewise: one request per *byte*, which is what numba makes of a field of a packed record.
        """
        chosen = tuple(self.record.names if fields is None else fields)
        if not chosen:
            raise ValueError("fields is empty: expected at least one field.")
        warps = -(-self.count // WARP_LANES)
        thread = np.arange(warps * WARP_LANES).reshape(warps, WARP_LANES)
        exists = thread < self.count
        requests = sectors = useful = 0
        touched = []
        for field in chosen:
            size = self.record.field_bytes[self.record.index(field)]
            first = self.addresses(field, np.where(exists, thread, 0))
            for address in [first + byte for byte in range(size)] if bytewise else [first]:
                cost = coalesce(address, 1 if bytewise else size, exists)
                requests, sectors = requests + cost.requests, sectors + int(cost.sectors.sum())
            useful += size * self.count
            # A field of a packed record can lie across two sectors.
            touched += [first[exists] // SECTOR_BYTES, (first[exists] + size - 1) // SECTOR_BYTES]
        distinct = int(np.unique(np.concatenate(touched)).size)
        return FieldTraffic(chosen, requests, sectors, useful, SECTOR_BYTES * distinct)

    def _starts(self, records: int, alignments: Sequence[int]) -> list[int]:
        """Start of each field's array of so many records, and the end of the last, aligned."""
        starts, end = [], 0
        for size, alignment in zip(self.record.field_bytes, alignments, strict=True):
            starts.append(-(-end // alignment) * alignment)
            end = starts[-1] + records * size
        largest = max(alignments)
        return [*starts, -(-end // largest) * largest]


@dataclass(frozen=True)
class Tensor:
    """A dense array with named axes, for example ``Tensor({"n": 8, "c": 64, "h": 32, "w": 32}, NHWC)``.

    order: the axes from the slowest to the fastest, each once.
    """

    sizes: Mapping[str, int]
    order: tuple[str, ...]
    element_bytes: int = 4

    def __post_init__(self) -> None:
        if sorted(self.order) != sorted(self.sizes):
            raise ValueError(f"order is {self.order}: expected each of {', '.join(self.sizes)} once.")
        if any(size < 1 for size in self.sizes.values()):
            raise ValueError(f"sizes are {dict(self.sizes)}: expected 1 or more for every axis.")
        if self.element_bytes not in ACCESS_BYTES:
            raise ValueError(f"element_bytes is {self.element_bytes!r}: expected 1, 2, 4, 8 or 16.")

    def stride(self, axis: str) -> int:
        """Elements from one index of this axis to the next."""
        if axis not in self.order:
            raise KeyError(f"the tensor has no axis {axis!r}: expected one of {', '.join(self.order)}.")
        return math.prod(self.sizes[name] for name in self.order[self.order.index(axis) + 1 :])

    def addresses(self, **indices: npt.ArrayLike) -> Integers:
        """Byte addresses of elements, axis by axis; an axis that is not given is 0. IndexError outside."""
        found = np.zeros((), np.int64)
        for axis, index in indices.items():
            at, stride = np.asarray(index, np.int64), self.stride(axis)
            if at.size and (at.min() < 0 or at.max() >= self.sizes[axis]):
                limit = self.sizes[axis] - 1
                raise IndexError(f"{axis} reaches from {at.min()} to {at.max()}: expected 0 to {limit}.")
            found = found + at * (stride * self.element_bytes)
        return np.asarray(found)

    def warp(self, along: str) -> Coalescing:
        """Cost of one request whose lanes are neighbours along this axis (as far as the axis goes)."""
        return coalesce(self.addresses(**{along: np.arange(min(WARP_LANES, self.sizes[along]))}), self.element_bytes)

    def amplification(self, along: str) -> float:
        """Sectors of that request / sectors of the same lanes side by side."""
        lanes = min(WARP_LANES, self.sizes[along])
        ideal = coalesce(lane_addresses(element_bytes=self.element_bytes, lanes=lanes), self.element_bytes)
        return float(self.warp(along).sectors[0] / ideal.sectors[0])

    def __str__(self) -> str:
        costs = ", ".join(f"{int(self.warp(axis).sectors[0])} along {axis}" for axis in self.order)
        return f"A tensor [{', '.join(self.order)}]; sectors of one request: {costs}."


def padded_pitch(row_bytes: int, multiple_of: int = SECTOR_BYTES) -> int:
    """Bytes from row to row so that every row starts at a multiple of so many bytes."""
    if row_bytes < 1 or multiple_of < 1:
        raise ValueError(f"row_bytes is {row_bytes}, multiple_of is {multiple_of}: expected 1 or more of both.")
    return -(-row_bytes // multiple_of) * multiple_of
