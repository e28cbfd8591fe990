"""One setting of the layout explorer as a kernel: run in the simulator, its loads set beside the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.explorers.layouts import FIELD_NAMES, TYPES, Reading
from course.explorers.profile_button import Comparison, Row
from course.models.coalescing import SECTOR_BYTES, WARP_LANES

__all__ = ["compare"]


def compare(reading: Reading) -> Comparison:
    """Profile a kernel in which one warp reads these fields; ValueError when it reads none."""
    from course.profiling.profile import profile

    if not reading.reads:
        raise ValueError("the kernel reads no field: choose one or more.")
    out = np.zeros(WARP_LANES)
    kernel, launch, arguments = _records(reading) if reading.layout in ("aos", "packed") else _arrays(reading)
    taken = profile(kernel, 1, WARP_LANES, *arguments(out), dram_block_bytes=SECTOR_BYTES)
    loads = [counts for counts in taken.sites if counts.site.kind == "load" and counts.instructions]
    (store,) = (counts for counts in taken.sites if counts.site.kind == "store")
    model = reading.traffic(*reading.reads)
    per_request = [sum(c.sectors for c in loads), sum(c.instructions for c in loads)]
    rows = [
        Row("Requests", model.requests, per_request[1]),
        Row("Sectors per request", model.sectors_per_request, per_request[0] / per_request[1]),
        Row("L1-transferred", model.l1_bytes, sum(c.transferred_bytes for c in loads), "B"),
        Row("Used", model.useful_bytes, sum(c.requested_bytes for c in loads), "B"),
        # What the one store writes is not the model's question.
        Row("DRAM", model.dram_bytes, taken.dram.compulsory - store.transferred_bytes, "B"),
    ]
    note = "DRAM: each sector once, as if the caches held everything in between. The store to out is left out."
    return Comparison(taken, launch, rows, lines=[c.site.line for c in loads], note=note)


def _records(reading: Reading) -> tuple[Any, str, Any]:
    from course.kernels.layout import read_records

    aligned = reading.layout == "aos"
    dtype = np.dtype([(name, TYPES[field.size]) for name, field in reading.fields.items()], align=aligned)
    launch = f"records_kernel[1, {WARP_LANES}](p, out)"
    return read_records(reading.reads), launch, lambda out: (np.ones(WARP_LANES, dtype), out)


def _arrays(reading: Reading) -> tuple[Any, str, Any]:
    from course.kernels.layout import read_arrays, read_tiles
    from course.simulator.device import DeviceArray

    wanted = tuple(int(name in reading.reads) for name in FIELD_NAMES)
    if reading.layout == "soa":
        absent = np.ones(1, np.uint8)
        arrays = [
            np.ones(WARP_LANES, TYPES[f.size]) if (f := getattr(reading, n)).size else absent for n in FIELD_NAMES
        ]
        launch = f"read_arrays[1, {WARP_LANES}]({', '.join(FIELD_NAMES)}, out, {wanted})"
        return read_arrays, launch, lambda out: (*arrays, out, wanted)
    places = reading.tile_places()
    tile_bytes = next(iter(places.values()))[2]
    memory = DeviceArray.copy_of(np.zeros(tile_bytes * -(-WARP_LANES // reading.tile), np.uint8))
    absent_place = (1, 0, tile_bytes)
    sizes, starts, pitches = zip(*(places.get(name, absent_place) for name in FIELD_NAMES), strict=True)
    views = [memory.view(TYPES[size]) for size in sizes]
    pitch = tuple(bytes_ // size for bytes_, size in zip(pitches, sizes, strict=True))
    start = tuple(byte // size for byte, size in zip(starts, sizes, strict=True))
    numbers = (wanted, reading.tile, pitch, start)
    launch = f"read_tiles[1, {WARP_LANES}]({', '.join(FIELD_NAMES)}, out, {', '.join(map(str, numbers))})"
    return read_tiles, launch, lambda out: (*views, out, *numbers)
