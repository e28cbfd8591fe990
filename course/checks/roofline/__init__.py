"""Checks of the chapter `roofline`, one file each: two functions, three exercises, a kernel, question 3, practice.

Every expected number, and every number of a wrong model, is computed from `course.models`. What a
question says about a wrong answer carries no digits, so that no sentence can give a number away.
"""

from __future__ import annotations

from course.checks.registry import Check
from course.checks.roofline import attainable, classify, count, fuse, practice, q3, ridge, smallest_tile
from course.checks.variants import Variants

__all__ = ["CHECKS", "VARIANTS"]

_ALL: tuple[Check, ...] = (
    attainable.EXERCISE, ridge.EXERCISE, classify.QUESTION, count.QUESTION, smallest_tile.QUESTION, fuse.EXERCISE,
    q3.QUESTION, *practice.QUESTIONS,
)  # fmt: skip
CHECKS: dict[str, Check] = {check.name: check for check in _ALL}
VARIANTS: dict[str, Variants] = {each.published.name: each for each in (q3.VARIANTS,)}
"""The questions whose numbers can vary."""
