"""Practice for the chapter `cp_async`: not graded, with worked answers. Numbers are computed from `course.models`."""

from __future__ import annotations

from course.checks.cp_async.practice_prices import P3, P4
from course.checks.cp_async.practice_times import P1, P2, P5

__all__ = ["QUESTIONS"]

QUESTIONS = (P1, P2, P3, P4, P5)
