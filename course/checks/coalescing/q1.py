"""Question 1: one warp reads one element in eight."""

from __future__ import annotations

from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.coalescing import LINE_BYTES, SECTOR_BYTES, WARP_LANES, coalesce, lane_addresses

__all__ = ["QUESTION", "VARIANTS"]

_ROUNDING = 1e-3
"""Relative tolerance of a fraction: three digits are enough."""

_SHAPES = {
    1: "one lane per sector",
    2: "two lanes per sector",
    4: "four lanes per sector",
    8: "eight lanes per sector",
    16: "sixteen lanes per sector",
    WARP_LANES: "all lanes in one sector",
}
"""Lanes that share a sector, in words."""


def _question(element: int, stride: int) -> Question:
    """A warp reads elements of so many bytes, a stride apart that leaves every lane a sector of its own."""
    addresses = lane_addresses(stride=stride, element_bytes=element)
    request = coalesce(addresses, element)
    neighbours = coalesce(lane_addresses(stride=1, element_bytes=element), element)
    span_bytes = int(addresses.max() - addresses.min()) + element
    sectors, lines = int(request.sectors.sum()), int(request.lines.sum())
    dense_sectors, dense_lines = int(neighbours.sectors.sum()), int(neighbours.lines.sum())
    requested, transferred = int(request.requested_bytes.sum()), int(request.transferred_bytes.sum())
    shape, line_shape, dense_shape = (_SHAPES[WARP_LANES // units] for units in (sectors, lines, dense_sectors))
    shapes = {shape, line_shape, dense_shape, _SHAPES[WARP_LANES]}
    return Question(
        name="coalescing/q1",
        statement=(
            f"All 32 lanes of one warp run the same load once. Lane `i` reads the {element}-byte element `x[{stride} * "
            "i]`, and `x` starts at the beginning of a line. What does this one request cost?"
        ),
        parts=(
            Number(
                name="sectors",
                points=1,
                asks="sectors that the request touches",
                unit="sectors",
                expected=sectors,
                hint="Write down the address of every lane, divide each by the bytes of a sector, and count the "
                "different whole results.",
                misconceptions=(
                    Misconception(
                        lines,
                        "This counts lines, or repeats the stride. A line is four sectors: count the pieces that are "
                        "fetched, one for each sector with a touched byte.",
                    ),
                    Misconception(
                        dense_sectors,
                        "This is the count when neighbouring lanes read neighbouring elements. Here the lanes are a "
                        "stride apart: start from their real addresses.",
                    ),
                    Misconception(
                        span_bytes // SECTOR_BYTES,
                        "This divides the distance from first to last byte by a sector and drops the rest. Count the "
                        "sectors that lanes touch, also the last one that is only begun.",
                    ),
                    Misconception(
                        request.requests,
                        "This counts requests. One request can touch many sectors: how many does this one touch?",
                    ),
                    Misconception(
                        WARP_LANES * stride,
                        "This multiplies lanes by stride: it counts the elements in the stretch that the warp walks "
                        "over. Sectors are larger than elements, and only touched ones count.",
                    ),
                ),
            ),
            Number(
                name="lines",
                points=1,
                asks="lines that the request touches",
                unit="lines",
                expected=lines,
                hint="Divide the address of every lane by the bytes of a line and count the different whole results.",
                misconceptions=(
                    Misconception(
                        sectors,
                        "This counts sectors. Several sectors lie in one line, and lanes that share a line count once.",
                    ),
                    Misconception(
                        dense_lines,
                        "This is the count when neighbouring lanes read neighbouring elements, or it counts the "
                        "request. With the stride the warp reaches further.",
                    ),
                    Misconception(
                        span_bytes // LINE_BYTES,
                        "This divides the distance from first to last byte by a line and drops the rest. The line that "
                        "is only begun is touched as well.",
                    ),
                    Misconception(
                        LINE_BYTES // SECTOR_BYTES,
                        "This is the number of sectors in a line. Asked is how many lines the lanes reach.",
                    ),
                ),
            ),
            Number(
                name="requested_bytes",
                points=0.5,
                asks="bytes that the lanes ask for, all together",
                unit="bytes",
                expected=requested,
                hint="Requested bytes are active lanes times the size of one element. The stride plays no part.",
                misconceptions=(
                    Misconception(
                        transferred,
                        "These are the bytes that are moved. Requested are only the bytes that the lanes ask for.",
                    ),
                    Misconception(
                        element,
                        "This is what one lane asks for. A request is made by the whole warp.",
                    ),
                    Misconception(
                        WARP_LANES,
                        "This counts lanes (or the bytes of one sector). Each lane asks for an element of several "
                        "bytes.",
                    ),
                    Misconception(
                        span_bytes,
                        "This is the distance from the first to the last byte. The bytes in the gaps are asked for by "
                        "no lane.",
                    ),
                ),
            ),
            Number(
                name="transferred_bytes",
                points=0.5,
                asks="bytes that are moved to serve the request",
                unit="bytes",
                expected=transferred,
                hint="Bytes move in whole sectors: sectors touched times the bytes of a sector.",
                misconceptions=(
                    Misconception(
                        requested,
                        "These are the bytes that the lanes ask for. Moved are whole sectors, with every byte in them.",
                    ),
                    Misconception(
                        WARP_LANES,
                        "This counts sectors (or is the size of one). Asked are the bytes of all of them.",
                    ),
                    Misconception(
                        sectors * LINE_BYTES,
                        "This charges a whole line for every lane. A lane pulls in its sector; the rest of the line "
                        "stays where it is.",
                    ),
                    Misconception(
                        lines * SECTOR_BYTES,
                        "This multiplies lines by the bytes of a sector. Take sectors for both.",
                    ),
                    Misconception(
                        lambda given: given % SECTOR_BYTES != 0,
                        "Bytes move in whole sectors, so the result is a multiple of the bytes of a sector. This is "
                        "none.",
                    ),
                ),
            ),
            Number(
                name="efficiency",
                points=1,
                asks="efficiency of the request",
                expected=request.efficiency,
                tolerance=_ROUNDING,
                fraction=True,
                hint="Efficiency is requested bytes divided by transferred bytes, both of the whole request.",
                misconceptions=(
                    Misconception(
                        1 / request.efficiency,
                        "This is upside down: transferred over requested. Efficiency is requested over transferred.",
                    ),
                    Misconception(
                        neighbours.efficiency,
                        "This says that no byte is wasted. It is true when neighbouring lanes read neighbouring "
                        "elements; here most bytes of a sector are fetched for nobody.",
                    ),
                    Misconception(
                        element / LINE_BYTES,
                        "This compares one element with a whole line, or one sector with a warp's bytes. What is "
                        "fetched for a lane here is a sector.",
                    ),
                    Misconception(
                        1 - request.efficiency,
                        "This is the share that is wasted. Efficiency is the share that is used.",
                    ),
                    Misconception(
                        lambda given: not 0 < given <= 1,
                        "No lane shares an address here, so the lanes cannot use more than what is moved: the "
                        "efficiency lies between nothing and one.",
                    ),
                ),
            ),
            Choice(
                name="shape",
                points=1,
                asks="how the lanes spread over the sectors they touch",
                expected=shape,
                options=dict.fromkeys((name for name in _SHAPES.values() if name in shapes), ""),
                hint="Divide lanes by sectors touched.",
                misconceptions=(
                    Misconception(
                        line_shape,
                        "That is how the lanes spread over lines. A sector is smaller than a line.",
                    ),
                    Misconception(
                        dense_shape,
                        "That is the shape when neighbouring lanes read neighbouring elements. The stride pulls them "
                        "apart.",
                    ),
                    Misconception(
                        _SHAPES[WARP_LANES],
                        "That is a broadcast: all lanes read the same place. Here every lane reads its own element.",
                    ),
                ),
            ),
        ),
    )


VARIANTS = Variants(_question, ((4, 8), (4, 16), (4, 12), (2, 16), (2, 24), (2, 32), (8, 6), (8, 8)))
"""Bytes of an element, stride in elements."""
QUESTION = VARIANTS.published
