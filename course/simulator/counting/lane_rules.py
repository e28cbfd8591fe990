"""The counting rules over whole batches of blocks, in NumPy: the definition that lane_kernels compiles.

Both modules offer the same functions with the same arguments, so that either can count. This one reads
as the rules do and needs no compiler: it counts small launches, and all where compiled code has no cache.

A batch comes without repetition (see rows.py):

    addresses (address rows, T) int64      byte addresses of the lanes of a block
    masks (mask rows, T) bool              which lanes are active
    active (mask rows, warps) int64        active lanes of each warp
    cases (cases, 3) int64                 address row, mask row, and how many blocks look like that
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from course.models.banks import wavefronts
from course.models.coalescing import SECTOR_BYTES, coalesce

__all__ = ["count_global", "count_shared"]

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def count_global(
    addresses: Integers,
    masks: Bools,
    active: Integers,
    cases: Integers,
    regions: Integers,
    touched: npt.NDArray[np.uint8],
    totals: Integers,
) -> None:
    """Count a global access: adds (requests, active lanes, sectors, lines) to `totals`.

    regions: (arrays, 3), first sector, end sector, and what to add to a sector's number to find it in
    `touched`, where every sector of an array that an active lane touches becomes 1.
    """
    table, mask, weight = _warps(addresses, masks, active, cases)
    cost = coalesce(table, 1, mask)
    totals[:4] += [
        np.dot(weight, cost.active_lanes > 0),
        np.dot(weight, cost.active_lanes),
        np.dot(weight, cost.sectors),
        np.dot(weight, cost.lines),
    ]
    sectors = table[mask] // SECTOR_BYTES
    for first, end, shift in regions:
        touched[sectors[(sectors >= first) & (sectors < end)] + shift] = 1


def count_shared(
    addresses: Integers,
    masks: Bools,
    active: Integers,
    cases: Integers,
    size: int,
    is_load: bool,
    totals: Integers,
) -> None:
    """Count a shared access: adds (instructions, active lanes, wavefronts, ideal wavefronts) to `totals`.

    ``totals[4]`` keeps the largest conflict degree seen. `size` is the bytes of one lane.
    """
    table, mask, weight = _warps(addresses, masks, active, cases)
    cost = wavefronts(table // size * size, size, "load" if is_load else "store", mask)
    totals[:4] += [
        np.dot(weight, cost.active_lanes > 0),
        np.dot(weight, cost.active_lanes),
        np.dot(weight, cost.wavefronts),
        np.dot(weight, cost.ideal_wavefronts),
    ]
    totals[4] = max(totals[4], cost.degree.max(initial=0))


def _warps(addresses: Integers, masks: Bools, active: Integers, cases: Integers) -> tuple[Integers, Bools, Integers]:
    """Addresses and mask as (warps, lanes), inactive lanes at address 0, and how often each warp occurs."""
    lanes = masks.shape[1] // active.shape[1]
    mask = masks[cases[:, 1]].reshape(-1, lanes)
    table = np.where(mask, addresses[cases[:, 0]].reshape(-1, lanes), 0)
    return table, mask, np.repeat(cases[:, 2], active.shape[1])
