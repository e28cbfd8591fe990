"""A course of one small chapter, with real checks: a function, a kernel, two quiz questions and a written answer.

Its notebook runs in seconds, so that many submissions can go the whole way.
"""

from __future__ import annotations

import copy
from pathlib import Path

import nbformat

from autograder.cells import Notebook, nbgrader_of, read_notebook, split
from autograder.settings import ROOT, Course

__all__ = ["CHAPTER", "POINTS", "TASKS", "answered", "hand_in", "released", "small_course"]

CHAPTER = "small"
TASKS = ("sectors", "scale", "q1", "q8")
_CELLS = {name + end for name in TASKS for end in ("", "-answer", "-why")} | {"setup"}


def small_master() -> Notebook:
    """The cells of these tasks, out of the master of coalescing."""
    master = read_notebook(ROOT / "source" / "coalescing" / "coalescing.ipynb")
    small = copy.deepcopy(master)
    small.cells = [c for c in small.cells if {c.get("id"), nbgrader_of(c).get("grade_id")} & _CELLS]
    return small


POINTS = {
    meta["grade_id"]: float(meta["points"]) for cell in small_master().cells if (meta := nbgrader_of(cell)).get("grade")
}
"""grade_id -> points, the written answer included."""


def small_course(root: Path) -> Course:
    """A fresh course with this chapter alone: source/ is all that grading needs."""
    (root / "source" / CHAPTER).mkdir(parents=True)
    nbformat.write(small_master(), root / "source" / CHAPTER / f"{CHAPTER}.ipynb")
    (root / "autograder").mkdir(exist_ok=True)
    return Course(root)


def released() -> Notebook:
    """What a student gets: placeholders above the solution blocks, no hidden tests."""
    notebook = small_master()
    for cell in notebook.cells:
        if nbgrader_of(cell).get("solution") and cell.cell_type == "markdown":
            cell.source = "*Write your answer here.*"
        else:
            cell.source = split(cell.source).visible
    return notebook


def answered(*right: str, **texts: str) -> Notebook:
    """A hand-in: the master's answers to `right` (all tasks when none is named), other texts by answer cell."""
    master = {nbgrader_of(cell).get("grade_id"): cell for cell in small_master().cells}
    notebook = released()
    for cell in notebook.cells:
        name = nbgrader_of(cell).get("grade_id", "")
        task = name.removesuffix("-answer")
        if task in texts and name != task:
            cell.source = texts[task]
        elif name.endswith("-answer") and task in (right or TASKS):
            cell.source = split(master[name].source).answer
    return notebook


def hand_in(course: Course, student: str, notebook: Notebook) -> Path:
    """Put a notebook where students' work lies; returns its place."""
    place = course.submitted / student / CHAPTER / f"{CHAPTER}.ipynb"
    place.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place)
    return place
