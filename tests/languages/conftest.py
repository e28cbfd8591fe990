"""NVIDIA's compiler, where it is; and a cache that no other test has written to."""

from __future__ import annotations

import pytest

from course.languages import cache, tools

INCOMPLETE = "NVIDIA's compiler is not complete here"


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    """The folder of the cache, empty."""
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "compiled"))
    return tmp_path / "compiled"


@pytest.fixture
def compiler():
    """NVIDIA's compiler and disassembler are here, or the test is skipped."""
    try:
        return tools.assembler(), tools.disassembler()
    except tools.NoCompilerError:
        pytest.skip(INCOMPLETE)
