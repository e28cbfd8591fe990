"""The masters and the checks agree: names, points, keys and options, and no answer above a prediction."""

from __future__ import annotations

import re

import nbformat
import pytest

from autograder.cells import split
from course.checks import find, names

CHECK = re.compile(r'^check\("([^"]+)"', re.M)


@pytest.fixture(scope="module")
def chapters(root):
    return {p.stem: nbformat.read(p, as_version=4) for p in sorted((root / "source").glob("*/*.ipynb"))}


def graded_cells(notebook):
    return [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade") and c.cell_type == "code"]


def test_every_check_is_asked_once_and_has_its_points(chapters):
    asked = {}
    for notebook in chapters.values():
        for cell in graded_cells(notebook):
            (name,) = CHECK.findall(cell.source)
            assert name not in asked, f"{name} is asked twice"
            asked[name] = cell.metadata.nbgrader.points
    practice = {name for name in names() if getattr(find(name), "worked", "")}
    assert asked == {name: find(name).max_points for name in names() if name not in practice}
    cells = [cell for notebook in chapters.values() for cell in notebook.cells if cell.cell_type == "code"]
    tried = [name for cell in cells for name in CHECK.findall(cell.source) if name in practice]
    shown = [name for cell in cells for name in re.findall(r'^worked\("([^"]+)"', cell.source, re.M)]
    assert sorted(tried) == sorted(shown) == sorted(practice)


def test_a_graded_cell_shows_the_check_that_its_hidden_test_grades(chapters):
    for notebook in chapters.values():
        for cell in graded_cells(notebook):
            (shown,) = CHECK.findall(cell.source)
            (graded,) = re.findall(r'^grade\("([^"]+)"', cell.source, re.M)
            assert shown == graded


def test_the_statement_above_a_question_explains_every_key_and_option(chapters):
    explained = 0
    for notebook in chapters.values():
        text = ""
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                text = cell.source
            elif name := CHECK.search(cell.source):
                for part in getattr(find(name.group(1)), "parts", ()):
                    assert f"`{part.name}`" in text, f"{name.group(1)} does not explain {part.name}"
                    for option in getattr(part, "options", ()):
                        assert f'`"{option}"`' in text, f"{name.group(1)} does not list {option!r}"
                    explained += 1
    assert explained > 10


def test_the_placeholder_of_an_answer_names_every_key(chapters):
    for notebook in chapters.values():
        sources = {c.metadata.nbgrader.grade_id: c.source for c in notebook.cells if "nbgrader" in c.metadata}
        for cell in graded_cells(notebook):
            parts = getattr(find(CHECK.search(cell.source).group(1)), "parts", ())
            answer = sources[cell.metadata.nbgrader.grade_id + "-answer"]
            for part in parts:
                assert re.search(rf"\b{part.name}=None\b", answer.splitlines()[0])


def test_no_cell_calls_a_model_and_hides_how(chapters):
    """Logic lives in the library: a cell is short enough to read at a glance."""
    for name, notebook in chapters.items():
        for cell in notebook.cells:
            if cell.cell_type == "code":
                parts = split(cell.source)
                longest = max(len(text.splitlines()) for text in (parts.visible, parts.solution, parts.hidden))
                assert longest <= 16, f"{name}, cell {cell.id}: too long for one idea"
