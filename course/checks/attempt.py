"""One launch of a student's kernel in the simulator: its profile and what is wrong with its results, in words.

Never a GPU, never an exception, never endless: loops have a step limit and every run has a deadline.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from course.checks.outcome import message
from course.checks.quiet import quiet
from course.checks.values import type_name
from course.errors import CourseError

if TYPE_CHECKING:
    from course.profiling.profile import Profile

__all__ = ["Attempt", "Launch", "Watched", "attempt", "warm_up"]

MAX_STEPS = 20_000
"""Loop iterations of a launch; the shapes of the exercises need far fewer."""
_LONGEST_MESSAGE = 400
_TOLERANCE = 1e-5
"""Relative error of a float32 result; sums in another order stay below it."""


@dataclass(frozen=True)
class Watched:
    """An array that the kernel gets, and its values after a right run. NaN stands where nothing is written."""

    name: str
    array: Any
    """What was passed: a NumPy array, or a DeviceArray (then the whole allocation, also around a view)."""
    expected: npt.NDArray[Any]


@dataclass(frozen=True)
class Launch:
    """One launch, what it must leave behind, and what it may cost.

    budgets: part of the exercise -> number of `SiteCounts` ("sectors", "instructions") -> the most allowed.
    """

    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: tuple[Any, ...]
    watched: tuple[Watched, ...]
    budgets: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Attempt:
    """What one launch gave.

    problem: why there is no profile; it continues the sentence "scale ...". faults: array -> what is wrong with it.
    hopeless: no launch of this kernel can do better. interrupted: a person or the deadline stopped it.
    """

    profile: Profile | None = None
    problem: str = ""
    faults: tuple[tuple[str, str], ...] = ()
    hopeless: bool = False
    interrupted: bool = False

    @property
    def right(self) -> bool:
        """Whether the kernel ran to its end and left the right values."""
        return self.profile is not None and not self.faults


class _OutOfTimeError(Exception):
    """The deadline has passed."""


def warm_up() -> None:
    """Load what the first launch needs, so that it does not count against a deadline."""
    from course.simulator import observers

    with quiet():
        observers.warm_up()


def attempt(kernel: object, launch: Launch, deadline: float, *, exact_places: bool) -> Attempt:
    """Run the kernel in the simulator. `deadline` is a time of `time.monotonic()`.

    exact_places: whether faults may name an index (not for hidden shapes).
    """

    def watch() -> None:
        if time.monotonic() > deadline:
            raise _OutOfTimeError

    with quiet():
        try:
            return _run(kernel, launch, watch, exact_places)
        except BaseException as error:  # a kernel may bring objects of the student's own: anything can come
            return _failure(error)


def _run(kernel: object, launch: Launch, watch: Any, exact_places: bool) -> Attempt:
    from course.profiling.profile import profile  # imports the simulator, which no question needs

    watch()
    result = profile(kernel, launch.grid, launch.block, *launch.arguments,  # type: ignore[arg-type]
                     seconds=float("inf"), max_steps=MAX_STEPS, watch=watch)  # fmt: skip
    faults = ((watched.name, _fault(watched, exact_places)) for watched in launch.watched)
    return Attempt(result, faults=tuple((name, fault) for name, fault in faults if fault))


def _failure(error: BaseException) -> Attempt:
    from course.simulator import LaunchError, StepLimit

    if isinstance(error, (KeyboardInterrupt, _OutOfTimeError)):
        return Attempt(problem="took too long and was stopped: look for a loop that never ends", interrupted=True)
    text = message(error, _LONGEST_MESSAGE)
    if isinstance(error, CourseError):
        told = f"was stopped: {text}"  # a sentence of its own, which needs no name of a class
    else:
        told = f"stopped with {type_name(error)}: {text}" if text else f"stopped with {type_name(error)}"
    if isinstance(error, StepLimit):
        return Attempt(problem=told, interrupted=True)
    # Everything but an error at run time is a matter of the kernel's text and the types, whatever the shape.
    return Attempt(problem=told, hopeless=not isinstance(error, LaunchError))


def _fault(watched: Watched, exact_places: bool) -> str:
    """Which values of an array are wrong, and how; '' when none is."""
    got, expected = np.asarray(watched.array).ravel(), watched.expected.ravel()
    wrong = np.flatnonzero(~np.isclose(got, expected, rtol=_TOLERANCE, atol=0, equal_nan=True))
    if not wrong.size:
        return ""
    due = np.flatnonzero(~np.isnan(expected))
    if np.isnan(got[wrong]).all():
        how = "never written"
    elif np.isnan(got[wrong]).any() and not np.isnan(expected[wrong]).any():
        how = "some never written, some not the right values"
    elif np.isnan(expected[wrong]).all():
        how = "written, but not part of the task"
    else:
        how = "not the right values"
    return f"{_place(wrong, due, exact_places)}: {how}"


def _place(wrong: npt.NDArray[np.intp], due: npt.NDArray[np.intp], exact: bool) -> str:
    """'the last 3 of 1001 elements', as exactly as may be told."""
    if np.array_equal(wrong, due):
        return "all elements"
    ends = (("the last", due[-wrong.size :]), ("the first", due[: wrong.size]))
    end = next((name for name, places in ends if np.array_equal(wrong, places)), "")
    if not exact:
        return f"{end or 'some'} elements"
    return f"{end} {wrong.size} of {due.size} elements".lstrip() + ("" if end else f", the first at index {wrong[0]}")
