"""course.models.occupancy against NVIDIA's own calculator, and its helpers against plain search."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.cards import LIMITS, card
from course.models.occupancy import (
    UNLIMITED,
    Occupancy,
    bytes_in_flight,
    carveout_bytes,
    in_flight,
    largest_square_tile,
    launch_bounds,
    occupancy,
    shared_bytes_for,
    sweep,
)
from tests.models.oracles import nvidia_occupancy as nvidia

QUESTIONS = nvidia.questions()


def ours(capability: str, asked: np.ndarray) -> Occupancy:
    _, threads, registers, static, dynamic, limit, carveout = asked.T
    return occupancy(capability, threads, registers, static + dynamic, opt_in=limit >= 0, carveout_percent=carveout)


def factors(result: Occupancy) -> np.ndarray:
    return sum(bit * result.limited_by(name) for name, bit in nvidia.FACTORS.items())


@pytest.fixture(scope="module")
def compiled() -> tuple[np.ndarray, str]:
    """Answers of the calculator compiled now, and the header it was compiled from."""
    try:
        return nvidia.ask(QUESTIONS)
    except nvidia.NoCalculator:
        pytest.skip("NVIDIA's occupancy calculator cannot be compiled here, its recorded answers are used")


@pytest.mark.parametrize("device", range(len(nvidia.CAPABILITIES)), ids=nvidia.CAPABILITIES)
def test_every_figure_agrees_with_nvidias_calculator_compiled_here(compiled, device):
    asked, told = (rows[QUESTIONS[:, 0] == device] for rows in (QUESTIONS, compiled[0]))
    result = ours(nvidia.CAPABILITIES[device], asked)
    for column, figure in enumerate(
        (
            result.blocks_per_sm,
            factors(result),
            result.blocks_by_warps,
            result.blocks_by_registers,
            result.blocks_by_shared,
            result.blocks_by_slots,
            result.blocks_by_barriers,
            result.registers_per_block,
            result.shared_bytes_per_block,
        ),
        start=1,
    ):
        assert np.array_equal(figure, told[:, column]), column


def test_blocks_and_limiters_agree_with_nvidias_recorded_answers(capsys):
    told = nvidia.golden(QUESTIONS)
    for device, capability in enumerate(nvidia.CAPABILITIES):
        here = QUESTIONS[:, 0] == device
        result = ours(capability, QUESTIONS[here])
        assert np.array_equal(result.blocks_per_sm, told[here, 0])
        assert np.array_equal(factors(result), told[here, 1])
    with capsys.disabled():
        print(f"\nOccupancy: {len(QUESTIONS)} configurations agree with the recorded {nvidia.GOLDEN.name}.")


def test_the_recorded_answers_are_those_of_the_compiled_calculator(compiled, capsys):
    answers, header = compiled
    assert np.array_equal(nvidia.golden(QUESTIONS), answers[:, 1:3])
    with capsys.disabled():
        print(f"\nOccupancy: {len(QUESTIONS)} configurations agree with {header}, compiled now.")


def test_the_questions_reach_every_corner():
    device, threads, _, static, dynamic, limit, carveout = QUESTIONS.T
    told = nvidia.golden(QUESTIONS)
    assert len(QUESTIONS) >= 100_000 and (told[:, 0] > 0).sum() >= 100_000
    assert {LIMITS[c].compute_capability for c in nvidia.CAPABILITIES} == set(LIMITS)
    for name, bit in nvidia.FACTORS.items():
        assert ((told[:, 1] & bit) > 0).sum() > 100, name
    for i, sm in enumerate(LIMITS[c] for c in nvidia.CAPABILITIES):
        shared = (static + dynamic)[device == i]
        assert (shared == 0).any() and (shared == sm.shared_bytes_per_block_opt_in).any()
        assert (shared == sm.shared_bytes_per_block_opt_in + 1).any()
        assert set(range(-1, 101)) == set(carveout[device == i])
    assert (threads % 32 != 0).mean() > 0.3 and (limit < 0).mean() > 0.1


# Readable answers -------------------------------------------------------------------------------


def test_the_sentence_of_a_configuration_carries_its_numbers():
    assert str(occupancy("A100 80GB SXM", 256, 40, 2176)) == (
        "6 blocks, 48 of 64 warps, occupancy 75 %, limited by registers."
    )
    assert str(occupancy("8.0", 1056)) == "This block cannot be launched: too much for one block (warps)."
    assert str(occupancy("8.0", [32, 1024])) == "2 configurations, occupancy 50 % to 100 %."


def test_several_limits_can_bind_at_once():
    assert occupancy("8.0", 256, 32).limiters == ("warps", "registers")
    assert occupancy("8.0", 64, 32).limiters == ("warps", "registers", "blocks")


def test_a_kernel_without_registers_or_shared_memory_is_not_limited_by_them():
    nothing = occupancy("7.0", 128, 0, 0)
    assert nothing.blocks_by_registers == nothing.blocks_by_shared == UNLIMITED


def test_from_cc_8_every_block_pays_the_reserved_kibibyte():
    assert occupancy("7.5", 32, 32, 0).shared_bytes_per_block == 0
    assert occupancy("8.0", 32, 32, 0).shared_bytes_per_block == 1024
    assert occupancy("8.0", 32, 32, 1).shared_bytes_per_block == 1152


def test_more_than_48_kib_a_block_needs_the_opt_in():
    assert occupancy("8.0", 256, 32, 64 * 1024, opt_in=False).blocks_per_sm == 0
    assert occupancy("8.0", 256, 32, 64 * 1024).blocks_per_sm == 2


def test_a_preferred_carveout_is_rounded_up_to_one_that_exists():
    assert [carveout_bytes("8.0", percent) // 1024 for percent in (-1, 0, 1, 39, 40, 100)] == [164, 0, 8, 64, 100, 164]


def test_a_sweep_is_the_curve_of_single_answers():
    for over in ("threads_per_block", "registers_per_thread", "shared_bytes_per_block"):
        values, curve = sweep("T4", over)
        held = {"threads_per_block": 256, "registers_per_thread": 32, "shared_bytes_per_block": 0}
        for i in range(0, len(values), 37):
            assert curve.occupancy[i] == occupancy("7.5", **{**held, over: int(values[i])}).occupancy


@settings(deadline=None)
@given(
    st.sampled_from(sorted(LIMITS)), st.integers(1, 4), st.sampled_from([64, 96, 256]), st.sampled_from([16, 32, 64])
)
def test_one_more_byte_than_shared_bytes_for_costs_a_block(capability, blocks, threads, registers):
    most = shared_bytes_for(capability, blocks, threads_per_block=threads, registers_per_thread=registers)
    assert occupancy(capability, threads, registers, most).blocks_per_sm >= blocks
    assert occupancy(capability, threads, registers, most + 1).blocks_per_sm < blocks


@settings(deadline=None)
@given(
    st.sampled_from(sorted(LIMITS)),
    st.integers(1, 4),
    st.integers(0, 4),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 3),
    st.sampled_from([1, 8, 16, 32]),
)
def test_the_largest_tile_is_the_one_a_search_finds(capability, blocks, pad, element, tiles, step):
    sides = np.arange(0, 520, step)
    resident = occupancy(capability, 256, 32, tiles * element * sides * (sides + pad)).blocks_per_sm
    found = largest_square_tile(capability, blocks, element_bytes=element, tiles=tiles, pad=pad, multiple_of=step)
    assert found == sides[resident >= blocks].max()


@settings(deadline=None)
@given(st.sampled_from(sorted(LIMITS)), st.sampled_from([32, 96, 256, 1024]), st.integers(1, 8), st.integers(1, 255))
def test_a_launch_bound_allows_the_most_registers_that_keep_its_blocks(capability, threads, blocks, wanted):
    if occupancy(capability, threads, 1).blocks_per_sm < blocks:
        with pytest.raises(ValueError, match="do not fit"):
            launch_bounds(capability, threads, blocks, wanted)
        return
    bound = launch_bounds(capability, threads, blocks, wanted)
    counts = np.arange(1, 256)
    assert bound.registers_allowed == counts[occupancy(capability, threads, counts).blocks_per_sm >= blocks].max()
    assert bound.spilled_bytes_per_thread == 4 * max(0, wanted - bound.registers_allowed)
    assert bound.after.occupancy >= bound.before.occupancy


def test_bytes_in_flight_are_latency_times_bandwidth():
    assert bytes_in_flight(500, 2000) == 1_000_000
    assert np.array_equal(bytes_in_flight([400, 800], 2000), [800_000, 1_600_000])


def test_one_float_a_lane_does_not_fill_the_bandwidth_of_an_h200():
    h200 = card("H200")
    one, four = in_flight(h200, 64, [4, 16], 600).share
    assert one < 0.4 and four == 1
    assert str(in_flight(h200, 64, 4, 600)) == "1.08 MB in flight of 2.88 MB needed: at most 1.8e+03 GB/s of 4800."


def test_a_sweep_answers_what_single_questions_do():
    rng = np.random.default_rng(0)
    threads, registers, shared = rng.integers(1, 1025, 300), rng.integers(0, 256, 300), rng.integers(0, 99999, 300)
    single = [occupancy("8.0", *(int(one) for one in asked)) for asked in zip(threads, registers, shared, strict=True)]
    together = occupancy("8.0", threads, registers, shared)
    assert [int(one.blocks_per_sm) for one in single] == together.blocks_per_sm.tolist()
    assert [one.occupancy for one in single] == together.occupancy.tolist()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: occupancy("8.0", 0), ValueError, "threads_per_block is 0: expected 1 or more"),
        (lambda: occupancy("8.0", 256.0), TypeError, "threads_per_block is 256.0: expected whole numbers"),
        (lambda: occupancy("8.0", 256, 256), ValueError, "registers_per_thread is 256: expected 0 to 255"),
        (lambda: occupancy("8.0", 256, 32, -1), ValueError, "shared_bytes_per_block is -1: expected 0 or more"),
        (lambda: occupancy("8.0", 256, carveout_percent=101), ValueError, "expected -1 to 100"),
        (lambda: occupancy("6.1", 256), KeyError, "compute capability 6.1 is not in the table"),
        (lambda: occupancy("MI300X", 256), ValueError, "NVIDIA's occupancy rules do not apply"),
        (lambda: occupancy("8.0", [32, 64]).limiters, ValueError, "use limited_by"),
        (lambda: occupancy("8.0", 32).limited_by("luck"), ValueError, "expected one of warps"),
        (lambda: sweep("8.0", "time"), ValueError, "expected one of threads_per_block"),
        (lambda: shared_bytes_for("8.0", 9), ValueError, "9 blocks do not fit, even without shared memory"),
        (lambda: bytes_in_flight(0, 2000), ValueError, "latency_ns must be finite and above 0"),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
