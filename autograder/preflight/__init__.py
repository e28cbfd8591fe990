"""Look over one submission before anything runs: choose its file, read it, repair what is certain, report the rest.

Nothing in the submitted folder is changed, followed or executed; what comes out is a new notebook.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from re import findall

import nbformat

from autograder.cells import Notebook
from autograder.preflight.files import Found, find
from autograder.preflight.matching import match
from autograder.preflight.notes import Notes, Unreadable, shown
from autograder.preflight.reading import Draft, read
from autograder.preflight.release import Release, clean
from autograder.preflight.repair import rebuild
from autograder.preflight.roles import Roles

__all__ = ["Prepared", "look_over"]


@dataclass(frozen=True)
class Prepared:
    """A clean notebook for nbgrader, or the reason why there is none."""

    notebook: bytes | None
    """nbformat 4.5, UTF-8, without outputs; every grade_id of the release once. None when there is a problem."""
    repairs: tuple[str, ...]
    """What was changed on the way, for the instructor to read."""
    problem: str
    """"" or what was expected, what came, what to do."""
    timestamp: str = ""
    """The text of timestamp.txt; "" when there is none or it holds no time."""
    flags: tuple[tuple[str, str], ...] = ()
    """(grade_id of the question, or "" for the whole submission; why a person has to look at it)."""


def look_over(folder: Path, chapter: str, master: Notebook, released: Notebook) -> Prepared:
    """Prepare what lies in submitted/<student>/<chapter>/ for grading.

    master, released: the chapter's notebooks in source/ and release/. A bad submission raises nothing: it becomes
    a `problem`.
    """
    notes, timestamp = Notes(), ""
    try:
        found = find(folder, chapter, notes)
        timestamp = found.timestamp
        notebook = _prepare(found, chapter, Release(master, released), notes)
    except Unreadable as reason:
        return Prepared(None, notes.repairs, str(reason), timestamp, notes.flags)
    return Prepared(nbformat.writes(notebook).encode() + b"\n", notes.repairs, "", timestamp, notes.flags)


def _prepare(found: Found, chapter: str, release: Release, notes: Notes) -> Notebook:
    sides = read(found.data, notes)
    roles = match(sides[0], release, notes)
    _refuse_other_chapter(roles, chapter)
    if len(sides) > 1:
        _refuse_conflict(roles, match(sides[1], release, Notes()))
        notes.repair("git could not merge the file; both sides hold the same answers, the first was used")
    if found.rivals and not any(_is_answered(roles, index) for index in _open(release)):
        others = ", ".join(map(shown, found.rivals))
        notes.flag("", f"{shown(found.name)} holds no answer, but another notebook lies beside it: {others}")
    return rebuild(roles, notes)


def _open(release: Release) -> list[int]:
    return [*release.answers, *release.written]


def _is_answered(roles: Roles, index: int) -> bool:
    answer = roles.answer(index)
    return answer is not None and clean(answer) != roles.release.texts[index]


def _refuse_other_chapter(roles: Roles, chapter: str) -> None:
    """A notebook with nothing of this chapter in it would silently get no points."""
    release = roles.release
    found = sum(roles.answer(index) is not None for index in _open(release))
    other = _checked_chapter(roles.drafts)
    if not release.graded or (roles.certain and other in ("", chapter)) or 2 * found > len(_open(release)):
        return
    looks = f"; it asks for checks of {shown(other)}" if other not in ("", chapter) else ""
    raise Unreadable(
        f"expected the notebook of {chapter}, found one with {roles.certain} of its {len(release.graded)} graded cells"
        f"{looks}; ask for the right notebook"
    )


def _checked_chapter(drafts: list[Draft]) -> str:
    """The chapter whose checks a notebook calls most; "" when it calls none."""
    calls = Counter(name for draft in drafts for name in findall(r"check\(\s*[\"'](\w{1,40})/", draft.source))
    return calls.most_common(1)[0][0] if calls else ""


def _refuse_conflict(ours: Roles, theirs: Roles) -> None:
    differ = [ours.release.name(index) for index in _open(ours.release) if _differ(ours, theirs, index)]
    if differ:
        raise Unreadable(
            "expected one notebook, found git merge markers, and the two sides answer differently: "
            f"{', '.join(differ)}; ask for a merged one"
        )


def _differ(ours: Roles, theirs: Roles, index: int) -> bool:
    return clean(ours.answer(index) or "") != clean(theirs.answer(index) or "")
