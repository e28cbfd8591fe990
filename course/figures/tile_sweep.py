"""The price and the gain of a larger tile: reuse, shared memory, blocks per SM and occupancy over the tile size.

This file draws; every number comes from `course.models.tiling.tile_sweep`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course.figures.live import Add, Layer, LivePlot
from course.figures.style import LIGHT, OKABE_ITO
from course.models.tiling import TileSweep

__all__ = ["TileSweepPlot", "sweep_sentence", "tile_sweep"]

WIDTH, HEIGHT = 800, 216
# title, end of the axis, ticks, and on which side of the marked point its value disturbs the curve least
_PANELS: tuple[tuple[str, float, list[int], str], ...] = (
    ("FLOP per staged byte", 9.6, [0, 2, 4, 6, 8], "left"),
    ("Shared KiB per block", 21.5, [0, 5, 10, 15, 20], "left"),
    ("Blocks per SM", 34.4, [0, 8, 16, 24, 32], "right"),
    ("Occupancy, %", 107.5, [0, 25, 50, 75, 100], "below"),
)
_OFFSETS = {"left": (-9, 9), "right": (9, 9), "below": (0, -17), "above": (0, 15)}


def tile_sweep(sweep: TileSweep, tile: int) -> Any:
    """Four axes over the tile size as a matplotlib Figure; `tile`, one of the sweep's, is marked."""
    plot = TileSweepPlot()
    plot.draw(sweep, tile)
    return plot.plot.figure


def sweep_sentence(sweep: TileSweep, tile: int) -> str:
    """The curves in one sentence: what the marked tile has, and where the best occupancy is."""
    now = int(np.flatnonzero(sweep.tile == tile)[0])
    share, best = sweep.occupancy.occupancy, int(sweep.occupancy.occupancy.argmax())
    return (
        f"Four curves over tile sizes {sweep.tile[0]} to {sweep.tile[-1]}: a tile of {tile} has "
        f"{sweep.intensity[now]:.4g} FLOP per staged byte, {sweep.shared_bytes[now]} B of shared memory a block, "
        f"{int(sweep.occupancy.blocks_per_sm[now])} blocks per SM and an occupancy of {100 * share[now]:.4g} %; "
        f"the highest occupancy, {100 * share[best]:.4g} %, comes first with a tile of {sweep.tile[best]}."
    )


class TileSweepPlot:
    """The picture as one Figure that is drawn again and again."""

    def __init__(self) -> None:
        self.plot = LivePlot(WIDTH, HEIGHT)
        self._axes = []
        with self.plot.style():
            for n, (title, end, ticks, _side) in enumerate(_PANELS):
                left, width = 30 + 198 * n, 162
                place = (left / WIDTH, 40 / HEIGHT, width / WIDTH, 144 / HEIGHT)
                axes = self.plot.figure.add_axes(place, xlim=(0, 33.5), ylim=(0, end))
                axes.set_title(title, loc="left", fontsize=10.5, pad=7)
                axes.set_xticks([1, 8, 16, 24, 32])
                axes.set_yticks(ticks)
                axes.tick_params(labelsize=9)
                axes.set_xlabel("tile size T", fontsize=10)
                self._axes.append(axes)

    def draw(self, sweep: TileSweep, tile: int) -> None:
        """Replace what the picture shows."""
        curves = (
            sweep.intensity,
            sweep.shared_bytes / 1024,
            sweep.occupancy.blocks_per_sm,
            100 * sweep.occupancy.occupancy,
        )
        now = int(np.flatnonzero(sweep.tile == tile)[0])
        key = tuple(curve.tobytes() for curve in curves)
        self.plot.draw(
            Layer(key, lambda add: self._curves(add, sweep, curves)),
            Layer((key, tile), lambda add: self._now(add, sweep, curves, now)),
        )

    def image(self, alt: str) -> str:
        """The picture as ``<img alt>``."""
        return self.plot.image(alt)

    def _curves(self, add: Add, sweep: TileSweep, curves: Any) -> None:
        for axes, curve in zip(self._axes, curves, strict=True):
            add(axes.plot(sweep.tile, curve, "o-", color=LIGHT.used, linewidth=1.2, markersize=2.8))

    def _now(self, add: Add, sweep: TileSweep, curves: Any, now: int) -> None:
        marker = {"color": OKABE_ITO["yellow"], "markeredgecolor": LIGHT.ink, "markersize": 9, "markeredgewidth": 1.8}
        for axes, curve, (*_, side) in zip(self._axes, curves, _PANELS, strict=True):
            x, y = int(sweep.tile[now]), float(curve[now])
            if (side == "left" and x < 8) or (side == "below" and y < 50):
                side = "above"
            add(axes.plot([x, x], [0, y], color=LIGHT.quiet, linewidth=1, linestyle=":", zorder=2))
            add(axes.plot([x], [y], "o", zorder=5, clip_on=False, **marker))
            box = {"facecolor": LIGHT.paper, "edgecolor": "none", "pad": 1.2, "alpha": 0.85}
            words = {"fontsize": 10, "weight": "bold", "va": "center", "zorder": 6, "bbox": box}
            across = {"left": "right", "right": "left"}.get(side, "center")
            add(axes.annotate(f"{y:.4g}", (x, y), _OFFSETS[side], textcoords="offset points", ha=across, **words))
