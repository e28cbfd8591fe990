"""Exercise (c) of the chapter `occupancy`: the largest tile that keeps two blocks resident, on four cards."""

from __future__ import annotations

import math

from course.cards import card, limits
from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.occupancy import largest_square_tile

__all__ = ["CARDS", "QUESTION", "VARIANTS", "largest"]

_PAD = 1
CARDS = {"t4": "t4", "a100": "a100-80gb", "rtx_4090": "rtx-4090", "h200": "h200"}
"""Key of the answer -> card."""
_BY_DEFAULT = 48 * 1024
_NAMES, _PLURALS = {2: "A half", 4: "A float", 8: "A double"}, {2: "halves", 4: "floats", 8: "doubles"}
_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight"}


def largest(on: str, blocks: int = 2, element: int = 4) -> int:
    """The largest T for which tiles [T][T + 1] of elements of so many bytes leave so many blocks on an SM."""
    return largest_square_tile(on, blocks, element_bytes=element, pad=_PAD)


def _side(bytes_: float, element_bytes: int, pad: int = _PAD) -> int:
    """The largest T with T x (T + pad) elements in so many bytes."""
    side = math.isqrt(int(bytes_ // element_bytes))
    return next(t for t in range(side, 0, -1) if t * (t + pad) * element_bytes <= bytes_)


def _wrong(on: str, blocks: int, element: int) -> tuple[Misconception, ...]:
    """The wrong models; of two with one value, the first one is told."""
    sm, expected = limits(on), largest(on, blocks, element)
    pool, reserved = sm.shared_bytes_per_sm, sm.shared_reserved_bytes_per_block
    part = pool / blocks
    several, more = _WORDS[blocks], _WORDS[2 * blocks]
    models = [
        (
            _side(pool - reserved, element),
            f"With this tile, one block takes all of the shared memory. {several.capitalize()} should fit.",
        ),
        (_side(part - reserved, 1), f"{_NAMES[element]} has more than one byte."),
        (_side((part - reserved) / 2, element), "This is for two tiles in each block. Here a block has one."),
        (expected * (expected + _PAD), "These are the elements of the tile. Asked is its side."),
        (_side(_BY_DEFAULT, element), "This is the most that a block gets without asking. The kernel asked for more."),
        (
            _side(sm.l1_and_shared_bytes_per_sm / blocks - reserved, element),
            "A part of this memory always stays cache.",
        ),
        (_side(part / 2 - reserved, element), f"This keeps {more} blocks. {several.capitalize()} are enough."),
        (expected - 1, "It can be larger."),
    ]
    told: dict[int, str] = {}
    for value, sentence in models:
        if value != expected:
            told.setdefault(value, sentence)
    close = "This is a little too large: does each row have its pad"
    close += ", and each block its reserved part?" if reserved else "?"
    too_large = max(_side(part, element, pad=0), expected + 1)
    return (
        *(Misconception(value, sentence) for value, sentence in told.items()),
        Misconception(lambda given: expected < given <= too_large, close),
    )


def _part(name: str, on: str, blocks: int, element: int) -> Number:
    return Number(
        name=name,
        points=1,
        asks=f"the largest T for the {card(on).name}",
        unit="elements",
        expected=largest(on, blocks, element),
        hint=f"How many bytes may a block take, so that {_WORDS[blocks]} fit? Not all of them are for its "
        f"{_PLURALS[element]}.",
        misconceptions=_wrong(on, blocks, element),
    )


def _question(blocks: int, element: int) -> Question:
    """So many blocks with tiles whose elements have so many bytes."""
    return Question(
        name="occupancy/largest_tile",
        statement=(
            f"Each block of a transpose keeps one tile [T][T + 1] of {element}-byte floats in shared memory. It has "
            "256 threads of 32 registers. The SM gives as much of its memory to shared memory as it can, and the "
            f"kernel asked to use more than 48 KiB in a block. What is the largest T with which {_WORDS[blocks]} "
            "blocks stay resident on an SM? T is any whole number."
        ),
        parts=tuple(_part(name, on, blocks, element) for name, on in CARDS.items()),
    )


VARIANTS = Variants(_question, ((2, 4), (3, 4), (4, 4), (2, 8), (3, 8), (2, 2), (3, 2)))
"""Blocks that stay resident, bytes of an element."""
QUESTION = VARIANTS.published
