"""What the coalescing explorer can be set to: the access of one request, and the presets worth knowing.

Every number comes from `course.models.coalescing`; this file only says which addresses the lanes have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from course.explorers.explorer import Preset, by_name
from course.models import coalescing as model

__all__ = ["PATTERNS", "PRESETS", "Access"]

PATTERNS = {
    "strided": "strided",
    "reversed": "reversed (last lane first)",
    "random": "random",
}
_TABLE_ELEMENTS = 1024
# One fixed shuffle, so that everybody sees the same "random" request.
_RANDOM_INDICES = np.random.default_rng(1024).permutation(_TABLE_ELEMENTS)[:64]


@dataclass(frozen=True)
class Access:
    """One request: which element each lane reads, how wide it is, and who takes part."""

    pattern: str = "strided"
    stride: int = 1
    """Elements between neighbouring lanes (not used by the random pattern)."""
    offset: int = 0
    """Elements before the first one; arrays start 256-byte aligned, views need not."""
    element_bytes: int = 4
    active: int = 32
    """Leading lanes that take part."""
    lanes: int = 32
    """32 is a warp; 64 models how an AMD wavefront groups its lanes."""
    unit_bytes: int = 32
    """Service unit: what moves as a whole. 32 is the sector."""

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS:
            raise ValueError(f"pattern is {self.pattern!r}: expected one of {', '.join(PATTERNS)}.")

    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """Element that each lane reads, shape (lanes,)."""
        lane = np.arange(self.lanes, dtype=np.int64)
        if self.pattern == "random":
            return _RANDOM_INDICES[: self.lanes] + self.offset
        if self.pattern == "reversed":
            lane = lane[::-1]
        return lane * self.stride + self.offset

    @property
    def addresses(self) -> npt.NDArray[np.int64]:
        """Byte address of each lane, shape (lanes,)."""
        return model.index_addresses(self.indices, self.element_bytes)

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Which lanes take part, shape (lanes,)."""
        return model.active_lanes(self.active, (self.lanes,))

    @property
    def units(self) -> npt.NDArray[np.int64]:
        """Numbers of the touched units, ascending."""
        return model.units_touched(self.addresses, self.element_bytes, self.mask, unit_bytes=self.unit_bytes)

    @property
    def result(self) -> model.Coalescing:
        """What the request costs."""
        return model.coalesce(self.addresses, self.element_bytes, self.mask, unit_bytes=self.unit_bytes)

    @property
    def expression(self) -> str:
        """The line of a kernel that makes this request, with the values filled in; i is the lane."""
        if self.pattern == "random":
            index = "table[i]"
        else:
            lane = "i" if self.pattern == "strided" else f"({self.lanes - 1} - i)"
            index = {0: "", 1: lane.strip("()")}.get(self.stride, f"{self.stride} * {lane}")
        terms = [index] if index else []
        if self.offset or not terms:
            terms.append(str(self.offset))
        return f"value = x[{' + '.join(terms)}]"

    @property
    def address_expression(self) -> str:
        """How the byte address of lane i follows, with the values filled in."""
        index = self.expression.removeprefix("value = x[").removesuffix("]")
        if self.element_bytes == 1:
            return index
        return f"{self.element_bytes} * ({index})" if " " in index else f"{self.element_bytes} * {index}"


_WARP = Access()
PRESETS = by_name(
    Preset("contiguous", _WARP, "Neighbouring lanes read neighbouring elements: every byte that moves is used."),
    Preset(
        "misaligned view",
        replace(_WARP, offset=1),
        "The view x[1:] starts 4 bytes after a sector boundary, so the same 128 bytes lie in one sector more.",
    ),
    Preset("stride 2", replace(_WARP, stride=2), "Every second element is skipped, yet it moves with its sector."),
    Preset(
        "stride 4 (AoS .x)",
        replace(_WARP, stride=4),
        "An array of structs with four floats (x, y, z, w): the lanes read x, and y, z and w move too.",
    ),
    Preset(
        "column of a matrix",
        replace(_WARP, stride=32),
        "Rows of 128 bytes: each lane reads its own row, so each lane needs its own sector.",
    ),
    Preset("broadcast", replace(_WARP, stride=0), "All lanes read one element: one sector serves them all."),
    Preset(
        "reversed",
        replace(_WARP, pattern="reversed"),
        "The order of the lanes does not matter: only which sectors are touched.",
    ),
    Preset("random", replace(_WARP, pattern="random"), "A gather from a table of 1024 elements in no order."),
    Preset(
        "bytes interleaved",
        replace(_WARP, stride=4, element_bytes=1),
        "Pixels stored as r, g, b, a: the lanes read r. Four such requests read a whole pixel.",
    ),
    Preset(
        "bytes in planes",
        replace(_WARP, element_bytes=1),
        "All r first, then all g, and so on: the lanes read 32 neighbouring bytes.",
    ),
)
