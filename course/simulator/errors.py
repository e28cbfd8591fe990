"""What a launch in the simulator raises, whichever engine runs it."""

from __future__ import annotations

from course.errors import ArgumentTypeError, ArgumentValueError, CourseError

__all__ = [
    "KernelTypeError",
    "LaunchConfigurationError",
    "LaunchError",
    "MisalignedAddress",
    "NumbaMissingError",
    "StepLimit",
    "UnsupportedKernel",
]


class UnsupportedKernel(CourseError):
    """The kernel holds something that the simulator does not run. Raised before any thread starts."""


class KernelTypeError(ArgumentTypeError):
    """numba cannot type the kernel for these arguments: which line, and what was wrong."""


class LaunchConfigurationError(ArgumentValueError):
    """A launch that no GPU accepts: the numbers of blocks or threads, or too much shared memory."""


class LaunchError(CourseError, RuntimeError):
    """The kernel was stopped while it ran, as CUDA would stop it."""


class StepLimit(LaunchError):
    """A loop ran longer than any sensible kernel: most likely it never ends."""


class MisalignedAddress(LaunchError):
    """A wide access at an address that is no multiple of its size: CUDA_ERROR_MISALIGNED_ADDRESS."""


class NumbaMissingError(CourseError, RuntimeError):
    """numba.cuda, which gives a kernel its types, cannot be loaded here."""
