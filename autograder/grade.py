"""Grade what students handed in: repair, run and score each submission, record it, write feedback."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from autograder import backup, pool
from autograder.cells import Notebook, read_notebook
from autograder.feedback import without_scripts
from autograder.late import assign_penalties
from autograder.middle import Done, Job, run
from autograder.nbgrader_runs import StepError, generate_feedback
from autograder.personal import personalise
from autograder.preflight import Prepared, look_over
from autograder.record import record, sanitise
from autograder.records import Flag, Record, flags, read_record, write_record
from autograder.release import register
from autograder.report import Submission, gradebook_rows
from autograder.sandbox.bubblewrap import UNPROTECTED, available
from autograder.sandbox.limits import Limits
from autograder.scoring.tasks import Task, tasks_of
from autograder.settings import Course, CourseError
from autograder.variants import read_secret, rows_of
from autograder.writing import write

if TYPE_CHECKING:
    from autograder.pool import Executors

__all__ = ["How", "Outcome", "grade", "handed_in"]

Say = Callable[[str], None]


@dataclass(frozen=True)
class How:
    """How to grade."""

    force: bool = False
    """Also what was graded before and did not change."""
    sandboxed: bool = True
    """False runs the students' programs with the grader's own rights."""
    workers: int = 0
    """Processes on this machine; 0 is one for each processor."""
    scheduler: str = ""
    """Address of a Dask scheduler whose workers run the notebooks; "" is this machine."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Outcome:
    """What became of one submission: graded, unchanged since last time, or failed for a reason."""

    chapter: str
    student: str
    state: str
    """"graded", "unchanged" or "failed"."""
    reason: str = ""
    flagged: int = 0
    """Things that a person should look at."""


def grade(
    course: Course,
    say: Say,
    *,
    chapters: list[str] | None = None,
    student: str | None = None,
    how: How = How(),
) -> list[Outcome]:
    """Grade every submission that is new or changed, and bring its feedback up to date.

    chapters, student: only these; None means all. A submission that cannot be graded never stops the others. Scores and
    comments that a person gave are kept. Raises CourseError when there is nothing to grade, when a chapter does not
    fit the gradebook, when another process grades this course, or when there is no sandbox and `how` wants one.
    """
    if how.sandboxed and (why := available()):
        raise CourseError(f"Nothing was graded: {why}.\n\n{UNPROTECTED}\nTo grade all the same, add --without-sandbox.")
    with backup.only_one(course):
        work = [
            (chapter, name)
            for chapter, name in handed_in(course, say)
            if (chapters is None or chapter in chapters) and student in (None, name)
        ]
        if not work:
            raise CourseError(_nothing_to_grade(course, chapters, student))
        backup.back_up(course)
        chapters_of = {chapter: _chapter(course, chapter) for chapter in sorted({chapter for chapter, _ in work})}
        return _Run(course, say, how, chapters_of).grade(work)


def handed_in(course: Course, say: Say) -> Iterator[tuple[str, str]]:
    """(chapter, student) of every folder submitted/<student>/<chapter>/; what does not fit is said, not graded."""
    chapters = course.chapters()
    for folder in sorted(p for p in course.submitted.glob("*/*") if p.is_dir() and not p.name.startswith(".")):
        if folder.is_symlink() or folder.parent.is_symlink():
            say(f"Left out: {folder.relative_to(course.root)} (a link to another folder; put the folder itself there)")
        elif folder.name in chapters:
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


@dataclass(frozen=True)
class _Chapter:
    """What all submissions of a chapter have in common."""

    master: Notebook
    released: Notebook
    tasks: tuple[Task, ...]
    digest: bytes


def _chapter(course: Course, chapter: str) -> _Chapter:
    master = course.notebook(chapter)
    notebook = read_notebook(master)
    released = register(course, chapter)
    return _Chapter(notebook, released, tasks_of(notebook), hashlib.sha256(master.read_bytes()).digest())


