"""Whatever is wrong in a kernel: the course says so itself, and no exception of its engine reaches the reader."""

from __future__ import annotations

import contextlib
import io
import warnings

import pytest

from course import profile
from course.errors import CourseError, SimulatorFault
from course.simulator.source.resolver import Resolver
from tests.simulator.kernel_mutants import Mutant, mutant


def outcome(made: Mutant) -> BaseException | None:
    """What `profile` raises for a mutant."""
    original = made.original
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            profile(made.kernel, original.grid, original.block, *made.arguments, shared_bytes=original.shared,
                    max_steps=300)  # fmt: skip
        except Exception as error:
            return error
    return None


def failure(seed: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a mutant made the engine raise; '' where it ran or was refused with a reason.

    Asking numba for the types of every mutant takes most of the time, so it is asked about the failures only: what it
    refuses is refused before any thread runs.
    """
    made = mutant(seed)
    if made is None:
        return ""
    with monkeypatch.context() as patch:
        patch.setattr(Resolver, "validate", lambda *_: None)
        error = outcome(made)
    if error is not None and (not isinstance(error, CourseError) or isinstance(error, SimulatorFault)):
        again = mutant(seed)
        assert again is not None
        error = outcome(again)
    if error is None or (isinstance(error, CourseError) and not isinstance(error, SimulatorFault)):
        return ""
    return f"seed {seed}: {type(error).__name__}: {error}\n{made.text}"


def failures(seeds: range, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return [said for seed in seeds if (said := failure(seed, monkeypatch))]


def test_no_exception_but_the_courses_own_leaves_a_mistyped_kernel(monkeypatch):
    assert failures(range(150), monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 5000, 500))
def test_no_exception_but_the_courses_own_leaves_thousands_of_mistyped_kernels(first, monkeypatch):
    found = failures(range(1000 + first, 1000 + first + 500), monkeypatch)
    assert found == [], "\n\n".join(found)


def test_mutants_run_and_are_refused_in_fair_shares():
    """The mutants are no rubbish: a good part still runs, and the others fail for many reasons."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Resolver, "validate", lambda *_: None)
        made = [found for seed in range(150) if (found := mutant(seed)) is not None]
        errors = [outcome(found) for found in made]
    assert len(made) > 120
    assert sum(error is None for error in errors) > 30
    assert len({str(error)[-25:] for error in errors if error is not None}) > 40
