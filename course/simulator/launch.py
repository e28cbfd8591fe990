"""What a launch may be on any GPU, and what is told of it afterwards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.errors import ArgumentTypeError, ArgumentValueError
from course.simulator.access import Finding, Launch
from course.simulator.errors import LaunchConfigurationError

__all__ = [
    "LOOP_SECONDS", "MAX_STEPS", "RunInfo", "check_launch", "check_limits", "check_memory", "check_warp", "dimensions",
]  # fmt: skip

STATIC_SHARED_BYTES = 48 * 1024
DYNAMIC_SHARED_BYTES = 227 * 1024
CONSTANT_BYTES = 64 * 1024
LOCAL_BYTES = 512 * 1024
"""Local memory of a thread, at most."""

MAX_STEPS = 2_000_000
"""Loop iterations of one batch after which a kernel is taken to be endless."""
LOOP_SECONDS = 10.0
"""Time of one loop, in one batch, after which it is taken to be endless."""


@dataclass(frozen=True)
class RunInfo:
    """What happened in a launch."""

    launch: Launch
    findings: tuple[Finding, ...]
    """What the engine itself saw: out of bounds, negative index, misaligned."""
    blocks: int
    """Blocks that ran."""
    total_blocks: int
    seconds: float

    @property
    def sampled(self) -> bool:
        """Whether only some of the blocks ran (the time budget was too small): outputs are then incomplete."""
        return self.blocks < self.total_blocks


def dimensions(name: str, value: Any) -> tuple[int, int, int]:
    """Grid or block as (x, y, z)."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(sizes) <= 3:
        raise ArgumentValueError(f"{name} is {value!r}: expected one to three sizes.")
    for size in sizes:
        if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer)):
            raise ArgumentTypeError(f"{name} is {value!r}: expected whole numbers. Use // or math.ceil, not /.")
    x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
    return x, y, z


def check_launch(grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    """Refuse what no GPU accepts (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""
    threads = math.prod(block)
    for name, sizes, limits in (("block", block, (1024, 1024, 64)), ("grid", grid, (2**31 - 1, 65535, 65535))):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size < 1:
                raise LaunchConfigurationError(
                    f"{name}.{axis} is {size}: expected 1 or more (CUDA_ERROR_INVALID_VALUE). "
                    "Round the number of blocks up: (n + threads - 1) // threads."
                )
            if size > limit:
                raise LaunchConfigurationError(f"{name}.{axis} is {size}: a GPU takes at most {limit}.")
    if threads > 1024:
        raise LaunchConfigurationError(
            f"a block of {block} has {threads} threads: a GPU takes at most 1024 (CUDA_ERROR_INVALID_VALUE)."
        )


def check_warp(lanes: int) -> None:
    """Refuse warps of a size that no GPU has."""
    if lanes not in (32, 64):
        raise ArgumentValueError(f"warp_lanes is {lanes!r}: expected 32, or 64 for AMD's wavefronts.")


def check_limits(shared_bytes: Any, max_steps: Any, budget: Any) -> None:
    """Refuse limits that are no numbers."""
    for name, number in (("shared_bytes", shared_bytes), ("max_steps", max_steps)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise ArgumentTypeError(f"{name} is {number!r}: expected a whole number.")
    if budget is not None and not isinstance(budget, (int, float)):
        raise ArgumentTypeError(f"the time budget is {budget!r}: expected a number of seconds.")


def check_memory(kernel: str, static: int, dynamic: int, local: int, constant: int) -> None:
    """Refuse more memory than there is: bytes of a block (static and dynamic shared), of a thread, of the kernel."""
    if static > STATIC_SHARED_BYTES:
        raise LaunchConfigurationError(
            f"{kernel} declares {static} bytes of shared memory: at most {STATIC_SHARED_BYTES} "
            "(48 KB) can be declared. Use smaller arrays, or shared.array(0, ...) and a size at the launch."
        )
    if not 0 <= dynamic <= DYNAMIC_SHARED_BYTES - static:
        raise LaunchConfigurationError(
            f"{dynamic} bytes of dynamic shared memory: expected 0 to {DYNAMIC_SHARED_BYTES - static}."
        )
    if local > LOCAL_BYTES:
        raise LaunchConfigurationError(f"{local} bytes of local memory a thread: there are {LOCAL_BYTES} (512 KB).")
    if constant > CONSTANT_BYTES:
        raise LaunchConfigurationError(f"{constant} bytes of constant memory: there are {CONSTANT_BYTES} (64 KB).")
