"""What nbgrader is told, and what it would do wrong without being told."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbconvert.filters import ansi2html
from sqlalchemy import create_engine, make_url

from autograder.feedback import HideTests, ReadableColours
from autograder.hidden import seed
from autograder.settings import ROOT, Course, nbgrader_settings, prepare_environment
from tests.support.small_course import small_course


def test_a_locked_gradebook_is_waited_for(tmp_path):
    url = Course(tmp_path).gradebook_url
    (tmp_path / "autograder").mkdir()
    arguments, options = create_engine(url).dialect.create_connect_args(make_url(url))
    assert options["timeout"] == 60
    sqlite3.connect(*arguments, **options).close()
    assert Course(tmp_path).gradebook.exists()


def test_the_configuration_can_be_read_twice_and_needs_no_activated_environment(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("PYTHONPATH", "")
    prepare_environment(ROOT)
    once = os.environ["PATH"], os.environ["PYTHONPATH"]
    prepare_environment(ROOT)
    assert (os.environ["PATH"], os.environ["PYTHONPATH"]) == once
    assert once[0].split(os.pathsep)[-1:] == ["/usr/bin"]
    assert len(set(once[0].split(os.pathsep))) == len(once[0].split(os.pathsep))


def test_nbgraders_tools_are_found_wherever_pip_puts_them(monkeypatch, tmp_path):
    """conda on Windows: python.exe lies above the folder of alembic.exe."""
    scripts = tmp_path / "Scripts"
    scripts.mkdir()
    tool = scripts / "alembic"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(scripts))
    prepare_environment(ROOT)
    assert shutil.which("alembic") == str(tool)


def test_a_process_started_by_full_path_finds_alembic():
    code = "import shutil, autograder.settings as s; s.prepare_environment(s.ROOT); print(shutil.which('alembic'))"
    bare = {k: v for k, v in os.environ.items() if k not in {"PATH", "VIRTUAL_ENV"}}
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**bare, "PATH": os.defpath},
                            capture_output=True, text=True, check=True)  # fmt: skip
    assert Path(result.stdout.strip()).parent == Path(sys.executable).parent


def test_whoever_runs_a_step_of_nbgrader_without_an_activated_environment_gets_a_gradebook(tmp_path):
    """Also another program than `python -m autograder`: nbgrader's own converters, started by full path."""
    root = small_course(tmp_path).root
    code = (
        "import pathlib; from autograder.settings import Course;"
        "from autograder.nbgrader_runs import generate_assignment;"
        f"course = Course(pathlib.Path({str(root)!r})); course.gradebook.parent.mkdir(parents=True, exist_ok=True);"
        "generate_assignment(course, 'small', 'build/release', record=True); print(course.gradebook.is_file())"
    )
    bare = {k: v for k, v in os.environ.items() if k not in {"PATH", "VIRTUAL_ENV"}}
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**bare, "PATH": os.defpath},
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert result.stdout.strip().endswith("True"), result.stderr[-2000:]


def test_a_students_module_never_reaches_the_grading_folder():
    assert {"*.py", "*.so", "*.md"} <= set(nbgrader_settings(Course(ROOT)).CourseDirectory.ignore)


def test_a_hidden_seed_is_known_by_name_only():
    assert seed("coalescing/sectors") == seed("coalescing/sectors")
    with pytest.raises(KeyError, match="coalescing/sectors"):
        seed("coalescing/sektors")


def test_students_get_no_hidden_seed_with_the_course():
    code = "import sys, course.checks as c; c.grade('coalescing/q1', None); print('autograder' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "False"


def feedback_of(*outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    source = 'check("q", q)\n### BEGIN HIDDEN TESTS\nsecret = seed("q")\n### END HIDDEN TESTS'
    cell = nbformat.v4.new_code_cell(source, outputs=list(outputs))
    return HideTests().preprocess_cell(cell, {}, 0)[0]


def test_feedback_drops_the_hidden_block_and_keeps_the_visible_check():
    assert feedback_of().source == 'check("q", q)'


def test_feedback_drops_a_traceback_that_quotes_the_hidden_block_and_keeps_the_error():
    quoted = ['----> 1 check("q", q)', '\x1b[1;32m      3\x1b[0m secret = seed("q")']
    error = nbformat.v4.new_output("error", ename="NameError", evalue="name 'q' is not defined", traceback=quoted)
    assert feedback_of(error).outputs[0].traceback == ["NameError: name 'q' is not defined"]


def test_feedback_drops_printed_lines_of_the_hidden_block_and_keeps_the_others():
    stream = nbformat.v4.new_output(
        "stream", text='q: 1 of 2 points\nIn[4] was: \x1b[31msecret = seed("q")\x1b[0m\nDone'
    )
    assert feedback_of(stream).outputs[0].text == "q: 1 of 2 points\nDone"


def test_feedback_leaves_cells_without_hidden_tests_alone():
    output = nbformat.v4.new_output("error", ename="E", evalue="e", traceback=["----> 1 x"])
    cell = nbformat.v4.new_code_cell("x", outputs=[output])
    assert HideTests().preprocess_cell(cell, {}, 0)[0].outputs[0].traceback == ["----> 1 x"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[38mhalf a colour", "half a colour"),
        ("\x1b[1;48mhalf", "half"),
        ("\x1b[m.\x1b[2J" * 50_000, "." * 50_000),
    ],
    ids=["colour", "foreground", "background", "flood"],
)
def test_colours_that_nbconvert_cannot_read_or_would_read_for_ever_are_taken_out(text, shown):
    stream = nbformat.v4.new_output("stream", text=text)
    error = nbformat.v4.new_output("error", ename="x", evalue="", traceback=[text])
    result = nbformat.v4.new_output("execute_result", data={"text/plain": text})
    cell = nbformat.v4.new_code_cell("x", outputs=[stream, error, result])
    ReadableColours().preprocess_cell(cell, {}, 0)
    assert (stream.text, error.traceback, result.data["text/plain"]) == (shown, [shown], shown)
    ansi2html(shown)
