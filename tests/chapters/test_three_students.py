"""Each released notebook, walked by three students: one who knows, one with typical mistakes, one who does nothing.

Real nbgrader releases, autogrades and writes the feedback. The table says what the mistakes of
autograder/half_right/ are worth; written answers wait for a person.
"""

from __future__ import annotations

import datetime
import shutil

import nbformat
import pytest

from autograder import half_right
from autograder.cells import grade_ids, nbgrader_of, read_notebook
from autograder.grade import grade
from autograder.release import build_release
from autograder.report import gradebook_rows
from autograder.samples import write_samples
from autograder.settings import ROOT, prepare_environment
from course.checks.registry import CHAPTERS
from tests.support.grading_helpers import copied_course

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(1800)]
"""The first test waits for all chapters."""

CELL_SECONDS, CHAPTER_SECONDS = 5.0, 20.0
"""What a cell and a chapter may take on two cores without a GPU."""
HALF_RIGHT = {
    "coalescing": {
        "sectors": 2, "scale": 4, "wide_copy": 0, "gather": 0, "q1": 1.5, "q4": 3, "q7": 2, "q8": 1,
    },
    "layout": {"bytes_moved": 4, "soa": 5, "aosoa": 2, "kv": 0, "kv_choice": 2, "q2": 3},
    "tiling": {"conflict_degree": 4, "transpose": 4, "matmul": 5, "column_sums": 4, "barrier": 0, "q5": 2.5},
    "roofline": {"attainable": 2, "ridge": 0, "classify": 3, "count": 2, "smallest_tile": 3, "fuse": 3, "q3": 1},
    "occupancy": {"blocks_per_sm": 1, "limiter": 1.5, "largest_tile": 1, "in_flight": 2, "q6": 3},
    "cp_async": {"pipeline_time": 1, "double_buffer": 6, "stages": 3, "widths": 3, "c": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course folder in which the three have walked through every chapter: one release, one run of the grader."""
    prepare_environment(ROOT)
    course = copied_course(tmp_path_factory.mktemp("course"), *CHAPTERS)
    build_release(course)
    for chapter in CHAPTERS:
        write_samples(course, chapter)
    shutil.rmtree(course.submitted / "broken")
    outcomes = grade(course, lambda text: None)
    assert {(o.chapter, o.student): o.reason for o in outcomes if o.state != "graded"} == {}
    assert len(outcomes) == 3 * len(CHAPTERS)
    return course


@pytest.fixture(params=CHAPTERS)
def walk(request, graded):
    """Chapter, the course folder after grading, and the marks by student."""
    return request.param, graded, {row.student: row for row in gradebook_rows(graded, request.param)}


def marks(walk, student):
    """Points of the answers that no person has to read."""
    chapter, course, rows = walk
    written = {
        nbgrader_of(cell)["grade_id"]
        for cell in read_notebook(course.notebook(chapter)).cells
        if cell.cell_type == "markdown" and nbgrader_of(cell).get("grade")
    }
    return {name: score for name, score in rows[student].scores.items() if name not in written}


def executed(walk, student):
    chapter, course, _ = walk
    return read_notebook(course.autograded / student / chapter / f"{chapter}.ipynb")


def test_the_one_who_knows_gets_every_point(walk):
    chapter, course, rows = walk
    points = grade_ids(read_notebook(course.notebook(chapter)))
    assert marks(walk, "perfect") == {name: points[name] for name in marks(walk, "perfect")}
    assert 1 <= len(rows["perfect"].waiting) <= 3


def test_typical_mistakes_are_worth_what_the_table_says(walk):
    assert marks(walk, "half-right") == HALF_RIGHT[walk[0]]


def test_every_automatic_answer_has_a_typical_mistake(walk):
    assert {name.removesuffix("-answer") for name in half_right.answers(walk[0])} == set(marks(walk, "half-right"))


def test_the_one_who_does_nothing_gets_nothing(walk):
    assert set(walk[2]["untouched"].scores.values()) == {0.0}


@pytest.mark.parametrize("student", ["perfect", "untouched"])
def test_the_notebook_runs_from_top_to_bottom_without_a_word_of_trouble(walk, student):
    outputs = [output for cell in executed(walk, student).cells for output in cell.get("outputs", [])]
    assert outputs
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []


def test_no_cell_and_no_chapter_lets_anybody_wait(walk):
    """The quickest of the three runs counts: another one may have met a busy moment of the machine."""
    runs = [
        {cell.id: _seconds(cell) for cell in executed(walk, student).cells if cell.cell_type == "code"}
        for student in ("perfect", "half-right", "untouched")
    ]
    taken = {name: min(run[name] for run in runs) for name in runs[0]}
    assert len(taken) > 10
    assert {name: seconds for name, seconds in taken.items() if seconds > CELL_SECONDS} == {}
    assert min(sum(run.values()) for run in runs) < CHAPTER_SECONDS


def _seconds(cell):
    times = cell.metadata["execution"]
    begin, end = (
        datetime.datetime.fromisoformat(times[key].replace("Z", "+00:00"))
        for key in ("iopub.execute_input", "shell.execute_reply")
    )
    return (end - begin).total_seconds()


def test_an_executed_notebook_stays_under_a_megabyte(walk):
    for student in ("perfect", "half-right", "untouched"):
        assert len(nbformat.writes(executed(walk, student)).encode()) < 1_000_000


def test_feedback_is_written_for_everybody(walk):
    chapter, course, rows = walk
    for student in rows:
        assert (course.feedback / student / chapter / f"{chapter}.html").stat().st_size > 10_000
