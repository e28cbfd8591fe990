"""Tile staging: where a block's tiles lie in A and B, what it keeps in shared memory, and what one thread reads of it.

All matrices have one scale, and the two tiles in shared memory have one scale of their own, so that a larger tile
looks larger. This file draws; every count comes from `course.models.tiling`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from course.figures.parts import Quantity, count, frame, in_bytes, number_list, percent, picture
from course.figures.svg import element, text
from course.models.occupancy import Occupancy
from course.models.tiling import Matmul

__all__ = ["HEIGHT", "WIDTH", "numbers", "sentence", "staging_image", "staging_svg"]

WIDTH, HEIGHT = 800, 260
_MATRIX, _TOP = 166, 46
_A, _B, _C = 0, 186, 372
_SHARED, _SHARED_SIDE, _SHARED_GAP = 574, 104, 8
_LEGEND_Y = 234


def sentence(product: Matmul, sm: Occupancy) -> str:
    """A tile size in one sentence: alt text, live text and caption."""
    blocks = int(sm.blocks_per_sm.item())
    fits = (
        f"an SM holds {count(blocks, 'block')}, occupancy {percent(sm.occupancy.item())}"
        if blocks
        else "an SM cannot hold such a block"
    )
    stores = product.shared_store_wavefronts / product.shared_store_requests
    loads = product.shared_load_wavefronts / product.shared_load_requests
    return (
        f"Tiles of {product.tile} x {product.tile}: each staged element serves {count(product.tile, 'thread')}, which "
        f"makes {product.intensity:.4g} FLOP per staged byte. A block takes {in_bytes(product.shared_bytes)} of shared "
        f"memory, and {fits}. Wavefronts: {stores:.4g} a shared store, {loads:.4g} a shared load."
    )


def numbers(product: Matmul, sm: Occupancy) -> str:
    """The counts beside the picture."""
    blocks, share = int(sm.blocks_per_sm.item()), float(sm.occupancy.item())
    sectors = product.global_load_sectors / product.global_load_requests
    stores = product.shared_store_wavefronts / product.shared_store_requests
    loads = product.shared_load_wavefronts / product.shared_load_requests
    return number_list(
        [
            Quantity("intensity", "FLOP per staged byte", product.intensity, f"{product.intensity:.4g}", key=True),
            Quantity("threads", "Threads per block", product.threads_per_block, f"{product.threads_per_block}"),
            Quantity("shared", "Shared per block", product.shared_bytes, in_bytes(product.shared_bytes)),
            Quantity("blocks", "Blocks per SM", blocks, f"{blocks}", key=True),
            Quantity("occupancy", "Occupancy", share, percent(share)),
            Quantity("sectors", "Sectors per request", sectors, f"{sectors:.4g}"),
            Quantity("stores", "Wavefronts a store", stores, f"{stores:.4g}"),
            Quantity("loads", "Wavefronts a load", loads, f"{loads:.4g}"),
        ]
    )


def staging_image(product: Matmul, sm: Occupancy, step: int) -> str:
    """The same picture as ``<img alt>``, always light."""
    return picture(staging_svg(product, sm, step, alone=True), sentence(product, sm), WIDTH)


def staging_svg(product: Matmul, sm: Occupancy, step: int, *, alone: bool = False) -> str:
    """One step of one block as an SVG of fixed size.

    product: sizes and counts. sm: what fits on an SM, for the words. step: which tiles are staged, from 0 on.
    """
    steps = product.size // product.tile
    if not 0 <= step < steps:
        raise ValueError(f"step is {step}: expected 0 to {steps - 1}, since {steps} tiles lie side by side.")
    return frame(_body(product, step), WIDTH, HEIGHT, sentence(product, sm), alone=alone)


def _body(product: Matmul, step: int) -> list[str]:
    tile, scale = product.tile, _MATRIX / product.size
    down = across = (product.size // tile - 1) // 2 * tile  # the block in the middle
    at, side = step * tile, tile * scale
    bands = [
        _box(_A, down * scale, _MATRIX, side, "band"),
        _box(_B + across * scale, 0, side, _MATRIX, "band"),
    ]
    tiles = [
        _box(_A + at * scale, down * scale, side, side, "used bare", data_matrix="A", data_row=down, data_column=at),
        _box(
            _B + across * scale, at * scale, side, side, "used bare", data_matrix="B", data_row=at, data_column=across
        ),
        _box(_C + across * scale, down * scale, side, side, "result", data_matrix="C"),
    ]
    frames = [_box(left, 0, _MATRIX, _MATRIX, "outline") for left in (_A, _B, _C)]
    size = f"{product.size} x {product.size}"
    names = [
        _head(_A, "A", size),
        _head(_B, "B", size),
        _head(_C, "C = A B", f"{size}, one block of it"),
        _head(
            _SHARED,
            "Shared memory",
            f"step {step + 1} of {product.size // tile}, {in_bytes(product.shared_bytes)} a block",
        ),
    ]
    return [*bands, *tiles, *frames, *names, *_shared(product), _legend()]


def _head(x: float, name: str, more: str) -> str:
    return text(x, 18, name, class_="tier") + text(x, 35, more, class_="quiet")


def _box(x: float, y: float, width: float, height: float, class_: str, **data: Any) -> str:
    return element("rect", x=x + 0.5, y=_TOP + y, width=width, height=height, class_=class_, **data)


def _shared(product: Matmul) -> list[str]:
    """The two staged tiles with their pads; the row and the column that one thread reads are marked."""
    tile, pad = product.tile, product.pad
    cell = _SHARED_SIDE / 40  # a tile of 32 and its pad fit
    chosen = tile // 2
    parts = []
    for n, (name, marked) in enumerate((("a_tile", "row"), ("b_tile", "column"))):
        x = _SHARED + n * (_SHARED_SIDE + _SHARED_GAP)
        side = tile * cell
        parts.append(_box(x, 18, side, side, "faint"))
        if pad:
            strokes = "".join(
                f"M{x + side + 0.5:.1f} {_TOP + 18 + y * cell:.1f}l{pad * cell:.1f} {-cell:.1f}"
                for y in range(1, tile + 1)
            )
            parts += [_box(x + side, 18, pad * cell, side, "unit"), element("path", d=strokes, class_="hatch thin")]
        if marked == "row":
            parts.append(_box(x, 18 + chosen * cell, side, cell, "reads"))
        else:
            parts.append(_box(x + chosen * cell, 18, cell, side, "reads"))
        parts.append(text(x, _TOP + 10, name, class_="quiet"))
    y = _TOP + 18 + 40 * cell + 16
    words = (
        "Each thread reads a row and a",
        f"column, so each of the {2 * tile * tile} staged",
        f"elements is read {tile} times.",
    )
    return parts + [text(_SHARED, y + 15 * n, line, class_="quiet") for n, line in enumerate(words)]


@cache
def _legend() -> str:
    y = _LEGEND_Y
    box: dict[str, Any] = {"y": y, "width": 16, "height": 14}
    at = [0, 186, 372, 574]
    entries = [
        (at[0], "used", "tile staged in this step"),
        (at[1], "band", "what all its steps need"),
        (at[2], "result", "tile that the block computes"),
        (at[3], "reads", "what one thread reads"),
    ]
    return "".join(element("rect", x=x, class_=name, **box) + text(x + 22, y + 11, words) for x, name, words in entries)
