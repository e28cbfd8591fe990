"""The key of a function changes with everything that its machine code, or the line of it, depends on."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from course import cuda
from course.languages.code_key import read_code

TEXT = """
from course import cuda
import settings

TABLE = {table}

@cuda.jit(device=True)
def helper(v):
    return v * {inner}

{blank}def kernel(x, out):
    i = cuda.grid(1){comment}
    out[i] = helper(x[i]) + TABLE[{index}] + settings.inner.STEP{again}
"""
PLAIN = {"table": "(1, 2)", "inner": "2", "blank": "", "comment": "", "index": "0", "again": ""}


def key(monkeypatch, file="cell.py", step=1, **changes):
    settings = types.ModuleType("settings")
    settings.inner = type("inner", (), {"STEP": step, "OTHER": object()})
    monkeypatch.setitem(sys.modules, "settings", settings)
    space = {"__name__": "cell", "np": np}
    exec(compile(TEXT.format(**{**PLAIN, **changes}), file, "exec"), space)
    return read_code(space["kernel"]).key


def test_the_same_text_has_the_same_key_also_in_another_file(monkeypatch):
    assert key(monkeypatch) == key(monkeypatch) == key(monkeypatch, file="other.py")
    assert key(monkeypatch) == key(monkeypatch, comment="  # a comment moves no line")


@pytest.mark.parametrize(
    "changes",
    [
        {"table": "(1, 3)"}, {"table": "(1, 2.0)"}, {"table": "(True, 2)"}, {"inner": "3"}, {"index": "1"},
        {"blank": "\n"},
        {"comment": "\n"}, {"step": 2}, {"step": 1.0}, {"again": " + 0"},
    ],
)  # fmt: skip
def test_constants_device_functions_modules_and_lines_change_it(monkeypatch, changes):
    assert key(monkeypatch, **changes) != key(monkeypatch)


def test_all_of_a_long_table_counts(monkeypatch):
    long = "np.arange(5000.0)"
    assert key(monkeypatch, table=long) == key(monkeypatch, table=long)
    assert key(monkeypatch, table="np.where(np.arange(5000) == 2500, -1.0, np.arange(5000.0))") != key(
        monkeypatch, table=long
    )


def test_a_function_that_calls_itself_has_a_key():
    @cuda.jit(device=True)
    def down(n):
        return down(n - 1) if n else 0

    code = read_code(down.py_func)
    assert code == read_code(down.py_func) and code.files == (__file__,)
