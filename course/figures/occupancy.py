"""Occupancy: how many blocks each limit of an SM allows, and how the occupancy changes with each setting.

Above, a bar for every limit; the shortest one decides, so it is solid, carries the word "binds" and meets the line
of the resident blocks. Below, the occupancy over each of the three settings, the other two held.
This file draws; every number comes from `course.models.occupancy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from course.cards import LIMITS
from course.figures.live import Add, Layer, LivePlot
from course.figures.parts import Quantity, count, in_bytes, percent
from course.figures.style import LIGHT, OKABE_ITO
from course.models.occupancy import UNLIMITED, Limiter, Occupancy

__all__ = ["NAMES", "Curve", "OccupancyPlot", "allowed", "occupancy", "quantities", "sentence"]

WIDTH, HEIGHT = 800, 452
BLOCKS = 36
"""Blocks at the right end of the bars; more are written, not drawn."""
NAMES: dict[Limiter, str] = {
    "warps": "warp slots",
    "registers": "registers",
    "shared": "shared memory",
    "blocks": "block slots",
    "barriers": "barriers",
}

# So that a change of one setting draws few rows again: the layers below a changed one stay.
_STEADIEST_FIRST: tuple[Limiter, ...] = ("barriers", "blocks", "shared", "warps", "registers")

Setting = Literal["threads_per_block", "registers_per_thread", "shared_bytes_per_block"]
_KIB = 1024
# name of the axis, its end, its ticks and their words; wide enough for every compute capability
_AXES: dict[Setting, tuple[str, float, list[int], list[str]]] = {
    "threads_per_block": ("threads per block", 1056, [32, 256, 512, 768, 1024], []),
    "registers_per_thread": ("registers per thread", 262, [0, 64, 128, 192, 255], []),
    "shared_bytes_per_block": (
        "shared memory per block (KiB)",
        max(sm.shared_bytes_per_block_opt_in for sm in LIMITS.values()) * 1.02,
        [kib * _KIB for kib in (0, 48, 99, 163, 227)],
        ["0", "48", "99", "163", "227"],
    ),
}


@dataclass(frozen=True)
class Curve:
    """The occupancy over one setting, and where on it the present one is."""

    over: Setting
    values: npt.NDArray[np.int64]
    occupancy: npt.NDArray[np.float64]
    """Fractions, one per value."""
    now: int


def allowed(result: Occupancy) -> dict[Limiter, int | None]:
    """Blocks that each limit allows a single configuration; None for one that does not limit it."""
    by = {
        "warps": result.blocks_by_warps,
        "registers": result.blocks_by_registers,
        "shared": result.blocks_by_shared,
        "blocks": result.blocks_by_slots,
        "barriers": result.blocks_by_barriers,
    }
    return {name: None if by[name] == UNLIMITED else int(by[name].item()) for name in NAMES}


def occupancy(result: Occupancy, curves: Sequence[Curve] = (), *, said: int | None = None) -> Any:
    """The picture of one configuration as a matplotlib Figure.

    result: of a single configuration. curves: up to three, each over another setting (`models.occupancy.sweep`).
    said: a number of blocks that somebody predicted, to be marked.
    """
    plot = OccupancyPlot()
    plot.draw(result, curves, said=said)
    return plot.figure


def sentence(result: Occupancy) -> str:
    """The picture in words: alt text and live text."""
    blocks = int(result.blocks_per_sm.item())
    each = ", ".join(f"{NAMES[name]} {_blocks(number)}" for name, number in allowed(result).items())
    if not blocks:
        why = f"it takes more {_binding(result)} than a block can have"
        return f"This block cannot be launched: {why}. Blocks by limit: {each}."
    return (
        f"{count(blocks, 'block')} on an SM at a time, {count(int(result.warps_per_sm.item()), 'warp')} in "
        f"{result.limits.warps_per_sm} slots: occupancy {percent(result.occupancy.item())}, limited by "
        f"{_binding(result)}. Blocks by limit: {each}."
    )


def quantities(result: Occupancy) -> list[Quantity]:
    """The numbers beside the picture."""
    blocks, warps = int(result.blocks_per_sm.item()), int(result.warps_per_sm.item())
    share = float(result.occupancy.item())
    registers, shared = _one(result.registers_per_block), _one(result.shared_bytes_per_block)
    return [
        Quantity("blocks", "Blocks per SM", blocks, str(blocks), key=True),
        Quantity("warps", "Resident warps", warps, f"{warps} of {result.limits.warps_per_sm}"),
        Quantity("occupancy", "Occupancy", share, percent(share), key=True),
        Quantity("registers", "Registers per block", registers, _spaced(registers)),
        Quantity("shared", "Shared per block", shared, in_bytes(shared)),
        Quantity("limiters", "Limited by", len(result.limiters), _binding(result)),
    ]


class OccupancyPlot:
    """The picture as one Figure that is drawn again and again."""

    def __init__(self) -> None:
        self.plot = LivePlot(WIDTH, HEIGHT)
        self.figure = self.plot.figure
        with self.plot.style():
            self._bars = self.figure.add_axes(_place(208, 34, 772, 218), xlim=(0, BLOCKS), ylim=(5, 0))
            self._bars.set_title("Blocks that each limit allows on one SM", loc="left", fontsize=11, pad=6)
            self._bars.set_xticks(range(0, BLOCKS + 1, 4))
            self._bars.set_yticks([])
            self._bars.grid(axis="y", visible=False)
            self._curves = {over: self._curve_axes(n, over) for n, over in enumerate(_AXES)}

    def _curve_axes(self, n: int, over: Setting) -> Any:
        name, end, ticks, words = _AXES[over]
        left = 62 + 248 * n
        axes = self.figure.add_axes(_place(left, 282, left + 214, 404), xlim=(0, end), ylim=(0, 108))
        axes.set_xlabel(name, fontsize=10)
        axes.set_xticks(ticks, words or [str(tick) for tick in ticks], fontsize=9)
        axes.set_yticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"] if n == 0 else [""] * 5, fontsize=9)
        if n == 0:
            axes.set_title("Occupancy over each setting, the other two held", loc="left", fontsize=11, pad=6)
        return axes

    def draw(self, result: Occupancy, curves: Sequence[Curve] = (), *, said: int | None = None) -> None:
        """Replace what the picture shows."""
        blocks, share = int(result.blocks_per_sm.item()), 100 * float(result.occupancy.item())
        by, needs = allowed(result), _needs(result)
        rows = {name: (n, by[name], needs[name], name in result.limiters) for n, name in enumerate(NAMES)}

        def lines(add: Add) -> None:
            self._line(add, blocks)
            if said is not None:
                self._said(add, said)
            for curve in curves:
                self._curve(add, curve, share)

        shown = (blocks, said, share, *((one.over, one.now, one.occupancy.tobytes()) for one in curves))
        bars = [Layer((name, rows[name]), partial(self._row, name, *rows[name])) for name in _STEADIEST_FIRST]
        self.plot.draw(*bars, Layer(shown, lines))

    def image(self, alt: str) -> str:
        """The picture as ``<img alt>``."""
        return self.plot.image(alt)

    def _row(self, name: Limiter, row: int, number: int | None, needs: str, binds: bool, add: Add) -> None:
        """The name of a limit, what a block needs of it, and the blocks that it allows."""
        axes, weight = self._bars, "bold" if binds else "normal"
        add(axes.text(-0.4, row + 0.36, NAMES[name], ha="right", va="center", fontsize=10.5, weight=weight))
        add(axes.text(-0.4, row + 0.76, needs, ha="right", va="center", fontsize=8.5, color=LIGHT.quiet))
        if number is None:
            add(axes.text(0.3, row + 0.5, "no limit here", va="center", fontsize=9.5, color=LIGHT.quiet))
            return
        style: dict[str, Any] = {"facecolor": LIGHT.used_tint, "edgecolor": LIGHT.used, "linewidth": 1}
        if binds:
            style = {"facecolor": OKABE_ITO["orange"], "edgecolor": LIGHT.ink, "linewidth": 1.6, "hatch": "///"}
        length = min(number, BLOCKS)
        add(list(axes.barh([row + 0.5], [length], height=0.62, zorder=2, **style)))
        words = f"{number}{'  ◀ binds' if binds else ''}{' →' if number > BLOCKS else ''}"
        at, side = (length - 0.3, "right") if length > BLOCKS - 6 else (length + 0.3, "left")
        box = {"facecolor": LIGHT.paper, "edgecolor": "none", "pad": 1.5, "alpha": 0.9}
        place = {"ha": side, "va": "center", "zorder": 5, "bbox": box}
        add(axes.text(at, row + 0.5, words, fontsize=10.5, weight=weight, **place))

    def _line(self, add: Add, resident: int) -> None:
        """Through all bars, at the blocks that are resident."""
        if resident:
            add(self._bars.plot([resident] * 2, [0, 5], color=LIGHT.ink, lw=1.4, ls=(0, (4, 2)), zorder=4))

    def _said(self, add: Add, number: int) -> None:
        at = min(number, BLOCKS)
        words = f"you said {number}" + (" →" if number > BLOCKS else "")
        add(self._bars.plot([at] * 2, [0, 5], color=OKABE_ITO["vermilion"], lw=1.8, ls=":", zorder=4, clip_on=False))
        place = {"ha": "right" if at > BLOCKS / 2 else "left", "va": "center", "fontsize": 10, "zorder": 5}
        box = {"facecolor": LIGHT.paper, "edgecolor": OKABE_ITO["vermilion"], "pad": 2}
        add(self._bars.text(at + (-0.4 if at > BLOCKS / 2 else 0.4), 4.5, words, bbox=box, **place))

    def _curve(self, add: Add, curve: Curve, share: float) -> None:
        """share: the occupancy now, per cent."""
        axes, start = self._curves[curve.over], float(curve.values[0])
        # More threads or registers cost from the first one of a new unit on, so a value holds back to the last step.
        where: Any = "post" if curve.over == "shared_bytes_per_block" else "pre"
        add(axes.step(curve.values, 100 * curve.occupancy, where=where, color=LIGHT.used, linewidth=1.8, zorder=3))
        if where == "pre":
            add(axes.plot([1, start], [100 * curve.occupancy[0]] * 2, color=LIGHT.used, linewidth=1.8, zorder=3))
        end, edge = float(curve.values[-1]), axes.get_xlim()[1]
        if end < 0.95 * edge:
            add(axes.axvspan(end, edge, facecolor=LIGHT.panel, edgecolor="#c9d0d6", hatch="///", linewidth=0))
        add(axes.plot([curve.now] * 2, [0, share], color=LIGHT.quiet, linewidth=1, linestyle=":", zorder=2))
        marker = {"color": OKABE_ITO["yellow"], "markeredgecolor": LIGHT.ink, "markersize": 9, "markeredgewidth": 1.8}
        add(axes.plot([curve.now], [share], "o", zorder=5, clip_on=False, **marker))


def _place(left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
    """Pixels from the top left corner as matplotlib wants them."""
    return left / WIDTH, 1 - bottom / HEIGHT, (right - left) / WIDTH, (bottom - top) / HEIGHT


def _needs(result: Occupancy) -> dict[Limiter, str]:
    """What one block takes of each resource, and what the SM has."""
    sm = result.limits
    return {
        "warps": f"{_one(result.warps_per_block)} of {sm.warps_per_sm} a block",
        "registers": f"{_spaced(result.registers_per_block)} of {_spaced(sm.registers_per_sm)} a block",
        "shared": f"{_spaced(result.shared_bytes_per_block)} of {_spaced(sm.shared_bytes_per_sm)} B a block",
        "blocks": f"1 of {sm.blocks_per_sm} a block",
        "barriers": f"1 of {sm.barriers_per_sm} a block" if sm.barriers_per_sm else "counted from CC 9.0 on",
    }


def _binding(result: Occupancy) -> str:
    return " and ".join(NAMES[name] for name in result.limiters)


def _blocks(number: int | None) -> str:
    return "no limit" if number is None else str(number)


def _one(value: npt.NDArray[np.int64]) -> int:
    return int(value.item())


def _spaced(value: npt.NDArray[np.int64] | int) -> str:
    """Thousands apart, so that a long number can be read: 65 536."""
    return f"{int(value):,}".replace(",", "\N{NO-BREAK SPACE}")
