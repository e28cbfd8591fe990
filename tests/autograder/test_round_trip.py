"""From source/ to marks and feedback with real nbgrader: one run of some hand-ins, many questions about it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.cells import grade_ids, nbgrader_of, read_notebook
from autograder.grade import Outcome, grade
from autograder.release import build_release
from autograder.report import Submission, gradebook_rows, table
from autograder.samples import WRITTEN, write_samples
from autograder.settings import ROOT, Course, CourseError, prepare_environment
from course.checks import find
from tests.support.grading_helpers import copied_course

CHAPTER = "coalescing"
WRITTEN_TASKS = {"q4-why", "q7-why", "q8-why"}
EVA = "Eva Meier-Łem_17"
"""Hands in what she never touched, as Colab named it."""

NOT_GRADABLE = {
    "bob": (["coalescing.ipynb"], "the JSON breaks off or is damaged"),
    "empty": ([], "found nothing"),
    "other": (["other.ipynb"], "the JSON breaks off or is damaged"),
    "two": (["Copy of coalescing.ipynb", "coalescing (1).ipynb"], "keep one"),
    "ann [2]": (["coalescing.ipynb"], "rename the folder"),
}
"""student -> files handed in, and what the reason must say."""


@dataclass
class Round:
    course: Course
    outcomes: dict[str, Outcome]
    said: list[str]

    @property
    def rows(self) -> dict[str, Submission]:
        return {row.student: row for row in gradebook_rows(self.course, CHAPTER)}

    def autograded(self, student: str) -> nbformat.NotebookNode:
        return read_notebook(self.course.autograded / student / CHAPTER / f"{CHAPTER}.ipynb")

    def feedback(self, student: str) -> str:
        return (self.course.feedback / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Round:
    prepare_environment(ROOT)
    course = copied_course(tmp_path_factory.mktemp("course"), CHAPTER)
    build_release(course)
    write_samples(course, CHAPTER)
    (course.submitted / "untouched").rename(course.submitted / EVA)
    notebook = course.submitted / EVA / CHAPTER / f"{CHAPTER}.ipynb"
    notebook.rename(notebook.with_name(f"Copy of {CHAPTER}.ipynb"))
    for student, (names, _) in NOT_GRADABLE.items():
        folder = course.submitted / student / CHAPTER
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text(f"PK\x03\x04 this was a Word file: {name}", encoding="utf-8")
    said: list[str] = []
    outcomes = grade(course, said.append)
    return Round(course, {outcome.student: outcome for outcome in outcomes}, said)


def points_of(course: Course) -> dict[str, float]:
    ids = grade_ids(read_notebook(course.notebook(CHAPTER)))
    return {name: points for name, points in ids.items() if points is not None}


def test_the_masters_own_answers_get_full_marks(graded):
    row, points = graded.rows["perfect"], points_of(graded.course)
    assert row.waiting == WRITTEN_TASKS
    assert {n: s for n, s in row.scores.items() if n not in row.waiting} == {
        n: p for n, p in points.items() if n not in WRITTEN_TASKS
    }


def test_points_in_the_notebook_are_those_of_the_checks(graded):
    tasks = {name: points for name, points in points_of(graded.course).items() if name not in WRITTEN_TASKS}
    assert tasks == {name: find(f"{CHAPTER}/{name}").max_points for name in tasks}


def test_a_notebook_that_nobody_touched_gets_nothing_and_waits_for_nobody(graded):
    row = graded.rows[EVA]
    assert set(row.scores.values()) == {0.0}
    assert not row.waiting


def test_a_release_runs_from_top_to_bottom_without_an_error(graded):
    outputs = [output for cell in graded.autograded(EVA).cells for output in cell.get("outputs", [])]
    assert outputs
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []


def test_wrong_answers_get_the_stated_partial_marks(graded):
    row = graded.rows["half-right"]
    assert {name: row.scores[name] for name in row.scores if name not in row.waiting} == {
        "sectors": 2,
        "scale": 4,
        "wide_copy": 0,
        "gather": 0,
        "q1": 1.5,
        "q4": 3,
        "q7": 2,
        "q8": 1,
    }
    assert row.waiting == WRITTEN_TASKS


@pytest.mark.parametrize(
    "hint",
    [
        "A sector in which no lane reads is not fetched.",
        "This counts lines",
        "A cast changes the type of a pointer, not its value",
        "This is the cost of one of the four loads.",
        "This is a stride in bytes.",
    ],
)
def test_feedback_names_the_misconception(graded, hint):
    assert hint in graded.feedback("half-right")
    assert hint not in graded.feedback("perfect")


@pytest.mark.parametrize("student", ["perfect", "half-right", EVA, "broken"])
@pytest.mark.parametrize("secret", ["HIDDEN TESTS", "autograder.hidden", "from course.checks import grade"])
def test_feedback_shows_no_hidden_test(graded, student, secret):
    executed = "\n".join(cell.source for cell in graded.autograded(student).cells)
    assert secret in executed
    # Highlighting puts a span around every word.
    text = plain_text(graded.feedback(student))
    assert "check(" in text
    assert secret not in text


def plain_text(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def test_a_broken_notebook_loses_only_its_broken_answer(graded):
    points = points_of(graded.course)
    row = graded.rows["broken"]
    expected = {name: points[name] for name in points if name not in WRITTEN_TASKS}
    first = next(iter(expected))
    assert {n: s for n, s in row.scores.items() if n not in WRITTEN_TASKS} == {**expected, first: 0.0}


def test_a_deleted_test_cell_is_put_back(graded):
    handed_in = read_notebook(graded.course.submitted / "broken" / CHAPTER / f"{CHAPTER}.ipynb")
    missing = set(points_of(graded.course)) - set(grade_ids(handed_in))
    assert len(missing) == 1
    assert missing <= set(grade_ids(graded.autograded("broken")))


def test_hand_ins_that_cannot_be_graded_stop_nobody(graded):
    assert {student: outcome.state for student, outcome in graded.outcomes.items()} == {
        **dict.fromkeys([EVA, "broken", "half-right", "perfect"], "graded"),
        **dict.fromkeys(NOT_GRADABLE, "failed"),
    }


@pytest.mark.parametrize("student", NOT_GRADABLE)
def test_a_hand_in_that_cannot_be_graded_gets_a_reason(graded, student):
    assert NOT_GRADABLE[student][1] in graded.outcomes[student].reason


def test_every_hand_in_is_announced(graded):
    count = 4 + len(NOT_GRADABLE)
    assert [line.split("]")[0] for line in graded.said] == [f"[{n}/{count}" for n in range(1, count + 1)]


def test_the_table_shows_points_open_answers_and_who_has_none(graded):
    lines = table(graded.course, CHAPTER, frozenset({"bob"})).splitlines()
    assert lines[0].split() == [CHAPTER, *points_of(graded.course), "total"]
    assert "36 + ?" in next(line for line in lines if line.startswith("perfect"))
    assert "not graded" in next(line for line in lines if line.startswith("bob"))
    assert lines[-1].startswith("? waits for a person")


def test_grading_again_changes_nothing(graded):
    before = graded.rows
    pages = {path: path.stat().st_mtime_ns for path in graded.course.feedback.rglob("*.html")}
    outcomes = grade(graded.course, lambda text: None)
    assert {o.state for o in outcomes if o.student not in NOT_GRADABLE} == {"unchanged"}
    assert graded.rows == before
    assert {path: path.stat().st_mtime_ns for path in graded.course.feedback.rglob("*.html")} == pages


@pytest.mark.slow
def test_a_persons_mark_reaches_the_feedback_and_survives_a_new_hand_in(graded):
    course, student = graded.course, "half-right"
    with Gradebook(course.gradebook_url) as gradebook:
        mark = gradebook.find_grade("q4-why", CHAPTER, CHAPTER, student)
        mark.manual_score, mark.needs_manual_grade = 1.5, False
        gradebook.find_comment("q4-why", CHAPTER, CHAPTER, student).manual_comment = "Say which multiple."
        gradebook.db.commit()
    assert {o.state for o in grade(course, lambda text: None, student=student)} == {"unchanged"}
    assert "Say which multiple." in graded.feedback(student)
    assert WRITTEN in plain_text(graded.feedback(student))

    path = course.submitted / student / CHAPTER / f"{CHAPTER}.ipynb"
    notebook = read_notebook(path)
    answer = next(cell for cell in notebook.cells if nbgrader_of(cell).get("grade_id") == "q8-answer")
    answer.source = "q8 = dict(line_fraction=0.25, warp_stride=4)"
    nbformat.write(notebook, path)
    assert {o.state for o in grade(course, lambda text: None, student=student)} == {"graded"}
    row = graded.rows[student]
    assert (row.scores["q8"], row.scores["q4-why"]) == (2.0, 1.5)


def test_nothing_handed_in_says_where_to_put_it(tmp_path):
    with pytest.raises(CourseError, match=r"autograder/submitted/<student>/<chapter>/<chapter>\.ipynb"):
        grade(copied_course(tmp_path), lambda text: None)


def test_folders_that_are_no_hand_in_are_named(tmp_path):
    course = copied_course(tmp_path, CHAPTER)
    (course.submitted / "ada" / "colescing").mkdir(parents=True)
    (course.submitted / "ada" / "notes.ipynb").write_text("{}")
    said: list[str] = []
    with pytest.raises(CourseError, match="No submission"):
        grade(course, said.append)
    assert len(said) == 2
    assert "'colescing'" in said[0]
