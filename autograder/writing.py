"""Write a file whole or not at all, and build a folder where nobody else builds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from autograder.settings import CourseError

__all__ = ["scratch", "write"]

WAIT_SECONDS = 300
"""What is built in a scratch folder takes some seconds."""


def write(place: Path, content: bytes) -> None:
    """Put `content` at `place`, in place of what was there; whoever reads it sees the old or the new, never half."""
    place.parent.mkdir(parents=True, exist_ok=True)
    # The same name each time: what a run that was killed left behind is replaced by the next one.
    new = place.with_name(f".{place.name}.new")
    new.write_bytes(content)
    new.replace(place)


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """An empty folder for this process, removed at the end. Only its owner can read it.

    It has the same name each time, so the next process removes what one that was killed left behind. Another process
    that wants it waits; raises CourseError when it waits for too long.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.with_name(f"{folder.name}.lock"))
    try:
        lock.acquire(timeout=WAIT_SECONDS)
    except Timeout:
        raise CourseError(f"another process works in {folder}; wait until it has ended, or end it") from None
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()
