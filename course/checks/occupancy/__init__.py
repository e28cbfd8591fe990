"""Checks of the chapter `occupancy`, one file each: the exercises, question 6, and practice.

Every expected number, and every number of a wrong model, is computed from `course.models`. What a
question says about a wrong answer carries no digits, so that no sentence can give a number away.
"""

from __future__ import annotations

from course.checks.occupancy import blocks_per_sm, in_flight, largest_tile, limiter, practice, q6
from course.checks.registry import Check
from course.checks.variants import Variants

__all__ = ["CHECKS", "VARIANTS"]

_ALL: tuple[Check, ...] = (
    blocks_per_sm.EXERCISE, limiter.QUESTION, largest_tile.QUESTION, in_flight.QUESTION, q6.QUESTION,
    *practice.QUESTIONS,
)  # fmt: skip
CHECKS: dict[str, Check] = {check.name: check for check in _ALL}
VARIANTS: dict[str, Variants] = {
    each.published.name: each for each in (q6.VARIANTS, in_flight.VARIANTS, largest_tile.VARIANTS)
}
"""The questions whose numbers can vary."""
