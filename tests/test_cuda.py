"""The host side of course.cuda: launches, copies, arrays, and warnings in words."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float32

from course import cuda
from course.simulator import KernelTypeError

X = np.arange(100, dtype=np.float32)


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
