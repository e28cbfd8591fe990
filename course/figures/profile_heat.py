"""Where a kernel's traffic comes from: its source lines, each with a bar of the sectors or wavefronts it costs.

The filled part of a bar is what the same bytes need at least, the hatched part is what the addresses add. A Profile
goes in; the Figure belongs to no pyplot state, so ``heat(profile).savefig("heat.png")`` makes a slide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from course.figures.style import FIGURE_STYLE, LIGHT
from course.models.coalescing import SECTOR_BYTES

if TYPE_CHECKING:
    from course.profiling.profile import Profile

__all__ = ["By", "Heat", "heat", "heat_rows", "heat_sentence"]

By = Literal["sectors", "wavefronts"]
_SPACE = {"sectors": "global", "wavefronts": "shared"}
_EACH = {"sectors": "request", "wavefronts": "instruction"}

_WIDTH = 800
_ROW = 21
_ABOVE, _BELOW = 52, 34
"""Pixels of a row, and above and below the rows."""
_LETTERS = 56
"""Letters of source that a row has room for."""
_SPLIT = 0.575
"""Where the bars begin, as a share of the width."""


@dataclass(frozen=True)
class Heat:
    """One source line and its cost."""

    number: int
    text: str
    cost: int
    """Sectors (or wavefronts) of all its accesses."""
    least: int
    """What the same bytes would cost in neighbouring sectors (the same accesses without a bank conflict)."""
    accesses: int
    """Requests (or shared-memory instructions)."""


def heat_rows(profile: Profile, by: By = "sectors") -> tuple[Heat, ...]:
    """The cost of every line of the kernel, in source order."""
    if by not in _SPACE:
        raise ValueError(f"by is {by!r}: expected one of {', '.join(_SPACE)}.")
    rows = []
    for line in profile.lines:
        sites = [c for c in line.sites if c.site.space == _SPACE[by]]
        if by == "sectors":
            cost = sum(c.sectors for c in sites)
            # Lanes that share bytes cost less than their bytes would alone.
            least = sum(min(c.sectors, -(-c.requested_bytes // SECTOR_BYTES)) for c in sites)
        else:
            cost, least = sum(c.wavefronts for c in sites), sum(c.ideal_wavefronts for c in sites)
        rows.append(Heat(line.number, line.text, cost, least, sum(c.instructions for c in sites)))
    return tuple(rows)


def heat_sentence(profile: Profile, by: By = "sectors") -> str:
    """The picture in one sentence: alt text and caption."""
    rows = heat_rows(profile, by)
    total = sum(row.cost for row in rows)
    if not total:
        return f"The lines of {profile.kernel}: none of them costs {by}, for none reaches {_SPACE[by]} memory."
    worst = max(rows, key=lambda row: row.cost)
    extra = sum(row.cost - row.least for row in rows)
    return (
        f"The lines of {profile.kernel} with the {by} they cost: {total:,} in all, {extra:,} of them more than the "
        f"same accesses need at least. Line {worst.number} costs most: {worst.cost:,}, or "
        f"{_rate(worst)} for each {_EACH[by]}."
    )


def heat(profile: Profile, by: By = "sectors") -> Any:
    """The picture as a matplotlib Figure, as high as the kernel is long.

    by: "sectors" shows global memory, "wavefronts" shared memory.
    """
    import matplotlib
    from matplotlib.figure import Figure

    rows = heat_rows(profile, by)
    height = _ABOVE + _ROW * len(rows) + _BELOW
    with matplotlib.rc_context(cast(Any, FIGURE_STYLE)):
        figure = Figure(figsize=(_WIDTH / 96, height / 96))
        axes = figure.add_axes((_SPLIT, _BELOW / height, 0.985 - _SPLIT, _ROW * len(rows) / height))
        most = max((row.cost for row in rows), default=0)
        axes.set(xlim=(0, 1.45 * max(most, 1)), ylim=(len(rows) - 0.5, -0.5), yticks=[])
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4, integer=True, prune="upper"))
        axes.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
        axes.grid(axis="y", visible=False)
        axes.set_axisbelow(True)
        for n, row in enumerate(rows):
            _draw(axes, n, row, most, by)
        _titles(figure, axes, profile, by, height)
    return figure


def _draw(axes: Any, n: int, row: Heat, most: int, by: By) -> None:
    """One source line, and its bar on a row that is the warmer the more the line costs."""
    from matplotlib.patches import Rectangle

    source = row.text.rstrip()
    source = source if len(source) <= _LETTERS else source[: _LETTERS - 1] + "…"
    place = {"xycoords": ("figure fraction", "data"), "va": "center", "fontfamily": "DejaVu Sans Mono"}
    axes.annotate(f"{row.number}", (0.042, n), ha="right", fontsize=8, color=LIGHT.quiet, **place)
    axes.annotate(source, (0.052, n), fontsize=9, weight="bold" if row.cost == most > 0 else "normal", **place)
    if not row.accesses:
        return
    band = axes.get_yaxis_transform(which="grid")
    width = 1 / (1 - _SPLIT)
    axes.add_patch(
        Rectangle(
            (1 - width, n - 0.5), width, 1, transform=band, clip_on=False, lw=0, zorder=-1,
            color=LIGHT.dead, alpha=0.06 + 0.26 * row.cost / max(most, 1),
        )
    )  # fmt: skip
    axes.barh(n, row.least, height=0.62, color=LIGHT.used)
    extra = row.cost - row.least
    if extra:
        axes.barh(
            n, extra, left=row.least, height=0.62, color=LIGHT.dead_tint, edgecolor=LIGHT.dead, hatch="////", lw=0
        )
    axes.barh(n, row.cost, height=0.62, color="none", edgecolor=LIGHT.ink, linewidth=0.8)
    axes.annotate(
        f"{row.cost:,} ({_rate(row)} each)",
        (row.cost, n),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=8.5,
    )


def _titles(figure: Any, axes: Any, profile: Profile, by: By, height: int) -> None:
    from matplotlib.patches import Patch

    top = 1 - 20 / height
    extra = "dead bytes add" if by == "sectors" else "bank conflicts add"
    figure.text(0.012, top, f"{profile.kernel}: {by} line by line", fontsize=12, va="center")
    handles = [
        Patch(facecolor=LIGHT.used, edgecolor=LIGHT.ink, label="needed at least"),
        Patch(facecolor=LIGHT.dead_tint, edgecolor=LIGHT.dead, hatch="////", label=extra),
    ]
    figure.legend(handles=handles, loc="center right", bbox_to_anchor=(0.99, top), ncols=2, frameon=False, fontsize=9)
    axes.set_xlabel(f"{by} (each: of one {_EACH[by]})", labelpad=1, fontsize=9)
    axes.tick_params(axis="x", labelsize=8)


def _rate(row: Heat) -> str:
    return f"{row.cost / row.accesses:.3g}"
