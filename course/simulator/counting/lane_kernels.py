"""The counting rules of lane_rules, compiled: one pass over the addresses, at memory speed for regular warps.

Signatures are explicit, so that the functions are compiled once, at set-up, and found in numba's cache
from then on. Importing this module raises RuntimeError where numba finds no place for its cache.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["count_global", "count_shared"]

_BATCH = "int64[:, ::1], boolean[:, ::1], int64[:, ::1], int64[:, ::1]"


@numba.njit(f"void({_BATCH}, int64[:, ::1], uint8[::1], int64[::1])", cache=True, nogil=True, error_model="numpy")
def count_global(addresses, masks, active, cases, regions, touched, totals):  # type: ignore[no-untyped-def]
    """See lane_rules.count_global."""
    lanes = masks.shape[1] // active.shape[1]
    seen = np.empty(64, np.int64)
    requests = lanes_active = sectors = lines = region = 0
    for case in range(cases.shape[0]):
        a, m, times = cases[case, 0], cases[case, 1], cases[case, 2]
        for warp in range(active.shape[1]):
            here = active[m, warp]
            if here == 0:
                continue
            requests += times
            lanes_active += times * here
            o = warp * lanes
            stray = 1
            count = 0
            if here == 32 and lanes == 32:
                # Nearly every warp is regular: full, with one small step from lane to lane. It touches
                # every sector between its first and its last lane.
                base = addresses[a, o]
                jump = addresses[a, o + 1] - base
                if -32 <= jump <= 32:
                    stray = 0
                    for i in range(32):
                        stray |= addresses[a, o + i] ^ (base + i * jump)
            if stray == 0:
                low, high = addresses[a, o] >> 5, addresses[a, o + 31] >> 5
                if high < low:
                    low, high = high, low
                sectors += times * (high - low + 1)
                lines += times * ((high >> 2) - (low >> 2) + 1)
                for _ in range(regions.shape[0]):  # mostly the array of the warp before
                    if regions[region, 0] <= low < regions[region, 1]:
                        for place in range(low, high + 1):
                            if place < regions[region, 1]:
                                touched[regions[region, 2] + place] = 1
                        break
                    region = (region + 1) % regions.shape[0]
            else:
                for i in range(lanes):  # the sectors of the active lanes, sorted by insertion
                    if masks[m, o + i]:
                        new = addresses[a, o + i] >> 5
                        j = count
                        while j > 0 and seen[j - 1] > new:
                            seen[j] = seen[j - 1]
                            j -= 1
                        seen[j] = new
                        count += 1
            last = -1
            for i in range(count):
                sector = seen[i]
                if sector == last:
                    continue
                sectors += times
                lines += times * ((sector >> 2) != (last >> 2))
                last = sector
                for _ in range(regions.shape[0]):
                    if regions[region, 0] <= sector < regions[region, 1]:
                        touched[regions[region, 2] + sector] = 1
                        break
                    region = (region + 1) % regions.shape[0]
    totals[0] += requests
    totals[1] += lanes_active
    totals[2] += sectors
    totals[3] += lines


@numba.njit(f"void({_BATCH}, int64, boolean, int64[::1])", cache=True, nogil=True, error_model="numpy")
def count_shared(addresses, masks, active, cases, size, is_load, totals):  # type: ignore[no-untyped-def]
    """See lane_rules.count_shared."""
    lanes = masks.shape[1] // active.shape[1]
    wanted = np.empty((32, 64), np.int64)  # the distinct words wanted from each bank
    depth = np.zeros(32, np.int64)  # how many they are
    words = size // 4 if size > 4 else 1
    for case in range(cases.shape[0]):
        a, m, times = cases[case, 0], cases[case, 1], cases[case, 2]
        for warp in range(active.shape[1]):
            if active[m, warp] == 0:
                continue
            o = warp * lanes
            group = 32 // words
            if is_load and words > 1:
                differ1 = differ2 = 0
                for i in range(o, o + lanes):
                    if masks[m, i]:
                        differ1 += masks[m, i ^ 1] and addresses[a, i] != addresses[a, i ^ 1]
                        differ2 += masks[m, i ^ 2] and addresses[a, i] != addresses[a, i ^ 2]
                if differ1 == 0 or differ2 == 0:
                    group *= 2
            for start in range(o, o + lanes, group):
                most = 0
                for bank in range(32):
                    depth[bank] = 0
                for i in range(start, start + group):
                    if masks[m, i]:
                        first = addresses[a, i] // size * size >> 2
                        for word in range(first, first + words):
                            bank = word & 31
                            k = 0
                            while k < depth[bank] and wanted[bank, k] != word:
                                k += 1
                            if k == depth[bank]:
                                wanted[bank, k] = word
                                depth[bank] = k + 1
                                if k == most:
                                    most = k + 1
                totals[2] += times * most
                totals[3] += times * (most > 0)
                if most > totals[4]:
                    totals[4] = most
            totals[0] += times
            totals[1] += times * active[m, warp]
