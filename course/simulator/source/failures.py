"""What ends a launch that fails: always an error of the course's own, with the line that ran."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from course.errors import CourseError
from course.simulator.errors import LaunchError
from course.simulator.source.compiler.program import Program, fault
from course.simulator.source.lanes import State

__all__ = ["from_outside", "placed"]


class _FromOutside(Exception):
    """Carries what a progress function raises: nothing of the simulator's."""


@contextlib.contextmanager
def from_outside() -> Iterator[None]:
    """Let what a function of the caller raises through `placed` as it is."""
    try:
        yield
    except Exception as error:
        raise _FromOutside from error


@contextlib.contextmanager
def placed(program: Program, state: State) -> Iterator[None]:
    """Every error that ends a launch names its line; no other class than the course's own gets out."""
    try:
        yield
    except _FromOutside as carried:
        assert carried.__cause__ is not None
        raise carried.__cause__ from None
    except CourseError as error:
        error.place(**_place_of(program, error.line or state.line))
        raise
    except MemoryError:
        raise LaunchError(
            "this computer has too little memory for the arrays of the kernel: use smaller local and shared arrays.",
            **_place_of(program, state.line),
        ) from None
    except RecursionError:
        raise LaunchError(
            "expressions are nested too deeply: use variables.", **_place_of(program, state.line)
        ) from None
    except Exception as error:
        raise fault(error, **_place_of(program, state.line)) from error


def _place_of(program: Program, line: int) -> Any:
    """Which function of the kernel a line belongs to."""
    holders = (s for s in program.sources if s.first_line <= line < s.first_line + len(s.lines))
    source = next(holders, program.source)
    return {"line": line, "kernel": source.name, "filename": source.filename}
