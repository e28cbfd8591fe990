"""Which submitted cell is which cell of the release: by nbgrader's mark, by cell id, by text, by what it binds."""

from __future__ import annotations

from autograder.preflight.answers import Answers
from autograder.preflight.notes import Notes, shown
from autograder.preflight.reading import Draft
from autograder.preflight.release import Release, clean
from autograder.preflight.roles import Roles

__all__ = ["match"]

FLAGS = ("grade", "solution", "locked", "points", "task", "schema_version")


def match(drafts: list[Draft], release: Release, notes: Notes) -> Roles:
    """Give every submitted cell its role, and every answer its text."""
    roles = Roles(drafts, release)
    _by_mark_or_id(roles, notes)
    _swapped_marks(roles, notes)
    _ungraded(roles)
    changed_tests = {}
    for test in release.locked:
        changed = _locked(roles, test, notes)
        if changed is not None:
            changed_tests[test] = changed
    roles.certain = sum(bool(roles.holders(index)) for index in release.graded.values())
    Answers(roles, changed_tests, notes).settle()
    _ungraded(roles)  # once more, for cells that bore a mark they had no right to
    return roles


def _by_mark_or_id(roles: Roles, notes: Notes) -> None:
    release = roles.release
    ids = {cell.get("id"): index for index, cell in enumerate(release.cells)}
    for place, draft in enumerate(roles.drafts):
        name = draft.mark.get("grade_id")
        marked = release.graded.get(name) if isinstance(name, str) else None
        known = next((ids[name] for name in draft.ids if name in ids), None)
        by_id = known if known in release.graded.values() else None
        if draft.mark and marked is None:
            label = shown(name) if isinstance(name, str) else draft.where
            notes.repair("a grade_id that this chapter does not have was removed", label)
        if marked is not None and by_id is not None and marked != by_id and not _fits(roles, draft, marked):
            # Only a tool or a hand makes the two disagree: then the text decides, and the mark if it cannot.
            marked = by_id if _fits(roles, draft, by_id) else marked
        if marked is None and by_id is not None:
            notes.repair("nbgrader's mark was lost; the cell was recognised by its id", release.name(by_id))
        roles.origin[place] = marked if marked is not None else by_id
        if marked is not None:
            _report_flags(roles, draft, marked, notes)


def _fits(roles: Roles, draft: Draft, index: int) -> bool:
    """Whether a cell's text can be what belongs in this graded cell."""
    release = roles.release
    if index in release.locked:
        return clean(draft.source) == release.texts[index]
    if index in release.answers:
        return release.names[index].bound <= draft.names.bound
    return draft.kind != "code"


def _report_flags(roles: Roles, draft: Draft, index: int, notes: Notes) -> None:
    """Say which of nbgrader's settings differ from the release's; the release's are used in any case."""
    right = roles.release.cells[index].metadata["nbgrader"]
    wrong = [key for key in FLAGS if draft.mark.get(key) != right.get(key)]
    if wrong:
        name = f"{roles.release.name(index)} ({', '.join(wrong)})"
        notes.repair("nbgrader's settings of a cell differed from the release; the release's were used", name)
    if draft.kind != roles.release.cells[index].cell_type:
        notes.repair("a cell had changed its type, which was restored", roles.release.name(index))


def _swapped_marks(roles: Roles, notes: Notes) -> None:
    """A mark on a cell that does not bind its names, but those of another answer, came from somewhere else."""
    release = roles.release
    for place, draft in enumerate(roles.drafts):
        index = roles.origin[place]
        if index not in release.answers or _fits(roles, draft, index) or not draft.names.bound:
            continue
        if any(release.names[other].bound and _fits(roles, draft, other) for other in release.answers):
            notes.repair("nbgrader's mark stood on a cell that answers another question", draft.where)
            roles.origin[place] = None


def _ungraded(roles: Roles) -> None:
    """Cells of the release without points: by id, else by the same text."""
    release = roles.release
    graded = set(release.graded.values())
    open_ids = {cell.get("id"): index for index, cell in enumerate(release.cells) if index not in graded}
    taken = {index for index in roles.origin if index is not None}
    for place, draft in enumerate(roles.drafts):
        index = next((open_ids[name] for name in draft.ids if name in open_ids), None)
        if roles.origin[place] is None and index is not None and index not in taken:
            roles.origin[place] = index
            taken.add(index)
    by_text: dict[tuple[str, str], list[int]] = {}
    for index in sorted(set(open_ids.values()) - taken, reverse=True):
        by_text.setdefault((release.cells[index].cell_type, release.texts[index]), []).append(index)
    for place, draft in enumerate(roles.drafts):
        same = by_text.get((draft.kind, clean(draft.source)))
        if roles.origin[place] is None and same:
            roles.origin[place] = same.pop()


def _locked(roles: Roles, index: int, notes: Notes) -> str | None:
    """Choose the one cell of a test; the text of a changed one, so that an answer written into it is found."""
    name, text = roles.release.name(index), roles.release.texts[index]
    holders = roles.holders(index)
    if not holders:
        same = [place for place in roles.own() if clean(roles.drafts[place].source) == text]
        for place in same[-1:]:
            roles.origin[place] = index
            notes.repair("nbgrader's mark was lost; the cell was recognised by its text", name)
        return None
    kept = min(holders, key=lambda place: (clean(roles.drafts[place].source) != text, not roles.has_id(place, index)))
    for place in holders:
        if place == kept:
            continue
        if clean(roles.drafts[place].source) == text:
            roles.dropped.add(place)
            notes.repair("a second copy of a cell was left out", name)
        else:
            roles.origin[place] = None
            notes.repair("a changed copy of a test cell lost its mark", f"{name} ({roles.drafts[place].where})")
    source = roles.drafts[kept].source
    if clean(source) == text:
        return None
    notes.repair("a test cell was changed; the original was used", name)
    return "\n".join(line for line in source.split("\n") if line.strip() not in text.split("\n"))
