"""What is compiled once for all sandboxes."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from autograder.sandbox import warm
from autograder.settings import ROOT
from tests.support.grading_helpers import LEFT_OUT
from tests.support.sandbox_runs import needs_sandbox, run

COURSE = ROOT / "course"
KERNELS = sorted(COURSE.rglob("*_kernels.py"))


def test_everything_that_numba_compiles_lies_in_files_called_kernels_and_is_kept():
    texts = {path: path.read_text(encoding="utf-8") for path in COURSE.rglob("*.py")}
    assert [path for path, text in sorted(texts.items()) if "@numba." in text] == KERNELS
    for path in KERNELS:
        assert texts[path].count("@numba.njit(") == texts[path].count("cache=True") > 0


def test_what_is_compiled_is_known_by_its_time_and_its_numba(tmp_path):
    module = tmp_path / "some_kernels.py"
    module.write_text("")
    assert not warm._is_compiled(module)
    (tmp_path / "__pycache__").mkdir()
    older, newer = (tmp_path / "__pycache__" / f"some_kernels.{name}.{warm.TAG}.nbi" for name in ("f-1", "f-2"))
    older.write_bytes(version("numba").encode())
    os.utime(older, (1, 1))
    assert not warm._is_compiled(module)
    newer.write_bytes(b"0.1.0")
    assert not warm._is_compiled(module)
    newer.write_bytes(b"\x80\x05" + version("numba").encode())
    assert warm._is_compiled(module)


@pytest.mark.slow
@needs_sandbox
def test_a_course_that_never_ran_here_is_compiled_outside_once(tmp_path, monkeypatch):
    course = tmp_path / "course"
    shutil.copytree(COURSE, course, ignore=LEFT_OUT)
    monkeypatch.setattr("autograder.sandbox.bubblewrap._course", lambda: str(course))
    count = """
import course
from numba.core.event import RecordingListener, install_listener
listener = RecordingListener()
with install_listener("numba:compile", listener):
    import course.simulator.counting.lane_kernels, course.simulator.hazards.shadow_kernels
print(course.__file__, len(listener.buffer))
"""
    ran = run(count)
    assert ran.stdout.split() == [str(course / "__init__.py"), "0"], ran.stderr
    made = {
        Path(place).name.partition(".")[0] for _, place in warm.warm_files(course, "/home") if place.endswith("nbc")
    }
    assert made == {path.stem for path in KERNELS}
    assert len(list(course.rglob("*.pyc"))) >= len(list(COURSE.rglob("*.py")))
    monkeypatch.setattr("subprocess.run", None)
    warm._compile_counters.cache_clear()
    warm.warm_files(course, "/home")
