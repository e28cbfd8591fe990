"""What cannot be released is refused with the reason, and the old release stays as it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from traitlets.log import get_logger

import autograder.release as release_module
from autograder.cells import cell_problems, nbgrader_of, read_notebook
from autograder.release import build_release, manifest_problems
from autograder.settings import ROOT, Course, CourseError, prepare_environment
from tests.support.grading_helpers import copied_course

CHAPTER = "coalescing"


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Course:
    """A released course with a gradebook; copied by each test, since a release takes seconds."""
    prepare_environment(ROOT)
    course = copied_course(tmp_path_factory.mktemp("course"), CHAPTER, "start")
    build_release(course)
    return course


@pytest.fixture
def course(released, tmp_path) -> Course:
    shutil.copytree(released.root, tmp_path / "course")
    return Course(tmp_path / "course")


def edit(course: Course, change) -> None:
    notebook = read_notebook(course.notebook(CHAPTER))
    change(notebook)
    nbformat.write(notebook, course.notebook(CHAPTER))


def cell_of(notebook: nbformat.NotebookNode, grade_id: str) -> nbformat.NotebookNode:
    return next(cell for cell in notebook.cells if nbgrader_of(cell).get("grade_id") == grade_id)


def snapshot(course: Course) -> dict[Path, tuple[bytes, int]]:
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(course.release.rglob("*")) if p.is_file()}


def refused(course: Course, match: str, **options: bool) -> None:
    before, manifest = snapshot(course), course.grade_ids.read_bytes()
    assert before
    with pytest.raises(CourseError, match=match):
        build_release(course, **options)
    assert snapshot(course) == before
    assert course.grade_ids.read_bytes() == manifest
    assert {path.name for path in course.scratch.parent.iterdir()} <= {"release.lock"}


def test_a_removed_graded_cell_is_refused_by_name(course):
    edit(course, lambda notebook: notebook.cells.remove(cell_of(notebook, "q4")))
    refused(course, "coalescing: graded cell 'q4' is gone(.|\n)*--update-ids")


def test_changed_points_are_refused_with_both_numbers(course):
    edit(course, lambda notebook: nbgrader_update(notebook, "q1", points=7))
    refused(course, r"'q1' gives 7.0 points, the manifest says 5.0")


def nbgrader_update(notebook: nbformat.NotebookNode, grade_id: str, **marks: object) -> None:
    cell_of(notebook, grade_id).metadata.nbgrader.update(marks)


def test_changed_points_are_accepted_on_purpose(course):
    edit(course, lambda notebook: nbgrader_update(notebook, "q1", points=7))
    assert build_release(course, update_ids=True)
    assert json.loads(course.grade_ids.read_text())[CHAPTER]["q1"] == 7
    assert not build_release(course)


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own
@pytest.mark.parametrize("disabled", [False, True], ids=["", "another library disabled the log"])
def test_a_removed_cell_is_refused_even_on_purpose_once_somebody_was_graded(course, disabled, monkeypatch):
    # The reason is taken from nbgrader's log.
    monkeypatch.setattr(get_logger(), "disabled", disabled)
    with Gradebook(course.gradebook_url) as gradebook:
        gradebook.add_student("ada")
        gradebook.add_submission(CHAPTER, "ada")
    edit(course, lambda notebook: notebook.cells.remove(cell_of(notebook, "q4-why")))
    refused(course, "submissions(.|\n)*move .*gradebook.db away", update_ids=True)
    assert get_logger().disabled == disabled


def test_a_misspelt_marker_is_refused_before_anything_is_written(course):
    def misspell(notebook: nbformat.NotebookNode) -> None:
        cell = cell_of(notebook, "q1")
        cell.source = cell.source.replace("BEGIN HIDDEN TESTS", "BEGIN HIDEN TESTS")

    edit(course, misspell)
    refused(course, r"coalescing, cell \d+ \(q1\): misspelt marker '### BEGIN HIDEN TESTS'")


def test_a_text_twin_is_refused(course):
    (course.source / CHAPTER / f"{CHAPTER}.py").write_text("q1 = dict(sectors=32)")
    refused(course, r"source/coalescing/coalescing.py is a text twin")


def test_a_folder_without_its_notebook_is_refused(course):
    (course.source / "empty").mkdir()
    refused(course, "source/empty is no chapter")


def test_a_chapter_that_fails_late_leaves_every_chapter_as_it_was(course, monkeypatch):
    generate = release_module.generate_assignment

    def fails_for_start(course, chapter, into, *, record):
        if chapter == "start":
            raise release_module.StepError("disk full", "")
        generate(course, chapter, into, record=record)

    edit(course, lambda notebook: notebook.cells.append(nbformat.v4.new_markdown_cell("New.", id="new")))
    monkeypatch.setattr(release_module, "generate_assignment", fails_for_start)
    refused(course, "start: nbgrader refused: disk full")


def test_a_failing_swap_brings_the_old_release_back(course, monkeypatch):
    def fails(*names):
        raise OSError("disk full")

    edit(course, lambda notebook: notebook.cells.append(nbformat.v4.new_markdown_cell("New.", id="new")))
    monkeypatch.setattr(shutil, "move", fails)
    before = snapshot(course)
    with pytest.raises(OSError, match="disk full"):
        build_release(course)
    assert snapshot(course) == before


def test_a_chapter_that_is_gone_leaves_release_when_the_manifest_is_updated(course):
    shutil.rmtree(course.source / "start")
    refused(course, "start: chapter is gone")
    assert build_release(course, update_ids=True)
    assert {path.name for path in course.release.iterdir()} == set(course.chapters())


def test_the_manifest_names_what_is_new():
    problems = manifest_problems({"a": {"q1": 1.0}}, {"a": {"q1": 1.0, "q2": 2.0}})
    assert problems[0] == "a: graded cell 'q2' is new"
    assert manifest_problems({"a": {"q1": 1.0}}, {"a": {"q1": 1.0}}) == []


ANSWER = {"grade": False, "solution": True, "locked": False, "grade_id": "q-answer", "schema_version": 3, "task": False}
TEST = {**ANSWER, "grade": True, "solution": False, "locked": True, "grade_id": "q", "points": 1}
GOOD_TEST = 'check("q", q)\n### BEGIN HIDDEN TESTS\ngrade("q", q)\n### END HIDDEN TESTS'


def problems_of(source: str, marks: dict[str, object] | None = None) -> list[str]:
    cell = nbformat.v4.new_code_cell(source)
    if marks:
        cell.metadata.nbgrader = marks
    return cell_problems(cell)


def test_well_marked_cells_have_no_problem():
    assert problems_of("q = None\n### BEGIN SOLUTION\nq = 3\n### END SOLUTION", ANSWER) == []
    assert problems_of(GOOD_TEST, TEST) == []
    assert problems_of("# The end of the row: sectors are not shared here.\nx = 1") == []
    assert problems_of("# Tests of divisibility begin with 4.") == []


@pytest.mark.parametrize(
    "marker",
    [
        "### BEGIN HIDEN TESTS",
        "### BEGIN HIDDEN TEST",
        "## BEGIN HIDDEN TESTS",
        "# begin hidden tests",
        "###BEGIN HIDDEN TESTS",
        "### BEGINN HIDDEN TESTS",
        "### BEGIN TESTS",
        "### HIDDEN TESTS BEGIN BEGIN HIDDEN TESTS",
        "### BEGIN SOLUTON",
        "### End Solution",
        "### BEGIN MARK SCHEME",
    ],
)
def test_a_misspelt_marker_is_refused(marker):
    assert "misspelt marker" in problems_of(f"x = 1\n{marker}\nx = 2")[0]


@pytest.mark.parametrize(
    ("source", "marks", "problem"),
    [
        ("### BEGIN HIDDEN TESTS\ngrade(1)", TEST, "never closed"),
        ("### END SOLUTION", ANSWER, "without '### BEGIN SOLUTION'"),
        ("### BEGIN SOLUTION\n### BEGIN HIDDEN TESTS", ANSWER, "inside a SOLUTION block"),
        ("### BEGIN SOLUTION\nq = 1\n### END HIDDEN TESTS", ANSWER, "without '### BEGIN HIDDEN TESTS'"),
        ("### BEGIN SOLUTION\nq = 1\n### END SOLUTION", None, "no answer cell"),
        (GOOD_TEST, None, "no test cell"),
        (GOOD_TEST, ANSWER, "no test cell"),
        ("q = 3", ANSWER, "without a SOLUTION block"),
        ("### BEGIN SOLUTION\nq = 3\n### END SOLUTION", ANSWER, "a student would get no q"),
        ("def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION", ANSWER, "a student would get no f"),
        ('check("q", q)', TEST, "last line is not `grade(...)`"),
        (GOOD_TEST.replace("### END", "print(1)\n### END"), TEST, "last line is not `grade(...)`"),
    ],
)
def test_a_wrongly_marked_cell_is_refused(source, marks, problem):
    assert any(problem in found for found in problems_of(source, marks))


def test_a_block_in_a_text_cell_is_refused():
    cell = nbformat.v4.new_markdown_cell("### BEGIN SOLUTION\nBecause.\n### END SOLUTION")
    assert "a marked block in a text cell" in cell_problems(cell)[0]
