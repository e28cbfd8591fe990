"""The memory that the race checks keep beside the kernel's own: one entry set per word, see shadow_rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Launch
from course.simulator.hazards import shadow_rules
from course.simulator.hazards.shadow_rules import LINE_WORDS
from course.simulator.twins import Twins

__all__ = ["SHADOW", "BlockClasses", "GlobalShadow", "Shadow", "value_bytes"]

SHADOW = Twins(shadow_rules, "course.simulator.hazards.shadow_kernels")

LARGEST_WORD = 8
"""Bytes of a word to begin with; narrower accesses narrow it."""
MAX_WORDS = 1 << 25
"""Words that one shadow watches (8 bytes each, twice where loads matter)."""
MAX_SERIAL = (1 << 22) - 1

Integers = npt.NDArray[np.int64]


class Shadow:
    """Entries for `nbytes` of memory from `first_byte` on, in `rows` copies."""

    def __init__(self, first_byte: int, nbytes: int, *, atomics: bool, word_bytes: int = LARGEST_WORD) -> None:
        self.first_byte = first_byte
        self.word_bytes = word_bytes
        lines = min(-(-nbytes // (word_bytes * LINE_WORDS)), MAX_WORDS // LINE_WORDS)
        self.lines: Integers = np.zeros((2, 1, lines), np.int64)
        self.state: Integers = np.zeros((5 if atomics else 3, 1, lines * LINE_WORDS), np.int64)

    def narrow(self, size: int) -> None:
        """Make words no wider than `size` bytes: what was true of a word is true of its parts."""
        if size < self.word_bytes:
            shadow_rules.spell_out(self.state, self.lines, np.flatnonzero(self.lines.any(axis=0)))
            times = self.word_bytes // size
            self.state = np.ascontiguousarray(np.repeat(self.state, times, axis=2)[:, :, :MAX_WORDS])
            self.lines = np.ascontiguousarray(np.repeat(self.lines, times, axis=2)[:, :, : MAX_WORDS // LINE_WORDS])
            self.word_bytes = size

    def take_rows(self, rows: Integers) -> None:
        """Keep these rows, as often as they are named."""
        self.state = np.ascontiguousarray(self.state[:, rows])
        self.lines = np.ascontiguousarray(self.lines[:, rows])

    def geometry(self, size: int) -> tuple[int, int, int]:
        """(first byte, log2 of a word's bytes, words per lane) for an access of `size` bytes a lane."""
        return self.first_byte, self.word_bytes.bit_length() - 1, max(size // self.word_bytes, 1)

    def forget_order(self) -> None:
        """Set all serials to 0: everything so far counts as ordered before what comes (within a block)."""
        self.state &= ~np.int64(MAX_SERIAL << 10)
        self.lines[self.lines > 0] &= ~np.int64(MAX_SERIAL << 10)


class GlobalShadow:
    """Shadows of those global arrays that a launch can write; made when the first access comes."""

    def __init__(self, launch: Launch) -> None:
        arrays = sorted((a for a in launch.arrays if a.space == "global" and a.nbytes), key=lambda a: a.address)
        sites = [s for s in launch.sites if s.space == "global"]
        names = {a.name for a in arrays}
        written = {s.array for s in sites if s.kind != "load"}
        read = {s.array for s in sites if s.kind == "load"}
        # A view or a device function's parameter has a name of its own: it may be any array.
        every_written, every_read = not written <= names, not read <= names
        self._atomics = any(s.kind == "atomic" for s in sites)
        self._stretches: list[dict[str, Any]] = []
        for array in arrays:
            end = array.address + array.nbytes
            word = min(array.dtype.itemsize & -array.dtype.itemsize, LARGEST_WORD)
            if self._stretches and array.address < self._stretches[-1]["end"]:  # overlaps the one before: a view
                stretch = self._stretches[-1]
                stretch["end"] = max(stretch["end"], end)
                stretch["word"] = min(stretch["word"], word)
            else:
                stretch = {"first": array.address, "end": end, "word": word, "names": set(), "shadow": None}
                self._stretches.append(stretch)
            stretch["names"].add(array.name)
        for stretch in self._stretches:
            stretch["read"] = every_read or self._atomics or bool(stretch["names"] & read)
        self._stretches = [s for s in self._stretches if every_written or s["names"] & written]
        self._watched = {name for s in self._stretches for name in s["names"]}
        self._known = names

    def watches(self, array: str) -> bool:
        """Say if an access through this name can touch memory that the launch writes."""
        return array in self._watched or (bool(self._watched) and array not in self._known)

    def find(self, address: int) -> tuple[Shadow, bool] | None:
        """The shadow that holds `address`, and whether loads of it matter; None: nobody writes there."""
        for stretch in self._stretches:
            if stretch["first"] <= address < stretch["end"]:
                if stretch["shadow"] is None:
                    size = stretch["end"] - stretch["first"]
                    stretch["shadow"] = Shadow(
                        stretch["first"], size, atomics=self._atomics, word_bytes=stretch["word"]
                    )
                return stretch["shadow"], stretch["read"]
        return None

    def forget_order(self) -> None:
        """See Shadow.forget_order."""
        for stretch in self._stretches:
            if stretch["shadow"] is not None:
                stretch["shadow"].forget_order()


class BlockClasses:
    """Blocks of a batch whose shared memory has the same history so far share one row of its shadow.

    A tiled kernel keeps one class for the whole grid; a guard at the edge makes two to four; a histogram
    makes one for each block. When rows become too many, only some blocks are followed further.
    """

    def __init__(self, blocks: int, shadow: Shadow, max_bytes: int = 96 << 20) -> None:
        self.shadow = shadow
        self.members: Integers = np.arange(blocks)
        """Blocks that are followed."""
        self.of: Integers = np.zeros(blocks, np.int64)
        """Class of each of them."""
        self._max_bytes = max_bytes
        self._summarise()

    def split(self, key: Integers) -> None:
        """Separate blocks of a class that differ in `key` (blocks of the batch,)."""
        key = key[self.members]
        if (key == key[0]).all():
            return
        joint = self.of * (int(key.max()) + 1) + key
        _, leader, classes = np.unique(joint, return_index=True, return_inverse=True)
        if len(leader) == len(self.cases):
            return
        row_bytes = self.shadow.state[:, 0].nbytes
        room = max(self._max_bytes // row_bytes, 4)
        if len(leader) > room:
            kept = np.unique(np.linspace(0, len(leader) - 1, room).astype(np.int64))
            where = np.full(len(leader), -1)
            where[kept] = np.arange(len(kept))
            old = self.of[leader[kept]]
            followed = where[classes] >= 0
            self.members, self.of = self.members[followed], where[classes][followed]
        else:
            old = self.of[leader]
            self.of = classes.reshape(-1)
        self.shadow.take_rows(old)
        self._summarise()

    def _summarise(self) -> None:
        _, first, weights = np.unique(self.of, return_index=True, return_counts=True)
        row = np.arange(len(first))
        self.cases: Integers = np.stack([0 * row, 0 * row, row, self.members[first], weights], axis=1)
        """One block of each class, as shadow_rules.check takes them: (0, 0, row of the shadow, block, blocks alike)."""


_NO_VALUES = np.zeros((1, 1, 1), np.uint8)


def value_bytes(values: npt.NDArray[Any] | None, grid: tuple[int, int, int]) -> npt.NDArray[np.uint8]:
    """What the lanes store, squeezed, as bytes: (blocks of the batch or 1, lanes or 1, bytes of a value)."""
    if values is None:
        return _NO_VALUES
    if values.shape[:3] != (1, 1, 1) and values.shape[:3] != grid:
        values = np.broadcast_to(values, (*grid, *values.shape[3:]))
    flat = np.ascontiguousarray(values).reshape(-1, values.shape[3])
    return flat.view(np.uint8).reshape(len(flat), values.shape[3], -1)
