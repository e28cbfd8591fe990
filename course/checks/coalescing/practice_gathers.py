"""Practice with lanes that share or sit out, with gathers, and with what a cache repairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from course.checks.parts import Choice, ChoiceSet, Misconception, Number
from course.checks.question import Question
from course.models.coalescing import (
    LINE_BYTES,
    SECTOR_BYTES,
    WARP_LANES,
    coalesce,
    index_addresses,
    lane_addresses,
    units_touched,
)

__all__ = ["P6", "P7", "P9"]

_FLOAT = 4
_lane = np.arange(WARP_LANES, dtype=np.int64)


def _cost(index: object, active: object = None) -> int:
    return int(coalesce(index_addresses(index), _FLOAT, active).sectors[0])  # type: ignore[arg-type]


# p6: lanes that share, lanes that sit out ----------------------------------------------------------

_shared, _two = _cost(0 * _lane), _cost(_lane // 16 * 100)
_lower, _even = _cost(_lane, _lane < 16), _cost(_lane, _lane % 2 == 0)
_full = _cost(_lane)

P6 = Question(
    name="coalescing/p6",
    statement="How many sectors does one request of 4-byte loads touch? The array starts at the beginning of a line.",
    parts=(
        Number(
            name="one_place",
            points=1,
            asks="all lanes read element 0",
            unit="sectors",
            expected=_shared,
            hint="How many different addresses are there?",
            misconceptions=(
                Misconception(WARP_LANES, "This counts lanes. A sector that many lanes want moves once."),
                Misconception(_full, "This would be right for neighbours. Here all lanes want the same element."),
                Misconception(0, "Something must be moved, once at least."),
            ),
        ),
        Number(
            name="two_places",
            points=1,
            asks="lanes 0 to 15 read element 0, lanes 16 to 31 read element 100",
            unit="sectors",
            expected=_two,
            hint="How many different addresses are there, and do they lie in one sector?",
            misconceptions=(
                Misconception(WARP_LANES, "This counts lanes. A sector that many lanes want moves once."),
                Misconception(_shared, "The two elements are too far apart to lie in one sector."),
                Misconception(_full, "This would be right for neighbours. Here are only two elements."),
            ),
        ),
        Number(
            name="lower_half",
            points=1,
            asks="lane i reads element i, but only lanes 0 to 15 are active",
            unit="sectors",
            expected=_lower,
            hint="Which bytes do the active lanes read?",
            misconceptions=(
                Misconception(_full, "Sectors that no active lane touches are not moved."),
                Misconception(16, "This counts active lanes. Neighbours share a sector."),
                Misconception(1, "This counts the request, or a line. How many sectors do these bytes fill?"),
            ),
        ),
        Number(
            name="even_lanes",
            points=1,
            asks="lane i reads element i, but only lanes 0, 2, 4 ... 30 are active",
            unit="sectors",
            expected=_even,
            hint="Is there a sector in which nobody reads any more?",
            misconceptions=(
                Misconception(_lower, "Half of the lanes are gone, but did any sector lose all of its readers?"),
                Misconception(16, "This counts active lanes. Several of them still share a sector."),
                Misconception(
                    2 * _full, "This would be right for a stride of two with all lanes. These lanes do not move apart."
                ),
            ),
        ),
        Choice(
            name="constant",
            points=1,
            asks="which of these loads suits constant memory",
            options={
                "one place": "all lanes read one element",
                "neighbours": "lane i reads element i",
                "random": "each lane reads an element somewhere in a table",
            },
            expected="one place",
            hint="Constant memory serves one address at a time.",
            misconceptions=(
                Misconception("neighbours", "Each lane has its own address here, and they would be served in turn."),
                Misconception("random", "The addresses are all different, and they would be served in turn."),
            ),
        ),
    ),
    worked=(
        f"One place: **{_shared}** sector, which serves all lanes at once. Two places: **{_two}**. Lanes 0 to 15 read "
        f"16 × {_FLOAT} = {16 * _FLOAT} bytes: **{_lower}** sectors. The even lanes still read in all **{_even}**: "
        "switching lanes off saves a sector only when nobody reads in it any more. Constant memory suits **one "
        "place**: it serves one address at a time, and all lanes that want it.\n\nA good answer in an interview: *No, "
        "a broadcast is not a problem: the request touches one sector, the best number there is. For small tables that "
        "all lanes read at the same place, constant memory is made for it. It becomes a problem only in constant "
        "memory, and only if the lanes read different places.*"
    ),
)

# p7: gathers -------------------------------------------------------------------------------------

_PICKS, _TABLE, _ROW = 4096, 2048, 64
_picks = np.random.default_rng(5).integers(0, _TABLE, _PICKS)


def _total(indices: object) -> int:
    """Sectors of all warps."""
    return int(coalesce(index_addresses(np.reshape(indices, (-1, WARP_LANES))), _FLOAT).sectors.sum())  # type: ignore[call-overload]


_by_rows = _picks[::WARP_LANES][:, np.newaxis] // WARP_LANES * WARP_LANES + _lane
_CHANGES = {
    "sort": "sort the indices first",
    "rows": "change the algorithm so that it reads 32 neighbours at each place",
    "large blocks": "launch blocks of 1024 threads instead of 128",
    "wide loads": "load 16 bytes at each place, and use the one float of them that was asked for",
}
_after = {
    "sort": _total(np.sort(_picks)),
    "rows": _total(_by_rows),
    "large blocks": _total(_picks),  # a warp stays the same 32 picks, whatever its block
    "wide loads": int(coalesce(index_addresses(_picks.reshape(-1, WARP_LANES) // 4, 16), 16).sectors.sum()),
}
_row_sectors = int(coalesce(lane_addresses(offset=_ROW * 3), _FLOAT).sectors[0])

P7 = Question(
    name="coalescing/p7",
    statement=(
        "`out[i] = table[indices[i]]`, for a table of floats and indices of 4 bytes. One warp loads its 32 indices, "
        "and then 32 elements of the table."
    ),
    parts=(
        Number(
            name="index_sectors",
            points=1,
            asks="sectors of the request for the indices",
            unit="sectors",
            expected=_full,
            hint="Where do the indices of neighbouring lanes lie?",
            misconceptions=(
                Misconception(WARP_LANES, "The indices themselves lie side by side."),
                Misconception(1, "All lanes of a warp read different indices. How many bytes are they?"),
                Misconception(2 * _full, "This would be right for indices of twice the size."),
            ),
        ),
        Number(
            name="most",
            points=1,
            asks="the most sectors that the request for the elements can touch",
            unit="sectors",
            expected=WARP_LANES,
            hint="At worst, no two lanes share a sector.",
            misconceptions=(
                Misconception(_full, "This is the best case: the elements lie side by side."),
                Misconception(WARP_LANES + _full, "This is both requests together. Asked is the one for the elements."),
                Misconception(WARP_LANES * _FLOAT, "These are bytes. Asked are sectors."),
            ),
        ),
        Number(
            name="row_sectors",
            points=1,
            asks=f"sectors of the request when the warp reads half of a row of {_ROW} floats, the row being anywhere",
            unit="sectors",
            expected=_row_sectors,
            hint="Rows of this length start at the beginning of a sector. Then the lanes read neighbours.",
            misconceptions=(
                Misconception(WARP_LANES, "Where the row lies does not matter: inside of it, lanes read neighbours."),
                Misconception(2 * _row_sectors, "This is the whole row, which takes two warps."),
                Misconception(_row_sectors + 1, "This would be right if the row started inside a sector."),
            ),
        ),
        ChoiceSet(
            name="helps",
            points=2,
            asks=f"the changes that lower the sectors for {_PICKS} picks at random from a table of {_TABLE} floats",
            options=_CHANGES,
            expected=frozenset(change for change, sectors in _after.items() if sectors < _total(_picks)),
            hint="Only what makes the lanes of one warp read nearer to each other helps.",
            misconceptions=(
                Misconception("large blocks", "A request belongs to a warp. The size of the block does not change it."),
                Misconception(
                    "wide loads", "The other bytes lie in the same sector. As many sectors move, and nobody uses more."
                ),
            ),
        ),
    ),
    worked=(
        f"The indices are neighbours: **{_full}** sectors. The elements can lie anywhere: **{WARP_LANES}** at most. "
        f"Inside a row, the lanes read neighbours again: **{_row_sectors}**.\n\n**Sorting** helps when there are about "
        f"as many picks as elements, or more: here the sectors go from {_total(_picks)} to {_after['sort']}. "
        f"**Rows** help always: {_after['rows']}. A larger block is cut into the same warps, and a wider load touches "
        "the same sectors.\n\nA good answer in an interview: *The addresses come from data, so nothing makes "
        "neighbouring lanes read neighbours. I accept it where it is rare. Otherwise I read whole rows (an embedding "
        "is one), or I sort first: in a mixture of experts I sort the tokens by expert, so that all tokens of one "
        "expert come together and its weights are read once for many of them.*"
    ),
)

# p9: what a cache repairs -------------------------------------------------------------------------

_STEPS, _EIGHTH = 64, 8


def _bytes(requests: list[npt.NDArray[np.int64]], size: int = _FLOAT) -> tuple[int, int, int]:
    """Bytes that some requests ask for, that L1 serves for them, and of all different sectors, each once."""
    costs = [coalesce(addresses, size) for addresses in requests]
    once = SECTOR_BYTES * len(units_touched(np.concatenate(requests, axis=None), size))
    return sum(int(c.requested_bytes.sum()) for c in costs), sum(int(c.transferred_bytes.sum()) for c in costs), once


def _random(picks: int, table: int) -> list[npt.NDArray[np.int64]]:
    return [index_addresses(np.random.default_rng(9).integers(0, table, (picks // WARP_LANES, WARP_LANES)))]


_KERNELS = {
    "row sums": _bytes([lane_addresses(stride=_STEPS, offset=step) for step in range(_STEPS)]),
    "every eighth": _bytes([lane_addresses(stride=_EIGHTH)]),
    "byte by byte": _bytes([lane_addresses(4, byte, 1) for byte in range(4)], 1),
    "small table": _bytes(_random(1 << 15, 1 << 12)),
    "large table": _bytes(_random(1 << 15, 1 << 28)),
}
_walk_l1, _walk_dram = (moved / _KERNELS["row sums"][0] for moved in _KERNELS["row sums"][1:])
_jump_dram = _KERNELS["every eighth"][2] / _KERNELS["every eighth"][0]
_CAN = frozenset(name for name, (_, served, once) in _KERNELS.items() if once < 0.9 * served)
"""Some sectors are wanted by several requests: a cache can save the second delivery."""

P9 = Question(
    name="coalescing/p9",
    statement=(
        f"In `row sums`, each lane adds up its own row of {_STEPS} floats, one after the other. In `every eighth`, "
        f"lane i reads x[{_EIGHTH} * i], and no other element of x is ever read. Both touch a sector for each lane in "
        "every request."
    ),
    parts=(
        Number(
            name="row_sums_l1",
            points=1,
            asks="row sums: transferred bytes of all requests, divided by the requested bytes",
            unit="times",
            expected=_walk_l1,
            hint="What does a single request of the loop cost? The first cache serves every request anew.",
            misconceptions=(
                Misconception(
                    _walk_dram,
                    "This is what must come from DRAM. The first cache serves the sectors request by request.",
                ),
                Misconception(WARP_LANES, "This counts sectors of a request. Compare bytes with bytes."),
                Misconception(1 / _walk_l1, "This is upside down."),
            ),
        ),
        Number(
            name="row_sums_dram",
            points=1,
            asks="row sums: bytes from DRAM, divided by the requested bytes, if the caches keep every sector",
            unit="times",
            expected=_walk_dram,
            hint="Which bytes of a sector are read in the next steps of the loop?",
            misconceptions=(
                Misconception(
                    _walk_l1, "This is what the first cache serves. The rest of each sector is used in the next steps."
                ),
                Misconception(1 / _walk_l1, "Fewer bytes than were asked for? No float is read twice."),
                Misconception(0, "Every byte must come from DRAM once."),
            ),
        ),
        Number(
            name="every_eighth_dram",
            points=1,
            asks="every eighth: the same",
            unit="times",
            expected=_jump_dram,
            hint="Who reads the rest of each sector?",
            misconceptions=(
                Misconception(_walk_dram, "A cache can keep the rest of each sector, but nobody ever asks for it."),
                Misconception(
                    LINE_BYTES // _FLOAT, "This moves whole lines. A sector that nobody touches stays where it is."
                ),
                Misconception(1 / _jump_dram, "This is upside down."),
            ),
        ),
        ChoiceSet(
            name="repaired",
            points=2,
            asks="the kernels in which a cache can save DRAM bytes that a request has wasted",
            options={
                "row sums": "as above",
                "every eighth": "as above",
                "byte by byte": "four 1-byte loads, one after the other, for the four bytes of a pixel",
                "small table": "random picks, many times more than there are elements in a table of 16 KiB",
                "large table": "random picks, far fewer than there are sectors in a table of 1 GiB",
            },
            expected=_CAN,
            hint="Will somebody read the rest of the sector soon, and is it still in the cache then?",
            misconceptions=(
                Misconception("every eighth", "The rest of each sector is never read, so keeping it is of no use."),
                Misconception(
                    "large table", "Hardly any sector is picked twice, and it would be gone from the cache by then."
                ),
            ),
        ),
    ),
    worked=(
        f"One request of *row sums* touches a sector for each lane: **{_walk_l1:g}** times the requested bytes, in "
        f"every step of the loop. But the next {SECTOR_BYTES // _FLOAT - 1} steps read the rest of the same sectors. "
        f"If they are still in the cache, DRAM delivers each byte once: **{_walk_dram:g}** times. In *every eighth* "
        f"nobody reads the rest: **{_jump_dram:g}** times, with any cache.\n\nA cache repairs waste when the rest of "
        "the sector is read soon: *row sums*, *byte by byte*, *small table*. It cannot use what nobody reads (*every "
        "eighth*), or what it has lost long before somebody asks again (*large table*). And in every case L1 has "
        "served the sectors of each request, which takes time, too."
    ),
)
