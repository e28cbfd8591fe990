"""The picture of a layout: the bytes of a warp's records, line by line, and what reading some fields moves.

A row is one line of 128 bytes, in true proportion: four sectors, and in them the fields of the records. Every
picture has room for the same number of rows, so the number of rows in use says how far the records spread.
This file draws; addresses and counts come from `course.models.layout`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from course.figures.parts import Quantity, count, frame, in_bytes, number_list, picture
from course.figures.svg import element, text
from course.models.coalescing import LINE_BYTES, SECTOR_BYTES
from course.models.layout import FieldTraffic, Records

__all__ = ["HEIGHT", "ROWS", "WIDTH", "layout_image", "layout_svg", "numbers", "sentence"]

WIDTH, ROWS = 800, 12
"""Rows of the frame: 32 records of six 8-byte fields fill them."""
_LEFT, _BYTE = 90, 5.5
_TOP, _ROW, _PITCH = 28, 21, 25
_LEGEND_Y = _TOP + ROWS * _PITCH + 14
HEIGHT = _LEGEND_Y + 22
_LABEL_BYTES = 4
"""Narrower fields have no room for their names."""

LAYOUTS = {"aos": "array of structs", "soa": "struct of arrays", "aosoa": "tiles of arrays"}


def sentence(records: Records, traffic: FieldTraffic | None) -> str:
    """One warp's reads in one sentence: alt text, live text and caption. `traffic` is None when nothing is read."""
    name = f"packed {LAYOUTS['aos']}" if records.record.packed else LAYOUTS[records.layout]
    if traffic is None:
        return f"{records.count} records as {name}: the kernel reads no field, so no request is issued."
    fields = f"{'field' if len(traffic.fields) == 1 else 'fields'} {', '.join(traffic.fields)}"
    sectors = (
        f"{traffic.sectors_per_request:.4g} sectors each" if traffic.requests > 1 else count(traffic.sectors, "sector")
    )
    return (
        f"{records.count} lanes read {fields} of their records ({name}): {count(traffic.requests, 'request')} with "
        f"{sectors}, {in_bytes(traffic.l1_bytes)} transferred at L1, and {in_bytes(traffic.dram_bytes)} from DRAM for "
        f"{in_bytes(traffic.useful_bytes)} that are used."
    )


def numbers(traffic: FieldTraffic | None, everything: FieldTraffic) -> str:
    """The counts beside the picture; `everything` is the traffic of all fields, to know what stays untouched."""
    if traffic is None:
        return number_list([Quantity("requests", "Requests", 0, "0", key=True)])
    dead = traffic.dram_bytes - traffic.useful_bytes
    untouched = everything.dram_bytes - traffic.dram_bytes
    each = traffic.sectors_per_request
    return number_list(
        [
            Quantity("requests", "Requests", traffic.requests, f"{traffic.requests}"),
            Quantity("sectors_per_request", "Sectors per request", each, f"{each:.4g}", key=True),
            Quantity("l1", "L1-transferred", traffic.l1_bytes, in_bytes(traffic.l1_bytes)),
            Quantity("useful", "Used", traffic.useful_bytes, in_bytes(traffic.useful_bytes)),
            Quantity("dead", "Dead", dead, in_bytes(dead)),
            Quantity("untouched", "Untouched", untouched, in_bytes(untouched)),
            Quantity("dram", "DRAM", traffic.dram_bytes, in_bytes(traffic.dram_bytes)),
            Quantity("amplification", "Amplification", traffic.amplification, f"{traffic.amplification:.4g}", key=True),
        ]
    )


def layout_image(records: Records, traffic: FieldTraffic | None) -> str:
    """The same picture as ``<img alt>``, always light."""
    return picture(layout_svg(records, traffic, alone=True), sentence(records, traffic), WIDTH)


