"""Notebooks with a student's own numbers: the same cells, other texts and calls where a question's numbers vary."""

from __future__ import annotations

import copy
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import nbformat

from autograder.cells import Notebook, nbgrader_of, read_notebook
from autograder.settings import Course, CourseError
from autograder.variants import read_secret, rows_of, secret_path, varying
from course.checks.question import Question
from course.checks.registry import find

__all__ = ["personal_folder", "personal_release", "personalise", "with_rows"]

CALL = re.compile(r'^(check|grade)\("([^"]+)", ([^()]*?)(?:, variant=\w+)?\)(?=\s*(?:#.*)?$)', re.MULTILINE)
"""The line that asks for a verdict in a test cell, visible or hidden."""
HEADINGS = re.compile(r"(?:#.*\n|\n)*")
"""Where a text cell begins: its headings, and the blank lines between them."""
TITLE = re.compile(r"· .+?(?=( \([^()]*\))?$)", re.MULTILINE)
"""What a question is called, in "### Q1 · One element in eight (5 points)": it may name a number."""


def personal_folder(course: Course) -> Path:
    """Where personal notebooks are written: <student>/<chapter>/<chapter>.ipynb."""
    return course.root / course.area / "personal"


def personal_release(course: Course, students: Iterable[str], say: Callable[[str], None]) -> int:
    """Write the notebooks of these students, made from release/. Returns how many notebooks were written.

    Only chapters with a question whose numbers vary are written; of the others, everybody gets the released notebook.
    Raises CourseError without a secret, for an id that is no name of a folder, and when there is no release.
    """
    secret = read_secret(course)
    if secret is None:
        raise CourseError(
            f"No numbers of their own without {secret_path(course)}: expected a file with a secret. Make one first"
        )
    ids = list(dict.fromkeys(student.strip() for student in students))
    if odd := [student for student in ids if not _is_folder_name(student)]:
        raise CourseError(f"{odd[0]!r} is no student id: expected a name that a folder can have, as in submitted/<id>/")
    chapters = [chapter for chapter in course.chapters() if varying(chapter)]
    released = {chapter: _released(course, chapter) for chapter in chapters}
    for student in ids:
        for chapter, notebook in released.items():
            target = personal_folder(course) / student / chapter
            shutil.copytree(course.release / chapter, target, dirs_exist_ok=True)
            _write(personalise(notebook, rows_of(secret, student, chapter)), target / f"{chapter}.ipynb")
        say(f"{student}: {', '.join(chapters)}")
    return len(ids) * len(chapters)


def personalise(notebook: Notebook, rows: Mapping[str, int]) -> Notebook:
    """A copy of a released (or master) notebook with the statements, placeholders and calls of these rows.

    rows: check -> row. Cells, their ids and nbgrader's metadata stay as they are; with row 0 everywhere, so does all.
    """
    personal = copy.deepcopy(notebook)
    answers = {nbgrader_of(cell)["grade_id"]: cell for cell in personal.cells if nbgrader_of(cell).get("solution")}
    statement = None
    for cell in personal.cells:
        if cell.cell_type == "markdown":
            statement = cell
        elif name := _asked(cell, rows):
            question = find(name, rows[name])
            assert isinstance(question, Question) and statement is not None
            statement.source = _statement(statement.source, question)
            answer = answers[nbgrader_of(cell)["grade_id"] + "-answer"]
            answer.source = _placeholder(answer.source, question)
            cell.source = with_rows(cell.source, rows)
    return personal


def with_rows(source: str, rows: Mapping[str, int]) -> str:
    """A test cell whose `check` and `grade` ask for these rows, whatever variant the text named before.

    This is what grading does to the master's test cell before a student's notebook runs.
    """

    def call(found: re.Match[str]) -> str:
        function, name, value = found.groups()
        row = rows.get(name, 0)
        return f'{function}("{name}", {value}{f", variant={row}" if row else ""})'

    return CALL.sub(call, source)


def _asked(cell: Notebook, rows: Mapping[str, int]) -> str:
    """The varying question that a test cell asks, when its row is not the published one; "" for every other cell."""
    if not nbgrader_of(cell).get("grade"):
        return ""
    return next((name for _, name, _ in CALL.findall(cell.source) if rows.get(name)), "")


def _statement(published: str, question: Question) -> str:
    """The text above a question, with the question's own numbers."""
    found = HEADINGS.match(published)
    headings = found.group().rstrip() if found else ""
    return f"{TITLE.sub('· Your own numbers', headings)}\n\n{question.markdown}"


def _placeholder(answer: str, question: Question) -> str:
    """The answer cell, with the keys of this question: a key may name a number, such as `degree_36`."""
    published = find(question.name)
    for old, new in zip(published.keys, question.keys, strict=True):
        answer = re.sub(rf"\b{old}=", f"{new}=", answer)
    return answer


def _is_folder_name(student: str) -> bool:
    return student not in ("", ".", "..") and not re.search(r'[/\\:*?"<>|\[\]\0-\x1f]', student)


def _released(course: Course, chapter: str) -> Notebook:
    path = course.release / chapter / f"{chapter}.ipynb"
    if not path.is_file():
        raise CourseError(f"{path} is not there: run `python -m autograder release` first")
    return read_notebook(path)


def _write(notebook: Notebook, path: Path) -> None:
    """Replace the file at once: whoever hands notebooks out never sees half of one."""
    new = path.with_suffix(f".{os.getpid()}.new")
    nbformat.write(notebook, new)
    new.replace(path)
