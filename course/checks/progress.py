"""What was tried so far, kept on this computer: ``course.progress()``.

One small file per chapter, so that two notebooks never write the same one. Nothing is kept while a notebook is
graded, and where nothing can be written the checks work all the same.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from course.checks.registry import CHAPTERS, find, names
from course.checks.result import Result
from course.tables import as_html, as_text

__all__ = ["FOLDER_VARIABLE", "Progress", "Record", "attempted", "folder", "progress", "remember"]

FOLDER_VARIABLE = "COURSE_PROGRESS"
"""Environment variable with the folder to use instead of the user's own."""
_HEAD = ("task", "best points", "of", "tries")


@dataclass(frozen=True)
class Record:
    """The attempts at one task; `best` is the most points of any of them."""

    best: float = 0.0
    tries: int = 0


_session: dict[str, Record] = {}
"""Attempts of this process: all there is where no file can be written."""


def folder() -> Path:
    """Where the files lie: $COURSE_PROGRESS, or a folder of the user's own."""
    if chosen := os.environ.get(FOLDER_VARIABLE):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_data_dir("gpu-memory-course", appauthor=False))


def remember(result: Result) -> None:
    """Keep an attempt. A task that nobody has begun is no attempt."""
    if not result.answered:
        return
    chapter = result.name.partition("/")[0]
    kept = _read(chapter)
    before = kept.get(result.name, Record())
    kept[result.name] = _session[result.name] = Record(max(before.best, result.points), before.tries + 1)
    if "NBGRADER_EXECUTION" not in os.environ:  # set by nbgrader while it grades
        with contextlib.suppress(OSError):
            _write(chapter, kept)


def attempted(name: str) -> bool:
    """Whether a task was tried, now or another day."""
    return name in _read(name.partition("/")[0])


def _read(chapter: str) -> dict[str, Record]:
    mine = {name: record for name, record in _session.items() if name.startswith(f"{chapter}/")}
    try:
        kept = json.loads((folder() / f"{chapter}.json").read_text(encoding="utf-8"))
        found = {name: Record(float(r["best"]), int(r["tries"])) for name, r in kept.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return mine  # no file yet, or one that something else has spoiled
    return {**mine, **found}


def _write(chapter: str, records: dict[str, Record]) -> None:
    """Replace the file at once: a process that is killed leaves the old one."""
    path = folder() / f"{chapter}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}.new")
    new.write_text(json.dumps({name: vars(record) for name, record in records.items()}, indent=1), encoding="utf-8")
    new.replace(path)


@dataclass(frozen=True)
class Progress:
    """Every task with its best attempt; shows itself as a table."""

    records: dict[str, Record]

    @property
    def next_task(self) -> str:
        """The first task, in the order of the course, that is not right yet; '' when all are."""
        return next((name for name, record in self.records.items() if record.best < find(name).max_points), "")

    @property
    def verdict(self) -> str:
        """One sentence for each chapter that has begun, and where to go on."""
        told = []
        for chapter in CHAPTERS:
            mine = {name: record for name, record in self.records.items() if name.startswith(f"{chapter}/")}
            done = sum(record.best >= find(name).max_points for name, record in mine.items())
            if any(record.tries for record in mine.values()):
                told.append(f"{chapter}: {done} of {len(mine)} tasks are right.")
        told.append(f"Next: {self.next_task}." if self.next_task else "Everything is right.")
        return " ".join(told)

    @property
    def _cells(self) -> list[list[str]]:
        return [
            [name, f"{record.best:g}" if record.tries else "not tried", f"{find(name).max_points:g}", str(record.tries)]
            for name, record in self.records.items()
        ]

    def __str__(self) -> str:
        return f"{as_text(_HEAD, self._cells)}\n{self.verdict}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(_HEAD, self._cells, name="Your progress") + f"<p>{self.verdict}</p>"


def progress() -> Progress:
    """Your best attempt at every task of the course, and where to go on. Works without a network."""
    kept: dict[str, Record] = {}
    for chapter in CHAPTERS:
        kept |= _read(chapter)
    return Progress({name: kept.get(name, Record()) for name in names()})
