"""The explorer of chapter `layout`: a record, the fields a kernel reads, a layout -> the bytes of one warp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from course.explorers.controls import Choice, Control, FieldOfRecord
from course.explorers.display import show
from course.explorers.explorer import Drawing, Explorer, start, still
from course.explorers.layout_profile import compare
from course.explorers.layouts import ABSENT, FIELD_NAMES, LAYOUTS, PRESETS, TILES, TYPES, Field, Reading
from course.explorers.predict import Prediction, folded
from course.explorers.profile_button import Comparison
from course.figures import layout as figure
from course.figures.parts import count, table
from course.figures.svg import clean, element
from course.models.coalescing import WARP_LANES
from course.models.layout import FieldTraffic, Records

__all__ = ["LayoutExplorer", "layout", "predict_field_sectors"]


def layout(preset: str = "AoS, one field") -> None:
    """Play with the layout of records: which bytes of a warp's records move when a kernel reads some fields.

    preset: the setting to start from, by its name in the explorer ("SoA, one field", "packed record", ...).
    """
    explorer = LayoutExplorer(start(PRESETS, preset))
    show(_still(explorer.settings), explorer.parts)


def predict_field_sectors(
    fields: Mapping[str, str] | None = None,
    read: str = "x",
    layout: str = "aos",
    *,
    tile: int = WARP_LANES,
) -> None:
    """Ask how many sectors one request for a field touches; the picture shows after the student's number.

    fields: name -> type, in order: names x, y, z, w, u, v and types uint8, int16, float32, float64; four floats
    when left out. read: the field that every lane reads of its own record. layout: "aos", "soa" or "aosoa".
    tile: records of a tile ("aosoa" only).
    """
    types = dict(fields) if fields is not None else dict.fromkeys(("x", "y", "z", "w"), "float32")
    reading = _reading(types, read, layout, tile)
    question = _question(types, reading)
    prediction = Prediction(question, lambda number: _reveal(number, reading), high=9999)
    show(folded(question, _still(reading)), prediction.parts)


class LayoutExplorer(Explorer[Reading]):
    """Fields, layout and tile on top; the bytes of 32 records below."""

    def __init__(self, start: Reading) -> None:
        sizes = [("no such field", 0), *((f"{name} ({size} B)", size) for size, name in TYPES.items())]
        controls: dict[str, Control] = {
            name: FieldOfRecord(f"Field {name}", sizes, getattr(start, name), Field) for name in FIELD_NAMES
        }
        controls["layout"] = Choice("Layout", [(shown, name) for name, shown in LAYOUTS.items()], start.layout)
        self.tile = Choice("Tile size", [(str(tile), tile) for tile in TILES], start.tile)
        controls["tile"] = self.tile
        super().__init__(PRESETS, start, controls, [FIELD_NAMES[:3], FIELD_NAMES[3:], ["layout"], ["tile"]])

    def enable(self, settings: Reading) -> None:
        """Only tiles of arrays have a tile."""
        self.tile.source.disabled = settings.layout != "aosoa"

    def draw(self, settings: Reading) -> Drawing:
        """The bytes, the counts and how a kernel reads."""
        if not settings.fields:
            return Drawing("", "The record has no field. Choose a type for one or more.", "")
        traffic = settings.traffic(*settings.reads) if settings.reads else None
        everything = settings.traffic(*settings.fields)
        picture = figure.layout_svg(settings.records, traffic) + figure.numbers(traffic, everything)
        return Drawing(picture, figure.sentence(settings.records, traffic), _notes(settings))

    def compare(self, settings: Reading) -> Comparison:
        """Run the reads as a kernel."""
        return compare(settings)


def _still(reading: Reading) -> str:
    records, traffic = reading.records, reading.traffic(*reading.reads)
    return still(figure.layout_image(records, traffic), clean(figure.sentence(records, traffic)), _code(reading))


def _code(reading: Reading) -> str:
    """How the kernel reads each field, where that is, and what it costs."""
    rows = []
    for name in reading.reads:
        alone = reading.traffic(name)
        where = reading.address_expression(name)
        rows.append((name, reading.expression(name), where, alone.requests, f"{alone.sectors_per_request:.4g}"))
    heads = ("Field", "In a kernel", "Byte of lane i", "Requests", "Sectors per request")
    return element("div", table(heads, rows), class_="code") if rows else ""


def _notes(reading: Reading) -> str:
    notes = []
    if reading.layout == "soa":
        notes.append("Byte of lane i: within the field's own array.")
    if reading.layout == "packed":
        notes.append("A packed record is read byte by byte: each byte of a field is a request of its own.")
        if reading.misaligned:
            notes.append(
                f"numba refuses to read {', '.join(reading.misaligned)} from this record at all: a field must start at "
                "a multiple of its size, also in a packed one."
            )
    padding = reading.record.padding_bytes
    size = f"A record takes {count(reading.record.struct_bytes, 'byte')}, {padding} of them padding. "
    small = (size if reading.layout in ("aos", "packed") else "") + (
        "DRAM counts each sector once, as if the caches held it until the last request. The picture leaves out time, "
        "other warps, and how far apart the arrays of a large struct of arrays lie."
    )
    words = element("p", clean(" ".join(notes))) if notes else ""
    return _code(reading) + words + element("p", small, class_="small quiet")


def _reading(types: Mapping[str, str], read: str, layout: str, tile: int) -> Reading:
    """The setting that a question is about; ValueError says what is wrong."""
    known = {np.dtype(name): size for size, name in TYPES.items()}
    if layout not in LAYOUTS or layout == "packed":
        raise ValueError(f'layout is {layout!r}: expected "aos", "soa" or "aosoa".')
    if read not in types:
        raise ValueError(f"read is {read!r}: expected one of the fields, {', '.join(types)}.")
    if tile not in TILES:
        raise ValueError(f"tile is {tile!r}: expected one of {', '.join(map(str, TILES))}.")
    found: dict[str, Any] = dict.fromkeys(FIELD_NAMES, ABSENT)
    for name, kind in types.items():
        if name not in found or np.dtype(kind) not in known:
            raise ValueError(
                f"field {name!r} is {kind!r}: expected names from {', '.join(FIELD_NAMES)} and types from "
                f"{', '.join(TYPES.values())}."
            )
        found[name] = Field(known[np.dtype(kind)], name == read)
    if list(types) != [name for name in FIELD_NAMES if name in types]:
        raise ValueError(f"fields are {', '.join(types)}: expected them in the order {', '.join(FIELD_NAMES)}.")
    return Reading(**found, layout=layout, tile=tile)


def _question(types: Mapping[str, str], reading: Reading) -> str:
    (read,) = reading.reads
    fields = _listed(f"{name} ({kind})" for name, kind in types.items())
    how = {
        "aos": "They are an array of structs",
        "soa": "They are a struct of arrays, so each field has an array of its own",
        "aosoa": f"They are tiles of arrays: {reading.tile} values of one field, then {reading.tile} of the next",
    }[reading.layout]
    return (
        f"Records have the fields {fields}. {how}, and every array starts at a sector boundary. In one warp, lane i "
        f"reads {read} of record i. How many sectors does this request touch?"
    )


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _reveal(number: int, reading: Reading) -> str:
    traffic, records = reading.traffic(*reading.reads), reading.records
    words = clean(difference(number, records, traffic))
    return (
        element("p", words, role="status", data_prediction=number, data_truth=traffic.sectors)
        + figure.layout_svg(records, traffic)
        + figure.numbers(traffic, records.traffic())
    )


def difference(number: int, records: Records, traffic: FieldTraffic) -> str:
    """One sentence about a prediction of the sectors of one request for a field, beside the truth."""
    truth = traffic.sectors
    if number == truth:
        return f"You said {number}, and it is {truth}: right."
    both = f"You said {number}, and it is {truth}: "
    lines: Any = traffic.l1_bytes // 128
    if number == traffic.useful_bytes or number == traffic.l1_bytes:
        return both + f"{number} is a number of bytes, and a sector holds 32 of them."
    if number == -(-traffic.useful_bytes // 32):
        return both + f"{number} would do if the values of this field were neighbours, but other fields lie between."
    if number == records.traffic().dram_bytes // 32 and number > truth:
        return both + f"{number} hold all fields of the 32 records, but only those with this field are touched."
    if number == lines:
        return both + f"{number} is the number of 128-byte lines, and a line has four sectors."
    if number == WARP_LANES:
        return both + "there are 32 lanes, but lanes whose values lie in one sector share it."
    way = f"{truth - number} more than you said" if number < truth else f"{number - truth} fewer than you said"
    return both + f"{way}; a sector counts once, and only if it holds a byte that some lane asks for."
