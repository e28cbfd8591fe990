"""A folder to build in: one process at a time, and nothing of a process that was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder import writing
from autograder.settings import CourseError
from autograder.writing import scratch

HOLD = """
import sys, time
from pathlib import Path
from autograder.writing import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("")
    print("in", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(folder: Path, seconds: float) -> subprocess.Popen[str]:
    """A process that works in this folder by now."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, folder, str(seconds)], stdout=subprocess.PIPE, text=True)
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
    killed = holder(tmp_path / "place", 60)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (tmp_path / "place" / "half").exists()
    with scratch(tmp_path / "place") as folder:
        assert list(folder.iterdir()) == []
    assert not (tmp_path / "place").exists()


def test_a_second_process_waits_but_not_for_ever(tmp_path, monkeypatch):
    other = holder(tmp_path / "place", 1.5)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "WAIT_SECONDS", 0.1)
        with pytest.raises(CourseError, match=r"another process works in .*place"), scratch(tmp_path / "place"):
            pass
    assert (tmp_path / "place" / "half").exists()
    start = time.monotonic()
    with scratch(tmp_path / "place") as folder:
        assert list(folder.iterdir()) == []
        assert time.monotonic() - start > 0.2
    assert other.wait() == 0
