"""Practice with strides: a column of a matrix, what is left of the bandwidth, the worst case, blocks with two axes."""

from __future__ import annotations

from course.cards import card
from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.coalescing import LINE_BYTES, SECTOR_BYTES, WARP_LANES, coalesce, index_addresses, lane_addresses
from course.models.coalescing import thread_indices as lanes_of

__all__ = ["P1", "P2", "P3", "P8"]

_FLOAT = 4
_ROUNDING = 1e-2

# p1: a column of a matrix ------------------------------------------------------------------------

_ROW_BYTES = 128
_rows_apart = lane_addresses(stride=_ROW_BYTES // _FLOAT)
_column = coalesce(_rows_apart, _FLOAT)
_by_line = coalesce(_rows_apart, _FLOAT, unit_bytes=LINE_BYTES)
_packed = coalesce(lane_addresses(), _FLOAT)
_requested, _transferred = int(_column.requested_bytes[0]), int(_column.transferred_bytes[0])

P1 = Question(
    name="coalescing/p1",
    statement=(
        f"A matrix of floats has rows of {_ROW_BYTES} bytes. Each lane of a warp reads one float of its own row, all "
        "from the same column. What does this request cost?"
    ),
    parts=(
        Number(
            name="requested_bytes",
            points=1,
            asks="bytes that the lanes ask for, all together",
            unit="bytes",
            expected=_requested,
            hint="Lanes times the size of one element. Where the elements lie does not matter yet.",
            misconceptions=(
                Misconception(_transferred, "These are the bytes that are moved. The lanes ask for less."),
                Misconception(_FLOAT, "This is what one lane asks for."),
                Misconception(
                    WARP_LANES * _ROW_BYTES, "These are the bytes of all the rows. Each lane reads one element of its."
                ),
            ),
        ),
        Number(
            name="transferred_bytes",
            points=1,
            asks="bytes that are moved to serve them, in sectors",
            unit="bytes",
            expected=_transferred,
            hint="How many different sectors do the lanes touch? Each of them moves as a whole.",
            misconceptions=(
                Misconception(_requested, "This would be right if the elements lay side by side."),
                Misconception(
                    WARP_LANES * _ROW_BYTES,
                    "This moves a whole row, which is a whole line, for every lane. Only the touched sector moves.",
                ),
                Misconception(_column.sectors[0], "This is a number of sectors. Asked are their bytes."),
            ),
        ),
        Number(
            name="efficiency",
            points=1,
            asks="requested divided by transferred bytes",
            expected=_column.efficiency,
            tolerance=_ROUNDING,
            fraction=True,
            hint="Divide the two numbers above.",
            misconceptions=(
                Misconception(1 / _column.efficiency, "This is upside down."),
                Misconception(_by_line.efficiency, "This is the efficiency if whole lines moved. Sectors move here."),
                Misconception(1, "This would be right if the elements lay side by side."),
            ),
        ),
        Number(
            name="line_efficiency",
            points=1,
            asks="the same on a machine that always moves whole lines",
            expected=_by_line.efficiency,
            tolerance=_ROUNDING,
            fraction=True,
            hint="Map the same addresses to the larger unit. How many units are touched, and how many bytes are they?",
            misconceptions=(
                Misconception(_column.efficiency, "This is the efficiency with sectors. The unit is larger now."),
                Misconception(
                    _packed.lines[0],
                    "This would be right if all elements lay in one line. Each row is a line of its own.",
                ),
                Misconception(1 / _by_line.efficiency, "This is upside down."),
            ),
        ),
    ),
    worked=(
        f"The lanes ask for {WARP_LANES} × {_FLOAT} = **{_requested} bytes**. Their addresses are {_ROW_BYTES} bytes "
        f"apart, so each lane is alone in its sector: {_column.sectors[0]} sectors, {_column.sectors[0]} × "
        f"{SECTOR_BYTES} = **{_transferred} bytes**, efficiency **{_column.efficiency:g}**. A machine that moves whole "
        f"lines moves {_by_line.sectors[0]} × {LINE_BYTES} = {_by_line.transferred_bytes[0]} bytes, and the "
        f"efficiency is **{_by_line.efficiency:g}**. So first ask which unit the machine moves, then count.\n\n"
        "The cure: let neighbouring lanes take neighbouring *columns*, if the work allows it. If it does not (every "
        "lane needs its own row), load a square piece of the matrix with neighbouring lanes along the rows, put it "
        "into shared memory, and read the columns there. The chapter `tiling` does this. It costs extra work on the "
        "chip, so it pays when the bytes that no longer move would have cost more. Measure both: the sectors, and the "
        "time of the whole kernel."
    ),
)

# p2: what is left of the bandwidth -----------------------------------------------------------------

_h200 = card("h200")
_peak = _h200.dram_gb_per_s / 1000
_block_bytes = _h200.dram_granule_bytes or SECTOR_BYTES
_by_block = coalesce(_rows_apart, _FLOAT, unit_bytes=_block_bytes)

P2 = Question(
    name="coalescing/p2",
    statement=(
        f"The lanes of every warp load floats that are {_ROW_BYTES} bytes apart, each float once, from an array far "
        f"larger than every cache. The memory of an H200 delivers {_peak:g} TB/s at most. How many TB/s of *requested* "
        "bytes can the kernel get?"
    ),
    parts=(
        Number(
            name="with_sectors",
            points=1,
            asks="if the memory chips deliver single sectors",
            unit="TB/s",
            expected=_peak * _column.efficiency,
            tolerance=_ROUNDING,
            hint="The chips deliver transferred bytes. Which share of them did somebody ask for?",
            misconceptions=(
                Misconception(_peak, "This is what is delivered. Most of it nobody asked for."),
                Misconception(
                    _peak * _by_line.efficiency, "This is what would be left if the chips delivered whole lines."
                ),
                Misconception(_peak / _column.efficiency, "This is more than the memory delivers: divide instead."),
            ),
        ),
        Number(
            name="with_blocks",
            points=1,
            asks=f"with the blocks of {_block_bytes} bytes that its memory chips really deliver",
            unit="TB/s",
            expected=_peak * _by_block.efficiency,
            tolerance=_ROUNDING,
            hint="The same again with a larger unit: one float of each block is used.",
            misconceptions=(
                Misconception(_peak * _column.efficiency, "This is the answer for single sectors. A block is larger."),
                Misconception(
                    _peak * _by_line.efficiency, "This is what would be left if the chips delivered whole lines."
                ),
                Misconception(_peak, "This is what is delivered. Most of it nobody asked for."),
            ),
        ),
    ),
    worked=(
        f"One float of each sector is used, {_FLOAT} of {SECTOR_BYTES} bytes: {_peak:g} × {_column.efficiency:g} = "
        f"**{_peak * _column.efficiency:.3g} TB/s**. The chips of an H200 deliver {_block_bytes} bytes at a time, so "
        f"it is **{_peak * _by_block.efficiency:.3g} TB/s**. The row `rd stride {_ROW_BYTES // _FLOAT}` of the section "
        "*Does it hold on silicon?* shows the measured number, which is a little smaller still.\n\n"
        "This is why the requested bytes per second can be small while the memory is as busy as it can be. A profiler "
        "will say that the kernel is limited by memory. That is true, and it does not mean that the kernel is good. "
        "Look at sectors per request as well."
    ),
)

# p3: the worst case ------------------------------------------------------------------------------


def _worst_factor(size: int) -> int:
    best = coalesce(lane_addresses(1, element_bytes=size), size).sectors[0]
    worst = coalesce(lane_addresses(1000, element_bytes=size), size).sectors[0]
    return int(worst // best)


_byte, _half, _float, _wide = (_worst_factor(size) for size in (1, 2, 4, 16))

P3 = Question(
    name="coalescing/p3",
    statement=(
        "How many times as many sectors does the worst request of a full warp touch as the best one in which every "
        "lane reads an element of its own?"
    ),
    parts=(
        Number(
            name="bytes_1",
            points=1,
            asks="for elements of 1 byte",
            unit="times",
            expected=_byte,
            hint="How many sectors do the elements of all lanes fill when they lie side by side? And at worst?",
            misconceptions=(
                Misconception(_float, "This is the factor for floats. Single bytes of a whole warp need less room."),
                Misconception(_half, "This is the factor for elements of twice the size."),
                Misconception(1, "The best request reads neighbours. A bad one does not."),
            ),
        ),
        Number(
            name="bytes_2",
            points=1,
            asks="for elements of 2 bytes (FP16)",
            unit="times",
            expected=_half,
            hint="How many sectors do the elements of all lanes fill when they lie side by side? And at worst?",
            misconceptions=(
                Misconception(_byte, "This is the factor for single bytes, which fill one sector at best."),
                Misconception(_float, "This is the factor for floats, which fill more sectors at best."),
                Misconception(2, "This is the number of sectors at best."),
            ),
        ),
        Number(
            name="bytes_4",
            points=1,
            asks="for elements of 4 bytes",
            unit="times",
            expected=_float,
            hint="How many sectors do the elements of all lanes fill when they lie side by side? And at worst?",
            misconceptions=(
                Misconception(
                    WARP_LANES,
                    "At worst every lane has a sector of its own. But the best request needs several sectors, too.",
                ),
                Misconception(_packed.sectors[0], "This is the number of sectors at best."),
                Misconception(_half, "This is the factor for elements of half the size."),
            ),
        ),
        Number(
            name="bytes_16",
            points=1,
            asks="for elements of 16 bytes",
            unit="times",
            expected=_wide,
            hint="How many of these elements fit in a sector?",
            misconceptions=(
                Misconception(_float, "This is the factor for floats. Fewer large elements fit in a sector."),
                Misconception(1, "More than one of these elements fits in a sector, so there is something to lose."),
                Misconception(
                    coalesce(lane_addresses(element_bytes=16), 16).sectors[0], "This is the number of sectors at best."
                ),
            ),
        ),
    ),
    worked=(
        f"At worst, every lane has a sector of its own: {WARP_LANES} sectors, whatever the size (up to "
        f"{SECTOR_BYTES} bytes). At best, the elements fill {WARP_LANES} × size ÷ {SECTOR_BYTES} sectors. So the "
        f"factor is {SECTOR_BYTES} ÷ size: **{_byte}**, **{_half}**, **{_float}** and **{_wide}**.\n\nA good answer in "
        "an interview: *Coalescing merges the addresses of the lanes of one memory instruction: each sector that they "
        "touch is moved once. The worst case is one sector for each lane. For floats this is 8 times the best case; "
        'the "32 times" that one often hears is true for single bytes only.*'
    ),
)

# p8: blocks with two axes ------------------------------------------------------------------------

_PITCH = 1024


def _block_sectors(block: tuple[int, int], warp: int = 0) -> int:
    x, y, active = lanes_of(block)
    return int(coalesce(index_addresses(y * _PITCH + x), _FLOAT, active).sectors[warp])


_square, _narrow, _upright = _block_sectors((16, 16)), _block_sectors((4, 64)), _block_sectors((1, 256))
_ragged = _block_sectors((33, 3), warp=1)
_full_row = int(_packed.sectors[0])

P8 = Question(
    name="coalescing/p8",
    statement=(
        f"A matrix has rows of {_PITCH} floats and starts at the beginning of a line. Thread (x, y) of the block in "
        "its upper left corner reads the float in column x of row y. How many sectors does one request touch?"
    ),
    parts=(
        Number(
            name="block_16_16",
            points=1,
            asks="the first warp of a block of 16 × 16 threads",
            unit="sectors",
            expected=_square,
            hint="Which x and y have the lanes of this warp? Count the sectors of each row that it reads in.",
            misconceptions=(
                Misconception(2 * _square, "This is twice too much: how many floats of a row does the warp read?"),
                Misconception(_upright, "This gives each lane a sector of its own. Neighbours in a row share sectors."),
                Misconception(2, "This is the number of rows. How many sectors does the warp touch in each?"),
            ),
        ),
        Number(
            name="block_4_64",
            points=1,
            asks="the first warp of a block of 4 × 64 threads",
            unit="sectors",
            expected=_narrow,
            hint="Which x and y have the lanes of this warp? Count the sectors of each row that it reads in.",
            misconceptions=(
                Misconception(
                    _full_row, "This would be right if every touched sector were used to the last byte. Is it?"
                ),
                Misconception(_upright, "This gives each lane a sector of its own. Neighbours in a row share sectors."),
                Misconception(2 * _narrow, "This is twice too much: do the floats of a row lie across two sectors?"),
            ),
        ),
        Number(
            name="block_1_256",
            points=1,
            asks="the first warp of a block of 1 × 256 threads",
            unit="sectors",
            expected=_upright,
            hint="All lanes have the same x. In how many rows do they read?",
            misconceptions=(
                Misconception(_full_row, "This would be right for lanes along a row. These go down a column."),
                Misconception(1, "All lanes read in one column, but each one in a row of its own."),
                Misconception(256, "These are the threads of the block. A request belongs to one warp."),
            ),
        ),
        Number(
            name="block_33_3",
            points=1,
            asks="the second warp of a block of 33 × 3 threads",
            unit="sectors",
            expected=_ragged,
            hint="Where does the first warp end? The second one goes on from there, and then with the next row.",
            misconceptions=(
                Misconception(
                    _full_row,
                    "This would be right if the warp began a row. It begins with the last thread of the row before.",
                ),
                Misconception(3, "This is the number of rows of the block."),
                Misconception(2, "This counts rows. How many sectors does the warp touch in each?"),
            ),
        ),
    ),
    worked=(
        "Threads are numbered along x first, and every 32 of them are a warp. In 16 × 16, the first warp is two half "
        f"rows of 16 floats, 64 bytes each: 2 × 2 = **{_square}**. As good as a whole row, because a part of a row "
        f"needs only to fill whole sectors, and {SECTOR_BYTES // _FLOAT} floats do. In 4 × 64 it is 8 rows of 4 "
        f"floats, half a sector each: **{_narrow}**. In 1 × 256 it is a column: **{_upright}**. In 33 × 3, the first "
        "warp takes x = 0 to 31 of row 0. The second takes x = 32 of row 0 (one sector), and x = 0 to 30 of row 1 "
        f"(four sectors): **{_ragged}**. So choose the number of threads along x as a multiple of 32, or at least "
        f"of {SECTOR_BYTES // _FLOAT}."
    ),
)
