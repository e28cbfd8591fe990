"""Machine code: every instruction, the PTX line that it names, blocks, and what the card needs."""

from __future__ import annotations

import json
import re
from importlib import resources

import numpy as np
import pytest

from course import cuda
from course.kernels import cp_async, occupancy
from course.languages import sass
from course.languages.numba_front_end import compile_numba
from course.languages.sass import assemble, read_listing
from course.languages.tools import NoCompilerError
from tests.languages.kernels import TILES, scaled, tiled

FLOATS = np.zeros(64, np.float32)
EXAMPLES = occupancy.examples() | cp_async.examples()

# What nvdisasm 13.2 printed; names shortened.
LISTING = """
	.section	.text.other,"ax",@progbits
other:
.text.other:
        /*0000*/                   EXIT ;
	.section	.text.k,"ax",@progbits
	.align	128
        .type           k,@function
        .size           k,(.L_x_30 - k)
k:
.text.k:
	//## File ".nv_debug_ptx_txt", line 48
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File ".nv_debug_ptx_txt", line 71
        /*0010*/              @!P0 BRA `(.L_x_0) ;
        /*0020*/               @P0 BRA P1, `(.L_x_1) ;                     /* 0x000fea0003800000 */
                                                                           /* 0x000fea0003800000 */
        /*0030*/                   BRX R4 -0xb0                            (*"BRANCH_TARGETS .L_x_0,.L_x_1"*);
.L_x_0:
.L_x_1:
        /*0040*/             @!UP0 UIADD3.X UR5, URZ, UR15, URZ, UP0, !UPT ;
        /*0050*/                   CALL.REL.NOINC `($k$slow) ;
	//## File ".nv_debug_ptx_txt", line 80
        /*0060*/                   LDS.128 R8, [R18+0x20] ;
        /*0070*/                   EXIT ;
        .type           $k$slow,@function
$k$slow:
        /*0080*/                   RET.REL.NODEC R10 `(k) ;
.L_x_2:
        /*0090*/                   BRA `(.L_x_2);
        /*00a0*/                   NOP;
        /*00b0*/                   NOP;
.L_x_30:
	.section	.nv.shared.k,"aw",@nobits
        /*0000*/                   EXIT ;
"""


def test_a_listing_is_read_to_the_last_operand():
    code, labels = read_listing(LISTING.splitlines(), "k")
    assert [(one.address, one.predicate, one.opcode, one.operands, one.ptx_line, one.block) for one in code] == [
        (0x00, "", "LDC", "R1, c[0x0][0x28]", 48, "k"),
        (0x10, "!P0", "BRA", "`(.L_x_0)", 71, "k"),
        (0x20, "P0", "BRA", "P1, `(.L_x_1)", 71, "k+1"),
        (0x30, "", "BRX", 'R4 -0xb0                            (*"BRANCH_TARGETS .L_x_0,.L_x_1"*)', 71, "k+2"),
        (0x40, "!UP0", "UIADD3.X", "UR5, URZ, UR15, URZ, UP0, !UPT", 71, ".L_x_1"),
        (0x50, "", "CALL.REL.NOINC", "`($k$slow)", 71, ".L_x_1"),
        (0x60, "", "LDS.128", "R8, [R18+0x20]", 80, ".L_x_1+1"),
        (0x70, "", "EXIT", "", 80, ".L_x_1+1"),
        (0x80, "", "RET.REL.NODEC", "R10 `(k)", None, "$k$slow"),
    ]
    assert [one.function for one in code] == ["k"] * 8 + ["$k$slow"]
    assert labels[".L_x_0"] == labels[".L_x_1"] == ".L_x_1" and labels["k"] == labels[".text.k"] == "k"
    assert str(code[1]) == "/*0010*/ @!P0 BRA `(.L_x_0)" and str(code[7]) == "/*0070*/ EXIT"
    assert (code[6].operation, code[6].kind) == ("LDS", "load shared")


def test_a_kernel_that_is_not_there_has_no_code():
    assert read_listing(LISTING.splitlines(), "kk") == ((), {})


