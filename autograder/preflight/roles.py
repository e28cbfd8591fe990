"""The state of matching: which cell of the release each submitted cell is, and what each answer says."""

from __future__ import annotations

from autograder.preflight.reading import Draft
from autograder.preflight.release import Release

__all__ = ["Roles"]


class Roles:
    """Submitted cells are called by their place (from 0), cells of the release by their index."""

    def __init__(self, drafts: list[Draft], release: Release) -> None:
        self.drafts = drafts
        self.release = release
        self.origin: list[int | None] = [None] * len(drafts)
        """place -> index; None for a cell of the student's own."""
        self.dropped: set[int] = set()
        """Places of copies that say nothing new."""
        self.text: dict[int, str] = {}
        """index -> an answer that does not stand in its own cell."""
        self.certain = 0
        """Graded cells that were found by mark, id or text, before anything was guessed from what a cell binds."""

    def holders(self, index: int) -> list[int]:
        """Places that claim to be this cell of the release."""
        return [place for place, origin in enumerate(self.origin) if origin == index and place not in self.dropped]

    def own(self) -> list[int]:
        """Places of the student's own cells."""
        return [place for place, origin in enumerate(self.origin) if origin is None]

    def has_id(self, place: int, index: int) -> bool:
        """Whether a submitted cell carries the id that this cell has in the release."""
        return self.release.cells[index].get("id") in self.drafts[place].ids

    def answer(self, index: int) -> str | None:
        """What was handed in for an answer cell; None when nothing was."""
        if index in self.text:
            return self.text[index]
        holders = self.holders(index)
        return self.drafts[holders[0]].source if holders else None
