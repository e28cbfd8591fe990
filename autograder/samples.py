"""Four sample students, made from a chapter's master and its release: perfect, half right, untouched, broken.

The master supplies the right answers, so that a sample cannot fall behind the notebook. Only wrong
answers are written down, in autograder/half_right/.
"""

from __future__ import annotations

import copy

import nbformat

from autograder import half_right
from autograder.cells import Notebook, nbgrader_of, read_notebook, split
from autograder.settings import Course, CourseError

__all__ = ["STUDENTS", "sample_notebooks", "write_samples"]

STUDENTS = ("perfect", "half-right", "untouched", "broken")

WRITTEN = "The lanes are too far apart, so every one of them pays for bytes that nobody reads."


def write_samples(course: Course, chapter: str) -> None:
    """Hand in the four samples of a chapter at submitted/<student>/<chapter>/."""
    for student, notebook in sample_notebooks(course, chapter).items():
        folder = course.submitted / student / chapter
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / f"{chapter}.ipynb")


def sample_notebooks(course: Course, chapter: str) -> dict[str, Notebook]:
    """student -> notebook. Raises CourseError when a wrong answer is written for a cell that is not there."""
    master = read_notebook(course.notebook(chapter))
    released = read_notebook(course.release / chapter / f"{chapter}.ipynb")
    right = {nbgrader_of(cell)["grade_id"]: split(cell.source).answer for cell in _answers(master)}
    wrong = half_right.answers(chapter)
    if unknown := sorted(set(wrong) - set(right)):
        raise CourseError(
            f"autograder/half_right/{chapter}.py has wrong answers for {', '.join(unknown)}, but {chapter} has no such "
            f"answer cell; its answer cells are {', '.join(right)}"
        )
    written = {nbgrader_of(cell)["grade_id"]: WRITTEN for cell in _answers(master) if cell.cell_type == "markdown"}
    return {
        "perfect": _filled(released, right),
        "half-right": _filled(released, {**written, **wrong}),
        "untouched": copy.deepcopy(released),
        "broken": _broken(released, right),
    }


def _answers(notebook: Notebook) -> list[Notebook]:
    return [cell for cell in notebook.cells if nbgrader_of(cell).get("solution")]


def _filled(released: Notebook, answers: dict[str, str]) -> Notebook:
    notebook = copy.deepcopy(released)
    for cell in _answers(notebook):
        cell.source = answers.get(nbgrader_of(cell)["grade_id"], cell.source)
    return notebook


def _broken(released: Notebook, answers: dict[str, str]) -> Notebook:
    """Right answers, but: a cell that raises, a syntax error in the first answer, one test cell deleted."""
    notebook = _filled(released, answers)
    first = next(cell for cell in _answers(notebook) if cell.cell_type == "code")
    first.source = first.source.rstrip().removesuffix(")") + "\n"
    tests = [c for c in notebook.cells if nbgrader_of(c).get("grade") and not nbgrader_of(c).get("solution")]
    notebook.cells.remove(tests[1])
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import cuda_toolkit_that_is_not_here", id="broken-import"))
    return notebook
