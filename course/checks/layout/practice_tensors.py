"""Practice with tensors: rows that lose alignment, channels, a cache of other sizes."""

from __future__ import annotations

import numpy as np

from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.models.coalescing import LINE_BYTES, SECTOR_BYTES, WARP_LANES, coalesce, lane_addresses
from course.models.layout import NCHW, NHWC, Tensor, padded_pitch

__all__ = ["P2", "P3", "P5"]

# p2: rows that lose alignment --------------------------------------------------------------------

_COLUMNS, _ELEMENT = 1001, 4
_row_bytes = _COLUMNS * _ELEMENT
_pitch_bytes = padded_pitch(_row_bytes)
_per_sector = SECTOR_BYTES // _ELEMENT
_ROWS = 8
_aligned_rows = int(np.count_nonzero(np.arange(_ROWS) * _row_bytes % SECTOR_BYTES == 0))
_odd, _even = (
    coalesce(lane_addresses(element_bytes=_ELEMENT, base=base), _ELEMENT).sectors[0] for base in (_row_bytes, 0)
)

P2 = Question(
    name="layout/p2",
    statement=(
        f"A matrix of floats has {_COLUMNS} columns. Its first row starts at the beginning of a sector, and each row "
        "follows the one before without a gap. Each warp reads 32 neighbouring floats of one row, from the start of "
        "the row on."
    ),
    parts=(
        Number(
            name="aligned_rows",
            points=1,
            asks=f"rows among the first {_ROWS} that start at the beginning of a sector",
            unit="rows",
            expected=_aligned_rows,
            hint="Write down the first byte of each row. Which of them are multiples of the bytes of a sector?",
            misconceptions=(
                Misconception(_ROWS, "A row does not fill whole sectors, so the next one starts inside of one."),
                Misconception(0, "The first row starts at the beginning of a sector."),
                Misconception(
                    _ROWS // 2,
                    "Two rows together do not fill whole sectors either.",
                ),
            ),
        ),
        Number(
            name="pitch_elements",
            points=1,
            asks="the smallest distance from row to row at which every row starts at the beginning of a sector",
            unit="elements",
            expected=_pitch_bytes // _ELEMENT,
            hint="Round the bytes of a row up to whole sectors.",
            misconceptions=(
                Misconception(_COLUMNS, "This is what we have: the rows follow each other without a gap."),
                Misconception(
                    _pitch_bytes,
                    "This is in bytes. Asked are elements.",
                ),
                Misconception(
                    padded_pitch(_row_bytes, LINE_BYTES) // _ELEMENT,
                    "This rounds up to whole lines, or rounds elements instead of bytes. It works, but less is enough.",
                ),
            ),
        ),
        Number(
            name="padding_bytes",
            points=1,
            asks="unused bytes at the end of each row then",
            unit="bytes",
            expected=_pitch_bytes - _row_bytes,
            hint="The distance from row to row, without the bytes of a row.",
            misconceptions=(
                Misconception(
                    _pitch_bytes // _ELEMENT - _COLUMNS,
                    "This counts elements. Asked are bytes.",
                ),
                Misconception(
                    _row_bytes % SECTOR_BYTES,
                    "This is how far the last sector of a row is filled. Asked is what is missing.",
                ),
                Misconception(SECTOR_BYTES, "This is a whole sector. The last sector of a row is filled in part."),
            ),
        ),
    ),
    worked=(
        f"A row takes {_COLUMNS} × {_ELEMENT} = {_row_bytes} bytes: {_row_bytes // SECTOR_BYTES} sectors and "
        f"{_row_bytes % SECTOR_BYTES} bytes. So each row starts {_row_bytes % SECTOR_BYTES} bytes further into a "
        f"sector than the one before, and only every {_per_sector}th row starts well: **{_aligned_rows}** of the "
        f"first {_ROWS}. In all other rows, a warp touches {_odd} sectors instead of {_even}.\n\nThe next multiple of "
        f"{SECTOR_BYTES} is {_pitch_bytes} bytes, which is **{_pitch_bytes // _ELEMENT}** elements from row to row. "
        f"The price is **{_pitch_bytes - _row_bytes}** bytes in each row, "
        f"{(_pitch_bytes - _row_bytes) / _row_bytes:.1%} of the memory."
    ),
)

# p3: channels ------------------------------------------------------------------------------------

_IMAGE = {"n": 8, "c": 64, "h": 32, "w": 32}
_first, _last = (Tensor(_IMAGE, order) for order in (NCHW, NHWC))
_c_first, _c_last = (int(tensor.warp("c").sectors[0]) for tensor in (_first, _last))
_w_first, _w_last = (int(tensor.warp("w").sectors[0]) for tensor in (_first, _last))

