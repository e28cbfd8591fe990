"""What a launch in the simulator raises, whichever engine runs it."""

from __future__ import annotations

__all__ = [
    "KernelTypeError",
    "LaunchConfigurationError",
    "LaunchError",
    "MisalignedAddress",
    "StepLimit",
    "UnsupportedKernel",
]


class UnsupportedKernel(Exception):
    """The kernel holds something that the simulator does not run. Raised before any thread starts."""

    def __init__(self, message: str, *, line: int | None = None, kernel: str | None = None) -> None:
        self.line, self.kernel = line, kernel
        where = f"{kernel}, line {line}: " if kernel and line else f"line {line}: " if line else ""
        super().__init__(where + message)


class KernelTypeError(TypeError):
    """numba cannot type the kernel for these arguments: which line, and what was wrong."""


class LaunchConfigurationError(ValueError):
    """A launch that no GPU accepts: the numbers of blocks or threads, or too much shared memory."""


class LaunchError(RuntimeError):
    """The kernel was stopped while it ran, as CUDA would stop it."""


class StepLimit(LaunchError):
    """A loop ran longer than any sensible kernel: most likely it never ends."""


class MisalignedAddress(LaunchError):
    """A wide access at an address that is no multiple of its size: CUDA_ERROR_MISALIGNED_ADDRESS."""
