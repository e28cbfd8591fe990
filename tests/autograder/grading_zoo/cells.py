"""Notebooks whose cells were deleted, doubled, changed or stripped, by accident or not; preflight's tests have more."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.autograder.grading_zoo import TASKS, Animal, book, cell_of, edited
from tests.support.small_course import POINTS

Document = dict[str, Any]


def stripped(document: Document) -> None:
    """All marks are gone, as after an upload to some services."""
    for cell in document["cells"]:
        cell["metadata"] = {}


def bare(document: Document) -> None:
    """Neither marks nor ids."""
    stripped(document)
    for number, cell in enumerate(document["cells"]):
        cell["id"] = f"cell-{number}"


def without(*names: str) -> Callable[[Document], None]:
    """Some cells were deleted."""

    def change(document: Document) -> None:
        for name in names:
            document["cells"].remove(cell_of(document, name))

    return change


def doubled(*names: str, **texts: str) -> Callable[[Document], None]:
    """Some cells stand there twice; the copies in `texts` say something else."""

    def change(document: Document) -> None:
        for name in (*names, *texts):
            name = name.replace("_", "-")
            cell = cell_of(document, name)
            other = copy.deepcopy(cell)
            other["source"] = texts.get(name.replace("-", "_"), cell["source"])
            document["cells"].insert(document["cells"].index(cell) + 1, other)

    return change


def rewritten(**texts: str) -> Callable[[Document], None]:
    """The text of some cells was replaced."""

    def change(document: Document) -> None:
        for name, text in texts.items():
            cell_of(document, name)["source"] = text

    return change


def richer(document: Document) -> None:
    """All points times 100, and one more cell with points of its own."""
    for cell in document["cells"]:
        mark = cell["metadata"].get("nbgrader", {})
        if "points" in mark:
            mark["points"] *= 100
    bonus = {
        "grade": True,
        "grade_id": "bonus",
        "locked": False,
        "points": 100,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    document["cells"].append(
        {
            "cell_type": "code",
            "id": "bonus",
            "metadata": {"nbgrader": bonus},
            "source": "100.0",
            "outputs": [],
            "execution_count": None,
        }
    )


def shown(document: Document) -> None:
    """Outputs with full points were put into the file."""
    for name in TASKS:
        data = {"text/plain": str(POINTS[name])}
        cell = cell_of(document, name)
        cell["outputs"] = [{"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}]
        cell["execution_count"] = 1


def tagged(document: Document) -> None:
    """Tags that make tools skip a cell, hide it or ignore its errors."""
    for cell in document["cells"]:
        cell["metadata"]["tags"] = [
            "skip-execution",
            "raises-exception",
            "remove-cell",
            "remove_input",
            "nbgrader-skip",
        ]


def odd(document: Document) -> None:
    """Things that are no cells, among cells with odd contents."""
    document["cells"][1:1] = [
        None,
        3,
        "cell",
        [],
        {"cell_type": "cell", "source": {"a": 1}},
        {"cell_type": "code", "source": ["1", 2, None], "metadata": "none"},
    ]


INPUT = 'name = input("Who are you? ")\nimport getpass\ngetpass.getpass()'
MAGIC = "%%bash\necho 2.0"

KEPT = {
    "marks and ids stripped": (bare, "mark was lost"),
    "tests deleted": (without(*TASKS), "a test cell was missing"),
    "answers doubled": (doubled("q1-answer", "sectors-answer"), "a second copy of a cell was left out"),
    "tests rewritten": (
        rewritten(q1="5.0", sectors="6.0", scale="raise SystemExit", q8="("),
        "a test cell was changed",
    ),
    "odd cells": (odd, "left out, because it was no cell"),
}
FINE = {
    "points and a bonus of its own": richer,
    "tags that skip": tagged,
    "full points in the outputs": shown,
}

ANIMALS = (
    *(Animal(name, edited(change, *TASKS), right=TASKS, repair=why) for name, (change, why) in KEPT.items()),
    *(Animal(name, edited(change, *TASKS), right=TASKS) for name, change in FINE.items()),
    Animal("full points in the outputs of nothing", edited(shown, "q8"), right=("q8",)),
    Animal(
        "tests claim all points",
        edited(rewritten(q1="5.0", sectors="6.0", scale="6.0"), "q8"),
        right=("q8",),
        repair="a test cell was changed",
    ),
    Animal(
        "answer deleted",
        edited(without("q1-answer"), *TASKS),
        right=("sectors", "scale", "q8"),
        repair="an answer cell was missing",
    ),
    Animal(
        "two different answers",
        edited(doubled(q1_answer="q1 = dict(sectors=1, lines=1)"), *TASKS),
        right=("sectors", "scale", "q8"),
        flag="q1: several different answers",
    ),
    Animal("asks for input", book(*TASKS, first=INPUT), right=TASKS),
    Animal("cell magic as an answer", book("q8", q1=MAGIC), right=("q8",)),
    Animal(
        "syntax error",
        book("q8", q1="q1 = dict(sectors=32,", sectors="def sectors(addresses, size)\n    return 1"),
        right=("q8",),
    ),
    Animal(
        "names of python replaced",
        book("q8", first="check = grade = print = len = None"),
        right=("q8",),
        flag="q8: The notebook's own run gives fewer points",
    ),
)
