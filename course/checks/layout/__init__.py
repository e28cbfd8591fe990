"""Checks of the chapter `layout`, one file each: question 2, the choice of a cache's layout, the exercises, practice.

Every expected number, and every number of a wrong model, is computed from `course.models`. What a
question says about a wrong answer carries no digits, so that no sentence can give a number away.
"""

from __future__ import annotations

from course.checks.layout import aosoa, bytes_moved, kv, kv_choice, practice, q2, soa
from course.checks.registry import Check
from course.checks.variants import Variants

__all__ = ["CHECKS", "VARIANTS"]

_ALL: tuple[Check, ...] = (
    bytes_moved.EXERCISE, soa.EXERCISE, aosoa.EXERCISE, kv.EXERCISE, kv_choice.QUESTION, q2.QUESTION,
    *practice.QUESTIONS,
)  # fmt: skip
CHECKS: dict[str, Check] = {check.name: check for check in _ALL}
VARIANTS: dict[str, Variants] = {each.published.name: each for each in (q2.VARIANTS,)}
"""The questions whose numbers can vary."""
