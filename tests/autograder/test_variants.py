"""Numbers of one's own: everybody gets their row, the notebooks ask for it, and grading knows it."""

from __future__ import annotations

import ast
import hashlib
import hmac
import itertools
import math
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from autograder.cells import Notebook, nbgrader_of, read_notebook, split
from autograder.own_numbers import OwnNumbers
from autograder.personal import personal_folder, personal_release, personalise, with_rows
from autograder.scoring.tasks import tasks_of
from autograder.settings import ROOT, Course, CourseError
from autograder.variants import (
    make_secret,
    other_row_in_words,
    read_secret,
    rows_of,
    secret_path,
    variant_of,
    varying,
)
from course import check
from course.checks import find
from course.checks.registry import CHAPTERS, answers_another_row
from tests.support.variant_answers import ROWS, TABLES, question, right

SECRET = b"a secret of at least thirty-two letters"


@pytest.fixture(scope="module")
def notebooks() -> dict[str, tuple[Notebook, Notebook]]:
    """Chapter -> master and released notebook."""
    folders = (ROOT / "source", ROOT / "release")
    return {c: tuple(read_notebook(f / c / f"{c}.ipynb") for f in folders) for c in CHAPTERS}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """The masters and the release of this repository, with students and a secret of its own."""
    for name in ("source", "release"):
        (tmp_path / name).symlink_to(ROOT / name, target_is_directory=True)
    course = Course(tmp_path)
    secret_path(course).parent.mkdir()
    secret_path(course).write_bytes(SECRET + b"\n")
    return course


# Which student gets which row


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_spread_evenly_over_students(name: str) -> None:
    rows, students = len(TABLES[name]), 1000
    drawn = Counter(variant_of(SECRET, f"student{n}", name, rows) for n in range(students))
    assert sorted(drawn) == list(range(rows))
    # Five standard deviations; the ids are fixed, so this passes always or never.
    spread = 5 * math.sqrt(students / rows * (1 - 1 / rows))
    assert all(abs(count - students / rows) < spread for count in drawn.values()), drawn


def test_a_student_keeps_their_row_and_another_secret_deals_anew() -> None:
    ids = [f"student{n}" for n in range(200)]
    first = [variant_of(SECRET, student, "coalescing/q1", 8) for student in ids]
    assert first == [variant_of(bytes(SECRET), student, "coalescing/q1", 8) for student in ids]
    for other in (
        [variant_of(SECRET + b"!", student, "coalescing/q1", 8) for student in ids],
        [variant_of(SECRET, student, "tiling/q5", 8) for student in ids],
    ):
        assert sum(a == b for a, b in zip(first, other, strict=True)) < 60


def test_the_draw_is_the_one_that_is_written_down() -> None:
    digest = hmac.new(SECRET, "coalescing/q1\0Zoë".encode(), hashlib.sha256).hexdigest()
    assert variant_of(SECRET, "Zoë", "coalescing/q1", 8) == int(digest, 16) % 8
    assert variant_of(SECRET, "Zoe\u0308", "coalescing/q1", 1000) == variant_of(SECRET, "Zoë", "coalescing/q1", 1000)
    assert variant_of(b"k" * 32, "ada", "coalescing/q1", 1000) == 540


def test_without_a_secret_everybody_has_the_published_numbers(tmp_path: Path) -> None:
    course = Course(tmp_path)
    assert read_secret(course) is None
    assert rows_of(read_secret(course), "ada", "coalescing") == {}
    path = make_secret(course)
    secret = read_secret(course)
    assert secret and make_secret(course) == path and read_secret(course) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert rows_of(secret, "ada", "coalescing").keys() == {"coalescing/q1", "coalescing/q8"}
    path.write_text("short")
    with pytest.raises(CourseError, match="holds 5 characters: expected at least 32"):
        read_secret(course)


def test_git_never_sees_the_secret_and_what_is_made_of_it() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    course = Course(ROOT)
    assert f"/{secret_path(course).relative_to(ROOT).as_posix()}" in ignored
    assert f"/{personal_folder(course).relative_to(ROOT).as_posix()}/" in ignored


