"""What a learner has tried so far, and the worked answer that an attempt unlocks."""

from __future__ import annotations

import json

import pytest

import course
from course.checks import check, find, grade, names
from course.checks import progress as progress_module
from course.checks import worked as worked_module
from course.checks.progress import Record, attempted, progress
from course.checks.worked import worked

RIGHT = {"line_fraction": 0.25, "warp_stride": 4}


@pytest.fixture(autouse=True)
def a_new_learner(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress"))
    monkeypatch.setattr(progress_module, "_session", {})
    return tmp_path / "progress"


def forget_the_session(monkeypatch):
    monkeypatch.setattr(progress_module, "_session", {})


def test_the_best_attempt_and_the_number_of_tries_outlive_the_process(monkeypatch):
    check("coalescing/q8", RIGHT)
    check("coalescing/q8", {"line_fraction": 0.5})
    forget_the_session(monkeypatch)
    assert progress().records["coalescing/q8"] == Record(best=2.0, tries=2)
    assert set(progress().records) == set(names())


def test_a_task_that_nobody_began_is_no_attempt():
    for name, value in (
        ("coalescing/q8", {"line_fraction": None, "warp_stride": None}),
        ("coalescing/q8", ...),
        ("coalescing/scale", None),
        ("coalescing/gather", None),
        ("coalescing/sectors", None),
    ):
        check(name, value)
    assert not any(attempted(name) for name in names())
    assert progress().next_task == names()[0]


def test_the_hidden_tests_of_a_grader_count_as_no_attempt():
    grade("coalescing/q8", RIGHT)
    assert not attempted("coalescing/q8")


def test_grading_writes_no_file(monkeypatch, a_new_learner):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    check("coalescing/q8", RIGHT)
    assert attempted("coalescing/q8")
    assert not a_new_learner.exists()


def test_a_folder_that_cannot_be_written_stops_no_check(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "file" / "below"))
    assert check("coalescing/q8", RIGHT).right
    assert progress().records["coalescing/q8"].tries == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"coalescing/q8": 3}', '{"coalescing/q8": {"best": "x", "tries": 1}}']
)
def test_a_spoiled_file_is_started_again(text, a_new_learner):
    a_new_learner.mkdir()
    (a_new_learner / "coalescing.json").write_text(text, encoding="utf-8")
    check("coalescing/q8", RIGHT)
    assert json.loads((a_new_learner / "coalescing.json").read_text())["coalescing/q8"] == {"best": 2.0, "tries": 1}


def test_the_summary_says_where_to_go_on():
    check("coalescing/q8", RIGHT)
    text = str(course.progress())
    assert "coalescing: 1 of" in text and f"Next: {names()[0]}." in text and "not tried" in text
    assert "coalescing/q8" in course.progress()._repr_html_()


def test_a_worked_answer_waits_for_an_attempt():
    assert "Try it first" in str(worked("coalescing/scale"))


def test_the_solution_of_a_graded_exercise_comes_from_source_where_it_lies_there():
    from tests.support.kernel_answers import load, reference, starter

    check("coalescing/scale", load("coalescing/scale", starter("coalescing/scale")))
    shown = worked("coalescing/scale")
    assert load("coalescing/scale", str(shown)).__name__ == "scale"
    assert reference("coalescing/scale").splitlines()[1] in str(shown)
    assert "```python" in shown._repr_markdown_()


def test_without_source_the_instructor_has_the_solution(monkeypatch, tmp_path):
    check("coalescing/q8", RIGHT)
    monkeypatch.setattr(worked_module.course, "__file__", str(tmp_path / "course" / "__init__.py"))
    assert "instructor" in str(worked("coalescing/q8"))


def test_every_practice_question_has_a_worked_answer_with_its_numbers():
    practice = [find(name) for name in names() if getattr(find(name), "worked", "")]
    for question in practice:
        check(question.name, {part.name: getattr(part, "expected") for part in question.parts})  # noqa: B009
        assert str(worked(question.name)) == question.worked
