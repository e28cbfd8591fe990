"""Every written answer has a rubric: points that add up, what earns half of them, what earns nothing, on one page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.cells import nbgrader_of, read_notebook
from autograder.rubrics import Rubric, rubric_problems, rubrics, rubrics_folder, write_rubrics
from autograder.settings import ROOT, Course
from autograder.variants import make_secret
from course.checks.registry import CHAPTERS

COURSE = Course(ROOT)
WRITTEN = [(chapter, rubric) for chapter in CHAPTERS for rubric in rubrics(COURSE, chapter)]


def ids(value: object) -> str:
    return value.grade_id if isinstance(value, Rubric) else str(value)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    (tmp_path / "source").symlink_to(ROOT / "source", target_is_directory=True)
    return Course(tmp_path)


def test_every_chapter_has_a_written_task_and_every_written_task_a_rubric() -> None:
    assert {chapter for chapter, _ in WRITTEN} == set(CHAPTERS)
    manual = {
        nbgrader_of(cell)["grade_id"]
        for chapter in COURSE.chapters()
        for cell in read_notebook(COURSE.notebook(chapter)).cells
        if nbgrader_of(cell).get("grade") and nbgrader_of(cell).get("solution")
    }
    assert manual == {rubric.grade_id for _, rubric in WRITTEN}
    assert list(rubric_problems(COURSE)) == []


@pytest.mark.parametrize(("chapter", "rubric"), WRITTEN, ids=ids)
def test_a_rubric_has_a_model_answer_and_lines_that_add_up_to_the_points_of_its_cell(
    chapter: str, rubric: Rubric
) -> None:
    model, _, lines = rubric.text.partition("\n\n")
    assert model.startswith("**Model answer.** ") and "point)" not in model
    assert sum(line.points for line in rubric.lines) == rubric.points
    assert [line.text.strip() for line in rubric.lines] == [
        t.strip() for t in re.split(r"^(?=- )", lines, flags=re.M)[1:]
    ]
    for line in rubric.lines:
        assert line.advice == {"Half", "Nothing"}
        assert len(line.text.splitlines()[0]) > 60
    assert len(rubric.question) > 60


@pytest.mark.parametrize(("chapter", "rubric"), WRITTEN, ids=ids)
def test_no_line_of_a_rubric_reaches_a_student(chapter: str, rubric: Rubric) -> None:
    released = (ROOT / "release" / chapter / f"{chapter}.ipynb").read_text(encoding="utf-8")
    for line in rubric.text.splitlines():
        assert len(line.strip()) < 40 or line.strip() not in released


def _rubric(text: str, points: float = 2.0) -> Rubric:
    return Rubric("q9-why", points, "Why?", text)


def test_lines_are_read_with_their_points_and_their_advice() -> None:
    half, nothing = "    - Half: so so.\n", "    - Nothing: wrong.\n"
    rubric = _rubric(
        f"A model (1 point).\n\n- (1.5 points) One.\n{half}{nothing}- (0.5 points) Other.\n  More.\n{half}"
    )
    assert [line.points for line in rubric.lines] == [1.5, 0.5]
    assert [line.advice for line in rubric.lines] == [{"Half", "Nothing"}, {"Half"}]
    assert _rubric("Everything is right (2 points).").lines == ()


def test_a_rubric_that_does_not_add_up_or_leaves_the_marker_alone_is_named(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = _rubric("**Model answer.** So.\n\n- (1 point) One.\n    - Half: so so.\n")
    monkeypatch.setattr("autograder.rubrics.rubrics", lambda course, chapter: [bad] if chapter == "tiling" else [])
    assert list(rubric_problems(course)) == [
        "tiling, q9-why: its lines give 1 points, the cell gives 2: every line with points begins like '- (1 point) '",
        "tiling, q9-why: no line '- Nothing: ...' under '- (1 point) One.'",
    ]


def test_a_page_shows_question_model_answer_and_every_line_of_each_task(course: Course) -> None:
    pages = write_rubrics(course)
    assert pages == [rubrics_folder(course) / f"{chapter}.html" for chapter in sorted(CHAPTERS)]
    for page in pages:
        text, chapter = page.read_text(encoding="utf-8"), page.stem
        mine = [rubric for name, rubric in WRITTEN if name == chapter]
        assert re.findall(r"<h2><code>(.+)</code>, 2 points</h2>", text) == [rubric.grade_id for rubric in mine]
        assert text.count("<li>(1 point)") + text.count("<li><p>(1 point)") == sum(len(r.lines) for r in mine)
        assert text.count("Model answer.") == len(mine) and "**" not in text
        assert "numbers of their own" not in text


def test_a_page_says_that_numbers_differ_when_they_do(course: Course) -> None:
    make_secret(course)
    assert all("numbers of their own" in page.read_text(encoding="utf-8") for page in write_rubrics(course))


def test_git_never_sees_the_pages() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"/{rubrics_folder(COURSE).relative_to(ROOT).as_posix()}/" in ignored
