"""The plot of a sweep: what one request costs, and how much of it is used, as the stride grows."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from course.figures.style import FIGURE_STYLE, LIGHT

__all__ = ["stride_sweep", "stride_sweep_sentence"]


def stride_sweep(
    strides: npt.ArrayLike, sectors_per_request: npt.ArrayLike, efficiency: npt.ArrayLike, *, top: int = 32
) -> Any:
    """Two axes of one fixed size, as a matplotlib Figure that belongs to no pyplot state.

    strides, sectors_per_request, efficiency: one entry per stride, in the same order; efficiency is a fraction.
    top: the largest number of sectors that a request can touch, so that plots of different sizes compare.
    """
    import matplotlib
    from matplotlib.figure import Figure

    x, sectors, used = np.asarray(strides), np.asarray(sectors_per_request), np.asarray(efficiency)
    if not x.shape == sectors.shape == used.shape or x.ndim != 1:
        raise ValueError(
            f"strides, sectors_per_request and efficiency have shapes {x.shape}, {sectors.shape} and {used.shape}: "
            "expected one value of each per stride."
        )
    with matplotlib.rc_context(cast(Any, FIGURE_STYLE)):
        figure = Figure(figsize=(800 / 96, 300 / 96), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(x, sectors, "o-", color=LIGHT.used, markersize=4)
        left.set(title="Cost: sectors per request", xlabel="stride (elements)", ylim=(0, top * 1.06))
        left.set_yticks(range(0, top + 1, max(1, top // 8)))
        right.plot(x, 100 * used, "s-", color=LIGHT.dead, markersize=4, markeredgecolor=LIGHT.ink, markeredgewidth=0.5)
        right.set(title="Efficiency: requested / transferred", xlabel="stride (elements)", ylim=(0, 106))
        right.set_yticks([0, 12.5, 25, 50, 75, 100], ["0 %", "12.5 %", "25 %", "50 %", "75 %", "100 %"])
        for axes in (left, right):
            axes.set_xlim(0, max(64, int(x.max(initial=0))) + 1)
            axes.set_xticks([1, 8, 16, 32, 48, 64])
    return figure


def stride_sweep_sentence(strides: npt.ArrayLike, sectors_per_request: npt.ArrayLike, efficiency: npt.ArrayLike) -> str:
    """The plot in one sentence, from its numbers."""
    x, sectors, used = np.asarray(strides), np.asarray(sectors_per_request), np.asarray(efficiency)
    worst = int(sectors.argmax())
    stays = " and stay there" if (sectors[worst:] == sectors[worst]).all() and worst < len(x) - 1 else ""
    return (
        f"Two plots over the stride: sectors per request grow from {sectors[0]:g} at stride {x[0]:g} to "
        f"{sectors[worst]:g} at stride {x[worst]:g}{stays}, while the efficiency falls from {100 * used[0]:.4g} % to "
        f"{100 * used[worst]:.4g} %."
    )
