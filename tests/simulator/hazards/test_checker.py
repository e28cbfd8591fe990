"""course.simulator.hazards.checker on instructions and barriers written by hand (real kernels: the hazard zoo)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import float32

from course import cuda, profile
from course.simulator.access import Access, ArrayInfo, Barrier, Batch, Finding, Launch, Site
from course.simulator.hazards import shadow as shadow_module
from course.simulator.hazards.checker import Hazards
from course.simulator.hazards.shadow import BlockClasses, Shadow
from course.simulator.observers import CountAndCheck

X, Y = 4096, 1 << 20


class Script:
    """A kernel as a list of instructions, executed by one batch after the other."""

    def __init__(self, blocks: int = 2, threads: int = 64, batches: int = 1) -> None:
        self.blocks, self.threads, self.batches = blocks, threads, batches
        self.steps: list[tuple[Any, ...]] = []
        self.sites: list[Site] = []
        self.block = np.arange(blocks).reshape(1, 1, blocks, 1)
        self.lane = np.arange(threads).reshape(1, 1, 1, threads)
        self.i = self.block * threads + self.lane

    def do(self, kind: Any, array: str, index: Any, values: Any = None, mask: Any = None, size: int = 4) -> Script:
        space: Any = "shared" if array == "s" else "global"
        site = Site(len(self.sites), len(self.steps) + 1, 0, f"{array}[...]", space, kind, array, "k")
        self.sites.append(site)
        self.steps.append(("access", site, np.asarray(index), values, mask, size))
        return self

    def load(self, array: str, index: Any, mask: Any = None, size: int = 4) -> Script:
        return self.do("load", array, index, None, mask, size)

    def store(self, array: str, index: Any, values: Any = None, mask: Any = None, size: int = 4) -> Script:
        return self.do("store", array, index, self.i if values is None else values, mask, size)

    def atomic(self, array: str, index: Any, mask: Any = None) -> Script:
        return self.do("atomic", array, index, None, mask)

    def barrier(self, kind: str = "block", mask: Any = None, live: Any = None) -> Script:
        self.steps.append(("barrier", kind, mask, live))
        return self

    def again(self, *lines: int) -> Script:
        """Repeat steps, as a loop does."""
        self.steps += [self.steps[line - 1] for line in lines]
        return self

    def run(self) -> tuple[Finding, ...]:
        hazards = Hazards()
        arrays = (
            ArrayInfo("x", "global", X, 1 << 16, np.dtype("f4"), (1 << 14,)),
            ArrayInfo("y", "global", Y, 1 << 16, np.dtype("f4"), (1 << 14,)),
        )
        grid = (self.blocks * self.batches, 1, 1)
        hazards.begin(Launch("k", "f", (), 1, grid, (self.threads, 1, 1), 32, tuple(self.sites), arrays, 4096))
        shape = (1, 1, self.blocks, self.threads)
        for batch in range(self.batches):
            origin = (0, 0, batch * self.blocks)
            hazards.batch(Batch(origin, shape, None))
            for what, *step in self.steps:
                if what == "access":
                    site, index, values, mask, size = step
                    base = {"x": X, "y": Y, "s": 0}[site.array]
                    if site.space == "global" and index.size == self.i.size:
                        index = index + batch * self.i.size
                    addresses = base + size * index.reshape((1,) * (4 - index.ndim) + index.shape)
                    stored = None if values is None else np.asarray(values, np.float32).reshape(
                        (1,) * (4 - np.ndim(values)) + np.shape(values))  # fmt: skip
                    hazards.access(Access(site, size, addresses, mask, shape, 32, origin, 0, stored))
                else:
                    kind, mask, live = step
                    hazards.barrier(Barrier(0, kind, mask, live, shape, origin, 0))
        hazards.end()
        return hazards.findings


def kinds(script: Script) -> list[tuple[str, int]]:
    return [(f.kind, f.line) for f in script.run()]


def test_a_tile_that_is_read_without_a_barrier_is_a_race_and_with_one_it_is_not() -> None:
    def tile(barrier: bool) -> Script:
        s = Script()
        s.store("s", s.lane)
        if barrier:
            s.barrier()
        return s.load("s", (s.lane + 32) % 64)

    assert kinds(tile(True)) == []
    (finding,) = tile(False).run()
    assert (finding.kind, finding.line, finding.lane, finding.block) == ("shared-race", 2, 0, (0, 0, 0))
    assert finding.count == 2 * 64
    assert "line 1" in finding.message and "syncthreads" in finding.remedy


def test_the_second_barrier_of_a_loop_is_missed() -> None:
    s = Script()
    s.store("s", s.lane).barrier().load("s", 63 - s.lane).again(1, 2, 3)
    (finding,) = s.run()
    assert (finding.kind, finding.line) == ("shared-race", 1)
    assert "line 3" in finding.message and "In a loop" in finding.remedy
    good = Script()
    good.store("s", good.lane).barrier().load("s", 63 - good.lane).barrier().again(1, 2, 3, 4)
    assert kinds(good) == []


def test_two_warps_storing_to_one_word_race_unless_the_value_is_the_same() -> None:
    s = Script()
    assert kinds(s.store("s", 0 * s.lane)) == [("lane-conflict", 1), ("shared-race", 1)]
    assert kinds(Script().store("s", 0, 1.0)) == []
    s = Script()
    assert kinds(s.store("s", 0 * s.lane, 0 * s.lane + 3)) == []


def test_lanes_of_a_warp_that_store_different_values_to_one_word_are_named() -> None:
    s = Script(blocks=1, threads=32)
    (finding,) = s.store("x", s.lane // 2).run()
    assert (finding.kind, finding.lane, finding.count) == ("lane-conflict", 1, 16)


def test_values_decide_block_by_block() -> None:
    s = Script(blocks=40)
    values = np.where(s.block == 39, s.lane, 7)  # only the last block's threads disagree
    (first, second) = s.store("s", 0 * s.lane, values).run()
    assert {first.kind, second.kind} == {"lane-conflict", "shared-race"}
    assert first.block == second.block == (39, 0, 0)


def test_the_same_constant_stored_at_two_lines_is_no_race_and_another_one_is() -> None:
    def flag(other: float) -> Script:
        s = Script(blocks=1)
        return s.store("x", 0, 1.0, s.lane < 32).store("x", 0, other, s.lane >= 32)

    assert kinds(flag(1.0)) == []
    assert kinds(flag(2.0)) == [("global-race", 2)]


def test_reading_unwritten_shared_memory_is_named_once_and_counted_for_all_blocks() -> None:
    s = Script(blocks=5)
    s.store("s", s.lane, None, s.lane < 40).barrier()
    (finding,) = s.load("s", s.lane).run()
    assert (finding.kind, finding.line, finding.lane, finding.count) == ("uninitialised-shared", 3, 40, 24 * 5)


def test_every_batch_starts_with_unwritten_shared_memory() -> None:
    s = Script(batches=3)
    s.load("s", s.lane).store("s", s.lane)
    assert [(f.kind, f.count) for f in s.run() if f.kind == "uninitialised-shared"] == [("uninitialised-shared", 384)]


def test_a_last_block_that_behaves_differently_is_checked_on_its_own() -> None:
    s = Script(blocks=300)
    late = s.block == 299
    s.store("s", s.lane, s.lane, ~late | (s.lane < 32)).barrier()
    (finding,) = s.load("s", s.lane).run()
    assert (finding.kind, finding.block, finding.lane, finding.count) == ("uninitialised-shared", (299, 0, 0), 32, 32)


def test_block_dependent_addresses_are_checked_in_every_block() -> None:
    s = Script(blocks=50)
    s.store("s", (s.lane + s.block) % 64, s.lane).load("s", (s.lane + s.block) % 64)
    assert kinds(s) == []
    t = Script(blocks=50)
    t.store("s", (t.lane + t.block) % 64, t.lane).load("s", (t.lane + 17) % 64)
    assert ("shared-race", 2) in kinds(t)


def test_lanes_of_a_warp_need_syncwarp_in_shared_memory() -> None:
    def step(sync: bool) -> Script:
        s = Script(threads=32)
        s.store("s", s.lane)
        if sync:
            s.barrier("warp")
        return s.load("s", 31 - s.lane)

    assert kinds(step(True)) == []
    (finding,) = step(False).run()
    assert (finding.kind, finding.line) == ("missing-syncwarp", 2) and "cuda.syncwarp()" in finding.remedy


def test_syncwarp_does_not_order_warps() -> None:
    s = Script()
    assert ("shared-race", 3) in kinds(s.store("s", s.lane).barrier("warp").load("s", (s.lane + 32) % 64))


def test_blocks_that_write_and_read_each_others_elements_race() -> None:
    s = Script(batches=2)
    (finding,) = s.store("y", s.i).load("y", s.i ^ 64).run()
    assert (finding.kind, finding.line, finding.array) == ("global-race", 2, "y")
    assert "two launches" in finding.remedy
    s = Script(batches=2)
    assert kinds(s.load("y", s.i ^ 64).store("y", s.i)) == [("global-race", 2)]


def test_blocks_of_different_batches_race_too() -> None:
    s = Script(blocks=1, batches=3)
    (finding,) = s.store("y", 5, None, s.lane == 0).run()
    assert finding.kind == "global-race" and finding.block == (1, 0, 0) and finding.count == 2


def test_a_barrier_orders_global_memory_within_a_block_only() -> None:
    s = Script()
    assert kinds(s.store("y", s.i).barrier().load("y", s.i ^ 32)) == []
    s = Script()
    assert kinds(s.store("y", s.i).load("y", s.i ^ 32)) == [("global-race", 2)]
    s = Script()
    assert kinds(s.store("y", s.i).barrier().load("y", s.i ^ 64)) == [("global-race", 3)]


def test_in_place_work_on_ones_own_element_is_no_race() -> None:
    s = Script(batches=2)
    assert kinds(s.load("y", s.i).store("y", s.i).load("y", s.i).store("y", s.i)) == []


def test_arrays_that_are_only_read_are_not_watched() -> None:
    s = Script(batches=2)
    assert kinds(s.load("x", 0 * s.lane).load("x", s.i ^ 64).store("y", s.i)) == []


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses() -> None:
    s = Script(batches=2)
    assert kinds(s.atomic("y", 0 * s.lane)) == []
    s = Script()
    assert kinds(s.atomic("y", 0 * s.lane).load("y", 0 * s.lane)) == [("global-race", 2)]
    s = Script()
    assert kinds(s.store("s", s.lane).atomic("s", 0 * s.lane)) == [("shared-race", 2)]
    s = Script()
    assert kinds(s.store("s", s.lane).barrier().atomic("s", 0 * s.lane).barrier().load("s", 0 * s.lane)) == []


def test_an_atomic_on_unwritten_shared_memory_reads_it() -> None:
    s = Script()
    assert kinds(s.atomic("s", 0 * s.lane)) == [("uninitialised-shared", 1)]


def test_a_kernel_with_a_fence_has_its_own_protocol_between_threads() -> None:
    s = Script()
    s.store("y", s.i).barrier("fence").load("y", s.i ^ 64)
    assert kinds(s) == []
    s = Script()
    assert kinds(s.barrier("fence").store("y", 0 * s.lane)) == [("global-race", 2), ("lane-conflict", 2)]


def test_a_barrier_that_some_live_threads_miss_is_divergent() -> None:
    s = Script(blocks=3)
    few = s.lane < 40
    assert kinds(s.barrier("block", few, few)) == []  # the others have left
    (finding,) = Script(blocks=3).barrier("block", few, None).run()
    assert (finding.kind, finding.lane, finding.block, finding.count) == ("divergent-barrier", 40, (0, 0, 0), 24 * 3)


def test_a_barrier_that_whole_blocks_skip_is_fine_and_orders_only_the_others() -> None:
    s = Script(blocks=3)
    arrive = (s.block < 2) & (s.lane >= 0)
    s.store("s", s.lane).barrier("block", arrive, None).load("s", s.lane ^ 32)
    (finding,) = s.run()
    assert (finding.kind, finding.block, finding.count) == ("shared-race", (2, 0, 0), 64)


def test_narrow_accesses_beside_each_other_do_not_race() -> None:
    s = Script()
    assert kinds(s.store("s", s.lane, None, None, 1).load("s", s.lane, None, 1)) == []
    s = Script()
    assert ("shared-race", 2) in kinds(s.store("s", s.lane, None, None, 1).load("s", 15 - s.lane // 4, None, 4))
    s = Script()
    assert kinds(s.store("s", s.lane, None, None, 16).load("s", s.lane * 4 + 3, None, 4)) == []


def test_equal_findings_are_one_with_their_count_and_engine_findings_are_kept() -> None:
    both = CountAndCheck()
    both.begin(Launch("k", "f", (), 1, (1, 1, 1), (32, 1, 1), 32, (), (), 0))
    for _ in range(3):
        both.finding(Finding("out-of-bounds", 9, "m", "r", 1, (0, 0, 0), "x", 5))
    both.end()
    assert [(f.kind, f.count) for f in both.hazards.findings] == [("out-of-bounds", 15)]


def test_serial_numbers_that_run_out_start_again_without_inventing_races(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course.simulator.hazards.checker.MAX_SERIAL", 7)
    s = Script()
    s.store("s", s.lane).barrier().load("s", 63 - s.lane).barrier().again(*[1, 2, 3, 4] * 6)
    assert kinds(s) == []


def test_too_many_different_blocks_are_followed_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = Shadow(0, 1024, atomics=False)
    classes = BlockClasses(100, shadow, max_bytes=10 * shadow.state.nbytes)
    classes.split(np.arange(100))
    assert len(classes.cases) == 10 and {0, 99} <= set(classes.cases[:, 3].tolist())
    classes.split(np.arange(100) % 2)
    assert shadow.state.shape[1] == 10


def test_shadows_stay_within_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow_module, "MAX_WORDS", 16)
    s = Script()
    assert kinds(s.store("y", s.i)) == []  # beyond the limit nothing is checked, and nothing breaks


# ---- causes and remedies --------------------------------------------------------------------------------


def found_in(kernel, size, grid=2, block=64):
    return profile(kernel, grid, block, np.ones(size, np.float32), np.zeros(size, np.float32)).findings


def test_a_missing_block_barrier_is_not_also_called_a_missing_syncwarp():
    @cuda.jit
    def unordered(x, y):
        t = cuda.shared.array(64, float32)
        i, j = cuda.grid(1), cuda.threadIdx.x
        t[j] = x[i]
        y[i] = t[j ^ 1]
        y[i] += t[63 - j] + t[j ^ 1]

    (finding,) = found_in(unordered, 128)
    assert finding.kind == "shared-race" and "syncthreads" in finding.remedy and "syncwarp" not in finding.remedy


def test_syncwarp_is_the_remedy_where_a_warp_is_enough():
    @cuda.jit
    def pairs(x, y):
        t = cuda.shared.array(64, float32)
        i, j = cuda.grid(1), cuda.threadIdx.x
        t[j] = x[i]
        y[i] = t[j ^ 1]

    (finding,) = found_in(pairs, 128)
    assert finding.kind == "missing-syncwarp" and "syncwarp" in finding.remedy


def test_a_race_between_warps_comes_before_lanes_of_one_warp():
    @cuda.jit
    def two_arrays(x, y):
        a = cuda.shared.array(64, float32)
        b = cuda.shared.array(64, float32)
        i, j = cuda.grid(1), cuda.threadIdx.x
        a[j] = x[i]
        y[i] = a[j ^ 1]
        b[j] = x[i]
        y[i] += b[63 - j]

    assert [finding.kind for finding in found_in(two_arrays, 128)] == ["shared-race", "missing-syncwarp"]


def test_an_early_return_is_named_as_the_cause_of_elements_that_nobody_wrote():
    @cuda.jit
    def early(x, y):
        t = cuda.shared.array(64, float32)
        i, j = cuda.grid(1), cuda.threadIdx.x
        if i >= x.size:
            return
        t[j] = x[i]
        cuda.syncthreads()
        y[i] = t[63 - j]

    (finding,) = found_in(early, 100)
    line = early.py_func.__code__.co_firstlineno + 5
    assert finding.kind == "uninitialised-shared" and finding.block == (1, 0, 0)
    assert f"by the return on line {line}" in finding.message
    assert finding.remedy.startswith(f"Take the return on line {line} out")


def test_a_return_after_the_stores_is_no_cause():
    @cuda.jit
    def late(x, y):
        t = cuda.shared.array(64, float32)
        i, j = cuda.grid(1), cuda.threadIdx.x
        if j < 32:
            t[j] = x[0]
        cuda.syncthreads()
        if i >= x.size:
            return
        y[i] = t[j]

    (finding,) = found_in(late, 100)
    assert finding.kind == "uninitialised-shared" and "return" not in finding.message + finding.remedy