# The real compiler -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("compiler")
class TestCompiler:
    def test_joined_loads_name_the_line_of_a_load_that_they_join(self):
        ptx = compile_numba(tiled, TILES).ptx
        text = ptx.splitlines()
        machine = assemble(ptx)
        wide = [one for one in machine.instructions if one.opcode == "LDS.128"]
        assert len(wide) == 4  # a row of 16 floats
        for one in wide:
            offset = int((re.search(r"\+(0x[0-9a-f]+)\]", one.operands) or ["", "0"])[1], 16)
            assert re.match(r"\s*ld\.shared\.f32", text[one.ptx_line - 1])
            said = int((re.search(r"\+(\d+)\]", text[one.ptx_line - 1]) or ["", "0"])[1])
            assert offset <= said < offset + 16
        assert machine.mix["load shared"] == 20 and machine.mix["store shared"] == 2
        assert machine.mix["load global"] == 2 and machine.mix["store global"] == 1 and machine.mix["barrier"] == 2
        assert machine.mix.total() == len(machine.instructions)
        assert machine.usage.shared_bytes == 2048

    @pytest.mark.parametrize("moved", ["// a comment\n", "\n\n\n", "/* of\ntwo lines */\n"])
    def test_lines_are_those_of_the_text_as_given(self, moved):
        ptx = compile_numba(tiled, TILES).ptx
        plain, shifted = assemble(ptx), assemble(ptx.replace(".visible .entry", moved + ".visible .entry"))
        assert [one.ptx_line + moved.count("\n") for one in plain.instructions] == [
            one.ptx_line for one in shifted.instructions
        ]
        text = ptx.splitlines()
        for opcode, start in {
            "STS": "st.shared",
            "LDG": "ld.global",
            "STG": "st.global",
            "BAR": "bar",
            "EXIT": "ret",
        }.items():
            lines = [one.ptx_line for one in plain.instructions if one.operation == opcode]
            assert lines and all(text[line - 1].strip().startswith(start) for line in lines)

    @pytest.mark.parametrize("cc", [(8, 0), (9, 0), (10, 0)])
    def test_no_instruction_is_lost(self, cc):
        """Addresses follow each other; every branch leads to a block; blocks make up the code."""
        machine = assemble(compile_numba(tiled, TILES, cc=cc).ptx, cc)
        assert [one.address for one in machine.instructions] == [16 * n for n in range(len(machine.instructions))]
        assert machine.mix["other"] == 0
        targets = {label for one in machine.instructions for label in re.findall(r"`\((\.L\w+)\)", one.operands)}
        assert targets and all(machine.labels[label] in machine.blocks for label in targets)
        assert [one for block in machine.blocks.values() for one in block] == list(machine.instructions)
        for block in machine.blocks.values():
            assert not any(one.operation in ("BRA", "EXIT", "RET") for one in block[:-1])

    def test_a_division_that_is_called_belongs_to_the_kernel(self):
        @cuda.jit
        def divide(x, out):
            out[0] = x[0] / x[1]

        machine = assemble(compile_numba(divide, (np.zeros(2), np.zeros(2))).ptx)
        own = {one.function for one in machine.instructions}
        (called,) = own - {machine.entry}
        assert "div_rn_f64" in called and {one.function for one in machine.blocks[called]} == {called}
        assert machine.mix["FP64"] > 5

    def test_a_kernel_among_others_is_asked_for_by_name(self):
        kernels = ".visible .entry {}() {{ .reg .b32 %r; mov.u32 %r, %clock; bar.sync 0; ret; }}\n"
        ptx = ".version 8.0\n.target sm_90\n.address_size 64\n" + "".join(kernels.format(name) for name in ("a", "b"))
        machine = assemble(ptx, entry="b")
        assert machine.entry == "b" and machine.mix["barrier"] == 1
        assert {one.ptx_line for one in machine.instructions} <= {5}
        with pytest.raises(NoCompilerError, match=r"^expected one kernel in the PTX, got a, b: say entry= one"):
            assemble(ptx)
        with pytest.raises(NoCompilerError, match=r"^expected a kernel c in the PTX, got a, b"):
            assemble(ptx, entry="c")

    def test_a_limit_of_registers_is_kept_and_paid(self):
        kernel, args = occupancy.product(8), (np.zeros((64, 64), np.float32),) * 3
        ptx = compile_numba(kernel, args).ptx
        free, bound = assemble(ptx), assemble(ptx, max_registers=32)
        assert free.usage.spill_store_bytes == 0 and free.mix["load local"] == 0
        assert bound.usage.registers <= 32 < free.usage.registers
        assert bound.usage.spill_store_bytes > 0 and bound.usage.spill_load_bytes > 0 and bound.usage.stack_bytes > 0
        assert bound.mix["load local"] > 0 and bound.mix["store local"] > 0

    def test_registers_are_those_that_an_h200_counted(self):
        """The lines that the machine code names cost no register."""
        table = resources.files("course.measured").joinpath("h200_registers.json")
        rows = json.loads(table.read_text(encoding="utf-8"))["kernels"]
        some = ("unstaged", "staged", "product(4), None", "product(8), (256, 8)", "synchronous(64, 32)",
                "with_copies(64, 32, 4)")  # fmt: skip
        rows = [row for row in rows if row["launch"] in some]
        assert len(rows) == 6
        for row in rows:
            kernel, args = EXAMPLES[row["launch"]]
            found = assemble(compile_numba(kernel, args).ptx).usage
            assert (found.registers, found.stack_bytes, found.shared_bytes) == (
                row["registers"], row["local_bytes"], row["shared_bytes"],
            ), row["launch"]  # fmt: skip

    def test_the_same_text_is_not_assembled_again(self, monkeypatch):
        ptx = compile_numba(scaled(2), (FLOATS, FLOATS)).ptx
        first = assemble(ptx)
        monkeypatch.setattr(sass, "run_ptxas", lambda *given, **more: pytest.fail("assembled again"))
        assert assemble(ptx) == first
        renamed = re.sub(r'(\.file\s+1 )"[^"]*"', r'\1"elsewhere.py"', ptx)
        assert renamed != ptx and assemble(renamed) == first


def test_a_disassembler_that_fails_is_said(monkeypatch, compiler):
    monkeypatch.setattr(sass, "disassembler", lambda: compiler[0])  # ptxas does not know -gp
    with pytest.raises(NoCompilerError, match=r"^nvdisasm failed: ") as error:
        sass._disassemble(b"no cubin")
    assert "\n" not in str(error.value)
