"""What a case is, and sizes and inputs that most cases share. Sizes are ragged on purpose: no multiple of the block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

N, B = 300, 128
G = (N + B - 1) // B
T = 16
W = T + 1
SCALE = 3
TABLE = np.arange(16, dtype=np.float32) ** 2
PAIR = (2, 5)


@dataclass
class Case:
    """One launch: outputs are the array arguments at `out`; `expected` computes them from the arguments."""

    kernel: Any
    arguments: Callable[[Any], list[Any]]
    out: tuple[int, ...]
    expected: Callable[..., Any] | None = None
    grid: Any = G
    block: Any = B
    numba_simulator: bool = True
    """Whether numba's own simulator can run it (it lacks some functions, and promotes as NumPy does)."""
    shared: int = 0
    tolerance: float = 1e-5


CASES: dict[str, Case] = {}


def case(arguments: Callable[[Any], list[Any]], out: Any, **rest: Any) -> Callable[[Any], Any]:
    def register(kernel: Any) -> Any:
        name = kernel.py_func.__name__ if hasattr(kernel, "py_func") else kernel.fn.__name__
        assert name not in CASES
        CASES[name] = Case(kernel, arguments, out if isinstance(out, tuple) else (out,), **rest)
        return kernel

    return register


def floats(rng: Any, *shape: int) -> Any:
    return rng.standard_normal(shape or (N,)).astype(np.float32)


def ints(rng: Any, low: int = -100, high: int = 100, size: Any = N, dtype: Any = np.int32) -> Any:
    return rng.integers(low, high, size).astype(dtype)


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape or (N,), dtype)


def f1(rng: Any) -> list[Any]:
    return [floats(rng), zeros()]


def i1(rng: Any) -> list[Any]:
    return [ints(rng), zeros(dtype=np.int64)]
