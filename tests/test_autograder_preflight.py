"""Preflight: one submitted folder becomes a clean notebook with every answer kept, or a problem in plain words."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.cells import grade_ids, nbgrader_of, read_notebook
from autograder.preflight import Prepared, look_over
from autograder.preflight.names import names_of
from autograder.samples import sample_notebooks
from autograder.settings import ROOT, Course

CHAPTERS = ("coalescing", "tiling")
COURSE = Course(ROOT)


def shortened(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The imports and the graded part: what most damages are about, in a third of the time."""
    graded = [place for place, cell in enumerate(notebook.cells) if nbgrader_of(cell)]
    start = next(place for place, cell in enumerate(notebook.cells) if cell.id == "fix")
    return nbformat.from_dict({**notebook, "cells": notebook.cells[:3] + notebook.cells[start : graded[-1] + 2]})


MASTER = {name: read_notebook(COURSE.notebook(name)) for name in CHAPTERS}
RELEASED = {name: read_notebook(COURSE.release / name / f"{name}.ipynb") for name in CHAPTERS}
PERFECT = {name: sample_notebooks(COURSE, name)["perfect"] for name in CHAPTERS}
for whole in (MASTER, RELEASED, PERFECT):
    whole["short"] = shortened(whole["coalescing"])

TIME = "2026-03-01 12:00:00.000000 UTC"

Raw = dict[str, Any]


def raw(notebook: nbformat.NotebookNode) -> Raw:
    """A notebook as plain JSON, to damage."""
    return json.loads(nbformat.writes(notebook))


def submit(folder: Path, chapter: str, files: dict[str, bytes]) -> Path:
    place = folder / "ada" / chapter
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name).write_bytes(data)
    return place


def looked_over(data: bytes | Raw, chapter: str = "short", **others: bytes) -> Prepared:
    """Look over one notebook of that content, with other files beside it."""
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    with tempfile.TemporaryDirectory() as folder:
        name = "coalescing" if chapter == "short" else chapter
        place = submit(Path(folder), name, {f"{name}.ipynb": content, **others})
        return look_over(place, name, MASTER[chapter], RELEASED[chapter])


def cells_of(prepared: Prepared) -> list[nbformat.NotebookNode]:
    assert prepared.notebook is not None, prepared.problem
    return list(nbformat.reads(prepared.notebook.decode(), as_version=4).cells)


def answers(cells: list[nbformat.NotebookNode]) -> dict[str, str]:
    return {nbgrader_of(c)["grade_id"]: c.source.strip() for c in cells if nbgrader_of(c).get("solution")}


