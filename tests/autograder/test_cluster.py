"""A class that is graded on a Dask cluster: workers that know no course, and one that dies at work."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest
from nbgrader.api import Gradebook

import autograder.grade
from autograder.grade import How, grade
from autograder.records import read_record
from autograder.report import gradebook_rows
from autograder.settings import ROOT, Course, prepare_environment
from tests.autograder.loopback_cluster import loopback_cluster
from tests.support.small_course import CHAPTER, answered, hand_in, released, small_course

distributed = pytest.importorskip("distributed")

KINDS = {
    "all": answered(),
    "half": answered("scale", "q1"),
    "wrong": answered("q1", sectors="def sectors(addresses):\n    return 1"),
    "none": released(),
}
STUDENTS = {f"{kind}-{n}": notebook for n in range(2) for kind, notebook in KINDS.items()}


def marks(course: Course) -> dict[str, dict[str, float]]:
    return {row.student: row.scores for row in gradebook_rows(course, CHAPTER)}


def kill_one_at_work(address: str) -> int:
    """Kill a worker in the middle of a submission; returns its process id."""
    with distributed.Client(address, set_as_default=False) as client:
        busy = next(worker for worker, jobs in client.processing().items() if jobs)
        victim: int = client.run(os.getpid)[busy]
        os.kill(victim, signal.SIGKILL)
    return victim


@pytest.mark.slow
def test_a_worker_that_dies_at_work_costs_no_submission_and_none_is_graded_twice(tmp_path, monkeypatch):
    prepare_environment(ROOT)
    here, there = small_course(tmp_path / "here"), small_course(tmp_path / "there")
    for kind, notebook in KINDS.items():
        hand_in(here, f"{kind}-0", notebook)
    for student, notebook in STUDENTS.items():
        hand_in(there, student, notebook)
    grade(here, lambda line: None)

    written: Counter[str] = Counter()
    write = autograder.grade.record

    def counted(course, chapter, student, *what):
        written[student] += 1
        return write(course, chapter, student, *what)

    killed: list[int] = []

    def say(line: str) -> None:
        if line.startswith("[2/"):
            killed.append(kill_one_at_work(address))

    monkeypatch.setattr("autograder.grade.record", counted)
    (tmp_path / "elsewhere").mkdir()
    with loopback_cluster(tmp_path / "elsewhere", [ROOT]) as (address, workers):
        outcomes = grade(there, say, how=How(scheduler=address))
        assert [worker.pid for worker in workers if worker.poll() == -signal.SIGKILL] == killed
        assert len(killed) == 1

    assert Counter((o.student, o.state) for o in outcomes) == Counter((student, "graded") for student in STUDENTS)
    assert written == Counter(STUDENTS.keys())
    local = marks(here)
    assert marks(there) == {student: local[f"{student.split('-')[0]}-0"] for student in STUDENTS}
    assert len({tuple(sorted(row.items())) for row in local.values()}) == len(KINDS), "the marks tell the kinds apart"
    with Gradebook(there.gradebook_url) as gradebook:
        assert sorted(s.student.id for s in gradebook.assignment_submissions(CHAPTER)) == sorted(STUDENTS)
    for student in STUDENTS:
        record, other = read_record(there, student, CHAPTER), read_record(here, f"{student.split('-')[0]}-0", CHAPTER)
        assert record is not None and other is not None
        assert (record.state, record.scores, record.flags) == ("graded", other.scores, other.flags)
        assert (there.feedback / student / CHAPTER / f"{CHAPTER}.html").exists()
