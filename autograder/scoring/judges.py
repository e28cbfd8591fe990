"""The warm judging processes of this process: started when first needed, one for each thread that asks at a time."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.sandbox.bubblewrap import command
from autograder.sandbox.limits import Limits
from course.checks.kernel import KernelCheck
from course.checks.registry import find

__all__ = ["JudgeError", "ask"]

_HERE = Path(__file__).resolve().parent
_FILES = [_HERE.parent / "__init__.py", _HERE]
START_SECONDS = 180
"""The first start on a machine compiles."""
FOREVER = 10**8
"""Seconds; a judging process ends when its grader ends."""

Job = dict[str, Any]


class JudgeError(RuntimeError):
    """The judging process does not start, or ended twice on the same notebook."""


def ask(jobs: Sequence[Job], cells: Sequence[tuple[str, str]], limits: Limits, sandboxed: bool) -> list[Job]:
    """The replies of `judge.judge` to jobs on one notebook; {"died": reason} for one that came to no end.

    A kernel is judged in a process of its own; all other jobs share one, and get their own when that one dies.
    Raises JudgeError when there is no reply at all.
    """
    together = [n for n, job in enumerate(jobs) if not isinstance(find(job["check"]), KernelCheck)]
    groups = [*([together] if together else []), *([n] for n in range(len(jobs)) if n not in together)]
    replies: dict[int, Job] = {}
    while groups:
        found = _sent([[jobs[n] for n in group] for group in groups], cells, limits, sandboxed)
        again: list[list[int]] = []
        for group, reply in zip(groups, found, strict=True):
            if isinstance(reply, list):
                replies.update(zip(group, reply, strict=True))
            elif len(group) == 1:
                replies[group[0]] = reply
            else:
                again += [[n] for n in group]
        groups = again
    return [replies[n] for n in range(len(jobs))]


def _sent(groups: list[list[Job]], cells: Sequence[tuple[str, str]], limits: Limits, sandboxed: bool) -> list[Any]:
    """The reply to each group: a list, or {"died": reason}. A process that fails is replaced once."""
    request = {"groups": groups, "cells": list(cells), "seconds": limits.cell_seconds}
    for last in (False, True):
        with contextlib.suppress(*(() if last else (JudgeError,))), _borrowed(limits, sandboxed) as server:
            return server.replies(request)
    raise AssertionError("the last try returns or raises")


@dataclass
class _Pool:
    """Judging processes that nobody uses at the moment. A forked copy of this process must not use its parent's."""

    owner: int = field(default_factory=os.getpid)
    idle: list[_Server] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


_pool = _Pool()


@contextlib.contextmanager
def _borrowed(limits: Limits, sandboxed: bool) -> Iterator[_Server]:
    """A judging process for one request. One that failed is ended and not used again."""
    global _pool
    if _pool.owner != os.getpid():
        _pool = _Pool()
    pool = _pool
    with pool.lock:
        fitting = [server for server in pool.idle if server.terms == (limits, sandboxed)]
        if fitting:
            pool.idle.remove(fitting[0])
    server = fitting[0] if fitting else _Server(limits, sandboxed)
    try:
        yield server
    except BaseException:
        server.end()
        raise
    with pool.lock:
        pool.idle.append(server)


@atexit.register
def _end_all() -> None:
    if _pool.owner == os.getpid():
        for server in _pool.idle:
            server.end()


class _Server:
    """One judging process."""

    def __init__(self, limits: Limits, sandboxed: bool) -> None:
        self.terms = (limits, sandboxed)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        argv = command(
            [sys.executable, str(_HERE / "judge_server.py")],
            limits=replace(limits, notebook_seconds=FOREVER),
            sandboxed=sandboxed,
            extra_read=_FILES,
        )
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said)
        self._rest = b""
        try:
            self._line(START_SECONDS)
        except BaseException:
            self.end()
            raise

    def replies(self, request: dict[str, Any]) -> list[Any]:
        """Send one request and wait for its replies, one for each group. Raises JudgeError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise JudgeError(self._why()) from None
        return [self._line(request["seconds"] + 10) for _ in request["groups"]]

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()
        self._said.close()

    def _line(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor, deadline = self._process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise JudgeError(f"the judging process did not answer within {seconds:g} s")
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                raise JudgeError(self._why())
            self._rest += piece
        line, self._rest = self._rest.split(b"\n", 1)
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _why(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._said.seek(0)
        last = self._said.read()[-2000:].decode(errors="replace").strip().split("\n")[-1]
        return f"the judging process ended: {last or 'it said nothing'}"