def assert_gradable(prepared: Prepared, chapter: str) -> None:
    """What nbgrader needs: valid, no outputs, every graded cell once and as released, tests behind their answers."""
    cells, released = cells_of(prepared), RELEASED[chapter]
    notebook = nbformat.reads(prepared.notebook.decode(), as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata == released.metadata
    assert not any(cell.get("outputs") for cell in cells)
    ids = [nbgrader_of(cell)["grade_id"] for cell in cells if nbgrader_of(cell)]
    assert sorted(ids) == sorted(grade_ids(released))
    original = {nbgrader_of(cell)["grade_id"]: cell for cell in released.cells if nbgrader_of(cell)}
    for cell in cells:
        if mark := nbgrader_of(cell):
            right = original[mark["grade_id"]]
            assert (cell.metadata, cell.cell_type, cell.id) == (right.metadata, right.cell_type, right.id)
            assert mark["solution"] or cell.source == right.source
    for name in ids:
        if f"{name}-answer" in ids:
            assert ids.index(f"{name}-answer") < ids.index(name)


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

Damage = Callable[[Raw], Any]


def the(notebook: Raw, name: str) -> Raw:
    return next(cell for cell in notebook["cells"] if cell["id"] == name)


def place_of(notebook: Raw, name: str) -> int:
    return notebook["cells"].index(the(notebook, name))


def each(notebook: Raw, change: Callable[[Raw], Any]) -> None:
    for cell in notebook["cells"]:
        change(cell)


def strip_marks(notebook: Raw) -> None:
    each(notebook, lambda cell: cell["metadata"].clear())


def strip_all(notebook: Raw) -> None:
    strip_marks(notebook)
    each(notebook, lambda cell: cell.pop("id"))
    notebook["nbformat_minor"] = 0


def colab(notebook: Raw) -> None:
    each(notebook, lambda cell: cell["metadata"].update(id=cell.pop("id")))
    each(notebook, lambda cell: cell["metadata"].pop("nbgrader", None))
    notebook["nbformat_minor"] = 0


def mark(notebook: Raw, name: str, **values: Any) -> None:
    the(notebook, name)["metadata"]["nbgrader"].update(values)


def copied(notebook: Raw, name: str, source: str | None = None, at: int | None = None) -> None:
    """A pasted copy: a new id, the same mark."""
    cell = copy.deepcopy(the(notebook, name))
    cell["id"] = "pasted"
    if source is not None:
        cell["source"] = source
    notebook["cells"].insert(place_of(notebook, name) + 1 if at is None else at, cell)


def moved(notebook: Raw, name: str, to: int) -> None:
    notebook["cells"].insert(to, notebook["cells"].pop(place_of(notebook, name)))


def own(notebook: Raw, source: str, at: int, kind: str = "code") -> None:
    cell = {"cell_type": kind, "metadata": {}, "source": source}
    notebook["cells"].insert(at, cell | ({"outputs": [], "execution_count": None} if kind == "code" else {}))


def in_new_cell(notebook: Raw, name: str, at: int | None = None) -> None:
    """The answer stands in a new cell, its own cell holds the placeholder."""
    cell = the(notebook, name)
    answer, cell["source"] = cell["source"], the(raw(RELEASED["short"]), name)["source"]
    own(notebook, "".join(answer), place_of(notebook, name) + 1 if at is None else at, cell["cell_type"])


def answer_in_test(notebook: Raw) -> None:
    answer = "".join(the(notebook, "q1-answer")["source"])
    the(notebook, "q1-answer")["source"] = the(raw(RELEASED["short"]), "q1-answer")["source"]
    the(notebook, "q1")["source"] = answer + '\ncheck("coalescing/q1", q1)'


def format_3(notebook: Raw) -> None:
    cells = notebook.pop("cells")
    for cell in cells:
        cell.pop("id")
        if cell["cell_type"] == "code":
            cell["input"], cell["language"] = cell.pop("source"), "python"
    cells.insert(0, {"cell_type": "heading", "level": 2, "source": "Mine", "metadata": {}})
    notebook.update(nbformat=3, nbformat_minor=0, worksheets=[{"cells": cells, "metadata": {}}])


def remove(notebook: Raw, *names: str) -> None:
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] not in names]


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


def mark_is(notebook: Raw, name: str, value: Any) -> None:
    the(notebook, name)["metadata"]["nbgrader"] = value


def swapped(notebook: Raw, one: str, other: str) -> None:
    first, second = the(notebook, one), the(notebook, other)
    first["metadata"], second["metadata"] = second["metadata"], first["metadata"]
    first["id"], second["id"] = second["id"], first["id"]


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


# --- bytes ----------------------------------------------------------------------------------------------------------

PERFECT_TEXT = json.dumps(raw(PERFECT["short"]), indent=1, ensure_ascii=False)
PERFECT_BYTES = PERFECT_TEXT.encode()


def conflict(text: str, line: str, ours: str, theirs: str, base: str = "") -> bytes:
    assert line in text
    middle = f"||||||| base\n{base}\n" if base else ""
    return text.replace(line, f"<<<<<<< HEAD\n{ours}\n{middle}=======\n{theirs}\n>>>>>>> mine", 1).encode()


KERNEL_LINE = next(line for line in PERFECT_TEXT.split("\n") if '"display_name"' in line)
ANSWER_LINE = next(line for line in PERFECT_TEXT.split("\n") if "q1 = dict(" in line and "None" not in line)

