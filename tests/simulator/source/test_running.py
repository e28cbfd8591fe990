"""What a launch checks, and what the simulator finds while it runs."""

from __future__ import annotations

import importlib
import importlib.util
import itertools

import numpy as np
import pytest
from numba import float32, int32

from course import cuda, profile
from course.simulator import DeviceArray, LaunchConfigurationError, LaunchError, MisalignedAddress, StepLimit
from course.simulator.source import run
from tests.simulator.runs import launch, line_of
from tests.support.clocks import Ticking

X = np.arange(100, dtype=np.float32)

# ---- launches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (1, 1025, "at most 1024"),
        (1, (32, 33), "1056 threads"),
        (0, 32, "grid.x is 0"),
        (1, 0, "block.x is 0"),
        (1, (1, 1, 65), "at most 64"),
        ((1, 65536), 32, "at most 65535"),
        (-1, 32, "grid.x is -1"),
    ],
)
def test_a_launch_that_no_gpu_accepts_is_refused(grid, block, message):
    with pytest.raises(LaunchConfigurationError, match=message):
        launch(lambda x: None, X, grid=grid, block=block)


@pytest.mark.parametrize("grid", [1.5, "4", None, 100 / 32])
def test_sizes_that_are_no_whole_numbers_are_refused(grid):
    with pytest.raises(TypeError, match="whole numbers"):
        launch(lambda x: None, X, grid=grid)


def test_more_than_48_kb_of_declared_shared_memory_is_refused():
    @cuda.jit
    def kernel(x):
        t = cuda.shared.array((128, 97), float32)
        t[0, 0] = 1
        x[0] = t[0, 0]

    with pytest.raises(LaunchConfigurationError, match="49664 bytes"):
        launch(kernel, X.copy())


def test_an_endless_loop_stops_and_names_its_line():
    @cuda.jit
    def endless(x):
        i = cuda.grid(1)
        while x[0] == 0:
            i += 1
        x[0] = i

    with pytest.raises(StepLimit, match=f"line {line_of(endless, 'while')}:"):
        launch(endless, X.copy(), block=32, max_steps=1000)


def seconds_per_look(step):
    """A clock that goes on by `step` whenever somebody looks."""
    return (step * n for n in itertools.count()).__next__


def test_a_while_loop_without_an_end_stops_after_ten_seconds_with_the_sentence_of_the_step_limit():
    @cuda.jit
    def endless(x):
        i = cuda.grid(1)
        while x[0] == 0:
            i += 1
        x[0] = i

    said = []
    for limits in ({"clock": seconds_per_look(0.5)}, {"max_steps": 20}):
        with pytest.raises(StepLimit, match=f"endless, line {line_of(endless, 'while')}:") as caught:
            launch(endless, X.copy(), block=32, **limits)
        said.append(str(caught.value))
    assert said[0] == said[1] and "ran 20 iterations without an end" in said[0]


def test_a_for_loop_that_would_take_days_stops_after_ten_seconds_too():
    @cuda.jit
    def days(x, n):
        for i in range(n):
            x[0] = i

    with pytest.raises(StepLimit, match="ran 20 iterations"):
        launch(days, X.copy(), 2**62, block=1, clock=seconds_per_look(0.5))


def test_long_work_with_an_end_is_not_taken_to_be_endless(monkeypatch):
    """A `for` loop may take its time, and a launch of many batches takes longer than any loop of it."""

    @cuda.jit
    def long(x, n):
        i = cuda.grid(1)
        for k in range(n):
            x[i % x.size] = k
        for _ in range(i % 32):
            x[i % x.size] = n - 1
        left = 8
        while left > 0:
            left -= 1

    monkeypatch.setattr("course.simulator.batches.LANES_PER_BATCH", 256)
    x = X.copy()
    launch(long, x, 1000, grid=4, block=256, clock=seconds_per_look(1.0), max_steps=2000)
    assert (x == 999).all()


def test_an_interrupt_leaves_host_arrays_as_they_were():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = 7

    def interrupt(done, total):
        raise KeyboardInterrupt

    x = np.zeros(128)
    with pytest.raises(KeyboardInterrupt):
        launch(kernel, x, progress=interrupt)
    assert not x.any()


