"""shadow_rules, compiled: lane after lane, in the order in which the lanes are numbered.

See shadow_rules for what the arguments mean; both find the same conflicts.
"""

from __future__ import annotations

import numba

__all__ = ["check"]


@numba.njit(
    "int64(int64, int64, int64, int64, int64, int64, int64, int64)", cache=True, nogil=True, error_model="numpy"
)
def _scope(other, me, warp, lanes, block, block_lanes, order, warp_order):  # type: ignore[no-untyped-def]
    """How far apart the thread of entry `other` and thread `me` are, where nothing orders them.

    0: same warp, 1: same block, 2: another block; -1: no entry, or ordered by a barrier; -2: same thread.
    `warp` and `block` are the first threads of the warp and the block of `me`.
    """
    thread = other >> 32
    serial = (other >> 10) & 0x3FFFFF
    if other == 0:
        return -1
    if not block <= thread < block + block_lanes:
        return 2
    if not warp <= thread < warp + lanes:
        return 1 if serial >= order else -1
    if serial < warp_order:
        return -1
    return 0 if thread != me else -2


@numba.njit(
    "int64(int64[:, ::1], boolean[:, ::1], int64[:, ::1], int64[:, :, ::1], int64[:, :, ::1],"
    " int64[:, ::1], int64[::1], uint8[:, :, ::1], int64[:, :, ::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def check(addresses, masks, cases, state, lines, blocks, how, values, found):  # type: ignore[no-untyped-def]
    """See shadow_rules.check."""
    kind, lanes, first_byte, shift, words = how[0], how[1], how[2], how[3], how[4]
    serial, site, reads_matter, is_shared = how[5], how[6], how[7], how[8]
    block_lanes = masks.shape[1]
    slots = state.shape[0]
    conflicts = 0
    for case in range(cases.shape[0]):
        a, m, r, b, times = cases[case, 0], cases[case, 1], cases[case, 2], cases[case, 3], cases[case, 4]
        block = blocks[b, 0] * block_lanes + 1
        order = blocks[b, 1]
        warp_order = order if order > blocks[b, 2] else blocks[b, 2]
        warp = block
        clean_until = 0
        for lane in range(block_lanes):
            me = block + lane
            if me == warp + lanes:
                warp = me
            if lane < clean_until or not masks[m, lane]:
                continue
            entry = (me << 32) | (serial << 10) | site
            start = (addresses[a, lane] - first_byte) >> shift
            if start < 0 or start + words > state.shape[2]:
                continue
            if me == warp and lanes == 32 and words == 1 and start & 31 == 0 and kind != 2:
                # Nearly all accesses: 32 lanes at 32 words in a row, each lane at its own word.
                stray = 0
                for i in range(32):
                    stray |= addresses[a, lane + i] ^ (addresses[a, lane] + (i << shift))
                    stray |= not masks[m, lane + i]
                writer, reader = lines[0, r, start >> 5], lines[1, r, start >> 5]
                mine = (writer == 0 or writer >> 32 == me) and (reader == 0 or reader >> 32 == me)
                if stray == 0 and mine and not (is_shared and kind == 0 and writer == 0):
                    if kind == 1:
                        lines[0, r, start >> 5] = entry
                    elif reads_matter and (reader == 0 or (reader >> 10) & 0x3FFFFF < warp_order):  # none, or over
                        lines[1, r, start >> 5] = entry
                    clean_until = lane + 32
                    continue
            for word in range(start, start + words):
                line = word >> 5
                if lines[0, r, line] >= 0:  # spell the line out
                    for slot in range(2):
                        if lines[slot, r, line] > 0:
                            for i in range(32):
                                state[slot, r, line * 32 + i] = lines[slot, r, line] + (i << 32)
                    lines[0, r, line] = -1
                writer = state[0, r, word]
                if kind == 1 and writer == 0 and not reads_matter:
                    state[0, r, word] = entry
                    continue
                if writer == 0 and is_shared and kind != 1 and (slots == 3 or state[3, r, word] == 0):
                    conflicts += 1
                    if found[12, 0, 0] == 0 or b * block_lanes + lane < found[12, 0, 1]:
                        found[12, 0, 1] = b * block_lanes + lane
                    found[12, 0, 0] += times
                for slot in range(slots):
                    # The last writer matters to all; readers matter to writers; atomics to plain accesses.
                    if (kind == 0 and 1 <= slot < 3) or (kind == 2 and slot >= 3):
                        continue
                    other = state[slot, r, word]
                    scope = _scope(other, me, warp, lanes, block, block_lanes, order, warp_order)
                    if scope < 0:
                        continue
                    thread = (other >> 32) - 1
                    row = scope * 4 + (1 if slot == 0 else 0 if slot < 3 else 2)
                    if slot == 0 and kind == 1 and (other >> 10) & 0x3FFFFF == serial:
                        # Stored by this same instruction: harmless where both lanes store the same value.
                        peer = b
                        while blocks[peer, 0] != thread // block_lanes:
                            peer = peer - 1 if peer > 0 else blocks.shape[0] - 1
                        mine, other_lane = lane % values.shape[1], thread % block_lanes % values.shape[1]
                        differ = 0
                        for byte in range(values.shape[2]):
                            theirs = values[peer % values.shape[0], other_lane, byte]
                            differ |= values[b % values.shape[0], mine, byte] ^ theirs
                        if differ == 0:
                            continue
                        row = scope * 4 + 3
                    elif scope == 0 and not is_shared:
                        continue
                    conflicts += 1
                    known = other & 1023
                    if found[row, known, 0] == 0 or b * block_lanes + lane < found[row, known, 1]:
                        found[row, known, 1] = b * block_lanes + lane
                        found[row, known, 2] = thread
                    found[row, known, 0] += times
                if kind == 1:
                    state[0, r, word] = entry
                elif reads_matter:
                    # Two slots remember accesses of two blocks, or else of two warps, that no barrier has ended.
                    slot = 1 if kind == 0 else 3
                    head = state[slot, r, word]
                    thread = head >> 32
                    if _scope(head, me, warp, lanes, block, block_lanes, order, warp_order) == -1:
                        state[slot, r, word] = entry
                    elif not warp <= thread < warp + lanes:
                        tail = state[slot + 1, r, word]
                        unit = lanes if block <= thread < block + block_lanes else block_lanes
                        alike = ((tail >> 32) - 1) // unit == (thread - 1) // unit  # then this one says more
                        if alike or _scope(tail, me, warp, lanes, block, block_lanes, order, warp_order) == -1:
                            state[slot + 1, r, word] = entry
    return conflicts
