"""Stock `nbgrader autograde` runs notebooks in our sandbox, and says that its points are not the score of record."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook

import autograder.release as release_module
from autograder import hidden
from autograder.cells import read_notebook
from autograder.grade import How, grade
from autograder.records import read_record
from autograder.sandbox import bubblewrap
from autograder.settings import ROOT, Course, prepare_environment
from tests.support.grading_helpers import clone
from tests.support.small_course import CHAPTER, POINTS, answered, hand_in, small_course

SECRET = "the-examiners-own-note"
STOCK_SAYS = "not the score of record: run `make grade`"
NOSY = """
import json, os, pathlib, socket
def tried(what):
    try:
        return repr(what())
    except BaseException as error:
        return type(error).__name__
def seeds():
    from autograder.hidden import seed
    return seed("coalescing/sectors")
def connected():
    socket.create_connection(("127.0.0.1", {port}), timeout=5).close()
    return "connected"
def met():
    root = pathlib.Path({root!r})
    places = [path for depth in ("*", "autograder/*", "autograder/sandbox/*") for path in root.glob(depth)]
    return sorted(path.relative_to(root).as_posix() for path in places)
print(json.dumps(dict(
    seeds=tried(seeds),
    file=tried(pathlib.Path({root!r}, "autograder", "hidden.py").read_text),
    note=tried(pathlib.Path({root!r}, "note.txt").read_text),
    gradebook=tried(pathlib.Path({root!r}, "autograder", "gradebook.db").read_bytes),
    beside=tried(met),
    environment=tried(lambda: os.environ["EXAMINERS_TOKEN"]),
    network=tried(connected),
)))
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> tuple[Course, subprocess.CompletedProcess[str], list[str]]:
    """A clone in which stock autograde ran one nosy notebook: the course, what nbgrader said, who connected."""
    if why := bubblewrap.available():
        pytest.skip(why)
    course = clone(tmp_path_factory.mktemp("clone"))
    small_course(course.root)
    (course.root / "note.txt").write_text(SECRET, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        notebook = answered()
        code = NOSY.format(root=str(course.root), port=server.getsockname()[1])
        notebook.cells.append(new_code_cell(code, id="nosy"))
        hand_in(course, "ada", notebook)
        done = subprocess.run(
            [Path(sys.executable).parent / "nbgrader", "autograde", CHAPTER],
            cwd=course.root,
            env={**os.environ, "EXAMINERS_TOKEN": SECRET},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        server.setblocking(False)
        connected = []
        with contextlib.suppress(BlockingIOError):
            connected.append(str(server.accept()[1]))
    return course, done, connected


@pytest.mark.slow
def test_a_nosy_notebook_finds_no_seed_no_file_and_no_network(graded):
    course, done, connected = graded
    assert done.returncode == 0, done.stderr[-2000:]
    nosy = read_notebook(course.autograded / "ada" / CHAPTER / f"{CHAPTER}.ipynb").cells[-1]
    found = json.loads(nosy.outputs[0].text)
    assert found == {
        "seeds": "None",
        "file": "FileNotFoundError",
        "note": "FileNotFoundError",
        "gradebook": "FileNotFoundError",
        "beside": "['autograder', 'autograder/sandbox', 'autograder/sandbox/in_kernel', 'course']",
        "environment": "KeyError",
        "network": found["network"],
    }
    assert found["network"] != "'connected'"
    assert connected == []


@pytest.mark.slow
def test_nothing_secret_stands_in_the_outputs(graded):
    course, _, _ = graded
    cells = read_notebook(course.autograded / "ada" / CHAPTER / f"{CHAPTER}.ipynb").cells
    shown = json.dumps([cell.outputs for cell in cells if cell.cell_type == "code"])
    seed = hidden.seed("coalescing/sectors")
    assert not [text for text in (SECRET, str(seed), f"{seed:_}") if text in shown]


@pytest.mark.slow
def test_stock_autograde_fills_the_gradebook_and_says_that_this_is_not_the_score_of_record(graded):
    course, done, _ = graded
    assert STOCK_SAYS in done.stderr
    assert _score(course, "ada") == sum(points for name, points in POINTS.items() if not name.endswith("-why"))


@pytest.mark.slow
def test_points_of_record_replace_those_that_stock_autograde_took_from_the_notebook(tmp_path, monkeypatch):
    prepare_environment(ROOT)
    course = small_course(tmp_path)
    hand_in(course, "ada", answered("sectors"))
    how = How(workers=1, sandboxed=not bubblewrap.available())
    assert [outcome.state for outcome in grade(course, str, how=how)] == ["graded"]
    right = _score(course, "ada")
    _stock_autograde_began(course, "ada", monkeypatch)
    with Gradebook(course.gradebook_url) as gradebook:
        gradebook.find_grade("q1", CHAPTER, CHAPTER, "ada").auto_score = POINTS["q1"]
        gradebook.db.commit()
    assert _score(course, "ada") == right + POINTS["q1"]
    assert [outcome.state for outcome in grade(course, str, how=how)] == ["graded"]
    assert _score(course, "ada") == right


def test_stock_autograde_takes_back_the_record_of_that_submission_alone(tmp_path, monkeypatch):
    prepare_environment(ROOT)
    course = small_course(tmp_path)
    for student in ("ada", "bob"):
        course.record(student, CHAPTER).parent.mkdir(parents=True)
        course.record(student, CHAPTER).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(release_module, "register", lambda course, chapter: None)
    said: list[str] = []
    log = SimpleNamespace(warning=lambda text, *values: said.append(text % values))
    monkeypatch.setattr(release_module, "get_logger", lambda: log)
    _stock_autograde_began(course, "ada", monkeypatch)
    assert not course.record("ada", CHAPTER).exists()
    assert course.record("bob", CHAPTER).exists()
    assert [STOCK_SAYS in message for message in said] == [True]
    assert read_record(course, "ada", CHAPTER) is None


def _stock_autograde_began(course: Course, student: str, monkeypatch) -> None:
    """What nbgrader's own `autograde` calls before it runs a submission."""
    monkeypatch.setattr(release_module, "ROOT", course.root)
    release_module.register_before_autograde(assignment=CHAPTER, student=student, notebooks=[])


def _score(course: Course, student: str) -> float:
    with Gradebook(course.gradebook_url) as gradebook:
        return gradebook.find_submission_notebook(CHAPTER, CHAPTER, student).score
