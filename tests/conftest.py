"""In CI a skipped test is a failure, unless its reason is on the committed list. The longest files run first."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

# Before nbformat: it spares each process a grammar that takes seconds. It is missing where only `course` is installed.
with contextlib.suppress(ImportError):
    import autograder  # noqa: F401

# A machine that is busy with something else makes no example wrong.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("course", deadline=None)
    settings.load_profile("course")

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = {
    line
    for line in (ROOT / "tests" / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
}
LONGEST = ("test_compatibility.py", "autograder/test_zoo.py", "autograder/test_resume.py", "checks/test_mutants.py")
"""Begun late, each of them would run on alone, with every other process of the test run at rest."""
APART = {"test_compatibility.py": "version", "checks/test_mutants.py": "name"}
"""File -> the parameter by which its tests go to different processes: each value has fixtures of its own, or none."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            item.add_marker(pytest.mark.xdist_group(group_of(item)))


def group_of(item):
    """Tests of one group run in one process: those of a file share fixtures that take long to make."""
    file = item.path.as_posix()
    given = item.callspec.params if hasattr(item, "callspec") else {}
    apart = [str(given[name]) for end, name in APART.items() if file.endswith(end) and name in given]
    return ":".join([file, *apart])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "?"
        if reason not in ALLOWED:
            report.outcome = "failed"
            report.longrepr = f"skipped in CI, and the reason is not in tests/allowed_skips.txt: {reason}"


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def progress_of_nobody(tmp_path_factory):
    """What a learner on this computer has done so far is none of a test's business."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_PROGRESS", str(tmp_path_factory.mktemp("progress")))
        yield
