"""Copies of the course for tests that release and grade: the repository itself stays untouched."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from autograder.release import read_manifest
from autograder.settings import ROOT, Course

__all__ = ["clone", "copied_course"]

LEFT_OUT = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
HALF_WRITTEN = shutil.ignore_patterns("*.pyc.*", "*.tmp.*")
"""Compiled files that another process is writing: they are renamed while one copies."""


def copied_course(root: Path, *chapters: str) -> Course:
    """source/ and the manifest: all that is needed to release and grade from this process.

    chapters: only these, since each takes its seconds to release; none named means all.
    """
    chapters = chapters or tuple(Course(ROOT).chapters())
    for chapter in chapters:
        shutil.copytree(ROOT / "source" / chapter, root / "source" / chapter, ignore=LEFT_OUT)
    course = Course(root)
    course.grade_ids.parent.mkdir()
    manifest = {chapter: ids for chapter, ids in read_manifest(Course(ROOT)).items() if chapter in chapters}
    course.grade_ids.write_text(json.dumps(manifest), encoding="utf-8")
    return course


def clone(root: Path) -> Course:
    """What git would check out: the code and release/ as well, but no gradebook and no submissions.

    With what is compiled of the code: each command would begin with ten seconds of it.
    """
    course = copied_course(root)
    shutil.copytree(ROOT / "release", root / "release", ignore=LEFT_OUT)
    shutil.copytree(ROOT / "course", root / "course", ignore=HALF_WRITTEN)
    kept = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "autograder"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in filter(lambda name: (ROOT / name).is_file(), kept):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return course
