"""The zoo of mistakes as compiled: named at their lines, except for what the compiled code does not show."""

from __future__ import annotations

from typing import Any

import pytest

from course.languages.running import run
from course.simulator import LaunchError, MisalignedAddress
from course.simulator.errors import UnsupportedKernel
from course.simulator.observers import CountAndCheck
from tests.simulator.hazard_zoo import Animal, correct, correct_async, faulty_async, faulty_global, faulty_shared

FAULTY = faulty_shared.ZOO.animals + faulty_global.ZOO.animals
CORRECT = correct.ZOO.animals
ASYNC = faulty_async.ZOO.animals + correct_async.ZOO.animals

UNSEEN = {
    "negative-index": "the compiled code adds the array's size to a negative index, as Python does",
    "division-by-zero": "the compiled code has a path for the divisor zero, or none that would show it",
    "divergent-barrier": "a gap of the engine: threads that skip the barrier have left when the others are let through",
}
"""Kinds of mistake that are not named, and why."""
INLINED = "a device function is inlined, and what it does has the line of its call"
OF_ITS_CALL = {
    "race_in_device", "unwritten_in_device", "lockstep_in_device", "blocks_in_device", "clash_in_device",
    "outside_in_device", "misaligned_in_device",
}  # fmt: skip
LOOPS_OF_CAS = {"atomic_maximum": "the maximum of floats is a loop of compare-and-swap that starts with a plain load"}


def findings(animal: Animal) -> list[tuple[str, int]]:
    observer = CountAndCheck()
    try:
        run(animal.kernel, animal.grid, animal.block, animal.args(), observer=observer)
    except (MisalignedAddress, LaunchError):
        assert animal.kind == "misaligned"
    return [(finding.kind, finding.line) for finding in observer.hazards.findings]


@pytest.mark.parametrize("animal", [a for a in FAULTY if a.kind not in UNSEEN], ids=lambda a: a.name)
def test_a_mistake_is_named_at_its_line(animal: Animal, compiler: Any) -> None:
    found = findings(animal)
    if animal.name in OF_ITS_CALL:
        assert animal.kind in [kind for kind, _ in found], INLINED
        assert (animal.kind, animal.line) not in found, INLINED
    else:
        assert (animal.kind, animal.line) in found


@pytest.mark.parametrize("animal", [a for a in FAULTY if a.kind in UNSEEN], ids=lambda a: a.name)
def test_what_the_compiled_code_does_not_show_is_not_named(animal: Animal, compiler: Any) -> None:
    assert animal.kind not in [kind for kind, _ in findings(animal)], UNSEEN[str(animal.kind)]


@pytest.mark.parametrize("animal", CORRECT, ids=lambda a: a.name)
def test_a_correct_kernel_has_no_finding(animal: Animal, compiler: Any) -> None:
    expected = {"global-race"} if animal.name in LOOPS_OF_CAS else set()
    assert {kind for kind, _ in findings(animal)} == expected


@pytest.mark.parametrize("animal", ASYNC, ids=lambda a: a.name)
def test_asynchronous_copies_are_refused_before_the_run(animal: Animal, compiler: Any) -> None:
    with pytest.raises(UnsupportedKernel, match=r"^line \d+: the compiler wrote the instruction cp\.async"):
        findings(animal)
