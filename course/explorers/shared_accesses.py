"""What the banks explorer can be set to: one warp's access to a tile in shared memory, and the presets.

Every number comes from `course.models.banks`; this file only says which element each lane wants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import numpy.typing as npt

from course.explorers.explorer import Preset, by_name
from course.models import banks as model
from course.models.coalescing import WARP_LANES

__all__ = ["PATTERNS", "PRESETS", "TYPES", "SharedAccess"]

PATTERNS = {
    "row": "along rows: t[y, x]",
    "column": "down columns: t[x, y]",
    "diagonal": "diagonal: t[i, i]",
    "stride": "custom stride: t[0, stride * i]",
}
TYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}
"""Type of an element by its size in bytes."""
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SharedAccess:
    """One warp loads or stores one element a lane of a tile in shared memory."""

    pattern: str = "column"
    rows: int = 32
    columns: int = 32
    pad: int = 0
    """Elements added to every row."""
    element_bytes: int = 4
    step: int = 1
    """Elements from lane to lane; only the pattern "stride" uses it, whose tile is one row, as long as needed."""
    kind: model.Kind = "load"
    active: int = 32
    """Leading lanes that take part; lanes beyond the end of the tile never do."""

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS:
            raise ValueError(f"pattern is {self.pattern!r}: expected one of {', '.join(PATTERNS)}.")
        if self.kind not in get_args(model.Kind):
            raise ValueError(f'kind is {self.kind!r}: expected "load" or "store".')

    @property
    def tile(self) -> model.Tile:
        """The array in shared memory."""
        if self.pattern == "stride":
            return model.Tile(1, (WARP_LANES - 1) * self.step + 1, 0, self.element_bytes)
        return model.Tile(self.rows, self.columns, self.pad, self.element_bytes)

    @property
    def lanes(self) -> int:
        """Lanes that take part."""
        inside = WARP_LANES if self.pattern in ("stride", "diagonal") else self.rows * self.columns
        return min(self.active, inside)

    @property
    def places(self) -> tuple[Integers, Integers]:
        """Row and column that each lane wants, those of the lanes that take part."""
        i = np.arange(self.lanes)
        return {
            "row": (i // self.columns, i % self.columns),
            "column": (i % self.rows, i // self.rows),
            "diagonal": (i % self.rows, i % self.columns),
            "stride": (0 * i, i * self.step),
        }[self.pattern]

    @property
    def addresses(self) -> Integers:
        """Byte address in the tile of every lane, shape (32,); the lanes that take no part have 0."""
        found = np.zeros(WARP_LANES, np.int64)
        found[: self.lanes] = self.tile.addresses(*self.places)
        return found

    @property
    def wanted(self) -> Integers:
        """Byte addresses of the lanes that take part."""
        return self.addresses[: self.lanes]

    @property
    def result(self) -> model.BankConflicts:
        """What the access costs."""
        return model.wavefronts(self.addresses, self.element_bytes, self.kind, self.lanes)

    @property
    def deliveries(self) -> tuple[model.Delivery, ...]:
        """Which wavefront brings which word to which lanes."""
        return model.schedule(self.addresses, self.element_bytes, self.kind, self.lanes)

    @property
    def declaration(self) -> str:
        """The line of a kernel that makes the tile."""
        tile = self.tile
        pad = f" + {tile.pad}" if tile.pad else ""
        return f"t = cuda.shared.array(({tile.rows}, {tile.columns}{pad}), {TYPES[self.element_bytes]})"

    @property
    def expression(self) -> str:
        """The line of a kernel that makes the access, with the values filled in; i is the lane."""
        row, column = {
            "row": (_over("//", self.columns), _over("%", self.columns)),
            "column": (_over("%", self.rows), _over("//", self.rows)),
            "diagonal": (_over("%", self.rows), _over("%", self.columns)),
            "stride": ("0", {0: "0", 1: "i"}.get(self.step, f"{self.step} * i")),
        }[self.pattern]
        element = f"t[{row}, {column}]"
        return f"value = {element}" if self.kind == "load" else f"{element} = value"


def _over(operator: str, side: int) -> str:
    """``i // side`` or ``i % side`` for a lane, said shortly when the side holds the whole warp."""
    if side >= WARP_LANES:
        return "0" if operator == "//" else "i"
    return f"i {operator} {side}"


_COLUMN = SharedAccess()
_ROW = replace(_COLUMN, pattern="row")
_BLOCK = replace(_ROW, rows=16, columns=16, kind="store")
PRESETS = by_name(
    Preset(
        "column of [32][32]",
        _COLUMN,
        "A row has 32 words, one for each bank, so a whole column lies in a single bank. It must deliver 32 words, "
        "one after the other.",
    ),
    Preset(
        "column of [32][33]",
        replace(_COLUMN, pad=1),
        "One unused element at the end of each row shifts the next row by one bank. Now a column has every bank once.",
    ),
    Preset(
        "column of [32][36]",
        replace(_COLUMN, pad=4),
        "A pad of four shifts by four banks: after eight rows the banks start over, and four lanes meet in each.",
    ),
    Preset("row of [32][32]", _ROW, "Neighbouring lanes want neighbouring words: every bank delivers one of them."),
    Preset(
        "diagonal",
        replace(_COLUMN, pattern="diagonal"),
        "Each lane is one row further down and one bank further right, so all banks are different without any pad.",
    ),
    Preset(
        "broadcast",
        replace(_COLUMN, pattern="stride", step=0),
        "All lanes want the same word. A bank delivers a word once, to as many lanes as want it.",
    ),
    Preset(
        "stride 2",
        replace(_COLUMN, pattern="stride", step=2),
        "Only the even banks are at work, each for two lanes.",
    ),
    Preset(
        "stride 3",
        replace(_COLUMN, pattern="stride", step=3),
        "An odd stride shares no factor with 32, so it reaches every bank once.",
    ),
    Preset(
        "16 x 16 block, tile [16][16]",
        _BLOCK,
        "A block of 16 x 16 threads: a warp covers two rows. Without a pad they lie side by side, and the store is "
        "free.",
    ),
    Preset(
        "16 x 16 block, tile [16][17]",
        replace(_BLOCK, pad=1),
        "The pad pushes the second row on by one: its last element falls into the bank where the first row began. A "
        "pad can also make a conflict.",
    ),
    Preset(
        "row of float64",
        replace(_ROW, element_bytes=8),
        "A lane wants two words. The warp is served in two groups of 16 lanes: two wavefronts, and no conflict.",
    ),
    Preset(
        "column of float64",
        replace(_COLUMN, element_bytes=8),
        "A row has 64 words, so again a column lies in the same banks: 16 lanes of each group meet there.",
    ),
    Preset(
        "column of float64, pad 1",
        replace(_COLUMN, element_bytes=8, pad=1),
        "A pad of one float64 is two words, and a group has 16 lanes: each pair of banks serves one lane.",
    ),
    Preset(
        "row of complex128",
        replace(_ROW, element_bytes=16),
        "A lane wants four words. The warp is served in four groups of 8 lanes.",
    ),
    Preset(
        "float64 broadcast load",
        replace(_COLUMN, pattern="stride", step=0, element_bytes=8),
        "In a load, neighbours with one address are served together, so one group is enough. Try a store: it takes "
        "two.",
    ),
    Preset(
        "row of bytes",
        replace(_ROW, element_bytes=1),
        "Four neighbouring bytes lie in one word: eight words serve the whole warp.",
    ),
)
