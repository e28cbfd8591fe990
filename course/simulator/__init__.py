"""Runs a numba.cuda kernel on the CPU and counts what it does.

Here stands what does not depend on how a kernel runs: what a launch may be, device memory, types, and the counting
and checking of accesses. `source` runs the kernel's own text, `machine` what a compiler made of it; neither knows the
other.
"""

from __future__ import annotations

from course.simulator.device import DeviceArray
from course.simulator.errors import (
    KernelTypeError,
    LaunchConfigurationError,
    LaunchError,
    MisalignedAddress,
    StepLimit,
    UnsupportedKernel,
)
from course.simulator.launch import RunInfo

__all__ = [
    "DeviceArray",
    "KernelTypeError",
    "LaunchConfigurationError",
    "LaunchError",
    "MisalignedAddress",
    "RunInfo",
    "StepLimit",
    "UnsupportedKernel",
]
