"""Practice for the chapter `coalescing`: not graded, with worked answers. Every number is computed."""

from __future__ import annotations

from course.checks.coalescing.practice_gathers import P6, P7, P9
from course.checks.coalescing.practice_strides import P1, P2, P3, P8
from course.checks.coalescing.practice_widths import P4, P5

__all__ = ["QUESTIONS"]

QUESTIONS = (P1, P2, P3, P4, P5, P6, P7, P8, P9)
