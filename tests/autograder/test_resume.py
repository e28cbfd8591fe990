"""A grading run that is killed at any moment, again and again, ends with the marks of one that was left alone."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.report import gradebook_rows
from autograder.settings import Course
from tests.support.grading_helpers import clone
from tests.support.small_course import CHAPTER, answered, hand_in, small_course

pytestmark = pytest.mark.slow

KILLS = 10
CLASS = {
    "dan": answered("sectors", q8="q8 = dict(line_fraction=0.5, warp_stride=4)"),
    "eve": answered("q8", sectors="import os\nos._exit(1)"),
}


def grading(course: Course, *options: str) -> subprocess.Popen[bytes]:
    """`python -m autograder grade` in that course, in a process group of its own."""
    environment = {**os.environ, "PYTHONPATH": ""}
    return subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", *options], cwd=course.root, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def descendants_in(group: int) -> list[int]:
    """Processes of this process group that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = status.read_text(encoding="utf-8").rpartition(")")[2].split()[:3]
        except OSError:  # it has ended meanwhile
            continue
        if int(pgrp) == group and state != "Z":
            found.append(int(status.parent.name))
    return found


def marks(course: Course) -> dict[str, tuple[object, ...]]:
    """Everything about a class that must not depend on how often the run was killed."""
    found: dict[str, tuple[object, ...]] = {}
    for row in gradebook_rows(course, CHAPTER):
        record = json.loads(course.record(row.student, CHAPTER).read_text(encoding="utf-8"))
        kept = {key: record[key] for key in ("state", "repairs", "flags", "scores", "feedback")}
        found[row.student] = (row.scores, row.waiting, row.total, kept)
    return found


def handed_in(course: Course) -> dict[str, str]:
    files = sorted(path for path in course.submitted.rglob("*") if path.is_file())
    return {str(path.relative_to(course.root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def fresh(root: Path) -> Course:
    course = clone(root)
    shutil.rmtree(course.source)
    small_course(root)
    for student, notebook in CLASS.items():
        hand_in(course, student, notebook)
    return course


@pytest.mark.timeout(1800)
def test_kills_at_any_moment_lose_nothing_and_count_nothing_twice(tmp_path):
    calm, killed = fresh(tmp_path / "calm"), fresh(tmp_path / "killed")
    start = time.monotonic()
    assert grading(calm).wait(300) == 0
    whole = time.monotonic() - start
    moments = random.Random(20)
    before = handed_in(killed)
    interrupted = 0
    for _ in range(KILLS):
        start = time.monotonic()
        # What is graded already is graded again, so there is always work to interrupt.
        run = grading(killed, "--force")
        with contextlib.suppress(subprocess.TimeoutExpired):
            assert run.wait(moments.uniform(0, whole)) == 0, "a run after a kill goes through"
            # It came to its end before: the machine has become faster than it was.
            whole = time.monotonic() - start
        interrupted += run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.wait()
        deadline = time.monotonic() + 20
        while descendants_in(run.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert descendants_in(run.pid) == [], "a killed run leaves no process behind"
    assert interrupted >= KILLS // 2, "most runs must be killed while they work"
    assert grading(killed).wait(300) == 0
    assert marks(killed) == marks(calm)
    assert set(marks(calm)) == set(CLASS)
    assert handed_in(killed) == before
    assert list((killed.root / "autograder").rglob(".*.new")) == []
    assert {path.name for path in killed.scratch.parent.iterdir()} <= {"release.lock"}
