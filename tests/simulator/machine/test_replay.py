"""Every launch recorded on an H200 costs what the hardware counted when its compiled code runs: without exceptions.

Every third launch is among the fast tests, all of them among the slow ones.
"""

from __future__ import annotations

from typing import Any

import pytest

from course.languages.running import run
from course.simulator import DeviceArray
from course.simulator.observers import CountAndCheck
from tests.simulator.test_replay import FIELDS, MEASURED
from tests.support.replay_kernels import replays

NAMES = list(MEASURED)


@pytest.fixture(scope="module")
def launches(compiler: Any) -> dict[str, Any]:
    return {replay.name: replay for replay in replays(DeviceArray.copy_of)}


@pytest.mark.parametrize(
    "name", [name if not n % 3 else pytest.param(name, marks=pytest.mark.slow) for n, name in enumerate(NAMES)]
)
def test_a_launch_costs_what_the_h200_counted(name: str, launches: dict[str, Any]) -> None:
    replay = launches[name]
    observer = CountAndCheck()
    run(replay.kernel, replay.grid, replay.block, replay.args, observer=observer)
    numbers = {field: observer.counters.total(*where) for field, where in FIELDS.items()}
    measured = MEASURED[name]
    if name == "mm/T16p0":  # of many blocks: the hardware adds noise
        noisy = measured["shared_ld_wavefronts"] / numbers.pop("shared_ld_wavefronts")
        assert 1 <= noisy < 1.04
    assert numbers == {field: measured[field] for field in numbers}
    assert not observer.hazards.findings
