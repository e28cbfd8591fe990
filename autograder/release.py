"""Make release/, the students' notebooks, from source/: generate, check, and only then replace the old one."""

from __future__ import annotations

import filecmp
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from traitlets.log import get_logger

from autograder.cells import MARKERS, Notebook, cell_problems, grade_ids, nbgrader_of, read_notebook, split
from autograder.nbgrader_runs import StepError, generate_assignment
from autograder.settings import ROOT, TEXT_TWINS, Course, CourseError
from autograder.writing import scratch

__all__ = ["build_release", "register", "register_before_autograde", "release_problems", "source_problems"]

NOT_OF_RECORD = (
    "these points are what the student's own program reports, not the score of record: run `make grade` before you use "
    "them."
)
"""What a person must know who grades with stock nbgrader."""

GradeIds = dict[str, dict[str, float | None]]
"""chapter -> grade_id -> points, None for a cell without points."""


def build_release(course: Course, *, update_ids: bool = False) -> bool:
    """Generate every chapter into release/ and tell the gradebook. Returns whether release/ changed.

    update_ids: accept the graded cells as they are now and write them to the manifest.
    Raises CourseError, with release/ untouched, when a chapter cannot be released.
    """
    _refuse(source_problems(course))
    chapters = course.chapters()
    ids = {chapter: grade_ids(read_notebook(course.notebook(chapter))) for chapter in chapters}
    if not update_ids:
        _refuse(manifest_problems(read_manifest(course), ids))
    with scratch(course.scratch) as folder:
        for chapter in chapters:
            _generate(course, chapter, folder / "new", record=False)
            _refuse(release_problems(course, chapter, folder / "new"))
        for chapter in chapters:
            if any(points is not None for points in ids[chapter].values()):
                _generate(course, chapter, folder / "registered", record=True)
        changed = not _same_tree(folder / "new", course.release)
        if changed:
            _swap(folder / "new", course.release, folder / "old")
    if update_ids:
        course.grade_ids.write_text(json.dumps(ids, indent=1) + "\n", encoding="utf-8")
    return changed


def register(course: Course, chapter: str) -> Notebook:
    """Make the gradebook know a chapter's graded cells as source/ has them now; release/ is not touched.

    Returns the students' version of the chapter. Raises CourseError when the gradebook holds submissions that were
    graded with other cells.
    """
    with scratch(course.scratch) as folder:
        _generate(course, chapter, folder, record=True)
        return read_notebook(folder / chapter / f"{chapter}.ipynb")


def register_before_autograde(assignment: str, student: str, notebooks: list[str]) -> None:
    """nbgrader's hook before its own `autograde` runs a submission.

    A fresh clone has no gradebook, and stock autograde needs one. It also replaces the scores of record: it is told
    so, and without its record the submission is graded anew by the next `make grade`.
    """
    course = Course(ROOT)
    course.record(student, assignment).unlink(missing_ok=True)
    get_logger().warning("%s, %s: %s", assignment, student, NOT_OF_RECORD)
    course.gradebook.parent.mkdir(parents=True, exist_ok=True)
    with Gradebook(course.gradebook_url) as gradebook:
        try:
            gradebook.find_notebook(assignment, assignment)
        except MissingEntry:
            register(course, assignment)


def read_manifest(course: Course) -> GradeIds:
    """The committed graded cells; empty when there is no manifest yet."""
    if not course.grade_ids.exists():
        return {}
    manifest: GradeIds = json.loads(course.grade_ids.read_text(encoding="utf-8"))
    return manifest


def manifest_problems(committed: GradeIds, now: GradeIds) -> list[str]:
    """How the graded cells differ from the committed ones; every difference costs somebody a mark."""
    found = []
    for chapter in sorted({*committed, *now}):
        if chapter not in now:
            found.append(f"{chapter}: chapter is gone")
        before, after = committed.get(chapter, {}), now.get(chapter, {})
        for name in before:
            if name not in after:
                found.append(f"{chapter}: graded cell {name!r} is gone")
            elif before[name] != after[name]:
                found.append(f"{chapter}: {name!r} gives {after[name]} points, the manifest says {before[name]}")
        found += [f"{chapter}: graded cell {name!r} is new" for name in after if name not in before]
    if found:
        found.append(
            "Submissions that are out already have the old cells. Put the old ones back, or, when the change is "
            "meant and the term has not begun, run: python -m autograder release --update-ids"
        )
    return found


def source_problems(course: Course) -> list[str]:
    """Why source/ cannot be released: missing notebooks, markers, nbgrader metadata, files beside a notebook."""
    chapters = course.chapters()
    if not chapters:
        return [f"{course.source} holds no chapter: expected source/<chapter>/<chapter>.ipynb"]
    others = sorted(path.name for path in course.source.iterdir() if path.name not in chapters)
    found = [f"source/{name} is no chapter: expected source/{name}/{name}.ipynb" for name in others]
    return found + [problem for chapter in chapters for problem in _chapter_problems(course, chapter)]


