"""The report as CSV files for a spreadsheet: UTF-8 with the mark that Excel needs, and no cell that is a formula."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from autograder.report.gather import ChapterReport, ClassReport
from autograder.report.gradebook import Submission

__all__ = ["number", "safe", "write_csv", "write_csv_files"]

Cell = str | int | float | None

# A spreadsheet computes a cell that begins like this; some split at ";" and tabs even inside a comma-separated file.
_FORMULA = re.compile(r"(^|[;\t])([\s\x00]*)(?=[=+\-@＝＋－＠])")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")


def safe(text: str) -> str:
    """Text on one line that no spreadsheet runs: an apostrophe stands before what would begin a formula."""
    if text.isalnum() or text == "-":
        return text
    return _FORMULA.sub(r"\1\2'", _CONTROL.sub(" ", text)).replace("\t", " ")


@lru_cache(maxsize=10_000)
def number(value: float | None) -> str:
    """A number as short as it is exact to four places; "" for none and for "not a number"."""
    if value is None or value != value:
        return ""
    return f"{round(value, 4):.10g}"


def write_csv(file: Path, rows: Iterable[Sequence[Cell]], *, bom: bool = True) -> None:
    """Write rows: text is made safe, numbers are written as they are, None is an empty cell."""
    # A name that came from a folder may hold bytes that are no UTF-8.
    with file.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="", errors="backslashreplace") as stream:
        writer = csv.writer(stream)
        writer.writerows([safe(cell) if isinstance(cell, str) else number(cell) for cell in row] for row in rows)


def write_csv_files(report: ClassReport, folder: Path) -> None:
    """marks.csv, questions.csv, misconceptions.csv, flags.csv, repairs.csv, late.csv and not_graded.csv."""
    chapters = report.chapters
    write_csv(folder / "marks.csv", _marks(report))
    write_csv(folder / "questions.csv", _questions(chapters))
    write_csv(
        folder / "misconceptions.csv",
        [
            ("chapter", "question", "part", "times", "message"),
            *((c.name, *entry) for c in chapters for entry in c.misconceptions),
        ],
    )
    write_csv(
        folder / "flags.csv",
        [
            ("student", "chapter", "question", "points in the student's process", "points of record", "reason"),
            *((f.student, c.name, f.question, f.in_kernel, f.of_record, f.reason) for c in chapters for f in c.flags),
        ],
    )
    write_csv(
        folder / "repairs.csv",
        [("student", "chapter", "repair"), *((s, c.name, text) for c in chapters for s, text in c.repairs)],
    )
    write_csv(
        folder / "late.csv",
        [
            ("student", "chapter", "hours late", "points taken off"),
            *((row.student, c.name, row.seconds_late / 3600, row.penalty) for c in chapters for row in c.late),
        ],
    )
    write_csv(
        folder / "not_graded.csv",
        [("student", "chapter", "reason"), *((s, c.name, why) for c in chapters for s, why in c.not_graded)],
    )


def _marks(report: ClassReport) -> Iterable[Sequence[Cell]]:
    """One row for each student, one column for each question: what people open first in a spreadsheet."""
    head: list[Cell] = ["student", "last name", "first name", "email"]
    for chapter in report.chapters:
        head += [f"{chapter.name}/{question}" for question in chapter.points]
        head += [f"{chapter.name}/{column}" for column in ("hours late", "points taken off", "waiting", "total")]
    yield head
    rows = [{row.student: row for row in chapter.rows} for chapter in report.chapters]
    for person in report.people.values():
        line: list[Cell] = [person.id, person.last_name, person.first_name, person.email]
        for chapter, of in zip(report.chapters, rows, strict=True):
            line += _cells(chapter, of.get(person.id))
        yield line


def _cells(chapter: ChapterReport, row: Submission | None) -> list[Cell]:
    """Points by question, empty where there are none yet; then lateness, open answers and the total."""
    if row is None:
        return [None] * (len(chapter.points) + 4)
    points: list[Cell] = [None if name in row.waiting else row.scores.get(name) for name in chapter.points]
    return [*points, row.seconds_late / 3600, row.penalty, len(row.waiting), row.total]


def _questions(chapters: list[ChapterReport]) -> Iterable[Sequence[Cell]]:
    yield (
        "chapter",
        "question",
        "out of",
        "marked",
        "waiting",
        "mean points",
        "mean share",
        "share of students without a point",
        "share of students with all points",
    )
    for chapter in chapters:
        for q in chapter.statistics.questions:
            yield (
                *(chapter.name, q.name, q.max_points, q.marked, q.waiting),
                *(q.mean_points, q.mean_share, q.none_share, q.full_share),
            )
