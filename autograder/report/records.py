"""What the grader wrote down about every submission: flags, repairs, failures, and which parts went wrong.

A record is read once, kept short, and trusted in nothing: one that is odd becomes a problem to look at, never an error.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from autograder.settings import Course

__all__ = ["Flag", "Record", "Records", "read_records"]

LONGEST = 500
"""Characters that are kept of one message. A student's text may be in it."""
NOT_ANSWERED = ("Not answered yet", "Not written yet", "Not run", "Not read", "Missing: add ")
"""How the checks begin when there was no answer: this says nothing about what people misunderstand."""
_NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?")


class _Part(msgspec.Struct, gc=False):
    right: bool
    message: str


class _Score(msgspec.Struct, gc=False):
    parts: dict[str, _Part]


class _Flag(msgspec.Struct, gc=False):
    question: str
    reason: str
    in_kernel: float | None
    of_record: float | None


class _File(msgspec.Struct, gc=False):
    """What is read of a record's file; it is checked while it is read, and everything else in it is passed over."""

    state: Literal["graded", "failed"]
    reason: str
    repairs: list[str]
    flags: list[_Flag]
    scores: dict[str, _Score]


@dataclass(frozen=True)
class Flag:
    """Something that a person should look at; question is "" when it concerns the whole submission."""

    student: str
    question: str
    reason: str
    in_kernel: float | None = None
    """Points that the student's own process gave."""
    of_record: float | None = None
    """Points that count."""


@dataclass(frozen=True)
class Record:
    """One submission. reason: why it is not graded, "" when it is."""

    reason: str
    repairs: tuple[str, ...]
    flags: tuple[Flag, ...]


@dataclass
class Records:
    """All records of a course."""

    found: dict[tuple[str, str], Record] = field(default_factory=dict)
    """(chapter, student) -> record."""
    wrong: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    """(chapter, question, part, message) of answers that were not right."""
    odd: list[tuple[str, str, str]] = field(default_factory=list)
    """(chapter, student, what is odd) of records that cannot be read."""

    def misconceptions(self, chapter: str) -> list[tuple[str, str, int, str]]:
        """(question, part, how often, message), the most frequent first.

        Messages that differ in their numbers only are one: "sectors returned 93, which is not right".
        """
        alike: dict[tuple[str, str, str], Counter[str]] = {}
        for (of, question, part, message), count in self.wrong.items():
            if of == chapter:
                alike.setdefault((question, part, _NUMBER.sub("#", message)), Counter())[message] += count
        found = [(key[0], key[1], some.total(), some.most_common(1)[0][0]) for key, some in alike.items()]
        return sorted(found, key=lambda entry: (-entry[2], entry))


def read_records(course: Course) -> Records:
    """Every autograder/records/<student>/<chapter>.json of a course; empty when there is none."""
    records, decoder = Records(), msgspec.json.Decoder(_File)
    for student, chapter, path in _paths(course):
        try:
            # Tens of thousands: a Path and a buffer for each take as long as reading them.
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                _take(records, chapter, student, decoder.decode(file.read()))
        except (OSError, ValueError, RecursionError) as error:
            why = f"its record cannot be read ({_short(error)}): delete {chapter}.json of this student and grade again"
            records.odd.append((chapter, student, why))
    return records


def _paths(course: Course) -> Iterator[tuple[str, str, str]]:
    root = course.records
    if not root.is_dir():
        return
    with os.scandir(root) as students:
        folders = [entry for entry in students if entry.is_dir() and not entry.name.startswith(".")]
    for folder in folders:
        with os.scandir(folder.path) as files:
            for file in files:
                if file.name.endswith(".json") and not file.name.startswith("."):
                    yield folder.name, file.name[: -len(".json")], file.path


def _take(records: Records, chapter: str, student: str, file: _File) -> None:
    flags = [Flag(student, f.question, _short(f.reason), f.in_kernel, f.of_record) for f in file.flags]
    repairs = [_short(repair) for repair in file.repairs]
    reason = (_short(file.reason) or "no reason was noted") if file.state == "failed" else ""
    records.found[chapter, student] = Record(reason, tuple(repairs), tuple(flags))
    wrong = records.wrong
    for question, score in file.scores.items():
        for name, part in score.parts.items():
            if not part.right and not part.message.startswith(NOT_ANSWERED):
                key = (chapter, question, name, part.message[:LONGEST])
                wrong[key] = wrong.get(key, 0) + 1


def _short(text: object) -> str:
    return str(text)[:LONGEST]
