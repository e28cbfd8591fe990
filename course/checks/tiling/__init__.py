"""Checks of the chapter `tiling`, one file each: the exercises, question 5 and practice.

Every expected number, and every number of a wrong model, is computed from `course.models`. What a
question says about a wrong answer carries no digits, so that no sentence can give a number away.
"""

from __future__ import annotations

from course.checks.registry import Check
from course.checks.tiling import barrier, column_sums, conflict_degree, matmul, practice, q5, transpose
from course.checks.variants import Variants

__all__ = ["CHECKS", "VARIANTS"]

_ALL: tuple[Check, ...] = (
    conflict_degree.EXERCISE, transpose.EXERCISE, matmul.EXERCISE, column_sums.EXERCISE, barrier.EXERCISE,
    q5.QUESTION, *practice.QUESTIONS,
)  # fmt: skip
CHECKS: dict[str, Check] = {check.name: check for check in _ALL}
VARIANTS: dict[str, Variants] = {each.published.name: each for each in (q5.VARIANTS,)}
"""The questions whose numbers can vary."""
