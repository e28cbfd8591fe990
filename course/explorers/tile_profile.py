"""One setting of the tile-size explorer as a kernel: a tiled matrix product in the simulator, beside the model."""

from __future__ import annotations

import numpy as np

from course.explorers.profile_button import Comparison, Row
from course.explorers.tile_settings import TYPES, Tiling

__all__ = ["compare"]

_SHARED_ALIGNMENT = 16


def compare(setting: Tiling) -> Comparison:
    """Profile the product of two matrices of the size in the picture."""
    from course.kernels.tiling import tiled_matmul
    from course.profiling.profile import profile

    product, dtype = setting.product, np.dtype(TYPES[setting.element_bytes]).type
    a, b, c = (np.ones((product.size, product.size), dtype) for _ in range(3))
    blocks, threads = (setting.steps,) * 2, (setting.tile,) * 2
    taken = profile(tiled_matmul(setting.tile, setting.pad, dtype), blocks, threads, a, b, c)
    one_tile = product.shared_bytes // 2
    gap = -one_tile % _SHARED_ALIGNMENT
    staged = taken.total("global", "requested_bytes", "load")
    rows = [
        Row("FLOP", product.flop, taken.flops.total),
        Row("FLOP per staged byte", product.intensity, taken.flops.total / staged),
        Row("Global load requests", product.global_load_requests, taken.total("global", "instructions", "load")),
        Row("Global load sectors", product.global_load_sectors, taken.total("global", "sectors", "load")),
        Row("Store wavefronts", product.shared_store_wavefronts, taken.total("shared", "wavefronts", "store")),
        Row("Load wavefronts", product.shared_load_wavefronts, taken.total("shared", "wavefronts", "load")),
        Row("Shared memory", product.shared_bytes + gap, taken.shared_bytes, "B"),
    ]
    launch = f"{taken.kernel}[{blocks}, {threads}](a, b, c)"
    note = (
        f"All counts are for the whole product of two {product.size} x {product.size} matrices, as the kernel is "
        "written; a compiler may merge shared loads. Blocks per SM come from NVIDIA's rules, not from a profile."
    )
    if gap:
        note += f" Between the two tiles is a gap of {gap} B, because a shared array starts at a multiple of 16 B."
    return Comparison(taken, launch, rows, note=note)
