"""Practice for the chapter `layout`: not graded, with worked answers. Every number is computed from `course.models`."""

from __future__ import annotations

from course.checks.layout.practice_records import P1, P4, P6
from course.checks.layout.practice_tensors import P2, P3, P5

__all__ = ["QUESTIONS"]

QUESTIONS = (P1, P2, P3, P4, P5, P6)
