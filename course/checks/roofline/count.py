"""Exercise (c) of the chapter `roofline`: count the FLOP and the three kinds of bytes of a kernel.

The kernel is shown in the notebook; tests/checks/test_roofline.py profiles it and holds these numbers to the profile.
"""

from __future__ import annotations

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.coalescing import WARP_LANES, coalesce, lane_addresses
from course.models.roofline import intensity

__all__ = ["QUESTION"]

_FLOAT = 4
_OPERATIONS = {"subtract": 2, "multiply": 3, "add": 1}
_INDEX_ADDITIONS = 2
_LOADS = (("x", 1), ("x", 0), ("y", 1), ("y", 0))
"""Array and offset of each load."""
_STORES = (("out", 0),)
_accesses = (*_LOADS, *_STORES)


def _moved(accesses: tuple[tuple[str, int], ...]) -> float:
    """Bytes that L1 moves for each element of an aligned array."""
    requests = [coalesce(lane_addresses(1, offset, _FLOAT), _FLOAT) for _, offset in accesses]
    return sum(int(request.transferred_bytes.sum()) for request in requests) / WARP_LANES


def _once(accesses: tuple[tuple[str, int], ...]) -> int:
    """Bytes for each element of a long array when every byte comes once."""
    return _FLOAT * len({array for array, _ in accesses})


_flop = sum(_OPERATIONS.values())
_requested = _FLOAT * len(_accesses)
_transferred = _moved(_accesses)
_dram = _once(_accesses)
_intensity = float(intensity(_flop, _dram))

QUESTION = Question(
    name="roofline/count",
    statement=(
        "A kernel computes `out[i] = k * (dx * dx + dy * dy)` with `dx = x[i + 1] - x[i]` and `dy = y[i + 1] - y[i]`. "
        "All arrays hold 4-byte floats, they are long, and each begins at a multiple of 256 bytes. Count for each "
        "element, so divide by the number of elements."
    ),
    parts=(
        Number(
            name="flop",
            points=1,
            asks="FLOP: additions, subtractions and multiplications of floats",
            unit="FLOP for each element",
            expected=_flop,
            hint="Count every plus, minus and times between floats. Arithmetic with indices is not floating point.",
            misconceptions=(
                Misconception(
                    _flop - _OPERATIONS["add"],
                    "This counts a multiplication and the addition after it as one. They may be one instruction, but "
                    "they are two FLOP.",
                ),
                Misconception(
                    _flop + _INDEX_ADDITIONS,
                    "This counts the arithmetic of the indices, too. It is done with integers.",
                ),
                Misconception(
                    _OPERATIONS["multiply"],
                    "These are the multiplications alone. Additions and subtractions count as well.",
                ),
                Misconception(
                    _flop - _OPERATIONS["subtract"],
                    "The subtractions are missing. They count as additions do.",
                ),
            ),
        ),
        Number(
            name="requested_bytes",
            points=1,
            asks="bytes that the lanes ask for, loads and stores",
            unit="bytes for each element",
            expected=_requested,
            hint="Every access to an array in the text of the kernel is a request: count the accesses of one lane.",
            misconceptions=(
                Misconception(_FLOAT * len(_LOADS), "The store is missing. What is written moves, too."),
                Misconception(_dram, "This counts each array once. Two loads of the same array are two requests."),
                Misconception(len(_accesses), "These are accesses. How many bytes are they?"),
                Misconception(_requested * WARP_LANES, "This is what a whole warp asks for. Divide by its elements."),
            ),
        ),
        Number(
            name="transferred_bytes",
            points=1,
            asks="bytes that L1 moves for these requests: sectors of a full warp, times the bytes of a sector, "
            "divided by the elements of the warp",
            unit="bytes for each element",
            expected=_transferred,
            hint="Take a full warp. How many sectors does each access touch? Look at where its first lane reads.",
            misconceptions=(
                Misconception(
                    _requested,
                    "This is what the lanes ask for. Two of the loads do not start at the beginning of a sector.",
                ),
                Misconception(_moved(_LOADS), "The store is missing. What is written moves, too."),
                Misconception(_transferred * WARP_LANES, "This is what a whole warp moves. Divide by its elements."),
                Misconception(
                    _moved(tuple((array, 1) for array, _ in _accesses)),
                    "This gives every access an extra sector. Only those pay for it that start inside a sector.",
                ),
                Misconception(
                    _moved(tuple((array, 0) for array in ("x", "y", "out"))),
                    "This counts each array once, as memory might. L1 serves every request for itself.",
                ),
            ),
        ),
        Number(
            name="dram_bytes",
            points=1,
            asks="bytes that DRAM must move at least, when every byte comes once",
            unit="bytes for each element",
            expected=_dram,
            tolerance=0.01,
            hint="Which arrays are there? Each of their bytes must come from memory or go there once.",
            misconceptions=(
                Misconception(
                    _requested,
                    "This is what the lanes ask for. The neighbour's value has come already, and waits in a cache.",
                ),
                Misconception(
                    _transferred, "This is what L1 moves. The caches keep what two lanes need for the second one."
                ),
                Misconception(_once(_LOADS), "The store is missing. What is written moves, too."),
                Misconception(len(_accesses) - len(_STORES), "These are loads. Count arrays, and then bytes."),
                Misconception(_dram // _FLOAT, "These are arrays. How many bytes has an element of each?"),
            ),
        ),
        Number(
            name="intensity",
            points=1,
            asks="arithmetic intensity with these DRAM bytes",
            unit="FLOP per byte",
            expected=_intensity,
            tolerance=0.01,
            hint="Divide the FLOP by the bytes that DRAM must move.",
            misconceptions=(
                Misconception(_flop / _requested, "This divides by the requested bytes. What comes from DRAM is less."),
                Misconception(_flop / _transferred, "This divides by the bytes at L1. What comes from DRAM is less."),
                Misconception(_dram / _flop, "This is upside down: bytes per FLOP."),
                Misconception(_flop / _once(_LOADS), "The bytes that are written are missing."),
                Misconception(
                    (_flop - _OPERATIONS["add"]) / _dram,
                    "One FLOP is missing: a multiply-add is two of them.",
                ),
            ),
        ),
    ),
)
