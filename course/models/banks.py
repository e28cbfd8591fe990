"""What one warp-wide shared-memory access costs: lane addresses in, wavefronts out.

Shared memory has 32 banks, each 4 bytes wide: the 4-byte word number w lies in bank w % 32. In one
*wavefront* every bank delivers one word, to as many lanes as want it. An access whose lanes want
several different words of one bank therefore takes several wavefronts: a *bank conflict*.

The rule, held to the counters of an H200 (random addresses, all sizes but 2 bytes, partial masks):

- lanes are served in groups: 1-, 2- and 4-byte accesses in one group of 32 lanes, 8-byte ones in two
  groups of 16 consecutive lanes, 16-byte ones in four groups of 8;
- a group costs the largest number of distinct words that it wants from one bank; groups add up;
- a *load* in which every pair of lanes (n, n^1), or every pair (n, n^2), wants the same address (pairs
  with an inactive lane do not matter) needs half as many groups. A store never does.

NVIDIA's guides document 4-byte accesses only; the rest is measured. A warp of 64 lanes has twice the
groups; that is a model for teaching and was not measured. AMD's LDS (``hardware="amd"``) has the same
32 banks and other groups of lanes: those that AMD documents for CDNA, not measured by us.

Arrays of addresses have the shape (warps, lanes); a single warp may leave the first axis out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from .coalescing import ACCESS_BYTES, Integers, Mask, MisalignedAccess, active_lanes, thread_indices

__all__ = [
    "BANKS",
    "BANK_BYTES",
    "BankConflicts",
    "Delivery",
    "Hardware",
    "Kind",
    "Tile",
    "bank_of",
    "conflict_degree",
    "lane_groups",
    "lanes_per_group",
    "schedule",
    "wavefronts",
]

BANKS = 32
"""Banks of shared memory on every NVIDIA GPU since CC 2.0 (CUDA C++ Programming Guide, "Shared Memory")."""
BANK_BYTES = 4
"""Bytes one bank delivers in one wavefront."""

Kind = Literal["load", "store", "atomic"]
Hardware = Literal["nvidia", "amd"]

AMD_LANES = 64
_EIGHT = np.arange(AMD_LANES) // 8
# AMD ROCm documentation, Composable Kernel, "Understanding AMD GPU LDS and Bank Conflicts": ds_read_b128 serves
# lanes 0-3 with 20-23, 4-7 with 16-19, 8-11 with 28-31, 12-15 with 24-27, and so in the upper half; ds_write_b128
# serves eight consecutive lanes.
_AMD_WIDE_LOAD = np.repeat([0, 1, 2, 3, 1, 0, 3, 2, 4, 5, 6, 7, 5, 4, 7, 6], 4)


@dataclass(frozen=True)
class BankConflicts:
    """Cost of one shared access, or of many: every array holds one entry per warp.

    A warp without active lanes issues no access; its entries are 0.
    """

    active_lanes: Integers
    wavefronts: Integers
    """Passes through the banks that the access takes."""
    ideal_wavefronts: Integers
    """Passes it would take without conflicts: one for each group of lanes that is served."""
    degree: Integers
    """Conflict degree: the most distinct words that one group wants from one bank (1: no conflict)."""

    @property
    def instructions(self) -> int:
        """Accesses issued: warps with at least one active lane."""
        return int(np.count_nonzero(self.active_lanes))

    @property
    def conflicts(self) -> Integers:
        """Wavefronts beyond the ideal, as Nsight Compute's bank-conflict counters show them."""
        return self.wavefronts - self.ideal_wavefronts

    def __str__(self) -> str:
        if not self.instructions:
            return "No lane is active, so no shared access is issued."
        passes, ideal, worst = int(self.wavefronts.sum()), int(self.ideal_wavefronts.sum()), int(self.degree.max())
        kind = "no bank conflict" if passes == ideal else f"up to {worst}-way conflicts"
        accesses = "1 shared access" if self.instructions == 1 else f"{self.instructions} shared accesses"
        return f"{accesses}: {passes} wavefront{'s' * (passes != 1)} where {ideal} would do, {kind}."


