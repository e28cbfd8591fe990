"""What only the one writer does: nbgrader's own steps before and after the run, and the gradebook.

These are nbgrader's preprocessors in nbgrader's order (its `autograde` command), without its folders and its run:
the run happens elsewhere, and the automatic scores are those of record.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import nbformat
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearOutput,
    DeduplicateIds,
    LimitOutput,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)

from autograder.cells import Notebook
from autograder.nbgrader_runs import quiet
from autograder.own_numbers import OwnNumbers
from autograder.scoring.score import Score
from autograder.settings import Course, nbgrader_settings
from autograder.writing import write

__all__ = ["record", "sanitise"]


def sanitise(course: Course, chapter: str, student: str, notebook: bytes) -> bytes:
    """The notebook with the master's own test cells, and without outputs.

    Raises StepError when nbgrader cannot make sense of its cells.
    """
    steps = (ClearOutput, DeduplicateIds, OverwriteKernelspec, OverwriteCells, OwnNumbers, CheckCellMetadata)
    settings = nbgrader_settings(course)
    return _bytes(_through([step(config=settings) for step in steps], course, chapter, student, notebook))


def record(
    course: Course, chapter: str, student: str, executed: bytes, scores: Mapping[str, Score], timestamp: str
) -> dict[str, float | None]:
    """Write the scores of record to the gradebook, and the executed notebook to autograded/.

    timestamp: when it was handed in; "" when nobody knows. Points and comments that a person gave stay.
    Returns grade_id -> what the notebook's own run gave; None for a cell that did not run.
    """
    settings = nbgrader_settings(course)
    saved = SaveScoresOfRecord(scores, config=settings)
    with quiet(), Gradebook(course.gradebook_url) as gradebook:
        gradebook.update_or_create_student(student)
        handed_in = {"timestamp": utils.parse_utc(timestamp)} if timestamp else {}
        gradebook.update_or_create_submission(chapter, student, **handed_in)
    steps = [LimitOutput(config=settings), saved, CheckCellMetadata(config=settings)]
    made = _through(steps, course, chapter, student, executed)
    place = course.autograded / student / chapter / f"{chapter}.ipynb"
    write(place, _bytes(made))
    return saved.in_kernel


class SaveScoresOfRecord(SaveAutoGrades):  # type: ignore[misc]  # nbgrader is untyped
    """nbgrader's step that fills the gradebook; a score of record replaces what the notebook gave itself."""

    def __init__(self, scores: Mapping[str, Score], **settings: Any) -> None:
        super().__init__(**settings)
        self.scores = scores
        self.in_kernel: dict[str, float | None] = {}

    def _add_score(self, cell: Notebook, resources: Any) -> None:
        name = cell.metadata["nbgrader"]["grade_id"]
        if name not in self.scores:
            super()._add_score(cell, resources)  # a written answer
            return
        self.in_kernel[name] = _own_score(cell)
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        grade.auto_score = self.scores[name].points
        # A person decides where nothing could be verified, and looks again where a person has decided before.
        grade.needs_manual_grade = grade.manual_score is not None or self.scores[name].how == "unread"
        self.gradebook.db.commit()


def _own_score(cell: Notebook) -> float | None:
    """What nbgrader would take from the cell's outputs; None when the cell did not run.

    More points than the cell has are handed on as they are: nbgrader would refuse the whole notebook.
    """
    if not cell.get("execution_count"):
        return None
    try:
        return float(utils.determine_grade(cell)[0])
    except KeyError:  # a result without text: nothing that could be compared
        return None
    except ValueError:
        said = next(output.data["text/plain"] for output in cell.outputs if output.output_type == "execute_result")
        return min(float(said[0] if isinstance(said, list) else said), sys.float_info.max)


def _bytes(notebook: Notebook) -> bytes:
    text: str = nbformat.writes(notebook)
    return text.encode()


def _through(steps: list[Any], course: Course, chapter: str, student: str, notebook: bytes) -> Notebook:
    """The notebook after nbgrader's steps, in order."""
    names = {"student": student, "assignment": chapter, "notebook": chapter, "db_url": course.gradebook_url}
    resources: Any = {"nbgrader": names, "unique_key": chapter, "output_files_dir": f"{chapter}_files"}
    made = nbformat.reads(notebook.decode(), as_version=4)
    with quiet():
        for step in steps:
            made, resources = step(made, resources)
    return made
