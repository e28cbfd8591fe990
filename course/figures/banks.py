"""The picture of one shared-memory access: the tile with the elements that are wanted, and the 32 banks at work.

On the left lies the tile, with its pad. On the right every column is a bank and every row a wavefront: a box is a
word that the bank delivers, with the lane that wanted it. The frame has 32 rows, the most that one access can take,
so the height in use is the cost. This file draws; every count comes from `course.models.banks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from course.figures.parts import Quantity, count, frame, in_bytes, number_list, picture
from course.figures.svg import element, text
from course.models.banks import BANK_BYTES, BANKS, BankConflicts, Delivery, Kind, Tile

__all__ = ["HEIGHT", "WIDTH", "access_image", "access_svg", "numbers", "sentence"]

WIDTH, HEIGHT = 800, 504
_TILE_SIDE, _TOP = 160, 46
_LEFT, _CELL, _ROW = 218, 18.15, 12.5
_BOTTOM = _TOP + BANKS * _ROW

Integers = npt.NDArray[np.int64]


def sentence(result: BankConflicts, tile: Tile, element_bytes: int, kind: Kind) -> str:
    """The access in one sentence: alt text, live text and caption."""
    lanes, shape = int(result.active_lanes[0]), f"[{tile.rows}][{tile.columns + tile.pad}]"
    if not lanes:
        return "No lane is active, so no shared access is issued."
    passes, ideal, degree = (int(n[0]) for n in (result.wavefronts, result.ideal_wavefronts, result.degree))
    what = "no bank conflict" if passes == ideal else f"{_article(degree)} {degree}-way bank conflict"
    does, way = f"{kind}s" if lanes == 1 else kind, "from" if kind == "load" else "to"
    return (
        f"{count(lanes, 'lane')} {does} {count(element_bytes, 'byte')} each {way} a tile {shape}: the access takes "
        f"{count(passes, 'wavefront')} where {ideal} would do, {what}."
    )


def numbers(result: BankConflicts, tile: Tile, deliveries: Sequence[Delivery]) -> str:
    """The counts beside the picture."""
    passes, ideal, degree = (int(n[0]) for n in (result.wavefronts, result.ideal_wavefronts, result.degree))
    words, banks = len({d.word for d in deliveries}), len({d.bank for d in deliveries})
    pad = tile.rows * tile.pad * tile.element_bytes
    return number_list(
        [
            Quantity("wavefronts", "Wavefronts", passes, f"{passes}", key=True),
            Quantity("ideal", "Ideal", ideal, f"{ideal}"),
            Quantity("extra", "Extra", passes - ideal, f"{passes - ideal}"),
            Quantity("degree", "Conflict degree", degree, f"{degree}", key=True),
            Quantity("words", "Distinct words", words, f"{words}"),
            Quantity("banks", "Banks at work", banks, f"{banks} of {BANKS}"),
            Quantity("shared", "Shared memory", tile.shared_bytes, in_bytes(tile.shared_bytes)),
            Quantity("pad", "Pad", pad, in_bytes(pad)),
        ]
    )


def access_image(
    tile: Tile, addresses: Integers, result: BankConflicts, deliveries: Sequence[Delivery], kind: Kind
) -> str:
    """The same picture as ``<img alt>``, always light."""
    svg = access_svg(tile, addresses, result, deliveries, kind, alone=True)
    return picture(svg, sentence(result, tile, tile.element_bytes, kind), WIDTH)


def access_svg(
    tile: Tile,
    addresses: Integers,
    result: BankConflicts,
    deliveries: Sequence[Delivery],
    kind: Kind,
    *,
    alone: bool = False,
) -> str:
    """One access of one warp as an SVG of fixed size.

    addresses: byte address in the tile of every active lane.
    result, deliveries: cost and schedule of the same access (`models.banks.wavefronts` and `schedule`).
    alone: carries its own style.
    """
    body = [
        *_tile(tile, addresses),
        *_banks(),
        *_groups(deliveries),
        *_words(deliveries, tile.element_bytes),
        _cost(int(result.wavefronts[0])),
        _legend(),
    ]
    return frame(body, WIDTH, HEIGHT, sentence(result, tile, tile.element_bytes, kind), alone=alone)


def _tile(tile: Tile, addresses: Integers) -> list[str]:
    """The tile to scale, its pad hatched, the wanted elements filled."""
    pitch = tile.columns + tile.pad
    cell = min(_TILE_SIDE / pitch, _TILE_SIDE / tile.rows, 16)
    height = max(tile.rows * cell, 6)
    data, width = tile.columns * cell, pitch * cell
    shape = f"[{tile.rows}][{tile.columns}{f' + {tile.pad}' if tile.pad else ''}]"
    parts = [
        text(0, 20, "Tile", class_="tier"),
        text(0, 36, f"{shape}, {tile.element_bytes} B each", class_="quiet"),
        element("rect", x=0.5, y=_TOP, width=data, height=height, class_="ground"),
    ]
    if tile.pad:
        strokes = "".join(
            f"M{data + 0.5:.1f} {y:.1f}l{width - data:.1f} {-min(cell, 6):.1f}"
            for y in np.arange(_TOP + min(cell, 6), _TOP + height + 0.1, min(cell, 6))
        )
        pad = element("rect", x=data + 0.5, y=_TOP, width=width - data, height=height, class_="unit")
        parts += [pad, element("path", d=strokes, class_="hatch thin")]
    wanted = np.unique(addresses // tile.element_bytes)
    inset = 0.5 if cell > 3 else 0
    for index in wanted.tolist():
        row, column = divmod(index, pitch)
        x, y = 0.5 + column * cell + inset / 2, _TOP + row * cell + inset / 2
        size: dict[str, Any] = {
            "width": max(cell - inset, 1.2),
            "height": max(cell - inset, 1.2) if tile.rows > 1 else height,
        }
        parts.append(element("rect", x=x, y=y, class_="used bare", data_row=row, data_column=column, **size))
    return parts


def _banks() -> list[str]:
    """The empty banks with their numbers, and a number for every eighth wavefront."""
    heads = [text(_x(bank) + _CELL / 2, 40, bank, class_="num quiet") for bank in range(BANKS)]
    field = element("rect", x=_LEFT, y=_TOP, width=BANKS * _CELL, height=BANKS * _ROW, class_="shelf")
    rules = "".join(f"M{_x(bank):.1f} {_TOP}v{BANKS * _ROW:g}" for bank in range(BANKS + 1))
    passes = [text(_LEFT - 5, _y(number - 1) + 10, number, class_="num quiet end") for number in (1, 8, 16, 24, 32)]
    return [
        text(_LEFT, 20, "Banks", class_="tier"),
        text(_LEFT + 48, 20, f"{BANK_BYTES} B each; one row is one wavefront", class_="quiet"),
        field,
        element("path", d=rules, class_="grid"),
        *heads,
        *passes,
    ]


def _groups(deliveries: Sequence[Delivery]) -> list[str]:
    """A line below the wavefronts of each group of lanes, when there are several."""
    last = {d.group: d.wavefront for d in sorted(deliveries, key=lambda d: d.wavefront)}
    if len(last) < 2:
        return []
    ends = sorted(last.values())[:-1]
    return [element("path", d=f"M{_LEFT} {_y(end + 1):.2f}h{BANKS * _CELL:.1f}", class_="split") for end in ends]


def _words(deliveries: Sequence[Delivery], element_bytes: int) -> list[str]:
    """A box per delivered element: its lane, with a plus when other lanes get the same word."""
    parts = []
    span = max(element_bytes // BANK_BYTES, 1)
    words_of = Counter((d.group, d.bank) for d in deliveries)
    for one in deliveries:
        if one.word % span:
            continue  # the words of a wide element come together: its box begins at the first one
        x, y = _x(one.bank), _y(one.wavefront)
        box: dict[str, Any] = {"x": x + 0.5, "y": y + 0.5, "width": span * _CELL - 1, "height": _ROW - 1}
        box |= {"data_bank": one.bank, "data_wavefront": one.wavefront, "data_word": one.word}
        box["data_lanes"] = " ".join(map(str, one.lanes))
        collides = words_of[one.group, one.bank] > 1
        parts.append(element("rect", class_="box late" if collides else "box", **box))
        name = f"{one.lanes[0]}+" if len(one.lanes) > 1 else f"{one.lanes[0]}"
        parts.append(text(x + span * _CELL / 2, y + 10, name, class_="num tight" if len(name) > 2 else "num"))
    return parts


def _cost(wavefronts: int) -> str:
    """A bracket beside the wavefronts in use."""
    if not wavefronts:
        return ""
    middle = _TOP + wavefronts * _ROW / 2
    return element("path", d=f"M{_LEFT - 20} {_TOP + 1}h-5v{wavefronts * _ROW - 2:g}h5", class_="bracket") + text(
        _LEFT - 30, middle + 4, wavefronts, class_="tier end"
    )


def _x(bank: int) -> float:
    return _LEFT + bank * _CELL


def _y(wavefront: int) -> float:
    return _TOP + wavefront * _ROW


@cache
def _legend() -> str:
    y, below = _BOTTOM + 12, _BOTTOM + 34
    first, second, third = _LEFT, 390, 596
    hatch = element("path", d=f"M0 {below + 7}l18 -7M0 {below + 14}l18 -7", class_="hatch thin")
    entries = [
        (0, y, _swatch(0, y, "used"), "element a lane wants"),
        (0, below, _swatch(0, below, "unit") + hatch, "pad: holds no data"),
        (first, y, _swatch(first, y, "box") + _lane(first, y, "5"), "word for lane 5"),
        (second, y, _swatch(second, y, "box") + _lane(second, y, "0+"), "for lane 0 and others"),
        (third, y, _swatch(third, y, "box late") + _lane(third, y, "9"), "collides in its bank"),
        (first, below, element("path", d=f"M{first + 9} {below}h-5v13h5", class_="bracket"), "wavefronts in use"),
        (
            second,
            below,
            element("path", d=f"M{second} {below + 7}h18", class_="split"),
            "the next group of lanes begins",
        ),
    ]
    return "".join(mark + text(x + 24, at + 11, words) for x, at, mark, words in entries)


def _swatch(x: float, y: float, class_: str) -> str:
    return element("rect", x=x, y=y, width=18, height=14, class_=class_)


def _lane(x: float, y: float, words: str) -> str:
    return text(x + 9, y + 11, words, class_="num tight")


def _article(number: int) -> str:
    return "an" if str(number).startswith(("8", "11", "18")) else "a"
