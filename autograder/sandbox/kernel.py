"""A kernel in the sandbox, and what the grader takes from it: the kernel's messages come from a student's program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import zmq
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.session import Session, new_id

from autograder.sandbox.bubblewrap import command
from autograder.sandbox.in_kernel.autograder.output import CUT
from autograder.sandbox.limits import Limits

__all__ = ["Kernel", "PrivateFolder", "private_folder"]

WAITING = 100
"""Messages that wait here while an earlier one is read; a kernel that sends more has to wait."""

INSIST_SECONDS = 1.0
"""Between two interrupts of the same cell."""

STREAM = "IPKernelApp.outstream_class=autograder.output.BoundedStream"

KEPT = frozenset({"status", "execute_input"})
"""Messages that end a cell or number it: never dropped, and small."""


class PrivateFolder:
    """All files of one kernel, for the grader's user alone."""

    def __init__(self, path: Path) -> None:
        self.sockets = path / "s"
        self.connection = path / "kernel.json"
        self.report = path / "stopped"
        self.errors = path / "stderr"
        self.work = path / "work"
        self.work.mkdir()
        self.sockets.mkdir()
        # The sandbox's own user makes the sockets; nobody else comes past the folder around this one.
        self.sockets.chmod(0o777)

    def why(self) -> str:
        """Why the supervisor ended the kernel; "" when it did not."""
        return self.report.read_text(encoding="utf-8") if self.report.exists() else ""

    def last_words(self) -> str:
        """The last line that the kernel's process, or the sandbox, wrote to stderr."""
        with self.errors.open("rb") as file:
            file.seek(-min(4096, self.errors.stat().st_size), os.SEEK_END)
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


@contextmanager
def private_folder() -> Iterator[PrivateFolder]:
    """A folder that is removed at the end, with a path that is short enough for Unix sockets (107 bytes)."""
    place = tempfile.gettempdir()
    if len(place) > 60 and Path("/tmp").is_dir():
        place = "/tmp"
    # A kernel that was just killed may still be making files for a moment.
    with tempfile.TemporaryDirectory(prefix="grade-", dir=place, ignore_cleanup_errors=True) as folder:
        yield PrivateFolder(Path(folder).resolve())


