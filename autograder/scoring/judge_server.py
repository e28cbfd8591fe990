"""A warm process that judges: it has loaded the checks and the simulator, and forks for every judgement.

A script that `judges` starts. One line of JSON comes on stdin for each notebook, with groups of jobs, and one line
goes back for each group. A group that takes too long, or dies, harms no other one. There is one thread, so that forking
is safe.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Not this folder but the one that holds the package: in the sandbox another `autograder` comes first.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from autograder.scoring.judge import judge, warm_up

MOST_BYTES = 8 << 20
"""Of one reply."""


def main() -> None:
    """Say that we are ready, then answer until stdin ends."""
    warm_up()
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    replies.write(b'{"ready": true}\n')
    for line in sys.stdin.buffer:
        request = json.loads(line)
        for group in request["groups"]:
            replies.write(_forked(group, request["cells"], request["seconds"], replies.fileno()) + b"\n")


def _forked(group: list[dict[str, Any]], cells: list[tuple[str, str]], seconds: float, replies: int) -> bytes:
    """The replies to the jobs of a group as JSON, or one {"died": reason}."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.close(replies)
        _child(group, cells, writing)
    os.close(writing)
    try:
        data = _read(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if data is None:
        return json.dumps({"died": f"judging took longer than {seconds:g} s and was stopped"}).encode()
    if not data or len(data) > MOST_BYTES:
        return json.dumps({"died": "judging needed too much memory, or came to an early end"}).encode()
    return data


def _read(descriptor: int, deadline: float) -> bytes | None:
    """All that comes until the end; None when it takes too long."""
    data = bytearray()
    while len(data) <= MOST_BYTES:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return None
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            break
        data += piece
    return bytes(data)


def _child(group: list[dict[str, Any]], cells: list[tuple[str, str]], writing: int) -> None:
    """Judge and end. Never returns."""
    try:
        try:
            said: Any = [judge(job, cells) for job in group]
        except Exception as error:  # a fault of ours: the other answers still count
            said = {"died": f"judging failed with {type(error).__name__}: {str(error)[:200]}"}
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(said).encode())
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
