"""Kernels whose PTX is complete only after linking."""

from __future__ import annotations

import re

import numpy as np
import pytest

from course import cuda
from course.languages import linking
from course.languages.linking import missing
from course.languages.numba_front_end import compile_numba
from course.languages.sass import assemble
from course.languages.tools import NoCompilerError

HALVES = np.zeros(8, np.float16)


@cuda.jit
def halves(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * x[0] + cuda.fp16.hfma(x[i], x[1], x[2])


def test_functions_that_a_ptx_does_not_hold_are_named():
    ptx = """
.extern .func  (.param .b32 func_retval0) _Zml
(
	.param .b64 _Zml_param_0
)
;
.extern .func plain;
.extern .func  (.param .b32 func_retval0) vprintf
.visible .func held() { ret; }
"""
    assert missing(ptx) == ["_Zml", "plain"]


@pytest.mark.usefixtures("compiler")
class TestCompiler:
    def test_half_precision_is_linked_in_with_the_lines_of_the_kernel(self):
        compiled = compile_numba(halves, (HALVES,))
        assert missing(compiled.ptx) == [] and ".func" not in compiled.ptx  # all of it is inlined
        assert re.search(r"mul\.f16|mul\.rn\.f16", compiled.ptx) and "fma.rn.f16" in compiled.ptx
        lines = {int(line) for line in re.findall(r"\.loc\s+1 (\d+) ", compiled.ptx)} - {0}
        assert compiled.first_line + len(compiled.lines) - 1 in lines
        assert f'1 "{compiled.filename}"' in compiled.ptx
        machine = assemble(compiled.ptx)
        text = compiled.ptx.splitlines()
        loads = [one for one in machine.instructions if one.opcode.startswith("LDG.E.U16")]
        assert len(loads) == 4 and all("ld.global" in text[one.ptx_line - 1] for one in loads)
        assert machine.mix["FP16"] == 2  # the assembler makes one operation of the product and the sum

    def test_what_every_gpu_has_needs_no_linking(self, monkeypatch):
        @cuda.jit
        def says(x):
            print(x[0])

        monkeypatch.setattr(linking, "_linked", lambda *given: pytest.fail("linked"))
        assert "vprintf" in compile_numba(says, (HALVES.astype(np.float32),)).ptx

    def test_a_linker_that_fails_is_said(self, monkeypatch):
        def fails(*given):
            raise RuntimeError("no nvJitLink\nhere")

        monkeypatch.setattr(linking, "_linked", fails)
        with pytest.raises(NoCompilerError, match=r"^halves uses CUDA C\+\+ .*float16, and that failed: no nvJit"):
            compile_numba(halves, (HALVES,))

    def test_numba_is_left_as_it_was(self):
        from numba.cuda.debuginfo import DIBuilder

        before = DIBuilder._set_module_flags
        compile_numba(halves, (HALVES,))
        assert DIBuilder._set_module_flags is before
