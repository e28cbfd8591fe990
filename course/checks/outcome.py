"""One call of a student's function: the number it returned, or what went wrong, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.checks.quiet import quiet
from course.checks.values import NotPlainError, kind, plain, type_name

__all__ = ["Outcome", "Returned", "call", "message", "outcome_of"]

_LONGEST_MESSAGE = 120


@dataclass(frozen=True)
class Outcome:
    """What one call gave: `value`, or `problem`, which continues the sentence "sectors([], 4) ...".

    unwritten: the function still is the starter. interrupted: a person or a time limit stopped it.
    """

    value: int | float | None = None
    problem: str = ""
    unwritten: bool = False
    interrupted: bool = False


@dataclass(frozen=True)
class Returned:
    """What a student's function returned in another process, as plain data that nobody has judged yet."""

    value: object


def call(function: Callable[..., object], arguments: tuple[Any, ...]) -> Outcome:
    """Call `function(*arguments)`; no exception, output or warning of it gets out."""
    # What it returned is dropped inside the quiet part: a generator or a `__del__` may still complain then.
    with quiet():
        try:
            return outcome_of(function(*arguments))
        except BaseException as error:  # SystemExit and the like are wrong answers here, too
            return _failure(error)


def outcome_of(returned: object) -> Outcome:
    """The number that a function returned, or why it is none."""
    if returned is None:
        return Outcome(problem="returned None: end the function with return and the number")
    try:
        value = plain(returned)
    except NotPlainError as refusal:
        return Outcome(problem=f"gave no number: {str(refusal).rstrip('.')}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Outcome(problem=f"returned {kind(value)}, expected a number")
    return Outcome(value=value)


def _failure(error: BaseException) -> Outcome:
    name = type_name(error)
    if issubclass(type(error), KeyboardInterrupt):
        return Outcome(problem="was interrupted: look for a loop that never ends", interrupted=True)
    text = message(error)
    return Outcome(
        problem=f"stopped with {name}: {text}" if text else f"stopped with {name}",
        unwritten=type(error) is NotImplementedError,
    )


def message(error: BaseException, longest: int = _LONGEST_MESSAGE) -> str:
    """The error's message on one line; '' when asking for it fails."""
    try:
        text = str.__str__(str(error))[:longest]
    except BaseException:  # an exception of the student may have a __str__ that raises anything
        return ""
    line = " ".join(text.split()).rstrip(".")
    return line if line.isprintable() else ascii(line)
