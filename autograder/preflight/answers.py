"""Find the text of every answer: in its cell, in copies of it, or in a cell beside it; flag what is not certain.

The order of trust: a cell with nbgrader's mark or the release's id that differs from the placeholder; then a cell of
the student's own that binds the same names, which is where the in-kernel test finds the answer as well.
"""

from __future__ import annotations

from collections.abc import Callable

from autograder.preflight.names import names_of, same_form
from autograder.preflight.notes import Notes
from autograder.preflight.release import clean
from autograder.preflight.roles import Roles

__all__ = ["Answers"]


class Answers:
    """Settles which text answers which question, and writes it into `roles`."""

    def __init__(self, roles: Roles, changed_tests: dict[int, str], notes: Notes) -> None:
        self.roles = roles
        self.release = roles.release
        self.notes = notes
        self.changed_tests = changed_tests
        """test -> what stands in it beside the original."""

    def settle(self) -> None:
        """Code first: what remains between known cells is then text."""
        for index in self.release.answers:
            if not self._answered(index, self._choose_code):
                self._from_elsewhere(index)
        for index in self.release.written:
            if not self._answered(index, self._join):
                self._from_neighbours(index)
        for index in (*self.release.answers, *self.release.written):
            if _is_unmerged(self.roles.answer(index) or ""):
                self.notes.flag(self.release.question(index), "the answer still holds git's merge markers")

    def _answered(self, index: int, choose: Callable[[int, list[int]], int]) -> bool:
        """Keep one of the cells that claim to be this one; whether it differs from the placeholder."""
        holders = self.roles.holders(index)
        if not holders:
            return False
        holders.sort(key=lambda place: (not self.roles.has_id(place, index), place))
        # The first cell with each text, its own cell before copies of it.
        texts = {clean(self.roles.drafts[place].source): place for place in reversed(holders)}
        texts.pop(self.release.texts[index], None)
        answered = sorted(texts.values())
        kept = choose(index, answered) if len(answered) > 1 else (answered or holders)[0]
        for place in holders:
            if place == kept:
                continue
            if place in answered:
                self.roles.origin[place] = None
            else:
                self.roles.dropped.add(place)
                self.notes.repair("a second copy of a cell was left out", self.release.name(index))
        return bool(answered)

    def _choose_code(self, index: int, places: list[int]) -> int:
        """Which of several different versions is the answer: the one that binds its names, else the last that runs."""
        names, drafts = self.release.names[index].bound, self.roles.drafts
        binding = [place for place in places if names <= drafts[place].names.bound]
        if len(binding) == 1:
            self.notes.repair(
                "an answer stood in several cells; the one that defines it is the answer, the others stay beside it",
                self.release.name(index),
            )
            return binding[0]
        kept = self._last_before_test(index, binding or places)
        self._flag_several(index, places, f"the one in {drafts[kept].where} was used, the last before the test")
        return kept

    def _join(self, index: int, places: list[int]) -> int:
        self._put_together(index, places[0], places)
        self._flag_several(index, places, "all of them were put into the answer cell")
        return places[0]

    def _put_together(self, index: int, holder: int, places: list[int]) -> None:
        """Make one written answer of several texts, with the pictures of all."""
        drafts = self.roles.drafts
        self.roles.text[index] = "\n\n".join(drafts[place].source for place in places)
        for place in reversed(places):
            drafts[holder].attachments = {**drafts[holder].attachments, **drafts[place].attachments}

    def _flag_several(self, index: int, places: list[int], what: str) -> None:
        where = ", ".join(self.roles.drafts[place].where for place in places)
        self.notes.repair("several different answers to one question", f"{self.release.name(index)} ({where}; {what})")
        self.notes.flag(self.release.question(index), f"several different answers, in {where}; {what}")

    def _last_before_test(self, index: int, places: list[int]) -> int:
        """Python's own rule: the last version that runs before the test is the one that is tested."""
        tests = [
            place
            for test, answer in self.release.answer_of.items()
            if answer == index
            for place in self.roles.holders(test)
        ]
        before = [place for place in places if not tests or place < tests[0]]
        return (before or places)[-1]

    def _from_elsewhere(self, index: int) -> None:
        """No answer in its own cell: look for cells of the student's own that bind its names."""
        names, placeholder = self.release.names[index].bound, self.release.texts[index]
        if not names:
            return
        binding = [place for place in range(len(self.roles.drafts)) if self._newly_binds(place, index)]
        empty = [place for place in binding if clean(self.roles.drafts[place].source) == placeholder]
        if empty and not self.roles.holders(index):
            self._recognise(empty[0], index)
        filled = [place for place in binding if place not in empty]
        formed = [place for place in filled if same_form(self.roles.drafts[place].source, placeholder, names)]
        # A scratch cell may reuse a name for something else: that is no answer while the answer's own cell is there.
        usable = formed or ([] if self.roles.holders(index) else filled)
        texts = {clean(self.roles.drafts[place].source): place for place in reversed(usable)}
        places = sorted(texts.values())
        if places:
            self._adopt(index, self._choose_code(index, places) if len(places) > 1 else places[0])
        else:
            self._from_changed_test(index)

    def _newly_binds(self, place: int, index: int) -> bool:
        """Whether a cell binds an answer's names, without being a cell of the release that always did."""
        names, origin = self.release.names[index].bound, self.roles.origin[place]
        if place in self.roles.dropped or not names <= self.roles.drafts[place].names.bound:
            return False
        if origin is None:
            return True
        return origin not in self.release.graded.values() and not names & self.release.names[origin].bound

    def _recognise(self, place: int, index: int) -> None:
        self.roles.origin[place] = index
        what = "nbgrader's mark was lost; the cell was recognised by what it defines"
        self.notes.repair(what, self.release.name(index))

    def _adopt(self, index: int, place: int) -> None:
        """Make a cell the answer, or copy it into the answer cell that was left as it was."""
        if not self.roles.holders(index) and self.roles.origin[place] is None:
            self._recognise(place, index)
            return
        self.roles.text[index] = self.roles.drafts[place].source
        what = "an answer stood in another cell; it was copied into its answer cell"
        self.notes.repair(what, f"{self.release.name(index)} (from {self.roles.drafts[place].where})")

    def _from_changed_test(self, index: int) -> None:
        for test, answer in self.release.answer_of.items():
            source = self.changed_tests.get(test, "")
            if answer == index and self.release.names[index].bound <= names_of(source).bound:
                self.roles.text[index] = source
                what = "an answer stood in the test cell; it was copied into its answer cell"
                self.notes.repair(what, self.release.name(index))

    def _from_neighbours(self, index: int) -> None:
        """No text in the cell of a written answer: the student's own text between the cells around it is the answer."""
        roles, name = self.roles, self.release.name(index)
        gap = self._gap(index)
        empty = [place for place in gap if clean(roles.drafts[place].source) == self.release.texts[index]]
        found = [place for place in gap if place not in empty and roles.drafts[place].source.strip()]
        holders = roles.holders(index)
        if not holders and (empty or found):
            holders = (empty or found)[:1]
            roles.origin[holders[0]] = index
            self.notes.repair("nbgrader's mark was lost; the cell was recognised by its place", name)
        if found and found != holders:
            self._put_together(index, holders[0], found)
            where = ", ".join(roles.drafts[place].where for place in found)
            self.notes.repair("a written answer stood beside its cell; it was copied into it", f"{name} (from {where})")
        above = roles.holders(index - 1) if index - 1 not in self.release.graded.values() else []
        if not found and above and clean(roles.drafts[above[0]].source) != self.release.texts[index - 1]:
            where = roles.drafts[above[0]].where
            self.notes.flag(name, f"nothing was written, but the text above it ({where}) was changed: look there")

    def _gap(self, index: int) -> list[int]:
        """Places of the student's own texts around a cell, as far as the next cells of the release."""
        holders = self.roles.holders(index)
        before, after = self.roles.holders(index - 1), self.roles.holders(index + 1)
        starts = [(place, step) for place in holders[:1] for step in (-1, 1)]
        starts = starts or [(place, 1) for place in before[:1]] or [(place, -1) for place in after[:1]]
        gap = []
        for start, step in starts:
            place = start + step
            while 0 <= place < len(self.roles.drafts) and self.roles.origin[place] is None:
                gap.append(place)
                place += step
        return sorted(place for place in gap if self.roles.drafts[place].kind != "code")


def _is_unmerged(source: str) -> bool:
    starts = [line[:8] for line in source.split("\n")]
    return "<<<<<<< " in starts and ">>>>>>> " in starts
