"""Jobs for the tests of the pool; in a module of their own, because other processes import them."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from autograder.pool import at_most


def double(number: int) -> int:
    """An honest job, but for 13."""
    if number == 13:
        raise ValueError("thirteen is not liked here")
    return 2 * number


def die_at_seven(number: int) -> int:
    """A job that kills its process when the number is 7."""
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def think(number: int) -> int:
    """A job that would take years when the number is 7, deaf to Python's own signals and threads."""
    with at_most(2 if number == 7 else 600):
        return number if number != 7 else len(re.findall("(a|a)*b", "a" * 40))


def die_once(item: tuple[str, int]) -> int:
    """A job whose process dies the first time, as by bad luck."""
    folder, number = item
    mark = Path(folder) / str(number)
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def process_of(number: int) -> int:
    """Who did it."""
    return die_at_seven(number) and os.getpid()


GOES_ON = "goes on"
"""A file that the jobs of `met_double` wait for, all but the first four."""


def met_double(item: tuple[str, int]) -> int:
    """Writes down who did it, then waits until two processes are at work, and until it is told to go on."""
    folder, number = Path(item[0]), item[1]
    (folder / f"{number}-{os.getpid()}-{time.time_ns()}").touch()
    for _ in range(2400):  # two minutes
        if len(workers_at_work(folder)) == 2 and (number < 4 or (folder / GOES_ON).exists()):
            break
        time.sleep(0.05)
    return 2 * number


def workers_at_work(folder: Path) -> dict[int, set[int]]:
    """Process -> numbers of the jobs that it began."""
    found: dict[int, set[int]] = {}
    for mark in folder.glob("*-*-*"):
        number, process, _ = mark.name.split("-")
        found.setdefault(int(process), set()).add(int(number))
    return found
