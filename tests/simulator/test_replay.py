"""Every launch recorded on an H200 runs in the simulator and costs what the hardware counted.

Each launch is compared in eight counters, exactly. Where NVIDIA's compiler does not execute an access as
it is written, the launch is listed in REWRITES with the machine code that shows it, and the access is
compared as the machine executes it. Kernels of one block have exact wavefronts; the hardware adds noise
to those of many blocks, which only one launch here shows (mm/T16p0: 787 658 for 786 432).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from course.models.banks import wavefronts
from course.simulator import DeviceArray
from course.simulator.counting.counters import Counters, SiteCounts
from course.simulator.observers import CountAndCheck
from course.simulator.source import run
from tests.support.replay_kernels import replays

MEASURED = {
    c["name"]: c
    for c in json.loads((Path(__file__).parents[2] / "course/measured/h200_counters.json").read_text())["cases"]
}
FIELDS = {
    "ld_requests": ("global", "load", "instructions"),
    "ld_sectors": ("global", "load", "sectors"),
    "st_requests": ("global", "store", "instructions"),
    "st_sectors": ("global", "store", "sectors"),
    "shared_ld_instructions": ("shared", "load", "instructions"),
    "shared_st_instructions": ("shared", "store", "instructions"),
    "shared_ld_wavefronts": ("shared", "load", "wavefronts"),
    "shared_st_wavefronts": ("shared", "store", "wavefronts"),
}


def hoisted(pieces: int, site: SiteCounts) -> dict[str, int]:
    """Loaded once before the loop; an element is loaded in this many pieces."""
    return {"instructions": pieces, "sectors": site.sectors * pieces // site.instructions}


def four_merged(site: SiteCounts) -> dict[str, int]:
    """Four neighbours of a row, which all lanes of a half warp read, become one 16-byte load."""
    row_of_lane = [lane // 16 for lane in range(32)]
    each = wavefronts([64 * row for row in row_of_lane], 16, "load")
    instructions = site.instructions // 4
    return {"instructions": instructions, "wavefronts": instructions * int(each.wavefronts[0])}


class Rewrite(NamedTuple):
    """An access that the compiler (ptxas 13.0, sm_90) does not execute as it is written."""

    launches: str
    """How the names of the launches begin."""
    text: str
    """The access."""
    machine_code: str
    """From ptxas and nvdisasm -g; addresses are those of the listing, lines those of the kernel."""
    as_executed: Callable[[SiteCounts], dict[str, int]]


REWRITES = (
    Rewrite(
        "shld/float32/",
        "v[0]",
        """for j in range(...):      /*0590*/ LDG.E R5, desc[UR6][R12.64]   before .L_x_10, the loop
               t[j] = v[0]        /*07b0*/ STS [R10], R5   /*0840*/ @P1 BRA `(.L_x_10)""",
        partial(hoisted, 1),
    ),
    Rewrite(
        "shld/float64/",
        "v[0]",
        """for j in range(...):      /*0510*/ LDG.E.64 R2, desc[UR6][R2.64]   before .L_x_10, the loop
               t[j] = v[0]        /*0780*/ STS.64 [R17], R2   /*0820*/ @P1 BRA `(.L_x_10)""",
        partial(hoisted, 1),
    ),
    Rewrite(
        "shld/int8/",
        "v[0]",
        """for j in range(...):      /*0590*/ LDG.E.U8 R5, desc[UR6][R10.64]   before .L_x_10, the loop
               t[j] = v[0]        /*0780*/ STS.U8 [R10], R5   /*0810*/ @P1 BRA `(.L_x_10)""",
        partial(hoisted, 1),
    ),
    Rewrite(
        "shld/complex128/",
        "v[0]",
        """for j in range(...):      /*0590*/ LDG.E.64 R4, desc[UR6][R10.64]   before .L_x_10, the loop
                                  /*05b0*/ LDG.E.64 R6, desc[UR6][R10.64+0x8]
               t[j] = v[0]        /*07c0*/ STS.128 [R17], R4   /*0830*/ @P1 BRA `(.L_x_10)""",
        partial(hoisted, 2),
    ),
    Rewrite(
        "mm/T16p0",
        "a[ty, i]",
        """for i in range(T):        (unrolled: 16 rounds, 4 loads of a, 16 of b)
               acc += a[ty, i] *  /*0690*/ LDS.128 R8, [R17]     /*0720*/ LDS.128 R4, [R17+0x10] ...
                      b[i, tx]    /*0680*/ LDS R4, [R20]         /*06a0*/ LDS R29, [R20+0x40] ...""",
        four_merged,
    ),
)


@pytest.fixture(scope="module")
def results() -> dict[str, CountAndCheck]:
    done = {}
    for replay in replays(DeviceArray.copy_of):
        if replay.name in MEASURED:
            done[replay.name] = CountAndCheck(64)
            run(replay.kernel, replay.grid, replay.block, replay.args, observer=done[replay.name])
    return done


def counted(name: str, counters: Counters) -> dict[str, int]:
    """The eight numbers, with rewritten accesses as the machine executes them."""
    numbers = {field: counters.total(*where) for field, where in FIELDS.items()}
    for rewrite in REWRITES:
        if name.startswith(rewrite.launches):
            (site,) = (s for s in counters.sites if s.site.text == rewrite.text and s.site.kind == "load")
            executed = rewrite.as_executed(site)
            for field, (space, kind, number) in FIELDS.items():
                if (site.site.space, site.site.kind) == (space, kind):
                    numbers[field] += executed[number] - getattr(site, number)
    return numbers


def test_all_327_launches_are_replayed(results: dict[str, CountAndCheck]) -> None:
    assert len(MEASURED) == 327
    assert results.keys() == MEASURED.keys()


def test_no_more_than_15_accesses_are_exceptions_and_each_has_its_machine_code() -> None:
    assert len(REWRITES) <= 15
    for rewrite in REWRITES:
        assert "/*0" in rewrite.machine_code


@pytest.mark.parametrize("name", MEASURED)
def test_a_launch_costs_what_the_h200_counted(name: str, results: dict[str, CountAndCheck]) -> None:
    numbers = counted(name, results[name].counters)
    measured: dict[str, Any] = MEASURED[name]
    if name == "mm/T16p0":
        noisy = measured["shared_ld_wavefronts"] / numbers.pop("shared_ld_wavefronts")
        assert 1 <= noisy < 1.04
    assert numbers == {field: measured[field] for field in numbers}


def test_no_recorded_launch_has_a_finding(results: dict[str, CountAndCheck]) -> None:
    assert {name: r.hazards.findings for name, r in results.items() if r.hazards.findings} == {}


def test_flops_of_the_matrix_products_are_the_multiply_adds_of_the_h200(results: dict[str, CountAndCheck]) -> None:
    for name in ("mm/naive", "mm/naive32x8", "mm/T16p0", "mm/T16p1", "mm/T32p1"):
        flops = sum(line.flops32 for line in results[name].counters.lines.values())
        assert flops == 2 * MEASURED[name]["ffma"]
