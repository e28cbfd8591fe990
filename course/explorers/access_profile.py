"""One access of the coalescing explorer as a kernel: run in the simulator, its load set beside the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from course.explorers.access_patterns import Access
from course.explorers.profile_button import Comparison, Row
from course.models.coalescing import SECTOR_BYTES

__all__ = ["compare"]

_TYPES = {1: np.uint8, 2: np.float16, 4: np.float32, 8: np.float64, 16: np.float32}


def compare(access: Access) -> Comparison:
    """Profile a kernel in which one warp makes this access."""
    from course.profiling.profile import profile

    kernel, arrays, numbers = _kernel(access)
    taken = profile(kernel, 1, access.lanes, *arrays.values(), *numbers, warp_lanes=access.lanes)
    load = next(counts for counts in taken.sites if counts.site.kind == "load" and counts.site.array == "x")
    model = replace(access, unit_bytes=SECTOR_BYTES).result
    rows = [
        Row("Requests", model.requests, load.instructions),
        Row("Active lanes", int(model.active_lanes.sum()), load.active_lanes),
        Row("Sectors", int(model.sectors.sum()), load.sectors),
        Row("Lines", int(model.lines.sum()), load.lines),
        Row("Requested", int(model.requested_bytes.sum()), load.requested_bytes, "B"),
        Row("Transferred", int(model.transferred_bytes.sum()), load.transferred_bytes, "B"),
        Row("Efficiency", model.efficiency, load.efficiency, "%"),
    ]
    arguments = ", ".join([*arrays, *map(str, numbers)])
    launch = f"{taken.kernel}[1, {access.lanes}]({arguments})"
    return Comparison(taken, launch, rows, lines=[load.site.line], note=_note(access))


def _kernel(access: Access) -> tuple[Any, dict[str, Any], tuple[int, ...]]:
    """The kernel for this access, its arrays by name, and its numbers."""
    from course.kernels import coalescing as kernels

    wide = access.element_bytes == 16
    per_element = 4 if wide else 1  # a wide element is four floats
    dtype = _TYPES[access.element_bytes]
    x = np.ones((int(access.indices.max()) + 1) * per_element, dtype)
    arrays: dict[str, Any] = {"x": x, "out": np.zeros(access.lanes * per_element, dtype)}
    numbers: tuple[int, ...]
    if access.pattern == "random":
        kernel = kernels.gather_wide if wide else kernels.gather
        arrays["table"] = (access.indices - access.offset).astype(np.int32)
        numbers = (access.offset, access.active)
    elif access.pattern == "reversed":
        kernel = kernels.reversed_lanes_wide if wide else kernels.reversed_lanes
        numbers = (access.lanes - 1, access.stride, access.offset, access.active)
    else:
        kernel = kernels.strided_wide if wide else kernels.strided
        numbers = (access.stride, access.offset, access.active)
    return kernel, arrays, numbers


def _note(access: Access) -> str:
    """What the table compares, and what is special about this access."""
    notes = ["The table is about the load from x; the whole profile has the other accesses too."]
    if access.unit_bytes != SECTOR_BYTES:
        notes.append(
            f"A profile counts sectors of 32 B, so the model does it here too, not units of {access.unit_bytes} B."
        )
    if access.element_bytes == 16:
        notes.append("An element of 16 B is four floats, loaded with one 128-bit instruction.")
    return " ".join(notes)
