"""Checks by name: 'chapter/name'. One module for each chapter, loaded when its first check is asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Protocol

from course.checks.result import Result
from course.checks.words import did_you_mean

__all__ = ["CHAPTERS", "Check", "UnknownCheckError", "check", "find", "grade", "names"]

CHAPTERS = ("coalescing",)
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


def check(name: str, value: object, seed: int | str | None = None) -> Result:
    """Check an answer and say which parts are right, with a hint for each that is not.

    name: 'chapter/name', as the task states it.
    value: the student's dict of answers, or the function or kernel itself (without calling it).
    seed: picks the hidden inputs of a function or kernel; None takes the public practice inputs.
    Raises UnknownCheckError for a name that does not exist; a bad value is explained in the result.
    """
    return find(name).run(value, seed)


def grade(name: str, value: object, seed: int | str | None = None) -> float:
    """Print the feedback and return the points: one finite float from 0 to the check's maximum.

    nbgrader takes the last value of a test cell as its points and anything on stderr as a failure:
    this is the value to end that cell with, whatever the student's value is.
    """
    result = check(name, value, seed)
    _say(str(result))
    return float(min(max(result.points, 0.0), result.max_points))


def _chapter(chapter: str) -> Mapping[str, Check]:
    checks: Mapping[str, Check] = importlib.import_module(f"course.checks.{chapter}").CHECKS
    return checks


def _say(text: str) -> None:
    """Print, also where the console cannot show every letter of the text."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
