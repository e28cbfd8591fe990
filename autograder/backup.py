"""The gradebook is copied before each grading run, and only one run grades a course at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime

from filelock import FileLock, Timeout

from autograder.settings import Course, CourseError

__all__ = ["KEPT", "back_up", "only_one"]

KEPT = 20
"""So many copies are kept; older ones are removed."""


def back_up(course: Course) -> None:
    """Copy the gradebook to backups/, when it is a file. SQLite makes the copy, so it is whole at any moment.

    A gradebook elsewhere has backups of its own.
    """
    if course.gradebook.as_posix() not in course.gradebook_url or not course.gradebook.exists():
        return
    course.backups.mkdir(parents=True, exist_ok=True)
    copy = course.backups / f"gradebook-{datetime.now():%Y%m%d-%H%M%S-%f}.db"
    with closing(sqlite3.connect(course.gradebook)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    for old in sorted(course.backups.glob("gradebook-*.db"))[:-KEPT]:
        old.unlink()


@contextmanager
def only_one(course: Course) -> Iterator[None]:
    """Refuse a second run on the same course: marks have one writer. A run that was killed leaves no lock."""
    place = course.gradebook.with_suffix(".lock")
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CourseError("this course is being graded by another process; wait until it has ended") from None
    try:
        yield
    finally:
        lock.release()
