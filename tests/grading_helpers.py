"""Copies of the course for tests that release and grade: the repository itself stays untouched."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from autograder.settings import ROOT, Course

__all__ = ["clone", "copied_course"]

LEFT_OUT = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")


def copied_course(root: Path) -> Course:
    """source/ and the manifest: all that is needed to release and grade from this process."""
    shutil.copytree(ROOT / "source", root / "source", ignore=LEFT_OUT)
    (root / "autograder").mkdir()
    shutil.copy(ROOT / "autograder" / "grade_ids.json", root / "autograder")
    return Course(root)


def clone(root: Path) -> Course:
    """What git would check out: the code and release/ as well, but no gradebook and no submissions.

    With what is compiled of the code: each command would begin with ten seconds of it.
    """
    course = copied_course(root)
    shutil.copytree(ROOT / "release", root / "release", ignore=LEFT_OUT)
    shutil.copytree(ROOT / "course", root / "course")
    kept = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "autograder"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in filter(lambda name: (ROOT / name).is_file(), kept):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return course
