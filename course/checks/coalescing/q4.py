"""Question 4: a 16-byte load from a view that starts one float into its allocation."""

from __future__ import annotations

from course.checks.parts import ChoiceSet, Misconception, Number
from course.checks.question import Question
from course.models.coalescing import ACCESS_BYTES, LINE_BYTES, SECTOR_BYTES, MisalignedAccess, coalesce, lane_addresses

__all__ = ["QUESTION"]

_FLOAT = 4
_WIDE = max(ACCESS_BYTES)
_ALLOCATION = 256
"""Bytes to which an allocation is aligned (CUDA C++ Programming Guide, "Device Memory Accesses")."""

_view = int(lane_addresses(stride=0, offset=1, element_bytes=_FLOAT, lanes=1).item())
_aligned_start = -(-_view // _WIDE) * _WIDE

_FIXES = {
    "copy": "copy the view to a new array and load from that",
    "start": "start the view at an element whose index is a multiple of four",
    "prologue": "read single elements up to the first address that suits a wide load, wide ones from there",
    "cast": "keep the address and cast the pointer to a 16-byte type",
}
_FIRST_WIDE_ADDRESS = {"copy": 0, "start": _aligned_start, "prologue": _aligned_start, "cast": _view}


def _loads(address: int) -> bool:
    """Whether a warp's wide loads that begin at `address` are legal."""
    try:
        coalesce(lane_addresses(element_bytes=_WIDE, base=address), _WIDE)
    except MisalignedAccess:
        return False
    return True


QUESTION = Question(
    name="coalescing/q4",
    statement=(
        "A kernel copies the view `x[1:]` of a float32 array `x`, one element a lane. To speed it up, its loads "
        "are replaced by loads of 16 bytes. Now the kernel stops with *misaligned address*. `x` itself is a whole "
        "allocation. What is wrong, and what repairs it?"
    ),
    parts=(
        Number(
            name="misaligned_by",
            points=1,
            asks="how far the first address of the view lies behind the last address before it that a wide load "
            "could start from",
            unit="bytes",
            expected=_view % _WIDE,
            hint="Take the byte address of the view's first element, and its remainder when divided by the bytes of "
            "the load.",
            misconceptions=(
                Misconception(
                    _view // _FLOAT,
                    "This counts elements. Addresses are in bytes, and an element has several.",
                ),
                Misconception(
                    0,
                    "This is true of the allocation. The view starts one element later.",
                ),
                Misconception(
                    _aligned_start - _view,
                    "This is the way forward to the next address that suits. Asked is how far the view lies behind "
                    "the one before.",
                ),
            ),
        ),
        Number(
            name="required_alignment",
            points=1,
            asks="the number that the address of a wide load must be a multiple of",
            unit="bytes",
            expected=_WIDE,
            hint="A load needs an address that is a multiple of its own size.",
            misconceptions=(
                Misconception(
                    _FLOAT,
                    "This is what a load of one element needs. The kernel now loads several elements at once.",
                ),
                Misconception(
                    SECTOR_BYTES,
                    "This is a sector: how memory is fetched, not where a load may start. Crossing a sector costs "
                    "traffic; it stops no kernel.",
                ),
                Misconception(
                    LINE_BYTES,
                    "This is a line. A load that does not start a line is legal.",
                ),
                Misconception(
                    _ALLOCATION,
                    "This is how allocations are aligned. It is more than a load needs.",
                ),
            ),
        ),
        ChoiceSet(
            name="fixes",
            points=2,
            asks="the changes after which every wide load is legal",
            options=_FIXES,
            expected=frozenset(fix for fix, address in _FIRST_WIDE_ADDRESS.items() if _loads(address)),
            hint="For each change, work out the address of the first wide load. Can a wide load start there?",
            misconceptions=(
                Misconception(
                    "cast",
                    "A cast changes the type of a pointer, not its value: the load still starts at the same address.",
                ),
            ),
        ),
    ),
)
