"""The pictures of the start page: the memory pyramid of a card, and the way of a load."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from course.cards import CARDS, Card, card
from course.explorers.controls import Dropdown, Panel
from course.explorers.display import show, show_html
from course.explorers.explorer import still
from course.figures import load_path
from course.figures import pyramid as figure
from course.figures.svg import clean, element
from course.measured import latency
from course.models import coalescing as model

__all__ = ["PyramidExplorer", "pyramid", "way_of_a_load"]

_GPUS = {key: one for key, one in CARDS.items() if one.kind != "cpu"}


def pyramid(name: str = "h200") -> None:
    """Show the levels of memory: who sees them, how large they are on a card, and how long a load waits.

    name: the card to start with, as in `course.cards`.
    """
    start = card(name)
    if start.key not in _GPUS:
        raise ValueError(f"{start.name} is not a GPU: expected one of {', '.join(_GPUS)}.")
    picture = figure.pyramid_image(start, latency())
    static = still(picture + figure.names_table(), clean(figure.sentence(start, latency())), _small())
    show(static, PyramidExplorer(start).parts)


def way_of_a_load(stride: int = 4, *, on: str = "h200") -> None:
    """Show what happens to one request of a warp, 32 lanes with `stride` 4-byte elements between neighbours.

    on: a card whose DRAM block was measured; it decides the bytes that come from DRAM.
    """
    where = card(on)
    if where.dram_granule_bytes is None:
        raise ValueError(f"{where.name} has no measured DRAM block: {where.source('dram_granule_bytes')}")
    addresses = model.lane_addresses(stride)
    request = model.coalesce(addresses)
    blocks = model.coalesce(addresses, unit_bytes=where.dram_granule_bytes)
    trip = load_path.Trip(
        active_lanes=int(request.active_lanes.sum()),
        requested_bytes=int(request.requested_bytes.sum()),
        sectors=int(request.sectors.sum()),
        transferred_bytes=int(request.transferred_bytes.sum()),
        dram_bytes=int(blocks.transferred_bytes.sum()),
        dram_block_bytes=where.dram_granule_bytes,
    )
    words = load_path.sentence(trip, latency())
    access = "x[i]" if stride == 1 else f"x[{stride} * i]"
    code = element("p", "In a kernel: " + element("code", clean(f"value = {access}")) + " with 4-byte elements.")
    show_html(still(load_path.load_path_image(trip, latency()) + code, clean(words)))


class PyramidExplorer:
    """A menu of cards and the picture; `parts` are the widgets in reading order."""

    def __init__(self, start: Card) -> None:
        self.card = Dropdown("Card", [(one.name, key) for key, one in _GPUS.items()], start.key)
        self.panel = Panel({"card": self.card}, self._draw)
        self.picture, self.status, self.notes = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.notes.value = figure.names_table() + _small()
        self._draw()

    @property
    def parts(self) -> list[Any]:
        """The widgets, in reading order."""
        return [self.card.widget, self.picture, self.status, self.notes]

    def _draw(self) -> None:
        chosen = _GPUS[self.card.value]
        self.picture.value = figure.pyramid_svg(chosen, latency())
        self.status.value = element("p", clean(figure.sentence(chosen, latency())), role="status")


def _small() -> str:
    words = (
        "The ratios are the point: expect the same order of magnitude on another card, not the same number. Waits: "
        f"one lane that chases pointers, in cycles at {latency().sm_clock_mhz} MHz. {latency().source} The picture "
        "leaves out bandwidth, constant and texture caches, and that many loads wait at the same time."
    )
    return element("p", clean(words), class_="small quiet")