class _OneSpec(KernelSpecManager):
    """Knows one kernel, whatever name a notebook asks for: no file on disk, so JupyterLab never sees it."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__()
        self._argv = argv

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(argv=self._argv, display_name="Python 3", language="python", interrupt_mode="message")


class _BoundedChannel(AsyncZMQSocketChannel):
    """iopub, without what a cell shows beyond the limits, and without what is no message."""

    def __init__(self, limits: Limits, socket: zmq.asyncio.Socket, session: Session) -> None:
        super().__init__(socket, session)
        self._limits = limits
        self._of_cell: dict[str, int] = {}
        self._total = 0

    async def _recv(self, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]  # as its base class does
        while True:
            frames = await self.socket.recv_multipart(**kwargs)
            # A flood of messages must not keep time limits from being looked at.
            await asyncio.sleep(0)
            with suppress(ValueError, TypeError, KeyError, IndexError, RecursionError):
                message = self.session.deserialize(self.session.feed_identities(frames)[1])
                if message["msg_type"] in KEPT or self._fits(message, sum(map(len, frames))):
                    return message

    def _fits(self, message: dict[str, Any], size: int) -> bool:
        """Count a message. The first one that does not fit becomes a note."""
        cell = str(message["parent_header"].get("msg_id", ""))
        before, self._of_cell[cell] = self._of_cell.get(cell, 0), self._of_cell.get(cell, 0) + size
        self._total += size
        if self._of_cell[cell] <= self._limits.output_bytes and self._total <= self._limits.all_output_bytes:
            return True
        first = before <= self._limits.output_bytes and self._total - size <= self._limits.all_output_bytes
        message["msg_type"] = message["header"]["msg_type"] = "stream"
        message["content"] = {"name": "stdout", "text": CUT}
        return first


class _Client(AsyncKernelClient):
    limits: Limits

    def start_channels(self, *args: Any, **kwargs: Any) -> None:
        """Open the channels, all but the heartbeat: its thread waits for ever when a kernel cuts that connection.

        Nothing here needs it: whether the kernel lives is known from its process.
        """
        super().start_channels(*args, **{**kwargs, "hb": False})

    @property
    def iopub_channel(self) -> _BoundedChannel:
        """What the kernel shows, within the limits."""
        if self._iopub_channel is None:
            socket: Any = self.connect_iopub()
            self._iopub_channel = _BoundedChannel(self.limits, socket, self.session)
        channel: _BoundedChannel = self._iopub_channel
        return channel


class Kernel(AsyncKernelManager):
    """A Python kernel for one notebook, in the sandbox or at least within the limits.

    Its socket takes no message longer than `limits.message_bytes`: ZeroMQ then drops the connection and makes a new
    one, so that the message is never in this process's memory.
    """

    def __init__(self, folder: PrivateFolder, limits: Limits, sandboxed: bool) -> None:
        argv = command(
            [sys.executable, "-m", "ipykernel_launcher", "-f", str(folder.connection), f"--{STREAM}"],
            limits=limits,
            sandboxed=sandboxed,
            copies=[folder.connection],
            sockets=folder.sockets,
            report=folder.report,
        )
        context = zmq.asyncio.Context()
        context.setsockopt(zmq.MAXMSGSIZE, limits.message_bytes)
        context.setsockopt(zmq.RCVHWM, WAITING)
        # Windows has no sockets in the file system.
        place = {} if sys.platform == "win32" else {"transport": "ipc", "ip": str(folder.sockets / "k")}
        super().__init__(
            context=context, kernel_spec_manager=_OneSpec(argv), connection_file=str(folder.connection), **place
        )
        self._folder, self._limits = folder, limits
        self._insisting: asyncio.Future[None] | None = None

    async def start_kernel(self, **kwargs: Any) -> None:  # type: ignore[override]  # as its base class does
        """Start it; what it writes past the notebook goes to a file of its folder, never to the grader's terminal."""
        with self._folder.errors.open("wb") as errors:
            # Nothing of this environment reaches the student's process: the supervisor makes a new one.
            await super().start_kernel(
                **{**kwargs, "cwd": str(self._folder.work), "stdout": subprocess.DEVNULL, "stderr": errors}
            )

    async def interrupt_kernel(self) -> None:  # type: ignore[override]  # as its base class does
        """Interrupt the cell, and again and again until `calm`.

        Checks catch an interrupt to say which call never ended; the next line of the cell may call it once more.
        """
        await super().interrupt_kernel()
        if self._insisting is None:
            self._insisting = asyncio.ensure_future(self._insist())

    async def _insist(self) -> None:
        with suppress(RuntimeError):  # it has died meanwhile
            while True:
                await asyncio.sleep(INSIST_SECONDS)
                await super().interrupt_kernel()

    def calm(self) -> None:
        """The cell has ended: no more interrupts."""
        if self._insisting is not None:
            self._insisting.cancel()
            self._insisting = None

    def client(self, **kwargs: Any) -> AsyncKernelClient:  # type: ignore[override]  # as its base class does
        """A client that takes only what the limits allow."""
        client = _Client(
            **{**self.get_connection_info(session=True), "parent": self, "context": self.context, **kwargs}
        )
        client.limits = self._limits
        # It has a clone of our session, which counts its messages alike: a cell and an interrupt would share an id, and
        # the end of the interrupt would be taken for the end of the cell.
        client.session.session = new_id()
        return client

    def end(self) -> None:
        """End the kernel, if it is still there, and close all sockets. For every way out, exceptions included."""
        self.calm()
        process = getattr(self.provisioner, "process", None)
        if process is not None:
            process.kill()
            process.wait()
        self.context.destroy(linger=0)
