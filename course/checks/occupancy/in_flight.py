"""Exercise (d) of the chapter `occupancy`: how many bytes must be on their way, and who brings them there."""

from __future__ import annotations

import math

from course.cards import card
from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.occupancy import bytes_in_flight, in_flight

__all__ = ["LATENCY_NS", "ON", "QUESTION", "VARIANTS"]

ON = card("a100-80gb")
LATENCY_NS, GB_PER_S = 500, 2000
"""As the published question states them: the wait of a busy memory, and the bandwidth in round numbers."""
_WORD, _WIDE = 4, 16
_sms, _slots = ON.multiprocessors, 64
assert ON.limits is not None and ON.limits.warps_per_sm == _slots
_lanes = ON.limits.lanes_per_warp


def _question(latency_ns: int, gb_per_s: int) -> Question:
    """A memory of this latency and bandwidth."""
    needed = float(bytes_in_flight(latency_ns, gb_per_s))
    per_sm = needed / _sms

    def warps(bytes_per_lane: int) -> int:
        return math.ceil(per_sm / (_lanes * bytes_per_lane))

    share = _slots * _lanes * _WORD * _sms / needed
    loads = next(loads for loads in range(1, 100) if _slots / 4 * _lanes * _WORD * loads >= per_sm)
    # The model says the same of this card with its own bandwidth:
    assert math.isclose(
        float(in_flight(ON, _slots, _WORD, latency_ns).share), share * gb_per_s / ON.dram_gb_per_s, rel_tol=1e-9
    )
    return Question(
        name="occupancy/in_flight",
        statement=(
            f"On an A100 with {_sms} SMs of {_slots} warp slots, a load takes {latency_ns} ns while the memory is "
            f"busy, and the memory can deliver {gb_per_s} x 10^9 bytes per second. A kernel only reads, and its reads "
            "are perfectly coalesced. How many bytes must be on their way, and what brings them there?"
        ),
        parts=(
            Number(
                name="needed_bytes",
                points=1,
                asks="bytes that must be on their way at any time to use the full bandwidth",
                unit="bytes",
                expected=needed,
                tolerance=0.01,
                hint="In the time that one load waits, how many bytes could the memory deliver?",
                misconceptions=(
                    Misconception(needed / 1e9, "Mind the units: a nanosecond is a billionth of a second."),
                    Misconception(
                        needed / 1e3, "This is too small by a power of ten. Write both in seconds and bytes."
                    ),
                    Misconception(
                        needed * 1e3, "This is too large by a power of ten. Write both in seconds and bytes."
                    ),
                    Misconception(
                        lambda given: given in (gb_per_s / latency_ns, gb_per_s / latency_ns * 1e9),
                        "This divides. How much arrives while one load waits?",
                    ),
                    Misconception(per_sm, "This is the share of one SM."),
                    Misconception(_slots * _lanes * _WORD * _sms, "This is what full SMs offer. How much is needed?"),
                ),
            ),
            Number(
                name="warps",
                points=1,
                asks="warps that each SM must have waiting when every lane has one 4-byte load on its way. Round up, "
                "and do not care whether there are so many slots",
                unit="warps",
                expected=warps(_WORD),
                hint="The share of one SM in these bytes, divided by what one warp has on its way.",
                misconceptions=(
                    Misconception(math.ceil(per_sm / _WORD), "These are lanes. How many lanes has a warp?"),
                    Misconception(math.ceil(per_sm / _lanes), "A lane loads more than one byte."),
                    Misconception(math.ceil(needed / (_lanes * _WORD)), "These are the warps of all SMs together."),
                    Misconception(
                        math.floor(per_sm / (_lanes * _WORD)), "So few warps are not quite enough: round up."
                    ),
                    Misconception(_slots, "This is the number of slots. How many warps would be needed?"),
                    Misconception(warps(_WIDE), "This is for wide loads."),
                ),
            ),
            Number(
                name="share",
                points=1,
                asks="the largest share of the bandwidth that such a kernel can draw with all warp slots taken",
                expected=share,
                tolerance=0.01,
                fraction=True,
                hint="What full SMs have on their way, divided by what is needed.",
                misconceptions=(
                    Misconception(1.0, "Are all slots together enough? Compare with the warps that are needed."),
                    Misconception(1 / share, "This is upside down."),
                    Misconception(1 - share, "This is what is missing."),
                    Misconception(share / _WORD, "A lane loads more than one byte."),
                    Misconception(share / 2, "These are half of the slots."),
                ),
            ),
            Number(
                name="wide_warps",
                points=1,
                asks="warps that each SM must have waiting when every lane has one 16-byte load on its way. Round up",
                unit="warps",
                expected=warps(_WIDE),
                hint="A warp now has more bytes on its way.",
                misconceptions=(
                    Misconception(warps(_WORD), "This is for narrow loads."),
                    Misconception(
                        math.floor(per_sm / (_lanes * _WIDE)), "So few warps are not quite enough: round up."
                    ),
                    Misconception(warps(8), "This is for loads of half the width."),
                    Misconception(math.ceil(needed / (_lanes * _WIDE)), "These are the warps of all SMs together."),
                    Misconception(_slots, "This is the number of slots. How many of them are needed?"),
                ),
            ),
            Number(
                name="loads",
                points=1,
                asks="4-byte loads that every lane must have on their way at the same time, when only a quarter of the "
                "warp slots is taken. Round up",
                unit="loads",
                expected=loads,
                hint="How many bytes must each of these warps have on its way, and how many does one load bring?",
                misconceptions=(
                    Misconception(4, "This makes up for the empty slots. Were full slots with one load enough?"),
                    Misconception(loads + 1, "This is enough, but it is not the smallest number."),
                    Misconception(loads * _WORD, "These are bytes of a lane. How many loads are they?"),
                    Misconception(math.ceil(per_sm / (_slots * _lanes * _WORD)), "This is for full slots."),
                    Misconception(1, "One load of each lane was not enough with all slots taken."),
                ),
            ),
        ),
    )


VARIANTS = Variants(
    _question,
    (
        (LATENCY_NS, GB_PER_S), (600, 1600), (550, 2000), (650, 1600),
        (600, 2000), (700, 1600), (650, 2000), (800, 1600),
    ),
)  # fmt: skip
"""Latency in ns, bandwidth in GB/s."""
QUESTION = VARIANTS.published
