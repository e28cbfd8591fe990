"""course.models.tiling against the counters of an H200 and against plain loops over threads."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import measured
from course.models.tiling import arithmetic_intensity, bytes_per_fma, matmul, tile_sweep, transpose

CASES = measured.counters()


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("mm/T")])
def test_a_tiled_product_costs_what_the_h200_counted(name):
    tile, pad = (int(n) for n in re.fullmatch(r"mm/T(\d+)p(\d+)", name).groups())
    plan, case = matmul(256, tile, pad), CASES[name]
    assert plan.global_load_requests == case["ld_requests"]
    assert plan.global_load_sectors == case["ld_sectors"]
    assert plan.shared_store_requests == case["shared_st_instructions"]
    # On launches of many blocks the hardware adds a little.
    assert plan.shared_store_wavefronts <= case["shared_st_wavefronts"] <= 1.04 * plan.shared_store_wavefronts
    assert plan.flop == 2 * case["ffma"]
    if pad:  # without a pad the compiler merges row reads into 16-byte loads
        assert plan.shared_load_requests == case["shared_ld_instructions"]
        assert plan.shared_load_wavefronts <= case["shared_ld_wavefronts"] <= 1.04 * plan.shared_load_wavefronts


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("tr/")])
def test_a_transpose_costs_what_the_h200_counted(name):
    if name == "tr/naive":
        plan = transpose(512, 512, tile=None)
    else:
        tile, pad = (int(n) for n in re.fullmatch(r"tr/T(\d+)p(\d+)", name).groups())
        plan = transpose(512, 512, tile=tile, pad=pad, block_rows={32: 8, 16: 16}[tile])
    case = CASES[name]
    assert (plan.load_requests, plan.load_sectors) == (case["ld_requests"], case["ld_sectors"])
    assert (plan.store_requests, plan.store_sectors) == (case["st_requests"], case["st_sectors"])
    assert plan.shared_requests == case["shared_st_instructions"] == case["shared_ld_instructions"]
    assert plan.shared_store_wavefronts == case["shared_st_wavefronts"]
    assert plan.shared_load_wavefronts == case["shared_ld_wavefronts"]


def test_the_measured_file_has_the_tiles_the_models_are_held_to():
    assert sum(name.startswith("mm/T") for name in CASES) >= 2
    assert sum(name.startswith("tr/") for name in CASES) >= 5


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([(8, 8), (8, 4), (16, 16), (16, 2), (32, 8)]),
    st.integers(0, 4),
    st.sampled_from([1, 4, 8]),
)
def test_a_transpose_of_any_shape_is_what_a_loop_over_threads_finds(rows, columns, block, pad, element):
    tile, block_rows = block
    pitch = tile + pad
    loads, stores = set(), set()
    banks: dict[tuple, set[int]] = {}  # (store or load, request, bank) -> words
    for by in range(-(-rows // tile)):
        for bx in range(-(-columns // tile)):
            for part in range(0, tile, block_rows):
                for thread in range(tile * block_rows):
                    x, y = thread % tile, thread // tile + part
                    where = (by, bx, part, thread // 32)
                    if by * tile + y < rows and bx * tile + x < columns:
                        loads.add((*where, ((by * tile + y) * columns + bx * tile + x) * element // 32))
                        word = (y * pitch + x) * element // 4
                        banks.setdefault(("store", where, word % 32), set()).add(word)
                    if bx * tile + y < columns and by * tile + x < rows:
                        stores.add((*where, ((bx * tile + y) * rows + by * tile + x) * element // 32))
                        word = (x * pitch + y) * element // 4
                        banks.setdefault(("load", where, word % 32), set()).add(word)
    plan = transpose(rows, columns, tile=tile, pad=pad, block_rows=block_rows, element_bytes=element)
    requests = len({key[:-1] for key in loads})
    assert (plan.load_sectors, plan.store_sectors) == (len(loads), len(stores))
    assert (plan.load_requests, plan.shared_requests) == (requests, requests)
    assert plan.shared_bytes == tile * pitch * element
    if element <= 4:  # wider accesses are served in groups of lanes: tests/models/test_banks.py
        worst: dict[tuple, int] = {}
        for (way, where, _), words in banks.items():
            worst[way, where] = max(worst.get((way, where), 0), len(words))
        assert plan.shared_store_wavefronts == sum(n for (way, _), n in worst.items() if way == "store")
        assert plan.shared_load_wavefronts == sum(n for (way, _), n in worst.items() if way == "load")


@given(st.integers(1, 64), st.sampled_from([2, 4, 8]))
def test_every_staged_element_serves_as_many_multiply_adds_as_the_tile_is_wide(tile, element):
    size = 4 * tile
    multiply_adds = size**3
    staged = (size // tile) ** 2 * (size // tile) * 2 * tile * tile * element  # blocks x steps x two tiles
    assert bytes_per_fma(tile, element) == pytest.approx(staged / multiply_adds)
    assert arithmetic_intensity(tile, element) == pytest.approx(2 * multiply_adds / staged)


def test_the_naive_product_is_the_tile_of_one():
    assert bytes_per_fma(1) == 8 and arithmetic_intensity(1) == 0.25
    assert list(arithmetic_intensity([8, 16, 32, 64])) == [2, 4, 8, 16]


def test_a_larger_tile_trades_occupancy_for_reuse():
    sweep = tile_sweep("A100 80GB SXM", (8, 16, 32), registers_per_thread=40)
    assert list(sweep.intensity) == [2, 4, 8]
    assert list(sweep.shared_bytes) == [512, 2048, 8192]
    assert list(sweep.occupancy.blocks_per_sm) == [24, 6, 1]
    assert str(sweep) == (
        "T = 8: 2 FLOP/B, 24 blocks, 75 %; T = 16: 4 FLOP/B, 6 blocks, 75 %; T = 32: 8 FLOP/B, 1 blocks, 50 %."
    )
    assert tile_sweep("A100 80GB SXM", 64).occupancy.blocks_per_sm == 0  # 64 x 64 threads do not exist


def test_sentences_carry_their_numbers():
    assert str(matmul(256, 16, 1)) == (
        "Tiles of 16 x 16: 4 FLOP per staged byte, 2176 B of shared memory a block, 4 sectors a request, "
        "2 wavefronts a store and 1 a load."
    )
    assert str(transpose(64, 64, pad=1)) == (
        "Transpose through a tile [32][32 + 1]: 4 sectors a load, 4 a store, 0 extra shared wavefronts, "
        "4224 B of shared memory a block."
    )


def test_two_barriers_a_step():
    assert matmul(256, 16).barriers_per_block == 32


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bytes_per_fma(0), "tile is 0: expected whole numbers of 1 or more"),
        (lambda: bytes_per_fma(1.5), "expected whole numbers"),
        (lambda: matmul(100, 16), "size is 100: expected a multiple of the tile, 16"),
        (lambda: matmul(128, 64), "expected 1 to 32"),
        (lambda: transpose(0, 4), "expected 1 or more rows and columns"),
        (lambda: transpose(64, 64, block_rows=5), "expected a divisor of the tile"),
        (lambda: matmul(32, 16, -1), "pad is -1"),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_counts_are_whole_python_numbers():
    plan = matmul(64, 16)
    assert all(type(value) is int for value in (plan.global_load_sectors, plan.shared_load_wavefronts))
    assert isinstance(tile_sweep("T4").shared_bytes, np.ndarray)


@pytest.mark.parametrize(("size", "tile"), [(60, 12), (20, 5), (9, 3), (64, 16)])
def test_staging_counts_the_sectors_of_every_block_also_of_those_that_start_inside_one(size, tile):
    threads = [(n % tile, n // tile) for n in range(tile * tile)]
    sectors = requests = 0
    for down in range(0, size, tile):
        for right in range(0, size, tile):
            for first in range(0, len(threads), 32):
                requests += 1
                warp = threads[first : first + 32]
                sectors += len({((down + y) * size + right + x) * 4 // 32 for x, y in warp})
    product = matmul(size, tile)
    times = 2 * (size // tile)  # both matrices, and each tile by every block beside it
    assert (product.global_load_requests, product.global_load_sectors) == (times * requests, times * sectors)
