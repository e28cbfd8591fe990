"""The picture of one request: lanes, the sectors their bytes lie in, and the lines of those sectors.

Every place in the picture is fixed: 32 lanes have 32 slots, and a request of 32 aligned lanes can touch no
more than 32 sectors, so a sector box has the same size whatever the access. The number of boxes is the cost.
This file draws; every count comes from `course.models.coalescing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from course.figures.parts import Quantity, count, frame, in_bytes, number_list, percent, picture, table, tier
from course.figures.svg import element, text
from course.models.coalescing import LINE_BYTES, SECTOR_BYTES, Coalescing

__all__ = ["address_table", "numbers", "request_image", "request_svg", "sentence", "unit_name"]

WIDTH, HEIGHT = 800, 300
_LEFT, _SLOTS_WIDTH = 84, 712
_LANES_Y, _LANE_HEIGHT = 12, 24
_UNITS_Y, _UNIT_HEIGHT, _ROWS = 128, 72, 8
_LINES_Y, _LINE_HEIGHT = 224, 14
_LEGEND_Y = 278

_TIERS = {SECTOR_BYTES: "Sectors", LINE_BYTES: "Lines"}

Integers = npt.NDArray[np.int64]


def unit_name(unit_bytes: int, count: int = 2) -> str:
    """What `count` service units of this size are called: sectors, lines or 64-byte units."""
    name = {SECTOR_BYTES: "sector", LINE_BYTES: "line"}.get(unit_bytes, f"{unit_bytes}-byte unit")
    return name if count == 1 else name + "s"


def sentence(result: Coalescing, lanes: int) -> str:
    """The request in one sentence: alt text, live text and caption."""
    active = int(result.active_lanes.sum())
    if not active:
        return f"None of the {lanes} lanes is active, so no request is issued and no byte moves."
    units, lines = int(result.sectors.sum()), int(result.lines.sum())
    where = f" in {count(lines, 'line')}" if result.unit_bytes != LINE_BYTES else ""
    return (
        f"{active} of {lanes} lanes each ask for {count(result.element_bytes, 'byte')}: the request touches "
        f"{units} {unit_name(result.unit_bytes, units)}{where}, so {in_bytes(int(result.requested_bytes.sum()))} are "
        f"requested, {in_bytes(int(result.transferred_bytes.sum()))} are transferred, and the efficiency is "
        f"{percent(result.efficiency)}{' (lanes share bytes)' if result.efficiency > 1 else ''}."
    )


def numbers(result: Coalescing) -> str:
    """The counts beside the picture, as an HTML list of terms; each carries its raw value in data-value."""
    sectors, lines = int(result.sectors.sum()), int(result.lines.sum())
    active, requested = int(result.active_lanes.sum()), int(result.requested_bytes.sum())
    transferred = int(result.transferred_bytes.sum())
    shown = [
        Quantity("requests", "Requests", result.requests, f"{result.requests}"),
        Quantity("active", "Active lanes", active, f"{active}"),
        Quantity("sectors", unit_name(result.unit_bytes).capitalize(), sectors, f"{sectors}", key=True),
        Quantity("lines", "Lines", lines, f"{lines}"),
        Quantity("requested", "Requested", requested, in_bytes(requested)),
        Quantity("transferred", "Transferred", transferred, in_bytes(transferred)),
        Quantity("efficiency", "Efficiency", result.efficiency, percent(result.efficiency), key=True),
    ]
    if result.unit_bytes == LINE_BYTES:
        del shown[3]  # the units are the lines: say it once
    return number_list(shown)


def address_table(addresses: Integers, active: npt.NDArray[np.bool_], *, unit_bytes: int = SECTOR_BYTES) -> str:
    """Lane, byte address, sector and line of every lane, as an HTML table that scrolls in place.

    addresses, active: one entry per lane.
    """
    unit = unit_name(unit_bytes, 1).capitalize()
    heads = ["Lane", "Address", unit] + (["Line"] if unit_bytes != LINE_BYTES else [])
    rows = []
    for lane, (address, takes_part) in enumerate(zip(addresses.tolist(), active.tolist(), strict=True)):
        cells = [f"{address}", f"{address // unit_bytes}", f"{address // LINE_BYTES}"] if takes_part else ["inactive"]
        cells += ["–"] * (3 - len(cells))
        rows.append([str(lane), *cells[: len(heads) - 1]])
    return table(heads, rows, name="Address of every lane")


def request_image(addresses: Integers, active: npt.NDArray[np.bool_], units: Integers, result: Coalescing) -> str:
    """The same picture as ``<img alt>``: it survives viewers that remove inline SVG. Always light."""
    svg = request_svg(addresses, active, units, result, alone=True)
    return picture(svg, sentence(result, len(addresses)), WIDTH)


def request_svg(
    addresses: Integers,
    active: npt.NDArray[np.bool_],
    units: Integers,
    result: Coalescing,
    *,
    alone: bool = False,
) -> str:
    """One request as an SVG of fixed size.

    addresses, active: byte address and mask, one entry per lane.
    units: numbers of the touched units, ascending (`models.units_touched`).
    result: the counts of the same request (`models.coalesce`).
    alone: carries its own style; otherwise it takes the page's.
    """
    grid = _Grid(len(addresses), result.unit_bytes, result.element_bytes, units.tolist())
    body = [
        tier(_LANES_Y + 4, "Lanes", f"{result.element_bytes} B each"),
        tier(_UNITS_Y + 20, _TIERS.get(result.unit_bytes, "Units"), f"{result.unit_bytes} B each"),
        *grid.draw_units(),
        *grid.draw_lanes(addresses.tolist(), active.tolist()),
        _legend(unit_name(result.unit_bytes, 1)),
    ]
    if result.unit_bytes < LINE_BYTES:  # else the units are the lines already
        body += [tier(_LINES_Y - 6, "Lines", f"{LINE_BYTES} B each"), *grid.draw_lines()]
    return frame(body, WIDTH, HEIGHT, sentence(result, len(addresses)), alone=alone)


class _Grid:
    """Where everything lies: one slot per lane, and the touched units in the same slots below."""

    def __init__(self, lanes: int, unit_bytes: int, element_bytes: int, units: Sequence[int]) -> None:
        self.pitch = _SLOTS_WIDTH / lanes
        self.box = self.pitch * 0.8
        self.unit_bytes, self.element_bytes, self.units = unit_bytes, element_bytes, units
        self.slot = {unit: slot for slot, unit in enumerate(units)}
        self.row_bytes = unit_bytes // _ROWS
        self.narrow = lanes > 32

    def x(self, slot: int) -> float:
        return _LEFT + slot * self.pitch + (self.pitch - self.box) / 2

    def draw_lanes(self, addresses: Sequence[int], active: Sequence[bool]) -> list[str]:
        """A box per lane, its link, and the bytes it touches; one group each, lit together by the pointer."""
        return [self._lane(lane, *pair) for lane, pair in enumerate(zip(addresses, active, strict=True))]

    def _lane(self, lane: int, address: int, takes_part: bool) -> str:
        middle, width = self.x(lane) + self.box / 2, self.pitch * 0.88
        left = middle - width / 2
        parts = [element("rect", x=left, y=_LANES_Y, width=width, height=_LANE_HEIGHT, rx=2, class_="box")]
        if self.narrow:  # two digits fit only when they run upwards
            place = f"rotate(-90 {middle + 3.5:.2f} {_LANES_Y + 12})"
            parts.append(text(middle + 3.5, _LANES_Y + 12, lane, class_="num tight", transform=place))
        else:
            parts.append(text(middle, _LANES_Y + 16, lane, class_="num"))
        if not takes_part:
            return element("g", "".join(parts), class_="lane idle", data_lane=lane)
        slot, byte = self.slot[address // self.unit_bytes], address % self.unit_bytes
        end = self.x(slot) + self.box * (byte + self.element_bytes / 2) / self.unit_bytes
        bend = (_UNITS_Y - _LANES_Y - _LANE_HEIGHT) / 2
        parts.append(
            element(
                "path",
                d=f"M{middle:.1f} {_LANES_Y + _LANE_HEIGHT}c0 {bend:g} {end - middle:.1f} {bend:g} "
                f"{end - middle:.1f} {2 * bend:g}",
                class_="link",
            )
        )
        parts.append(self._bytes(slot, byte))
        # Lanes served by one unit share a shade, its neighbours have the other one.
        shade = "lane odd" if slot % 2 else "lane"
        return element("g", "".join(parts), class_=shade, data_lane=lane, data_address=address)

    def _bytes(self, slot: int, byte: int) -> str:
        """The element inside its unit: bytes run left to right and top to bottom, eight rows a unit."""
        cell, height = self.box / self.row_bytes, _UNIT_HEIGHT / _ROWS
        return element(
            "rect",
            x=self.x(slot) + byte % self.row_bytes * cell,
            y=_UNITS_Y + byte // self.row_bytes * height,
            width=min(self.element_bytes, self.row_bytes) * cell,
            height=math.ceil(self.element_bytes / self.row_bytes) * height,
            class_="used",
        )

    def draw_units(self) -> list[str]:
        """A hatched box per touched unit; what lanes use is painted over the hatch later."""
        shelf = element("rect", x=_LEFT, y=_UNITS_Y - 3, width=_SLOTS_WIDTH, height=_UNIT_HEIGHT + 6, class_="shelf")
        lefts = [self.x(slot) for slot in range(len(self.units))]
        boxes = [
            element("rect", x=left, y=_UNITS_Y, width=self.box, height=_UNIT_HEIGHT, class_="unit", data_unit=unit)
            for left, unit in zip(lefts, self.units, strict=True)
        ]
        step = _UNIT_HEIGHT / _ROWS
        # One relative stroke after another, so that the whole hatch of a box is one short string.
        strokes = "".join(f"l{self.box:.1f} {-step:g}m{-self.box:.1f} {2 * step:g}" for _ in range(_ROWS))
        hatch = "".join(f"M{left:.1f} {_UNITS_Y + step:g}{strokes}" for left in lefts)
        margin = (self.pitch - self.box) / 2
        gaps = [
            left - margin
            for left, before, unit in zip(lefts[1:], self.units, self.units[1:], strict=False)
            if unit != before + 1
        ]
        numbers_below = [(left + self.box / 2, unit) for left, unit in zip(lefts, self.units, strict=True)]
        return [
            shelf,
            *boxes,
            element("path", d=hatch, class_="hatch"),
            _gaps(gaps, _UNITS_Y + _UNIT_HEIGHT / 2),
            *_labels(numbers_below, _UNITS_Y + _UNIT_HEIGHT + 15),
        ]

    def draw_lines(self) -> list[str]:
        """Each line below its units: a solid cell per unit that moves, a dashed one per unit that does not."""
        per_line = LINE_BYTES // self.unit_bytes
        cells: dict[bool, list[str]] = {True: [], False: []}
        labels = []
        for line, members in groupby(self.units, key=lambda unit: unit // per_line):
            touched = list(members)
            left = self.x(self.slot[touched[0]])
            width = self.x(self.slot[touched[-1]]) + self.box - left
            labels.append((left + width / 2, line))
            cell = width / per_line
            for n in range(per_line):
                outline = f"M{left + n * cell:.2f} {_LINES_Y}h{cell:.2f}v{_LINE_HEIGHT}h{-cell:.2f}z"
                cells[line * per_line + n in touched].append(outline)
        return [
            element("path", d="".join(cells[True]), class_="moved"),
            element("path", d="".join(cells[False]), class_="unmoved"),
            *_labels(labels, _LINES_Y + _LINE_HEIGHT + 13),
        ]


def _labels(places: Sequence[tuple[float, int]], y: float) -> list[str]:
    """Numbers below boxes: all of them, or every second, third ... where they would run into each other."""
    step = 1
    while any(right - left < _room(a) + _room(b) for (left, a), (right, b) in pairwise(places[::step])):
        step += 1
    return [text(x, y, number, class_="num quiet") for x, number in places[::step]]


def _room(number: int) -> float:
    """Half the width of a number and of the space beside it."""
    return 3.4 * len(str(number)) + 1.5


def _gaps(places: Sequence[float], y: float) -> str:
    """Three dots at each place: bytes between two neighbours in the picture are left out."""
    dots = "".join(f"M{x:.1f} {y - 6:g}h0m0 6h0m0 6h0" for x in places)
    return element("path", d=dots, class_="gap")


@cache
def _legend(unit: str) -> str:
    y = _LEGEND_Y
    used, dead, idle, unmoved, gap = 84, 218, 426, 540, 676
    box: dict[str, Any] = {"y": y, "width": 16, "height": 14}
    hatch = element("path", d=f"M{dead} {y + 7}l16 -7M{dead} {y + 14}l16 -7", class_="hatch")
    entries = [
        (used, element("rect", x=used, class_="used", **box), "bytes a lane uses"),
        (dead, element("rect", x=dead, class_="unit", **box) + hatch, "dead bytes: moved, not used"),
        (idle, element("g", element("rect", x=idle, rx=2, class_="box", **box), class_="idle"), "inactive lane"),
        (unmoved, element("rect", x=unmoved, class_="unmoved", **box), f"{unit} not moved"),
        (gap, _gaps([gap + 11], y + 7), "bytes left out"),
    ]
    return "".join(mark + text(x + 22, y + 11, words) for x, mark, words in entries)