P3 = Question(
    name="layout/p3",
    statement=(
        "A batch of images has 8 images, 64 channels, 32 rows and 32 columns of 4-byte floats. `batch norm` works "
        "through one channel of one image: its lanes take neighbouring pixels of a row. `softmax` works through the "
        "channels of one pixel: its lanes take neighbouring channels."
    ),
    parts=(
        Number(
            name="softmax_nchw",
            points=1,
            asks="sectors of one request of softmax when the images are NCHW",
            unit="sectors",
            expected=_c_first,
            hint="How many bytes lie between one channel of a pixel and the next one?",
            misconceptions=(
                Misconception(
                    _c_last, "This is the count when the channels of a pixel are neighbours. Which axis is last here?"
                ),
                Misconception(
                    WARP_LANES * _first.stride("c") * 4 // SECTOR_BYTES,
                    "This counts all sectors between the first and the last lane. Only those in which a lane reads are "
                    "touched.",
                ),
                Misconception(
                    _c_first // 2,
                    "This puts two lanes into each sector. How far apart are they?",
                ),
            ),
        ),
        Number(
            name="softmax_nhwc",
            points=1,
            asks="the same when the images are NHWC",
            unit="sectors",
            expected=_c_last,
            hint="How many bytes lie between one channel of a pixel and the next one?",
            misconceptions=(
                Misconception(_c_first, "This is the count in NCHW. Which axis is last now?"),
                Misconception(1, "This counts lines, or requests."),
                Misconception(
                    2 * _c_last, "There are more channels than lanes. One request has only as many lanes as a warp."
                ),
            ),
        ),
        Choice(
            name="batch_norm",
            points=1,
            asks="the better layout for batch norm, as it is described above",
            expected="NCHW" if _w_first < _w_last else "NHWC",
            options={"NCHW": "channels before rows and columns", "NHWC": "channels last", "both": "they cost the same"},
            hint="Along which axis do its lanes go?",
            misconceptions=(
                Misconception(
                    "NHWC",
                    "Here the channels of a pixel lie between the lanes, and this kernel reads only one of them.",
                ),
                Misconception("both", "Count the sectors of one request in each layout."),
            ),
        ),
    ),
    worked=(
        f"In NCHW, the next channel of a pixel lies {_first.stride('c')} elements further on, a whole plane of "
        f"{_IMAGE['h']} × {_IMAGE['w']}. Every lane of softmax has a sector of its own: **{_c_first}**. In NHWC the "
        f"channels of a pixel are neighbours: **{_c_last}**.\n\nBatch norm goes the other way. Its lanes take "
        f"neighbouring pixels of one channel: {_w_first} sectors in NCHW, {_w_last} in NHWC. So **NCHW** is better "
        "for a kernel that is written like this. A better way out is often to write batch norm so that its lanes "
        "take neighbouring channels: then NHWC suits both kernels, and nobody has to convert the images in between."
    ),
)

# p5: a cache with other sizes ---------------------------------------------------------------------

_HALF = 2
_DIM_LAST, _TOKENS_LAST = ("blocks", "tokens", "heads", "dim"), ("blocks", "heads", "dim", "tokens")


def _along_dim(order: tuple[str, ...], tokens: int, element_bytes: int = _HALF) -> int:
    """Sectors of one request whose lanes go along dim."""
    sizes = {"blocks": 64, "tokens": tokens, "heads": 4, "dim": 64}
    return int(Tensor(sizes, order, element_bytes).warp("dim").sectors[0])


_FEW, _MANY = 8, 64
_good, _bad_few, _bad_many = (
    _along_dim(_DIM_LAST, _FEW),
    _along_dim(_TOKENS_LAST, _FEW),
    _along_dim(_TOKENS_LAST, _MANY),
)
_lanes_per_sector = SECTOR_BYTES // (_FEW * _HALF)

P5 = Question(
    name="layout/p5",
    statement=(
        "A cache of 2-byte elements keeps its tokens last: [blocks, heads, dim, tokens]. The lanes of a warp read 32 "
        "neighbouring elements (dim) of one token. How many times as many sectors does this cost as with the dim last?"
    ),
    parts=(
        Number(
            name="with_8_tokens",
            points=1,
            asks="the factor when a block of the cache has 8 tokens",
            unit="times",
            expected=_bad_few / _good,
            hint="How many bytes apart are the lanes? How many of them share a sector, and how many do at best?",
            misconceptions=(
                Misconception(_bad_few, "This is the number of sectors. How many does the good layout need?"),
                Misconception(_lanes_per_sector, "This is how many lanes share a sector. How many sectors is that?"),
                Misconception(1, "The bytes that are used are the same. The sectors that are touched are not."),
            ),
        ),
        Number(
            name="with_64_tokens",
            points=1,
            asks="the factor when a block has 64 tokens",
            unit="times",
            expected=_bad_many / _good,
            hint="How many bytes apart are the lanes now? Can a lane pay for more than one sector?",
            misconceptions=(
                Misconception(
                    _MANY,
                    "This is the number of tokens in a block. Once every lane has a sector of its own, it does not get "
                    "worse.",
                ),
                Misconception(_bad_many, "This is the number of sectors. How many does the good layout need?"),
                Misconception(
                    _along_dim(_TOKENS_LAST, _MANY, 4) / _along_dim(_DIM_LAST, _MANY, 4),
                    "This is the most that elements of twice the size can lose.",
                ),
            ),
        ),
    ),
    worked=(
        f"With the dim last, 32 neighbours fill {_good} sectors. With the tokens last, neighbouring lanes are a block "
        f"of tokens apart. With {_FEW} tokens these are {_FEW * _HALF} bytes, so {_lanes_per_sector} lanes share a "
        f"sector: {_bad_few} sectors, **{_bad_few / _good:g}** times as many. With {_MANY} tokens they are "
        f"{_MANY * _HALF} bytes, and every lane has a sector of its own: {_bad_many} sectors, "
        f"**{_bad_many / _good:g}** times as many. So the factor is the number of tokens in a block, but only until "
        "every lane has a sector of its own."
    ),
)
