"""Checks of the chapter `coalescing`, one file each: questions 1, 4, 7 and 8, the exercises, practice.

Every expected number, and every number of a wrong model, is computed from `course.models`. What a
question says about a wrong answer carries no digits, so that no sentence can give a number away.
"""

from __future__ import annotations

from course.checks.coalescing import gather, practice, q1, q4, q7, q8, scale, sectors, wide_copy
from course.checks.registry import Check
from course.checks.variants import Variants

__all__ = ["CHECKS", "VARIANTS"]

_ALL: tuple[Check, ...] = (
    sectors.EXERCISE, scale.EXERCISE, wide_copy.EXERCISE, gather.EXERCISE,
    q1.QUESTION, q4.QUESTION, q7.QUESTION, q8.QUESTION,
    *practice.QUESTIONS,
)  # fmt: skip
CHECKS: dict[str, Check] = {check.name: check for check in _ALL}
VARIANTS: dict[str, Variants] = {each.published.name: each for each in (q1.VARIANTS, q8.VARIANTS)}
"""The questions whose numbers can vary."""