def _chapter_problems(course: Course, chapter: str) -> Iterator[str]:
    names: set[str] = set()
    for path in stray_files(course.source / chapter):
        yield f"{path.relative_to(course.root)} is a text twin or a second notebook: remove it"
    for number, cell in enumerate(read_notebook(course.notebook(chapter)).cells, start=1):
        name = nbgrader_of(cell).get("grade_id", "")
        where = f"{chapter}, cell {number}" + (f" ({name})" if name else "")
        yield from (f"{where}: {problem}" for problem in cell_problems(cell))
        if name and name in names:
            yield f"{where}: a second cell with this grade_id; every grade_id stands once in a notebook"
        names.add(name)


def stray_files(chapter: Path) -> list[Path]:
    """Files in a chapter's folder that repeat a notebook's text, or are another notebook."""
    twins = {path for pattern in TEXT_TWINS for path in chapter.rglob(pattern)}
    others = {path for path in chapter.rglob("*.ipynb") if path != chapter / f"{chapter.name}.ipynb"}
    same_name = {path for path in chapter.glob(f"{chapter.name}.*") if path.suffix != ".ipynb"}
    return sorted(path for path in twins | others | same_name if ".ipynb_checkpoints" not in path.parts)


def release_problems(course: Course, chapter: str, release: Path) -> list[str]:
    """What the students' version in `release`/<chapter>/ gives away or lacks, compared cell by cell with source/."""
    master, student = read_notebook(course.notebook(chapter)), read_notebook(release / chapter / f"{chapter}.ipynb")
    found = [f"{chapter}: {path.name} must not be released" for path in stray_files(release / chapter)]
    if [cell.get("id") for cell in master.cells] != [cell.get("id") for cell in student.cells]:
        return [*found, f"{chapter}: cells or their ids differ from the master; run tools/notebooks.py --fix"]
    if grade_ids(master) != grade_ids(student):
        found.append(f"{chapter}: nbgrader ids or points differ from the master's")
    shown = {line.strip() for cell in master.cells for line in split(cell.source).visible.split("\n")}
    secrets = {line for cell in master.cells for line in _secret_lines(cell)} - shown - {""}
    for number, (cell, origin) in enumerate(zip(student.cells, master.cells, strict=True), start=1):
        where = f"{chapter}, cell {number}"
        lines = {line.strip() for line in cell.source.split("\n")}
        found += [f"{where}: shows {line!r}" for line in sorted(lines & (secrets | set(MARKERS)))]
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            found.append(f"{where}: has outputs")
        if _is_written_answer(origin) and cell.source == origin.source:
            found.append(f"{where}: shows the model answer")
    return found


def _secret_lines(cell: Any) -> Iterator[str]:
    """Lines of a master's cell that no student may get: marked blocks, and the model answer of a written task."""
    parts = split(cell.source)
    text = cell.source if _is_written_answer(cell) else f"{parts.solution}\n{parts.hidden}"
    for line in text.split("\n"):
        # A bare `)` or `else:` gives nothing away and stands in many cells.
        if sum(character.isalnum() for character in line) > 4:
            yield line.strip()


def _is_written_answer(cell: Any) -> bool:
    return cell.cell_type == "markdown" and bool(nbgrader_of(cell).get("solution"))


def _generate(course: Course, chapter: str, into: Path, *, record: bool) -> None:
    course.gradebook.parent.mkdir(parents=True, exist_ok=True)
    try:
        generate_assignment(course, chapter, into.relative_to(course.root).as_posix(), record=record)
    except StepError as failure:
        advice = ""
        if "submissions associated" in str(failure):
            advice = (
                "\nThe gradebook holds submissions that were graded with other cells. Put the old graded cells back, "
                f"or move {course.gradebook} away and grade all submissions again."
            )
        raise CourseError(f"{chapter}: nbgrader refused: {failure}{advice}") from failure


def _refuse(problems: list[str]) -> None:
    if problems:
        raise CourseError("\n".join(problems))


def _same_tree(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files with the same bytes."""
    if not other.is_dir():
        return False
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    if files != sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file()):
        return False
    return all(filecmp.cmp(one / name, other / name, shallow=False) for name in files)


def _swap(new: Path, place: Path, attic: Path) -> None:
    """Put `new` in `place` by renaming, the old one into `attic`; on failure the old one comes back."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(attic)
    try:
        shutil.move(new, place)
    except OSError:
        if attic.exists():
            attic.rename(place)
        raise
