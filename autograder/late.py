"""Points off for late notebooks: a percentage for every day that has begun, as a plugin of nbgrader. Off by default.

nbgrader itself takes nothing off, or everything. The times are nbgrader's: the due date of the assignment in the
gradebook, a student's extension, and the timestamp.txt beside the notebook that was handed in.
"""

from __future__ import annotations

import math
from typing import Any

from nbgrader.api import Assignment, Grade, SubmittedAssignment, SubmittedNotebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import create_engine, func, select, update
from traitlets import Float

from autograder.report.gradebook import seconds_late
from autograder.settings import Course, nbgrader_settings

__all__ = ["PerDay", "assign_penalties"]

DAY, MINUTE = 86_400, 60
"""In seconds."""


class PerDay(LateSubmissionPlugin):  # type: ignore[misc]  # nbgrader is untyped
    """Takes `percent_per_day` of the points that were earned for every day begun, never more than `most_percent`."""

    percent_per_day = Float(0.0, min=0.0, max=100.0, help="Percent of the points for every day begun; 0: off.").tag(
        config=True
    )
    most_percent = Float(100.0, min=0.0, max=100.0, help="The most percent that are taken off.").tag(config=True)
    grace_minutes = Float(0.0, min=0.0, help="So late still counts as in time; days are counted from then.").tag(
        config=True
    )

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Points to take off `score`; None when there are none. nbgrader calls this for each late notebook."""
        late = total_seconds_late - self.grace_minutes * MINUTE
        if not self.percent_per_day or late <= 0:
            return None
        percent = min(self.most_percent, self.percent_per_day * math.ceil(late / DAY))
        return float(score * percent / 100)


def assign_penalties(course: Course, chapter: str) -> dict[str, float]:
    """Bring the penalties of a chapter up to date with its marks; returns student -> points taken off.

    nbgrader sets a penalty while it autogrades. Points that come later, from the score of record or a person, change
    it. The plugin is the one that `AssignLatePenalties.plugin_class` names.
    """
    settings = nbgrader_settings(course)
    plugin: Any = AssignLatePenalties(config=settings).plugin_class(config=settings)
    engine = create_engine(course.gradebook_url)
    found: dict[str, float] = {}
    try:
        with engine.begin() as connection:
            for notebook, student, was, score, *times in connection.execute(_notebooks(chapter)).all():
                seconds = seconds_late(*times)
                points = plugin.late_submission_penalty(student, score, seconds) if seconds > 0 else None
                penalty = None if points is None else min(max(points, 0.0), score)
                if penalty != was:
                    row = SubmittedNotebook.__table__
                    connection.execute(update(row).where(row.c.id == notebook).values(late_submission_penalty=penalty))
                if penalty:
                    found[student] = found.get(student, 0.0) + penalty
    finally:
        engine.dispose()
    return found


def _notebooks(chapter: str) -> Any:
    """(notebook, student, penalty so far, points, time since the due date or None) of each submission."""
    score = (
        select(func.coalesce(func.sum(Grade.score), 0.0))
        .where(Grade.notebook_id == SubmittedNotebook.id)
        .correlate(SubmittedNotebook)
        .scalar_subquery()
    )
    return (
        select(
            SubmittedNotebook.id,
            SubmittedAssignment.student_id,
            SubmittedNotebook.late_submission_penalty,
            score,
            SubmittedAssignment.timestamp,
            Assignment.duedate,
            SubmittedAssignment.extension,
        )
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .where(Assignment.name == chapter)
    )
