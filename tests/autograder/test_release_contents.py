"""release/ is what source/ makes today, and gives nothing away."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest

from autograder.cells import read_notebook
from autograder.release import build_release, release_problems
from autograder.settings import ROOT, Course, prepare_environment
from tests.support.grading_helpers import copied_course

CHAPTERS = Course(ROOT).chapters()
BLOCK = re.compile(r"^[ \t]*### BEGIN (SOLUTION|HIDDEN TESTS)\n(.*?)^[ \t]*### END \1$\n?", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Course:
    prepare_environment(ROOT)
    course = copied_course(tmp_path_factory.mktemp("course"))
    assert build_release(course)
    return course


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".ipynb_checkpoints" not in path.parts
    }


def test_the_committed_release_is_current(fresh):
    assert files(ROOT / "release") == files(fresh.release), "run `make release` and commit release/"


def test_a_second_release_finds_nothing_to_change(fresh):
    assert not build_release(fresh)


def cells(chapter: str) -> list[tuple[nbformat.NotebookNode, nbformat.NotebookNode]]:
    """(cell of source/, cell of release/) of a chapter, by cell id."""
    folder = {name: read_notebook(ROOT / name / chapter / f"{chapter}.ipynb").cells for name in ("source", "release")}
    assert [cell.id for cell in folder["source"]] == [cell.id for cell in folder["release"]]
    return list(zip(folder["source"], folder["release"], strict=True))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_released_cell_is_its_master_without_the_marked_blocks(chapter):
    for master, student in cells(chapter):
        marks = master.metadata.get("nbgrader", {})
        if master.cell_type == "markdown" and marks.get("solution"):
            assert student.source == "*Write your answer here.*"
        else:
            assert student.source.split() == BLOCK.sub("", master.source + "\n").split()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_line_of_a_solution_or_a_hidden_test_is_released(chapter):
    shown = {line.strip() for _, student in cells(chapter) for line in student.source.split("\n")}
    # A line that the master shows in any cell, such as `i = cuda.grid(1)`, gives nothing away.
    visible = {line.strip() for master, _ in cells(chapter) for line in BLOCK.sub("", master.source + "\n").split("\n")}
    for master, _ in cells(chapter):
        for _, block in BLOCK.findall(master.source + "\n"):
            hidden = {line.strip() for line in block.split("\n")} - visible
            assert not {line for line in hidden & shown if len(line) > 8}
    assert not [line for line in shown if "### BEGIN" in line or "### END" in line]


def test_the_course_has_blocks_to_hide():
    found = [kind for master, _ in cells("coalescing") for kind, _ in BLOCK.findall(master.source + "\n")]
    assert found.count("SOLUTION") >= 5
    assert found.count("HIDDEN TESTS") >= 5


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_released_notebook_has_no_outputs_and_keeps_graded_cells_locked(chapter):
    for _, student in cells(chapter):
        if student.cell_type == "code":
            assert (student.outputs, student.execution_count) == ([], None)
        marks = student.metadata.get("nbgrader", {})
        if marks.get("grade") and not marks.get("solution"):
            assert student.metadata.editable is False
            assert student.metadata.deletable is False


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_only_the_notebook_and_its_pictures_are_released(chapter):
    names = [name for name in files(ROOT / "release" / chapter) if not name.endswith((".png", ".svg"))]
    assert names == [f"{chapter}.ipynb"]


@pytest.fixture
def tampered(fresh, tmp_path):
    """A function that changes one released cell and returns the problems that are found then."""

    def problems(identifier: str, change) -> list[str]:
        shutil.copytree(fresh.release, tmp_path / "release")
        path = tmp_path / "release" / "coalescing" / "coalescing.ipynb"
        notebook = read_notebook(path)
        change(next(cell for cell in notebook.cells if cell.id == identifier))
        nbformat.write(notebook, path)
        return release_problems(fresh, "coalescing", tmp_path / "release")

    return problems


def test_an_untampered_release_has_no_problem(tampered):
    assert tampered("title", lambda cell: None) == []


def test_a_released_hidden_test_is_noticed(tampered):
    (problem,) = tampered("q1", lambda cell: cell.update(source=cell.source + '\ngrade("coalescing/q1", q1)'))
    assert """shows 'grade("coalescing/q1", q1)'""" in problem


def test_a_released_solution_in_another_cell_is_noticed(tampered, fresh):
    master = read_notebook(fresh.notebook("coalescing"))
    answer = next(cell.source for cell in master.cells if cell.id == "q8-answer")
    line = BLOCK.search(answer + "\n").group(2).strip()
    (problem,) = tampered("title", lambda cell: cell.update(source=f"For example:\n    {line}"))
    assert line in problem


def test_a_released_model_answer_is_noticed(tampered, fresh):
    master = read_notebook(fresh.notebook("coalescing"))
    answer = next(cell.source for cell in master.cells if cell.id == "q4-why")
    assert any("shows the model answer" in problem for problem in tampered("q4-why", lambda c: c.update(source=answer)))


def test_a_released_output_is_noticed(tampered):
    output = nbformat.v4.new_output("stream", text="32")
    (problem,) = tampered("q1-answer", lambda cell: cell.outputs.append(output))
    assert problem.endswith("has outputs")


def test_lost_points_are_noticed(tampered):
    (problem,) = tampered("q1", lambda cell: cell.metadata.nbgrader.update(points=50))
    assert "ids or points differ" in problem
