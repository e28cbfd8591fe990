"""Practice with tiles: barriers, reuse, strides, and what can make shared memory slow."""

from __future__ import annotations

from course.checks.parts import Choice, ChoiceSet, Misconception, Number
from course.checks.question import Question
from course.models import tiling
from course.models.coalescing import WARP_LANES, coalesce, lane_addresses

__all__ = ["P4", "P5", "P6", "P7"]

# p4: barriers -------------------------------------------------------------------------------------

_SIZE, _TILE = 256, 16
_product = tiling.matmul(_SIZE, _TILE)
_TRANSPOSE_BARRIERS = 1

P4 = Question(
    name="tiling/p4",
    statement=(
        "A transpose stores each tile to shared memory once, and loads it once. A product of two matrices with 256 x "
        "256 elements stages tiles of 16 x 16 in a loop. Where do the barriers go?"
    ),
    parts=(
        Choice(
            name="place",
            points=1,
            asks="where the barrier of the transpose goes",
            expected="between",
            options={
                "before": "before the threads store to the tile",
                "between": "after the threads stored to the tile, and before they load from it",
                "after": "after the threads loaded from the tile",
                "inside": "inside the `if` that keeps threads in the matrix, after their store",
            },
            hint="What may a thread load that another thread has perhaps not stored yet?",
            misconceptions=(
                Misconception("before", "Nobody has stored anything yet, so there is nothing to wait for."),
                Misconception("after", "By then a thread may have loaded an element that was not there yet."),
                Misconception(
                    "inside",
                    "At the edge of the matrix, some threads do not enter the branch, and the others wait for them.",
                ),
            ),
        ),
        Number(
            name="transpose",
            points=1,
            asks="barriers that one block of the transpose passes",
            unit="barriers",
            expected=_TRANSPOSE_BARRIERS,
            hint="The block has one tile, which is stored once and loaded once.",
            misconceptions=(
                Misconception(0, "Threads load what other threads stored. Something must order the two."),
                Misconception(2, "The second barrier is for a loop: nobody stores to this tile again."),
                Misconception(32, "A barrier is for all threads of a block at once, not for each row."),
            ),
        ),
        Number(
            name="product",
            points=1,
            asks="barriers that one block of the product passes",
            unit="barriers",
            expected=_product.barriers_per_block,
            hint="How many steps does the loop have, and how many barriers does each of them need?",
            misconceptions=(
                Misconception(
                    _product.barriers_per_block // 2,
                    "This is one for each step. The next step stores to the tiles again: may it start at once?",
                ),
                Misconception(2, "These are the barriers of one step of the loop."),
                Misconception(
                    _product.barriers_per_block - 1,
                    "After the last step nobody stores to the tiles again, that is true. But a barrier in the loop is "
                    "passed in every step, also in the last one.",
                ),
                Misconception(2 * _SIZE, "The loop goes from tile to tile, not from element to element."),
            ),
        ),
    ),
    worked=(
        "**Between** the store and the load: a thread loads what other threads stored. Without it, a thread may load "
        "an element that is not there yet, and the result is wrong, but only now and then. It must stand outside of "
        f"the `if`, since all threads of the block must come to it. One tile, one store, one load: "
        f"**{_TRANSPOSE_BARRIERS}** barrier.\n\nThe product has {_SIZE} / {_TILE} = {_SIZE // _TILE} steps. Each needs "
        "two barriers: the tiles must be full before anybody loads from them, and nobody may store the next tiles "
        f"before all are done with these. Together **{_product.barriers_per_block}**."
    ),
)

# p5: reuse ----------------------------------------------------------------------------------------

_LARGE = 32
_large = tiling.matmul(_LARGE, _LARGE)
_bytes = float(tiling.bytes_per_fma(_LARGE))
_naive_bytes = float(tiling.bytes_per_fma(1))

