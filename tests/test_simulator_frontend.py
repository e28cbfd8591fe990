# ruff: noqa: F821, F841, SIM105, SIM108  (the kernels here are wrong on purpose)
"""Where kernels come from, what is refused before it runs, and what a launch checks."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
import types

import numba
import numpy as np
import pytest
from numba import cuda as numba_cuda
from numba import float32, int32

from course import cuda, profile
from course.simulator import (
    DeviceArray,
    KernelTypeError,
    LaunchConfigurationError,
    LaunchError,
    MisalignedAddress,
    StepLimit,
    UnsupportedKernel,
    run,
)
from course.simulator.frontend import fresh_stores, read_source

X = np.arange(100, dtype=np.float32)
WIDTH = 7


def launch(kernel, *arguments, grid=1, block=128, **options):
    return run(kernel, grid, block, arguments, **options)


def line_of(kernel, text):
    """Line number of the first line of a kernel that holds a text."""
    source = read_source(kernel) if not isinstance(kernel, str) else None
    assert source is not None
    return source.first_line + next(n for n, line in enumerate(source.lines) if text in line)


# ---- sources --------------------------------------------------------------------------------------


def test_kernels_of_numba_and_of_the_course_and_plain_functions_run():
    def plain(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] + 1

    for kernel in (plain, cuda.jit(plain), numba_cuda.jit(plain)):
        y = np.zeros_like(X)
        launch(kernel, X, y)
        np.testing.assert_array_equal(y, X + 1)


def test_closure_variables_are_those_of_each_closure():
    def make(factor, kind):
        @cuda.jit
        def scaled(x, y):
            i = cuda.grid(1)
            if i < x.size:
                y[i] = x[i] * kind(factor)

        return scaled

    for factor in (2, 5):
        y = np.zeros_like(X)
        launch(make(factor, float32), X, y)
        np.testing.assert_array_equal(y, X * factor)


def test_a_cell_that_is_edited_and_run_again_uses_the_new_text():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        for number in (3, 4):
            result = shell.run_cell(
                "from course import cuda\n@cuda.jit\ndef cell(x, y):\n    i = cuda.grid(1)\n"
                f"    if i < x.size:\n        y[i] = x[i] * {number}\n"
            )
            assert result.success
            y = np.zeros_like(X)
            launch(shell.user_ns["cell"], X, y)
            np.testing.assert_array_equal(y, X * number)
    finally:
        InteractiveShell.clear_instance()


def test_a_file_edited_after_its_import_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "edited_kernel.py"
    text = (
        "from course import cuda\n@cuda.jit\ndef k(x, y):\n    i = cuda.grid(1)\n"
        "    if i < x.size:\n        y[i] = x[i] + 1\n"
    )
    file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("edited_kernel")
    y = np.zeros_like(X)
    launch(module.k, X, y)
    file.write_text(text.replace("+ 1", "+ 2222"))
    with pytest.raises(UnsupportedKernel, match="has changed since it was loaded"):
        read_source(module.k)
    del sys.modules["edited_kernel"]


def test_a_kernel_made_by_exec_says_why_it_cannot_run():
    namespace = {"cuda": cuda}
    exec("@cuda.jit\ndef hidden(x):\n    x[0] = 1\n", namespace)
    with pytest.raises(UnsupportedKernel, match="made by exec"):
        launch(namespace["hidden"], X.copy())


def test_a_lambda_is_no_kernel():
    with pytest.raises(UnsupportedKernel, match="def"):
        launch(cuda.jit(lambda x: x), X)


def test_names_imported_from_numba_cuda_are_known():
    from numba.cuda import grid as where
    from numba.cuda import syncthreads

    @numba_cuda.jit
    def imported(x, y):
        t = numba_cuda.shared.array(128, float32)
        i = where(1)
        if i < x.size:
            t[i] = x[i]
        syncthreads()
        if i < x.size:
            y[i] = t[x.size - 1 - i]

    y = np.zeros_like(X)
    launch(imported, X, y)
    np.testing.assert_array_equal(y, X[::-1])


def test_module_and_dtype_names_resolve():
    module = types.SimpleNamespace()
    del module

    @cuda.jit
    def typed(y):
        a = cuda.shared.array((2, WIDTH), numba.float64)
        b = cuda.local.array(3, np.int16)
        a[0, 0] = math.pi
        b[0] = np.int16(3)
        y[0] = a[0, 0] * b[0]

    y = np.zeros(1)
    launch(typed, y, block=1)
    assert y[0] == 3 * math.pi


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba's own CUDA target has no default arguments"
)
def test_default_arguments_and_keywords_of_device_functions():
    @cuda.jit(device=True)
    def shifted(v, by=1, scale=2):
        return (v + by) * scale

    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = shifted(x[i]) + shifted(x[i], scale=3, by=0)

    y = np.zeros_like(X)
    launch(kernel, X, y)
    np.testing.assert_allclose(y, (X + 1) * 2 + X * 3)


def test_a_numba_device_function_is_called_from_a_course_kernel():
    @numba_cuda.jit(device=True)
    def square(v):
        return v * v

    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = square(x[i])

    y = np.zeros_like(X)
    launch(kernel, X, y)
    np.testing.assert_array_equal(y, X * X)


# ---- refused before it runs ----------------------------------------------------------------------------


def k_try(x):
    try:
        x[0] = 1
    except ValueError:
        pass


def k_list(x):
    a = [1, 2]
    x[0] = a[0]


def k_comprehension(x):
    x[0] = sum(v for v in (1, 2))


def k_lambda(x):
    f = lambda v: v  # noqa: E731
    x[0] = f(1)


def k_with(x):
    with x:
        pass


def k_assert(x):
    assert x.size > 0


def k_raise(x):
    raise ValueError


def k_fstring(x):
    a = f"{x}"


def k_walrus(x):
    if (n := x.size) > 0:
        x[0] = n


def k_dict(x):
    d = {}


def k_inner(x):
    def g():
        return 1

    x[0] = g()


def k_for_array(x):
    for v in x:
        x[0] = v


def k_else_of_loop(x):
    for i in range(3):
        x[i] = 1
    else:
        x[0] = 2


def k_in(x):
    if 3 in (1, 2):
        x[0] = 1


def k_star(*x):
    x[0][0] = 1


def k_plain_function(x):
    x[0] = line_of(1, 2)


def k_method(x):
    x[0] = x.sum()


def k_slice_store(x):
    x[1:3] = 0


def k_unknown_cuda(x):
    cuda.nanosleep(5)


def k_string(x):
    x[0] = "a"


REFUSED = [
    (k_try, "try/except", "try:"),
    (k_list, "a list", "a = [1, 2]"),
    (k_comprehension, "generator expression", "sum("),
    (k_lambda, "lambda", "lambda v"),
    (k_with, "with", "with x"),
    (k_assert, "assert", "assert x"),
    (k_raise, "raise", "raise Value"),
    (k_fstring, "f-string", 'a = f"'),
    (k_walrus, ":=", ":="),
    (k_dict, "dict", "d = {}"),
    (k_inner, "function inside", "def g"),
    (k_for_array, "range", "for v in x"),
    (k_else_of_loop, "else", "x[0] = 2"),
    (k_in, "in", "3 in"),
    (k_star, "args", "def k_star"),
    (k_plain_function, "device=True", "line_of(1"),
    (k_method, "sum", "x.sum"),
    (k_slice_store, "element by element", "x[1:3]"),
    (k_unknown_cuda, "nanosleep", "nanosleep"),
]


@pytest.mark.parametrize(("kernel", "construct", "text"), REFUSED, ids=[k.__name__ for k, _, _ in REFUSED])
def test_unsupported_python_is_refused_by_name_and_line(kernel, construct, text):
    x = X.copy()
    with pytest.raises(UnsupportedKernel, match="(?s).*" + construct.replace("*", r"\*")) as caught:
        launch(kernel, x)
    lines = [n for n, line in enumerate(open(__file__), 1) if text in line]  # noqa: SIM115, PTH123
    assert caught.value.line in lines
    np.testing.assert_array_equal(x, X)


def test_recursion_is_refused():
    @cuda.jit(device=True)
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @cuda.jit
    def kernel(x):
        x[0] = factorial(5)

    with pytest.raises(UnsupportedKernel, match="recursion"):
        launch(kernel, X.copy())


def t_bad_index(x):
    x[0.5] = 1


def t_too_many_indices(x):
    x[0, 0] = 1


def t_unknown_name(x):
    x[0] = nowhere


def t_string(x):
    x[0] = "a"


def t_array_sum(x):
    x[0] = x + x


def t_two_types(x):
    if x[0] > 0:
        v = 1
    else:
        v = (1, 2)
    x[0] = v


def t_shape_not_constant(x):
    n = int(x[0])
    t = cuda.shared.array(n, float32)
    x[0] = t[0]


def t_shape_arithmetic(x):
    t = cuda.shared.array((WIDTH, WIDTH + 1), float32)
    x[0] = t[0, 0]


def t_no_such_math(x):
    x[0] = math.nothing(x[0])


def t_np_sqrt(x):
    x[0] = np.sqrt(x[0])


def t_return_value(x):
    return x[0]


def t_atomic_type(x):
    t = cuda.shared.array(4, np.int16)
    cuda.atomic.add(t, 0, 1)
    x[0] = t[0]


def t_vote_of_bool(x):
    x[0] = cuda.syncthreads_count(x[0] > 0)


def t_before_assignment(x):
    x[0] = value
    value = 3


def t_before_assignment_in_a_loop(x):
    for k in range(3):
        if k > 0:
            x[k] = last  # numba refuses this too
        last = k


MISTYPED = [
    (t_before_assignment_in_a_loop, "before it is assigned"),
    (t_bad_index, "whole number"),
    (t_too_many_indices, "2 indices"),
    (t_unknown_name, "nowhere"),
    (t_string, "store"),
    (t_array_sum, "number"),
    (t_two_types, "(?s)variable v is .* on one way"),
    (t_shape_not_constant, "constant"),
    (t_shape_arithmetic, "outside the kernel"),
    (t_no_such_math, "math.nothing"),
    (t_np_sqrt, "math.sqrt"),
    (t_return_value, "cannot return"),
    (t_atomic_type, "atomic"),
    (t_vote_of_bool, r"syncthreads_count\(bool\)"),
    (t_before_assignment, "before it is assigned"),
]


@pytest.mark.parametrize(("kernel", "message"), MISTYPED, ids=[k.__name__ for k, _ in MISTYPED])
def test_wrong_types_are_refused_with_the_line(kernel, message):
    x = X.copy()
    with pytest.raises(KernelTypeError, match=message) as caught:
        launch(kernel, x)
    assert f"{kernel.__name__}, line " in str(caught.value)
    np.testing.assert_array_equal(x, X)


def test_arguments_that_no_kernel_takes_are_refused():
    def kernel(x):
        x[0] = 1

    for bad in ("text", [1, 2], None, {}):
        with pytest.raises(KernelTypeError, match="argument x"):
            launch(kernel, bad)
    with pytest.raises(KernelTypeError, match="elements of type"):
        launch(kernel, np.array(["a"]))
    with pytest.raises(ValueError, match="not contiguous"):
        launch(kernel, np.zeros((4, 4))[:, 1])
    with pytest.raises(TypeError, match=r"takes 1 argument\(s\)"):
        launch(kernel, X, X)


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
    monkeypatch.setattr("course.simulator.launch.LANES_PER_BATCH", 256)

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = 1

    seen = []
    launch(kernel, np.zeros(1280), grid=10, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (10, 10)
    assert len(seen) == 5


def test_past_its_budget_a_launch_samples_the_first_last_and_some_other_blocks(monkeypatch):
    monkeypatch.setattr("course.simulator.launch.LANES_PER_BATCH", 128)

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = 1

    x = np.zeros(128 * 2000)
    info = launch(kernel, x, grid=2000, budget=0.02)
    assert info.sampled
    assert 2 <= info.blocks < info.total_blocks == 2000
    assert x[0] == 1
    assert x[-1] == 1
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


# ---- the host side of course.cuda ---------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _simulate(monkeypatch):
    monkeypatch.setenv("COURSE_SIMULATE", "1")
    monkeypatch.setattr("course.backend._chosen", [])


def test_course_cuda_launches_copies_and_times(capsys):
    @cuda.jit("void(float32[:], float32[:], int32)")
    def kernel(x, y, n):
        i = cuda.grid(1)
        if i < n:
            y[i] = x[i] * 2

    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    x, y = cuda.to_device(X, stream), cuda.device_array_like(X)
    start.record()
    kernel[4, 32, stream](x, y, 100)
    end.record()
    cuda.synchronize()
    np.testing.assert_array_equal(y.copy_to_host(), X * 2)
    into = np.zeros_like(X)
    y.copy_to_host(into)
    np.testing.assert_array_equal(into, X * 2)
    assert cuda.event_elapsed_time(start, end) > 0
    assert cuda.is_available() is False
    kernel.forall(100)(x, y, 10)
    assert capsys.readouterr().out.count("simulator") == 1
    with pytest.raises(KernelTypeError, match="signature"):
        kernel[4, 32](X.astype(np.float64), y, 100)


def test_jit_takes_the_forms_people_use():
    def body(x):
        x[cuda.grid(1)] = 3

    kernels = [cuda.jit(body), cuda.jit()(body), cuda.jit("void(float32[:])")(body), cuda.jit((float32[:],))(body),
               cuda.jit(fastmath=True, max_registers=32)(body)]  # fmt: skip
    for kernel in kernels:
        x = np.zeros(8, np.float32)
        kernel[1, 8](x)
        assert (x == 3).all()
    with pytest.raises(TypeError, match="fast_math"):
        cuda.jit(fast_math=True)


def test_launching_the_wrong_way_says_how():
    @cuda.jit
    def kernel(x):
        x[0] = 1

    @cuda.jit(device=True)
    def helper(x):
        return x

    with pytest.raises(TypeError, match=r"kernel\[blocks, threads\]"):
        kernel(X)
    with pytest.raises(ValueError, match="blocks and threads"):
        kernel[4](X)
    with pytest.raises(TypeError, match="device function"):
        helper[1, 1](X)
    with pytest.raises(TypeError, match="device function"):
        helper(3)
    with pytest.raises(RuntimeError, match="inside a kernel"):
        cuda.grid(1)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = cuda.nonsense


def test_dynamic_shared_memory_comes_with_the_launch():
    @cuda.jit
    def kernel(x, y):
        t = cuda.shared.array(0, float32)
        i = cuda.threadIdx.x
        t[i] = x[i]
        cuda.syncthreads()
        y[i] = t[t.size - 1 - i]

    y = np.zeros(64, np.float32)
    kernel[1, 64, 0, 64 * 4](X[:64].copy(), y)
    np.testing.assert_array_equal(y, X[:64][::-1])


def test_a_faulty_launch_warns_with_line_and_remedy():
    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = 1

    with pytest.warns(cuda.KernelWarning, match=r"line \d+: Index 100 is out of bounds of x.*Guard"):
        kernel[4, 32](X.copy())


def test_device_arrays_slice_reshape_and_refuse_wrong_shapes():
    device = cuda.to_device(np.arange(12, dtype=np.int32))
    assert device.reshape(3, 4).T.shape == (4, 3)
    assert device[3] == 3
    device[2:4] = 9
    assert device.copy_to_host().tolist()[:5] == [0, 1, 9, 9, 4]
    with pytest.raises(ValueError, match="same shape and type"):
        device.copy_to_host(np.zeros(3, np.int32))
    assert len(device) == 12
    assert np.asarray(device).sum() == 66 - 5 + 18


def test_stores_that_need_no_merge_are_found():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        kept = 0
        if i < x.size:
            local = x[i]
            for k in range(3):
                inner = local * k
                kept += 1
                x[i] = inner
        x[0] = kept

    fresh = {node.id for node in fresh_stores(read_source(kernel).tree)}
    assert {"i", "local", "k", "inner"} <= fresh
