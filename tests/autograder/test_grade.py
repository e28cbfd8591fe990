"""One grading run of a small class: marks, records, what is repeated and what is not, and who may write."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook

from autograder.grade import How, grade
from autograder.report import gradebook_rows
from autograder.sandbox import bubblewrap
from autograder.sandbox.limits import Limits
from autograder.settings import ROOT, Course, CourseError, prepare_environment
from tests.support.small_course import CHAPTER, POINTS, TASKS, answered, hand_in, released, small_course

pytestmark = pytest.mark.slow

OWN = "from course.checks import asking\nasking.grade.__code__ = (lambda *a, **k: 99.0).__code__\nq1 = dict(sectors=1)"
"""An answer that makes the notebook give itself points."""


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    """A class after its first grading run."""
    prepare_environment(ROOT)
    course = small_course(tmp_path_factory.mktemp("small"))
    hand_in(course, "ada", answered())
    hand_in(course, "bob", answered("scale", q1=OWN))
    hand_in(course, "cleo", released())
    (course.submitted / "link").symlink_to(course.submitted / "ada")
    return course


@pytest.fixture(scope="module")
def said(course) -> list[str]:
    told: list[str] = []
    grade(course, told.append)
    return told


def row(course: Course, student: str):
    return next(row for row in gradebook_rows(course, CHAPTER) if row.student == student)


def record(course: Course, student: str) -> dict[str, object]:
    return json.loads(course.record(student, CHAPTER).read_text(encoding="utf-8"))


def test_right_answers_get_full_marks_and_no_flag(course, said):
    assert row(course, "ada").scores == {**POINTS, "q8-why": 0.0}
    kept = record(course, "ada")
    assert (kept["state"], kept["flags"], kept["repairs"]) == ("graded", [], [])
    assert {name: score["how"] for name, score in kept["scores"].items()} == {
        "sectors": "function", "scale": "kernel", "q1": "data", "q8": "data",
    }  # fmt: skip


def test_points_that_a_notebook_gives_itself_do_not_count_and_are_flagged(course, said):
    assert row(course, "bob").scores == {"sectors": 0, "scale": POINTS["scale"], "q1": 0, "q8": 0, "q8-why": 0}
    assert {flag["question"] for flag in record(course, "bob")["flags"]} >= {"q1"}


def test_an_untouched_notebook_gets_nothing_and_waits_for_nobody(course, said):
    untouched = row(course, "cleo")
    assert untouched.total == 0
    assert not untouched.waiting
    assert record(course, "cleo")["flags"] == []


def test_a_linked_folder_is_nobodys_hand_in(course, said):
    assert any("Left out" in line and "link" in line for line in said)
    assert {row.student for row in gradebook_rows(course, CHAPTER)} == {"ada", "bob", "cleo"}


def test_every_hand_in_is_announced_with_its_number(course, said):
    assert [line.split()[0] for line in said if line.startswith("[")] == ["[1/3]", "[2/3]", "[3/3]"]


def test_feedback_is_written_for_everybody(course, said):
    for student in ("ada", "bob", "cleo"):
        assert (course.feedback / student / CHAPTER / f"{CHAPTER}.html").exists()


def test_nothing_runs_again_that_did_not_change(course, said):
    before = record(course, "ada")
    assert {outcome.state for outcome in grade(course, lambda line: None)} == {"unchanged"}
    assert record(course, "ada") == before


def test_the_gradebook_is_copied_before_each_run(course, said):
    copies = sorted(course.backups.iterdir())
    assert copies, "the second run made one"
    with closing(sqlite3.connect(copies[-1])) as copy:
        assert copy.execute("select count(*) from submitted_assignment").fetchone() == (3,)


def test_a_second_process_may_not_grade_at_the_same_time(course, said):
    with FileLock(course.gradebook.with_suffix(".lock")), pytest.raises(CourseError, match="another process"):
        grade(course, lambda line: None)


def test_without_a_sandbox_nothing_is_graded_unless_somebody_says_so(course, said, monkeypatch):
    monkeypatch.setattr("autograder.grade.available", lambda: "bubblewrap is not here")
    with pytest.raises(CourseError, match=r"bubblewrap is not here[\s\S]*use the network[\s\S]*--without-sandbox"):
        grade(course, lambda line: None)
    assert bubblewrap.available() == ""


def test_a_persons_points_stay_when_the_work_is_graded_again(course, said):
    with Gradebook(course.gradebook_url) as gradebook:
        gradebook.find_grade("q8-why", CHAPTER, CHAPTER, "ada").manual_score = 1.5
        gradebook.db.commit()
    grade(course, lambda line: None, student="ada", how=How(force=True))
    again = row(course, "ada")
    assert again.scores["q8-why"] == 1.5
    assert again.total == sum(POINTS[name] for name in TASKS) + 1.5


def test_a_hand_in_that_cannot_be_read_has_a_reason_and_stops_nobody(course, said):
    place: Path = hand_in(course, "dora", answered())
    place.write_text("PK\x03\x04 this was a Word file", encoding="utf-8")
    hand_in(course, "emil", answered("q8"))
    ended = {outcome.student: outcome for outcome in grade(course, lambda line: None)}
    assert ended["dora"].state == "failed"
    assert "expected a notebook" in ended["dora"].reason
    assert record(course, "dora")["reason"] == ended["dora"].reason
    assert ended["emil"].state == "graded"
    assert row(course, "emil").scores["q8"] == POINTS["q8"]


def test_an_honest_mistake_has_its_hint_and_is_nothing_to_look_at(course, said):
    q8 = record(course, "cleo")["scores"]["q8"]
    assert (q8["points"], q8["reason"]) == (0.0, "")
    hand_in(course, "eli", answered(q8="q8 = 0.5"))
    (outcome,) = grade(course, lambda line: None, student="eli")
    kept = record(course, "eli")
    assert kept["scores"]["q8"]["reason"]
    assert (kept["flags"], outcome.flagged) == ([], 0)


def test_a_page_that_takes_for_ever_costs_its_own_feedback_and_no_marks(course, said):
    notebook = answered()
    notebook.cells.append(new_markdown_cell("[a](" * 500_000, id="endless"))
    for student, handed in (("finn", notebook), ("gus", answered())):
        hand_in(course, student, handed)
    how = How(limits=Limits(feedback_seconds=10))
    outcomes = {outcome.student: outcome for outcome in grade(course, lambda line: None, how=how)}
    assert outcomes["finn"].state == "failed"
    assert outcomes["finn"].reason.startswith("no feedback: its process died twice, or took too long")
    assert outcomes["gus"].state == "graded"
    assert row(course, "finn").scores == row(course, "gus").scores
    pages = {student: (course.feedback / student / CHAPTER / f"{CHAPTER}.html").exists() for student in ("finn", "gus")}
    assert pages == {"finn": False, "gus": True}