class _Run:
    """One grading run. Only this process writes to the gradebook; others run the notebooks."""

    def __init__(self, course: Course, say: Say, how: How, chapters: Mapping[str, _Chapter]) -> None:
        self.course, self.say, self.how, self.chapters = course, say, how, chapters
        self.workers = how.workers or pool.cores()
        self.begun: dict[tuple[str, str], tuple[str, Prepared]] = {}
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self.secret = read_secret(course)
        self.start = time.perf_counter()
        self.worked = 0

    def grade(self, work: list[tuple[str, str]]) -> list[Outcome]:
        self.total = len(work)
        with pool.kept(pool.here(self.course.root, self.workers)) as here:
            executors: Executors = pool.on_cluster(self.how.scheduler) if self.how.scheduler else here
            # Two waiting jobs for each worker: none is idle while this process records, and memory stays flat.
            waiting = 3 * (self.workers if not self.how.scheduler else pool.CLUSTER_WAITING)
            for job, done in pool.results(executors, run, self._jobs(work), waiting):
                digest, prepared = self.begun.pop((job.chapter, job.student))
                self._ended(self._recorded(job, done, digest, prepared))
            self._feedback(work, here)
        return [self.outcomes[item] for item in work]

    def _ended(self, outcome: Outcome) -> None:
        self.outcomes[outcome.chapter, outcome.student] = outcome
        ended = len(self.outcomes)
        self.worked += outcome.state != "unchanged"
        seconds = time.perf_counter() - self.start
        left = seconds / max(self.worked, 1) * (self.total - ended)
        flagged = f", {outcome.flagged} to look at" if outcome.flagged else ""
        rest = f" (about {left / 60:.0f} min left)" if left > 90 else ""
        self.say(f"[{ended}/{self.total}] {outcome.chapter} / {outcome.student}: {outcome.state}{flagged}{rest}")

    def _jobs(self, work: list[tuple[str, str]]) -> Iterator[Job]:
        """Submissions that have to run; what becomes of the others is known at once."""
        for chapter, student in work:
            digest = self._digest(chapter, student)
            if not self.how.force and self._is_graded(chapter, student, digest):
                self._ended(Outcome(chapter, student, "unchanged"))
                continue
            self.course.record(student, chapter).unlink(missing_ok=True)
            try:
                prepared, notebook = self._prepared(chapter, student)
            except (CourseError, StepError) as error:
                self._ended(self._failed(chapter, student, digest, str(error)))
                continue
            self.begun[chapter, student] = digest, prepared
            tasks = self._own(chapter, student).tasks
            yield Job(chapter, student, notebook, tasks, self.how.limits, self.how.sandboxed)

    def _prepared(self, chapter: str, student: str) -> tuple[Prepared, bytes]:
        if odd := sorted({c for c in student if c in "[]*?" or not c.isprintable()}):
            raise CourseError(
                f"nbgrader cannot handle {' '.join(map(repr, odd))} in a student's name; rename the folder"
            )
        own = self._own(chapter, student)
        prepared = look_over(self.course.submitted / student / chapter, chapter, own.master, own.released)
        if prepared.notebook is None:
            raise CourseError(prepared.problem)
        return prepared, sanitise(self.course, chapter, student, prepared.notebook)

    def _own(self, chapter: str, student: str) -> _Chapter:
        """The chapter as this student has it: with numbers of their own, where variants are on."""
        common = self.chapters[chapter]
        rows = rows_of(self.secret, student, chapter)
        if not rows:
            return common
        master, released = personalise(common.master, rows), personalise(common.released, rows)
        return _Chapter(master, released, tasks_of(master), common.digest)

    def _recorded(self, job: Job, done: Done | Exception, digest: str, prepared: Prepared) -> Outcome:
        if isinstance(done, Exception):
            return self._failed(job.chapter, job.student, digest, str(done) or type(done).__name__)
        try:
            own = record(self.course, job.chapter, job.student, done.notebook, done.scores, prepared.timestamp)
        except StepError as error:
            return self._failed(job.chapter, job.student, digest, str(error))
        found = (
            *(Flag(*flag) for flag in prepared.flags),
            *flags(done.problem, done.scores, own, variants=bool(self.secret)),
        )
        kept = Record(
            job.student,
            job.chapter,
            digest,
            "graded",
            repairs=prepared.repairs,
            seconds=round(done.seconds, 2),
            graded_at=_now(),
            flags=tuple(found),
            scores=done.scores,
        )
        write_record(self.course, kept)
        return Outcome(job.chapter, job.student, "graded", flagged=len(found))

    def _failed(self, chapter: str, student: str, digest: str, reason: str) -> Outcome:
        write_record(self.course, Record(student, chapter, digest, "failed", reason, graded_at=_now()))
        return Outcome(chapter, student, "failed", reason)

    def _feedback(self, work: list[tuple[str, str]], here: Executors) -> None:
        """Write the feedback of every submission whose marks or comments changed since; what fails at it has failed."""
        stale = list(self._without_feedback(work))
        write_one = functools.partial(write_feedback, self.course, self.how.limits.feedback_seconds)
        for (chapter, student, mark), error in pool.results(here, write_one, stale, 3 * self.workers):
            kept = read_record(self.course, student, chapter)
            if isinstance(error, Exception):
                self.outcomes[chapter, student] = Outcome(chapter, student, "failed", f"no feedback: {error}")
            elif kept is not None:
                write_record(self.course, replace(kept, feedback=mark))

    def _without_feedback(self, work: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
        for chapter in self.chapters:
            assign_penalties(self.course, chapter)
        rows = {chapter: gradebook_rows(self.course, chapter) for chapter in {chapter for chapter, _ in work}}
        marks = {(chapter, row.student): _marks(row) for chapter in rows for row in rows[chapter]}
        for chapter, student in work:
            kept, mark = read_record(self.course, student, chapter), marks.get((chapter, student), "")
            if self.outcomes[chapter, student].state == "failed" or kept is None:
                continue
            page = self.course.feedback / student / chapter / f"{chapter}.html"
            if kept.feedback != mark or not page.exists():
                yield chapter, student, mark

    def _is_graded(self, chapter: str, student: str, digest: str) -> bool:
        kept = read_record(self.course, student, chapter)
        graded = self.course.autograded / student / chapter / f"{chapter}.ipynb"
        return kept is not None and kept.state == "graded" and kept.submission == digest and graded.exists()

    def _digest(self, chapter: str, student: str) -> str:
        """Changes when the student hands in something else, or when the chapter's master changes."""
        digest = hashlib.sha256(self.chapters[chapter].digest)
        digest.update(repr(sorted(rows_of(self.secret, student, chapter).items())).encode())
        folder = self.course.submitted / student / chapter
        for path in sorted(folder.rglob("*")):
            # A pipe would never end, and a link may lead anywhere.
            if path.is_file() and not path.is_symlink():
                digest.update(f"\0{path.relative_to(folder).as_posix()}\0".encode("utf-8", "surrogateescape"))
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


FROM_EXCHANGE = ("timestamp.txt", "submission_secret.txt")
"""nbgrader's exchange needs these beside the feedback that it returns."""
MOST_BYTES = 4096
"""Of each of them: they come from the student."""


def write_feedback(course: Course, seconds: float, item: tuple[str, str, str]) -> None:
    """Write one page of feedback; runs in a worker, which ends when it takes longer."""
    chapter, student, _ = item
    with pool.at_most(seconds):
        generate_feedback(course, chapter, student)
    page = course.feedback / student / chapter / f"{chapter}.html"
    write(page, without_scripts(page.read_text(encoding="utf-8")).encode())
    for name in FROM_EXCHANGE:
        kept = course.submitted / student / chapter / name
        if kept.is_file() and not kept.is_symlink() and kept.stat().st_size <= MOST_BYTES:
            write(page.with_name(name), kept.read_bytes())


def _marks(row: Submission) -> str:
    return hashlib.sha256(repr((row.scores, row.comments, row.penalty)).encode()).hexdigest()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
