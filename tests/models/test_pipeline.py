"""course.models.pipeline against a simulation that advances tick by tick, and against the PTX rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.cards import LIMITS
from course.models.occupancy import occupancy
from course.models.pipeline import async_copy, largest_stages, pipeline, pipeline_time, widest_copy


class Block:
    """A block and its memory, one tick of time after another; written without the model's formulas.

    The threads are a generator that yields once for every tick they are busy or blocked.
    """

    def __init__(self, load, compute, stages, barrier, issue, loads_at_once):
        self.load, self.compute, self.stages = load, compute, stages
        self.barrier, self.issue, self.loads_at_once = barrier, issue, loads_at_once
        self.queue: list[int] = []  # issued, not started
        self.running: dict[int, int] = {}  # tile -> ticks left
        self.events: dict[tuple[str, int], int] = {}
        self.buffers: dict[int, int] = {}  # buffer -> tile in use
        self.time = 0

    def memory(self) -> None:
        """Start what is queued while a channel is free; loads of no time land at once."""
        while self.queue and len(self.running) < self.loads_at_once:
            tile = self.queue.pop(0)
            self.events["load starts", tile] = self.time
            if self.load[tile]:
                self.running[tile] = self.load[tile]
            else:
                self.events["load ends", tile] = self.time

    def send(self, tile: int) -> Iterator[None]:
        for _ in range(self.issue):
            yield
        buffer = tile % self.stages
        assert buffer not in self.buffers, "a copy overwrites a tile that is still needed"
        self.buffers[buffer] = tile
        self.queue.append(tile)
        self.memory()

    def meet(self) -> Iterator[None]:
        for _ in range(self.barrier):
            yield

    def threads(self) -> Iterator[None]:
        tiles = len(self.load)
        ahead = self.stages - 1
        for tile in range(min(ahead, tiles)):
            yield from self.send(tile)
        for tile in range(tiles):
            if self.stages == 1:
                if tile:
                    yield from self.meet()
                yield from self.send(tile)
            while any(("load ends", older) not in self.events for older in range(tile + 1)):
                yield
            yield from self.meet()
            if self.stages > 1 and tile + ahead < tiles:
                yield from self.send(tile + ahead)
            self.events["compute starts", tile] = self.time
            for _ in range(self.compute[tile]):
                yield
            self.events["compute ends", tile] = self.time
            del self.buffers[tile % self.stages]

    def run(self) -> dict[tuple[str, int], int]:
        threads = self.threads()
        while True:
            try:
                next(threads)
            except StopIteration:
                return self.events
            self.time += 1
            for tile in list(self.running):
                self.running[tile] -= 1
                if not self.running[tile]:
                    del self.running[tile]
                    self.events["load ends", tile] = self.time
            self.memory()


@settings(deadline=None, max_examples=300)
@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 9), min_size=n, max_size=n) for _ in range(2)])
    ),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 4),
)
def test_every_event_happens_when_the_tick_by_tick_simulation_says(times, stages, barrier, issue, loads_at_once):
    load, compute = times
    events = Block(load, compute, stages, barrier, issue, loads_at_once).run()
    ours = pipeline(len(load), load, compute, stages, barrier=barrier, issue=issue, loads_at_once=loads_at_once)
    for name, column in (
        ("load starts", ours.load_start),
        ("load ends", ours.load_end),
        ("compute starts", ours.compute_start),
        ("compute ends", ours.compute_end),
    ):
        assert list(column) == [events[name, tile] for tile in range(len(load))], name
    alone = Block(load, compute, 1, barrier, issue, loads_at_once).run()
    assert ours.serial_time == alone["compute ends", len(load) - 1]


@given(st.integers(1, 40), st.integers(0, 50), st.integers(0, 50), st.integers(1, 5))
def test_the_closed_form_is_the_schedule_of_equal_tiles(tiles, load, compute, stages):
    assert pipeline_time(tiles, load, compute, stages) == pipeline(tiles, load, compute, stages).total_time


def test_the_closed_form_takes_whole_sweeps():
    times = pipeline_time(3, [4, 4, 0], [6, 0, 6], [[1], [2]])
    assert times.tolist() == [[30, 12, 18], [22, 12, 18]]


def test_overlap_cannot_help_when_one_side_takes_no_time_or_there_is_one_tile():
    assert pipeline(8, 5, 0).speed_up == pipeline(8, 0, 5).speed_up == pipeline(1, 5, 5).speed_up == 1
    assert pipeline(1000, 5, 5).speed_up == pytest.approx(2, rel=2e-3)  # and never more than 2


def test_a_third_stage_helps_latency_bound_loads_and_not_bandwidth_bound_ones():
    bandwidth_bound = [pipeline(50, 10, 4, stages).total_time for stages in (2, 3, 4)]
    latency_bound = [pipeline(50, 10, 4, stages, loads_at_once=3).total_time for stages in (2, 3, 4)]
    assert bandwidth_bound[0] == bandwidth_bound[1] == bandwidth_bound[2]
    assert latency_bound[0] > latency_bound[1] > latency_bound[2]


def test_tiles_of_uneven_size_profit_from_a_third_stage():
    load, compute = [2, 2, 9, 1, 1, 9, 1], [5, 5, 5, 1, 1, 5, 5]
    assert pipeline(7, load, compute, 3).total_time < pipeline(7, load, compute, 2).total_time


@given(st.sampled_from(sorted(LIMITS)), st.integers(1, 40_000), st.integers(1, 4))
def test_one_more_stage_than_the_largest_costs_a_block(capability, tile_bytes, blocks):
    most = largest_stages(capability, tile_bytes, blocks)
    for stages, fits in ((most, True), (most + 1, False)):
        assert (occupancy(capability, 256, 32, stages * tile_bytes).blocks_per_sm >= blocks) == fits


@given(st.integers(1, 40), st.integers(0, 64), st.integers(0, 64), st.sampled_from(["ca", "cg"]))
def test_a_copy_is_legal_exactly_when_the_ptx_rules_allow_it(width, source, target, cache):
    allowed = width in ((4, 8, 16) if cache == "ca" else (16,)) and source % width == 0 and target % width == 0
    assert async_copy(width, source, target, cache=cache).legal == allowed


def test_a_t4_has_no_cp_async():
    assert not async_copy(16, of="T4").legal and async_copy(16, of="A100 80GB SXM").legal
    assert str(async_copy(16, of="T4")) == (
        "cp.async.ca of 16 B is not legal: compute capability 7.5 has no cp.async, which begins with 8.0."
    )


@given(st.integers(1, 300), st.integers(1, 64))
def test_the_widest_copy_is_the_widest_that_every_row_allows(row_bytes, alignment):
    legal = [
        width
        for width in (4, 8, 16)
        if row_bytes % width == 0
        and all(
            async_copy(width, row * alignment + part).legal for row in range(20) for part in range(0, row_bytes, width)
        )
    ]
    assert widest_copy(row_bytes, alignment) == max(legal, default=0)


def test_sentences_carry_their_numbers():
    assert str(pipeline(3, 4, 6)) == (
        "3 tiles in 2 stages: time 22 instead of 30, 1.364 times as fast, 3 waits and 3 barriers."
    )
    assert pipeline(3, 4, 6, 1).barriers == 5  # none is needed after the last
    assert pipeline(3, 4, 6).idle_time == 4
    assert pipeline(3, 4, 6, 3, tile_bytes=2048).shared_bytes == 6144
    assert str(async_copy(16, 8)) == (
        "cp.async.ca of 16 B is not legal: the global address is 8 B past a multiple of the width."
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pipeline(0, 1, 1), "tiles is 0: expected a whole number of 1 or more"),
        (lambda: pipeline(2, 1, 1, 0), "stages is 0"),
        (lambda: pipeline(2, -1, 1), "load is -1: expected finite times"),
        (lambda: pipeline(2, [1, 2, 3], 1), "one for each of 2 tiles"),
        (lambda: pipeline(2, 1, float("nan")), "compute is nan"),
        (lambda: pipeline_time(1.5, 1, 1), "tiles is 1.5: expected whole numbers"),
        (lambda: async_copy(4, cache="cs"), 'expected "ca" or "cg"'),
        (lambda: async_copy(4, -4), "global_address is -4"),
        (lambda: widest_copy(0, 4), "row_bytes is 0"),
        (lambda: largest_stages("8.0", 0), "tile_bytes is 0"),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_the_schedule_is_plain_arrays():
    assert isinstance(pipeline(3, 4, 6).load_start, np.ndarray)