def layout_svg(records: Records, traffic: FieldTraffic | None, *, alone: bool = False) -> str:
    """The bytes of all records (at most 32) as an SVG of fixed size.

    traffic: what the kernel reads, None for nothing.
    alone: carries its own style.
    """
    read: Collection[str] = traffic.fields if traffic else ()
    fields = list(_fields(records))
    lines = sorted({at // LINE_BYTES for _, _, at, size in fields for at in (at, at + size - 1)})
    if len(lines) > ROWS:
        raise ValueError(
            f"the records fill {len(lines)} lines: expected at most {ROWS}, which is what the frame holds."
        )
    row_of = {line: row for row, line in enumerate(lines)}
    touched = {at // SECTOR_BYTES for name, _, at, size in fields if name in read for at in (at, at + size - 1)}
    body = [_ruler(), *_sectors(lines, touched), *_boxes(fields, read, row_of), *_rows(lines), _legend()]
    return frame(body, WIDTH, HEIGHT, sentence(records, traffic), alone=alone)


Field = tuple[str, int, int, int]
"""Name, record, byte address, size."""


def _fields(records: Records) -> Iterable[Field]:
    every = np.arange(records.count)
    for name, size in zip(records.record.names, records.record.field_bytes, strict=True):
        for record, at in enumerate(records.addresses(name, every).tolist()):
            yield name, record, at, size


def _place(at: int, row_of: dict[int, int]) -> tuple[float, float]:
    return _LEFT + at % LINE_BYTES * _BYTE, _TOP + row_of[at // LINE_BYTES] * _PITCH


def _ruler() -> str:
    """Byte numbers above the first row, at the ends of the sectors."""
    words = [
        text(_LEFT + at * _BYTE, _TOP - 8, f"+ {at}", class_="num quiet")
        for at in range(SECTOR_BYTES, LINE_BYTES, SECTOR_BYTES)
    ]
    return text(0, _TOP - 8, "Line at byte", class_="quiet") + "".join(words)


def _rows(lines: Sequence[int]) -> list[str]:
    """The first byte of each line, and dots where lines are left out."""
    parts = []
    for row, line in enumerate(lines):
        y = _TOP + row * _PITCH
        parts.append(text(_LEFT - 10, y + 15, line * LINE_BYTES, class_="num quiet end"))
        if row and line != lines[row - 1] + 1:
            parts.append(element("path", d=f"M{_LEFT - 34:g} {y - 2:g}h0m7 0h0m7 0h0", class_="gap"))
    return parts


def _sectors(lines: Sequence[int], touched: set[int]) -> list[str]:
    """A box per sector: hatched where it moves, dashed where it does not."""
    parts, hatch = [], []
    width = SECTOR_BYTES * _BYTE
    for row, line in enumerate(lines):
        for part in range(LINE_BYTES // SECTOR_BYTES):
            sector = line * LINE_BYTES // SECTOR_BYTES + part
            x, y = _LEFT + part * width, _TOP + row * _PITCH
            box: dict[str, Any] = {"x": x, "y": y, "width": width, "height": _ROW}
            if sector in touched:
                parts.append(element("rect", class_="unit", data_sector=sector, **box))
                hatch.append(f"M{x:g} {y + _ROW}" + "".join(f"l{_ROW / 2:g} {-_ROW}m0.5 {_ROW}" for _ in range(16)))
            else:
                parts.append(element("rect", class_="unmoved", data_untouched=sector, **box))
    return [*parts, element("path", d="".join(hatch), class_="hatch thin")]


def _boxes(fields: Sequence[Field], read: Collection[str], row_of: dict[int, int]) -> list[str]:
    """A box per field: filled where the kernel reads it. A field that lies across two lines has two boxes."""
    drawn: dict[bool, list[str]] = defaultdict(list)
    names = []
    for name, record, at, size in fields:
        used = name in read
        first = min(size, LINE_BYTES - at % LINE_BYTES)
        for begin, length in ((at, first), (at + first, size - first)):
            if length:
                x, y = _place(begin, row_of)
                drawn[used].append(_box(x, y, length, f"{name}{record}", begin, used))
        if first >= _LABEL_BYTES:
            x, y = _place(at, row_of)
            style = "num tight on" if used else "num tight off"
            names.append(text(x + first * _BYTE / 2, y + 14.5, f"{name}{record}", class_=style))
    return [element("path", d="".join(drawn[False]), class_="field"), *drawn[True], *names]


def _box(x: float, y: float, length: int, name: str, byte: int, used: bool) -> str:
    if not used:
        return f"M{x:g} {y:g}h{length * _BYTE:g}v{_ROW}h{-length * _BYTE:g}z"
    place: dict[str, Any] = {"x": x, "y": y, "width": length * _BYTE, "height": _ROW}
    return element("rect", class_="used", data_field=name, data_byte=byte, **place)


@cache
def _legend() -> str:
    y = _LEGEND_Y
    box: dict[str, Any] = {"y": y, "width": 16, "height": 14}
    at = [_LEFT, 238, 450, 592]
    hatch = element("path", d=f"M{at[1]} {y + 7}l16 -7M{at[1]} {y + 14}l16 -7", class_="hatch")
    entries = [
        (at[0], element("rect", x=at[0], class_="used", **box), "bytes a lane uses"),
        (at[1], element("rect", x=at[1], class_="unit", **box) + hatch, "dead bytes: moved, not used"),
        (at[2], element("rect", x=at[2], class_="unmoved", **box), "sector not moved"),
        (at[3], text(at[3] + 7, y + 11, "x7", class_="num"), "field x of record 7 (lane 7)"),
    ]
    return "".join(mark + text(x + 22, y + 11, words) for x, mark, words in entries)
