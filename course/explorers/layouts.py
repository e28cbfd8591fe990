"""What the layout explorer can be set to: the fields of a record, which of them a kernel reads, and the layout.

Every number comes from `course.models.layout`; this file only says what the records look like.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from course.explorers.explorer import Preset, by_name
from course.models.coalescing import WARP_LANES
from course.models.layout import FieldTraffic, Records, Struct, struct

__all__ = ["ABSENT", "FIELD_NAMES", "LAYOUTS", "PRESETS", "TILES", "TYPES", "Field", "Reading"]

FIELD_NAMES = ("x", "y", "z", "w", "u", "v")
TYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64"}
"""Type of a field by its size in bytes."""
LAYOUTS = {"aos": "AoS", "packed": "AoS, packed", "soa": "SoA", "aosoa": "AoSoA"}
TILES = (4, 8, 16, 32)


class Field(NamedTuple):
    """One field of the record."""

    size: int
    """Bytes; 0: the record has no such field."""
    read: bool
    """Whether the kernel reads it."""


ABSENT = Field(0, False)
_FLOAT, _FLOAT_READ = Field(4, False), Field(4, True)
_BYTE, _BYTE_READ = Field(1, False), Field(1, True)
_DOUBLE, _DOUBLE_READ = Field(8, False), Field(8, True)


@dataclass(frozen=True)
class Reading:
    """One warp reads some fields of its 32 records."""

    x: Field = _FLOAT_READ
    y: Field = _FLOAT
    z: Field = _FLOAT
    w: Field = _FLOAT
    u: Field = ABSENT
    v: Field = ABSENT
    layout: str = "aos"
    """One of LAYOUTS: "packed" is an array of structs without padding, as NumPy makes it by default."""
    tile: int = 32
    """Records of one tile; only "aosoa" uses it."""

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise ValueError(f"layout is {self.layout!r}: expected one of {', '.join(LAYOUTS)}.")

    @property
    def fields(self) -> dict[str, Field]:
        """The fields that the record has, by name."""
        every = {name: getattr(self, name) for name in FIELD_NAMES}
        return {name: field for name, field in every.items() if field.size}

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the fields that the kernel reads."""
        return tuple(name for name, field in self.fields.items() if field.read)

    @property
    def record(self) -> Struct:
        """One record; ValueError when it has no field."""
        return struct({name: TYPES[field.size] for name, field in self.fields.items()}, align=self.layout != "packed")

    @property
    def records(self) -> Records:
        """The records of one warp."""
        layout = "aos" if self.layout == "packed" else self.layout
        return Records(self.record, layout, WARP_LANES, self.tile)  # type: ignore[arg-type]

    def traffic(self, *names: str) -> FieldTraffic:
        """What reading these fields costs, packed records byte by byte."""
        return self.records.traffic(names, bytewise=self.layout == "packed")

    @property
    def misaligned(self) -> tuple[str, ...]:
        """Fields read that start at no multiple of their size, which only packing can bring about."""
        record = self.record
        return tuple(name for name in self.reads if record.offsets[record.index(name)] % self.fields[name].size)

    def expression(self, name: str) -> str:
        """How a kernel reads this field of record i."""
        if self.layout in ("aos", "packed"):
            return f"p[i].{name}"
        if self.layout == "soa":
            return f"{name}[i]"
        size, start, tile_bytes = self._tile_place(name)
        begin = f" + {start // size}" if start else ""
        return f"{name}[i // {self.tile} * {tile_bytes // size}{begin} + i % {self.tile}]"

    def address_expression(self, name: str) -> str:
        """Byte of the allocation at which lane i finds this field."""
        record = self.record
        if self.layout in ("aos", "packed"):
            offset = record.offsets[record.index(name)]
            return f"{record.struct_bytes} * i" + (f" + {offset}" if offset else "")
        size, start, tile_bytes = self._tile_place(name)
        each = f"{size} * " if size > 1 else ""
        if self.layout == "soa":
            return f"{each}i"
        begin = f" + {start}" if start else ""
        return f"i // {self.tile} * {tile_bytes}{begin} + {each}(i % {self.tile})"

    def tile_places(self) -> dict[str, tuple[int, int, int]]:
        """For each field: its size, where its values start in a tile, and the bytes of a tile."""
        return {name: self._tile_place(name) for name in self.fields}

    def _tile_place(self, name: str) -> tuple[int, int, int]:
        # Two tiles are enough to see where a field starts and how far it is to the next tile.
        two = Records(self.record, "aosoa", 2 * self.tile, self.tile)
        start, following = two.addresses(name, [0, self.tile]).tolist()
        return self.fields[name].size, start, following - start


_AOS = Reading()
_ALL = Reading(_FLOAT_READ, _FLOAT_READ, _FLOAT_READ, _FLOAT_READ)
PRESETS = by_name(
    Preset(
        "AoS, one field",
        _AOS,
        "A struct of four floats, and the kernel reads x. The sectors bring y, z and w along, and nobody uses them.",
    ),
    Preset(
        "SoA, one field",
        replace(_AOS, layout="soa"),
        "Each field has its own array, so the x of neighbouring lanes are neighbours. Only the array of x moves.",
    ),
    Preset(
        "AoS, all fields",
        _ALL,
        "Every request still touches 16 sectors, but they are the same 16: all four fields share them. If the caches "
        "hold them in between, DRAM moves no byte in vain.",
    ),
    Preset(
        "SoA, all fields",
        replace(_ALL, layout="soa"),
        "As many bytes from DRAM as the array of structs, with a quarter of the sectors per request.",
    ),
    Preset(
        "AoSoA, one field",
        replace(_AOS, layout="aosoa"),
        "A tile holds the x of 32 records, then their y, and so on. One field costs as little as in a struct of "
        "arrays, and all fields of a record stay near each other.",
    ),
    Preset(
        "AoSoA, tiles of 4",
        replace(_AOS, layout="aosoa", tile=4),
        "Four floats are 16 bytes, half a sector. A tile must be wide enough for each field to fill whole sectors.",
    ),
    Preset(
        "packed record",
        replace(_AOS, layout="packed"),
        "The same bytes at the same places, but a packed type promises no alignment. numba then loads a float byte "
        "by byte: four requests instead of one. Make the dtype with align=True.",
    ),
    Preset(
        "padding",
        Reading(_BYTE, _DOUBLE_READ, _BYTE, _FLOAT),
        "A float64 starts at a multiple of 8, so 7 bytes after x hold nothing. Large fields first would save them.",
    ),
    Preset(
        "one of six doubles",
        Reading(_DOUBLE_READ, _DOUBLE, _DOUBLE, _DOUBLE, _DOUBLE, _DOUBLE),
        "A record of 48 bytes: some sectors hold no x at all, so they do not move. Each lane still needs a sector of "
        "its own.",
    ),
    Preset(
        "pixels",
        Reading(_BYTE_READ, _BYTE, _BYTE, _BYTE),
        "Red, green, blue and alpha as four bytes. Eight pixels share a sector, and three of every four bytes are "
        "dead.",
    ),
)