READABLE: dict[str, tuple[bytes, str]] = {
    "byte order mark": (b"\xef\xbb\xbf" + PERFECT_BYTES, "byte order mark"),
    "UTF-16": (PERFECT_TEXT.encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": (PERFECT_TEXT.encode("utf-16-be"), "UTF-16"),
    "UTF-32": (PERFECT_TEXT.encode("utf-32"), "UTF-32"),
    "zero bytes at the end": (PERFECT_BYTES + b"\0" * 4096, "zero bytes"),
    "a Windows byte": (PERFECT_BYTES.replace(b'"cells"', b'"\xfcber": "\x93", "cells"', 1), "Windows text"),
    "raw line ends in texts": (PERFECT_BYTES.replace(b'\\n",', b'\n",'), "raw line ends"),
    "NaN": (PERFECT_BYTES.replace(b'"cells"', b'"x": NaN, "y": -Infinity, "cells"', 1), ""),
    "a number of 100 000 digits": (PERFECT_BYTES.replace(b'"cells"', b'"x": ' + b"9" * 100_000 + b', "cells"', 1), ""),
    "keys twice": (PERFECT_BYTES.replace(b'"cells"', b'"cells": 1, "cells"', 1), "stood twice"),
    "conflict in metadata": (conflict(PERFECT_TEXT, KERNEL_LINE, KERNEL_LINE, '"display_name": "x",'), "git could not"),
    "conflict with its base": (conflict(PERFECT_TEXT, KERNEL_LINE, KERNEL_LINE, '"a": 1,', '"b": 1,'), "git could not"),
}


@pytest.mark.parametrize("case", READABLE)
def test_bytes_that_can_be_read_for_certain_are_read(case):
    data, expected = READABLE[case]
    prepared = looked_over(data)
    assert_gradable(prepared, "short")
    assert answers(cells_of(prepared)) == answers(PERFECT["short"].cells)
    said = "\n".join(prepared.repairs)
    assert expected in said if expected else said == ""


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "only zero bytes": (b"\0" * 5000, "the file is empty"),
    "truncated": (PERFECT_BYTES[:9000], "breaks off or is damaged at line"),
    "rubbish behind it": (PERFECT_BYTES + b"\n}\n]", "breaks off or is damaged at line"),
    "two notebooks in one": (PERFECT_BYTES * 2, "breaks off or is damaged at line"),
    "a web page": (b"<!DOCTYPE html><title>Log in</title>", "breaks off or is damaged at line 1"),
    "damaged UTF-16": (PERFECT_TEXT.encode("utf-16")[:-3] + b"\xd8", "UTF-16"),
    "a list": (b"[]", "found a JSON list"),
    "no cells": (b'{"nbformat": 4}', "expected a notebook with cells, found 'nbformat'"),
    "cells null": (b'{"cells": null}', "expected a notebook with cells"),
    "nested without end": (b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested without end"),
    "too many cells": (b'{"cells": [' + b"1," * 10_000 + b"1]}", "expected at most 10000 cells"),
    "conflict in an answer": (
        conflict(PERFECT_TEXT, ANSWER_LINE, ANSWER_LINE, ANSWER_LINE.replace("q1 = dict(", "q1 = dict(x=1, ")),
        "the two sides answer differently: q1-answer",
    ),
    "conflict that breaks both sides": (
        conflict(PERFECT_TEXT, KERNEL_LINE, "{", "{"),
        "the two sides are no notebooks",
    ),
    "conflict without an end": (PERFECT_BYTES.replace(b'"cells"', b'\n<<<<<<< HEAD\n"cells"', 1), "is damaged at line"),
    "no cell": (b'{"cells": [], "nbformat": 4}', "with 0 of its 19 graded cells; ask for the right notebook"),
    "another chapter": (json.dumps(raw(PERFECT["tiling"])).encode(), "it asks for checks of 'tiling'"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_is_not_certain_is_a_problem_in_words(case):
    data, expected = UNREADABLE[case]
    prepared = looked_over(data)
    assert prepared.notebook is None
    assert prepared.problem.startswith("expected ")
    assert expected in prepared.problem


# --- files ----------------------------------------------------------------------------------------------------------

OTHER_BYTES = json.dumps(raw(RELEASED["short"])).encode()


@pytest.mark.parametrize(
    "name",
    ["coalescing (1).ipynb", "Copy of coalescing.ipynb", "coalescing-Copy1.ipynb", "Coalescing.IPYNB",
     "coalescing.ipynb.txt", "coalescing.ipynb.json", "coalescing.json", "coalescing", "ada final.ipynb"],
)  # fmt: skip
def test_a_renamed_notebook_is_found(name, tmp_path):
    place = submit(tmp_path, "coalescing", {name: PERFECT_BYTES})
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.repairs == (f"the notebook was not called coalescing.ipynb; used: '{name}'",)
    assert answers(cells_of(prepared)) == answers(PERFECT["short"].cells)


FOLDERS: dict[str, tuple[dict[str, bytes], str]] = {
    "nothing": ({}, "expected coalescing.ipynb, found nothing"),
    "a zip file": ({"work.zip": b"PK"}, "found 'work.zip'; unpack the archive"),
    "two that differ": (
        {"coalescing (1).ipynb": PERFECT_BYTES, "coalescing (2).ipynb": OTHER_BYTES},
        "found 'coalescing (1).ipynb', 'coalescing (2).ipynb', which differ; keep one of them",
    ),
    "two of other names": ({"a.ipynb": PERFECT_BYTES, "b.ipynb": OTHER_BYTES}, "found 'a.ipynb', 'b.ipynb'"),
    "too large": ({"coalescing.ipynb": b" " * (50 * 2**20 + 1)}, "larger than 50 MiB"),
    "only macOS leftovers": ({"._coalescing.ipynb": PERFECT_BYTES, ".DS_Store": b""}, "found nothing"),
    "a hidden name": ({"no\ntebook\x1b.ipynb": b"{}", "b.ipynb": b"[]"}, r"'no\ntebook\x1b.ipynb'"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_without_one_notebook_is_a_problem(case, tmp_path):
    files, expected = FOLDERS[case]
    place = submit(tmp_path, "coalescing", files)
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.notebook is None
    assert expected in prepared.problem


def test_the_exact_name_wins_and_the_others_are_named():
    prepared = looked_over(
        PERFECT_BYTES, **{"coalescing (1).ipynb": OTHER_BYTES, "coalescing (2).ipynb": PERFECT_BYTES}
    )
    assert prepared.repairs == (
        "a second notebook was left out, because coalescing.ipynb lies beside it: 'coalescing (1).ipynb'",
        "a second notebook was left out, because it has the same content: 'coalescing (2).ipynb'",
    )
    assert prepared.flags == ()
    assert answers(cells_of(prepared)) == answers(PERFECT["short"].cells)


def test_an_untouched_notebook_beside_another_one_is_flagged():
    prepared = looked_over(OTHER_BYTES, **{"coalescing (1).ipynb": PERFECT_BYTES})
    assert [question for question, _ in prepared.flags] == [""]
    assert "'coalescing (1).ipynb'" in prepared.flags[0][1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_links_pipes_and_folders_are_named_and_never_opened(tmp_path):
    place = submit(tmp_path, "coalescing", {"coalescing.ipynb": PERFECT_BYTES, "numpy.py": b"1/0", ".DS_Store": b""})
    (tmp_path / "secret.txt").write_text("kept to myself")
    (place / "link.txt").symlink_to(tmp_path / "secret.txt")
    (place / "data").mkdir()
    (place / ".ipynb_checkpoints").mkdir()
    os.mkfifo(place / "pipe")
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.repairs == (
        "left out: 'data' (a folder), 'link.txt' (a symbolic link), 'numpy.py', 'pipe' (a pipe)",
    )
    assert b"kept to myself" not in prepared.notebook


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("kind", ["a symbolic link", "a folder", "a pipe"])
def test_a_notebook_that_is_no_file_is_a_problem(kind, tmp_path):
    place = submit(tmp_path, "coalescing", {})
    notebook = place / "coalescing.ipynb"
    if kind == "a symbolic link":
        notebook.symlink_to(COURSE.notebook("coalescing"))
    elif kind == "a folder":
        notebook.mkdir()
    else:
        os.mkfifo(notebook)
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.notebook is None
    assert (
        prepared.problem
        == f"expected a file coalescing.ipynb, 'coalescing.ipynb' is {kind}; ask for the notebook itself"
    )


@pytest.mark.parametrize("linked", ["ada", "ada/coalescing"])
def test_a_linked_folder_is_a_problem(linked, tmp_path):
    place = submit(tmp_path / "elsewhere", "coalescing", {"coalescing.ipynb": PERFECT_BYTES})
    link = tmp_path / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(place.parent if linked == "ada" else place)
    prepared = look_over(tmp_path / "ada" / "coalescing", "coalescing", MASTER["short"], RELEASED["short"])
    assert "is a symbolic link" in prepared.problem


def test_a_missing_folder_is_a_problem(tmp_path):
    prepared = look_over(tmp_path / "coalescing", "coalescing", MASTER["short"], RELEASED["short"])
    assert "'coalescing' cannot be read" in prepared.problem


@pytest.mark.parametrize(
    "text", [TIME, "2026-03-01T12:00:00", "2026-03-01 12:00:00 CET", f"\n{TIME}\n", f"\ufeff{TIME}"]
)
def test_a_time_of_submission_is_handed_on(text):
    prepared = looked_over(OTHER_BYTES, **{"timestamp.txt": text.encode()})
    assert prepared.repairs == ()
    assert prepared.timestamp == text.strip("\n\ufeff")


@pytest.mark.parametrize(
    "text", ["", "yesterday", "12", "2026", "2026-99-01 12:00", "\0", TIME * 100, "99999-2026 1:00"]
)
def test_a_bad_time_is_ignored_and_reported(text):
    prepared = looked_over(OTHER_BYTES, **{"timestamp.txt": text.encode()})
    assert prepared.timestamp == ""
    assert prepared.repairs[0].startswith("timestamp.txt was ignored")
    assert prepared.notebook is not None


# --- any damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "bound"),
    [
        ("import numpy as np\nfrom a import b, c as d", {"np", "b", "d"}),
        ("%%time\nx = 1\n!ls", {"x"}),
        ("q1 = dict(a=1,", {"q1"}),
        ("def f(:\n    y = 1\nimport a.b, c as d\nz == 1", {"f", "a", "d"}),
        ("(" * 100_000, set()),
        ("x = 1\0", {"x"}),
        ("import " + " " * 150_000 + "!", set()),
    ],
)
def test_names_are_read_from_any_text(source, bound):
    assert names_of(source).bound == bound


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["drop", "copy", "move", "unmark", "unid", "retype", "mark", "empty", "own"]),
        st.integers(0, 10_000),
        st.integers(0, 10_000),
    ),
    max_size=12,
)


def mutate(notebook: Raw, steps: list[tuple[str, int, int]]) -> None:
    for action, one, other in steps:
        cells = notebook["cells"]
        place, target = one % len(cells), other % len(cells)
        cell = cells[place]
        if action == "drop" and len(cells) > 1:
            cells.pop(place)
        elif action == "copy":
            cells.insert(target, copy.deepcopy(cell))
        elif action == "move":
            cells.insert(target, cells.pop(place))
        elif action == "unmark":
            cell["metadata"] = {}
        elif action == "unid":
            cell.pop("id", None)
        elif action == "retype":
            cell["cell_type"] = ("code", "markdown", "raw")[other % 3]
        elif action == "mark":
            cell["metadata"] = copy.deepcopy(cells[target]["metadata"])
        elif action == "empty":
            cell["source"] = ""
        elif action == "own":
            own(notebook, f"mine = {other}", place)


@given(steps=STEPS, stripped=st.booleans())
@settings(max_examples=25, deadline=None)
def test_any_mutation_gives_a_gradable_notebook_that_loses_no_answer_in_silence(steps, stripped):
    notebook = raw(PERFECT["short"])
    if stripped:
        strip_marks(notebook)
    mutate(notebook, steps)
    handed_in = {"".join(cell["source"]).strip() for cell in notebook["cells"]}
    prepared = looked_over(notebook)
    assert_gradable(prepared, "short")
    kept = answers(cells_of(prepared))
    texts = "\n".join(cell.source for cell in cells_of(prepared))
    said = "\n".join((*prepared.repairs, *(f"{question} {reason}" for question, reason in prepared.flags)))
    for name, answer in answers(PERFECT["short"].cells).items():
        if answer in handed_in:
            # Every answer is somewhere in the notebook; if it is not where it counts, its name or its cell is reported.
            assert answer in texts or "the original was used" in said
            assert kept[name] == answer or name in said or "another question" in said
    again = looked_over(prepared.notebook)
    assert (again.repairs, again.notebook) == ((), prepared.notebook)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["cells", "cell_type", "source", "metadata", "id", "nbgrader", "grade_id", "x"]),
                      inner, max_size=4),
)  # fmt: skip


@given(
    value=JSON,
    key=st.sampled_from(["cells", "metadata", "nbformat", "nbformat_minor", "worksheets"]),
    field=st.sampled_from(["source", "metadata", "cell_type", "id", "attachments", "outputs"]),
    place=st.integers(0, 30),
)
@settings(max_examples=15, deadline=None)
def test_odd_values_anywhere_never_raise(value, key, field, place):
    inside, around = raw(PERFECT["short"]), raw(PERFECT["short"])
    inside["cells"][place][field] = value
    around[key] = value
    for notebook in (inside, around, value):
        prepared = looked_over(json.dumps(notebook).encode())
        assert (prepared.notebook is None) == bool(prepared.problem)
        if prepared.notebook is not None:
            assert_gradable(prepared, "short")


@given(cut=st.integers(0, len(PERFECT_BYTES)), junk=st.binary(max_size=20))
@settings(max_examples=25, deadline=None)
def test_damaged_bytes_never_raise(cut, junk):
    prepared = looked_over(PERFECT_BYTES[:cut] + junk + PERFECT_BYTES[cut:])
    assert (prepared.notebook is None) == bool(prepared.problem)
