"""What is known of each graded submission besides its marks: repairs, flags, and how every score came about.

One JSON file for each submission, autograder/records/<student>/<chapter>.json. It is written last: a submission
without its record is graded again, so a run may be stopped at any moment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from autograder.scoring.score import Score
from autograder.settings import Course
from autograder.variants import other_row_in_words
from autograder.writing import write

__all__ = ["Flag", "Record", "flags", "read_record", "write_record"]


@dataclass(frozen=True)
class Flag:
    """Something that a person should look at."""

    question: str
    """grade_id, or "" for the notebook as a whole."""
    reason: str
    in_kernel: float | None = None
    """What the notebook's own run gave; None when it gave nothing."""
    of_record: float | None = None


@dataclass(frozen=True)
class Record:
    """One submission, graded or not."""

    student: str
    chapter: str
    submission: str
    """Digest of what was handed in and of the master it was graded with."""
    state: str
    """"graded" or "failed"."""
    reason: str = ""
    """Why it failed."""
    repairs: tuple[str, ...] = ()
    seconds: float = 0.0
    graded_at: str = ""
    """ISO time, UTC."""
    flags: tuple[Flag, ...] = ()
    scores: Mapping[str, Score] = field(default_factory=dict)
    feedback: str = ""
    """Digest of the marks that the feedback shows; "" before there is feedback."""


def flags(
    problem: str, scores: Mapping[str, Score], in_kernel: Mapping[str, float | None], *, variants: bool
) -> tuple[Flag, ...]:
    """Where the notebook's own run and the score of record disagree, and what could not be verified.

    An answer that both find wrong in the same way is no doubt, whatever there is to say about it.
    variants: students have numbers of their own, so an answer that is right for somebody else says something.
    """
    found = [Flag("", f"The notebook's run ended early. {problem}")] if problem else []
    for name, score in scores.items():
        own = in_kernel.get(name)
        if variants and score.other_row is not None:
            found.append(Flag(name, other_row_in_words(score.other_row), own, score.points))
        if score.how == "unread":
            found.append(
                Flag(name, f"Not verified, so no points until a person decides: {score.reason}", own, score.points)
            )
        elif own is not None and not math.isclose(own, score.points, abs_tol=1e-9):
            more = "more" if own > score.points else "fewer"
            why = f" ({score.reason})" if score.reason else ""
            found.append(
                Flag(
                    name,
                    f"The notebook's own run gives {more} points than the answer earns outside{why}.",
                    own,
                    score.points,
                )
            )
    return tuple(found)


def write_record(course: Course, record: Record) -> None:
    """Keep a record, in place of an older one."""
    text = json.dumps(asdict(record), ensure_ascii=False, allow_nan=False)
    write(course.record(record.student, record.chapter), text.encode("utf-8", "backslashreplace"))


def read_record(course: Course, student: str, chapter: str) -> Record | None:
    """The record of a submission; None when there is none, or when it cannot be read (then it is graded again)."""
    try:
        content: dict[str, Any] = json.loads(course.record(student, chapter).read_text(encoding="utf-8"))
        content["flags"] = tuple(Flag(**flag) for flag in content["flags"])
        content["scores"] = {name: Score(**score) for name, score in content["scores"].items()}
        content["repairs"] = tuple(content["repairs"])
        return Record(**content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
