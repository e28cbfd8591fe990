"""The marks in nbgrader's database: rows of plain values, read with four queries however large the class is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)
from sqlalchemy import Connection, Select, create_engine, func, or_, select

from autograder.settings import Course

__all__ = ["Book", "Person", "Submission", "gradebook_rows", "read_gradebook", "seconds_late"]

_GRADE = (Grade.notebook_id, Grade.cell_id)


@dataclass(frozen=True)
class Submission:
    """One student's marks in one chapter."""

    student: str
    scores: dict[str, float]
    """grade_id -> points, automatic ones or those a person gave, with extra credit."""
    waiting: frozenset[str]
    """grade_ids of answers that a person still has to read."""
    comments: dict[str, str]
    """grade_id -> what a person wrote to the student."""
    penalty: float = 0.0
    """Points taken off because the notebook came late."""
    seconds_late: float = 0.0
    """How long after the due date, extension included, it came; 0 when in time or when there is no due date."""
    marked: bool = True
    """Whether anything was graded; nbgrader notes a submission before it grades it."""

    @property
    def total(self) -> float:
        """Points so far, less the penalty; answers that wait for a person count 0."""
        return max(0.0, sum(self.scores.values()) - self.penalty)


@dataclass(frozen=True)
class Person:
    """A student as the gradebook knows them; "" where it knows nothing."""

    id: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    @property
    def name(self) -> str:
        """'Berg, Ada', or what there is of it."""
        return ", ".join(filter(None, (self.last_name, self.first_name)))


@dataclass
class Book:
    """All that a report needs from a gradebook."""

    people: dict[str, Person] = field(default_factory=dict)
    points: dict[str, dict[str, float]] = field(default_factory=dict)
    """chapter -> grade_id -> the most points, in the gradebook's order."""
    rows: dict[str, list[Submission]] = field(default_factory=dict)
    """chapter -> submissions, by student."""


def gradebook_rows(course: Course, chapter: str) -> list[Submission]:
    """All submissions of a chapter, by student name; empty when the gradebook knows none."""
    return read_gradebook(course, chapter).rows.get(chapter, [])


def read_gradebook(course: Course, chapter: str | None = None) -> Book:
    """Marks of one chapter, or of all; an empty book when there is no gradebook yet.

    nbgrader's own definition of a score is used: a person's score before the automatic one, plus extra credit.
    """
    if not course.has_gradebook:
        return Book()
    engine = create_engine(course.gradebook_url)
    try:
        with engine.connect() as connection:
            return _book(connection, chapter)
    finally:
        engine.dispose()


def _book(connection: Connection, chapter: str | None) -> Book:
    book = Book()
    about = (Student.id, Student.last_name, Student.first_name, Student.email, Student.lms_user_id)
    for values in connection.execute(select(*about)):
        book.people[values[0]] = Person(*(value or "" for value in values))
    names: dict[str, str] = {}
    for cell, name, of, most in connection.execute(_of(chapter, _cells())):
        names[cell] = name
        if most is not None:
            book.points.setdefault(of, {})[name] = most
    scores: dict[str, dict[str, float]] = {}
    for notebook, cell, score in connection.execute(_of_notebooks(chapter, *_GRADE, Grade.score)).all():
        scores.setdefault(notebook, {})[names[cell]] = score
    waiting: dict[str, list[str]] = {}
    for notebook, cell in connection.execute(_of_notebooks(chapter, *_GRADE).where(Grade.needs_manual_grade)):
        waiting.setdefault(notebook, []).append(names[cell])
    is_marked = or_(Grade.auto_score.is_not(None), Grade.manual_score.is_not(None))
    marked = set(connection.scalars(_of_notebooks(chapter, Grade.notebook_id).where(is_marked).distinct()))
    comments: dict[str, dict[str, str]] = {}
    said = _of_notebooks(chapter, Comment.notebook_id, Comment.cell_id, Comment.comment)
    for notebook, cell, text in connection.execute(said.where(Comment.comment != "")):
        comments.setdefault(notebook, {})[names[cell]] = text
    for notebook, student, of, penalty, handed_in, due, extension in connection.execute(_of(chapter, _notebooks())):
        row = Submission(
            student=student,
            scores=_finite_scores(scores.get(notebook, {})),
            waiting=frozenset(waiting.get(notebook, ())),
            comments=dict(sorted(comments.get(notebook, {}).items())),
            penalty=_finite(penalty),
            seconds_late=seconds_late(handed_in, due, extension),
            marked=notebook in marked,
        )
        book.rows.setdefault(of, []).append(row)
    for rows in book.rows.values():
        rows.sort(key=lambda row: row.student)
    return book


def _cells() -> Select[Any]:
    cell, graded, task = BaseCell.__table__.c, GradeCell.__table__.c, TaskCell.__table__.c
    return (
        select(cell.id, cell.name, Assignment.name, func.coalesce(graded.max_score, task.max_score))
        .select_from(BaseCell.__table__)
        .outerjoin(GradeCell.__table__, graded.id == cell.id)
        .outerjoin(TaskCell.__table__, task.id == cell.id)
        .join(Notebook.__table__, Notebook.id == cell.notebook_id)
        .join(Assignment.__table__, Assignment.id == Notebook.assignment_id)
    )


def _notebooks() -> Select[Any]:
    handed_in = SubmittedAssignment.__table__.c
    return (
        select(
            SubmittedNotebook.id,
            handed_in.student_id,
            Assignment.name,
            SubmittedNotebook.late_submission_penalty,
            handed_in.timestamp,
            Assignment.duedate,
            handed_in.extension,
        )
        .select_from(SubmittedNotebook.__table__)
        .join(SubmittedAssignment.__table__, handed_in.id == SubmittedNotebook.assignment_id)
        .join(Assignment.__table__, Assignment.id == handed_in.assignment_id)
    )


def _of(chapter: str | None, query: Select[Any]) -> Select[Any]:
    return query if chapter is None else query.where(Assignment.name == chapter)


def _of_notebooks(chapter: str | None, *columns: Any) -> Select[Any]:
    """Rows of the table of grades or comments. No joins for all chapters: they would take most of the time."""
    query = select(*columns)
    if chapter is None:
        return query
    mine = select(SubmittedNotebook.id).join(Notebook).join(Assignment).where(Assignment.name == chapter)
    return query.where(columns[0].in_(mine))


def _finite_scores(scores: dict[str, float]) -> dict[str, float]:
    """Scores by name; as a rule all are numbers, so one look at their sum is enough."""
    if math.isfinite(sum(scores.values())):
        return dict(sorted(scores.items()))
    return {name: _finite(score) for name, score in sorted(scores.items())}


def _finite(number: float | None) -> float:
    """A number that can be added up: a gradebook may hold nothing or an infinity where points should be."""
    return float(number) if number is not None and math.isfinite(number) else 0.0


def seconds_late(handed_in: datetime | None, due: datetime | None, extension: timedelta | None) -> float:
    """Seconds after the due date and a student's extension; 0 when in time, or when one of the times is not known."""
    if handed_in is None or due is None:
        return 0.0
    if extension is not None:
        due += extension
    return max(0.0, float((handed_in - due).total_seconds()))
