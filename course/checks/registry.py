"""Checks by name: 'chapter/name'. One module for each chapter, loaded when its first check is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol

from course import terms
from course.checks.result import Result
from course.checks.words import did_you_mean

__all__ = ["CHAPTERS", "Check", "UnknownCheckError", "find", "names"]

CHAPTERS = tuple(chapter.name for chapter in terms.CHAPTERS)
"""Chapters with checks: `course.checks.<chapter>` holds them as CHECKS."""


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


class UnknownCheckError(ValueError):
    """A name that belongs to no check."""


def names() -> tuple[str, ...]:
    """Names of all checks, chapter by chapter."""
    return tuple(name for chapter in CHAPTERS for name in _chapter(chapter))


def find(name: str) -> Check:
    """The check called `name`. Raises UnknownCheckError, with the nearest name, when there is none."""
    if not isinstance(name, str):
        raise UnknownCheckError(f"the name of a check is text such as 'coalescing/q1', not {type(name).__name__}.")
    chapter = name.partition("/")[0]
    if chapter in CHAPTERS and name in _chapter(chapter):
        return _chapter(chapter)[name]
    raise UnknownCheckError(f"no check is called {name!r}: {did_you_mean(name, names())}")


def _chapter(chapter: str) -> Mapping[str, Check]:
    checks: Mapping[str, Check] = importlib.import_module(f"course.checks.{chapter}").CHECKS
    return checks
