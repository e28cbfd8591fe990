"""Two engines, one answer: what a kernel's text computes and what its compiled code computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from course.languages.running import run as run_compiled
from course.simulator.source import run as run_text
from tests.simulator.cases import CASES

FUSED = 1e-5
"""Of the largest value: the compiler fuses products with sums, and rounds once where the text rounds twice."""


def outputs(name: str, run: Any) -> list[Any]:
    case = CASES[name]
    arguments = case.arguments(np.random.default_rng(sum(map(ord, name))))
    run(case.kernel, case.grid, case.block, arguments, shared_bytes=case.shared)
    return [np.asarray(arguments[place]) for place in case.out]


def parts(array: Any) -> list[Any]:
    return [array[field] for field in array.dtype.names] if array.dtype.names else [array]


@pytest.mark.parametrize("name", CASES)
def test_both_engines_compute_the_same(name: str, compiler: Any) -> None:
    for text, compiled in zip(outputs(name, run_text), outputs(name, run_compiled), strict=True):
        for one, two in zip(parts(text), parts(compiled), strict=True):
            if one.dtype.kind not in "fc":
                np.testing.assert_array_equal(two, one)
                continue
            size = np.abs(one[np.isfinite(one)]).max(initial=0)
            rounding = max(FUSED, 2 * np.finfo(one.dtype).eps)
            np.testing.assert_allclose(two, one, rtol=rounding, atol=rounding * min(size, 1))
