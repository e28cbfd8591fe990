"""The roofline: attainable FLOP/s over arithmetic intensity, both logarithmic, with machines, kernels and profiles.

The axes never change, so that two cards can be compared by eye. The names of the machines stand at the right ends
of their roofs, and those of the kernels in a strip of their own below the plot, where they cannot hide a line: the
further right a kernel is, the higher its name, so no drop line crosses a name.
This file draws; every number comes from `course.models.roofline` or from a profile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from course.figures.labels import Label, spread, stack
from course.figures.live import Add, Layer, LivePlot
from course.figures.parts import Quantity
from course.figures.style import LIGHT, OKABE_ITO
from course.models.roofline import Attainable, Machine, attainable

__all__ = ["ROWS", "Point", "RooflinePlot", "Span", "quantities", "roofline", "sentence"]

WIDTH, HEIGHT = 800, 520
INTENSITIES = (1 / 32, 2048.0)
TFLOPS = (3e-3, 4e3)
_LEFT, _RIGHT, _TOP, _STRIP_TOP, _BOTTOM = 72, 608, 34, 334, 472
_ROW = 15
ROWS = (_BOTTOM - _STRIP_TOP) // _ROW
"""Names that have room below one another."""
_MACHINES = (
    (LIGHT.used, "-"),
    ("#8a4f7d", (0, (6, 2))),  # Okabe-Ito purple, darker, so that a thin line stands out
    (OKABE_ITO["green"], (0, (4, 1.5, 1, 1.5))),
    (OKABE_ITO["black"], (0, (1, 1.5))),
)
_LABEL_HEIGHT = 52
_EDGES = (_LEFT + 2, WIDTH - 4)
"""Of the names; the paper to the right of the strip is free."""
_PROFILE = OKABE_ITO["vermilion"]


@dataclass(frozen=True)
class Point:
    """One kernel."""

    name: str
    intensity: float
    """FLOP per DRAM byte; 0 stands at the left edge."""
    chosen: bool = False
    """The one that the picture is about."""
    marked_tflops: float | None = None
    """Another speed to mark with a cross: what was measured (above the roof where caches help) or predicted."""
    mark: str = "measured"
    """What the cross is called."""


@dataclass(frozen=True)
class Span:
    """A profiled kernel: its DRAM bytes are known to lie between two counts, and so does its intensity."""

    name: str
    lowest: float
    """FLOP per byte when all that L1 moves comes from DRAM."""
    highest: float
    """FLOP per byte when DRAM moves the compulsory bytes only."""

    def __post_init__(self) -> None:
        if not 0 <= self.lowest < math.inf or not 0 <= self.highest < math.inf:
            raise ValueError(
                f"{self.name} has the arithmetic intensities {self.lowest} and {self.highest}: expected finite "
                "numbers of 0 or more. A kernel that moves no byte has no place on a roofline."
            )
        # Stores of part of a sector can make DRAM fetch more than L1 moves; the bar then starts at the other end.
        low, high = sorted((self.lowest, self.highest))
        object.__setattr__(self, "lowest", low)
        object.__setattr__(self, "highest", high)


def roofline(machines: Sequence[Machine], points: Sequence[Point] = (), spans: Sequence[Span] = ()) -> Any:
    """The picture as a matplotlib Figure (``figure.savefig("roofline.svg")``).

    machines: one to four; the first is the one whose ridge divides memory-bound from compute-bound.
    points, spans: kernels and profiles; ValueError when more than nine names crowd one place.
    """
    plot = RooflinePlot()
    plot.draw(machines, points, spans)
    return plot.figure


def sentence(machines: Sequence[Machine], points: Sequence[Point] = (), spans: Sequence[Span] = ()) -> str:
    """The picture in words: alt text and caption. Kernels are described if they are chosen, and else listed."""
    first = machines[0]
    words = [f"Roofline of {_and([_machine_words(machine) for machine in machines])}."]
    words += [_point_words(point, first) for point in points if point.chosen]
    for span in spans:
        low, high = (float(attainable(at, first).attainable_tflops) for at in (span.lowest, span.highest))
        words.append(
            f"{span.name}, profiled: {_between(span.lowest, span.highest)} FLOP/B, "
            f"at most {_between(low, high)} TFLOP/s."
        )
    told = {point.name for point in points if point.chosen}
    others = ", ".join(_point_label(point) for point in points if point.name not in told)
    return " ".join([*words, f"Also shown, in FLOP/B: {others}."] if others else words)


def quantities(found: Attainable) -> list[Quantity]:
    """The numbers beside the picture, for one kernel."""
    memory_bound, share, attained = bool(found.memory_bound), float(found.share_of_peak), float(found.attainable_tflops)
    return [
        Quantity("intensity", "Intensity", float(found.intensity), f"{_short(float(found.intensity))} FLOP/B"),
        Quantity("ridge", "Ridge", found.machine.ridge, f"{_short(found.machine.ridge)} FLOP/B"),
        Quantity("attainable", "Attainable", attained, f"{_short(attained)} TFLOP/s", key=True),
        Quantity("share", "Share of peak", share, f"{100 * share:.3g}\N{NO-BREAK SPACE}%"),
        Quantity("memory-bound", "The limit is", memory_bound, "memory" if memory_bound else "arithmetic", key=True),
    ]


class RooflinePlot:
    """The picture as one Figure that is drawn again and again."""

    def __init__(self) -> None:
        self.plot = LivePlot(WIDTH, HEIGHT)
        self.figure = self.plot.figure
        with self.plot.style():
            self._axes = self._make_axes(_TOP, _STRIP_TOP)
            self._strip = self._make_axes(_STRIP_TOP, _BOTTOM)
            self._frame()

    def _make_axes(self, top: float, bottom: float) -> Any:
        place = (_LEFT / WIDTH, 1 - bottom / HEIGHT, (_RIGHT - _LEFT) / WIDTH, (bottom - top) / HEIGHT)
        axes = self.figure.add_axes(place, xscale="log", xlim=INTENSITIES)
        axes.minorticks_off()
        return axes

    def _frame(self) -> None:
        axes, strip = self._axes, self._strip
        axes.set(yscale="log", ylim=TFLOPS, ylabel="attainable TFLOP/s")
        axes.set_yticks([10.0**n for n in range(-2, 4)], ["0.01", "0.1", "1", "10", "100", "1000"])
        axes.tick_params(axis="x", length=0, labelbottom=False)
        strip.set(ylim=(ROWS, 0), xlabel="arithmetic intensity: FLOP per DRAM byte")
        ticks = [2.0**n for n in range(-5, 12, 2)]
        for one in (axes, strip):
            one.set_xticks(ticks, ["1/32", "1/8", "1/2", "2", "8", "32", "128", "512", "2048"])
            one.minorticks_off()
        strip.set_yticks([])
        strip.set_facecolor(LIGHT.panel)
        strip.grid(visible=False)

    def draw(self, machines: Sequence[Machine], points: Sequence[Point] = (), spans: Sequence[Span] = ()) -> None:
        """Replace what the picture shows."""
        if not 1 <= len(machines) <= len(_MACHINES):
            raise ValueError(f"{len(machines)} machines: expected 1 to {len(_MACHINES)}, or they cannot be told apart.")
        chosen = [point for point in points if point.chosen]
        others = [point for point in points if not point.chosen]
        first = machines[0]

        def behind(add: Add) -> None:
            self._regions(add, first)
            self._roofs(add, machines)

        def known(add: Add) -> None:
            for point in others:
                self._point(add, point, first)
            self._names(add, _labels(others), len(chosen) + len(spans))

        def on_top(add: Add) -> None:
            for span in spans:
                self._span(add, span, first)
            for point in chosen:
                self._point(add, point, first)
            self._names(add, _labels(chosen, spans), 0)

        self.plot.draw(
            Layer(tuple(machines), behind),
            Layer((tuple(others), len(chosen), len(spans)), known),
            Layer((tuple(chosen), tuple(spans)), on_top),
        )

    def image(self, alt: str) -> str:
        """The picture as ``<img alt>``."""
        return self.plot.image(alt)

    def _regions(self, add: Add, machine: Machine) -> None:
        """What lies below the roof on both sides of the ridge, and what the sides are called."""
        axes, ridge = self._axes, machine.ridge
        low = INTENSITIES[0]
        add(
            axes.fill_between(
                [low, ridge], [TFLOPS[0]] * 2, [low * machine.gb_per_s / 1e3, machine.peak_tflops],
                color=LIGHT.used_tint, linewidth=0, zorder=0.5,
            )
        )  # fmt: skip
        add(
            axes.fill_between(
                [ridge, INTENSITIES[1]], [TFLOPS[0]] * 2, [machine.peak_tflops] * 2, facecolor=LIGHT.dead_tint,
                edgecolor="#eeddb0", hatch="//", linewidth=0, zorder=0.5,
            )
        )  # fmt: skip
        add(axes.plot([ridge] * 2, TFLOPS, color=LIGHT.quiet, linewidth=1, linestyle=(0, (2, 2)), zorder=1))
        place = axes.get_xaxis_transform()
        for words, side, shift in (("← memory-bound", "right", -6), ("compute-bound →", "left", 6)):
            x = ridge * 10 ** (shift / _PIXELS_PER_DECADE)
            add(axes.text(x, 1.03, words, transform=place, ha=side, fontsize=10, color=LIGHT.quiet))
        add(axes.text(ridge, 1.03, "|", transform=place, ha="center", fontsize=10, color=LIGHT.quiet))

    def _roofs(self, add: Add, machines: Sequence[Machine]) -> None:
        axes = self._axes
        wanted = [_height(machine.peak_tflops) for machine in machines]
        middles = spread(wanted, _LABEL_HEIGHT, _TOP + 18, _STRIP_TOP - 22)
        for machine, (colour, dashes), height, middle in zip(machines, _MACHINES, wanted, middles, strict=False):
            x = [INTENSITIES[0], machine.ridge, INTENSITIES[1]]
            y = attainable(x, machine).attainable_tflops
            add(axes.plot(x, y, color=colour, linestyle=dashes, linewidth=2.4, zorder=3))
            ridge = [machine.ridge], [machine.peak_tflops]
            add(axes.plot(*ridge, marker="D", color=LIGHT.paper, markeredgecolor=colour, markersize=7, zorder=4))
            # From the end of the roof to the words about it, in the line's own dashes.
            end = self.figure.add_artist(
                _line(
                    [_RIGHT / WIDTH, (_RIGHT + 12) / WIDTH],
                    [1 - height / HEIGHT, 1 - middle / HEIGHT],
                    color=colour,
                    linestyle=dashes,
                )
            )
            add(end)
            words = f"{_and_peak(machine)}\nridge {_short(machine.ridge)} FLOP/B"
            left, below = (_RIGHT + 16) / WIDTH, 1 - middle / HEIGHT
            name = machine.name if len(machine.name) <= 24 else machine.name[:23] + "…"
            add(self.figure.text(left, below + 9 / HEIGHT, name, fontsize=9.5, weight="bold", va="bottom"))
            add(self.figure.text(left, below + 8 / HEIGHT, words, fontsize=9, va="top", linespacing=1.25))

    def _point(self, add: Add, point: Point, machine: Machine) -> None:
        axes, x, y = self._axes, _clip(point.intensity), self._roof(point.intensity, machine)
        add(axes.plot([x, x], [TFLOPS[0], y], color=LIGHT.quiet, linewidth=1, linestyle=":", zorder=2))
        marker: dict[str, Any] = {"marker": "<" if point.intensity < INTENSITIES[0] else "o", "markersize": 6.5}
        if point.chosen:
            marker |= {"markersize": 12, "markerfacecolor": OKABE_ITO["yellow"], "markeredgewidth": 2.2}
        else:
            marker |= {"markerfacecolor": LIGHT.paper, "markeredgewidth": 1.4}
        add(axes.plot([x], [y], markeredgecolor=LIGHT.ink, clip_on=False, zorder=6 + point.chosen, **marker))
        if point.marked_tflops is not None:
            at = [min(max(point.marked_tflops, TFLOPS[0]), TFLOPS[1])]
            add(axes.plot([x], at, "x", color=LIGHT.ink, ms=10, mew=2.6, zorder=8, clip_on=False))

    def _span(self, add: Add, span: Span, machine: Machine) -> None:
        """A bar along the roof, with a cap at both ends."""
        low, high = _clip(span.lowest), _clip(span.highest)
        x = [low, *([machine.ridge] if low < machine.ridge < high else []), high]
        y = [self._roof(one, machine) for one in x]
        add(self._axes.plot(x, y, color=_PROFILE, linewidth=7, alpha=0.45, solid_capstyle="butt", zorder=5))
        ends = [x[0], x[-1]], [y[0], y[-1]]
        add(self._axes.plot(*ends, "|", color=_PROFILE, markersize=17, markeredgewidth=3, clip_on=False, zorder=5.5))
        for at, top in zip(*ends, strict=True):
            add(self._axes.plot([at] * 2, [TFLOPS[0], top], color=_PROFILE, linewidth=1, linestyle=":", zorder=2))

    def _names(self, add: Add, labels: Sequence[Label], first_row: int) -> None:
        """Names in the strip, in rows from `first_row` on, so that names and drop lines keep clear of each other."""
        artists = [
            add(self._strip.text(0, 0, label.words, fontsize=9.5, va="center", weight=label.weight, zorder=4))
            for label in labels
        ]
        for label, artist in zip(labels, artists, strict=True):
            label.width = artist.get_window_extent(self.plot.renderer).width
        stack(labels, first_row, _EDGES)
        deepest = max((label.row for label in labels), default=0)
        if deepest >= ROWS:
            raise ValueError(f"there is room for {ROWS} names at one place, and {deepest + 1} stand there: show fewer.")
        for label, artist in zip(labels, artists, strict=True):
            height = label.row + 0.5
            artist.set_position((_intensity(label.text_left(_EDGES)), height))
            artist.set_bbox({"facecolor": LIGHT.panel, "edgecolor": "none", "pad": 1})
            colour = _PROFILE if label.profile else LIGHT.quiet
            for x in {label.left, label.right}:
                add(self._strip.plot([_intensity(x)] * 2, [0, height], color=colour, lw=1, ls=":", zorder=2))
            if label.profile:
                ends = [_intensity(x) for x in (label.left, label.right)]
                add(self._strip.plot(ends, [height] * 2, "|-", color=_PROFILE, lw=2, ms=8, mew=2, clip_on=False))

    @staticmethod
    def _roof(intensity: float, machine: Machine) -> float:
        """Where a marker of this intensity stands; one that is off the axes stands at their edge."""
        return max(float(attainable(_clip(intensity), machine).attainable_tflops), TFLOPS[0])


_PIXELS_PER_DECADE = (_RIGHT - _LEFT) / math.log10(INTENSITIES[1] / INTENSITIES[0])


def _clip(intensity: float) -> float:
    return min(max(intensity, INTENSITIES[0]), INTENSITIES[1])


def _pixel(intensity: float) -> float:
    return _LEFT + math.log10(_clip(intensity) / INTENSITIES[0]) * _PIXELS_PER_DECADE


def _intensity(pixel: float) -> float:
    return float(INTENSITIES[0] * 10 ** ((pixel - _LEFT) / _PIXELS_PER_DECADE))


def _height(tflops: float) -> float:
    share = math.log(tflops / TFLOPS[0]) / math.log(TFLOPS[1] / TFLOPS[0])
    return float(_STRIP_TOP - min(max(share, 0), 1) * (_STRIP_TOP - _TOP))


def _labels(points: Sequence[Point], spans: Sequence[Span] = ()) -> list[Label]:
    marks = [Label(_pixel(one.intensity), _pixel(one.intensity), _point_label(one), one.chosen) for one in points]
    return marks + [Label(_pixel(one.lowest), _pixel(one.highest), _span_label(one), profile=True) for one in spans]


def _line(x: Sequence[float], y: Sequence[float], **options: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D(x, y, linewidth=1.4, **options)


# Words ----------------------------------------------------------------------------------------------


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _between(low: float, high: float) -> str:
    first, last = _short(low), _short(high)
    return first if first == last else f"{first} to {last}"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _and_peak(machine: Machine) -> str:
    return f"{machine.gb_per_s:,.0f} GB/s, {machine.peak_tflops:g} TFLOP/s"


def _machine_words(machine: Machine) -> str:
    return f"{machine.name} ({_and_peak(machine)}, ridge at {_short(machine.ridge)} FLOP/B)"


def _point_words(point: Point, machine: Machine) -> str:
    found = attainable(point.intensity, machine)
    bound = "memory-bound" if found.memory_bound else "compute-bound"
    return (
        f"{point.name}: {_short(point.intensity)} FLOP/B, at most {_short(float(found.attainable_tflops))} TFLOP/s"
        f"{_mark(point)}, {bound}."
    )


def _point_label(point: Point) -> str:
    return f"{point.name}: {_short(point.intensity)}{_mark(point)}"


def _mark(point: Point) -> str:
    return "" if point.marked_tflops is None else f", {point.mark} {_short(point.marked_tflops)} TFLOP/s"


def _span_label(span: Span) -> str:
    return f"{span.name}, profiled: {_between(span.lowest, span.highest)}"
