"""The roofline explorer's setting as a kernel: FLOP and bytes counted in the simulator beside those of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from course.explorers.profile_button import Comparison, Row
from course.explorers.rooflines import PRESETS, Settings

__all__ = ["SIZE", "compare"]

ELEMENTS, THREADS = 4096, 256
"""Of the kernels that walk through arrays."""
SIZE = 128
"""Rows and columns of the matrices."""
_TYPES = {2: np.float16, 4: np.float32, 8: np.float64}


@dataclass(frozen=True)
class _Run:
    kernel: Any
    grid: int | tuple[int, int]
    block: int | tuple[int, int]
    arguments: dict[str, Any]
    elements: int
    """How often the work of the setting is done."""
    staged: int = 0
    """Side of the tile of a matrix product; 0 for other kernels."""


def compare(settings: Settings) -> Comparison:
    """Profile the kernel of a preset, or a kernel with the same mix of FLOP, reads and writes."""
    from course.profiling.profile import profile

    run = _run(settings)
    taken = profile(run.kernel, run.grid, run.block, *run.arguments.values())
    flop, moved = settings.flop * run.elements, settings.bytes * run.elements
    counted = taken.total("global", "requested_bytes", "load") if run.staged else taken.dram.compulsory
    name = "Bytes read" if run.staged else "DRAM bytes"
    rows = [
        Row("FLOP", flop, taken.flops.total),
        Row(name, moved, counted, "B"),
        Row("FLOP per byte", settings.intensity, taken.flops.total / counted),
    ]
    names = ", ".join(name if isinstance(value, np.ndarray) else str(value) for name, value in run.arguments.items())
    launch = f"{taken.kernel}[{run.grid}, {run.block}]({names})"
    return Comparison(taken, launch, rows, note=_note(run, taken))


def _run(settings: Settings) -> _Run:
    from course.kernels import roofline as kernels

    name = next((name for name, preset in PRESETS.items() if preset.settings.work == settings.work), "")
    dtype = _TYPES[settings.value_bytes]
    n, blocks = ELEMENTS, ELEMENTS // THREADS
    if name == "saxpy":
        return _Run(kernels.saxpy, blocks, THREADS, {"a": np.float32(2), "x": _ones(n, dtype), "y": _ones(n, dtype)}, n)
    if name == "copy":
        return _Run(kernels.copy, blocks, THREADS, {"x": _ones(n, dtype), "out": _ones(n, dtype)}, n)
    if "matmul" in name:
        return _matmul(settings.flop // 2)
    x, out = _ones(n * settings.reads, dtype), _ones(n * max(settings.writes, 1), dtype)
    numbers = {"n": n, "reads": settings.reads, "writes": settings.writes, "flop": settings.flop, "step": dtype(1)}
    return _Run(kernels.stream, blocks, THREADS, {"x": x, "out": out, **numbers}, n)


def _matmul(tile: int) -> _Run:
    """A product in tiles of this side; 1 is the naive one."""
    from numba import float32

    from course.kernels.roofline import matmul, matmul_registers
    from course.kernels.tiling import tiled_matmul

    arrays = {name: _ones((SIZE, SIZE), np.float32) for name in ("a", "b", "c")}
    elements = SIZE**3 // tile
    if tile == 1:
        return _Run(matmul, (SIZE // 32, SIZE // 8), (32, 8), arrays, elements, tile)
    grid = (SIZE // tile, SIZE // tile)
    if tile == 64:
        return _Run(matmul_registers, grid, (16, 16), arrays, elements, tile)
    return _Run(tiled_matmul(tile, 0, float32), grid, (tile, tile), arrays, elements, tile)


def _ones(shape: int | tuple[int, int], dtype: Any) -> Any:
    return np.ones(shape, dtype)


def _note(run: _Run, taken: Any) -> str:
    if not run.staged:
        return (
            f"{run.elements:,} elements. Each byte is used once, so what L1 moves and what DRAM must move are the same."
        )
    low, high = sorted(taken.arithmetic_intensity)
    return (
        f"{SIZE} x {SIZE} matrices. The model counts every float that a thread reads from global memory, and leaves "
        f"out the {4 * SIZE**2:,} B of C. What DRAM moves depends on the caches: it lies between "
        f"{taken.dram.compulsory:,} B (each byte once) and {taken.dram.transferred:,} B (all that L1 moves), which is "
        f"{low:.3g} to {high:.3g} FLOP per DRAM byte: the bar in the picture."
    )
