"""Checks by name: 'chapter/name'. One module for each chapter, loaded when its first check is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol

from course import terms
from course.checks.result import Result
from course.checks.variants import Variants
from course.checks.words import did_you_mean
from course.errors import ArgumentValueError

__all__ = ["CHAPTERS", "Check", "UnknownCheckError", "answers_another_row", "find", "names", "variant_count"]

CHAPTERS = tuple(chapter.name for chapter in terms.CHAPTERS)
"""Chapters with checks: `course.checks.<chapter>` holds them as CHECKS, those whose numbers vary also as VARIANTS."""


class Check(Protocol):
    """What every check offers: a question, a function or a kernel."""

    @property
    def name(self) -> str:
        """'chapter/name'."""

    @property
    def statement(self) -> str:
        """The task in words, as Markdown."""

    @property
    def keys(self) -> dict[str, str]:
        """What to give: key of the answer, or argument of the function -> its meaning."""

    @property
    def max_points(self) -> float:
        """Points of a perfect answer."""

    def run(self, value: object, seed: int | str | None = None) -> Result:
        """Judge a student's value; `seed` picks the hidden inputs where there are some."""


class UnknownCheckError(ArgumentValueError):
    """A name that belongs to no check, or a variant that the check does not have."""


def names() -> tuple[str, ...]:
    """Names of all checks, chapter by chapter."""
    return tuple(name for chapter in CHAPTERS for name in _chapter(chapter))


def find(name: str, variant: int = 0) -> Check:
    """The check called `name`, with the numbers of a variant; 0 is what the released notebook asks.

    Raises UnknownCheckError, with the nearest name or the variants that there are, when there is none.
    """
    if not isinstance(name, str):
        raise UnknownCheckError(f"the name of a check is text such as 'coalescing/q1', not {type(name).__name__}.")
    chapter = name.partition("/")[0]
    if chapter not in CHAPTERS or name not in _chapter(chapter):
        raise UnknownCheckError(f"no check is called {name!r}: {did_you_mean(name, names())}")
    if type(variant) is not int or not 0 <= variant < variant_count(name):
        most = variant_count(name) - 1
        there = f"variants 0 to {most}" if most else "no variants"
        raise UnknownCheckError(
            f"{name} has {there}, not {variant!r}: copy the line with its check from your own notebook."
        )
    return _variants(chapter)[name].questions[variant] if variant else _chapter(chapter)[name]


def variant_count(name: str) -> int:
    """How many rows of numbers a check has: 1 when its numbers never vary."""
    varying = _variants(name.partition("/")[0])
    return len(varying[name].rows) if name in varying else 1


def answers_another_row(name: str, variant: int, value: object) -> int | None:
    """The row that an answer is completely right for, when it is wrong for the student's own; else None.

    value: the student's answer as data. With these numbers nobody comes to such an answer by accident: it belongs to
    somebody else's notebook, or to the published one (row 0).
    """
    if find(name, variant).run(value).right:
        return None
    others = (row for row in range(variant_count(name)) if row != variant)
    return next((row for row in others if find(name, row).run(value).right), None)


def _chapter(chapter: str) -> Mapping[str, Check]:
    checks: Mapping[str, Check] = importlib.import_module(f"course.checks.{chapter}").CHECKS
    return checks


def _variants(chapter: str) -> Mapping[str, Variants]:
    varying: Mapping[str, Variants] = importlib.import_module(f"course.checks.{chapter}").VARIANTS
    return varying
