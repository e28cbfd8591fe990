"""Checks of the chapter `coalescing`, one file each: questions 1, 4, 7 and 8, and the exercise `sectors`.

Every expected number, and every number of a wrong model, is computed from `course.models`. What a
question says about a wrong answer carries no digits, so that no sentence can give a number away.
"""

from __future__ import annotations

from course.checks.coalescing import q1, q4, q7, q8
from course.checks.coalescing.sectors import EXERCISE
from course.checks.registry import Check

__all__ = ["CHECKS"]

CHECKS: dict[str, Check] = {
    check.name: check for check in (q1.QUESTION, q4.QUESTION, q7.QUESTION, q8.QUESTION, EXERCISE)
}
