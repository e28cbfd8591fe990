"""NVIDIA's compiler, where it is; without it no kernel runs in the machine engine."""

from __future__ import annotations

import pytest

from course.languages import tools

INCOMPLETE = "NVIDIA's compiler is not complete here"


@pytest.fixture(scope="session")
def compiler():
    """NVIDIA's compiler and disassembler are here, or the test is skipped."""
    try:
        return tools.assembler(), tools.disassembler()
    except tools.NoCompilerError:
        pytest.skip(INCOMPLETE)
