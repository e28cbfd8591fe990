"""Question 8: the same waste on a CPU and in a warp."""

from __future__ import annotations

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.coalescing import SECTOR_BYTES, WARP_LANES, coalesce, lane_addresses

__all__ = ["QUESTION", "VARIANTS"]

_FLOAT = 4
_ROUNDING = 1e-3
"""Relative tolerance of a fraction: three digits are enough."""
_CPU_LINE = 64
_STRIDES = range(1, WARP_LANES + 1)

_ORDINALS = {4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh"}


def _warp_efficiency(stride: int) -> float:
    return coalesce(lane_addresses(stride=stride, element_bytes=_FLOAT), _FLOAT).efficiency


def _question(stride: int) -> Question:
    """A CPU thread reads one float in `stride`."""
    walk = coalesce(lane_addresses(stride=stride, element_bytes=_FLOAT), _FLOAT, unit_bytes=_CPU_LINE)
    warp_stride = next(other for other in _STRIDES if _warp_efficiency(other) == walk.efficiency)
    on_average = "" if _CPU_LINE % (stride * _FLOAT) == 0 else ", on average"
    return Question(
        name="coalescing/q8",
        statement=(
            f"A single CPU thread walks through a long array of 4-byte floats and reads every {_ORDINALS[stride]} one. "
            "Its cache fetches lines of 64 bytes, and the array starts at the beginning of one. Compare it with a warp "
            "whose lanes read 4-byte floats at a fixed element stride, from an aligned base."
        ),
        parts=(
            Number(
                name="line_fraction",
                points=1,
                asks=f"share of the bytes of each fetched CPU line that the thread uses{on_average}",
                expected=walk.efficiency,
                tolerance=_ROUNDING,
                fraction=True,
                hint="How many floats fit in the CPU's line, and how many of them does the thread read?",
                misconceptions=(
                    Misconception(
                        1 / walk.efficiency,
                        "This is upside down, or the stride itself. Give the bytes used over the bytes fetched.",
                    ),
                    Misconception(
                        _FLOAT / _CPU_LINE,
                        "This says that one float of each line is used. The thread reads more than one before it "
                        "leaves the line.",
                    ),
                    Misconception(
                        1,
                        "The whole line is fetched, but the thread does not read all of it.",
                    ),
                    Misconception(
                        1 - walk.efficiency,
                        "This is the share that is skipped. Asked is the share that is used.",
                    ),
                    Misconception(
                        _FLOAT / SECTOR_BYTES,
                        "This compares one float with a sector of a GPU. Here the CPU fetches its own lines.",
                    ),
                ),
            ),
            Number(
                name="warp_stride",
                points=1,
                asks="smallest element stride at which the warp's efficiency equals that share",
                unit="elements",
                expected=warp_stride,
                hint="At a given stride, which share of a touched sector do the lanes use? Look for the stride where "
                "it equals the share of the CPU's line.",
                misconceptions=(
                    Misconception(
                        warp_stride * _FLOAT,
                        "This is a stride in bytes. Asked is the stride in elements.",
                    ),
                    Misconception(
                        SECTOR_BYTES // _FLOAT,
                        "At this stride every lane has a sector for itself, and the efficiency is at its lowest. That "
                        "is a smaller share.",
                    ),
                    Misconception(
                        stride * SECTOR_BYTES // _CPU_LINE,
                        "This makes the stride smaller because a sector is smaller than the CPU's line. But the share "
                        "that is used depends on the gaps between elements.",
                    ),
                    Misconception(
                        1,
                        "At this stride nothing is skipped: the warp uses every byte that it fetches.",
                    ),
                ),
            ),
        ),
    )


VARIANTS = Variants(_question, ((4,), (5,), (6,), (7,)))
"""Stride of the CPU's walk in elements."""
QUESTION = VARIANTS.published
