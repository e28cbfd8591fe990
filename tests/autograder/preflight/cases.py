"""Whole and shortened notebooks, and ways to damage them, for the tests of preflight."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from autograder.cells import grade_ids, nbgrader_of, read_notebook
from autograder.preflight import Prepared, look_over
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


PERFECT_TEXT = json.dumps(raw(PERFECT["short"]), indent=1, ensure_ascii=False)
PERFECT_BYTES = PERFECT_TEXT.encode()
OTHER_BYTES = json.dumps(raw(RELEASED["short"])).encode()


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


# --- ways to damage a notebook ---------------------------------------------------------------------------------------

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


def mark_is(notebook: Raw, name: str, value: Any) -> None:
    the(notebook, name)["metadata"]["nbgrader"] = value


def swapped(notebook: Raw, one: str, other: str) -> None:
    first, second = the(notebook, one), the(notebook, other)
    first["metadata"], second["metadata"] = second["metadata"], first["metadata"]
    first["id"], second["id"] = second["id"], first["id"]
