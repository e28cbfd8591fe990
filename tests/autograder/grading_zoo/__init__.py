"""Hostile and broken submissions, one module for each kind. See tests/autograder/test_zoo.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from tests.support.small_course import CHAPTER, POINTS, TASKS, answered

__all__ = ["CHAPTER", "TASKS", "Animal", "Habitat", "Make", "beside", "book", "cell_of", "edited", "raw", "text_of"]


@dataclass(frozen=True)
class Habitat:
    """Where an animal is graded, and what it would like to reach from there."""

    folder: Path
    """Its own submitted/<student>/<chapter>/."""
    root: Path
    """The course."""
    canary: Path
    """A file that nobody may read."""
    port: int
    """Of a server that listens on this machine."""

    @property
    def notebook(self) -> Path:
        """Where its notebook belongs."""
        return self.folder / f"{CHAPTER}.ipynb"

    def fill(self, text: str) -> str:
        """A text with the words ROOT, CANARY and PORT replaced."""
        names = {"ROOT": str(self.root), "CANARY": str(self.canary), "PORT": self.port}
        for word, value in names.items():
            text = text.replace(word, repr(value))
        return text


Make = Callable[[Habitat], None]


@dataclass(frozen=True)
class Animal:
    """One submission, and what a fair person would say about it."""

    name: str
    make: Make
    right: tuple[str, ...] = ()
    """Tasks with all their points."""
    partly: Mapping[str, float] = field(default_factory=dict)
    """Points of tasks with some of them; what is named nowhere has none."""
    flag: str = ""
    """What one of its flags says, as "question: reason"; "" when there must be none."""
    failed: str = ""
    """What the reason says when it cannot be graded; "" when it is graded."""
    repair: str = ""
    """What one of its repairs says."""
    student: str = ""
    """Name of the student, where it is part of the attack."""

    @property
    def who(self) -> str:
        """The student who hands it in."""
        return self.student or self.name.replace(" ", "-")

    @property
    def points(self) -> dict[str, float]:
        """grade_id -> fair mark."""
        return {name: POINTS[name] if name in self.right else self.partly.get(name, 0.0) for name in POINTS}


# ---- how they are made ------------------------------------------------------------------------------------


def text_of(*right: str, first: str = "", last: str = "", **texts: str) -> Any:
    """A notebook with right answers to `right`, other answers by name, and own cells behind the imports and last."""
    made = answered(*(right or ("nothing",)), **texts)
    for place, source in ((len(made.cells), last), (1, first)):
        if source:
            made.cells.insert(place, nbformat.v4.new_code_cell(source))
    return made


def book(*right: str, **texts: str) -> Make:
    """An ordinary notebook file with such texts: see `text_of` and `Habitat.fill`."""
    return edited(lambda made: None, *right, **texts)


def edited(change: Callable[[Any], Any], *right: str, **texts: str) -> Make:
    """A notebook that something was done to, down to its JSON; `change` gives it back, or changes it in place."""

    def make(habitat: Habitat) -> None:
        made = text_of(*right, **{name: habitat.fill(text) for name, text in texts.items()})
        document = json.loads(nbformat.writes(made))
        habitat.notebook.write_text(json.dumps(change(document) or document), encoding="utf-8")

    return make


def raw(change: Callable[[str], bytes], *right: str, name: str = f"{CHAPTER}.ipynb") -> Make:
    """A file of any name and bytes, made of the text of an ordinary one."""

    def make(habitat: Habitat) -> None:
        (habitat.folder / name).write_bytes(change(nbformat.writes(text_of(*right))))

    return make


def beside(make: Make, also: Callable[[Habitat], object]) -> Make:
    """A submission with something else in its folder."""

    def both(habitat: Habitat) -> None:
        make(habitat)
        also(habitat)

    return both


def cell_of(document: dict[str, Any], grade_id: str) -> dict[str, Any]:
    """The cell of this name in a notebook's JSON."""
    cells: list[dict[str, Any]] = document["cells"]
    (found,) = (cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)
    return found
