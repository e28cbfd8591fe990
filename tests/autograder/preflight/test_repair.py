"""Preflight: a damaged notebook is repaired with every answer kept, and what is not certain is reported."""

from __future__ import annotations

import nbformat
import pytest

from autograder.cells import nbgrader_of, read_notebook
from autograder.preflight import look_over
from tests.autograder.preflight.cases import (
    CHAPTERS,
    COURSE,
    MASTER,
    PERFECT,
    RELEASED,
    Damage,
    answer_in_test,
    answers,
    assert_gradable,
    cells_of,
    colab,
    copied,
    each,
    format_3,
    in_new_cell,
    looked_over,
    mark,
    mark_is,
    moved,
    own,
    place_of,
    raw,
    remove,
    strip_all,
    strip_marks,
    submit,
    swapped,
    the,
)

# --- what must not change -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", sorted(p.parent.name for p in COURSE.release.glob("*/*.ipynb")))
def test_an_untouched_release_comes_out_as_it_is(chapter, tmp_path):
    master, released = (
        read_notebook(COURSE.notebook(chapter)),
        read_notebook(COURSE.release / chapter / f"{chapter}.ipynb"),
    )
    place = submit(tmp_path, chapter, {f"{chapter}.ipynb": nbformat.writes(released).encode()})
    prepared = look_over(place, chapter, master, released)
    assert (prepared.repairs, prepared.problem, prepared.flags, prepared.timestamp) == ((), "", (), "")
    assert nbformat.reads(prepared.notebook.decode(), as_version=4) == released


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_jupyter_saves_after_a_run_needs_no_repair(chapter):
    notebook = raw(PERFECT[chapter])
    notebook["metadata"].update(widgets={"application/vnd.jupyter.widget-state+json": {"state": {}}})
    notebook["metadata"]["language_info"].update(version="3.12.1", file_extension=".py")
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"]["scrolled"] = True
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]
    prepared = looked_over(notebook, chapter)
    assert (prepared.repairs, prepared.problem, prepared.flags) == ((), "", ())
    assert nbformat.reads(prepared.notebook.decode(), as_version=4) == PERFECT[chapter]


def test_the_submitted_folder_is_not_changed(tmp_path):
    place = submit(
        tmp_path, "coalescing", {"coalescing (1).ipynb": b"{}", "numpy.py": b"1/0", "timestamp.txt": b"soon"}
    )
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in place.iterdir()}
    look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in place.iterdir()} == before


# --- damage to the notebook that is repaired, with no answer changed ------------------------------------------------

