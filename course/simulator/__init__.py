"""Runs a numba.cuda kernel in lockstep on the CPU and counts what it does."""

from __future__ import annotations

from course.simulator.compiler.wideaccess import MisalignedAddress
from course.simulator.device import DeviceArray
from course.simulator.frontend import UnsupportedKernel
from course.simulator.lanes import LaunchError, StepLimit
from course.simulator.launch import LaunchConfigurationError, RunInfo, run
from course.simulator.typing import KernelTypeError

__all__ = [
    "DeviceArray",
    "KernelTypeError",
    "LaunchConfigurationError",
    "LaunchError",
    "MisalignedAddress",
    "RunInfo",
    "StepLimit",
    "UnsupportedKernel",
    "run",
]
