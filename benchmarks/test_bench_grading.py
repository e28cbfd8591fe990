"""How long it takes to grade a class, beside stock nbgrader on the same submissions in the same run.

Ours does more: a sandbox, a score of record outside the student's process, records. Stock nbgrader is what its guide
says: `nbgrader autograde`, then `nbgrader generate_feedback`, with its own run of the notebooks and no settings of
this course. Both start anew for each batch and take turns, so a busy moment of the machine hits them alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from autograder.cells import nbgrader_of, read_notebook, split
from autograder.pool import cores
from autograder.sandbox.bubblewrap import available
from autograder.settings import ROOT

CHAPTER = "coalescing"
BATCHES = (10, 30, 60)
"""Submissions of each turn: 100 on either side."""
AT_LEAST = 1.6
"""Times as fast as stock nbgrader, with two processors."""
FLAT = 1.2
"""The most that the grading process may need for a large batch, as a multiple of what a small one needs."""

GRADE = """
import json, resource, sys
from pathlib import Path
from autograder.settings import ROOT, Course, prepare_environment

if __name__ == "__main__":
    prepare_environment(ROOT)
    from autograder.grade import grade

    outcomes = grade(Course(Path.cwd()), lambda line: None)
    print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, [o.state for o in outcomes]]))
"""
"""Prints the peak memory of the grading process in MiB, and what became of the submissions."""


def start(folder: Path, *command: str) -> tuple[float, str]:
    """Run a program of this Python in a folder; returns its seconds and what it printed."""
    paths = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, *command], cwd=folder, env={**os.environ, **paths}, capture_output=True)
    seconds = time.perf_counter() - begin
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return seconds, done.stdout.decode()


def nbgrader(folder: Path, *arguments: str) -> float:
    """Seconds of one stock command."""
    return start(folder, "-m", "nbgrader", *arguments)[0]


def empty_course(folder: Path) -> Path:
    """A course of one chapter."""
    place = folder / "source" / CHAPTER
    place.mkdir(parents=True)
    (place / f"{CHAPTER}.ipynb").write_bytes((ROOT / "source" / CHAPTER / f"{CHAPTER}.ipynb").read_bytes())
    return folder


def hand_in(submitted: Path, student: str, right: int) -> None:
    """A submission that has the right answers to the first `right` questions; the others are as they were given out."""
    master = {
        nbgrader_of(c).get("grade_id"): c for c in read_notebook(ROOT / "source" / CHAPTER / f"{CHAPTER}.ipynb").cells
    }
    notebook = read_notebook(ROOT / "release" / CHAPTER / f"{CHAPTER}.ipynb")
    answers = [c for c in notebook.cells if c.cell_type == "code" and nbgrader_of(c).get("solution")]
    for cell in answers[:right]:
        cell.source = split(master[nbgrader_of(cell)["grade_id"]].source).answer
    place = submitted / student / CHAPTER / f"{CHAPTER}.ipynb"
    place.parent.mkdir(parents=True)
    nbformat.write(notebook, place)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(bool(available()), reason="there is no sandbox here")
def test_a_class_is_graded_faster_than_stock_nbgrader_does_it(tmp_path, capsys):
    ours, stock = empty_course(tmp_path / "ours"), empty_course(tmp_path / "stock")
    (ours / "autograder").mkdir()
    nbgrader(stock, "generate_assignment", CHAPTER)
    seconds, peaks = {"ours": 0.0, "stock": 0.0}, []
    for turn, batch in enumerate(BATCHES):
        students = [f"s{turn}-{n}" for n in range(batch)]
        for n, student in enumerate(students):
            hand_in(ours / "autograder" / "submitted", student, n % 12)
            hand_in(stock / "submitted", student, n % 12)
        took, said = start(ours, "-c", GRADE)
        peak, states = json.loads(said)
        assert (states.count("graded"), states.count("unchanged")) == (batch, sum(BATCHES[:turn]))
        seconds["ours"] += took
        peaks.append(peak)
        for command in ("autograde", "generate_feedback"):
            seconds["stock"] += nbgrader(stock, command, CHAPTER, f"--student=s{turn}-*")
        for student in students:
            assert (ours / "autograder" / "feedback" / student / CHAPTER / f"{CHAPTER}.html").exists()
            assert (stock / "feedback" / student / CHAPTER / f"{CHAPTER}.html").exists()
        with capsys.disabled():
            both = ", ".join(f"{name} {total:.0f} s" for name, total in seconds.items())
            print(f"\nafter {batch} more submissions: {both}; our grading process needs {peak:.0f} MiB", flush=True)
    ratio = seconds["stock"] / seconds["ours"]
    with capsys.disabled():
        print(
            f"{sum(BATCHES)} submissions of {CHAPTER} on {cores()} processors: {seconds['ours']:.0f} s, "
            f"stock nbgrader {seconds['stock']:.0f} s, {ratio:.2f} times as long"
        )
    assert max(peaks) < FLAT * min(peaks)
    assert cores() < 2 or ratio >= AT_LEAST
