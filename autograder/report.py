"""The marks in a gradebook, as rows and as a table for the terminal."""

from __future__ import annotations

from dataclasses import dataclass

from nbgrader.api import Gradebook, MissingEntry

from autograder.cells import grade_ids, read_notebook
from autograder.settings import Course
from course.tables import as_text

__all__ = ["Submission", "gradebook_rows", "table"]


@dataclass(frozen=True)
class Submission:
    """One student's marks in one chapter."""

    student: str
    scores: dict[str, float]
    """grade_id -> points, automatic ones or those a person gave."""
    waiting: frozenset[str]
    """grade_ids of answers that a person still has to read."""
    comments: dict[str, str]
    """grade_id -> what a person wrote to the student."""

    @property
    def total(self) -> float:
        """Points so far; answers that wait for a person count 0."""
        return sum(self.scores.values())


def gradebook_rows(course: Course, chapter: str) -> list[Submission]:
    """All submissions of a chapter, by student name; empty when the gradebook knows none."""
    if not course.gradebook.exists():
        return []
    with Gradebook(course.gradebook_url) as gradebook:
        try:
            submissions = gradebook.find_assignment(chapter).submissions
        except MissingEntry:
            return []
        return sorted((_row(submission) for submission in submissions), key=lambda row: row.student)


def _row(submission: object) -> Submission:
    notebooks = submission.notebooks  # type: ignore[attr-defined]  # nbgrader's tables are untyped
    grades = sorted((grade for notebook in notebooks for grade in notebook.grades), key=lambda grade: str(grade.name))
    comments = [comment for notebook in notebooks for comment in notebook.comments if comment.comment]
    return Submission(
        student=submission.student.id,  # type: ignore[attr-defined]
        scores={grade.name: float(grade.score) for grade in grades},
        waiting=frozenset(grade.name for grade in grades if grade.needs_manual_grade),
        comments={comment.name: comment.comment for comment in sorted(comments, key=lambda c: str(c.name))},
    )


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
    return [row.student, *(_points(row, name) for name in names), f"{row.total:.4g}" + (" + ?" if row.waiting else "")]


def _points(row: Submission, name: str) -> str:
    """Points; "?" alone where nobody has read the answer, behind points that were given before a regrade."""
    score = row.scores.get(name, 0.0)
    if name in row.waiting:
        return f"{score:.4g}?" if score else "?"
    return f"{score:.4g}"
