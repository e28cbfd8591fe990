"""The late policy, with nbgrader's own due dates, extensions and timestamps."""

from __future__ import annotations

from datetime import timedelta

import pytest
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import TraitError
from traitlets.config import Config

import autograder.late as late_module
from autograder.late import PerDay, assign_penalties
from autograder.report import gradebook_rows
from autograder.settings import Course
from tests.support.report_class import DUE, write_class

HOUR, DAY = 3600, 86_400


def plugin(**traits: float) -> PerDay:
    return PerDay(**traits)


def test_nothing_is_taken_off_unless_it_is_asked_for():
    assert PerDay().late_submission_penalty("ada", 40.0, 3 * DAY) is None


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1, 4.0), (DAY, 4.0), (DAY + 1, 8.0), (2.5 * DAY, 12.0), (100 * DAY, 20.0)],
)
def test_every_day_begun_costs_its_percentage_up_to_the_most(seconds, expected):
    policy = plugin(percent_per_day=10.0, most_percent=50.0)
    assert policy.late_submission_penalty("ada", 40.0, seconds) == pytest.approx(expected)


@pytest.mark.parametrize(("seconds", "expected"), [(15 * 60, None), (15 * 60 + 1, 4.0), (DAY + 15 * 60, 4.0)])
def test_days_are_counted_from_the_end_of_the_grace(seconds, expected):
    policy = plugin(percent_per_day=10.0, grace_minutes=15.0)
    assert policy.late_submission_penalty("ada", 40.0, seconds) == expected


@pytest.mark.parametrize("traits", [{"percent_per_day": -1.0}, {"most_percent": 101.0}, {"grace_minutes": -5.0}])
def test_a_policy_that_makes_no_sense_is_refused(traits):
    with pytest.raises(TraitError):
        plugin(**traits)


def configured(**traits: float) -> Config:
    settings = Config()
    settings.AssignLatePenalties.plugin_class = "autograder.late.PerDay"
    settings.PerDay.update(traits)
    return settings


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    course = write_class(tmp_path, ["ada", "bob", "cy", "dee"], records=False, chapters=("layout",))
    monkeypatch.setattr(late_module, "nbgrader_settings", lambda _: configured(percent_per_day=10.0))
    with Gradebook(course.gradebook_url) as gradebook:
        for student, hours in (("ada", -1), ("bob", 1), ("cy", 30), ("dee", 30)):
            submission = gradebook.find_submission("layout", student)
            submission.timestamp = DUE + timedelta(hours=hours)
            submission.extension = timedelta(hours=10) if student == "dee" else None
            submission.notebooks[0].late_submission_penalty = 3.0 if student == "ada" else None
        gradebook.db.commit()
    return course


def penalties(course: Course) -> dict[str, float]:
    return {row.student: row.penalty for row in gradebook_rows(course, "layout")}


def test_penalties_follow_the_marks_and_the_extension(course):
    scores = {row.student: sum(row.scores.values()) for row in gradebook_rows(course, "layout")}
    expected = {"bob": scores["bob"] * 0.1, "cy": scores["cy"] * 0.2, "dee": scores["dee"] * 0.1}
    assert assign_penalties(course, "layout") == pytest.approx(expected)
    assert penalties(course) == pytest.approx({"ada": 0.0, **expected})


def test_a_mark_that_a_person_gives_later_changes_the_penalty(course):
    assign_penalties(course, "layout")
    with Gradebook(course.gradebook_url) as gradebook:
        gradebook.find_grade("q2-why", "layout", "layout", "cy").manual_score = 2.0
        gradebook.find_grade("soa", "layout", "layout", "cy").manual_score = 1.0
        gradebook.db.commit()
    assign_penalties(course, "layout")
    row = next(row for row in gradebook_rows(course, "layout") if row.student == "cy")
    assert row.penalty == pytest.approx(sum(row.scores.values()) * 0.2)
    assert row.total == pytest.approx(sum(row.scores.values()) * 0.8)


def test_it_is_what_nbgraders_own_step_assigns(course):
    assign_penalties(course, "layout")
    ours = penalties(course)
    for student in ours:
        step = AssignLatePenalties(config=configured(percent_per_day=10.0))
        names = {"notebook": "layout", "assignment": "layout", "student": student, "db_url": course.gradebook_url}
        step.preprocess(_Empty(), {"nbgrader": names})
    assert penalties(course) == pytest.approx(ours)


class _Empty:
    cells = ()


def test_nbgraders_own_methods_work_as_well(course, monkeypatch):
    settings = Config()
    settings.LateSubmissionPlugin.penalty_method = "zero"
    monkeypatch.setattr(late_module, "nbgrader_settings", lambda _: settings)
    assign_penalties(course, "layout")
    totals = {row.student: row.total for row in gradebook_rows(course, "layout")}
    assert [totals[student] for student in ("bob", "cy", "dee")] == [0, 0, 0]
    assert totals["ada"] > 0
