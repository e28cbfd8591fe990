"""From matched cells to a notebook that nbgrader can grade: every graded cell once, in an order that runs."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

import nbformat

from autograder.cells import Notebook
from autograder.preflight.names import names_of
from autograder.preflight.notes import Notes
from autograder.preflight.reading import Draft
from autograder.preflight.release import Release
from autograder.preflight.roles import Roles

__all__ = ["rebuild"]

CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class Piece:
    """One cell of the notebook that is being built."""

    origin: int | None
    """Index of the cell of the release that it is; None for the student's own."""
    kind: str
    source: str
    draft: Draft | None = None

    @property
    def bound(self) -> frozenset[str]:
        """Names that its text binds."""
        return (
            self.draft.names.bound if self.draft and self.draft.source == self.source else names_of(self.source).bound
        )


class Pieces:
    """The cells in order."""

    def __init__(self, roles: Roles, notes: Notes) -> None:
        self.release = roles.release
        self.notes = notes
        self.list = [
            self._of(draft, origin, roles)
            for place, (draft, origin) in enumerate(zip(roles.drafts, roles.origin, strict=True))
            if place not in roles.dropped
        ]

    def _of(self, draft: Draft, origin: int | None, roles: Roles) -> Piece:
        if origin is None or origin not in self.release.graded.values():
            return Piece(origin, draft.kind, draft.source, draft)
        cell = self.release.cells[origin]
        source = cell.source if origin in self.release.locked else roles.text.get(origin, draft.source)
        return Piece(origin, cell.cell_type, source, draft)

    def place(self, index: int) -> int | None:
        """Where a cell of the release stands; None if it does not."""
        return next((place for place, piece in enumerate(self.list) if piece.origin == index), None)

    def insert(self, place: int, index: int, source: str | None = None, *, again: bool = False) -> None:
        """Put a cell of the release there. again: beside a version of it that the student changed."""
        cell = self.release.cells[index]
        text = cell.source if source is None else source
        self.list.insert(place, Piece(None if again else index, cell.cell_type, text))

    def behind(self, index: int) -> int:
        """Place behind the nearest cell that stands before this one in the release."""
        best = max(((p.origin, place) for place, p in enumerate(self.list) if -1 < _number(p) < index), default=None)
        return best[1] + 1 if best else 0

    def ahead(self, index: int, start: int = 0) -> int:
        """Place in front of the first cell, from `start`, that stands behind this one in the release."""
        later = (place for place in range(start, len(self.list)) if _number(self.list[place]) > index)
        return next(later, len(self.list))


def _number(piece: Piece) -> int:
    return -1 if piece.origin is None else piece.origin


def rebuild(roles: Roles, notes: Notes) -> Notebook:
    """The notebook to grade: the release's metadata, ids and tests, the student's answers and own cells, no outputs."""
    pieces = Pieces(roles, notes)
    _add_open_cells(pieces, roles)
    _add_tests(pieces)
    _put_tests_behind_answers(pieces)
    _add_needed(pieces)
    return _notebook(pieces.list, roles.release)


def _add_open_cells(pieces: Pieces, roles: Roles) -> None:
    release = pieces.release
    tests = {answer: test for test, answer in reversed(release.answer_of.items())}
    for index in sorted((*release.answers, *release.written)):
        if pieces.place(index) is not None:
            continue
        test = pieces.place(tests[index]) if index in tests else None
        pieces.insert(pieces.behind(index) if test is None else test, index, roles.text.get(index))
        if index not in roles.text:
            what = "an answer cell was missing; an empty one was put in, which gives no points"
            pieces.notes.repair(what, release.name(index))


def _add_tests(pieces: Pieces) -> None:
    release = pieces.release
    for index in release.locked:
        if pieces.place(index) is None:
            answer = pieces.place(release.answer_of[index]) if index in release.answer_of else None
            place = pieces.behind(index) if answer is None else pieces.ahead(index, answer + 1)
            pieces.insert(place, index)
            pieces.notes.repair("a test cell was missing; it was put back", release.name(index))


def _put_tests_behind_answers(pieces: Pieces) -> None:
    for test, answer in pieces.release.answer_of.items():
        there, first = pieces.place(test), pieces.place(answer)
        if there is not None and first is not None and there < first:
            piece = pieces.list.pop(there)
            pieces.list.insert(first, piece)  # the answer moved up by one
            pieces.notes.repair(
                "a test cell stood before its answer; it was moved behind it", pieces.release.name(test)
            )


def _add_needed(pieces: Pieces) -> None:
    """Cells without points that the graded ones cannot do without, such as the imports."""
    release = pieces.release
    for index, names in release.needed.items():
        bound = {name for piece in pieces.list if piece.kind == "code" for name in piece.bound}
        there, ahead = pieces.place(index), pieces.ahead(index)
        later = [graded for graded in release.graded.values() if graded > index]
        if not names <= bound:
            place = ahead if there is None else min(there, ahead)
            pieces.insert(place, index, again=there is not None)
            pieces.notes.repair("a cell that the graded cells need was missing; it was put back", release.name(index))
        elif there is not None and any(_number(p) in later for p in pieces.list[:there]):
            pieces.list.insert(ahead, pieces.list.pop(there))
            what = "a cell that the graded cells need stood behind one of them; it was moved up"
            pieces.notes.repair(what, release.name(index))


def _notebook(pieces: list[Piece], release: Release) -> Notebook:
    notebook = nbformat.v4.new_notebook(metadata=copy.deepcopy(release.notebook.metadata))
    taken = {cell.get("id") for cell in release.cells}
    fresh = _fresh_ids(taken)
    for piece in pieces:
        cell = _cell(piece, release)
        if piece.origin is None:
            own = next((name for name in (piece.draft.ids if piece.draft else ()) if CELL_ID.fullmatch(name)), "")
            cell.id = own if own and own not in taken else next(fresh)
            taken.add(cell.id)
        notebook.cells.append(cell)
    return notebook


def _cell(piece: Piece, release: Release) -> Notebook:
    cell: dict[str, object] = {"cell_type": piece.kind, "metadata": {}, "source": piece.source}
    if piece.kind == "code":
        cell.update(outputs=[], execution_count=None)
    if piece.origin is not None:
        original = release.cells[piece.origin]
        cell.update(id=original.id, metadata=copy.deepcopy(original.metadata))
        if piece.kind == "markdown" and "attachments" in original:
            cell["attachments"] = copy.deepcopy(original.attachments)
    if piece.kind == "markdown" and piece.draft and piece.draft.attachments:
        cell["attachments"] = piece.draft.attachments
    return nbformat.from_dict(cell)


def _fresh_ids(taken: set[str]) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        if f"own-{number}" not in taken:
            yield f"own-{number}"