REPAIRABLE: dict[str, tuple[Damage, str]] = {
    "marks stripped": (strip_marks, "recognised by its id: sectors-answer"),
    "as Colab saves it": (colab, "recognised by its id: sectors-answer"),
    "marks and ids stripped: code": (strip_all, "recognised by what it defines: sectors-answer"),
    "marks and ids stripped: tests": (strip_all, "recognised by its text: sectors"),
    "marks and ids stripped: written": (strip_all, "recognised by its place: q4-why"),
    "metadata null": (lambda n: each(n, lambda cell: cell.update(metadata=None)), "recognised by its id"),
    "metadata a list": (lambda n: each(n, lambda cell: cell.update(metadata=[1])), "recognised by its id"),
    "mark a string": (lambda n: mark_is(n, "q1", "nbgrader"), "recognised by its id: q1"),
    "grade_id a list": (lambda n: mark(n, "q1", grade_id=["q1"]), "recognised by its id: q1"),
    "ids invalid": (lambda n: each(n, lambda c: c.update(id="no id!")), ""),
    "all ids equal": (lambda n: each(n, lambda c: c.update(id="same")), ""),
    "ids of another type": (lambda n: each(n, lambda c: c.update(id=7)), ""),
    "schema_version 99": (lambda n: mark(n, "q1", schema_version=99), "q1 (schema_version)"),
    "schema_version 1": (lambda n: mark(n, "q1", schema_version=1), "q1 (schema_version)"),
    "points edited": (lambda n: mark(n, "q1", points=100), "q1 (points)"),
    "flags edited": (lambda n: mark(n, "q1-answer", grade=True, locked=True), "q1-answer (grade, locked)"),
    "unknown grade_id": (lambda n: the(n, "title")["metadata"].update(nbgrader={"grade_id": "q99"}), "removed: 'q99'"),
    "answer copied": (lambda n: copied(n, "q1-answer"), "second copy of a cell was left out: q1-answer"),
    "test copied": (lambda n: copied(n, "q1"), "second copy of a cell was left out: q1"),
    "test copied and changed": (
        lambda n: copied(n, "q1", "print(q1)"),
        "changed copy of a test cell lost its mark: q1",
    ),
    "answer beside its placeholder": (
        lambda n: copied(n, "q1-answer", "".join(the(raw(RELEASED["short"]), "q1-answer")["source"])),
        "second copy of a cell was left out: q1-answer",
    ),
    "cell split in two": (
        lambda n: copied(n, "sectors-answer", "import math", place_of(n, "sectors-answer")),
        "the one that defines it is the answer, the others stay beside it: sectors-answer",
    ),
    "marks swapped": (
        lambda n: swapped(n, "q1-answer", "q4-answer"),
        "nbgrader's mark stood on a cell that answers another question",
    ),
    "mark and id disagree": (lambda n: mark(n, "q1-answer", grade_id="q1"), ""),
    "answer in a new cell": (
        lambda n: in_new_cell(n, "q1-answer"),
        "copied into its answer cell: q1-answer (from cell",
    ),
    "answer in a new cell far above": (lambda n: in_new_cell(n, "scale-answer", 3), "scale-answer (from cell 4)"),
    "answer in the test cell": (
        answer_in_test,
        "stood in the test cell; it was copied into its answer cell: q1-answer",
    ),
    "written answer in a new cell": (
        lambda n: in_new_cell(n, "q4-why"),
        "stood beside its cell; it was copied into it: q4-why",
    ),
    "test changed": (lambda n: the(n, "q1").update(source="6"), "a test cell was changed; the original was used: q1"),
    "test became text": (
        lambda n: the(n, "q1").update(cell_type="markdown"),
        "changed its type, which was restored: q1",
    ),
    "answer became text": (lambda n: the(n, "q1-answer").update(cell_type="markdown"), "was restored: q1-answer"),
    "written answer became code": (lambda n: the(n, "q4-why").update(cell_type="code"), "was restored: q4-why"),
    "tests deleted": (lambda n: remove(n, "q1", "scale"), "a test cell was missing; it was put back: scale, q1"),
    "imports deleted": (lambda n: remove(n, "setup"), "need was missing; it was put back: setup"),
    "imports emptied": (lambda n: the(n, "setup").update(source=""), "need was missing; it was put back: setup"),
    "imports broken": (lambda n: the(n, "setup").update(source="import np as"), "it was put back: setup"),
    "imports moved to the end": (
        lambda n: moved(n, "setup", len(n["cells"]) - 1),
        "stood behind one of them; it was moved up: setup",
    ),
    "test before its answer": (lambda n: moved(n, "q1", 3), "stood before its answer; it was moved behind it: q1"),
    "order reversed": (lambda n: n["cells"].reverse(), "stood before its answer; it was moved behind it: sectors"),
    "format 3": (format_3, "the notebook's format was '3'"),
    "format 5": (lambda n: n.update(nbformat=5), "the notebook's format was '5'"),
    "format 99": (lambda n: n.update(nbformat=99, nbformat_minor=99), "the notebook's format was '99'"),
    "format missing": (lambda n: n.pop("nbformat"), "the notebook's format was 'None'"),
    "another language": (
        lambda n: n["metadata"].update(kernelspec={"name": "julia-1.10", "language": "julia"}),
        "another language than Python; Python was used: 'julia'",
    ),
    "unknown kernel": (lambda n: n["metadata"].update(kernelspec={"name": "gone"}), ""),
    "notebook metadata a list": (lambda n: n.update(metadata=[]), ""),
    "sources as text": (lambda n: each(n, lambda c: c.update(source="".join(c["source"]))), ""),
    "Windows line ends": (lambda n: each(n, lambda c: c.update(source="".join(c["source"]).replace("\n", "\r\n"))), ""),
    "outputs and counts missing": (lambda n: each(n, lambda c: [c.pop("outputs", 0), c.pop("execution_count", 0)]), ""),
    "source null": (lambda n: the(n, "title").update(source=None), "the text of a cell was damaged"),
    "source missing": (lambda n: the(n, "title").pop("source"), "the text of a cell was damaged"),
    "source with a number in it": (lambda n: the(n, "title").update(source=["a", 1]), "the text of a cell was damaged"),
    "a cell of unknown type": (lambda n: the(n, "title").update(cell_type="sql"), "kept as plain text: cell 1"),
    "cells that are none": (lambda n: n["cells"].insert(0, 7), "left out, because it was no cell: cell 1"),
    "a zero character": (lambda n: the(n, "q8-answer")["source"].append("\0"), "removed: cell"),
    "half a character": (lambda n: the(n, "q8-answer")["source"].append("\ud800"), "removed: cell"),
    "attachments in code": (lambda n: the(n, "q1-answer").update(attachments={"a": {"text/html": "<b>"}}), ""),
    "an attached page": (
        lambda n: the(n, "q4-why").update(attachments={"a": {"text/html": "<script>"}}),
        "an attachment that is no picture was left out: cell",
    ),
    "a tag that skips the test": (
        lambda n: the(n, "q1")["metadata"].update(tags=["skip-execution"]),
        "a tag kept a cell from running; it was dropped",
    ),
    "Colab installs in the imports": (
        lambda n: the(n, "setup").update(source=["!pip install course\n", *the(n, "setup")["source"]]),
        "",
    ),
}


