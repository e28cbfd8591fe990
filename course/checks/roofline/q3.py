"""Question 3: an element-wise kernel with much arithmetic, placed under the roofline of an A100."""

from __future__ import annotations

from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.models.roofline import Machine, attainable, intensity

__all__ = ["QUESTION"]

_ON = Machine("an A100 80GB", peak_tflops=19.5, gb_per_s=2000)
"""As the question states them; the data sheet says 2039 GB/s."""
_FLOP, _FLOAT = 20, 4
_ROUNDED = 0.02
"""Tolerance where the bandwidth matters: the figure of the data sheet is welcome, too."""
_found = attainable(intensity(_FLOP, 2 * _FLOAT), _ON)
_ai, _tflops, _share = (float(x) for x in (_found.intensity, _found.attainable_tflops, _found.share_of_peak))
_tb_per_s = _ON.gb_per_s / 1000
_reads_only = attainable(intensity(_FLOP, _FLOAT), _ON)
_VERDICTS = {True: "memory-bound", False: "compute-bound"}

QUESTION = Question(
    name="roofline/q3",
    statement=(
        "For each element, a kernel reads a 4-byte float, does 20 FLOP and writes a 4-byte float. Somebody calls it "
        "compute-bound. Place it under the roofline of an A100: 19.5 TFLOP/s FP32, 2.0 TB/s."
    ),
    parts=(
        Number(
            name="intensity",
            points=1,
            asks="arithmetic intensity",
            unit="FLOP per byte",
            expected=_ai,
            tolerance=0.01,
            hint="FLOP of one element, divided by all bytes that move for it.",
            misconceptions=(
                Misconception(float(_reads_only.intensity), "The bytes that are written are missing."),
                Misconception(_FLOP / 2, "These are FLOP for each value. A value has several bytes."),
                Misconception(_FLOP, "These are FLOP for each element. How many bytes move for an element?"),
                Misconception(1 / _ai, "This is upside down: bytes per FLOP."),
            ),
        ),
        Number(
            name="attainable_tflops",
            points=1,
            asks="the speed that it reaches at most",
            unit="TFLOP/s",
            expected=_tflops,
            tolerance=_ROUNDED,
            hint="Intensity times bandwidth, but never more than the peak.",
            misconceptions=(
                Misconception(_ON.peak_tflops, "This is the peak. Does the memory bring the bytes for it?"),
                Misconception(float(_reads_only.attainable_tflops), "The bytes that are written are missing."),
                Misconception(1000 * _tflops, "This is in GFLOP/s. Asked are TFLOP/s."),
                Misconception(_tb_per_s / _ai, "This divides by the intensity. More FLOP per byte are more FLOP/s."),
                Misconception(_ai * _ON.peak_tflops, "This is more than the peak. Multiply by the bandwidth."),
                Misconception(_FLOP * _tb_per_s, "These FLOP are for a whole element. How many are for one byte?"),
            ),
        ),
        Number(
            name="share_of_peak",
            points=1,
            asks="this speed as a share of the peak",
            expected=_share,
            tolerance=_ROUNDED,
            fraction=True,
            hint="Attainable divided by peak.",
            misconceptions=(
                Misconception(1 / _share, "This is upside down. A share of the peak is not above one."),
                Misconception(float(_reads_only.share_of_peak), "The bytes that are written are missing."),
                Misconception(_ai / _ON.peak_tflops, "This divides the intensity by the peak. Take the speed."),
                Misconception(1 - _share, "This is the share that is left over. Asked is the share that it reaches."),
                Misconception(1, "The peak is reached only if the memory brings the bytes for it."),
            ),
        ),
        Choice(
            name="verdict",
            points=1,
            asks="what limits it",
            options={"memory-bound": "the bandwidth is the limit", "compute-bound": "the arithmetic is the limit"},
            expected=_VERDICTS[bool(_found.memory_bound)],
            hint="Compare the intensity with the ridge, peak / bandwidth.",
            misconceptions=(
                Misconception(
                    _VERDICTS[not _found.memory_bound],
                    "The number of FLOP alone says nothing. Compare FLOP per byte with the ridge.",
                ),
            ),
        ),
    ),
)
