"""Checks of the chapter `cp_async`, one file each: the exercises, question C, practice.

Every expected number, and every number of a wrong model, is computed from `course.models`. What a
question says about a wrong answer carries no digits, so that no sentence can give a number away.
"""

from __future__ import annotations

from course.checks.cp_async import c, double_buffer, pipeline_time, practice, stages, widths
from course.checks.registry import Check
from course.checks.variants import Variants

__all__ = ["CHECKS", "VARIANTS"]

_ALL: tuple[Check, ...] = (
    pipeline_time.EXERCISE, double_buffer.EXERCISE, stages.EXERCISE, widths.QUESTION, c.QUESTION, *practice.QUESTIONS,
)  # fmt: skip
CHECKS: dict[str, Check] = {check.name: check for check in _ALL}
VARIANTS: dict[str, Variants] = {each.published.name: each for each in (c.VARIANTS,)}
"""The questions whose numbers can vary."""
