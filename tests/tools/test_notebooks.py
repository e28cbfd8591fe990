"""Master notebooks have one canonical form; --fix gives it to them and changes nothing else."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from types import ModuleType

import nbformat
import pytest

from autograder.cells import read_notebook
from autograder.settings import ROOT, Course
from tests.support.grading_helpers import copied_course


@pytest.fixture(scope="module")
def form() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebooks_tool", ROOT / "tools" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def course(tmp_path) -> Course:
    return copied_course(tmp_path)


def text_of(course: Course) -> str:
    return course.notebook("coalescing").read_text(encoding="utf-8")


def write(course: Course, change) -> None:
    notebook = json.loads(text_of(course))
    change(notebook)
    course.notebook("coalescing").write_text(json.dumps(notebook), encoding="utf-8")


def test_the_committed_masters_are_canonical(form):
    assert form.check(Course(ROOT), fix=False) == []


def leave_traces(notebook: dict) -> None:
    """What JupyterLab, VS Code and Colab leave behind."""
    notebook["metadata"]["language_info"] = {"name": "python", "version": "3.13.1", "pygments_lexer": "ipython3"}
    notebook["metadata"]["kernelspec"] = {"name": "my-env", "display_name": "my env"}
    notebook["metadata"]["vscode"] = {"interpreter": {"hash": "0"}}
    notebook["metadata"]["colab"] = {"provenance": []}
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"].update(collapsed=True, scrolled=True, id="x", vscode={"languageId": "python"})
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["32\n"]}]
            cell["metadata"]["execution"] = {"iopub.execute_input": "2024-01-01T00:00:00Z"}
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"].update(cell_type=cell["cell_type"], checksum="0" * 32)


def test_traces_of_editors_are_refused_and_fixed(form, course):
    before = text_of(course)
    write(course, leave_traces)
    (problem,) = form.check(course, fix=False)
    assert problem.startswith("source/coalescing/coalescing.ipynb:1: not in canonical form")
    assert form.check(course, fix=True) == []
    assert text_of(course) == before


def test_a_cell_without_id_gets_one_that_follows_from_its_text(form, course):
    notebook = read_notebook(course.notebook("coalescing"))
    for cell in notebook.cells:
        del cell["id"]
    fixed = nbformat.reads(form.canonical(notebook), as_version=4)
    ids = [cell.id for cell in fixed.cells]
    assert len(set(ids)) == len(ids)
    assert {"q1", "q1-answer", "q4-why"} <= set(ids)
    assert form.canonical(notebook) == form.canonical(copy.deepcopy(notebook))


def test_a_copied_cell_gets_its_own_id(form, course):
    notebook = read_notebook(course.notebook("coalescing"))
    notebook.cells.append(copy.deepcopy(notebook.cells[0]))
    fixed = nbformat.reads(form.canonical(notebook), as_version=4)
    assert fixed.cells[0].id == notebook.cells[0].id
    assert fixed.cells[-1].id not in {cell.id for cell in fixed.cells[:-1]}


def test_a_second_fix_changes_nothing(form, course):
    write(course, leave_traces)
    form.check(course, fix=True)
    once = text_of(course)
    assert form.check(course, fix=True) == []
    assert text_of(course) == once


def test_tags_and_attachments_stay(form, course):
    notebook = read_notebook(course.notebook("coalescing"))
    notebook.cells[0].metadata["tags"] = ["hide"]
    notebook.cells[0]["attachments"] = {"a.png": {"image/png": "AAAA"}}
    fixed = nbformat.reads(form.canonical(notebook), as_version=4)
    assert fixed.cells[0].metadata == {"tags": ["hide"]}
    assert fixed.cells[0].attachments == {"a.png": {"image/png": "AAAA"}}


def test_a_grade_id_that_stands_twice_is_refused(form, course):
    notebook = read_notebook(course.notebook("coalescing"))
    twin = copy.deepcopy(next(cell for cell in notebook.cells if cell.id == "q1"))
    twin["id"] = "q1-again"
    notebook.cells.append(twin)
    course.notebook("coalescing").write_text(form.canonical(notebook), encoding="utf-8")
    (problem,) = form.check(course, fix=False)
    assert "(q1): a second cell with this grade_id" in problem


def test_a_text_twin_and_a_second_notebook_are_refused(form, course):
    folder = course.source / "coalescing"
    (folder / "coalescing.md").write_text("# Coalescing")
    (folder / "old.ipynb").write_text("{}")
    (folder / "warp.svg").write_text("<svg/>")
    problems = form.check(course, fix=False)
    assert [problem.split(" is ")[0] for problem in problems] == [
        "source/coalescing/coalescing.md",
        "source/coalescing/old.ipynb",
    ]


def test_the_command_exits_with_1_and_names_the_file(form, course, monkeypatch, capsys):
    course.notebook("start").write_text("not json", encoding="utf-8")
    monkeypatch.setattr(form, "ROOT", course.root)
    monkeypatch.setattr(sys, "argv", ["notebooks.py"])
    assert form.main() == 1
    assert "start.ipynb cannot be read as a notebook" in capsys.readouterr().err
