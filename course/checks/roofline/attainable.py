"""Exercise (a) of the chapter `roofline`: a function that says what a kernel attains at most."""

from __future__ import annotations

import random

from course.cards import CARDS, card
from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models import roofline as model
from course.models.roofline import Machine
from course.models.tiling import arithmetic_intensity

__all__ = ["EXERCISE"]

_RANDOM_CASES = 5
"""Random cases of each group."""


def _reference(ai: float, bandwidth_gb_per_s: float, peak_tflops: float) -> float:
    on = Machine("the machine", peak_tflops, bandwidth_gb_per_s)
    return float(model.attainable(ai, on).attainable_tflops)


def _ridge(bandwidth: float, peak: float) -> float:
    return Machine("the machine", peak, bandwidth).ridge


def _machine(generator: random.Random) -> tuple[int, float]:
    return generator.randint(8, 900) * 10, round(generator.uniform(1, 200), 1)


def _beside_the_ridge(generator: random.Random, low: float, high: float) -> list[Arguments]:
    """Random machines, and intensities from `low` to `high` times their ridge."""
    cases: list[Arguments] = []
    for _ in range(_RANDOM_CASES):
        bandwidth, peak = _machine(generator)
        ai = generator.uniform(low, high) * _ridge(bandwidth, peak)
        cases.append((float(f"{ai:.3g}"), bandwidth, peak))
    return cases


def _left(generator: random.Random) -> list[Arguments]:
    return _beside_the_ridge(generator, 0.005, 0.95)


def _right(generator: random.Random) -> list[Arguments]:
    return _beside_the_ridge(generator, 1.05, 40)


def _on(name: str, ai: float) -> Arguments:
    found = card(name)
    return ai, found.dram_gb_per_s, found.peak_tflops()


def _cards(generator: random.Random) -> list[Arguments]:
    """Matrix products in tiles, on both sides of the ridge of each card."""
    names = [name for name, one in CARDS.items() if one.fp32_tflops is not None]
    cases = [_on(name, float(arithmetic_intensity(tile))) for name in generator.sample(names, 3) for tile in (4, 512)]
    return [*cases, _on(generator.choice(names), 0)]


def _at_the_ridge(generator: random.Random) -> list[Arguments]:
    """Where both limits are the same, and where there is nothing to compute."""
    bandwidth, peak = _machine(generator)
    ai = 2 ** generator.randint(0, 6)
    return [(ai, 500, ai / 2), (0, bandwidth, peak)]


def _memory(ai: float, bandwidth: float, peak: float) -> float:
    return ai * bandwidth / 1000


EXERCISE = FunctionCheck(
    name="roofline/attainable",
    function="attainable",
    statement=(
        "Write `attainable(ai, bandwidth_gb_per_s, peak_tflops)`: the TFLOP/s that a kernel reaches at most. It "
        "does `ai` FLOP for each byte from DRAM. DRAM delivers `bandwidth_gb_per_s` GB/s, and the arithmetic units do "
        "`peak_tflops` TFLOP/s at most. Mind the units, and do not round."
    ),
    keys={
        "ai": "arithmetic intensity, FLOP per DRAM byte; it can be 0",
        "bandwidth_gb_per_s": "bandwidth of DRAM, 10^9 bytes per second",
        "peak_tflops": "peak of the arithmetic units, 10^12 FLOP per second",
    },
    reference=_reference,
    groups=(
        Group(
            "left of the ridge",
            1,
            "Here the bytes are the limit: how many FLOP come with the bytes of one second? Mind the units.",
            ((0.25, 2000, 19.5), (2, 900, 15.7)),
            _left,
        ),
        Group(
            "right of the ridge",
            1,
            "Here the memory could feed more FLOP than the arithmetic units can do.",
            ((64, 2000, 19.5), (32, 900, 15.7)),
            _right,
        ),
        Group(
            "cards",
            1,
            "These are figures of real cards. On which side of the ridge is the kernel, and what is the limit there?",
            (_on("H200", 1 / 6), _on("H200", 64)),
            _cards,
        ),
        Group(
            "at the ridge and at zero",
            1,
            "Think of a kernel that computes nothing, and of one for which both limits are equal.",
            ((0, 2000, 19.5), (8, 2000, 16)),
            _at_the_ridge,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function compares GFLOP/s with TFLOP/s: FLOP per byte times gigabytes per second gives gigaFLOP per "
            "second.",
            (lambda ai, bandwidth, peak: min(ai * bandwidth, peak),),
        ),
        WrongModel(
            "Your function returns GFLOP/s. Asked are TFLOP/s.",
            (lambda ai, bandwidth, peak: min(ai * bandwidth, 1000 * peak),),
        ),
        WrongModel(
            "Your function divides by 1024. The units of speeds are powers of ten.",
            (lambda ai, bandwidth, peak: min(ai * bandwidth / 1024, peak),),
        ),
        WrongModel(
            "Your function takes the larger one of the two limits. A kernel must keep to both.",
            (lambda ai, bandwidth, peak: max(_memory(ai, bandwidth, peak), peak),),
        ),
        WrongModel(
            "Your function forgets the peak: with enough FLOP per byte, the arithmetic units are the limit.",
            (_memory, lambda ai, bandwidth, peak: ai * bandwidth),
        ),
        WrongModel(
            "Your function always returns the peak: with few FLOP per byte, the memory is the limit.",
            (lambda ai, bandwidth, peak: peak,),
        ),
        WrongModel(
            "Your function divides by the intensity. More FLOP for each byte means more FLOP in the same time.",
            (
                lambda ai, bandwidth, peak: min(bandwidth / 1000 / ai, peak) if ai else peak,
                lambda ai, bandwidth, peak: min(bandwidth / ai, peak) if ai else peak,
                lambda ai, bandwidth, peak: min(bandwidth / 1000 / ai, peak) if ai else 0,
            ),
        ),
        WrongModel(
            "Your function adds the times of memory and arithmetic. They work at the same time, so the slower one "
            "decides alone.",
            (lambda ai, bandwidth, peak: _memory(ai, bandwidth, peak) * peak / (_memory(ai, bandwidth, peak) + peak),),
        ),
        WrongModel(
            "Your function returns the share of the peak. Asked is the speed itself.",
            (lambda ai, bandwidth, peak: min(_memory(ai, bandwidth, peak) / peak, 1),),
        ),
        WrongModel(
            "Your function returns the ridge. Where the kernel stands does not matter to it.",
            (lambda ai, bandwidth, peak: _ridge(bandwidth, peak),),
        ),
        WrongModel(
            "Your function gives nothing or everything. Left of the ridge, a kernel reaches the part of the peak that "
            "its bytes allow.",
            (
                lambda ai, bandwidth, peak: peak if ai >= _ridge(bandwidth, peak) else 0,
                lambda ai, bandwidth, peak: peak if ai > _ridge(bandwidth, peak) else 0,
            ),
        ),
    ),
    tolerance=1e-6,
)
