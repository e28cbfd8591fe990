"""What the assembler says of a kernel, and what it refuses."""

from __future__ import annotations

import pytest

from course.languages.ptxas import Usage, run_ptxas, usage
from course.languages.tools import NoCompilerError

SAID = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k2' for 'sm_90'
ptxas info    : Function properties for k2
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 1 barriers
ptxas info    : Compile time = 9.530 ms
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    96 bytes stack frame, 132 bytes spill stores, 140 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 160 bytes cumulative stack size, 8192 bytes smem
ptxas info    : Function properties for _Z4slowfPdi
    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""


def test_each_kernel_has_its_own_numbers():
    assert usage(SAID, "k") == Usage(32, 160, 132, 140, 8192)
    assert usage(SAID, "k2") == usage(SAID) == Usage(14, 0, 0, 0, 0)


def test_without_calls_the_frame_is_the_stack():
    assert usage(SAID.replace("160 bytes cumulative stack size, ", ""), "k").stack_bytes == 96


@pytest.mark.usefixtures("compiler")
class TestAssembler:
    def test_a_kernel_is_assembled(self):
        made = run_ptxas(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }", (9, 0))
        assert made.cubin.startswith(b"\x7fELF") and usage(made.said, "k").registers > 0

    def test_a_wrong_text_is_refused_with_its_line(self):
        with pytest.raises(NoCompilerError, match=r"^ptxas refused: .*line 5.*error") as error:
            run_ptxas(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n add.u32 %r1, 1; }", (9, 0))
        assert "\n" not in str(error.value)

    def test_an_unknown_card_is_refused(self):
        with pytest.raises(NoCompilerError, match=r"^ptxas refused: .*sm_31"):
            run_ptxas(".version 8.0\n.target sm_31\n.address_size 64\n.entry k() { ret; }", (3, 1))
