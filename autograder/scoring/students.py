"""Runs an answer of a student in a sandbox of its own, and takes down what it says: bounded lines of JSON."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.sandbox.bubblewrap import command
from autograder.sandbox.limits import Limits

__all__ = ["said"]

_HERE = Path(__file__).resolve().parent
_FILES = [_HERE.parent / "__init__.py", *(_HERE / f"{name}.py" for name in ("__init__", "student", "wire"))]
MOST_BYTES = 8 << 20
"""Of all that one answer says."""
GRACE = 10
"""Seconds that a process may take to start and to be ended."""


def said(program: dict[str, Any], limits: Limits, sandboxed: bool) -> tuple[list[Any], str]:
    """Run a program of `autograder.scoring.judge` and return the lines of its process, None for one that is no JSON.

    The second value is "" or why the process was ended. It may take `limits.cell_seconds`.
    """
    lines = 1 + len(program["calls"] or ())
    argv = command(
        [sys.executable, str(_HERE / "student.py")],
        limits=replace(limits, notebook_seconds=limits.cell_seconds),
        sandboxed=sandboxed,
        extra_read=_FILES,
        # The right answers stand in there; and an answer needs nothing that is slow to make.
        hide=[_course() / "checks"],
        warm=False,
    )
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            with contextlib.suppress(OSError):
                process.stdin.write(json.dumps(program).encode() + b"\n")
                process.stdin.close()
            data, ended = _read(process.stdout.fileno(), lines, time.monotonic() + limits.cell_seconds + GRACE)
        finally:
            process.kill()
    return [_parsed(line) for line in data.split(b"\n")[:lines] if line], ended


def _read(descriptor: int, lines: int, deadline: float) -> tuple[bytes, str]:
    """What comes until the end, or until there are enough lines."""
    data = bytearray()
    while data.count(b"\n") < lines:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return bytes(data), "the answer took too long and was stopped"
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            break
        data += piece
        if len(data) > MOST_BYTES:
            return b"", "the answer said far too much and was stopped"
    return bytes(data[: data.rfind(b"\n") + 1]), ""


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _course() -> Path:
    spec = importlib.util.find_spec("course")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).resolve().parent