# An answer to somebody else's numbers


@pytest.mark.parametrize("name", TABLES)
def test_an_answer_to_another_row_is_recognised(name: str) -> None:
    last = len(TABLES[name]) - 1
    assert answers_another_row(name, 1, right(name, last)) == last
    assert answers_another_row(name, 1, right(name, 0)) == 0
    assert answers_another_row(name, 1, right(name, 1)) is None
    assert f"somebody else (variant {last})" in other_row_in_words(last)
    assert "the published numbers" in other_row_in_words(0)


@pytest.mark.parametrize("value", [None, {}, 7, {"sectors": 32}, {"sectors": "?"}])
def test_an_answer_that_is_right_nowhere_belongs_to_nobody(value: object) -> None:
    assert answers_another_row("coalescing/q1", 2, value) is None


def test_a_question_without_variants_has_no_other_row() -> None:
    assert answers_another_row("coalescing/q4", 0, {"misaligned_by": 8}) is None


# The notebooks


def _run(source: str, **names: Any) -> Any:
    """The value of a cell's last line."""
    body = ast.parse(source).body
    last = body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def _test_cells(notebook: Notebook) -> dict[str, Notebook]:
    return {
        nbgrader_of(c)["grade_id"]: c for c in notebook.cells if nbgrader_of(c).get("grade") and c.cell_type == "code"
    }


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_personal_notebook_asks_for_its_row_and_gives_its_points(
    notebooks: dict[str, tuple[Notebook, Notebook]], name: str, row: int
) -> None:
    chapter, _, task = name.partition("/")
    for published in notebooks[chapter]:
        personal = personalise(published, {name: row})
        cell = _test_cells(personal)[task]
        answer = next(c for c in personal.cells if nbgrader_of(c).get("grade_id") == f"{task}-answer")
        placeholder = answer.source.split("\n")[0]
        variable = placeholder.partition(" = ")[0]
        assert eval(placeholder.partition(" = ")[2]) == dict.fromkeys(right(name, row))
        parts = split(cell.source)
        assert _run(parts.visible, check=check, **{variable: right(name, row)}).right
        if parts.hidden:
            points = _run(parts.hidden, **{variable: right(name, row)})
            assert points == nbgrader_of(cell)["points"]
        if row:
            texts = [c.source for c in personal.cells if c.cell_type == "markdown"]
            assert [question(name, row).markdown in text for text in texts].count(True) == 1
            assert parts.visible.rstrip().endswith(f", variant={row})")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_personal_notebook_changes_three_cells_for_each_question_and_nothing_else(
    notebooks: dict[str, tuple[Notebook, Notebook]], chapter: str
) -> None:
    _, published = notebooks[chapter]
    rows = dict.fromkeys(varying(chapter), 3)
    before = published.copy()
    personal = personalise(published, rows)
    assert published == before
    assert [cell.id for cell in personal.cells] == [cell.id for cell in published.cells]
    assert [cell.metadata for cell in personal.cells] == [cell.metadata for cell in published.cells]
    changed = [new.source for new, old in zip(personal.cells, published.cells, strict=True) if new.source != old.source]
    renamed = sum(list(question(name, 3).keys) != list(find(name).keys) for name in rows)
    assert len(changed) == 2 * len(rows) + renamed
    for text in changed:
        if text.startswith("#"):
            assert re.match(
                r"(## Quiz\n\n)?### (\w+ · Your own numbers|Exercise: [a-z ]+) \(\d( \+ \d)? points\)\n\n\S", text
            )
    assert personalise(published, dict.fromkeys(rows, 0)) == published
    assert personalise(published, {}) == published


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_tasks_of_a_personal_master_carry_the_rows(
    notebooks: dict[str, tuple[Notebook, Notebook]], chapter: str
) -> None:
    rows = dict.fromkeys(varying(chapter), 2)
    tasks = tasks_of(personalise(notebooks[chapter][0], rows))
    assert {task.check: task.variant for task in tasks} == {task.check: rows.get(task.check, 0) for task in tasks}
    assert [task.grade_id for task in tasks] == [task.grade_id for task in tasks_of(notebooks[chapter][0])]


