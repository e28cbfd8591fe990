"""What the assembler did to shared accesses is found in the machine code, counted, and said."""

from __future__ import annotations

import numpy as np

from course.languages.numba_front_end import compile_numba
from course.languages.running import build, run
from course.simulator.machine.program import prepare
from course.simulator.machine.ptx import parse
from course.simulator.machine.rewrites import MachineAccess, rewrite
from course.simulator.observers import CountAndCheck
from tests.languages.kernels import TILES, tiled

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
.reg .f32 %f<9>; .reg .b32 %r<9>;
.shared .align 16 .b8 t[64];
.loc 1 7 0
ld.shared.f32 %f1, [%r1];
ld.shared.f32 %f2, [%r1+4];
ld.shared.f32 %f3, [%r1+8];
ld.shared.f32 %f4, [%r1+12];
st.shared.f32 [%r2], %f1;
ret;
}
"""


def rewritten(*accesses):
    program = prepare(parse(PTX))
    return program, rewrite(program, [MachineAccess(line, size, "") for line, size in accesses])


def test_the_row_of_a_tile_without_padding_is_read_in_wide_pieces(compiler):
    joined = [one for one in build(compile_numba(tiled, TILES)).rewrites if one.kind == "joined"]
    assert joined and all("4 loads joined into one 16-byte load." in one.message for one in joined)
    observer = CountAndCheck()
    a, b, c = (np.ones((64, 64), np.float32) for _ in range(3))
    run(tiled, (4, 4), (16, 16), (a, b, c), observer=observer)
    warps, tiles = 16 * 8, 4
    assert observer.counters.total("shared", "load", "instructions") == warps * tiles * (16 // 4 + 16)
    assert (c == 64).all()


def test_joined_loads_are_told_once_as_a_wide_one():
    program, said = rewritten((9, 16), (13, 4))
    assert program.telling == {0: (0, 16, (0, 1, 2, 3)), 1: None, 2: None, 3: None}
    assert [(one.line, one.kind, one.message) for one in said] == [
        (7, "joined", "4 loads joined into one 16-byte load.")
    ]


def test_the_wide_load_starts_before_the_access_that_names_it():
    program, _ = rewritten((11, 16), (13, 4))
    assert program.telling[0] == (0, 16, (0, 1, 2, 3))
    program, _ = rewritten((9, 8), (12, 8), (13, 4))
    assert program.telling == {0: (0, 8, (0, 1)), 1: None, 2: (0, 8, (2, 3)), 3: None}


def test_a_store_that_nobody_needs_is_dropped():
    program, said = rewritten((9, 4), (10, 4), (11, 4), (12, 4))
    assert program.telling == {4: None}
    assert [(one.kind, one.message[:18]) for one in said] == [("dropped", "a store is dropped")]


def test_what_fits_nothing_is_counted_as_the_ptx_has_it():
    program, said = rewritten((9, 4), (10, 4), (11, 4), (12, 4), (13, 16))
    assert program.telling == {}
    assert [one.kind for one in said] == ["unmatched"]


def test_code_without_changes_has_nothing_to_say():
    program, said = rewritten((9, 4), (10, 4), (11, 4), (12, 4), (13, 4))
    assert (program.telling, said) == ({}, ())
