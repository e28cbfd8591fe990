"""Time in tests that come out the same on a busy machine: a clock that counts looks, and a process's own work."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def seconds_per_look(step: float) -> Callable[[], float]:
    """A clock that goes on by `step` whenever somebody looks."""
    return (step * n for n in itertools.count()).__next__


@contextmanager
def work_of_at_most(seconds: float) -> Iterator[None]:
    """The block may use the processor for so long; how long it waits for a turn does not count."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < seconds, f"it worked for {spent:.1f} s"
