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
APART = ("test_compatibility.py", "checks/test_mutants.py")
"""Each parameter of their tests has fixtures of its own, or none, so that it may go to another process."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """`--dist loadfile`, but a file of APART is no longer than its longest parameter."""
    from xdist.scheduler import LoadFileScheduling

    class LoadParameterScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            return file + test.partition("[")[2] if file.endswith(APART) else file

    return LoadParameterScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


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
