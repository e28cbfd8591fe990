"""Question 5: a transpose through a tile of 32 x 32 floats, stored along its rows and loaded down its columns."""

from __future__ import annotations

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.banks import BANKS, BankConflicts, Tile
from course.models.coalescing import WARP_LANES

__all__ = ["QUESTION", "VARIANTS"]

_FLOAT = 4
_WORDS = {4: "four", 8: "eight"}


def _question(rows: int, columns: int, wide_pad: int) -> Question:
    """A tile of so many floats, and a pad that does not cure it."""

    def tile(pad: int) -> Tile:
        return Tile(rows, columns, pad, _FLOAT)

    def column(pad: int) -> BankConflicts:
        return tile(pad).access("column")

    def degree(pad: int) -> int:
        return int(column(pad).degree[0])

    def wavefronts(pad: int) -> int:
        return int(column(pad).wavefronts[0])

    best_pad = next(pad for pad in range(BANKS) if degree(pad) == 1)
    extra_bytes = tile(best_pad).shared_bytes - tile(0).shared_bytes
    padded = columns + wide_pad
    return Question(
        name="tiling/q5",
        statement=(
            f"A transpose goes through the shared tile `t` of {rows} rows and {columns} columns of 4-byte floats. Each "
            "warp stores to it along a row, lane i to `t[y, i]`, and loads from it down a column, lane i from `t[i, "
            "y]`. All 32 lanes are active. The global loads and stores are perfect, but the kernel is hardly faster "
            "than the naive one."
        ),
        parts=(
            Number(
                name="degree",
                points=1,
                asks="conflict degree of the load",
                expected=degree(0),
                hint="Take the words of lane i and of lane i plus one: how far apart are they? In which bank is each?",
                misconceptions=(
                    Misconception(
                        int(tile(0).access("row").degree[0]),
                        "This is the degree of the store, along a row. Which words do the lanes load, down a column?",
                    ),
                    Misconception(
                        0,
                        "No access has this degree while a lane is active. It counts the words in the fullest bank, "
                        "and there is at least one.",
                    ),
                    Misconception(
                        wavefronts(0) - 1,
                        "These are the extra wavefronts. The degree counts all words of the bank, also the first one.",
                    ),
                    Misconception(
                        WARP_LANES // 2,
                        "This would be right if the words lay in two banks. How many words is a whole row?",
                    ),
                    Misconception(
                        rows * columns,
                        "This counts the elements of the tile. Asked is one request of one warp.",
                    ),
                ),
            ),
            Number(
                name="wavefronts",
                points=0.5,
                asks="shared wavefronts of this load, for one warp",
                unit="wavefronts",
                expected=wavefronts(0),
                hint="In one wavefront, each bank delivers one word. How many words must the fullest bank deliver?",
                misconceptions=(
                    Misconception(
                        column(0).conflicts[0],
                        "These are the wavefronts that come on top. Count the first one, too.",
                    ),
                    Misconception(
                        int(tile(0).access("row").wavefronts[0]),
                        "This is what it costs when every lane finds a bank of its own: along a row, say.",
                    ),
                    Misconception(
                        WARP_LANES * _FLOAT,
                        "These are bytes. Count passes through the banks.",
                    ),
                    Misconception(
                        wavefronts(0) * rows * columns // WARP_LANES,
                        "This is the cost of the whole tile. Asked is one request of one warp.",
                    ),
                ),
            ),
            Number(
                name="row_length",
                points=1,
                asks="the smallest number of floats in each row of the tile, at least as many as now, with which "
                "neither the store nor the load has a conflict",
                unit="floats",
                expected=columns + best_pad,
                hint="From lane to lane, the load goes one row further. By how many banks should that shift it?",
                misconceptions=(
                    Misconception(columns, "This is the length that the tile has now."),
                    Misconception(
                        columns - 1,
                        "Rows that are shorter have no room for the tile. Make them longer.",
                    ),
                    Misconception(
                        columns + 2,
                        "This shifts each row by an even number of banks: half of the banks are never used.",
                    ),
                    Misconception(
                        columns + wide_pad,
                        "This keeps rows at multiples of a wide load, but it shifts each row by several banks, and "
                        "some banks are never used.",
                    ),
                    Misconception(
                        2 * columns,
                        "With this length, a row is again a whole number of turns through the banks.",
                    ),
                    Misconception(
                        best_pad,
                        "This is the pad alone. Give the whole length of a row.",
                    ),
                ),
            ),
            Number(
                name="wavefronts_fixed",
                points=0.5,
                asks="shared wavefronts of the load with this row length",
                unit="wavefronts",
                expected=wavefronts(best_pad),
                hint="After the fix, how many words must the fullest bank deliver?",
                misconceptions=(
                    Misconception(0, "A load takes a wavefront also when nothing collides."),
                    Misconception(
                        wavefronts(0),
                        "This is the cost before the fix.",
                    ),
                    Misconception(
                        WARP_LANES // 2,
                        "This would be half of the cost before. With the right length, nothing collides any more.",
                    ),
                    Misconception(2, "One for the store and one for the load? Asked is the load alone."),
                ),
            ),
            Number(
                name=f"degree_{padded}",
                points=1,
                asks=f"conflict degree of the load if the rows have {padded} floats instead",
                expected=degree(wide_pad),
                hint="Write down the banks of the first lanes. When do they start over? How many lanes meet in each?",
                misconceptions=(
                    Misconception(
                        degree(best_pad),
                        "Not every pad is a cure. By how many banks does this one shift each row, and which banks are "
                        "never reached?",
                    ),
                    Misconception(
                        BANKS // degree(wide_pad),
                        "This counts the banks that are used, or the lanes until they start over. How many lanes meet "
                        "in each of them?",
                    ),
                    Misconception(
                        degree(0),
                        "This is the degree without a pad. The pad does help, but how much?",
                    ),
                    Misconception(
                        degree(2),
                        "This is the degree with a pad of two. Shift by the pad of this tile.",
                    ),
                    Misconception(
                        wavefronts(wide_pad) - 1,
                        "These are the extra wavefronts. The degree counts the first one, too.",
                    ),
                ),
            ),
            Number(
                name="extra_bytes",
                points=1,
                asks="bytes of shared memory that the right row length costs more than the tile above, for the whole "
                "tile",
                unit="bytes",
                expected=extra_bytes,
                hint="How many floats more has each row, and how many rows are there? How many bytes is a float?",
                misconceptions=(
                    Misconception(
                        extra_bytes // _FLOAT,
                        "This counts floats. Give bytes.",
                    ),
                    Misconception(
                        _FLOAT * best_pad,
                        "This is the pad of one row. Every row has one.",
                    ),
                    Misconception(
                        tile(best_pad).shared_bytes,
                        "This is the whole tile with its pad. Asked is only what it costs more.",
                    ),
                    Misconception(
                        tile(wide_pad).shared_bytes - tile(0).shared_bytes,
                        f"This is what a pad of {_WORDS[wide_pad]} costs. One float is enough.",
                    ),
                    Misconception(
                        ((rows + 1) * (columns + 1) - rows * columns) * _FLOAT,
                        "This makes the tile larger in both directions. Only the rows become longer.",
                    ),
                    Misconception(
                        extra_bytes / tile(0).shared_bytes,
                        "This is the share of the tile. Give bytes.",
                    ),
                ),
            ),
        ),
    )


VARIANTS = Variants(
    _question, ((32, 32, 4), (32, 32, 8), (64, 32, 4), (64, 32, 8), (32, 64, 4), (32, 64, 8), (64, 64, 4), (64, 64, 8))
)
"""Rows and columns of the tile, and the pad that is no cure."""
QUESTION = VARIANTS.published
