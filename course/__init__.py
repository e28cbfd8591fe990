"""GPU memory performance, taught on kernels that run and are counted without a GPU.

Notebooks import the few names below. Each is loaded on first use, so that ``import course`` stays
instant and pulls in no heavy package.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# name -> (module, attribute); None means the module itself.
_LAZY: dict[str, tuple[str, str | None]] = {
    "check": ("course.checks", "check"),
    "compare": ("course.profiling.comparison", "compare"),
    "cuda": ("course.cuda", None),
    "environment": ("course.environment", None),
    "explore": ("course.explorers", None),
    "measured": ("course.measured", None),
    "profile": ("course.profiling.profile", "profile"),
    "progress": ("course.checks.progress", "progress"),
    "time_on_gpu": ("course.profiling.timing", "time_on_gpu"),
    "worked": ("course.checks.worked", "worked"),
}

__all__ = [
    "check", "compare", "cuda", "environment", "explore", "measured", "profile", "progress", "time_on_gpu", "worked",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'course' has no attribute {name!r}; it offers {', '.join(sorted(_LAZY))}")
    module_name, attribute = _LAZY[name]
    module = importlib.import_module(module_name)
    value = module if attribute is None else getattr(module, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