@pytest.mark.parametrize("case", REPAIRABLE)
def test_a_damage_is_repaired_and_every_answer_kept(case):
    damage, expected = REPAIRABLE[case]
    notebook = raw(PERFECT["short"])
    damage(notebook)
    prepared = looked_over(notebook)
    assert_gradable(prepared, "short")
    assert answers(cells_of(prepared)) == answers(PERFECT["short"].cells)
    said = "\n".join(prepared.repairs)
    assert expected in said if expected else said == ""
    again = looked_over(prepared.notebook)
    assert (again.repairs, again.notebook) == ((), prepared.notebook)


@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.parametrize("damage", [strip_marks, colab, strip_all, lambda n: n["cells"].reverse()])
def test_whole_chapters_are_repaired_alike(chapter, damage):
    notebook = raw(PERFECT[chapter])
    damage(notebook)
    prepared = looked_over(notebook, chapter)
    assert_gradable(prepared, chapter)
    assert answers(cells_of(prepared)) == answers(PERFECT[chapter].cells)


def test_imports_that_were_emptied_come_first():
    notebook = raw(PERFECT["short"])
    remove(notebook, "setup")
    sources = [cell.source for cell in cells_of(looked_over(notebook)) if cell.cell_type == "code"]
    assert sources[0] == RELEASED["short"].cells[1].source


def test_imports_written_elsewhere_are_enough():
    notebook = raw(PERFECT["short"])
    own(notebook, "".join(the(notebook, "setup")["source"]) + "\nimport math", 0)
    remove_setup = [cell for cell in notebook["cells"] if cell.get("id") != "setup"]
    assert looked_over({**notebook, "cells": remove_setup}).repairs == ()


# --- what cannot be certain -----------------------------------------------------------------------------------------


def test_a_deleted_answer_is_empty_and_reported():
    notebook = raw(PERFECT["short"])
    remove(notebook, "q1-answer", "q4-why")
    prepared = looked_over(notebook)
    assert_gradable(prepared, "short")
    assert prepared.repairs == ("an answer cell was missing; an empty one was put in, which gives no points: "
                                "q1-answer, q4-why",)  # fmt: skip
    expected = answers(RELEASED["short"].cells)
    assert {name: answers(cells_of(prepared))[name] for name in ("q1-answer", "q4-why")} == {
        name: expected[name] for name in ("q1-answer", "q4-why")
    }


def test_of_several_answers_the_last_before_the_test_counts_and_is_flagged():
    notebook = raw(PERFECT["short"])
    copied(notebook, "q1-answer", "q1 = dict(sectors=1)")
    copied(notebook, "q1-answer", "q1 = dict(sectors=2)", at=len(notebook["cells"]))
    prepared = looked_over(notebook)
    assert_gradable(prepared, "short")
    assert answers(cells_of(prepared))["q1-answer"] == "q1 = dict(sectors=1)"
    kept = [cell.source for cell in cells_of(prepared) if not nbgrader_of(cell)]
    assert "q1 = dict(sectors=2)" in kept
    assert answers(PERFECT["short"].cells)["q1-answer"] in [source.strip() for source in kept]
    assert [question for question, _ in prepared.flags] == ["q1"]


def test_several_written_answers_are_put_together_and_flagged():
    notebook = raw(PERFECT["short"])
    copied(notebook, "q4-why", "And another reason.")
    prepared = looked_over(notebook)
    assert (
        answers(cells_of(prepared))["q4-why"] == answers(PERFECT["short"].cells)["q4-why"] + "\n\nAnd another reason."
    )
    assert [question for question, _ in prepared.flags] == ["q4-why"]


def test_a_name_reused_for_something_else_is_no_answer():
    notebook = raw(RELEASED["short"])
    own(notebook, "q1 = 5", 10)
    prepared = looked_over(notebook)
    assert prepared.repairs == ()
    assert answers(cells_of(prepared)) == answers(RELEASED["short"].cells)


def test_an_answer_with_a_syntax_error_is_still_found_without_its_mark():
    notebook = raw(PERFECT["short"])
    the(notebook, "q1-answer")["source"] = "q1 = dict(sectors=4,"
    strip_all(notebook)
    assert answers(cells_of(looked_over(notebook)))["q1-answer"] == "q1 = dict(sectors=4,"


def test_a_changed_statement_above_an_empty_written_answer_is_flagged():
    notebook = raw(RELEASED["short"])
    the(notebook, "q4-why-statement")["source"].append("\n\nBecause the view starts 4 bytes late.")
    assert [question for question, _ in looked_over(notebook).flags] == ["q4-why"]


def test_merge_markers_inside_an_answer_are_flagged():
    notebook = raw(PERFECT["short"])
    the(notebook, "q1-answer")["source"] = "<<<<<<< HEAD\nq1 = dict()\n=======\nq1 = {}\n>>>>>>> mine"
    assert [question for question, _ in looked_over(notebook).flags] == ["q1"]


def test_pictures_of_a_written_answer_stay():
    notebook = raw(PERFECT["short"])
    the(notebook, "q4-why")["attachments"] = {"image.png": {"image/png": "iVBORw0="}}
    prepared = looked_over(notebook)
    cell = next(cell for cell in cells_of(prepared) if cell.id == "q4-why")
    assert (prepared.repairs, cell.attachments) == ((), {"image.png": {"image/png": "iVBORw0="}})
