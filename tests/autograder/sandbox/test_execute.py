"""A student's notebook in the sandbox, in real kernels: what it shows, what ends it, and what it costs the grader."""

from __future__ import annotations

import dataclasses
import os
import re
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest

from autograder.sandbox.execute import DIED, Execute, NotExecutedError, execute
from autograder.sandbox.in_kernel.autograder.output import CUT
from autograder.sandbox.kernel import _BoundedChannel
from autograder.sandbox.limits import MIB, Limits
from autograder.settings import ROOT
from tests.support.sandbox_runs import SMALL, cells_of, eventually, needs_sandbox, notebook, processes_with, shown


@needs_sandbox
def test_cells_run_one_after_the_other_and_an_error_stops_none():
    done = execute(notebook("x = 1", "1 / 0", "print(x + 1)", "import os; os.getcwd()"), SMALL)
    assert done.problem == ""
    assert shown(done) == ["", "ZeroDivisionError: division by zero", "2\n", "'/tmp/work'"]


@needs_sandbox
def test_a_student_file_shadows_nothing_and_nothing_is_left_behind():
    before = set(Path(tempfile.gettempdir()).glob("grade-*"))
    mark = f"left-{os.getpid()}"
    done = execute(
        notebook(
            "open('numpy.py', 'w').write('x = 1'); import os; os.symlink('/etc/shadow', 'link')",
            f"import subprocess; p = subprocess.Popen(['setsid', 'sleep', '61', '{mark}'])",
            f"import sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(61)  # {mark}'])",
            "try:\n    open('link').read()\nexcept OSError as error:\n    print(type(error).__name__)",
            "print(sorted(os.listdir('.')))",
        ),
        SMALL,
    )
    assert done.problem == ""
    assert shown(done)[3:] == ["FileNotFoundError\n", "['link', 'numpy.py']\n"]
    assert eventually(lambda: processes_with(mark) == [])
    assert set(Path(tempfile.gettempdir()).glob("grade-*")) <= before
    assert shown(execute(notebook("import numpy; print(numpy.arange(3).sum())"), SMALL)) == ["3\n"]


@needs_sandbox
@pytest.mark.parametrize(
    "end",
    [
        "os._exit(0)",
        pytest.param("os.kill(os.getpid(), 9)", marks=pytest.mark.slow),
        pytest.param("os.kill(os.getppid(), 9); time.sleep(3)", marks=pytest.mark.slow),
    ],
)
def test_a_kernel_that_ends_itself_is_a_problem_and_earlier_cells_stay(end):
    done = execute(notebook("import os, time; print('before')", end, "print('after')"), SMALL)
    first, second, third = shown(done)
    assert first == "before\n"
    if done.problem:
        assert done.problem == f"The notebook {DIED}."
        assert (second, third) == (f"Stopped: {DIED}", "")
    else:  # its parent is the first process of the sandbox, which it cannot end
        assert "getppid" in end
        assert third == "after\n"


@pytest.mark.slow
@needs_sandbox
def test_a_cell_and_a_notebook_have_time_limits():
    forever = "while True: pass"
    cell = execute(notebook("print(1)", forever, "print(3)"), Limits(cell_seconds=4))
    assert cell.problem == ""
    assert "the cell took longer than 4 s" in shown(cell)[1]
    assert shown(cell)[2] == "3\n"
    whole = execute(notebook("print(1)", forever, "print(3)"), Limits(notebook_seconds=15))
    assert whole.problem == "The notebook took longer than 15 s and was stopped."
    assert shown(whole)[0::2] == ["1\n", ""]


@pytest.mark.slow
@needs_sandbox
def test_a_cell_that_refuses_to_be_interrupted_ends_the_notebook():
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    done = execute(notebook("print(1)", stubborn, "print(3)"), Limits(cell_seconds=4, notebook_seconds=120))
    assert "could not be stopped" in done.problem
    assert shown(done)[0::2] == ["1\n", ""]


