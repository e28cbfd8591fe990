"""A profile of the compiled code: its counts, its registers, and what the assembler changed, in the same listing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from course.languages import tools
from course.profiling.profile import profile
from course.simulator import LaunchError
from tests.languages.kernels import tiled

WIDE = "4 loads joined into one 16-byte load."


def tiles():
    return tuple(np.ones((64, 64), np.float32) for _ in range(3))


@pytest.fixture(scope="module")
def compiled():
    try:
        tools.assembler(), tools.disassembler()
    except tools.NoCompilerError:
        pytest.skip("NVIDIA's compiler is not complete here")
    arrays = tiles()
    found = profile(tiled, (4, 4), (16, 16), *arrays, level="machine")
    assert (arrays[2] == 64).all()
    return found


def test_joined_loads_are_counted_once(compiled):
    written = profile(tiled, (4, 4), (16, 16), *tiles())
    loads = [one.total("shared", "instructions", "load") for one in (written, compiled)]
    warps, tiles_ = 16 * 8, 4
    assert loads == [warps * tiles_ * 32, warps * tiles_ * (16 // 4 + 16)]
    assert (written.requests, written.sectors) == (compiled.requests, compiled.sectors)


def test_an_access_that_was_joined_to_another_has_no_row_of_its_own(compiled):
    loads = [c for c in compiled.sites if (c.site.space, c.site.kind) == ("shared", "load")]
    assert len(loads) == 16 // 4 + 16 and "never reached" not in str(compiled)


def test_the_profile_has_what_the_compiler_says(compiled):
    machine = compiled.machine
    assert (compiled.level, machine.cc) == ("machine", (9, 0))
    assert 16 <= machine.registers <= 64 and machine.spill_store_bytes == machine.spill_load_bytes == 0
    assert machine.shared_bytes == 2 * 16 * 16 * 4
    assert sum(machine.mix.values()) > 50 and machine.mix["load shared"] >= 20
    assert any(WIDE in sentence for _, sentence in machine.rewrites)


def test_a_profile_of_the_text_has_no_machine_code():
    written = profile(tiled, (4, 4), (16, 16), *tiles())
    assert (written.level, written.machine) == ("source", None)
    assert "source-level" in str(written) and "registers" not in str(written)


def test_the_listing_says_what_ran_and_the_rewrites_below_their_line(compiled):
    lines = str(compiled).splitlines()
    place = next(n for n, text in enumerate(lines) if "total += rows[i, k]" in text)
    following = next(n for n, text in enumerate(lines) if n > place and re.match(r"[ \d.]{5}  +\d+  ", text[:13]))
    assert WIDE in " ".join(part.strip() for part in lines[place:following])
    assert re.search(r"machine-level \(as compiled for compute capability 9\.0 by ptxas [\d.]+\)", str(compiled))
    assert re.search(rf"registers +{compiled.machine.registers} a thread, no spills", str(compiled))


def test_the_html_says_the_same(compiled):
    html = compiled._repr_html_()
    assert WIDE in html and "machine-level" in html
    ET.fromstring(re.sub(r"<style>.*?</style>", "", html, flags=re.S))


@pytest.mark.parametrize("level", ["sass", None, 3])
def test_another_level_is_refused(level):
    with pytest.raises(
        LaunchError, match=r'^expected level="source" or level="machine", got .*: say one of the two\.$'
    ):
        profile(tiled, (4, 4), (16, 16), *tiles(), level=level)


@pytest.mark.parametrize("cc", ["9.0", 90, (9,), (9, "0")])
def test_another_compute_capability_is_refused(cc):
    with pytest.raises(LaunchError, match=r"^expected cc=\(major, minor\), two whole numbers such as \(9, 0\), got "):
        profile(tiled, (4, 4), (16, 16), *tiles(), level="machine", cc=cc)
