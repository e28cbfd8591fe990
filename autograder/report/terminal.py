"""The marks of one chapter as a table for the terminal."""

from __future__ import annotations

from functools import lru_cache

from autograder.cells import grade_ids, read_notebook
from autograder.report.gradebook import Submission, gradebook_rows
from autograder.settings import Course
from course.tables import as_text

__all__ = ["points_text", "table"]


def table(course: Course, chapter: str, failed: frozenset[str] = frozenset()) -> str:
    """Students x questions x points. `failed` are students whose last hand-in could not be graded."""
    points = {name: p for name, p in grade_ids(read_notebook(course.notebook(chapter))).items() if p is not None}
    rows = gradebook_rows(course, chapter)
    header = [chapter, *points, "total"]
    body = [["out of", *(f"{p:g}" for p in points.values()), f"{sum(points.values()):g}"]]
    body += [_cells(row, list(points)) for row in rows if row.student not in failed]
    body += [[student, *("-" for _ in points), "not graded"] for student in sorted(failed)]
    rule = ["-" * max(map(len, column)) for column in zip(header, *body, strict=True)]
    lines = as_text(header, [body[0], rule, *body[1:]]).split("\n")
    if any(row.waiting for row in rows):
        lines.append('? waits for a person: read these answers in formgrader (autograder/README.md, "Review").')
    return "\n".join(lines)


def _cells(row: Submission, names: list[str]) -> list[str]:
    total = f"{row.total:.4g}" + (" + ?" if row.waiting else "")
    return [row.student, *(points_text(row, name) for name in names), total]


def points_text(row: Submission, name: str) -> str:
    """Points; "?" alone where nobody has read the answer, behind points that were given before a regrade."""
    return _text(row.scores.get(name, 0.0), name in row.waiting)


@lru_cache(maxsize=10_000)
def _text(score: float, waits: bool) -> str:
    if waits:
        return f"{score:.4g}?" if score else "?"
    return f"{score:.4g}"