def test_calls_that_multiply_without_a_loop_stop_too():
    @cuda.jit(device=True)
    def a(v):
        return v + 1

    @cuda.jit(device=True)
    def b(v):
        return a(v) + a(v) + a(v) + a(v)

    @cuda.jit(device=True)
    def c(v):
        return b(v) + b(v) + b(v) + b(v)

    @cuda.jit
    def bomb(x):
        x[0] = c(x[0]) + c(x[0])

    with pytest.raises(StepLimit):
        launch(bomb, X.copy(), block=32, max_steps=20)


def test_a_deeply_nested_expression_runs_and_a_huge_local_array_is_refused(tmp_path, monkeypatch):
    text = "from course import cuda\n@cuda.jit\ndef deep(x):\n    x[0] = " + "(" * 80 + "x[1]" + " + 1)" * 80 + "\n"
    (tmp_path / "deep_kernel.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("deep_kernel")
    x = np.ones(2)
    launch(module.deep, x, block=1)
    assert x[0] == 81

    @cuda.jit
    def local(x):
        t = cuda.local.array(100_000_000, float32)
        t[0] = 1
        x[0] = t[0]

    with pytest.raises(LaunchConfigurationError, match="local memory"):
        launch(local, X.copy())


def test_lanes_of_full_blocks_are_not_masked_after_an_early_return():
    masks = []

    class Watch:
        def begin(self, launch): ...
        def batch(self, batch): ...
        def barrier(self, barrier): ...
        def instruction(self, instruction): ...
        def finding(self, finding): ...
        def end(self): ...

        def access(self, access):
            masks.append(access.mask)

    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i >= x.size:
            return
        y[i] = x[i]

    x = np.ones(256, np.float32)
    launch(kernel, x, x.copy(), grid=2, block=128, observer=Watch())
    assert masks == [None, None]


def test_progress_reports_blocks(monkeypatch):
    monkeypatch.setattr("course.simulator.batches.LANES_PER_BATCH", 256)

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = 1

    seen = []
    launch(kernel, np.zeros(1280), grid=10, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (10, 10)
    assert len(seen) == 5


def test_past_its_budget_a_launch_samples_the_first_last_and_some_other_blocks(monkeypatch):
    monkeypatch.setattr("course.simulator.batches.LANES_PER_BATCH", 128)

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = 1

    x = np.zeros(128 * 2000)
    info = launch(kernel, x, grid=2000, budget=10.0, clock=Ticking())
    assert info.sampled
    ran = np.flatnonzero(x.reshape(2000, 128).all(axis=1))
    assert len(ran) == info.blocks == np.count_nonzero(x) // 128
    assert info.total_blocks == 2000
    assert ran[0] == 0
    assert ran[-1] == 1999
    assert 5 < info.blocks < 15
    assert np.unique(np.diff(ran)).size > 3, "the others are drawn from the whole grid"
    assert not launch(kernel, x, grid=2000).sampled


def test_sixty_four_lane_warps_pad_blocks_to_sixty_four():
    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = cuda.laneid

    x = np.zeros(96)
    launch(kernel, x, block=96, warp_lanes=64)
    np.testing.assert_array_equal(x, np.arange(96) % 64)
    with pytest.raises(ValueError, match="warp_lanes"):
        launch(kernel, x, warp_lanes=16)


# ---- what the engine itself finds ----------------------------------------------------------------------


def test_out_of_bounds_reads_zero_writes_nothing_and_is_named():
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = x[i + 1] + 1

    y = np.zeros(100, np.float32)
    info = launch(kernel, X, y, grid=2, block=64)
    found = {(f.array, f.kind): f for f in info.findings}
    read, written = found[("x", "out-of-bounds")], found[("y", "out-of-bounds")]
    assert read.count == 29
    assert written.count == 28
    assert read.block == (1, 0, 0)
    assert read.lane == 99 - 64
    assert "Index 100 is out of bounds of x, which has shape (100,)." in read.message
    assert read.line == line_of(kernel, "y[i]")
    np.testing.assert_array_equal(y, np.r_[X[1:] + 1, 1])


def test_an_index_that_is_the_same_for_all_threads_may_be_out_of_bounds_too():
    @cuda.jit
    def kernel(x, y, k):
        i = cuda.grid(1)
        y[i] = x[k]
        if i == 3:
            x[k] = 5

    y = np.ones(32, np.float32)
    read, written = launch(kernel, X.copy(), y, 100, block=32).findings
    assert (read.kind, read.count, read.lane) == ("out-of-bounds", 32, 0)
    assert (written.kind, written.count, written.lane) == ("out-of-bounds", 1, 3)
    assert not y.any()


def test_a_guarded_access_is_not_evaluated_by_the_other_lanes():
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size and x[i] > 50:
            y[i] = x[i]
        z = x[i] if i < x.size else float32(0)
        if i >= x.size or x[i] < 10:
            return
        y[i] = z

    assert launch(kernel, X, X.copy()).findings == ()


def test_a_negative_index_wraps_and_is_reported_unless_it_is_written_so():
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i - 1]
            y[-1] = 5

    y = np.zeros_like(X)
    (finding,) = launch(kernel, X, y).findings
    assert (finding.kind, finding.count, finding.lane) == ("negative-index", 1, 0)
    np.testing.assert_array_equal(y[:-1], np.roll(X, 1)[:-1])


def test_uninitialised_shared_memory_is_poison():
    @cuda.jit
    def kernel(y):
        t = cuda.shared.array(32, float32)
        u = cuda.shared.array(32, int32)
        y[0] = t[3]
        y[1] = u[3]

    y = np.zeros(2)
    launch(kernel, y, block=32)
    assert np.isnan(y[0])
    assert y[1] != 0


def test_four_floats_move_with_one_access():
    @cuda.jit
    def kernel(x, y):
        i = 4 * cuda.grid(1)
        if i + 3 < x.size:
            a, b, c, d = cuda.load4(x, i)
            cuda.store4(y, i, (d, c, b, a))

    y = np.zeros_like(X)
    assert launch(kernel, X, y).findings == ()
    np.testing.assert_array_equal(y, X.reshape(-1, 4)[:, ::-1].ravel())


def test_a_wide_load_inside_a_wide_store_is_one_request():
    @cuda.jit
    def kernel(x, y):
        i = 4 * cuda.grid(1)
        if i + 3 < x.size:
            cuda.store4(y, i, cuda.load4(x, i))

    counted = profile(kernel, 1, 32, X[:96].copy(), np.zeros(96, np.float32))
    assert [(c.site.kind, c.instructions, c.sectors) for c in counted.sites] == [("load", 1, 12), ("store", 1, 12)]


def test_a_misaligned_wide_access_stops_the_kernel_as_on_hardware():
    @cuda.jit
    def kernel(x, y):
        i = 4 * cuda.grid(1)
        if i + 3 < x.size:
            cuda.store4(y, i, cuda.load4(x, i))

    device = DeviceArray.copy_of(X)
    y = DeviceArray.allocate(100, np.float32)
    run(kernel, 1, 32, (device[4:], y))
    with pytest.raises(MisalignedAddress, match="CUDA_ERROR_MISALIGNED_ADDRESS"):
        run(kernel, 1, 32, (device[1:], y))


def test_views_of_device_arrays_keep_their_address():
    device = DeviceArray.copy_of(np.arange(1000, dtype=np.float32))
    assert device.device_address % 256 == 0
    assert device[3:].device_address - device.device_address == 12
    assert device[::2].strides == (8,)
    other = DeviceArray.allocate(10, np.float64)
    assert other.device_address % 256 == 0
    assert other.device_address >= device.device_address + 4000

    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    y = np.zeros(499, np.float32)
    run(kernel, 4, 128, (device[2::2], y))
    np.testing.assert_array_equal(y, np.arange(2, 1000, 2))


def test_a_variable_without_a_value_stops_the_kernel():
    @cuda.jit
    def kernel(x):
        if x[0] > 5:
            v = float32(1)
        x[1] = v

    with pytest.raises(LaunchError, match="variable v has no value"):
        launch(kernel, X.copy())
