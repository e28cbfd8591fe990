"""Grade what students handed in: register the chapter, autograde what is new or changed, write feedback."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.nbgrader_runs import StepError, autograde, generate_feedback
from autograder.release import register
from autograder.report import Submission, gradebook_rows
from autograder.settings import Course, CourseError, notebook_name_pattern

__all__ = ["Outcome", "grade", "handed_in"]

Say = Callable[[str], None]

PLAIN_REASONS = (
    ("NotJSONError", "the file is not a notebook (it does not hold JSON); ask for a new upload"),
    ("UnicodeDecodeError", "the file is not UTF-8 text; ask for a new upload"),
    ("Duplicate grade id", "a graded cell stands twice in the notebook; delete the copy and grade again"),
    ("KeyError", "graded cells and the answer cells beside them were deleted; ask for a notebook with all its cells"),
    ("DeadKernelError", "the notebook ended its Python process (out of memory, or a call such as os._exit)"),
    ("UnresponsiveKernel", "a cell ran for ever and could not be stopped"),
    ("has no attribute 'fail'", "its timestamp.txt does not hold a time; correct the file or delete it"),
    ("partial credit cannot be greater", "a test cell gave more points than it has; look at the notebook by hand"),
)
"""What nbgrader's exceptions mean for the person who has to act on them: (part of its message, our words)."""


@dataclass(frozen=True)
class Outcome:
    """What became of one submission: graded, unchanged since last time, or failed for a reason."""

    chapter: str
    student: str
    state: str
    """"graded", "unchanged" or "failed"."""
    reason: str = ""
    log: Path | None = None
    """nbgrader's full log of a failure."""


def grade(
    course: Course, say: Say, *, chapters: list[str] | None = None, student: str | None = None, force: bool = False
) -> list[Outcome]:
    """Grade every submission that is new or changed, and bring its feedback up to date.

    chapters, student: only these; None means all. force: grade unchanged submissions again too.
    A submission that cannot be graded never stops the others. Scores and comments that a person gave are kept.
    Raises CourseError when there is nothing to grade, or when a chapter does not fit the gradebook.
    """
    work = [
        (chapter, name)
        for chapter, name in handed_in(course, say)
        if (chapters is None or chapter in chapters) and student in (None, name)
    ]
    if not work:
        raise CourseError(_nothing_to_grade(course, chapters, student))
    for chapter in sorted({chapter for chapter, _ in work}):
        register(course, chapter)
    outcomes = []
    for number, (chapter, name) in enumerate(work, start=1):
        start = time.perf_counter()
        outcome = _grade_one(course, chapter, name, force=force)
        say(f"[{number}/{len(work)}] {chapter} / {name}: {outcome.state} ({time.perf_counter() - start:.1f} s)")
        outcomes.append(outcome)
    return _with_feedback(course, outcomes)


def handed_in(course: Course, say: Say) -> Iterator[tuple[str, str]]:
    """(chapter, student) of every folder submitted/<student>/<chapter>/; what does not fit is said, not graded."""
    chapters = course.chapters()
    for folder in sorted(p for p in course.submitted.glob("*/*") if p.is_dir() and not p.name.startswith(".")):
        if folder.name in chapters:
            yield folder.name, folder.parent.name
        else:
            say(f"Left out: {folder.relative_to(course.root)} (no chapter is called {folder.name!r})")
    for path in sorted(course.submitted.glob("*.ipynb")) + sorted(course.submitted.glob("*/*.ipynb")):
        say(f"Left out: {path.relative_to(course.root)} (expected submitted/<student>/<chapter>/<chapter>.ipynb)")


def _nothing_to_grade(course: Course, chapters: list[str] | None, student: str | None) -> str:
    asked = [f"student {student!r}"] if student else []
    asked += [f"chapter {' or '.join(chapters)}"] if chapters else []
    place = course.submitted.relative_to(course.root)
    return (
        f"No submission to grade{' for ' + ', '.join(asked) if asked else ''} in {place}.\n"
        f"Put each student's notebook at {place}/<student>/<chapter>/<chapter>.ipynb, "
        f"for example {place}/ada/coalescing/coalescing.ipynb.\n"
        'For a zip from a learning platform see "Collect" in autograder/README.md.'
    )


