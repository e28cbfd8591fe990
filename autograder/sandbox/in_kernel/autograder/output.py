"""What a cell prints is cut where it is printed, and what it shows waits until the grader reads it."""

from __future__ import annotations

import os
from typing import Any

import zmq
from ipykernel.iostream import IOPubThread, OutStream
from jupyter_client.session import Session

__all__ = ["CUT", "BoundedStream"]

CUT = "\n[The rest of this output was cut: it is too long.]\n"
MOST = int(os.environ.get("GRADER_OUTPUT_CHARACTERS", 1 << 20))


class BoundedStream(OutStream):
    """stdout or stderr of a kernel that takes `MOST` characters from one cell."""

    def __init__(self, session: Session, thread: IOPubThread, *args: Any, **kwargs: Any) -> None:
        self._cell, self._room = "", MOST
        super().__init__(session, thread, *args, **kwargs)
        # A full socket drops what comes next, the message that ends the cell too. Now it makes the kernel wait.
        thread.schedule(lambda: thread.socket.setsockopt(zmq.XPUB_NODROP, 1))

    def write(self, string: str) -> int:
        """Like OutStream.write, but what does not fit is dropped after one note."""
        cell = str(self.parent_header.get("msg_id", ""))
        if cell != self._cell:
            self._cell, self._room = cell, MOST
        if self._room <= 0:
            return len(string)
        self._room -= len(string)
        super().write(string if self._room > 0 else string[: self._room + len(string)] + CUT)
        return len(string)
