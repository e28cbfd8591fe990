"""Questions whose numbers can vary: a table of legal numbers for each, of the same difficulty in every row.

Row 0 is the question as the released notebook asks it. Everybody gets that row, unless an instructor hands out
notebooks of their own (autograder/variants.py). Add rows at the end, and only before a term begins: the number of
rows decides which student gets which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from course.checks.question import Question

__all__ = ["Variants"]


@dataclass(frozen=True)
class Variants:
    """One question for each row of numbers: `make(*row)`."""

    make: Callable[..., Question]
    rows: tuple[tuple[Any, ...], ...]

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The question of every row."""
        return tuple(self.make(*row) for row in self.rows)

    @property
    def published(self) -> Question:
        """Row 0, the question of the released notebook."""
        return self.questions[0]
