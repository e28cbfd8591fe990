"""Question C: legal copies, and the time of three tiles."""

from __future__ import annotations

from course.checks.parts import ChoiceSet, Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.pipeline import COPY_BYTES, async_copy, pipeline

__all__ = ["COPIES", "QUESTION", "VARIANTS"]

_CANDIDATES = (1, 2, 4, 8, 12, 16, 32)
COPIES = {
    "one byte": (1, 0),
    "eight bytes": (8, 8),
    "twelve bytes": (12, 0),
    "sixteen bytes": (16, 8),
}
"""Name -> (bytes, shared address) of a copy whose global address is a multiple of 256."""
_MEANINGS = {
    "one byte": "1 byte, to a shared address that is a multiple of 16",
    "eight bytes": "8 bytes, to a shared address that is a multiple of 8",
    "twelve bytes": "12 bytes, to a shared address that is a multiple of 16",
    "sixteen bytes": "16 bytes, to a shared address that is a multiple of 8 and not of 16",
}

_WORDS = {3: "three", 4: "four"}


def _question(tiles: int, load: int, compute: int) -> Question:
    """So many tiles, and the times of one."""
    serial, double = (pipeline(tiles, load, compute, stages) for stages in (1, 2))
    return Question(
        name="cp_async/c",
        statement=(
            f"Which copies of one thread can `cp.async` do? And: a block works through {_WORDS[tiles]} tiles. To load "
            f"a tile takes {load}, to compute it {compute}, in any unit of time. The memory loads one tile at a time. "
            "Barriers and waits take no time."
        ),
        parts=(
            ChoiceSet(
                name="legal",
                points=1,
                asks="all numbers of bytes that one `cp.async` can copy",
                options={str(width): "" for width in _CANDIDATES},
                expected=frozenset(str(width) for width in _CANDIDATES if async_copy(width).legal),
                hint="How many whole words can one lane load with one instruction? It is the same here.",
                misconceptions=(
                    *(
                        Misconception(
                            str(width), "The hardware copies whole words: a single byte or a half word is too little."
                        )
                        for width in _CANDIDATES
                        if width < min(COPY_BYTES["ca"])
                    ),
                    Misconception("12", "Three words are no width of a copy: the widths are powers of two."),
                    Misconception("32", "This is a whole sector. One thread copies less at a time."),
                ),
            ),
            ChoiceSet(
                name="fails",
                points=1,
                asks="all copies that fail; the global address is a multiple of 256",
                options=_MEANINGS,
                expected=frozenset(
                    name for name, (width, shared) in COPIES.items() if not async_copy(width, 0, shared).legal
                ),
                hint="First the width, then both addresses: each must be a multiple of the width.",
                misconceptions=(
                    Misconception("eight bytes", "This width is legal, and the address is a multiple of it."),
                ),
            ),
            Number(
                name="one_buffer",
                points=1,
                asks=f"time of the {_WORDS[tiles]} tiles with one buffer",
                unit="in the same unit",
                expected=serial.total_time,
                hint="With one buffer, loading and computing take turns, tile after tile.",
                misconceptions=(
                    Misconception(
                        double.total_time, "Here a load goes on while a tile is computed. That needs a second buffer."
                    ),
                    Misconception(load + compute, "This is the time of one tile."),
                    Misconception(tiles * load, "These are only the loads. The computing comes on top."),
                    Misconception(tiles * compute, "This is only the computing. The loads come on top."),
                ),
            ),
            Number(
                name="two_buffers",
                points=1,
                asks=f"time of the {_WORDS[tiles]} tiles with two buffers",
                unit="in the same unit",
                expected=double.total_time,
                hint="Draw it: below each other, when each tile is loaded and when it is computed.",
                misconceptions=(
                    Misconception(
                        serial.total_time, "This is the time with one buffer, where loading and computing take turns."
                    ),
                    Misconception(
                        serial.total_time / 2,
                        "Two buffers do not halve the time. The longer of load and compute sets the pace.",
                    ),
                    Misconception(
                        tiles * max(load, compute),
                        "The first load has nothing to hide behind: nobody can compute before it has landed.",
                    ),
                    Misconception(load + tiles * max(load, compute) + compute, "This is one step too many: draw it."),
                ),
            ),
        ),
    )


VARIANTS = Variants(_question, ((3, 4, 6), (3, 4, 5), (3, 5, 7), (3, 6, 8), (4, 3, 5), (4, 4, 5), (4, 4, 6), (4, 5, 7)))
"""Tiles, time to load one, time to compute it."""
QUESTION = VARIANTS.published
