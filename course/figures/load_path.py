"""The way of a load: from the request of a warp through L1 and L2 to DRAM, and where the three byte counts are taken.

Waits are those of one H200 (`course.measured.latency`), bytes those of one request (`course.models.coalescing`).
"""

from __future__ import annotations

from dataclasses import dataclass

from course.figures.parts import count, frame, in_bytes, picture
from course.figures.svg import element, text
from course.measured import Latency

__all__ = ["Trip", "load_path_image", "load_path_svg", "sentence"]

WIDTH, HEIGHT = 800, 262
_TOP, _HEIGHT = 66, 62
_BOXES = (1, 168, 336, 504, 671)
_BOX = 128
_BACK_Y = 190


@dataclass(frozen=True)
class Trip:
    """The bytes of one request on its way, with caches that hold nothing yet."""

    active_lanes: int
    requested_bytes: int
    sectors: int
    transferred_bytes: int
    dram_bytes: int
    dram_block_bytes: int
    """Unit of the card's DRAM reads."""


def sentence(trip: Trip, latency: Latency) -> str:
    """The chart in words: alt text and caption."""
    cycles = latency.cycles
    return (
        f"The way of a load. A request of {count(trip.active_lanes, 'lane')} asks for "
        f"{in_bytes(trip.requested_bytes)} (requested). They lie in {count(trip.sectors, 'sector')}, so L1 moves "
        f"{in_bytes(trip.transferred_bytes)} (L1-transferred). A sector that L1 holds arrives after about "
        f"{cycles['l1']:.0f} cycles, one that only L2 holds after about {round(cycles['l2'], -1):.0f}, and one that "
        f"must come from DRAM after about {round(cycles['dram'], -1):.0f}. If no cache holds anything, DRAM moves "
        f"{in_bytes(trip.dram_bytes)}, in blocks of {in_bytes(trip.dram_block_bytes)}."
    )


def load_path_image(trip: Trip, latency: Latency) -> str:
    """The chart as ``<img alt>``: it survives viewers that remove inline SVG. Always light."""
    return picture(load_path_svg(trip, latency, alone=True), sentence(trip, latency), WIDTH)


def load_path_svg(trip: Trip, latency: Latency, *, alone: bool = False) -> str:
    """The chart as an SVG of fixed size; `alone`: with its own style, else it takes the page's."""
    cycles = latency.cycles
    boxes = (
        ("Request", f"{trip.active_lanes} lanes", "one instruction"),
        ("Sectors", f"{trip.sectors} of 32 B", "that hold the bytes"),
        ("L1", "on this SM", "holds it?"),
        ("L2", "for the whole chip", "holds it?"),
        ("DRAM", "off the chip", "always holds it"),
    )
    body = [_box(x, *words) for x, words in zip(_BOXES, boxes, strict=True)]
    body += [_arrow(left + _BOX, right, "") for left, right in ((_BOXES[0], _BOXES[1]), (_BOXES[1], _BOXES[2]))]
    body += [_arrow(left + _BOX, right, "miss") for left, right in ((_BOXES[2], _BOXES[3]), (_BOXES[3], _BOXES[4]))]
    body += [
        _counted(_BOXES[0], "requested", trip.requested_bytes),
        _counted(_BOXES[1], "L1-transferred", trip.transferred_bytes),
        _counted(_BOXES[4], "DRAM", trip.dram_bytes),
        _back(_BOXES[2], "hit: ", f"{cycles['l1']:.0f} cycles"),
        _back(_BOXES[3], "hit: ", f"{round(cycles['l2'], -1):.0f} cycles"),
        _back(_BOXES[4], "", f"{round(cycles['dram'], -1):.0f} cycles"),
        element("rect", x=_BOXES[0], y=_BACK_Y, width=_BOXES[4] + _BOX - _BOXES[0], height=30, rx=3, class_="box"),
        text(10, _BACK_Y + 20, "Registers of the lanes: the warp goes on when the last of its sectors is here"),
        text(0, HEIGHT - 14, "Bytes with caches that hold nothing yet; waits measured on an H200.", class_="quiet"),
    ]
    return frame(body, WIDTH, HEIGHT, sentence(trip, latency), alone=alone)


def _box(x: int, name: str, first: str, second: str) -> str:
    middle = x + _BOX / 2
    return (
        element("rect", x=x, y=_TOP, width=_BOX, height=_HEIGHT, rx=3, class_="box")
        + text(middle, _TOP + 20, name, class_="tier middle")
        + text(middle, _TOP + 37, first, class_="middle")
        + text(middle, _TOP + 53, second, class_="quiet middle")
    )


def _arrow(left: float, right: float, word: str) -> str:
    """An arrow between two boxes, with a word above it."""
    y = _TOP + _HEIGHT / 2
    line = element("path", d=f"M{left + 5:g} {y:g}H{right - 5:g}m-7 -4l7 4l-7 4", class_="arrow")
    return line + (text((left + right) / 2, y - 6, word, class_="middle") if word else "")


def _back(x: float, word: str, cycles: str) -> str:
    """The way back to the registers, and how long it took."""
    middle = x + _BOX / 2
    down = f"M{middle:g} {_TOP + _HEIGHT + 5}V{_BACK_Y - 5}m-4 -7l4 7l4 -7"
    return element("path", d=down, class_="arrow") + text(
        middle - 10, _TOP + _HEIGHT + 34, word + cycles, text_anchor="end"
    )


def _counted(x: float, name: str, amount: int) -> str:
    """A byte count, above the place where it is taken."""
    middle = x + _BOX / 2
    mark = element("path", d=f"M{middle:g} {_TOP - 28}V{_TOP - 5}m-4 -7l4 7l4 -7", class_="arrow")
    number = text(middle, 30, in_bytes(amount), class_="tier middle", data_bytes=name, data_value=amount)
    return text(middle, 14, name, class_="quiet middle") + number + mark
