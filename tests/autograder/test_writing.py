"""A folder to build in: one process at a time, and nothing of a process that was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder import writing
from autograder.settings import CourseError
from autograder.writing import scratch

HOLD = """
import sys
from pathlib import Path
from autograder.writing import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("")
    print("in", flush=True)
    sys.stdin.read()
    print("about to leave", flush=True)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """A process that works in this folder by now, until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in\n"
    return process


def test_it_is_empty_private_and_gone_afterwards(tmp_path):
    place = tmp_path / "build" / "release"
    with pytest.raises(ZeroDivisionError), scratch(place) as folder:
        assert folder == place
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "file").write_text("")
        1 / 0  # noqa: B018
    assert not place.exists()


def test_what_a_killed_process_left_is_removed(tmp_path):
    killed = holder(tmp_path / "place")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (tmp_path / "place" / "half").exists()
    with scratch(tmp_path / "place") as folder:
        assert list(folder.iterdir()) == []
    assert not (tmp_path / "place").exists()


def test_a_second_process_waits_but_not_for_ever(tmp_path, monkeypatch):
    other = holder(tmp_path / "place")
    with monkeypatch.context() as patch:
        patch.setattr(writing, "WAIT_SECONDS", 0.1)
        with pytest.raises(CourseError, match=r"another process works in .*place"), scratch(tmp_path / "place"):
            pass
    assert (tmp_path / "place" / "half").exists()

    def enter() -> str:
        with scratch(tmp_path / "place") as folder:
            assert list(folder.iterdir()) == []
            return other.stdout.readline()

    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(enter)
        assert (tmp_path / "place" / "half").exists()
        assert not waiting.done()
        other.stdin.close()
        assert waiting.result() == "about to leave\n"
    assert other.wait() == 0
