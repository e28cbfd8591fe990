"""Double precision that nobody asked for: one float64 constant makes a whole line run at a fraction of the speed."""

from __future__ import annotations

import re

import numpy as np

from course.simulator.access import Finding, Launch
from course.simulator.counting.counters import LineCounts

__all__ = ["accidental_fp64"]

_ASKED_FOR = re.compile(r"\b(float64|f8|double|complex128)\b")


def accidental_fp64(launch: Launch, executed: dict[int, LineCounts]) -> tuple[Finding, ...]:
    """Lines that compute in float64 although no array of the launch and no word of the kernel is float64.

    numba's rules (not NumPy's) make float64 of float32 with a Python float, and of float32 with int64.
    """
    if any(np.dtype(np.float64) in _scalars(array.dtype) for array in launch.arrays):
        return ()
    if any(_ASKED_FOR.search(line) for line in launch.source):
        return ()
    return tuple(
        Finding(
            kind="accidental-fp64",
            line=counts.line,
            message="This line computes in float64, although the kernel's data is not.",
            remedy="A Python float or an integer beside float32 makes float64: write the constant as np.float32(...).",
            count=counts.flops64,
        )
        for counts in executed.values()
        if counts.flops64
    )


def _scalars(dtype: np.dtype[np.generic]) -> set[np.dtype[np.generic]]:
    """The scalar types in an element: fields of records, halves of complex numbers."""
    if dtype.fields:
        return {scalar for field in dtype.fields.values() for scalar in _scalars(field[0])}
    if dtype.kind == "c":
        return {np.dtype(f"f{dtype.itemsize // 2}")}
    return {dtype.base}