def _grade_one(course: Course, chapter: str, student: str, *, force: bool) -> Outcome:
    try:
        if odd := sorted(set(student) & set("[]*?")):
            raise CourseError(f"nbgrader cannot handle {' '.join(odd)} in a student's name; rename the folder")
        _adopt_renamed(course, chapter, student)
    except CourseError as error:
        return Outcome(chapter, student, "failed", str(error))
    stamp, digest = _stamp(course, chapter, student), _digest(course, chapter, student)
    graded = course.autograded / student / chapter / f"{chapter}.ipynb"
    if not force and graded.exists() and _read(stamp).get("submission") == digest:
        return Outcome(chapter, student, "unchanged")
    stamp.unlink(missing_ok=True)
    try:
        autograde(course, chapter, student)
    except StepError as failure:
        return _failed(course, chapter, student, failure)
    # Written last: a run that is stopped half-way grades this submission again.
    stamp.write_text(json.dumps({"submission": digest}), encoding="utf-8")
    return Outcome(chapter, student, "graded")


def _adopt_renamed(course: Course, chapter: str, student: str) -> None:
    """Give "coalescing (1).ipynb" and "Copy of coalescing.ipynb" the name that nbgrader looks for, as a copy."""
    folder = course.submitted / student / chapter
    wanted = folder / f"{chapter}.ipynb"
    if wanted.exists():
        return
    found = sorted(folder.glob("*.ipynb"))
    renamed = [path for path in found if re.fullmatch(notebook_name_pattern([chapter]), path.name)]
    if len(renamed) != 1:
        names = ", ".join(repr(path.name) for path in found) or "no notebook"
        raise CourseError(f"expected {wanted.name}, found {names}; keep one notebook and give it that name")
    shutil.copyfile(renamed[0], wanted)


def _with_feedback(course: Course, outcomes: list[Outcome]) -> list[Outcome]:
    """Write the feedback of every submission whose marks or comments changed since; what fails at it has failed."""
    rows = {chapter: gradebook_rows(course, chapter) for chapter in {outcome.chapter for outcome in outcomes}}
    marks = {(chapter, row.student): _marks(row) for chapter in rows for row in rows[chapter]}
    done = []
    for outcome in outcomes:
        stamp, mark = _stamp(course, outcome.chapter, outcome.student), marks.get((outcome.chapter, outcome.student))
        page = course.feedback / outcome.student / outcome.chapter / f"{outcome.chapter}.html"
        if outcome.state != "failed" and not (page.exists() and _read(stamp).get("marks") == mark):
            try:
                generate_feedback(course, outcome.chapter, outcome.student)
                stamp.write_text(json.dumps({**_read(stamp), "marks": mark}), encoding="utf-8")
            except StepError as failure:
                outcome = _failed(course, outcome.chapter, outcome.student, failure)
        done.append(outcome)
    return done


def _failed(course: Course, chapter: str, student: str, failure: StepError) -> Outcome:
    log = course.autograded / student / f".{chapter}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(failure.log, encoding="utf-8")
    return Outcome(chapter, student, "failed", _plain(str(failure)), log)


def _marks(row: Submission) -> str:
    return hashlib.sha256(repr((row.scores, row.comments)).encode()).hexdigest()


def _digest(course: Course, chapter: str, student: str) -> str:
    """Changes when the student hands in something else, or when the chapter's master changes."""
    digest = hashlib.sha256(course.notebook(chapter).read_bytes())
    folder = course.submitted / student / chapter
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(f"\0{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _stamp(course: Course, chapter: str, student: str) -> Path:
    """A note beside an autograded submission: what was graded, and which marks its feedback shows."""
    return course.autograded / student / f".{chapter}.json"


def _read(stamp: Path) -> dict[str, str]:
    try:
        note = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _plain(reason: str) -> str:
    for part, words in PLAIN_REASONS:
        if part in reason:
            return words
    return reason
