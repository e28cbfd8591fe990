"""When two lanes may disturb each other: the rule of the race checks, in NumPy.

A *shadow* lies beside each stretch of memory. For every word it holds up to five entries: the last plain
store; two loads (of two blocks or two warps, if to be had); and where the kernel has atomics, two of those. An
entry is one number: (thread + 1) << 32 | serial << 10 | site. `thread` counts through the grid (or the
block, for shared memory), 0 stands for "never". `serial` counts instructions and barriers, so that an
entry older than a block's last barrier is known to be ordered before whatever the block does next.

An access *conflicts* with an entry of another thread when one of the two writes, not both are atomic, and
nothing orders them: in another block always, in another warp of the block unless a barrier lies between,
in the same warp unless a barrier or `syncwarp` does (checked in shared memory only). Two lanes of one
instruction that store the same value to a word do not conflict.

Most lines of 32 words are only ever touched by one warp, lane by lane. Such a line keeps one entry for its
stores and one for its loads, those of its first word, in `lines`; it is spelled out in `state` (and marked
-1) when something else touches it.

shadow_kernels is this rule, compiled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ATOMIC", "LINE_WORDS", "LOAD", "SAME_INSTRUCTION", "STORE", "UNINITIALISED", "check", "spell_out"]

Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LOAD, STORE, ATOMIC, SAME_INSTRUCTION = range(4)
UNINITIALISED = 12
"""Row of `found` for loads of shared memory that nobody has written; the others are 4 x scope + kind."""
LINE_WORDS = 32
_THREAD, _SITE = 32, 10
_SITE_MASK = (1 << _SITE) - 1
_SERIAL_MASK = (1 << (_THREAD - _SITE)) - 1


def check(
    addresses: Integers,
    masks: Bools,
    cases: Integers,
    state: Integers,
    lines: Integers,
    blocks: Integers,
    how: Integers,
    values: npt.NDArray[np.uint8],
    found: Integers,
) -> int:
    """Compare one memory instruction with the shadow, then enter it there. Returns how many conflicts there are.

    addresses (address rows, T), masks (mask rows, T): see rows.py.
    cases (cases, 5): address row, mask row, row of the shadow, row of `blocks`, blocks that look like that.
    state (3 or 5, shadow rows, words): the entries; with 5, atomics are remembered too.
    lines (2, shadow rows, words / 32): short form of `state`, see above.
    blocks (blocks, 3): number of each block in the grid (0 for shared memory), serials of its last barrier and
        of its last syncwarp.
    how: (kind, warp lanes, first byte of the shadow, log2 of a word's bytes, words per lane, serial, site,
        are loads remembered?, shared memory?).
    values: bytes that the lanes store, (blocks or 1, T or 1, bytes).
    found (13, sites, 3): by 4 x scope + kind of the other access (scope 0 same warp, 1 same block, 2 other
        block) and its site: conflicts (times blocks alike), the first lane (block row x T + lane), the other thread.
    """
    kind, lanes, first_byte, shift, words, serial, site, reads_matter, is_shared = how.tolist()
    block_lanes = masks.shape[1]
    case, lane = np.nonzero(masks[cases[:, 1]])
    row = cases[case, 3]
    word = (addresses[cases[case, 0], lane] - first_byte >> shift)[:, np.newaxis] + np.arange(words)
    inside = (word[:, 0] >= 0) & (word[:, -1] < state.shape[2])
    case, lane, row, word = case[inside], lane[inside], row[inside], word[inside]
    flat = np.repeat(row * block_lanes + lane, words)
    me = np.repeat(blocks[row, 0] * block_lanes + lane + 1, words)
    weight = np.repeat(cases[case, 4], words)
    order = np.repeat(blocks[row, 1], words)
    warp_order = np.maximum(order, np.repeat(blocks[row, 2], words))
    cell = (cases[case, 2][:, np.newaxis] * state.shape[2] + word).ravel()
    spell_out(state, lines, np.unique(cell // LINE_WORDS))
    slots = state.reshape(len(state), -1)
    conflicts = 0

    def compare(other: Integers, other_kind: int, where: Bools | bool = True) -> int:
        scope = _scopes(other, me, order, warp_order, lanes, block_lanes)
        wrong = np.flatnonzero((scope >= (0 if is_shared or other_kind == SAME_INSTRUCTION else 1)) & where)
        _enter(found, scope[wrong] * 4 + other_kind, other[wrong], flat[wrong], weight[wrong])
        return len(wrong)

    if kind == STORE:
        # Lanes that store to one word follow one another; the first meets the entry that was there.
        turn = np.argsort(cell, kind="stable")
        follows = np.zeros(len(cell), np.bool_)
        follows[turn[1:]] = cell[turn[1:]] == cell[turn[:-1]]
        before = np.zeros(len(cell), np.int64)
        before[turn[1:]] = turn[:-1]
        entry = me << _THREAD | serial << _SITE | site
        rows, columns = np.repeat(row, words) % len(values), np.repeat(lane, words) % values.shape[1]
        mine = values[rows, columns]
        differs = (mine != mine[before]).any(axis=1)
        conflicts += compare(entry[before], SAME_INSTRUCTION, follows & differs)
        conflicts += compare(slots[0, cell], STORE, ~follows)
    else:
        conflicts += compare(slots[0, cell], STORE)
        if is_shared:
            unwritten = slots[0, cell] == 0
            if len(slots) > 3:
                unwritten &= slots[3, cell] == 0
            if kind == ATOMIC:  # the first one makes the word
                unwritten &= _first_of_each(cell)
            conflicts += int(unwritten.sum())
            _enter(found, np.full(unwritten.sum(), UNINITIALISED), np.zeros(unwritten.sum(), np.int64),
                   flat[unwritten], weight[unwritten])  # fmt: skip
    if kind != LOAD:
        conflicts += compare(slots[1, cell], LOAD) + compare(slots[2, cell], LOAD)
    if kind != ATOMIC and len(slots) > 3:
        conflicts += compare(slots[3, cell], ATOMIC) + compare(slots[4, cell], ATOMIC)

    entry = me << _THREAD | serial << _SITE | site
    if kind == STORE:
        slots[0, cell] = entry
    elif reads_matter:
        pair = slots[1:3] if kind == LOAD else slots[3:5]
        _remember(pair, cell, entry, me, order, warp_order, lanes, block_lanes)
    return conflicts


def spell_out(state: Integers, lines: Integers, which: Integers) -> None:
    """Write the short forms of lines number `which` (counted through the rows) into `state`."""
    short = lines.reshape(2, -1)
    short_ones = which[short[0, which] >= 0]
    words = state.reshape(len(state), -1, LINE_WORDS)
    for slot in (0, 1):
        used = short_ones[short[slot, short_ones] > 0]
        words[slot, used] = short[slot, used, np.newaxis] + (np.arange(LINE_WORDS) << _THREAD)
    short[0, short_ones] = -1


def _scopes(
    other: Integers, me: Integers, order: Integers, warp_order: Integers, lanes: int, block_lanes: int
) -> npt.NDArray[np.int64]:
    """How far apart `other` and `me` are: 0 same warp, 1 same block, 2 other block.

    -1: no entry, or ordered by a barrier; -2: same thread.
    """
    thread, serial = other >> _THREAD, other >> _SITE & _SERIAL_MASK
    same_block = (thread - 1) // block_lanes == (me - 1) // block_lanes
    same_warp = (thread - 1) // lanes == (me - 1) // lanes
    over = (other == 0) | np.where(same_warp, serial < warp_order, same_block & (serial < order))
    scope = np.where(thread == me, -2, np.where(same_warp, 0, np.where(same_block, 1, 2)))
    return np.where(over, -1, scope)


def _remember(
    pair: Integers,
    cell: Integers,
    entry: Integers,
    me: Integers,
    order: Integers,
    warp_order: Integers,
    lanes: int,
    block_lanes: int,
) -> None:
    """Enter loads (or atomics) in the two slots of each word: two blocks, else two warps, that no barrier ended."""
    waiting = np.arange(len(cell))
    while len(waiting):
        at = cell[waiting]
        head, tail = pair[0, at], pair[1, at]
        mine = (me[waiting], order[waiting], warp_order[waiting], lanes, block_lanes)
        over = _scopes(head, *mine) == -1
        head_at, tail_at, my_at = (head >> _THREAD) - 1, (tail >> _THREAD) - 1, me[waiting] - 1
        unit = np.where(head_at // block_lanes == my_at // block_lanes, lanes, block_lanes)
        alike = tail_at // unit == head_at // unit  # then this one says more
        free = (_scopes(tail, *mine) == -1) | alike
        second = ~over & (head_at // lanes != my_at // lanes) & free
        # The first lane of each word that changes a slot does so; those before it change nothing.
        changes = np.flatnonzero(over | second)
        words, first = np.unique(at[changes], return_index=True)
        now = changes[first]
        pair[np.where(over[now], 0, 1), words] = entry[waiting[now]]
        if not len(now):
            return
        place = np.minimum(np.searchsorted(words, at), len(words) - 1)
        waiting = waiting[(words[place] == at) & (np.arange(len(at)) > now[place])]


def _first_of_each(keys: Integers) -> Bools:
    """True at the first place of each different key."""
    first = np.zeros(len(keys), np.bool_)
    first[np.unique(keys, return_index=True)[1]] = True
    return first


def _enter(found: Integers, row: Integers, other: Integers, flat: Integers, weight: Integers) -> None:
    """Add conflicts to `found`; of each kind, the lowest lane is kept."""
    if not len(row):
        return
    site = other & _SITE_MASK
    for key in np.unique(row * found.shape[1] + site):
        at = np.flatnonzero(row * found.shape[1] + site == key)
        first = at[np.argmin(flat[at])]
        record = found[key // found.shape[1], key % found.shape[1]]
        if record[0] == 0 or flat[first] < record[1]:
            record[1:] = flat[first], max((other[first] >> _THREAD) - 1, 0)
        record[0] += weight[at].sum()
