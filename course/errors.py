"""What all errors of this course have in common: one sentence, the line it is about, and what to do.

A notebook shows them as just that. A traceback of the library's own frames would hide the sentence below a page of
code that the reader has not written.
"""

from __future__ import annotations

import linecache
from types import TracebackType

__all__ = [
    "ArgumentTypeError", "ArgumentValueError", "CourseError", "OutsideKernelError", "SimulatorFault",
    "UnknownNameError",
]  # fmt: skip

_LIBRARY = {"course", "numba", "numpy", "IPython", "ipykernel"}
"""Packages whose frames are not the reader's own code."""


class CourseError(Exception):
    """Something that this course itself says about what a person wrote.

    line, kernel: of the kernel, where the error is about one. filename: the file or cell that holds the line.
    """

    def __init__(
        self, message: str = "", *, line: int | None = None, kernel: str | None = None, filename: str | None = None
    ) -> None:
        super().__init__(message)
        self._message = message
        self.place(line=line, kernel=kernel, filename=filename)

    def place(self, *, line: int | None, kernel: str | None, filename: str | None) -> None:
        """Say which line the error is about."""
        self.line, self.kernel, self.filename = line, kernel, filename
        where = f"{kernel}, line {line}: " if kernel and line else f"line {line}: " if line else ""
        self.args = (where + self._message,)

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback."""
        shown = _source_line(self.filename, self.line) if self.filename else _caller(self.__traceback__)
        return [str(self), *(["", shown] if shown else [])]


class ArgumentTypeError(CourseError, TypeError):
    """An argument of the wrong type."""


class ArgumentValueError(CourseError, ValueError):
    """An argument of the right type that cannot be used."""


class UnknownNameError(CourseError, AttributeError):
    """A name that `course.cuda` does not have."""


class SimulatorFault(CourseError):
    """The simulator itself failed at a line that it should run, or refuse with a reason of its own."""


class OutsideKernelError(CourseError, RuntimeError):
    """What works in a kernel only was called outside of one."""


def _caller(traceback: TracebackType | None) -> str:
    """The last line of the reader's own code that led to the error."""
    found = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if str(frame.f_globals.get("__name__")).split(".")[0] not in _LIBRARY:
            found = _source_line(frame.f_code.co_filename, traceback.tb_lineno) or found
        traceback = traceback.tb_next
    return found


def _source_line(filename: str, line: int | None) -> str:
    """A line as a listing shows it; '' where there is none."""
    text = linecache.getline(filename, line).rstrip() if line else ""
    return f"{line:5} | {text}" if text else ""