def test_a_call_is_rewritten_whatever_variant_it_named_and_no_other_call_is() -> None:
    rows = {"coalescing/q1": 3, "coalescing/q8": 0}
    wanted = 'check("coalescing/q1", q1, variant=3)'
    for source in ('check("coalescing/q1", q1)', wanted, 'check("coalescing/q1", q1, variant=7)  # mine'):
        assert with_rows(source, rows).startswith(wanted)
    assert with_rows('check("coalescing/q8", q8, variant=2)', rows) == 'check("coalescing/q8", q8)'
    assert with_rows('grade("coalescing/q1", q1)', {}) == 'grade("coalescing/q1", q1)'
    kept = 'grade("coalescing/sectors", sectors, seed=seed("coalescing/sectors"))'
    assert with_rows(kept, rows) == kept


def test_grading_asks_for_the_row_of_the_student_and_not_for_the_one_in_the_notebook(
    course: Course, notebooks: dict[str, tuple[Notebook, Notebook]]
) -> None:
    master, _ = notebooks["coalescing"]
    step = OwnNumbers(root=str(course.root))
    for student in ("ada", "bob", "cleo"):
        row = variant_of(SECRET, student, "coalescing/q1", 8)
        submitted = personalise(master, {"coalescing/q1": (row + 1) % 8})
        resources = {"nbgrader": {"student": student, "assignment": "coalescing"}}
        graded, _ = step(submitted, resources)
        cell = split(_test_cells(graded)["q1"].source).hidden
        assert _run(cell, q1=right("coalescing/q1", row)) == 5.0
        assert _run(cell, q1=right("coalescing/q1", (row + 1) % 8)) < 5.0


def test_grading_changes_nothing_without_a_secret(
    tmp_path: Path, notebooks: dict[str, tuple[Notebook, Notebook]]
) -> None:
    master = personalise(notebooks["tiling"][0], {})
    resources = {"nbgrader": {"student": "ada", "assignment": "tiling"}}
    assert OwnNumbers(root=str(tmp_path)).preprocess(master, resources)[0] == notebooks["tiling"][0]


def test_personal_notebooks_are_written_for_every_student(course: Course) -> None:
    said: list[str] = []
    assert personal_release(course, ["ada", "bob", "ada "], said.append) == 2 * len(CHAPTERS)
    assert said == [f"{student}: {', '.join(sorted(CHAPTERS))}" for student in ("ada", "bob")]
    for student, chapter in itertools.product(("ada", "bob"), CHAPTERS):
        folder = personal_folder(course) / student / chapter
        assert [path.name for path in folder.iterdir()] == [f"{chapter}.ipynb"]
        written = (folder / f"{chapter}.ipynb").read_text(encoding="utf-8")
        for name, row in rows_of(SECRET, student, chapter).items():
            assert re.findall(rf'check\(\\"{name}\\", \w+(?:, variant=(\d+))?\)', written) == [str(row) if row else ""]
        assert "BEGIN" not in written and SECRET.decode() not in written


@pytest.mark.parametrize("student", ["", "..", "a/b", "a\\b", "a*", "a\nb"])
def test_a_name_that_is_no_folder_gets_no_notebook(course: Course, student: str) -> None:
    with pytest.raises(CourseError, match="is no student id: expected a name that a folder can have"):
        personal_release(course, ["ada", student], lambda _: None)
    assert not personal_folder(course).exists()


def test_there_are_no_personal_notebooks_without_a_secret_or_a_release(course: Course, tmp_path: Path) -> None:
    (tmp_path / "release").unlink()
    with pytest.raises(CourseError, match="run `python -m autograder release` first"):
        personal_release(course, ["ada"], lambda _: None)
    secret_path(course).unlink()
    with pytest.raises(CourseError, match="expected a file with a secret"):
        personal_release(course, ["ada"], lambda _: None)
