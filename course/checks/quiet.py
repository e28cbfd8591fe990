"""Run a student's code without letting it write: nbgrader takes anything on stderr as a failure."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator

__all__ = ["quiet"]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what the code inside prints, logs, warns or writes to the process's stdout and stderr."""
    silenced = logging.root.manager.disable
    with (
        _descriptor_to_nowhere(1, sys.__stdout__),
        _descriptor_to_nowhere(2, sys.__stderr__),
        contextlib.redirect_stdout(_Nowhere()),
        contextlib.redirect_stderr(_Nowhere()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        logging.disable()
        try:
            yield
        finally:
            logging.disable(silenced)


class _Nowhere(io.TextIOBase):
    """A stream that keeps nothing, so that megabytes of output cost no memory."""

    def write(self, text: str, /) -> int:
        return len(text)


@contextlib.contextmanager
def _descriptor_to_nowhere(descriptor: int, stream: object) -> Iterator[None]:
    """Point a file descriptor of the process at the null device; nothing to do where it is closed."""
    _flush(stream)
    try:
        saved = os.dup(descriptor)
    except OSError:
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - os.devnull is a name, not a path on Windows
            os.dup2(nowhere.fileno(), descriptor)
        yield
        _flush(stream)
    finally:
        with contextlib.suppress(OSError):  # the code inside may have closed it
            os.dup2(saved, descriptor)
            os.close(saved)


def _flush(stream: object) -> None:
    if isinstance(stream, io.TextIOBase):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
