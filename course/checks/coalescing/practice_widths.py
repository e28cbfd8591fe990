"""Practice with element sizes: reading the profiler's ratio, and a copy with 16-byte accesses."""

from __future__ import annotations

from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.models.coalescing import WARP_LANES, coalesce, lane_addresses

__all__ = ["P4", "P5"]

_FLOAT, _WIDE = 4, 16

# p4: sectors per request, read from a profiler -----------------------------------------------------

_CASES = {
    "best": "neighbours, from the start of a sector on",
    "misaligned": "neighbours, but the first one lies inside a sector",
    "stride": "the lanes skip elements",
    "broadcast": "all lanes read one element",
}
_SKIPS = range(2, WARP_LANES + 1)


def _sectors(size: int, stride: int = 1, offset: int = 0) -> int:
    return int(coalesce(lane_addresses(stride, offset, size), size).sectors[0])


def _case(size: int, sectors: int) -> str:
    """The only case in which elements of this size cost this many sectors."""
    costs = {
        "best": {_sectors(size)}, "misaligned": {_sectors(size, offset=1)}, "broadcast": {_sectors(size, stride=0)},
        "stride": {_sectors(size, stride=skip) for skip in _SKIPS},
    }  # fmt: skip
    (fitting,) = (name for name, counts in costs.items() if sectors in counts)
    return fitting


_WHY = {
    "best": "Work out the best case for this size of element. The number is another one.",
    "misaligned": "A start inside a sector costs one sector more than the best case for this size. Does it fit?",
    "stride": "With gaps between the lanes there would be clearly more sectors than in the best case for this size.",
    "broadcast": "When all lanes read one element, one sector is touched.",
}


def _choice(name: str, asks: str, size: int, sectors: int) -> Choice:
    right = _case(size, sectors)
    return Choice(
        name=name, points=1, asks=asks, options=_CASES, expected=right,
        hint="Work out the best case for this size of element, and compare.",
        misconceptions=tuple(Misconception(case, why) for case, why in _WHY.items() if case != right),
    )  # fmt: skip


P4 = Question(
    name="coalescing/p4",
    statement="A profiler shows sectors per request of five loads. All warps are full. What does each number mean?",
    parts=(
        Number(
            name="half_best",
            points=1,
            asks="sectors per request of a load of 2-byte elements, at best, when every lane reads its own",
            unit="sectors",
            expected=_sectors(2),
            hint="How many bytes do all lanes ask for together?",
            misconceptions=(
                Misconception(_sectors(4), "This is the best case for elements of twice the size."),
                Misconception(_sectors(1), "This is the best case for elements of half the size."),
                Misconception(WARP_LANES, "This is the worst case: one sector for each lane."),
            ),
        ),
        _choice("float_5", "4-byte elements, five sectors per request", 4, 5),
        _choice("wide_16", "16-byte elements, sixteen sectors per request", 16, 16),
        _choice("float_16", "4-byte elements, sixteen sectors per request", 4, 16),
        _choice("float_1", "4-byte elements, one sector per request", 4, 1),
    ),
    worked=(
        f"The best case of a full warp is {WARP_LANES} × size ÷ 32 sectors: {_sectors(1)}, **{_sectors(2)}**, "
        f"{_sectors(4)}, {_sectors(8)} and {_sectors(16)} for elements of 1, 2, 4, 8 and 16 bytes. So 16 sectors are "
        "**best** for 16-byte elements, and a **stride** (of four) for floats. Five for floats is one more than the "
        "best case: **misaligned**. One for floats is less than the best case, so lanes share: **broadcast**.\n\nA "
        "good answer in an interview: *I look at sectors per request of the load. The ideal depends on the size of the "
        "element: four for floats, sixteen for 16-byte loads. A number between comes from a stride, one more than the "
        "ideal from a start inside a sector, and it is counted before any cache answers.*"
    ),
)

# p5: a copy with 16-byte accesses --------------------------------------------------------------------

_START, _COUNT = 5, 1000
_PER_WIDE = _WIDE // _FLOAT
_head = -_START % _PER_WIDE
_wide, _rest = divmod(_COUNT - _head, _PER_WIDE)
_BYTES = {"the same": "as many as before", "a quarter": "a quarter of them", "half": "half of them"}

P5 = Question(
    name="coalescing/p5",
    statement=(
        f"A kernel copies a view of {_COUNT} floats that starts at element {_START} of its array. It now uses 16-byte "
        "loads wherever they are allowed, and single floats elsewhere."
    ),
    parts=(
        Number(
            name="before",
            points=1,
            asks="floats that must be copied singly before the first wide load",
            unit="elements",
            expected=_head,
            hint="At which index of the array may a wide load start? How far is the next one from the view's start?",
            misconceptions=(
                Misconception(
                    _START % _PER_WIDE,
                    "This is the way back to the last good address. The view has nothing there: go forward.",
                ),
                Misconception(_START, "This is where the view starts. How far is it to the next good address?"),
                Misconception(0, "The array starts at a good address, but the view does not."),
            ),
        ),
        Number(
            name="wide",
            points=1,
            asks="wide loads, counted in lanes",
            unit="loads",
            expected=_wide,
            hint="How many groups of whole wide loads fit between the first good address and the end?",
            misconceptions=(
                Misconception(_COUNT // _PER_WIDE, "This forgets the floats that were copied before the wide part."),
                Misconception(_COUNT - _head - _rest, "These are floats. One wide load moves several of them."),
                Misconception(
                    (_COUNT - _START) // _PER_WIDE,
                    "This takes the elements before the view away from its length. They never belonged to it.",
                ),
            ),
        ),
        Number(
            name="after",
            points=1,
            asks="floats that must be copied singly after the last wide load",
            unit="elements",
            expected=_rest,
            hint="What is left when the floats before and the wide part are taken away?",
            misconceptions=(
                Misconception(
                    _COUNT % _PER_WIDE, "This is what is left of the whole view. Some floats are already copied."
                ),
                Misconception(_PER_WIDE, "So many make one more wide load."),
                Misconception(_head, "This is the number before the wide part. The end has its own."),
            ),
        ),
        Choice(
            name="moved",
            points=1,
            asks="bytes that come from the memory chips now, compared with single floats from the start",
            options=_BYTES,
            expected="the same",
            hint="Does any byte no longer have to be read?",
            misconceptions=(
                Misconception("a quarter", "The requests become a quarter. Each of them asks for more bytes."),
                Misconception("half", "Every float is still read once. What becomes fewer?"),
            ),
        ),
    ),
    worked=(
        f"A wide load may start at an index of the array that is a multiple of {_PER_WIDE}. The view starts at "
        f"{_START}, the next such index is {_START + _head}: **{_head}** single floats. {_COUNT - _head} are left, "
        f"which is {_PER_WIDE} × **{_wide}**, and **{_rest}** for the end. The bytes are **the same**: nothing is read "
        "that was not read before, and everything still is. Only the requests are fewer.\n\nA good answer in an "
        "interview: *They need a quarter of the requests, so more bytes are on their way at a time and less work goes "
        "into asking. They need an address that is a multiple of 16, also for views, and a way to do the ends. They "
        "do not reduce the bytes: where the memory is already busy all the time, they win nothing.*"
    ),
)