P5 = Question(
    name="tiling/p5",
    statement=(
        "A product of two matrices of 4-byte floats is tiled with T = 32: blocks of 32 x 32 threads, one element of "
        "the result for each thread."
    ),
    parts=(
        Number(
            name="bytes_per_fma",
            points=1,
            asks="bytes that are staged from global memory for each multiply-add",
            unit="bytes",
            expected=_bytes,
            hint="A step stages two tiles. How many multiply-adds does the block do with them?",
            misconceptions=(
                Misconception(
                    _naive_bytes,
                    "This is the naive product, or FLOP for each byte.",
                ),
                Misconception(_naive_bytes / _LARGE**2, "Each staged element serves T threads, not T times T."),
                Misconception(_bytes / 2, "This counts one of the two tiles."),
                Misconception(1 / _bytes, "This is upside down: multiply-adds for each byte."),
            ),
        ),
        Number(
            name="intensity",
            points=1,
            asks="FLOP for each byte that is staged",
            unit="FLOP per byte",
            expected=float(tiling.arithmetic_intensity(_LARGE)),
            hint="A multiply-add is two FLOP.",
            misconceptions=(
                Misconception(float(tiling.arithmetic_intensity(1)), "This is the naive product."),
                Misconception(1 / _bytes, "This counts a multiply-add as one. It is two FLOP."),
                Misconception(
                    _LARGE, "Each staged element is used that often, but it has several bytes, and a product needs two."
                ),
            ),
        ),
        Number(
            name="shared_bytes",
            points=1,
            asks="bytes of shared memory of a block, without a pad",
            unit="bytes",
            expected=_large.shared_bytes,
            hint="How many tiles are staged at a time? How many bytes has each?",
            misconceptions=(
                Misconception(_large.shared_bytes // 2, "This is one tile. There is one of each matrix."),
                Misconception(_large.shared_bytes // 4, "These are elements. Asked are bytes."),
                Misconception(3 * _large.shared_bytes // 2, "The result needs no tile: threads keep it."),
                Misconception(
                    tiling.matmul(_LARGE, _LARGE, 1).shared_bytes,
                    "This is with a pad, and nothing here needs one.",
                ),
            ),
        ),
    ),
    worked=(
        f"A step stages 2 × {_LARGE} × {_LARGE} floats, {2 * _LARGE * _LARGE * 4} bytes, and does {_LARGE}³ = "
        f"{_LARGE**3} multiply-adds with them: **{_bytes:g}** bytes for each, instead of {_naive_bytes:g} in the naive "
        f"product. Each element that was staged serves {_LARGE} threads.\n\nA multiply-add is two FLOP: 2 / {_bytes:g} "
        f"= **{2 / _bytes:g}** FLOP per byte, which is T / 4. The two tiles take **{_large.shared_bytes}** bytes."
    ),
)

# p6: strides --------------------------------------------------------------------------------------

_STRIDE = 2
_strided = coalesce(lane_addresses(_STRIDE), 4)
_SQUARE = 1024
_direct, _tiled = (tiling.transpose(_SQUARE, _SQUARE, tile=tile, pad=1) for tile in (None, 32))
_stores, _tiled_stores = (plan.store_sectors / plan.store_requests for plan in (_direct, _tiled))

P6 = Question(
    name="tiling/p6",
    statement=(
        "All arrays hold 4-byte floats and are aligned. A warp reads `a[2 * i]` in lane i. Two kernels transpose a "
        "matrix of 1024 x 1024: the naive one, with the lanes along the rows of the input, and one with a padded tile."
    ),
    parts=(
        Number(
            name="useful",
            points=1,
            asks="the share of the transferred bytes that the warp with `a[2 * i]` uses",
            fraction=True,
            tolerance=1e-3,
            expected=_strided.efficiency,
            hint="How many of the floats in each sector does a lane want?",
            misconceptions=(
                Misconception(1.0, "Every second float in a sector is wanted by no lane."),
                Misconception(
                    float(coalesce(lane_addresses(_STRIDE**2), 4).efficiency), "This is the share at twice the stride."
                ),
                Misconception(
                    float(_strided.sectors[0]), "This counts sectors. Asked is a share, between nothing and one."
                ),
            ),
        ),
        Number(
            name="naive_store",
            points=1,
            asks="sectors of each store request of the naive transpose",
            unit="sectors",
            expected=_stores,
            hint="Neighbouring lanes store to neighbouring rows of the result.",
            misconceptions=(
                Misconception(_tiled_stores, "This would be right if the lanes stored neighbours."),
                Misconception(1, "A request can touch many sectors. Where do the lanes store?"),
                Misconception(
                    WARP_LANES // 4, "This counts lines of the best case, or lanes in a sector. Look at the addresses."
                ),
            ),
        ),
        Number(
            name="tiled_store",
            points=1,
            asks="sectors of each store request of the transpose with a tile",
            unit="sectors",
            expected=_tiled_stores,
            hint="The lanes take a column of the tile. Where do they store it?",
            misconceptions=(
                Misconception(_stores, "The column is taken out of shared memory. It is stored along a row."),
                Misconception(1, "A warp stores 32 floats. How many sectors do they fill?"),
                Misconception(2 * _tiled_stores, "Neighbours fill whole sectors: nothing is half used."),
            ),
        ),
    ),
    worked=(
        f"At stride {_STRIDE}, every second float of a sector is used: **{_strided.efficiency:g}**, in "
        f"{_strided.sectors[0]} sectors.\n\nIn the naive transpose, each lane stores to another row of the result, "
        f"{_SQUARE} floats further on: **{_stores:g}** sectors. With the tile, the lanes go down a column of *shared* "
        f"memory and store along a row of the result: **{_tiled_stores:g}**. This is why a copy can reach most of the "
        "bandwidth while a naive transpose, which moves the same useful bytes, reaches a small part: its stores move "
        f"{_stores * 32 / (WARP_LANES * 4):g} times the bytes."
    ),
)

# p7: slower with shared memory --------------------------------------------------------------------

P7 = Question(
    name="tiling/p7",
    statement="Somebody adds a tile in shared memory to a kernel, and it becomes slower. What can be the reason?",
    parts=(
        ChoiceSet(
            name="reasons",
            points=3,
            asks="everything that can make it slower",
            expected=frozenset({"conflicts", "fewer blocks", "no reuse", "barriers"}),
            options={
                "conflicts": "lanes want different words from one bank",
                "fewer blocks": "a block takes so much shared memory that fewer blocks fit on an SM",
                "no reuse": "every element is used once, and was loaded well before",
                "barriers": "threads wait for each other more often than they have to",
                "broadcast": "all lanes load the same word",
                "far away": "shared memory is further away than DRAM",
            },
            hint="What does the way through shared memory cost, and what does it save in this kernel?",
            misconceptions=(
                Misconception("broadcast", "A bank delivers a word once to all lanes that want it: this is free."),
                Misconception("far away", "Shared memory is on the chip, many times nearer than DRAM."),
            ),
        ),
    ),
    worked=(
        "Four of them can. **conflicts**: they multiply the wavefronts. **fewer blocks**: the SM has fewer warps to "
        "switch to while others wait for memory. **no reuse**: then staging saves nothing, and costs a store and a "
        "load for each element. **barriers**: at each one the fast warps wait for the slow ones. A **broadcast** costs "
        "one wavefront, and shared memory is not **far away**: that is why we use it."
    ),
)
