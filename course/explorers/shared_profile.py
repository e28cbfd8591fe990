"""One access of the banks explorer as a kernel: run in the simulator, its load or store set beside the model."""

from __future__ import annotations

import numpy as np

from course.explorers.profile_button import Comparison, Row
from course.explorers.shared_accesses import TYPES, SharedAccess
from course.models.coalescing import WARP_LANES

__all__ = ["compare"]


def compare(access: SharedAccess) -> Comparison:
    """Profile a kernel in which one warp makes this access."""
    from course.kernels.tiling import PLACES, load_from, store_to
    from course.profiling.profile import profile

    tile, model, dtype = access.tile, access.result, np.dtype(TYPES[access.element_bytes]).type
    make = load_from if access.kind == "load" else store_to
    kernel = make((tile.rows, tile.columns + tile.pad), tile.columns, dtype, PLACES[access.pattern])
    taken = profile(kernel, 1, WARP_LANES, np.zeros(WARP_LANES, dtype), access.step, access.lanes)
    # A kernel that loads fills the tile first; the access in question is the last one.
    site = [c for c in taken.sites if c.site.space == "shared" and c.site.kind == access.kind][-1]
    rows = [
        Row("Lanes", int(model.active_lanes[0]), site.active_lanes),
        Row("Wavefronts", int(model.wavefronts[0]), site.wavefronts),
        Row("Ideal", int(model.ideal_wavefronts[0]), site.ideal_wavefronts),
        Row("Conflict degree", int(model.degree[0]), site.conflict_degree),
        Row("Shared memory", tile.shared_bytes, taken.shared_bytes, "B"),
    ]
    place = PLACES[access.pattern].__name__
    launch = f"{taken.kernel}[1, {WARP_LANES}](out, {access.step}, {access.lanes})"
    note = f"The device function {place}(...) says which row and column a lane wants."
    return Comparison(taken, launch, rows, lines=[site.site.line], note=note)
