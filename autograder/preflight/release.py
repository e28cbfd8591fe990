"""The release as preflight sees it: what each graded cell is, and which cells the graded ones need to run."""

from __future__ import annotations

from functools import cached_property

from autograder.cells import Notebook, grade_ids, nbgrader_of, split
from autograder.preflight.names import Names, names_of

__all__ = ["Release", "clean"]


def clean(source: str) -> str:
    """Text for comparing: no blanks at the end of a line, no empty lines around it."""
    return "\n".join(line.rstrip() for line in source.split("\n")).strip()


class Release:
    """A chapter's released notebook, beside the master that it was made of. Cells are called by their index."""

    def __init__(self, master: Notebook, released: Notebook) -> None:
        self.notebook = released
        self.cells = list(released.cells)
        self.names = [names_of(cell.source) if cell.cell_type == "code" else Names() for cell in self.cells]
        self.texts = [clean(cell.source) for cell in self.cells]
        marks = [nbgrader_of(cell) for cell in self.cells]
        self.graded = {mark["grade_id"]: index for index, mark in enumerate(marks) if mark.get("grade_id")}
        """grade_id -> cell, in order."""
        self.points = grade_ids(released)
        open_cells = [index for index in self.graded.values() if marks[index].get("solution")]
        self.answers = [index for index in open_cells if self.cells[index].cell_type == "code"]
        """Cells for code that students write."""
        self.written = [index for index in open_cells if index not in self.answers]
        """Cells for text that students write."""
        self.locked = [index for index in self.graded.values() if index not in open_cells]
        """Cells that students must not change: tests, mostly."""
        self._master = {cell.get("id"): cell for cell in master.cells}

    def name(self, index: int) -> str:
        """The grade_id of a graded cell, else its cell id."""
        return str(nbgrader_of(self.cells[index]).get("grade_id") or self.cells[index].get("id"))

    @cached_property
    def answer_of(self) -> dict[int, int]:
        """Test cell -> the answer cell that it tests: the last one before it that binds a name that it uses."""
        pairs = {}
        for test in self.locked:
            used = self.names[test].used
            before = [answer for answer in self.answers if answer < test and self.names[answer].bound & used]
            if before:
                pairs[test] = before[-1]
        return pairs

    def question(self, index: int) -> str:
        """The grade_id that carries the points of an answer: its test's, or its own for a written answer."""
        tests = [test for test, answer in self.answer_of.items() if answer == index]
        return self.name(tests[0] if tests else index)

    @cached_property
    def needed(self) -> dict[int, frozenset[str]]:
        """Ungraded code cells that graded cells cannot run without -> the names that they supply, in order.

        What the model answers use counts as well: an answer may use all that it was written with.
        """
        supplies: dict[int, set[str]] = {}
        waiting = [(index, self._used(index)) for index in self.graded.values()]
        while waiting:
            user, names = waiting.pop()
            for name in names:
                before = [k for k in range(user) if name in self.names[k].bound]
                if not before or before[-1] in self.graded.values():
                    continue
                if before[-1] not in supplies:
                    waiting.append((before[-1], self.names[before[-1]].used))
                supplies.setdefault(before[-1], set()).add(name)
        return {index: frozenset(supplies[index]) for index in sorted(supplies)}

    def _used(self, index: int) -> frozenset[str]:
        cell = self.cells[index]
        origin = self._master.get(cell.get("id"))
        if cell.cell_type != "code":
            return frozenset()
        return self.names[index].used | (names_of(split(origin.source).answer).used if origin else frozenset())
