"""Question 3: an element-wise kernel with much arithmetic, placed under the roofline of an A100."""

from __future__ import annotations

from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.roofline import Machine, attainable, intensity

__all__ = ["QUESTION", "VARIANTS"]

_ON = Machine("an A100 80GB", peak_tflops=19.5, gb_per_s=2000)
"""As the question states them; the data sheet says 2039 GB/s."""
_FLOAT = 4
_ROUNDED = 0.02
"""Tolerance where the bandwidth matters: the figure of the data sheet is welcome, too."""
_tb_per_s = _ON.gb_per_s / 1000
_WORDS = {2: "two", 3: "three"}
_VERDICTS = {True: "memory-bound", False: "compute-bound"}


def _question(reads: int, flop: int) -> Question:
    """A kernel that reads so many floats, computes, and writes one float."""
    found = attainable(intensity(flop, (reads + 1) * _FLOAT), _ON)
    ai, tflops, share = (float(x) for x in (found.intensity, found.attainable_tflops, found.share_of_peak))
    reads_only = attainable(intensity(flop, reads * _FLOAT), _ON)
    what = "a 4-byte float" if reads == 1 else f"{_WORDS[reads]} 4-byte floats"
    return Question(
        name="roofline/q3",
        statement=(
            f"For each element, a kernel reads {what}, does {flop} FLOP and writes a 4-byte float. Somebody calls it "
            "compute-bound. Place it under the roofline of an A100: 19.5 TFLOP/s FP32, 2.0 TB/s."
        ),
        parts=(
            Number(
                name="intensity",
                points=1,
                asks="arithmetic intensity",
                unit="FLOP per byte",
                expected=ai,
                tolerance=0.01,
                hint="FLOP of one element, divided by all bytes that move for it.",
                misconceptions=(
                    Misconception(float(reads_only.intensity), "The bytes that are written are missing."),
                    Misconception(flop / (reads + 1), "These are FLOP for each value. A value has several bytes."),
                    Misconception(flop, "These are FLOP for each element. How many bytes move for an element?"),
                    Misconception(1 / ai, "This is upside down: bytes per FLOP."),
                ),
            ),
            Number(
                name="attainable_tflops",
                points=1,
                asks="the speed that it reaches at most",
                unit="TFLOP/s",
                expected=tflops,
                tolerance=_ROUNDED,
                hint="Intensity times bandwidth, but never more than the peak.",
                misconceptions=(
                    Misconception(_ON.peak_tflops, "This is the peak. Does the memory bring the bytes for it?"),
                    Misconception(float(reads_only.attainable_tflops), "The bytes that are written are missing."),
                    Misconception(1000 * tflops, "This is in GFLOP/s. Asked are TFLOP/s."),
                    Misconception(_tb_per_s / ai, "This divides by the intensity. More FLOP per byte are more FLOP/s."),
                    Misconception(ai * _ON.peak_tflops, "This is more than the peak. Multiply by the bandwidth."),
                    Misconception(flop * _tb_per_s, "These FLOP are for a whole element. How many are for one byte?"),
                ),
            ),
            Number(
                name="share_of_peak",
                points=1,
                asks="this speed as a share of the peak",
                expected=share,
                tolerance=_ROUNDED,
                fraction=True,
                hint="Attainable divided by peak.",
                misconceptions=(
                    Misconception(1 / share, "This is upside down. A share of the peak is not above one."),
                    Misconception(float(reads_only.share_of_peak), "The bytes that are written are missing."),
                    Misconception(ai / _ON.peak_tflops, "This divides the intensity by the peak. Take the speed."),
                    Misconception(
                        1 - share, "This is the share that is left over. Asked is the share that it reaches."
                    ),
                    Misconception(1, "The peak is reached only if the memory brings the bytes for it."),
                ),
            ),
            Choice(
                name="verdict",
                points=1,
                asks="what limits it",
                options={"memory-bound": "the bandwidth is the limit", "compute-bound": "the arithmetic is the limit"},
                expected=_VERDICTS[bool(found.memory_bound)],
                hint="Compare the intensity with the ridge, peak / bandwidth.",
                misconceptions=(
                    Misconception(
                        _VERDICTS[not found.memory_bound],
                        "The number of FLOP alone says nothing. Compare FLOP per byte with the ridge.",
                    ),
                ),
            ),
        ),
    )


VARIANTS = Variants(_question, ((1, 20), (1, 28), (1, 36), (2, 18), (2, 24), (2, 48), (3, 48), (3, 80)))
"""Floats that are read, and FLOP, for each element."""
QUESTION = VARIANTS.published
