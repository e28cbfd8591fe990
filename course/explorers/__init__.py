"""Pictures to play with, and questions to answer before the picture shows: ``from course import explore``.

Each name is loaded on first use. The file of an explorer starts with an underscore, because a module and a
function of one name in one package would hide each other.
"""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = {
    "banks": "course.explorers._banks",
    "coalescing": "course.explorers._coalescing",
    "course_map": "course.explorers._guide",
    "field_guide": "course.explorers._guide",
    "heat": "course.explorers._heat",
    "layout": "course.explorers._layout",
    "occupancy": "course.explorers._occupancy",
    "pipeline": "course.explorers._pipeline",
    "predict_attainable": "course.explorers._roofline",
    "predict_blocks": "course.explorers._occupancy",
    "predict_field_sectors": "course.explorers._layout",
    "predict_pipeline_time": "course.explorers._pipeline",
    "predict_sectors": "course.explorers._coalescing",
    "predict_wavefronts": "course.explorers._banks",
    "pyramid": "course.explorers._memory",
    "roofline": "course.explorers._roofline",
    "stride_sweep": "course.explorers._coalescing",
    "terms": "course.explorers._guide",
    "tiling": "course.explorers._tiling",
    "way_of_a_load": "course.explorers._memory",
}

__all__ = [
    "banks",
    "coalescing",
    "course_map",
    "field_guide",
    "heat",
    "layout",
    "occupancy",
    "pipeline",
    "predict_attainable",
    "predict_blocks",
    "predict_field_sectors",
    "predict_pipeline_time",
    "predict_sectors",
    "predict_wavefronts",
    "pyramid",
    "roofline",
    "stride_sweep",
    "terms",
    "tiling",
    "way_of_a_load",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"there is no explorer {name!r}; there are {', '.join(sorted(_LAZY))}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
