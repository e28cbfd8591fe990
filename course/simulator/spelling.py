"""What a misspelt name in a kernel was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from course.simulator.names import CUDA_NAMES, VECTORS

__all__ = ["did_you_mean", "did_you_mean_path"]

_BUILTINS = (
    "range", "len", "min", "max", "abs", "round", "pow", "print", "int", "float", "bool", "complex", "divmod",
)  # fmt: skip
_MATH = ("sqrt", "exp", "log", "sin", "cos", "tan", "floor", "ceil", "fabs", "atan2", "isnan", "isinf", "pi", "hypot")
_PATHS = [f"cuda.{path}" for path in sorted(CUDA_NAMES - VECTORS.keys())] + [f"math.{name}" for name in _MATH]
_NEAR = 0.66
"""How alike two names must be, by difflib's measure."""


_SHORTEST, _SHORTEST_PATH = 2, 4
"""Letters of a name from which on a likeness means something; to any name of cuda or math."""


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """The question " Did you mean `x.shape`?", or '' where no known name is near. before: what is written before it."""
    return _asked(_nearest(name, {option.casefold(): f"{before}{option}" for option in sorted(known)}))


def did_you_mean_path(name: str, own: Iterable[str]) -> str:
    """The same for a name without a dot: a variable of the kernel, or what needs `cuda.` or `math.` before it."""
    paths = {path.rpartition(".")[2].casefold(): path for path in reversed(_PATHS)}
    exact = _asked(paths.get(name.casefold()))
    return (
        exact
        or did_you_mean(name, [*own, *_BUILTINS])
        or _asked(_nearest(name, paths) if len(name) >= _SHORTEST_PATH else None)
    )


def _asked(found: str | None) -> str:
    return f" Did you mean `{found}`?" if found else ""


def _nearest(name: str, options: dict[str, str]) -> str | None:
    if len(name) < _SHORTEST:
        return None
    near = difflib.get_close_matches(name.casefold(), options, n=1, cutoff=_NEAR)
    return options[near[0]] if near else None
