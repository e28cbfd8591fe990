"""Which file of a submitted folder is the notebook. Nothing is followed, changed or executed on the way."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nbgrader.utils import parse_utc

from autograder.preflight.notes import Notes, Unreadable, shown
from autograder.settings import notebook_name_pattern

__all__ = ["MOST_BYTES", "Found", "find"]

MOST_BYTES = 50 * 2**20
"""Largest notebook that is read, in bytes. Most of a large one are outputs, which are dropped."""

MOST_ENTRIES = 2000
"""A folder with more entries is not looked through."""

TIMESTAMP = "timestamp.txt"

LEFTOVERS = re.compile(
    r"\.ipynb_checkpoints|__pycache__|__MACOSX|\.DS_Store|\._.*|Thumbs\.db|desktop\.ini", re.IGNORECASE
)
"""What editors and operating systems leave behind: not worth a word."""

KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class Found:
    """The notebook's bytes, and what lies beside it."""

    name: str
    data: bytes
    rivals: tuple[str, ...]
    """Other notebooks that could have been meant, and were left out."""
    timestamp: str
    """nbgrader's time of submission; "" when there is none, or none that can be read."""


def find(folder: Path, chapter: str, notes: Notes) -> Found:
    """Choose the notebook of `chapter` in `folder` and read it. Raises Unreadable when there is not exactly one."""
    wanted = f"{chapter}.ipynb"
    entries = _entries(folder)
    files = [name for name, kind in entries.items() if kind == "a file" and not LEFTOVERS.fullmatch(name)]
    candidates = _candidates(files, chapter)
    if not candidates:
        raise Unreadable(_nothing(entries, wanted, chapter))
    name, *rivals = candidates
    data = _read(folder / name, MOST_BYTES)
    if name != wanted:
        notes.repair(f"the notebook was not called {wanted}; used", shown(name))
    others = _other_contents(folder, data, rivals)
    if others and name != wanted:
        names = ", ".join(map(shown, [name, *others]))
        raise Unreadable(f"expected one notebook, {wanted}, found {names}, which differ; keep one of them")
    for rival in rivals:
        why = f"{wanted} lies beside it" if rival in others else "it has the same content"
        notes.repair(f"a second notebook was left out, because {why}", shown(rival))
    for entry, kind in entries.items():
        if entry not in (*candidates, TIMESTAMP) and not LEFTOVERS.fullmatch(entry):
            notes.repair("left out", shown(entry) + ("" if kind == "a file" else f" ({kind})"))
    return Found(name, data, tuple(others), _timestamp(folder, entries.get(TIMESTAMP, ""), notes))


def _entries(folder: Path) -> dict[str, str]:
    """name -> kind of everything in the folder, sorted; links are seen, not followed."""
    for place in (folder, folder.parent):
        if place.is_symlink():
            raise Unreadable(f"expected a folder, {shown(place.name)} is a symbolic link; put the files there")
    try:
        with os.scandir(folder) as found:
            entries = list(islice(found, MOST_ENTRIES + 1))
            kinds = {entry.name: _kind(entry.stat(follow_symlinks=False).st_mode) for entry in entries}
    except OSError as error:
        raise Unreadable(f"expected a folder, {shown(folder.name)} cannot be read: {error.strerror}") from error
    if len(entries) > MOST_ENTRIES:
        raise Unreadable(
            f"expected one notebook, {shown(folder.name)} holds more than {MOST_ENTRIES} files; keep the notebook only"
        )
    return dict(sorted(kinds.items()))


def _kind(mode: int) -> str:
    return "a file" if stat.S_ISREG(mode) else KINDS.get(stat.S_IFMT(mode), "no file")


def _candidates(files: list[str], chapter: str) -> list[str]:
    """Files that can be the notebook, the exact name first; others than those called like it only if there is none."""
    pattern = re.compile(notebook_name_pattern([chapter]), re.IGNORECASE)
    named = [name for name in files if pattern.fullmatch(name)]
    # Browsers save "coalescing.ipynb.txt" and "coalescing.json", or no extension at all.
    odd = [name for name in files if name not in named and pattern.fullmatch(_with_extension(name))]
    others = [name for name in files if name not in odd and name.lower().endswith(".ipynb")]
    return sorted(named, key=lambda name: (name != f"{chapter}.ipynb", name)) or [*odd, *others]


def _with_extension(name: str) -> str:
    stem = re.sub(r"\.(txt|json)$", "", name, flags=re.IGNORECASE)
    return stem if stem.lower().endswith(".ipynb") else f"{stem}.ipynb"


def _nothing(entries: dict[str, str], wanted: str, chapter: str) -> str:
    """Why there is no notebook to grade, and what would help."""
    pattern = re.compile(notebook_name_pattern([chapter]), re.IGNORECASE)
    if special := [name for name in entries if pattern.fullmatch(_with_extension(name))]:
        return f"expected a file {wanted}, {shown(special[0])} is {entries[special[0]]}; ask for the notebook itself"
    names = [name for name in entries if not LEFTOVERS.fullmatch(name) and name != TIMESTAMP]
    notebooks = [name for name in names if name.lower().endswith(".ipynb")]
    found = ", ".join(shown(name) for name in (notebooks or names)[:5]) or "nothing"
    archives = any(name.lower().endswith((".zip", ".tar", ".gz", ".7z", ".rar")) for name in names)
    advice = "unpack the archive" if archives else "look into the folder" if "a folder" in entries.values() else ""
    return f"expected {wanted}, found {found}; " + (advice or "ask for the notebook, or give the right one this name")


def _other_contents(folder: Path, data: bytes, rivals: list[str]) -> list[str]:
    """The rivals that do not hold the same bytes as the chosen notebook."""
    differ = []
    for rival in rivals:
        try:
            same = _read(folder / rival, MOST_BYTES) == data
        except Unreadable:
            same = False
        if not same:
            differ.append(rival)
    return differ


def _read(path: Path, most: int) -> bytes:
    """The bytes of a plain file. What became a link, a pipe or a device since it was listed is not opened for long."""
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):  # not every system has all of them
        flags |= getattr(os, name, 0)
    try:
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123  (Path.open takes no flags)
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                kind = _kind(status.st_mode)
                raise Unreadable(f"expected a file, {shown(path.name)} is {kind}; ask for the file itself")
            data = file.read(most + 1)
    except OSError as error:
        raise Unreadable(f"{shown(path.name)} cannot be read: {error.strerror}; look at its rights") from error
    if len(data) > most:
        raise Unreadable(
            f"{shown(path.name)} is larger than {most // 2**20} MiB; clear its outputs, or ask for one without outputs"
        )
    return data


def _timestamp(folder: Path, kind: str, notes: Notes) -> str:
    """The text of timestamp.txt if nbgrader can read a time in it."""
    if not kind:
        return ""
    try:
        if kind != "a file":
            raise Unreadable(f"it is {kind}")
        text = _read(folder / TIMESTAMP, 1000).decode("utf-8-sig").strip()
        # The parser would make today of "12", or fill in what is missing from the clock.
        if not re.search(r"\b(19|20)\d\d\b.*\d:\d\d", text) or parse_utc(text) is None:
            raise Unreadable("it holds no date with a time")
    except (Unreadable, ValueError, OverflowError, TypeError, AttributeError):
        notes.repair("timestamp.txt was ignored, it holds no date and time such as 2026-03-01 12:00:00 UTC")
        return ""
    return text
