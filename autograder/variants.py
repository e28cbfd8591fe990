"""Which numbers a student's questions have: drawn from a secret of the course and the student's id.

Off until autograder/variant_secret.txt exists (`make_secret`). A row is HMAC-SHA256(secret, student, check) modulo the
number of rows: the same for everybody who knows the secret, in every process and on every machine, and nothing about
it is stored. Whoever loses the secret loses the way back from student to numbers, so keep it with the gradebook.
Row 0 is the question as release/ asks it; some students draw that one.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import unicodedata
from pathlib import Path

from autograder.settings import Course, CourseError
from course.checks.registry import CHAPTERS, Check, find, names, variant_count

__all__ = [
    "check_for",
    "make_secret",
    "other_row_in_words",
    "read_secret",
    "rows_of",
    "secret_path",
    "variant_of",
    "varying",
]

LEAST_CHARACTERS = 32
"""A shorter secret could be guessed, and with it everybody's numbers."""


def secret_path(course: Course) -> Path:
    """Where the secret lies. It is not in git, and no submission can read it while it is graded."""
    return course.root / course.area / "variant_secret.txt"


def read_secret(course: Course) -> bytes | None:
    """The secret, or None when every student has the same numbers. Raises CourseError when it is too short."""
    path = secret_path(course)
    try:
        secret = path.read_bytes().strip()
    except FileNotFoundError:
        return None
    if len(secret) < LEAST_CHARACTERS:
        raise CourseError(
            f"{path} holds {len(secret)} characters: expected at least {LEAST_CHARACTERS} random ones. "
            "Put the old file back if notebooks are out already; if not, delete it, and a new one is made"
        )
    return secret


def make_secret(course: Course) -> Path:
    """Write a new secret where there is none, readable only for this user. An old one is kept."""
    path = secret_path(course)
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123  (Path.open takes no descriptor)
            file.write(secrets.token_hex(32) + "\n")
    return path


def variant_of(secret: bytes, student: str, check: str, rows: int) -> int:
    """The row of one student for one check, from 0 to rows - 1.

    secret: bytes of variant_secret.txt without the line end. student: the id, as in submitted/<student>/.
    The same id counts as the same, however its accents are encoded (a Mac's file system changes that).
    """
    student = unicodedata.normalize("NFC", student)
    digest = hmac.digest(secret, f"{check}\0{student}".encode(), hashlib.sha256)
    return int.from_bytes(digest, "big") % rows


def varying(chapter: str) -> dict[str, int]:
    """Check -> number of rows, of all questions of a chapter whose numbers can vary."""
    if chapter not in CHAPTERS:
        return {}
    counts = {name: variant_count(name) for name in names() if name.startswith(f"{chapter}/")}
    return {name: count for name, count in counts.items() if count > 1}


def rows_of(secret: bytes | None, student: str, chapter: str) -> dict[str, int]:
    """Check -> this student's row, for the questions of a chapter whose numbers vary; empty without a secret."""
    if secret is None:
        return {}
    return {name: variant_of(secret, student, name, rows) for name, rows in varying(chapter).items()}


def check_for(name: str, variant: int = 0) -> Check:
    """The check that judges an answer to this row. Raises UnknownCheckError for a name or row that is not there."""
    return find(name, variant)


def other_row_in_words(row: int) -> str:
    """What a flag says to the instructor about an answer that belongs to another row."""
    whose = "the published numbers" if row == 0 else f"the numbers of somebody else (variant {row})"
    return f"This is the right answer to {whose}, and not to the student's own."
