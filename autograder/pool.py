"""Run many jobs at once, here or on a Dask cluster, and hand back each result as soon as it is there."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from autograder.settings import CourseError, prepare_environment

__all__ = ["Lost", "at_most", "cores", "here", "kept", "on_cluster", "results"]

Job = TypeVar("Job")
Result = TypeVar("Result")

Executors = Callable[[], AbstractContextManager[Executor]]
CLUSTER_WAITING = 64
"""A third of the jobs that wait for a cluster at one time."""
CONNECT_SECONDS = 20
RETRIES = 3


class Lost(Exception):
    """The process that ran a job died, each time. The job gave no result."""


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def here(root: Path, workers: int) -> Executors:
    """Processes of this machine. Each imports what it needs once; `root` is the course that they find."""

    @contextmanager
    def started() -> Iterator[Executor]:
        # A fresh interpreter for each: a fork would inherit the locks of this process's threads.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(root,))
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    return started


@contextmanager
def kept(executors: Executors) -> Iterator[Executors]:
    """The same, started once for the whole block, and again only when a process has died: a start takes seconds."""
    current: Executor | None = None
    with ExitStack() as stack:

        @contextmanager
        def started() -> Iterator[Executor]:
            nonlocal current
            if current is None or _is_broken(current):
                current = stack.enter_context(executors())
            yield current

        yield started


def _is_broken(executor: Executor) -> bool:
    try:
        executor.submit(int)
    except BrokenProcessPool:
        return True
    return False


def _begin(root: Path) -> None:
    """What a worker does first."""
    prepare_environment(root)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers; they would wait for ever, with what they started."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End this worker when the block takes longer: its job is Lost, and the others go on elsewhere.

    Not by a signal or a thread of Python: one search of a regular expression would keep both from running.
    """
    with Path(os.devnull).open("w", encoding="ascii") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def on_cluster(address: str) -> Executors:
    """The workers of a Dask scheduler, such as "tcp://10.0.0.1:8786". A job of a worker that died goes to another one.

    Raises CourseError when `distributed` is not installed, or when no scheduler answers.
    """

    @contextmanager
    def started() -> Iterator[Executor]:
        try:
            from distributed import Client
        except ImportError as error:
            raise CourseError("`--scheduler` needs Dask: run python -m pip install distributed") from error
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise CourseError(f"no Dask scheduler answers at {address!r}: {error}") from error
        with client:
            # Equal jobs are not one job: two students may hand in the same bytes.
            yield client.get_executor(pure=False, retries=RETRIES)

    return started


def results(
    executors: Executors, function: Callable[[Job], Result], jobs: Iterable[Job], waiting: int
) -> Iterator[tuple[Job, Result | Exception]]:
    """(job, its result or what it raised) in the order in which they end.

    waiting: at most so many jobs are begun or wait, so memory does not grow with their number; `jobs` is read as
    places get free. When a process dies, each job that was begun runs once more, alone: only the one that kills its
    process again is Lost.
    """
    source = iter(jobs)
    suspects: list[Job] = []
    ended = False
    while not ended or suspects:
        while suspects:
            job = suspects.pop()
            yield job, _alone(executors, function, job)
        with executors() as executor:
            running: dict[Future[Any], Job] = {}
            while True:
                while not ended and len(running) < waiting:
                    try:
                        job = next(source)
                    except StopIteration:
                        ended = True
                        break
                    running[executor.submit(function, job)] = job
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    error = future.exception()
                    if isinstance(error, BrokenProcessPool):
                        suspects.append(job)
                    else:
                        yield job, _outcome(future)
                if suspects:
                    suspects += running.values()
                    break


def _alone(executors: Executors, function: Callable[[Job], Result], job: Job) -> Result | Exception:
    with executors() as executor:
        return _outcome(executor.submit(function, job))


def _outcome(future: Future[Result]) -> Result | Exception:
    try:
        return future.result()
    except BrokenProcessPool:
        return Lost("its process died twice, or took too long and was stopped")
    except Exception as error:  # whatever it was belongs to this job alone
        return error
