"""Pictures to play with, and questions to answer before the picture shows: ``from course import explore``.

Each name is loaded on first use. The file of an explorer starts with an underscore, because a module and a
function of one name in one package would hide each other.
"""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = {
    "coalescing": "course.explorers._coalescing",
    "predict_sectors": "course.explorers._coalescing",
    "stride_sweep": "course.explorers._coalescing",
}

__all__ = ["coalescing", "predict_sectors", "stride_sweep"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"there is no explorer {name!r}; there are {', '.join(sorted(_LAZY))}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
