"""Time in tests that come out the same on a busy machine: a clock that counts looks, and a process's own work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Ticking:
    """A clock on which every look takes a second."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return float(self.looks)


@contextmanager
def work_of_at_most(seconds: float) -> Iterator[None]:
    """The block may use the processor for so long; how long it waits for a turn does not count."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < seconds, f"it worked for {spent:.1f} s"
