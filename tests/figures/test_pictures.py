"""Plots compared with their recorded pictures, pixel by pixel within a tolerance (`make test` passes --mpl).

After a change that is meant: python -m pytest tests/figures/test_pictures.py --mpl-generate-path=tests/golden/pictures
and look at every new picture before it is committed.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from course.figures import occupancy as occupancy_figure
from course.figures.profile_heat import heat
from course.figures.roofline import Point, Span, roofline
from course.figures.sweep import stride_sweep
from course.figures.tile_sweep import tile_sweep
from course.models import occupancy as occupancy_model
from course.models import tiling
from course.models.coalescing import coalesce, lane_addresses
from course.models.roofline import Machine
from course.profiling.profile import profile

# Root mean square of the difference, in grey levels of 255: letters may move by a fraction of a pixel.
compared = pytest.mark.mpl_image_compare(baseline_dir="../golden/pictures", tolerance=8, savefig_kwargs={"dpi": 72})


@cuda.jit
def strided(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[8 * i]


@compared
def test_the_stride_sweep_looks_as_recorded():
    strides = np.arange(1, 65)
    costs = [coalesce(lane_addresses(int(stride)), 4) for stride in strides]
    return stride_sweep(strides, [c.sectors_per_request for c in costs], [c.efficiency for c in costs])


@compared
def test_the_roofline_looks_as_recorded():
    machines = [Machine("A100", 19.5, 2000), Machine("H100", 66.9, 3350)]
    points = [Point("saxpy", 2 / 12), Point("tiled matmul, T = 16", 4, chosen=True)]
    return roofline(machines, points, [Span("mine", 0.4, 21.3)])


@compared
def test_the_limits_of_occupancy_look_as_recorded():
    now = {"threads_per_block": 256, "registers_per_thread": 40, "shared_bytes_per_block": 2176}
    curves = []
    for over in now:
        values, swept = occupancy_model.sweep("8.0", over, **now)
        curves.append(occupancy_figure.Curve(over, values, swept.occupancy, now[over]))
    return occupancy_figure.occupancy(occupancy_model.occupancy("8.0", *now.values()), curves)


@compared
def test_the_sweep_of_tile_sizes_looks_as_recorded():
    return tile_sweep(tiling.tile_sweep("8.0", np.arange(2, 33)), 16)


@compared
def test_the_heat_of_a_profile_looks_as_recorded():
    return heat(profile(strided, 4, 256, np.zeros(8000, np.float32), np.zeros(1000, np.float32)))
