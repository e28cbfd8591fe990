"""Exercise (c) of the chapter `occupancy`: the largest tile that keeps two blocks resident, on four cards."""

from __future__ import annotations

import math

from course.cards import card, limits
from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.occupancy import largest_square_tile

__all__ = ["BLOCKS", "CARDS", "QUESTION", "largest"]

BLOCKS, _FLOAT, _PAD = 2, 4, 1
CARDS = {"t4": "t4", "a100": "a100-80gb", "rtx_4090": "rtx-4090", "h200": "h200"}
"""Key of the answer -> card."""
_BY_DEFAULT = 48 * 1024


def largest(on: str) -> int:
    """The largest T for which tiles [T][T + 1] of floats leave two blocks on an SM."""
    return largest_square_tile(on, BLOCKS, element_bytes=_FLOAT, pad=_PAD)


def _side(bytes_: float, element_bytes: int = _FLOAT, pad: int = _PAD) -> int:
    """The largest T with T x (T + pad) elements in so many bytes."""
    side = math.isqrt(int(bytes_ // element_bytes))
    return next(t for t in range(side, 0, -1) if t * (t + pad) * element_bytes <= bytes_)


def _wrong(on: str) -> tuple[Misconception, ...]:
    """The wrong models; of two with one value, the first one is told."""
    sm, expected = limits(on), largest(on)
    pool, reserved = sm.shared_bytes_per_sm, sm.shared_reserved_bytes_per_block
    half = pool / BLOCKS
    models = [
        (_side(pool - reserved), "With this tile, one block takes all of the shared memory. Two should fit."),
        (_side(half - reserved, element_bytes=1), "A float has more than one byte."),
        (_side((half - reserved) / 2), "This is for two tiles in each block. Here a block has one."),
        (expected * (expected + _PAD), "These are the elements of the tile. Asked is its side."),
        (_side(_BY_DEFAULT), "This is the most that a block gets without asking. The kernel asked for more."),
        (_side(sm.l1_and_shared_bytes_per_sm / BLOCKS - reserved), "A part of this memory always stays cache."),
        (_side(pool / 4 - reserved), "This keeps four blocks. Two are enough."),
        (expected - 1, "It can be larger."),
    ]
    told: dict[int, str] = {}
    for value, sentence in models:
        if value != expected:
            told.setdefault(value, sentence)
    close = "This is a little too large: does each row have its pad"
    close += ", and each block its reserved part?" if reserved else "?"
    too_large = max(_side(half, pad=0), _side(half), expected + 1)
    return (
        *(Misconception(value, sentence) for value, sentence in told.items()),
        Misconception(lambda given: expected < given <= too_large, close),
    )


def _part(name: str, on: str) -> Number:
    return Number(
        name=name,
        points=1,
        asks=f"the largest T for the {card(on).name}",
        unit="elements",
        expected=largest(on),
        hint="How many bytes may a block take, so that two fit? Not all of them are for its floats.",
        misconceptions=_wrong(on),
    )


QUESTION = Question(
    name="occupancy/largest_tile",
    statement=(
        "Each block of a transpose keeps one tile [T][T + 1] of 4-byte floats in shared memory. It has 256 threads of "
        "32 registers. The SM gives as much of its memory to shared memory as it can, and the kernel asked to use more "
        "than 48 KiB in a block. What is the largest T with which two blocks stay resident on an SM? T is any whole "
        "number."
    ),
    parts=tuple(_part(name, on) for name, on in CARDS.items()),
)