@pytest.mark.slow
@needs_sandbox
def test_a_cell_that_goes_on_after_an_interrupt_is_interrupted_again():
    again = """
import time
caught = 0
while caught < 6:
    try:
        while True: time.sleep(0.01)
    except KeyboardInterrupt:
        caught += 1
"""
    done = execute(notebook(again, "print(caught)"), Limits(cell_seconds=4, notebook_seconds=120))
    assert done.problem == ""
    assert "the cell took longer than 4 s" in shown(done)[0]
    assert shown(done)[1] == "6\n"


@needs_sandbox
def test_endless_output_is_cut_with_a_note_and_the_next_cell_runs():
    limits = Limits(output_bytes=100_000, all_output_bytes=MIB)
    done = execute(
        notebook(
            "print('x' * 10**8)",
            "import os; os.write(1, b'y' * 10**6); print(end='')",
            "from IPython.display import HTML, display\nfor _ in range(50): display(HTML('z' * 9000))",
            "print('after')",
        ),
        limits,
    )
    assert done.problem == ""
    long, raw, many, after = shown(done)
    assert long.endswith(CUT) and len(long) < 100_000
    assert raw.count("y") < 100_000
    assert many.endswith(CUT) and many.count("z") < 100_000
    assert after == "after\n"
    assert len(done.notebook) < 400_000


@needs_sandbox
def test_prints_are_one_output_however_slowly_they_come():
    slowly = """
import sys, time
for word in "ab":
    print(word, flush=True)
    print(word, file=sys.stderr, flush=True)
    time.sleep(0.3)
"""
    forged = """
kernel = get_ipython().kernel
for content in ({"name": "stdout", "text": ["1\\n", "2\\n"]}, {"name": "other", "text": "3"}):
    kernel.session.send(kernel.iopub_thread, "stream", content, parent=kernel.get_parent(), ident=b"stream")
"""
    done = execute(notebook(f"{slowly}\ndisplay(1)\n{slowly}", forged), SMALL)
    assert done.problem == ""
    first, second = ([(output.get("name"), output.get("text")) for output in cell.outputs] for cell in cells_of(done))
    printed = [("stdout", "a\nb\n"), ("stderr", "a\nb\n")]
    assert first == [*printed, (None, None), *printed]
    assert second == [("stdout", "1\n2\n"), ("other", "3")]


@pytest.mark.slow
@needs_sandbox
def test_what_is_shown_faster_than_it_is_read_waits_and_nothing_is_lost(monkeypatch):
    fits = _BoundedChannel._fits

    def fits_in_time(self, message, size):
        time.sleep(0.002)
        return fits(self, message, size)

    monkeypatch.setattr(_BoundedChannel, "_fits", fits_in_time)
    roomy = dataclasses.replace(SMALL, output_bytes=8 * MIB)
    done = execute(notebook("for n in range(3000): display(n)", "print('next')"), roomy)
    assert done.problem == ""
    assert shown(done) == ["".join(map(str, range(3000))), "next\n"]


@pytest.mark.slow
@needs_sandbox
def test_one_message_that_is_far_too_long_never_comes_in():
    limits = Limits(cell_seconds=10, notebook_seconds=120, message_bytes=MIB)
    done = execute(notebook("print(1)", "from IPython.display import HTML\nHTML('x' * 10**8)", "print(3)"), limits)
    assert "showed more than 1 MiB at once" in done.problem
    assert shown(done)[0] == "1\n"
    assert len(done.notebook) < 10_000


@needs_sandbox
def test_what_is_printed_past_the_notebook_never_reaches_the_graders_terminal(capfd):
    done = execute(
        notebook("import os, sys; os.write(sys.__stderr__.fileno(), b'\\x1b]0;hacked\\x07'); os.system('echo hi')"),
        SMALL,
    )
    assert done.problem == ""
    assert "hacked" not in "".join(capfd.readouterr())


