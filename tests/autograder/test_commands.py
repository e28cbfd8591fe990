"""Stock nbgrader and `python -m autograder` in a fresh clone: own processes, no activated environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import autograder.__main__ as main_module
from autograder.cells import nbgrader_of, read_notebook
from autograder.report import gradebook_rows
from autograder.settings import ROOT, Course, collected_file_pattern
from tests.support.grading_helpers import clone

CHAPTER = "coalescing"
BIN = Path(sys.executable).parent


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    # Nothing of this environment is on PATH: as after `.venv/bin/nbgrader` in a new terminal.
    environment = {k: v for k, v in os.environ.items() if k not in {"PATH", "PYTHONPATH", "VIRTUAL_ENV"}}
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=folder,
        env={**environment, "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def hand_in(course: Course, student: str, name: str = f"{CHAPTER}.ipynb") -> None:
    folder = course.submitted / student / CHAPTER
    folder.mkdir(parents=True)
    shutil.copy(course.release / CHAPTER / f"{CHAPTER}.ipynb", folder / name)


@pytest.fixture(scope="module")
def stock(tmp_path_factory) -> tuple[Course, list[subprocess.CompletedProcess[str]]]:
    """A fresh clone in which only stock commands were run."""
    course = clone(tmp_path_factory.mktemp("clone"))
    hand_in(course, "ada")
    steps = (
        # Without --force nbgrader sees release/, skips the chapter and tells the gradebook nothing.
        ("generate_assignment", CHAPTER),
        ("autograde", CHAPTER),
        ("generate_feedback", CHAPTER),
        ("generate_assignment", CHAPTER, "--force"),
    )
    return course, [run(course.root, "nbgrader", *step) for step in steps]


@pytest.mark.slow
def test_stock_commands_succeed_in_a_fresh_clone_without_a_gradebook(stock):
    assert [(step.returncode, step.stderr[-2000:]) for step in stock[1] if step.returncode] == []


@pytest.mark.slow
def test_stock_commands_put_everything_under_autograder(stock):
    course, _ = stock
    assert (course.feedback / "ada" / CHAPTER / f"{CHAPTER}.html").is_file()
    assert [row.student for row in gradebook_rows(course, CHAPTER)] == ["ada"]
    names = {path.name for path in course.root.iterdir()} - {"__pycache__", "build"}
    assert names == {"source", "release", "course", "autograder", "nbgrader_config.py"}


@pytest.mark.slow
def test_stock_and_own_release_are_the_same_bytes(stock):
    course, _ = stock
    notebook = Path("release") / CHAPTER / f"{CHAPTER}.ipynb"
    assert (course.root / notebook).read_bytes() == (ROOT / notebook).read_bytes()


def test_stock_zip_collect_takes_renamed_notebooks(tmp_path):
    course = clone(tmp_path)
    archive = course.root / "autograder" / "downloaded" / CHAPTER / "archive"
    (archive / "ada").mkdir(parents=True)
    released = course.release / CHAPTER / f"{CHAPTER}.ipynb"
    shutil.copy(released, archive / "ada" / "coalescing (1).ipynb")
    shutil.copy(released, archive / "bob_Copy of coalescing.ipynb")
    inside = tmp_path / "zip"
    inside.mkdir()
    shutil.copy(released, inside)
    shutil.make_archive(str(archive / "cy"), "zip", inside)
    result = run(course.root, "nbgrader", "zip_collect", CHAPTER)
    assert result.returncode == 0, result.stderr[-2000:]
    found = sorted(path.relative_to(course.submitted).as_posix() for path in course.submitted.rglob("*.ipynb"))
    assert found == [f"{student}/{CHAPTER}/{CHAPTER}.ipynb" for student in ("ada", "bob", "cy")]


@pytest.mark.parametrize(
    ("path", "student", "chapter"),
    [
        ("ada/coalescing.ipynb", "ada", "coalescing"),
        ("ada/coalescing (1).ipynb", "ada", "coalescing"),
        ("ada/coalescing(1).ipynb", "ada", "coalescing"),
        ("ada/Copy of coalescing.ipynb", "ada", "coalescing"),
        ("ada/Copy of coalescing (2).ipynb", "ada", "coalescing"),
        ("ada/coalescing-Copy1.ipynb", "ada", "coalescing"),
        ("ada/work/coalescing.ipynb", "ada", "coalescing"),
        ("ada_coalescing.ipynb", "ada", "coalescing"),
        ("ada_berg_coalescing.ipynb", "ada_berg", "coalescing"),
        ("s0712_Copy of coalescing.ipynb", "s0712", "coalescing"),
        ("ada/cp_async.ipynb", "ada", "cp_async"),
        ("ada_cp_async (3).ipynb", "ada", "cp_async"),
        ("Ada Berg_17_assignsubmission_file_/coalescing.ipynb", "Ada Berg_17", "coalescing"),
        ("class/Ada Berg_17_assignsubmission_file/coalescing.ipynb", "Ada Berg_17", "coalescing"),
        ("bergada_1701_9934_coalescing.ipynb", "bergada", "coalescing"),
        ("submissions/bergada_LATE_1701_9934_coalescing-2.ipynb", "bergada", "coalescing"),
    ],
)
def test_a_collected_path_gives_student_and_chapter(path, student, chapter):
    match = re.match(collected_file_pattern(["coalescing", "cp_async"]), f"/x/downloaded/c/extracted/{path}")
    assert match is not None
    assert match.groupdict() == {"student_id": student, "file_id": chapter}


@pytest.mark.parametrize(
    "path",
    [
        "coalescing.ipynb",
        "ada/mycoalescing.ipynb",
        "ada/coalescing.txt",
        "ada/__MACOSX/._coalescing.ipynb",
        "ada/.ipynb_checkpoints/coalescing-checkpoint.ipynb",
        "ada/other.ipynb",
    ],
)
def test_a_path_without_student_or_chapter_is_not_collected(path):
    assert re.match(collected_file_pattern(["coalescing"]), f"/x/downloaded/c/extracted/{path}") is None


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> tuple[Course, subprocess.CompletedProcess[str]]:
    """A fresh clone in which `python -m autograder grade` was run on one good and one useless hand-in."""
    course = clone(tmp_path_factory.mktemp("clone"))
    hand_in(course, "ada", "coalescing (1).ipynb")
    (course.submitted / "bob" / CHAPTER).mkdir(parents=True)
    return course, run(course.root, "python", "-m", "autograder", "grade")


@pytest.mark.slow
def test_make_grade_works_in_a_fresh_clone_and_says_what_it_could_not_grade(own):
    _, result = own
    assert result.returncode == 3, result.stderr[-2000:]
    assert re.search(r"^ada( +0)+$", result.stdout, re.MULTILINE)
    assert f"{CHAPTER} / bob: expected {CHAPTER}.ipynb, found nothing" in result.stdout


@pytest.mark.slow
def test_nothing_but_our_own_words_is_printed(own):
    _, result = own
    assert result.stderr == ""
    assert not re.search("warning|traceback", result.stdout, re.IGNORECASE)


def test_grade_without_hand_ins_exits_with_1_and_says_what_to_put_where(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(main_module, "ROOT", clone(tmp_path).root)
    assert main_module.main(["grade"]) == 1
    assert "autograder/submitted/ada/coalescing/coalescing.ipynb" in capsys.readouterr().err


def test_help_lists_the_commands_and_the_exit_codes():
    result = run(ROOT, "python", "-m", "autograder", "--help")
    assert result.returncode == 0
    assert all(text in result.stdout for text in ("demo", "release", "grade", "exit codes", "  3  "))


def test_an_unknown_command_exits_with_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main_module.main(["marks"])
    assert stop.value.code == 2


def _checked_points(course: Course) -> float:
    """Points of the chapter that no person has to give."""
    cells = read_notebook(course.notebook(CHAPTER)).cells
    marks = [nbgrader_of(cell) for cell in cells if cell.cell_type == "code"]
    return sum(mark["points"] for mark in marks if mark.get("grade"))


@pytest.mark.slow
def test_the_demo_runs_twice_and_touches_no_real_gradebook(tmp_path):
    course = clone(tmp_path)
    for _ in range(2):
        result = run(course.root, "python", "-m", "autograder", "demo")
        assert result.returncode == 0, result.stderr[-2000:]
        assert re.search(rf"^perfect .* {_checked_points(course):g} \+ \?$", result.stdout, re.MULTILINE)
        assert result.stderr == ""
    assert not course.gradebook.exists()
    assert not course.submitted.exists()


def test_the_demo_refuses_a_chapter_that_has_no_samples(capsys):
    assert main_module.main(["demo", "start"]) == 1
    assert "expected some of coalescing" in capsys.readouterr().err


@pytest.mark.slow
def test_the_demo_fails_when_the_masters_own_answer_is_wrong(tmp_path):
    course = clone(tmp_path)
    master = course.notebook(CHAPTER)
    text = master.read_text(encoding="utf-8")
    assert "warp_stride=4" in text
    master.write_text(text.replace("warp_stride=4", "warp_stride=5"), encoding="utf-8")
    result = run(course.root, "python", "-m", "autograder", "demo")
    assert result.returncode == 1
    assert "the master's own answer to q8 gets 1 of 2 points" in result.stderr


@pytest.mark.slow
def test_formgrader_lists_the_submissions_of_this_course(own):
    course, _ = own
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [BIN / "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token=t"]
    server = subprocess.Popen(
        list(map(str, command)), cwd=course.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        submissions = json.loads(get(f"http://127.0.0.1:{port}/formgrader/api/submissions/{CHAPTER}?token=t", server))
        assert {row["student"]: row["autograded"] for row in submissions} == {"ada": True, "bob": False}
    finally:
        server.terminate()
        server.wait(timeout=30)


def get(address: str, server: subprocess.Popen[bytes]) -> bytes:
    """What a server answers, once it has started."""
    for _ in range(240):
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.read()
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.25)
    raise AssertionError("the server did not start within a minute")
