"""A real Dask scheduler and two worker processes on this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["loopback_cluster"]


@contextlib.contextmanager
def loopback_cluster(folder: Path, importable: Sequence[Path]) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """(address of the scheduler, worker processes), ended when the block is left.

    folder: where they run. importable: folders that their Python finds modules in.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, importable))}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker = ("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    with contextlib.ExitStack() as stack:

        def start(program: str, *options: str) -> subprocess.Popen[bytes]:
            argv = [sys.executable, "-m", f"distributed.cli.{program}", *options]
            started = subprocess.Popen(argv, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
            stack.callback(started.wait)
            stack.callback(started.kill)
            return started

        start(*scheduler)
        yield address, [start(*worker) for _ in range(2)]
