"""The way from source to grades in about a minute, with four sample students and a gradebook of its own."""

from __future__ import annotations

from dataclasses import replace

from nbgrader.utils import rmtree

from autograder import half_right
from autograder.cells import grade_ids, read_notebook
from autograder.grade import How, Outcome, Say, grade
from autograder.release import build_release
from autograder.report import gradebook_rows, table
from autograder.samples import write_samples
from autograder.sandbox.bubblewrap import available
from autograder.settings import Course, CourseError
from course.checks.registry import CHAPTERS

__all__ = ["AREA", "demo", "demo_course"]

AREA = "autograder/demo"
"""Everything the demo writes; the real gradebook and real submissions are elsewhere."""


def demo_course(course: Course) -> Course:
    """The same source/, but with release/, submissions and gradebook inside autograder/demo/."""
    return replace(course, area=AREA, release_folder=f"{AREA}/release")


def demo(course: Course, say: Say, chapters: list[str] | None = None) -> None:
    """Release, hand in, autograde, write feedback, show the marks. Raises CourseError when a mark is not as it must be.

    chapters: those that the sample students hand in; None takes the first one of the course, which needs a minute.
    What an earlier demo left is removed first.
    """
    chapters = chapters or [CHAPTERS[0]]
    if unknown := sorted(name for name in chapters if not half_right.answers(name)):
        raise CourseError(f"no sample answers for {', '.join(unknown)}: expected some of {', '.join(CHAPTERS)}")
    course = demo_course(course)
    if (course.root / AREA).exists():
        rmtree(course.root / AREA)
    say("1. Release: source/ -> students' notebooks, without solutions and hidden tests")
    build_release(course)
    say("2. Hand in: four sample students, made from the master notebook")
    for chapter in chapters:
        write_samples(course, chapter)
    say("3. Autograde: every notebook runs from top to bottom, marks go to SQLite, feedback is written")
    # The samples are our own: without a sandbox they may run as they are.
    outcomes = grade(course, say, how=How(sandboxed=not available()))
    say("4. Marks")
    for chapter in chapters:
        say("\n" + table(course, chapter) + "\n")
    say(f"Feedback for students: {AREA}/feedback/<student>/<chapter>/<chapter>.html\nGradebook: {AREA}/gradebook.db")
    problems = _failures(outcomes) + [problem for chapter in chapters for problem in _surprises(course, chapter)]
    if problems:
        raise CourseError("The demo ran, but these marks are wrong:\n" + "\n".join(problems))


def _failures(outcomes: list[Outcome]) -> list[str]:
    return [f"{o.chapter} / {o.student}: not graded: {o.reason}" for o in outcomes if o.state == "failed"]


def _surprises(course: Course, chapter: str) -> list[str]:
    """A master that misses its own marks, or an untouched notebook that earns some."""
    rows = {row.student: row for row in gradebook_rows(course, chapter)}
    points = grade_ids(read_notebook(course.notebook(chapter)))
    found = []
    for name, score in rows["perfect"].scores.items():
        if name not in rows["perfect"].waiting and score != points[name]:
            found.append(f"{chapter}: the master's own answer to {name} gets {score:g} of {points[name]:g} points")
    found += [
        f"{chapter}: {name} gives {score:g} points to a notebook that nobody touched"
        for name, score in rows["untouched"].scores.items()
        if score
    ]
    return found
