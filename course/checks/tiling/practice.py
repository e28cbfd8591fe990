"""Practice for the chapter `tiling`: not graded, with worked answers. Every number is computed from `course.models`."""

from __future__ import annotations

from course.checks.tiling.practice_banks import P1, P2, P3
from course.checks.tiling.practice_tiles import P4, P5, P6, P7

__all__ = ["QUESTIONS"]

QUESTIONS = (P1, P2, P3, P4, P5, P6, P7)
