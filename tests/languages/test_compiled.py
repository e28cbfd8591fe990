"""Kernels and parameters as a PTX text declares them."""

from __future__ import annotations

import pytest

from course.languages.compiled import Declared, declared, entries
from course.languages.tools import NoCompilerError

PTX = """
.version 9.0
.visible .func (.param .b32 back) helper(.param .b64 helper_param_0) { ret; }
.visible .entry first(
	.param .u64 first_param_0,
	.param .align 16 .b8 first_param_1[24],
	.param .f32 first_param_2,
	.param .u64 .ptr .align 1 first_param_3,
	.param .u64 .ptr .global .align 16 first_param_4
)
.maxntid 256
{ ret; }
.entry $second()
{ ret; }
.weak .entry third
{ ret; }
"""


def test_every_kernel_is_found_and_no_device_function():
    assert entries(PTX) == ["first", "$second", "third"]


def test_parameters_are_in_order_with_their_sizes_and_alignments():
    assert declared(PTX, "first") == (
        Declared("first_param_0", "u64", 8, 8), Declared("first_param_1", "b8", 24, 16),
        Declared("first_param_2", "f32", 4, 4),
        Declared("first_param_3", "u64", 8, 8), Declared("first_param_4", "u64", 8, 8),
    )  # fmt: skip
    assert [one.dtype.name for one in declared(PTX, "first")] == ["uint64", "uint8", "float32", "uint64", "uint64"]
    assert declared(PTX, "$second") == declared(PTX, "third") == ()


def test_a_kernel_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(NoCompilerError, match=r"no kernel fourth; it has first, \$second, third"):
        declared(PTX, "fourth")
    with pytest.raises(NoCompilerError, match="it has none"):
        declared("", "k")
