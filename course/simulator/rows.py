"""How the lanes of a batch are handed to the counters and the hazard checks: nothing repeated.

Lane values have the axes (grid z, grid y, grid x, lanes of a block) and are broadcast. Here they become
plain rows of one block each, with a list of *cases* that says which address row meets which mask row in
how many blocks. A tiled matmul's shared access is one case, whatever the grid.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from course.simulator.access import Access, Shape

__all__ = ["Lanes", "MaskRows", "Masks", "classify", "squeeze"]

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_CLASSES = 16
"""Different mask rows that are worth finding; beyond, every block keeps its own row."""


def squeeze(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values without repetition: four axes, and length 1 along each that only repeats (stride 0)."""
    if values.ndim != 4:
        values = values.reshape((1,) * (4 - values.ndim) + values.shape)
    if 0 in values.strides:
        values = values[tuple(slice(0, 1) if step == 0 else slice(None) for step in values.strides)]
    return values


def _block_rows(values: npt.NDArray[Any], lanes: int) -> npt.NDArray[Any]:
    """`values`, squeezed, as (rows, lanes): a row for each combination of the grid axes that vary."""
    if values.shape[3] != lanes:
        values = np.broadcast_to(values, (*values.shape[:3], lanes))
    return np.ascontiguousarray(values).reshape(-1, lanes)


class MaskRows:
    """Which lanes are active, as distinct rows: worked out once for a mask, and only as far as it is asked for."""

    def __init__(self, mask: Bools | None, shape: Shape, warp_lanes: int) -> None:
        self.shape = shape
        """(gz, gy, gx, T) of the batch."""
        self._mask = np.ones((1, 1, 1, 1), np.bool_) if mask is None else squeeze(np.asarray(mask))
        self._warp_lanes = warp_lanes
        self._cases: dict[tuple[int, ...], Integers] = {}
        self._blocks: dict[tuple[int, ...], Integers] = {}

    @cached_property
    def totals(self) -> tuple[int, int]:
        """(warps with an active lane, active lanes) in the whole batch."""
        mask = self._mask
        repeats = int(np.prod(self.shape[:3])) // int(np.prod(mask.shape[:3]))
        lanes = int(np.count_nonzero(mask))
        if mask.shape[3] == 1:
            return lanes * repeats * (self.shape[3] // self._warp_lanes), lanes * repeats * self.shape[3]
        eights = np.ascontiguousarray(mask).view(np.uint64).reshape(-1, self._warp_lanes // 8)
        return int(np.count_nonzero(np.bitwise_or.reduce(eights, axis=1))) * repeats, lanes * repeats

    @cached_property
    def _distinct(self) -> tuple[Bools, Integers | None]:
        rows = _block_rows(self._mask, self.shape[3])
        if len(rows) == 1:
            return rows, None
        leaders, classes = classify(rows)
        if len(leaders) == 1:
            return np.ascontiguousarray(rows[:1]), None
        return np.ascontiguousarray(rows[leaders]), classes.reshape(self._mask.shape[:3])

    @property
    def rows(self) -> Bools:
        """The distinct rows, (classes, T)."""
        return self._distinct[0]

    @property
    def classes(self) -> Integers | None:
        """Row of each block, with the axes (gz, gy, gx), each of its length or 1; None: one row for all."""
        return self._distinct[1]

    @cached_property
    def active(self) -> Integers:
        """Active lanes of each warp, (classes, warps)."""
        active: Integers = self.rows.reshape(len(self.rows), -1, self._warp_lanes).sum(axis=2, dtype=np.int64)
        return active

    def cases(self, grid: tuple[int, ...]) -> Integers:
        """(address row, mask row, blocks) for addresses that vary along `grid` = (1 or gz, 1 or gy, 1 or gx)."""
        known = self._cases.get(grid)
        if known is None:
            known = self._cases[grid] = self._count_cases(grid)
        return known

    def blocks(self, grid: tuple[int, ...]) -> Integers:
        """(address row, mask row) of every block of the batch, for addresses that vary along `grid`."""
        known = self._blocks.get(grid)
        if known is None:
            rows = np.arange(int(np.prod(grid)), dtype=np.int64).reshape(grid)
            classes = np.int64(0) if self.classes is None else self.classes
            both = [np.broadcast_to(n, self.shape[:3]).ravel() for n in (rows, classes)]
            known = self._blocks[grid] = np.stack(both, axis=1)
        return known

    def _count_cases(self, grid: tuple[int, ...]) -> Integers:
        blocks = int(np.prod(self.shape[:3]))
        row_count = int(np.prod(grid))
        rows = np.arange(row_count, dtype=np.int64).reshape(grid)
        if self.classes is None:
            one = np.zeros(row_count, np.int64)
            return np.stack([rows.ravel(), one, one + blocks // row_count], axis=1)
        key = rows * len(self.rows) + self.classes
        keys, weight = np.unique(key, return_counts=True)
        return np.stack([keys // len(self.rows), keys % len(self.rows), weight * (blocks // key.size)], axis=1)


class Lanes(NamedTuple):
    """The lanes of one access."""

    table: Integers
    """(address rows, T): byte addresses, a row for each combination of the grid axes along which they vary."""
    grid: tuple[int, ...]
    """Lengths of the grid axes in `table`: (1 or gz, 1 or gy, 1 or gx)."""
    rows: MaskRows


class Masks:
    """Turns masks into MaskRows and remembers the last ones, since a region's accesses share their mask.

    Masks are told apart by identity: whoever hands them over never changes one in place.
    """

    def __init__(self, capacity: int = 48) -> None:
        self._known: OrderedDict[tuple[int, Shape], tuple[object, MaskRows]] = OrderedDict()
        self._capacity = capacity

    def lanes(self, access: Access) -> Lanes:
        """The lanes of an access, without repetition."""
        addresses = squeeze(np.asarray(access.addresses, np.int64))
        table = _block_rows(addresses, access.shape[3])
        return Lanes(table, addresses.shape[:3], self.rows(access.mask, access.shape, access.warp_lanes))

    def rows(self, mask: Bools | None, shape: Shape, warp_lanes: int) -> MaskRows:
        """The distinct rows of `mask`, which is broadcastable to `shape`; None: every lane is active."""
        key = (id(mask), shape)
        known = self._known.get(key)
        if known is not None:
            return known[1]
        result = MaskRows(mask, shape, warp_lanes)
        self._known[key] = (mask, result)  # holds the mask, so that its id stays its own
        if len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return result


def classify(rows: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """(one row of each class, class of each row) of equal rows; every row is its own class beyond MAX_CLASSES."""
    packed = np.packbits(rows, axis=1) if rows.dtype == np.bool_ else rows
    waiting = np.arange(len(rows))
    classes = np.zeros(len(rows), np.int64)
    leaders: list[int] = []
    while len(waiting):
        if len(leaders) == MAX_CLASSES:
            return np.arange(len(rows)), np.arange(len(rows))
        leader = int(waiting[0])
        same = (packed[waiting] == packed[leader]).all(axis=1)
        classes[waiting[same]] = len(leaders)
        leaders.append(leader)
        waiting = waiting[~same]
    return np.array(leaders), classes
