"""Ask for a verdict: `check` for a learner, `grade` for the test cells of nbgrader."""

from __future__ import annotations

import sys

from course.checks.progress import remember
from course.checks.registry import find
from course.checks.result import Result

__all__ = ["check", "grade"]


def check(name: str, value: object, seed: int | str | None = None, *, variant: int = 0) -> Result:
    """Check an answer and say which parts are right, with a hint for each that is not.

    name: 'chapter/name', as the task states it.
    value: the student's dict of answers, or the function or kernel itself (without calling it).
    seed: picks the hidden inputs of a function or kernel; None takes the public practice inputs.
    variant: the row of numbers, in a notebook with numbers of its own.
    Raises UnknownCheckError for a name or variant that does not exist; a bad value is explained in the result.
    """
    result = find(name, variant).run(value, seed)
    remember(result)
    return result


def grade(name: str, value: object, seed: int | str | None = None, *, variant: int = 0) -> float:
    """Print the feedback and return the points: one finite float from 0 to the check's maximum.

    nbgrader takes the last value of a test cell as its points and anything on stderr as a failure:
    this is the value to end that cell with, whatever the student's value is.
    """
    result = find(name, variant).run(value, seed)
    _say(str(result))
    return float(min(max(result.points, 0.0), result.max_points))


def _say(text: str) -> None:
    """Print, also where the console cannot show every letter of the text."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
