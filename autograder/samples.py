"""Four sample students, made from a chapter's master and its release: perfect, half right, untouched, broken.

The master supplies the right answers, so that a sample cannot fall behind the notebook. Only the
wrong answers are written down here.
"""

from __future__ import annotations

import copy

import nbformat

from autograder.cells import Notebook, nbgrader_of, read_notebook, split
from autograder.settings import Course, CourseError

__all__ = ["STUDENTS", "WRONG_ANSWERS", "sample_notebooks", "write_samples"]

STUDENTS = ("perfect", "half-right", "untouched", "broken")

WRONG_ANSWERS = {
    "coalescing": {
        # Lines are taken for sectors, and everything that follows from it.
        "q1-answer": """\
q1 = dict(
    sectors=8,
    lines=8,
    requested_bytes=128,
    transferred_bytes=8 * 32,
    efficiency=128 / 256,
    shape="four lanes per sector",
)""",
        # A cast is believed to help.
        "q4-answer": 'q4 = dict(misaligned_by=4, required_alignment=16, fixes=["copy", "start", "prologue", "cast"])',
        # One of the four byte loads is counted, not all.
        "q7-answer": 'q7 = dict(word_sectors=4, byte_sectors=4, layout="planes")',
        # The stride is given in bytes.
        "q8-answer": "q8 = dict(line_fraction=0.25, warp_stride=16)",
        # Interleaves well, but forgets the threads behind the end.
        "scale-answer": """\
@cuda.jit
def scale(x, out, a, k):
    for j in range(k):
        i = cuda.grid(1) + j * cuda.gridsize(1)
        out[i] = a * x[i]""",
        # Finds the first good address, but forgets the rest after the last four.
        "wide_copy-answer": """\
@cuda.jit
def wide_copy(x, out, start):
    i = cuda.grid(1)
    head = min(-start % 4, out.size)
    if i < head:
        out[i] = x[i]
    if head + 4 * i + 3 < out.size:
        cuda.store4(out, head + 4 * i, cuda.load4(x, head + 4 * i))""",
        # Leaves out an index that comes twice.
        "gather-answer": """\
def reorder(indices):
    return np.unique(indices)""",
        # Counts the sectors between the first and the last one, too, and fails for no lane at all.
        "sectors-answer": """\
def sectors(addresses, size):
    return max(addresses) // 32 - min(addresses) // 32 + 1""",
    }
}
"""chapter -> answer cell -> typical wrong answer of the sample student half-right."""

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
    wrong = WRONG_ANSWERS.get(chapter, {})
    if unknown := sorted(set(wrong) - set(right)):
        raise CourseError(
            f"autograder/samples.py has wrong answers for {', '.join(unknown)}, but {chapter} has no such answer "
            f"cell; its answer cells are {', '.join(right)}"
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
