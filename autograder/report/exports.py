"""Marks for learning platforms: the CSV files that Canvas's gradebook and Moodle's grade import take.

A mark that is not final (not graded, or an answer waits for a person) is left out, so no student sees a mark that
will change.
"""

from __future__ import annotations

import html
from pathlib import Path

from autograder.report.csv_files import Cell, number, write_csv
from autograder.report.gather import ChapterReport, ClassReport
from autograder.report.gradebook import Person, Submission

__all__ = ["write_canvas", "write_moodle"]

CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS_POSSIBLE = "    Points Possible"
"""Canvas takes a row for that of the maximum points when its first cell contains these words; it writes the spaces."""
MOODLE_COLUMNS = ("ID number", "Email address")
NO_GRADE = "-"
"""How Moodle writes "no grade"; an empty cell of a new column would be read as a grade."""


def write_canvas(report: ClassReport, file: Path) -> None:
    """For Canvas: Grades > Import. One column for each chapter.

    Canvas finds a student by "ID" (its own number: the gradebook's lms_user_id), else by "SIS Login ID" (our student),
    else by the name. It offers to make an assignment for a column that it does not know.
    """
    finals = [_final(chapter) for chapter in report.chapters]
    rows: list[list[Cell]] = [[*CANVAS_COLUMNS, *(chapter.name for chapter in report.chapters)]]
    rows.append([POINTS_POSSIBLE, *[None] * 4, *(sum(chapter.points.values()) for chapter in report.chapters)])
    for person in report.people.values():
        # Two decimals: what Canvas shows, and compares when it looks for changes.
        marks = [round(of[person.id].total, 2) if person.id in of else None for of in finals]
        rows.append([_canvas_name(person), person.lms_user_id, None, person.id, None, *marks])
    write_csv(file, rows, bom=False)


def _canvas_name(person: Person) -> str:
    name = person.name or person.id
    # A student of this name would replace the maximum points of every column.
    return "" if POINTS_POSSIBLE.strip().casefold() in name.casefold() else name


def write_moodle(report: ClassReport, file: Path) -> None:
    """For Moodle: Grades > Import > CSV file. For each chapter a column of points and one of feedback.

    Map "ID number" to `useridnumber` or `username`, whichever our students' names are, or "Email address" to
    `useremail`. One unknown student stops the whole import: Moodle's rule.
    """
    finals = [_final(chapter) for chapter in report.chapters]
    head: list[Cell] = [*MOODLE_COLUMNS]
    for chapter in report.chapters:
        head += [chapter.name, f"{chapter.name} (Feedback)"]
    rows: list[list[Cell]] = [head]
    for person in report.people.values():
        # Moodle skips an empty name and "0", and would give these marks to the student of the row above.
        if person.id.strip() in ("", "0"):
            continue
        row: list[Cell] = [person.id, person.email]
        for chapter, of in zip(report.chapters, finals, strict=True):
            if person.id in of:
                mark = of[person.id]
                # Written as a number with a decimal point; "-" is the one text that is no formula.
                row += [round(mark.total, 5), _feedback(chapter, mark)]
            else:
                row += [NO_GRADE, None]
        rows.append(row)
    write_csv(file, rows, bom=False)


def _final(chapter: ChapterReport) -> dict[str, Submission]:
    return {row.student: row for row in chapter.rows if not row.waiting}


def _feedback(chapter: ChapterReport, mark: Submission) -> str:
    """Points by question, the penalty, and what a person wrote. Moodle reads feedback as HTML."""
    scores = mark.scores
    parts = [f"{name} {number(scores.get(name, 0.0))} of {number(most)}" for name, most in chapter.points.items()]
    lines = [", ".join(parts)]
    if mark.penalty:
        lines.append(f"late: {number(mark.penalty)} points taken off")
    lines += [f"{name}: {comment}" for name, comment in mark.comments.items()]
    return html.escape(" | ".join(lines), quote=False)