@pytest.mark.slow
@needs_sandbox
def test_forged_messages_and_half_characters_do_no_harm():
    forged = r"""
import ipykernel.kernelapp
kernel = get_ipython().kernel
for content in ({}, {"name": 3}, {"data": 1, "metadata": None}, []):
    for kind in ("stream", "display_data", "nonsense"):
        kernel.session.send(kernel.iopub_socket, kind, content, parent={})
kernel.iopub_socket.send_multipart([b"rubbish", b"<IDS|MSG>", b"no", b"{", b"{", b"{", b"{"])
print("\ud800")
"""
    done = execute(notebook("print(1)", forged, "print(3)"), SMALL)
    assert shown(done)[0::2] == ["1\n", "3\n"]


def test_what_is_no_notebook_is_a_problem():
    for text in (
        b"PK\x03\x04",
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"cells": 3, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    ):
        done = execute(text)
        assert done.problem, text
        assert done.notebook == text or done.problem.startswith("The notebook")


@pytest.mark.slow
@needs_sandbox
def test_two_runs_beside_each_other_in_worker_processes_and_threads():
    cells = [
        "import os, time; open('mine', 'w').write('{0}'); time.sleep(0.5)",
        "print(os.listdir('.'), open('mine').read())",
    ]
    books = [notebook(*(cell.format(number) for cell in cells)) for number in range(4)]
    with ProcessPoolExecutor(2) as processes, ThreadPoolExecutor(2) as threads:
        waiting = [
            pool.submit(execute, book, SMALL)
            for pool, book in zip([processes, processes, threads, threads], books, strict=True)
        ]
        done = [one.result(timeout=120) for one in waiting]
    assert [one.problem for one in done] == [""] * 4
    assert [shown(one)[1] for one in done] == [f"['mine'] {number}\n" for number in range(4)]


def released(chapter: str) -> bytes:
    return (ROOT / "release" / chapter / f"{chapter}.ipynb").read_bytes()


@pytest.mark.slow
@needs_sandbox
def test_a_chapter_shows_the_same_inside_and_outside():
    inside, outside = (execute(released("coalescing"), sandboxed=walls) for walls in (True, False))
    assert (inside.problem, outside.problem) == ("", "")

    def plain(text: str) -> str:
        return re.sub(r"gmc-static-\w+|<.*?>", "", text, flags=re.DOTALL)

    mine, theirs = [plain(text) for text in shown(inside)], [plain(text) for text in shown(outside)]
    differing = [(one, other) for one, other in zip(mine, theirs, strict=True) if one != other]
    assert differing == []
    assert "Traceback" not in "".join(mine)


@pytest.mark.slow
@needs_sandbox
def test_nbgraders_own_preprocessor_is_the_same_kernel_whatever_the_notebook_names():
    nb = nbformat.reads(notebook("import autograder.hidden as h; print(h.seed('x'), 1)").decode(), as_version=4)
    nb.metadata["kernelspec"] = {"name": "some-other-kernel", "display_name": "x", "language": "python"}
    Execute().preprocess(nb, {})
    assert nb.cells[0].outputs[0].text == "None 1\n"
    dead = nbformat.reads(notebook("import os; os._exit(1)").decode(), as_version=4)
    with pytest.raises(NotExecutedError, match="ended its Python process"):
        Execute().preprocess(dead, {})


def test_without_a_sandbox_nothing_runs_unless_told_so(monkeypatch):
    monkeypatch.setattr("autograder.sandbox.execute.available", lambda: "bubblewrap is not installed")
    refused = execute(notebook("print(1)"), SMALL)
    assert refused.problem == "The notebook was not run, because there is no sandbox: bubblewrap is not installed."
    assert shown(refused) == [""]
    look = "import os; print(os.listdir('.'), 'GRADER_SECRET' in os.environ)"
    monkeypatch.setenv("GRADER_SECRET", "4711")
    done = execute(notebook(look, "import autograder.hidden as h; h.seed('x')"), SMALL, sandboxed=False)
    assert (done.problem, shown(done)) == ("", ["[] False\n", ""])
