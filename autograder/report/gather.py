"""Everything a report says, gathered from the gradebook, the records and the folders of hand-ins."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime

from autograder.report.gradebook import Book, Person, Submission, read_gradebook
from autograder.report.records import Flag, Records, read_records
from autograder.report.statistics import Statistics, statistics
from autograder.settings import Course
from course.checks.registry import CHAPTERS

__all__ = ["ChapterReport", "ClassReport", "gather"]

NO_RECORD = "graded by nbgrader alone, this is not the score of record: run make grade"
NOT_YET = "handed in, but not graded yet: run make grade"


@dataclass(frozen=True)
class ChapterReport:
    """One chapter of the class."""

    name: str
    points: dict[str, float]
    """question -> the most points."""
    rows: list[Submission]
    """Graded submissions, by student."""
    not_graded: list[tuple[str, str]]
    """(student, why) of everybody who handed something in that has no mark."""
    flags: list[Flag]
    repairs: list[tuple[str, str]]
    """(student, what was repaired)."""
    misconceptions: list[tuple[str, str, int, str]]
    """(question, part, how often, message), the most frequent first."""
    statistics: Statistics

    @property
    def waiting(self) -> list[Submission]:
        """Submissions with an answer that a person has to read."""
        return [row for row in self.rows if row.waiting]

    @property
    def late(self) -> list[Submission]:
        """Submissions that came after the due date, the latest first."""
        return sorted((row for row in self.rows if row.seconds_late), key=lambda row: -row.seconds_late)

    @property
    def handed_in(self) -> int:
        """How many students handed something in."""
        return len(self.rows) + len(self.not_graded)


@dataclass(frozen=True)
class ClassReport:
    """The whole class."""

    people: dict[str, Person]
    chapters: list[ChapterReport]
    """Those in which somebody handed something in, in the order of the course."""
    made: datetime

    def name(self, student: str) -> str:
        """'Berg, Ada', or "" where the gradebook knows no name."""
        return self.people[student].name if student in self.people else ""


def gather(course: Course) -> ClassReport:
    """Read everything. An odd record or folder is reported, it stops nothing."""
    book, records, folders = read_gradebook(course), read_records(course), _handed_in(course)
    seen = {chapter for chapter, _ in folders} | {chapter for chapter, _ in records.found} | set(book.rows)
    seen |= {chapter for chapter, *_ in records.odd}
    order = {name: place for place, name in enumerate(CHAPTERS)}
    chapters = sorted(seen & {*course.chapters(), *book.points}, key=lambda name: (order.get(name, len(order)), name))
    manifest = _manifest(course)
    reports = [_chapter(name, book, records, folders, manifest.get(name, [])) for name in chapters]
    students = {student for chapter in reports for student, _ in chapter.not_graded}
    people = dict(sorted((book.people | {s: Person(s) for s in students - book.people.keys()}).items()))
    return ClassReport(people, reports, datetime.now().astimezone())


def _chapter(name: str, book: Book, records: Records, folders: set[tuple[str, str]], order: list[str]) -> ChapterReport:
    found = {student: record for (chapter, student), record in records.found.items() if chapter == name}
    reasons = {student: why for chapter, student, why in records.odd if chapter == name}
    reasons |= {student: record.reason for student, record in found.items() if record.reason}
    rows = [row for row in book.rows.get(name, []) if row.marked and row.student not in reasons]
    graded = {row.student for row in rows}
    known = {student for chapter, student in folders if chapter == name} | found.keys()
    known |= {row.student for row in book.rows.get(name, [])}
    reasons |= dict.fromkeys(known - graded - reasons.keys(), NOT_YET)
    flags = [flag for student in sorted(found) for flag in found[student].flags]
    flags += [Flag(student, "", NO_RECORD) for student in sorted(graded - found.keys())]
    place = {question: number for number, question in enumerate(order)}
    points = book.points.get(name, {})
    points = {q: points[q] for q in sorted(points, key=lambda question: place.get(question, len(place)))}
    return ChapterReport(
        name=name,
        points=points,
        rows=rows,
        not_graded=sorted(reasons.items()),
        flags=flags,
        repairs=[(student, text) for student in sorted(found) for text in found[student].repairs],
        misconceptions=records.misconceptions(name),
        statistics=statistics(rows, points),
    )


def _handed_in(course: Course) -> set[tuple[str, str]]:
    """(chapter, student) of every folder submitted/<student>/<chapter>/."""
    chapters = set(course.chapters())
    found: set[tuple[str, str]] = set()
    if not course.submitted.is_dir():
        return found
    with os.scandir(course.submitted) as students:
        folders = [entry for entry in students if entry.is_dir() and not entry.name.startswith(".")]
    for folder in folders:
        found |= {(name, folder.name) for name in os.listdir(folder.path) if name in chapters}  # noqa: PTH208
    return found


def _manifest(course: Course) -> dict[str, list[str]]:
    """chapter -> its graded cells in the order of the notebook; empty when there is no manifest."""
    try:
        manifest = json.loads(course.grade_ids.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {chapter: list(cells) for chapter, cells in manifest.items()}
