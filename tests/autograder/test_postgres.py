"""The gradebook in PostgreSQL: a whole grading run with a real server on this machine."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from sqlalchemy.engine import make_url

from autograder.grade import How, grade
from autograder.late import assign_penalties
from autograder.records import read_record
from autograder.report import build_report, gradebook_rows
from autograder.settings import GRADEBOOK_URL, ROOT, Course, nbgrader_settings, prepare_environment
from tests.support.small_course import CHAPTER, POINTS, TASKS, answered, hand_in, released, small_course

pytestmark = pytest.mark.slow

FULL = sum(POINTS[name] for name in TASKS)


def programs() -> Path | None:
    """Folder of PostgreSQL's server programs; Debian keeps them off PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """URL of an empty database of a server that runs while this file is tested."""
    folder = programs()
    try:
        import psycopg  # noqa: F401
    except ImportError:
        folder = None
    if folder is None:
        pytest.skip("PostgreSQL with psycopg is not installed here")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        # The server refuses to be run by root.
        user = pwd.getpwnam("postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name)
        if os.getuid() == 0:
            os.chown(place, user.pw_uid, user.pw_gid)

        def call(program: str, *options: str) -> None:
            rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
            subprocess.run([str(folder / program), *options], cwd=place, check=True, capture_output=True, **rights)

        data = f"{place}/data"
        call("initdb", "--pgdata", data, "--username", "grader", "--auth", "trust", "--no-sync")
        log, settings = f"{place}/log", f"-p {port} -h 127.0.0.1 -k {place} -c fsync=off"
        call("pg_ctl", "start", "--pgdata", data, "--wait", "--log", log, "--options", settings)
        try:
            call("createdb", "--host", "127.0.0.1", "--port", str(port), "--username", "grader", "marks")
            yield f"postgresql+psycopg://grader@127.0.0.1:{port}/marks"
        finally:
            call("pg_ctl", "stop", "--pgdata", data, "--mode", "immediate")


@pytest.fixture(scope="module")
def course(server, tmp_path_factory) -> Iterator[Course]:
    """A class after its first grading run; the gradebook is on the server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GRADEBOOK_URL, server)
        prepare_environment(ROOT)
        course = small_course(tmp_path_factory.mktemp("postgres"))
        hand_in(course, "ada", answered())
        hand_in(course, "zoë", answered("scale"))
        hand_in(course, "cleo", released())
        assert {o.state for o in grade(course, lambda line: None)} == {"graded"}
        yield course


def row(course: Course, student: str):
    return next(row for row in gradebook_rows(course, CHAPTER) if row.student == student)


def test_marks_are_on_the_server_and_no_file_is_made(course):
    assert make_url(course.gradebook_url).get_backend_name() == "postgresql"
    assert course.has_gradebook
    assert not course.gradebook.exists()
    assert not course.backups.exists()
    assert row(course, "ada").scores == {**POINTS, "q8-why": 0.0}
    assert row(course, "zoë").total == POINTS["scale"]
    assert row(course, "cleo").total == 0


def test_feedback_and_report_are_written(course):
    for student in ("ada", "zoë", "cleo"):
        assert (course.feedback / student / CHAPTER / f"{CHAPTER}.html").exists()
    page = build_report(course)
    assert page.exists()
    marks = "".join(path.read_text(encoding="utf-8") for path in page.parent.glob("*.csv"))
    assert all(student in marks for student in ("ada", "zoë", "cleo"))


def test_a_second_run_repeats_nothing_and_a_forced_one_keeps_a_persons_points(course):
    assert {o.state for o in grade(course, lambda line: None)} == {"unchanged"}
    with Gradebook(course.gradebook_url) as gradebook:
        gradebook.find_grade("q8-why", CHAPTER, CHAPTER, "ada").manual_score = 1.5
        gradebook.db.commit()
    ended = grade(course, lambda line: None, student="ada", how=How(force=True))
    assert [o.state for o in ended] == ["graded"]
    assert row(course, "ada").scores["q8-why"] == 1.5
    assert row(course, "ada").total == FULL + 1.5
    kept = read_record(course, "ada", CHAPTER)
    assert kept is not None
    assert kept.state == "graded"


def test_late_work_loses_points(course, monkeypatch):
    due = datetime(2026, 1, 10, tzinfo=timezone.utc)
    with Gradebook(course.gradebook_url) as gradebook:
        gradebook.find_assignment(CHAPTER).duedate = due.replace(tzinfo=None)
        gradebook.find_submission(CHAPTER, "zoë").timestamp = (due + timedelta(hours=30)).replace(tzinfo=None)
        gradebook.db.commit()
    assert assign_penalties(course, CHAPTER) == {}
    settings = nbgrader_settings(course)
    settings.PerDay.percent_per_day = 10.0
    monkeypatch.setattr("autograder.late.nbgrader_settings", lambda course: settings)
    assert assign_penalties(course, CHAPTER) == {"zoë": pytest.approx(0.2 * POINTS["scale"])}
    late = row(course, "zoë")
    assert late.total == pytest.approx(0.8 * POINTS["scale"])
    assert late.seconds_late == 30 * 3600
