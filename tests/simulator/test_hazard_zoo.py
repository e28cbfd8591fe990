"""Every planted mistake is named at its line, and correct kernels stay without findings."""

from __future__ import annotations

import pytest

from course.simulator import LaunchError, MisalignedAddress
from course.simulator.access import Finding
from course.simulator.observers import CountAndCheck
from course.simulator.source import run
from tests.simulator.hazard_zoo import Animal, correct, correct_async, faulty_async, faulty_global, faulty_shared

FAULTY = faulty_shared.ZOO.animals + faulty_global.ZOO.animals + faulty_async.ZOO.animals
CORRECT = correct.ZOO.animals + correct_async.ZOO.animals


def findings(animal: Animal) -> tuple[Finding, ...]:
    observer = CountAndCheck()
    try:
        run(animal.kernel, animal.grid, animal.block, animal.args(), observer=observer)
    except (MisalignedAddress, LaunchError):
        assert animal.kind == "misaligned"
    return observer.hazards.findings


@pytest.mark.parametrize("animal", FAULTY, ids=lambda a: a.name)
def test_a_faulty_kernel_is_named_at_its_line(animal: Animal) -> None:
    found = findings(animal)
    assert (animal.kind, animal.line) in [(f.kind, f.line) for f in found], "\n".join(map(str, found)) or "nothing"
    finding = next(f for f in found if (f.kind, f.line) == (animal.kind, animal.line))
    assert finding.message and finding.remedy.endswith(".")
    assert finding.block is not None and finding.lane is not None


@pytest.mark.parametrize("animal", CORRECT, ids=lambda a: a.name)
def test_a_correct_kernel_has_no_finding(animal: Animal) -> None:
    assert findings(animal) == ()


def test_the_zoo_is_large_enough_and_has_every_kind() -> None:
    assert len(FAULTY) >= 40 and len(CORRECT) >= 40
    kinds = {"shared-race", "global-race", "lane-conflict", "missing-syncwarp", "uninitialised-shared"}
    kinds |= {"divergent-barrier", "out-of-bounds", "negative-index", "misaligned", "division-by-zero"}
    kinds |= {"async-not-waited", "async-wrong-group", "async-not-committed"}
    for kind in kinds:
        assert sum(animal.kind == kind for animal in FAULTY) >= 5


def test_a_mistake_of_the_last_block_is_named_there() -> None:
    for animal in FAULTY:
        if "last" in animal.name:
            (finding,) = [f for f in findings(animal) if f.kind == animal.kind][:1]
            grid = animal.grid if isinstance(animal.grid, int) else animal.grid[0]
            assert finding.block == (grid - 1, 0, 0), animal.name
