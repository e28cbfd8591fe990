"""Exercise (a) of the chapter `roofline`, second part: a function that finds the ridge of a machine."""

from __future__ import annotations

import random

from course.cards import CARDS, UNITS, card
from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models.roofline import Machine, machine, ridges

__all__ = ["EXERCISE"]

_RANDOM_CASES = 5
"""Random cases of each group."""


def _reference(bandwidth_gb_per_s: float, peak_tflops: float) -> float:
    return Machine("the machine", peak_tflops, bandwidth_gb_per_s).ridge


def _machines(generator: random.Random) -> list[Arguments]:
    return [(generator.randint(8, 900) * 10, round(generator.uniform(1, 200), 1)) for _ in range(_RANDOM_CASES)]


def _cards(generator: random.Random) -> list[Arguments]:
    """Real cards, each with one of its units."""
    known = [(name, unit) for name in CARDS for unit in UNITS if unit in ridges(name)]
    roofs = [machine(name, unit) for name, unit in generator.sample(known, _RANDOM_CASES)]
    return [(roof.gb_per_s, roof.peak_tflops) for roof in roofs]


_H200 = card("H200")

EXERCISE = FunctionCheck(
    name="roofline/ridge",
    function="ridge",
    statement=(
        "Write `ridge(bandwidth_gb_per_s, peak_tflops)`: the arithmetic intensity at which the memory feeds exactly as "
        "many FLOP as the arithmetic units can do. Return FLOP per byte. Mind the units, and do not round."
    ),
    keys={
        "bandwidth_gb_per_s": "bandwidth of DRAM, 10^9 bytes per second",
        "peak_tflops": "peak of the arithmetic units, 10^12 FLOP per second",
    },
    reference=_reference,
    groups=(
        Group(
            "any machine",
            1,
            "At the ridge, the bytes of one second bring the FLOP of one second. Write both in the same unit first.",
            ((2000, 19.5), (1000, 10)),
            _machines,
        ),
        Group(
            "cards",
            1,
            "These are figures of real cards. At the ridge, intensity times bandwidth is the peak.",
            ((_H200.dram_gb_per_s, _H200.peak_tflops()), (_H200.dram_gb_per_s, _H200.peak_tflops("fp16"))),
            _cards,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function returns bytes per FLOP. Asked are FLOP per byte.",
            (lambda bandwidth, peak: bandwidth / (1000 * peak), lambda bandwidth, peak: bandwidth / peak),
        ),
        WrongModel(
            "Your function divides TFLOP/s by GB/s. A tera is a thousand giga.",
            (lambda bandwidth, peak: peak / bandwidth,),
        ),
        WrongModel(
            "Your function scales in the wrong direction: there are more FLOP in a TFLOP than bytes in a gigabyte.",
            (lambda bandwidth, peak: peak / bandwidth / 1000,),
        ),
        WrongModel(
            "Your function uses 1024. The units of speeds are powers of ten.",
            (lambda bandwidth, peak: peak * 1024 / bandwidth,),
        ),
        WrongModel(
            "Your function multiplies. How many FLOP are there for one byte?",
            (lambda bandwidth, peak: peak * bandwidth, lambda bandwidth, peak: peak * bandwidth / 1000),
        ),
        WrongModel(
            "Your function is too large by a power of ten: write both speeds in units per second first.",
            (lambda bandwidth, peak: peak * 10**12 / bandwidth, lambda bandwidth, peak: peak * 10**6 / bandwidth),
        ),
    ),
    tolerance=1e-6,
)
