"""Pictures of a chapter's marks, as SVG that stands in a page and takes the page's text colour."""

from __future__ import annotations

import html
import io
import re
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from autograder.report.statistics import BINS, Statistics

__all__ = ["distribution", "questions"]

_INK = "#010203"
"""Stands for the page's text colour until the picture is written: matplotlib knows no `currentColor`."""
_BAR = "#3584c8"
"""Contrast of 3 and more on white and on the dark page."""
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 11,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def distribution(chapter: str, numbers: Statistics) -> str:
    """How many students have which share of the points."""
    spans = [f"{100 * k // BINS} to {100 * (k + 1) // BINS} %: {count}" for k, count in enumerate(numbers.bins)]
    label = f"Score distribution of {chapter}: students by share of the points. {'; '.join(spans)}."
    with matplotlib.rc_context(_STYLE | {"svg.hashsalt": f"distribution {chapter}"}):
        figure, axes = _axes(5.2, 2.4, left=0.6)
        edges = [100 * k / BINS for k in range(BINS)]
        axes.bar(edges, numbers.bins, width=100 / BINS - 1, align="edge", color=_BAR)
        axes.set(xlim=(0, 100), xlabel="share of the points (%)", ylabel="students")
        axes.set_xticks(range(0, 101, 20))
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.set_ylim(0, max(1, *numbers.bins) * 1.05)
        return _svg(figure, label)


def questions(chapter: str, numbers: Statistics) -> str:
    """Mean share of the points of every question, the hardest on top; "" when nobody was marked."""
    shares = [(question.name, 100 * question.mean_share) for question in numbers.hardest]
    if not shares:
        return ""
    label = f"Mean share of the points in {chapter}: {'; '.join(f'{name} {share:.0f} %' for name, share in shares)}."
    with matplotlib.rc_context(_STYLE | {"svg.hashsalt": f"questions {chapter}"}):
        left = 0.25 + 0.085 * max(len(name) for name, _ in shares)
        figure, axes = _axes(5.2, 0.75 + 0.28 * len(shares), left=min(left, 2.5))
        # A name is a text, never mathematics: "$" has no meaning here.
        names = [name.replace("$", r"\$") for name, _ in shares]
        bars = axes.barh(names, [share for _, share in shares], color=_BAR)
        axes.bar_label(bars, fmt="%.0f", padding=3)
        axes.set(xlim=(0, 108), xlabel="mean share of the points (%)")
        axes.set_xticks(range(0, 101, 20))
        axes.invert_yaxis()
        return _svg(figure, label)


def _axes(width: float, height: float, *, left: float) -> tuple[Figure, Any]:
    """One picture of this size in inches. Its margins are set by hand: finding them takes as long as drawing."""
    figure = Figure(figsize=(width, height))
    figure.subplots_adjust(left=left / width, right=1 - 0.2 / width, bottom=0.55 / height, top=1 - 0.1 / height)
    return figure, figure.add_subplot()


def _svg(figure: Figure, label: str) -> str:
    """The picture alone: no XML head, no metadata, no ids that would stand twice in one page."""
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{html.escape(label)}"', 1)