def lanes_per_group(element_bytes: int) -> int:
    """Consecutive lanes that one pass through the banks serves: 32 up to 4 bytes, 16 for 8, 8 for 16."""
    return BANKS * BANK_BYTES // max(element_bytes, BANK_BYTES)


def wavefronts(
    addresses: npt.ArrayLike,
    element_bytes: int = 4,
    kind: Kind = "load",
    active: int | npt.ArrayLike | None = None,
    *,
    hardware: Hardware = "nvidia",
) -> BankConflicts:
    """Count the wavefronts of each access.

    addresses: byte address of every lane in shared memory, shape (lanes,) or (warps, lanes), with 32
    or 64 lanes (fewer than 32 count as the first lanes of a warp).
    element_bytes: what each lane loads or stores, in bytes (1, 2, 4, 8 or 16).
    kind: "load", "store" or "atomic"; only loads merge pairs of lanes. Atomics are counted as stores.
    active: lanes that take part: None (all), a count, or bools of the addresses' shape.
    hardware: "nvidia", or "amd" for AMD's lane groups (sizes up to 4 bytes and 16 bytes, as AMD documents them).

    Raises ValueError for a size, kind, shape or address that no access has, and MisalignedAccess when
    an active lane's address is no multiple of `element_bytes`.
    """
    if hardware not in get_args(Hardware):
        raise ValueError(f'hardware is {hardware!r}: expected "nvidia" or "amd".')
    table, mask = _checked(addresses, element_bytes, kind, active)
    if hardware == "amd":
        groups, group_count = np.broadcast_to(_amd_groups(element_bytes, kind, table.shape[1]), table.shape), 8
    else:
        groups = _groups(table, mask, element_bytes, kind)
        group_count = table.shape[1] // lanes_per_group(element_bytes)

    most = _most_words_in_a_bank(table, mask, element_bytes, groups, group_count)
    return BankConflicts(
        active_lanes=mask.sum(axis=1, dtype=np.int64),
        wavefronts=most.sum(axis=1),
        ideal_wavefronts=np.count_nonzero(most, axis=1).astype(np.int64),
        degree=most.max(axis=1),
    )


def lane_groups(
    addresses: npt.ArrayLike,
    element_bytes: int = 4,
    kind: Kind = "load",
    active: int | npt.ArrayLike | None = None,
) -> Integers:
    """Number of the group that serves each lane, shape (warps, lanes); arguments as in `wavefronts` (NVIDIA)."""
    return _groups(*_checked(addresses, element_bytes, kind, active), element_bytes, kind)


class Delivery(NamedTuple):
    """One 4-byte word on its way from its bank to the lanes that want it."""

    wavefront: int
    """Which pass through the banks brings it, from 0 on."""
    group: int
    """Which group of lanes that pass serves."""
    bank: int
    word: int
    lanes: tuple[int, ...]


