"""The explorer of chapter `coalescing`: settings of one request -> model -> picture, numbers, words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from course.explorers.access_patterns import PATTERNS, PRESETS, Access
from course.explorers.access_profile import compare
from course.explorers.controls import Choice, Dropdown, Number
from course.explorers.display import show, show_html
from course.explorers.explorer import Drawing, Explorer, start, still
from course.explorers.predict import Prediction, folded
from course.explorers.profile_button import Comparison
from course.figures import coalescing as figure
from course.figures.svg import clean, element
from course.models import coalescing as model

if TYPE_CHECKING:
    from course.profiling.profile import Profile

__all__ = ["CoalescingExplorer", "coalescing", "predict_sectors", "stride_sweep"]

_LOADS = ("instructions", "sectors", "requested_bytes", "transferred_bytes")


def coalescing(preset: str = "contiguous") -> None:
    """Play with one request of a warp: which sectors it touches, and how many of their bytes it uses.

    preset: the access to start from, by its name in the explorer ("stride 2", "broadcast", ...).
    """
    explorer = CoalescingExplorer(start(PRESETS, preset))
    show(_still(explorer.settings), explorer.parts)


def predict_sectors(
    stride: int = 1,
    offset: int = 0,
    element_bytes: int = 4,
    *,
    active: int = model.WARP_LANES,
    pattern: str = "strided",
) -> None:
    """Ask how many sectors one warp request touches; the picture shows after the student's number.

    Lane i reads element ``i * stride + offset`` of an array that starts at a sector boundary
    (or, for the patterns "reversed" and "random", the element that the question says).
    """
    access = Access(pattern, stride, offset, element_bytes, active)
    question = _question(access)
    prediction = Prediction(question, lambda number: _reveal(number, access), high=9999)
    show(folded(question, _still(access)), prediction.parts)


def stride_sweep(element_bytes: int = 4, *, profiles: Mapping[int, Profile] | None = None) -> None:
    """Plot sectors per request and efficiency over the stride: as the model counts, or as a kernel does.

    profiles: stride -> profile of a launch, whose loads are plotted; None takes the model, for strides 1 to 64.
    """
    from course.figures.style import image
    from course.figures.sweep import stride_sweep as plot
    from course.figures.sweep import stride_sweep_sentence

    strides = np.arange(1, 65) if profiles is None else np.array(sorted(profiles))
    if profiles is None:
        results = [model.coalesce(model.lane_addresses(int(s), 0, element_bytes), element_bytes) for s in strides]
        costs = [r.sectors_per_request for r in results], [r.efficiency for r in results]
    else:
        costs = [], []
        for stride in strides:
            requests, sectors, asked, moved = (profiles[stride].total("global", n, "load") for n in _LOADS)
            costs[0].append(sectors / requests)
            costs[1].append(asked / moved)
    words = stride_sweep_sentence(strides, *costs)
    picture = image(plot(strides, *costs), words)
    show_html(still(picture, clean(words)))


class CoalescingExplorer(Explorer[Access]):
    """One request: its picture and numbers, and on demand the address of every lane."""

    table_name = "Show the address of every lane"

    def __init__(self, begin: Access) -> None:
        self.lanes = Choice("Lanes", [("32 (warp)", 32), ("64 (AMD wavefront)", 64)], begin.lanes)
        self.active = Number("Active lanes", begin.active, 0, begin.lanes)
        self.stride = Number("Stride", begin.stride, 0, 64)
        self.lanes.source.observe(self._on_lanes, names="value")
        sizes = [(f"{size} B", size) for size in model.ACCESS_BYTES]
        units = [("32 B (sector)", 32), ("64 B", 64), ("128 B", 128)]
        super().__init__(
            PRESETS,
            begin,
            {
                "pattern": Dropdown("Pattern", [(shown, name) for name, shown in PATTERNS.items()], begin.pattern),
                "stride": self.stride,
                "offset": Number("Base offset", begin.offset, 0, 64),
                "element_bytes": Choice("Element size", sizes, begin.element_bytes),
                "lanes": self.lanes,
                "active": self.active,
                "unit_bytes": Choice("Service unit", units, begin.unit_bytes),
            },
            [["pattern", "stride", "offset", "active"], ["element_bytes", "lanes", "unit_bytes"]],
        )

    def draw(self, settings: Access) -> Drawing:
        """The request, its numbers, and the line of a kernel that makes it."""
        result = settings.result
        return Drawing(
            figure.request_svg(settings.addresses, settings.mask, settings.units, result) + figure.numbers(result),
            figure.sentence(result, settings.lanes),
            _code(settings) + _notes(settings),
        )

    def compare(self, settings: Access) -> Comparison:
        """The same request made by a kernel in the simulator."""
        return compare(settings)

    def enable(self, settings: Access) -> None:
        """A random gather has no stride."""
        self.stride.enable(settings.pattern != "random")

    def table(self, settings: Access) -> str:
        """Lane, address, sector and line."""
        return figure.address_table(settings.addresses, settings.mask, unit_bytes=settings.unit_bytes)

    def _on_lanes(self, change: Any) -> None:
        """A full warp stays full when it becomes a wavefront, and the other way round."""
        with self.panel.quietly():
            full = self.active.value == change.old
            self.active.limit(change.new)
            if full:
                self.active.value = change.new


def _still(access: Access) -> str:
    """The picture as plain HTML with its numbers as caption and the address table folded below."""
    addresses, mask, result = access.addresses, access.mask, access.result
    words = element("code", clean(access.expression)) + " " + clean(figure.sentence(result, access.lanes))
    table = figure.address_table(addresses, mask, unit_bytes=access.unit_bytes)
    folded_table = element("details", element("summary", "The address of every lane") + table)
    return still(figure.request_image(addresses, mask, access.units, result), words) + folded_table


def _code(access: Access) -> str:
    return element(
        "p",
        "In a kernel: "
        + element("code", clean(access.expression))
        + " Lane i reads from byte "
        + element("code", clean(access.address_expression))
        + " of x on.",
    )


def _notes(access: Access) -> str:
    """What is only a model, and what the picture leaves out."""
    notes = []
    if access.lanes != model.WARP_LANES:
        notes.append("64 lanes: a teaching model of how an AMD wavefront groups its lanes, not measured.")
    if access.unit_bytes != model.SECTOR_BYTES:
        notes.append(f"{access.unit_bytes} B units: for comparison; NVIDIA's caches move sectors of 32 B.")
    small = (
        f"A box reads like a page: 8 rows of {access.unit_bytes // 8} bytes. i is the thread's number, which in the "
        "first warp is the lane. The picture leaves out caches, other requests and time."
    )
    about = element("p", clean(" ".join(notes))) if notes else ""
    return about + element("p", small, class_="small quiet")


def _question(access: Access) -> str:
    who = "32 lanes" if access.active == access.lanes else f"the first {access.active} of 32 lanes"
    size = "1 byte" if access.element_bytes == 1 else f"{access.element_bytes} bytes"
    return (
        f"In one warp, {who} run {access.expression}, where i is the lane. An element has {size}, and x starts at "
        "a sector boundary. How many sectors does this request touch?"
    )


def _reveal(number: int, access: Access) -> str:
    result = access.result
    truth = int(result.sectors[0])
    return (
        element("p", clean(difference(number, result)), role="status", data_prediction=number, data_truth=truth)
        + figure.request_svg(access.addresses, access.mask, access.units, result)
        + figure.numbers(result)
    )


def difference(number: int, result: model.Coalescing) -> str:
    """One sentence about a prediction of the sectors of one request, beside the truth."""
    truth, lines, lanes = int(result.sectors[0]), int(result.lines[0]), int(result.active_lanes[0])
    requested = int(result.requested_bytes[0])
    if number == truth:
        return f"You said {number}, and it is {truth}: right."
    both = f"You said {number}, and it is {truth}: "
    if number in (requested, int(result.transferred_bytes[0])):
        return both + f"{number} is a number of bytes, and a sector holds 32 of them."
    if number == lines:
        return both + f"{number} is the number of 128-byte lines, and a line has four sectors."
    if number == lanes:
        return both + f"there are {number} active lanes, but lanes whose bytes lie in one sector share it."
    if number == -(-requested // model.SECTOR_BYTES):
        return both + f"{number} would hold the requested {requested} B side by side, but they do not lie so."
    if number < truth:
        return both + f"{truth - number} more than you said; count every sector that a lane's bytes lie in."
    return both + f"{number - truth} fewer than you said; a sector counts once, however many lanes read from it."
