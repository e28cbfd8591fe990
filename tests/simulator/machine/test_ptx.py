"""PTX text as data: what is read, and what is refused with its line."""

from __future__ import annotations

import numpy as np
import pytest

from course.simulator.errors import UnsupportedKernel
from course.simulator.machine.engine import compile_program
from course.simulator.machine.program import prepare, targets
from course.simulator.machine.ptx import Address, Constant, Function, Register, Special, Symbol, Vector, parse

REGISTERS = ".reg .b32 %r<9>; .reg .pred %p<9>; .reg .b64 %rd<9>; .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .f64 %d<4>;"


def module(body: str, before: str = "") -> str:
    return f""".version 8.0
.target sm_90, debug
.address_size 64
{before}
.visible .entry k(.param .u32 n, .param .u64 a, .param .align 4 .b8 pair[6])
{{
{REGISTERS}
.loc 1 7 0
{body}
ret;
}}
"""


def kernel(body: str, before: str = "") -> Function:
    return parse(module(body, before)).entry()


def test_parameters_are_aligned():
    assert [(p.name, p.offset, p.size) for p in kernel("").parameters] == [("n", 0, 4), ("a", 8, 8), ("pair", 16, 6)]


def test_instructions_have_the_lines_of_the_ptx_and_of_the_source():
    first, last = kernel("@!%p1 add.s32 %r1, %r2, -3; // a comment\n.loc 1 9 4").instructions
    assert (first.opcode, first.modifiers, first.guard) == ("add", ("s32",), Register("%p1", True))
    assert first.operands == (Register("%r1"), Register("%r2"), Constant(-3))
    assert (first.ptx_line, first.line, first.file) == (9, 7, 1)
    assert (last.opcode, last.line, last.ptx_line) == ("ret", 9, 11)


def test_addresses_have_negative_offsets_and_vectors_their_parts():
    load, store = kernel("ld.global.v2.f32 {%f1, _}, [%rd1+-8];\nst.shared.u32 [tile+4], %r1;",
                         ".shared .align 4 .b8 tile[64];").instructions[:2]  # fmt: skip
    assert load.operands == (Vector((Register("%f1"), Register("_"))), Address(Register("%rd1"), -8))
    assert store.operands[0] == Address(Symbol("tile"), 4)


@pytest.mark.parametrize(
    ("written", "value"),
    [("10", 10), ("-10", -10), ("0x1F", 31), ("-0x10", -16), ("017", 15), ("0b101", 5), ("7U", 7),
     ("0f3FC00000", np.float32(1.5)), ("0dBFF8000000000000", -1.5), ("WARP_SZ", 32)],
)  # fmt: skip
def test_numbers(written, value):
    (found,) = kernel(f"mov.b32 %r1, {written};").instructions[0].operands[1:]
    assert isinstance(found, Constant) and found.value == value


def test_registers_of_the_hardware():
    assert kernel("mov.u32 %r1, %tid.x;").instructions[0].operands[1] == Special("%tid.x")


def test_names_inside_inline_assembly_hide_outer_ones():
    function = kernel("{ .reg .b32 %r1; mov.b32 %r1, 1; }\nmov.b32 %r1, 2;\n{ .reg .b32 %r1; mov.b32 %r1, 3; }")
    names = [one.operands[0].name for one in function.instructions[:3]]
    assert names[1] == "%r1" and len(set(names)) == 3
    assert all(name in function.registers for name in names)


def test_initial_values_and_the_addresses_among_them():
    before = ".global .align 4 .u32 t[3] = {1, -1, 0x10};\n.global .align 8 .u64 p[2] = {5, generic(t)+4};"
    variables = parse(module("", before)).variables
    assert variables["t"].initial == np.array([1, 2**32 - 1, 16], np.uint32).tobytes()
    assert (variables["p"].size, variables["p"].symbols) == (16, ((8, "t"),))
    assert parse(module("", ".extern .shared .align 16 .b8 s[];")).variables["s"].size == 0


def test_a_call_has_parameters_of_its_own():
    before = ".func (.param .b32 out) f(.param .b32 x) { ret; }"
    body = ("{ .param .b32 p0; st.param.b32 [p0], %r1; .param .b32 q; call.uni (q), f, (p0); ld.param.b32 %r2, [q]; }\n"
            "{ .param .b64 p0; st.param.b64 [p0], %rd1; }")  # fmt: skip
    function = kernel(body, before)
    assert sorted(p.size for p in function.call_parameters.values()) == [4, 4, 8]
    compile_program(prepare(parse(module(body, before))))


def test_a_list_of_places_to_jump_to():
    program = prepare(parse(module("L: .branchtargets A, B;\n@%p1 brx.idx %r1, L;\nB:\nadd.s32 %r1, %r1, 1;\nA:")))
    compile_program(program)
    assert targets(program, 0) == [2, 1]


@pytest.mark.parametrize(
    "body",
    ["bar.arrive 1, 64;", "bar.sync 1, 64;", "setp.eq.f16x2 %p1|%p2, %r1, %r2;", "mbarrier.init.shared.b64 [%r1], 3;",
     "brx.idx %r1, nowhere;", "bra nowhere;", "call (%r1), %rd1, (%r2), proto;", "call f, ();", "foo.bar %r1;",
     "cp.async.ca.shared.global [%r1], [%rd1], 16;", "ld.param.u32 %r1, [%rd1];", "redux.sync.min.f32 %f1, %f2, -1;",
     "atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;", "shfl.sync.other.b32 %r1, %r2, 1, 31, -1;",
     "fma.rn.f32 %f1, %f2;",
     "vote.sync.other.b32 %r1, %p1, -1;", "ld.global.u32 %r1, %rd1;", "testp.odd.f32 %p1, %f1;", "mov.u32 %r1, %what;",
     "wgmma.fence.sync.aligned;", "lop3.or.BOOL.b32 %r1|%p1, %r1, %r2, %r3, 2, %p2;", "add.s32 %r1, [%rd1], 3;"],
)  # fmt: skip
def test_what_does_not_run_is_refused_with_its_line(body):
    with pytest.raises(UnsupportedKernel, match=r"^line 7: "):
        compile_program(prepare(parse(module(body))))


@pytest.mark.parametrize("text", ["nonsense;", ".visible .entry (", ".global .b9q x;"])
def test_what_is_no_ptx_is_refused(text):
    with pytest.raises(UnsupportedKernel):
        parse(text)


def test_the_kernel_is_asked_for_by_name():
    with pytest.raises(UnsupportedKernel, match=r"^there is no kernel 'other': the PTX has k\.$"):
        parse(module("")).entry("other")