def schedule(
    addresses: npt.ArrayLike,
    element_bytes: int = 4,
    kind: Kind = "load",
    active: int | npt.ArrayLike | None = None,
) -> tuple[Delivery, ...]:
    """One access of one warp word by word; arguments as in `wavefronts`, with the shape (lanes,).

    How many wavefronts there are is measured; in which order they come is not documented. Here groups follow
    each other, and the words of a bank come in the order of the first lane that wants them.
    """
    table, mask = _checked(addresses, element_bytes, kind, active)
    if len(table) != 1:
        raise ValueError(f"addresses are those of {len(table)} warps: expected one, shape (lanes,).")
    groups = _groups(table, mask, element_bytes, kind)[0]
    wanted: dict[tuple[int, int], list[int]] = {}
    for lane in np.flatnonzero(mask[0]).tolist():
        first = int(table[0, lane]) // BANK_BYTES
        for word in range(first, first + max(element_bytes // BANK_BYTES, 1)):
            wanted.setdefault((int(groups[lane]), word), []).append(lane)
    deliveries: list[Delivery] = []
    start = 0
    for group in sorted({group for group, _ in wanted}):
        passes = [0] * BANKS
        for (of, word), lanes in wanted.items():
            if of == group:
                bank = word % BANKS
                deliveries.append(Delivery(start + passes[bank], group, bank, word, tuple(lanes)))
                passes[bank] += 1
        start += max(passes)
    return tuple(deliveries)


def bank_of(addresses: npt.ArrayLike) -> Integers:
    """Bank of each byte address: (address // 4) % 32."""
    found: Integers = np.asarray(addresses, np.int64) // BANK_BYTES % BANKS
    return found


def conflict_degree(words: npt.ArrayLike, active: int | npt.ArrayLike | None = None) -> Integers:
    """Conflict degree of each warp whose lanes want these 4-byte words: the most distinct words in one bank."""
    table = np.asarray(words)
    if table.size and not np.issubdtype(table.dtype, np.integer):
        raise TypeError(f"words have elements of type {table.dtype}: expected whole numbers.")
    return wavefronts(table * BANK_BYTES, BANK_BYTES, "load", active).degree


@dataclass(frozen=True)
class Tile:
    """An array [rows][columns + pad] in shared memory; the pad shifts each row to other banks."""

    rows: int
    columns: int
    pad: int = 0
    element_bytes: int = 4

    def __post_init__(self) -> None:
        for name, least in (("rows", 1), ("columns", 1), ("pad", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name} is {value!r}: expected a whole number of {least} or more.")
        if self.element_bytes not in ACCESS_BYTES:
            raise ValueError(f"element_bytes is {self.element_bytes!r}: expected 1, 2, 4, 8 or 16.")

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory, the pad included."""
        return self.rows * (self.columns + self.pad) * self.element_bytes

    @property
    def pad_share(self) -> float:
        """What the pad costs: its bytes / the bytes of the tile without it."""
        return self.pad / self.columns

    def addresses(self, row: npt.ArrayLike, column: npt.ArrayLike) -> Integers:
        """Byte address of the elements [row][column]; IndexError outside the tile."""
        rows, columns = np.broadcast_arrays(np.asarray(row, np.int64), np.asarray(column, np.int64))
        outside = (rows < 0) | (rows >= self.rows) | (columns < 0) | (columns >= self.columns)
        if outside.any():
            where = f"[{int(rows[outside][0])}][{int(columns[outside][0])}]"
            raise IndexError(f"{where} is outside the tile of {self.rows} x {self.columns}.")
        found: Integers = (rows * (self.columns + self.pad) + columns) * self.element_bytes
        return found

    def threads(self, block: tuple[int, ...], *, transposed: bool = False) -> tuple[Integers, Mask]:
        """Addresses, and which lanes exist, when thread (x, y) touches [y][x] or, transposed, [x][y].

        Both have the shape (warps of the block, 32).
        """
        x, y, exists = thread_indices(block)
        row, column = (x, y) if transposed else (y, x)
        return self.addresses(np.where(exists, row, 0), np.where(exists, column, 0)), exists

    def access(self, pattern: Literal["row", "column", "diagonal"], kind: Kind = "load") -> BankConflicts:
        """One warp along the first row, down the first column or along the diagonal, as far as the tile goes."""
        steps = {"row": (0, 1), "column": (1, 0), "diagonal": (1, 1)}
        if pattern not in steps:
            raise ValueError(f"pattern is {pattern!r}: expected one of {', '.join(steps)}.")
        down, right = steps[pattern]
        sides = [size for size, step in ((self.rows, down), (self.columns, right)) if step]
        lane = np.arange(min(BANKS, *sides))
        return wavefronts(self.addresses(lane * down, lane * right), self.element_bytes, kind)

    def __str__(self) -> str:
        return (
            f"A tile [{self.rows}][{self.columns}{f' + {self.pad}' if self.pad else ''}] takes {self.shared_bytes} B; "
            f"a row costs {int(self.access('row').wavefronts[0])} and a column "
            f"{int(self.access('column').wavefronts[0])} wavefronts."
        )


def _groups(table: Integers, mask: Mask, element_bytes: int, kind: str) -> Integers:
    groups = np.broadcast_to(np.arange(table.shape[1]) // lanes_per_group(element_bytes), table.shape)
    if kind == "load" and element_bytes > BANK_BYTES:
        merged = _pairs_agree(table, mask, 1) | _pairs_agree(table, mask, 2)
        groups = np.where(merged[:, np.newaxis], groups // 2, groups)
    return groups


def _amd_groups(element_bytes: int, kind: str, lanes: int) -> Integers:
    if lanes != AMD_LANES:
        raise ValueError(f"a wavefront of {lanes} lanes: AMD's CDNA has {AMD_LANES}.")
    if element_bytes <= BANK_BYTES:
        return np.arange(AMD_LANES) // BANKS
    if element_bytes == 16:
        return _AMD_WIDE_LOAD if kind == "load" else _EIGHT
    raise ValueError(f"AMD documents no lane groups for {element_bytes}-byte accesses: expected up to 4, or 16.")


def _most_words_in_a_bank(
    table: Integers, mask: Mask, element_bytes: int, groups: npt.NDArray[np.int64], group_count: int
) -> Integers:
    """For every warp and group, the largest number of distinct words wanted from one bank, (warps, groups)."""
    warp_count = table.shape[0]
    warp, lane = np.nonzero(mask)
    row = warp * group_count + groups[warp, lane]
    words_per_lane = max(element_bytes // BANK_BYTES, 1)
    word = (table[warp, lane] // BANK_BYTES)[:, np.newaxis] + np.arange(words_per_lane)
    span = int(word.max(initial=0)) // BANKS * BANKS + BANKS  # words per row: a key holds row, word and bank
    wanted = np.unique(row[:, np.newaxis] * span + word)
    per_bank = np.bincount(wanted // span * BANKS + wanted % BANKS, minlength=warp_count * group_count * BANKS)
    most: Integers = per_bank.reshape(warp_count, group_count, BANKS).max(axis=2).astype(np.int64)
    return most


def _pairs_agree(table: Integers, mask: Mask, distance: int) -> Mask:
    """Say for each warp if every pair of lanes (n, n ^ distance) that is active in both has one address."""
    partner = np.arange(table.shape[1]) ^ distance
    both = mask & mask[:, partner]
    agree: Mask = (~both | (table == table[:, partner])).all(axis=1)
    return agree


def _checked(
    addresses: npt.ArrayLike, element_bytes: int, kind: str, active: int | npt.ArrayLike | None
) -> tuple[Integers, Mask]:
    if element_bytes not in ACCESS_BYTES:
        raise ValueError(f"element_bytes is {element_bytes!r}: expected 1, 2, 4, 8 or 16.")
    if kind not in get_args(Kind):
        raise ValueError(f'kind is {kind!r}: expected "load", "store" or "atomic".')
    table = np.asarray(addresses)
    if table.size and not np.issubdtype(table.dtype, np.integer):
        raise TypeError(f"addresses have elements of type {table.dtype}: expected whole numbers.")
    if table.ndim == 1:
        table = table[np.newaxis]
    if table.ndim != 2 or not (0 < table.shape[1] <= BANKS or table.shape[1] == 2 * BANKS):
        raise ValueError(f"addresses have shape {table.shape}: expected (warps, lanes) with at most 32 lanes, or 64.")
    mask = active_lanes(active, table.shape)
    missing = -table.shape[1] % BANKS
    if missing:  # a short warp is a warp whose last lanes are inactive
        table = np.pad(table, ((0, 0), (0, missing)))
        mask = np.pad(mask, ((0, 0), (0, missing)))
    wrong = mask & ((table < 0) | (table % element_bytes != 0))
    if wrong.any():
        warp, lane = (int(n) for n in np.argwhere(wrong)[0])
        address = int(table[warp, lane])
        if address < 0:
            raise ValueError(f"lane {lane} of warp {warp} has address {address}: expected 0 or more.")
        raise MisalignedAccess(
            f"lane {lane} of warp {warp} has address {address}, no multiple of {element_bytes}: "
            f"a {element_bytes}-byte access needs an aligned address."
        )
    return table.astype(np.int64, copy=False), mask
