"""Question 7: the same bytes as one load of words, or as four loads of single bytes."""

from __future__ import annotations

import numpy as np

from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.models.coalescing import WARP_LANES, Coalescing, Integers, coalesce, lane_addresses

__all__ = ["QUESTION"]


def _sectors(request: Coalescing) -> int:
    return int(request.sectors.sum())


def _lines(request: Coalescing) -> int:
    return int(request.lines.sum())


_CHANNELS = 4
_pixel = np.arange(WARP_LANES, dtype=np.int64)
_LAYOUTS = {
    "interleaved": "the four bytes of a pixel side by side, pixel after pixel",
    "padded": "the four bytes of a pixel side by side, then four unused bytes",
    "groups of four": "a byte each of four pixels side by side, then their next bytes",
    "planes": "all first bytes of the image, then all second bytes, and so on",
}


def _byte_addresses(layout: str, channel: int) -> Integers:
    """Where the lanes' pixels keep one of their bytes."""
    if layout == "interleaved":
        return _pixel * _CHANNELS + channel
    if layout == "padded":
        return _pixel * 2 * _CHANNELS + channel
    if layout == "groups of four":
        return _pixel // 4 * 4 * _CHANNELS + channel * 4 + _pixel % 4
    return channel * WARP_LANES + _pixel


def _four_loads(layout: str) -> list[Coalescing]:
    return [coalesce(_byte_addresses(layout, channel), 1) for channel in range(_CHANNELS)]


def _cost(layout: str) -> int:
    """Sectors of the four byte loads together."""
    return sum(_sectors(load) for load in _four_loads(layout))


_words = coalesce(lane_addresses(element_bytes=_CHANNELS), _CHANNELS)
_byte_loads = _four_loads("interleaved")

QUESTION = Question(
    name="coalescing/q7",
    statement=(
        "An image keeps four bytes for each pixel, side by side, and starts at the beginning of a line. A warp needs "
        "all 128 bytes of 32 neighbouring pixels, one pixel a lane. It can read each pixel with one 4-byte load, or "
        "with four loads of 1 byte: the first byte of every pixel, then the second, and so on."
    ),
    parts=(
        Number(
            name="word_sectors",
            points=1,
            asks="sectors that the 4-byte load touches",
            unit="sectors",
            expected=_sectors(_words),
            hint="The lanes' words lie side by side. How many sectors do all their bytes fill?",
            misconceptions=(
                Misconception(
                    _lines(_words),
                    "This counts lines, or requests. A line is made of several sectors.",
                ),
                Misconception(
                    WARP_LANES,
                    "This gives every lane its own sector. Neighbouring lanes share one here.",
                ),
                Misconception(
                    int(_words.requested_bytes.sum()),
                    "These are bytes. Asked is how many sectors hold them.",
                ),
                Misconception(
                    _cost("interleaved"),
                    "This is the cost of reading byte by byte. One load of words touches each sector once.",
                ),
            ),
        ),
        Number(
            name="byte_sectors",
            points=1,
            asks="sectors that the four 1-byte loads touch, added up over the four requests",
            unit="sectors",
            expected=_cost("interleaved"),
            hint="Take one of the four loads: its lanes read bytes that lie a pixel apart. Count its sectors, then "
            "add up the four requests.",
            misconceptions=(
                Misconception(
                    _sectors(_byte_loads[0]),
                    "This is the cost of one of the four loads. Sectors are merged inside one request only: the next "
                    "load asks for them again.",
                ),
                Misconception(
                    WARP_LANES * _CHANNELS,
                    "This gives every lane of every load its own sector (or counts bytes). Lanes of one load whose "
                    "bytes lie in the same sector share it.",
                ),
                Misconception(
                    WARP_LANES,
                    "This counts lanes, as if each pixel cost a sector. Count the sectors of one load, then add up "
                    "the loads.",
                ),
                Misconception(
                    sum(int(load.transferred_bytes.sum()) for load in _byte_loads),
                    "These are the bytes moved. Asked is the number of sectors.",
                ),
            ),
        ),
        Choice(
            name="layout",
            points=1,
            asks="the layout in which the four 1-byte loads together cost no more than the one 4-byte load above",
            options=_LAYOUTS,
            expected=next(layout for layout in _LAYOUTS if _cost(layout) == _sectors(_words)),
            hint="For one load, how far apart are the bytes of neighbouring lanes?",
            misconceptions=(
                Misconception(
                    "interleaved",
                    "This is the layout we have. The lanes of one load read bytes that lie a pixel apart.",
                ),
                Misconception(
                    "padded",
                    "Padding moves the lanes' bytes further apart, so that each load reaches more sectors.",
                ),
                Misconception(
                    "groups of four",
                    "The bytes of four lanes now touch, but the next four lanes still sit behind other bytes: each "
                    "load still reaches across the same stretch.",
                ),
            ),
        ),
    ),
)
