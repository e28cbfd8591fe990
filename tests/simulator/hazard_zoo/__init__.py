"""Kernels with one planted mistake each, and correct ones that come close. See tests/simulator/test_hazard_zoo.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BLOCKS, THREADS = 4, 64
N = BLOCKS * THREADS


class Animal(NamedTuple):
    kernel: Any
    kind: str | None
    """What must be found; None: nothing."""
    grid: Any
    block: Any
    args: Callable[[], tuple[Any, ...]]
    file: Path

    @property
    def name(self) -> str:
        return self.kernel.py_func.__name__

    @property
    def line(self) -> int:
        """The line that ends in ``# <- name of the kernel``."""
        lines = self.file.read_text().splitlines()
        (found,) = (n for n, text in enumerate(lines, 1) if text.endswith(f"# <- {self.name}"))
        return found


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).random(shape, dtype=np.float32)


def two() -> tuple[np.ndarray, np.ndarray]:
    """An input and an output, one element per thread."""
    return floats(N), np.zeros(N, np.float32)


class Zoo:
    """Collects the kernels of one file."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)
        self.animals: list[Animal] = []

    def add(
        self,
        kind: str | None = None,
        args: Callable[[], tuple[Any, ...]] = two,
        grid: Any = BLOCKS,
        block: Any = THREADS,
    ) -> Callable[[Any], Any]:
        def keep(kernel: Any) -> Any:
            self.animals.append(Animal(kernel, kind, grid, block, args, self.file))
            return kernel

        return keep
