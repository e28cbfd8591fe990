"""The slow middle step of grading: a notebook in, an executed notebook and the score of record out.

It needs no gradebook and no folder of the course, so any process on any machine that has this package can do it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from autograder.sandbox.execute import execute
from autograder.sandbox.limits import Limits
from autograder.scoring.score import Score, score
from autograder.scoring.tasks import Task

__all__ = ["Done", "Job", "run"]


@dataclass(frozen=True)
class Job:
    """One submission, ready to run."""

    chapter: str
    student: str
    notebook: bytes
    """With the master's own test cells, without outputs."""
    tasks: tuple[Task, ...]
    limits: Limits
    sandboxed: bool
    """False runs the student's program with the rights of the grader."""


@dataclass(frozen=True)
class Done:
    """What came of a job."""

    notebook: bytes
    """The same notebook with the outputs of its run, as far as it came."""
    problem: str
    """Why the run ended early; "" when it did not."""
    scores: dict[str, Score]
    """grade_id -> score of record, computed outside the student's process."""
    seconds: float


def run(job: Job) -> Done:
    """Execute the notebook and score its answers. What a student wrote never raises here."""
    start = time.perf_counter()
    # The answers are read from what was handed in: the notebook's own run cannot change them.
    scores = score(job.tasks, job.notebook, job.limits, job.sandboxed)
    executed = execute(job.notebook, job.limits, job.sandboxed)
    return Done(executed.notebook, executed.problem, scores, time.perf_counter() - start)
