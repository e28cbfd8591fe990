"""Asynchronous copies: what lands when, what is counted, and what is found."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from numba import float32, float64, int8, int16, int32

from course import cuda
from course.simulator import KernelTypeError, LaunchError, MisalignedAddress, gpu_copies
from course.simulator.names import to_numba
from course.simulator.numba_types import type_kernel
from course.simulator.observers import CountAndCheck
from course.simulator.source import run

N = 256
NONE, COPY, COMMIT = 0, 1, 2
THREADS, STEPS = 64, 14


def launch(kernel: Any, grid: Any, block: Any, *arguments: Any) -> CountAndCheck:
    observer = CountAndCheck()
    run(kernel, grid, block, arguments, observer=observer)
    return observer


def kinds(observer: CountAndCheck) -> list[str]:
    return [finding.kind for finding in observer.hazards.findings]


def bytes_copied(dtype: Any, nbytes: int) -> Any:
    """A kernel in which each thread copies so many bytes to its place, and another one reads them."""
    elements = nbytes // np.dtype(str(dtype)).itemsize
    size = THREADS * elements

    @cuda.jit
    def copy(x, out):
        t = cuda.shared.array(size, dtype)
        i, first = cuda.threadIdx.x, elements * cuda.grid(1)
        if first < x.size:
            cuda.cp_async(t, elements * i, x, first, nbytes)
        cuda.cp_async_commit()
        cuda.cp_async_wait(0)
        cuda.syncthreads()
        if first < x.size:
            mirrored = cuda.blockDim.x - 1 - i
            for k in range(elements):
                if (first // elements // cuda.blockDim.x + 1) * cuda.blockDim.x * elements <= x.size:
                    out[first + k] = t[elements * mirrored + k]
                else:
                    out[first + k] = t[elements * i + k]

    return copy


@pytest.mark.parametrize(
    ("dtype", "nbytes"),
    [(float32, 4), (float32, 8), (float32, 16), (float64, 8), (float64, 16), (int8, 4), (int8, 16), (int16, 8)],
    ids=str,
)
def test_every_width_and_type_copies_what_numpy_says(dtype: Any, nbytes: int) -> None:
    elements = nbytes // np.dtype(str(dtype)).itemsize
    count = elements * (3 * THREADS - 20)  # the last block is not full
    x = np.random.default_rng(1).integers(0, 100, count).astype(str(dtype))
    out = np.zeros_like(x)
    seen = launch(bytes_copied(dtype, nbytes), 3, THREADS, x, out)
    whole = 2 * THREADS * elements
    expected = x.copy()
    expected[:whole] = x[:whole].reshape(2, THREADS, elements)[:, ::-1].ravel()
    np.testing.assert_array_equal(out, expected)
    assert kinds(seen) == []


@cuda.jit
def before_and_after(x, out):
    t = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    t[i] = -1
    cuda.cp_async(t, i, x, i, 4)
    out[0, i] = t[i]
    cuda.cp_async_commit()
    out[1, i] = t[i]
    cuda.cp_async_wait(0)
    out[2, i] = t[i]


def test_the_values_are_there_only_after_the_wait() -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros((3, 64), np.float32)
    launch(before_and_after, 1, 64, x, out)
    np.testing.assert_array_equal(out, [np.full(64, -1), np.full(64, -1), x])
    plain = np.zeros((3, 64), np.float32)
    run(before_and_after, 1, 64, (x, plain))
    np.testing.assert_array_equal(plain, out)  # also without anybody who counts


@cuda.jit
def program(ops, x, out):
    """Every thread follows its own list of operations; its copy number s goes to row s."""
    t = cuda.shared.array((STEPS, THREADS), float32)
    i = cuda.threadIdx.x
    for s in range(STEPS):
        t[s, i] = 0
    for s in range(STEPS):
        op = ops[cuda.blockIdx.x, s, i]
        if op == COPY:
            cuda.cp_async(t, (s, i), x, (s, i), 4)
        elif op == COMMIT:
            cuda.cp_async_commit()
        elif op == 3:
            cuda.cp_async_wait(0)
        elif op == 4:
            cuda.cp_async_wait(1)
        elif op == 5:
            cuda.cp_async_wait(2)
    for s in range(STEPS):
        out[cuda.blockIdx.x, s, i] = t[s, i]


def one_thread(ops: list[int]) -> tuple[set[int], set[int]]:
    """What the PTX ISA says of one thread: the steps whose copies have landed, and those still on their way."""
    open_group: list[int] = []
    groups: list[list[int]] = []
    landed: set[int] = set()
    for step, op in enumerate(ops):
        if op == COPY:
            open_group.append(step)
        elif op == COMMIT:
            groups.append(open_group)
            open_group = []
        elif op >= 3:
            done = groups[: max(0, len(groups) - (op - 3))]
            groups = groups[len(done) :]
            landed |= {step for group in done for step in group}
    return landed, {step for group in groups for step in group} | set(open_group)


@pytest.mark.parametrize("divergent", [False, True], ids=["together", "apart"])
@pytest.mark.parametrize("batch", [1 << 18, THREADS])
def test_groups_are_those_of_each_thread(divergent: bool, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course.simulator.batches.LANES_PER_BATCH", batch)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        blocks = 3
        ops = rng.choice([NONE, COPY, COPY, COMMIT, COMMIT, 3, 4, 5], (blocks, STEPS, THREADS if divergent else 1))
        ops = np.broadcast_to(ops, (blocks, STEPS, THREADS)).copy()
        x, out = rng.random((STEPS, THREADS), dtype=np.float32) + 1, np.zeros((blocks, STEPS, THREADS), np.float32)
        seen = launch(program, blocks, THREADS, ops, x, out)
        too_early = 0
        for block in range(blocks):
            for thread in range(THREADS):
                landed, pending = one_thread(ops[block, :, thread].tolist())
                expected = [x[s, thread] if s in landed else 0 for s in range(STEPS)]
                np.testing.assert_array_equal(out[block, :, thread], expected)
                too_early += len(pending)
        line = program.py_func.__code__.co_firstlineno + 20
        findings = [f for f in seen.hazards.findings if f.line == line]
        assert {f.kind for f in findings} <= {"async-not-waited", "async-wrong-group", "async-not-committed"}
        assert sum(f.count for f in findings) == too_early


T = 16


@cuda.jit
def with_copies(a, out):
    t = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * T + y, cuda.blockIdx.x * T + x
    if row < a.shape[0] and column < a.shape[1]:
        cuda.cp_async(t, (x, y), a, (row, column), 4)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * T + y, cuda.blockIdx.y * T + x
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = t[y, x]


@cuda.jit
def with_loads(a, out):
    t = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * T + y, cuda.blockIdx.x * T + x
    if row < a.shape[0] and column < a.shape[1]:
        t[x, y] = a[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * T + y, cuda.blockIdx.y * T + x
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = t[y, x]


def test_a_copy_counts_as_the_load_and_the_store_that_it_replaces() -> None:
    a = np.random.default_rng(0).random((45, 70), dtype=np.float32)
    seen = {}
    for kernel in (with_copies, with_loads):
        out = np.zeros((70, 45), np.float32)
        seen[kernel] = launch(kernel, (5, 3), (T, T), a, out).counters
        np.testing.assert_array_equal(out, a.T)
    numbers = ("instructions", "sectors", "lines", "wavefronts", "ideal_wavefronts", "requested_bytes")
    for space in ("global", "shared"):
        for way in ("load", "store"):
            for number in numbers:
                copies, loads = (seen[kernel].total(space, way, number) for kernel in (with_copies, with_loads))
                assert copies == loads, (space, way, number)
    assert seen[with_copies].dram == seen[with_loads].dram
    assert seen[with_copies].total("shared", "store", "wavefronts") > seen[with_copies].total(
        "shared", "store", "ideal_wavefronts"
    )


@cuda.jit
def wide_rows(a, out):
    t = cuda.shared.array((8, 128), float32)
    i = cuda.threadIdx.x
    for row in range(8):
        cuda.cp_async(t, (row, 4 * i), a, (row, 4 * i), 16)
    cuda.cp_async_commit()
    cuda.cp_async_wait(0)
    for row in range(8):
        for k in range(4):
            out[row, 4 * i + k] = t[row, 4 * i + k]


def test_sixteen_bytes_a_lane_are_one_request_of_sixteen_sectors() -> None:
    a, out = np.random.default_rng(0).random((8, 128), dtype=np.float32), np.zeros((8, 128), np.float32)
    seen = launch(wide_rows, 1, 32, a, out)
    np.testing.assert_array_equal(out, a)
    assert kinds(seen) == []
    loads = (seen.counters.total("global", "load", number) for number in ("instructions", "sectors"))
    assert tuple(loads) == (8, 8 * 16)
    assert seen.counters.total("shared", "store", "wavefronts") == 8 * 4


@cuda.jit
def double_buffered(x, out):
    t = cuda.shared.array((2, 32), float32)
    i = cuda.threadIdx.x
    tiles = x.size // 32
    cuda.cp_async(t, (0, i), x, i, 4)
    cuda.cp_async_commit()
    total = float32(0)
    for k in range(tiles):
        cuda.cp_async_wait(0)
        cuda.syncthreads()
        if k + 1 < tiles:
            cuda.cp_async(t, ((k + 1) % 2, i), x, 32 * (k + 1) + i, 4)
        cuda.cp_async_commit()
        total += t[k % 2, 31 - i]
    out[i] = total


@cuda.jit
def waited_at_once(x, out):
    t = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    total = float32(0)
    for k in range(x.size // 32):
        cuda.cp_async(t, i, x, 32 * k + i, 4)
        cuda.cp_async_commit()
        cuda.cp_async_wait(0)
        cuda.syncthreads()
        total += t[31 - i]
        cuda.syncthreads()
    out[i] = total


def test_copies_that_land_while_the_block_computes_are_told_from_those_that_do_not() -> None:
    x = np.arange(N, dtype=np.float32)
    for kernel, overlapped in ((double_buffered, N // 32 - 1), (waited_at_once, 0)):
        out = np.zeros(32, np.float32)
        seen = launch(kernel, 1, 32, x, out)
        np.testing.assert_array_equal(out, x.reshape(-1, 32).sum(axis=0)[::-1])
        assert kinds(seen) == []
        counts = seen.counters.copy_counts
        assert (counts.landed, counts.overlapped, counts.waits) == (N // 32, overlapped, N // 32)
        assert counts.commits == N // 32 + (kernel is double_buffered)


@cuda.jit
def edges(a, out):
    """Blocks that behave differently: the words on their way differ from block to block."""
    t = cuda.shared.array((2, T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * T + x
    tiles = (a.shape[0] + T - 1) // T
    for k in range(tiles + 1):
        if k < tiles:
            if k * T + y < a.shape[0] and column < a.shape[1]:
                cuda.cp_async(t, (k % 2, y, x), a, (k * T + y, column), 4)
            else:
                t[k % 2, y, x] = 0
        cuda.cp_async_commit()
        if k > 0:
            cuda.cp_async_wait(1)
            cuda.syncthreads()
            if (k - 1) * T + y < a.shape[0] and column < a.shape[1]:
                out[(k - 1) * T + y, column] = t[(k - 1) % 2, y, x] + t[(k - 1) % 2, 0, 0]
            cuda.syncthreads()


@pytest.mark.parametrize("batch", [1 << 18, 256])
def test_blocks_at_the_edge_copy_less(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course.simulator.batches.LANES_PER_BATCH", batch)
    a, out = np.random.default_rng(0).random((37, 100), dtype=np.float32), np.zeros((37, 100), np.float32)
    seen = launch(edges, 7, (T, T), a, out)
    corners = np.repeat(np.repeat(a[::T, ::T], T, axis=0), T, axis=1)[:37, :100]
    np.testing.assert_array_equal(out, a + corners)
    assert kinds(seen) == []


# ---- what is refused -------------------------------------------------------------------------------------


def refused(width: int = 4, into: Any = float32, way: str = "in") -> Any:
    @cuda.jit
    def normal(x, n):
        t = cuda.shared.array(64, into)
        cuda.cp_async(t, cuda.threadIdx.x, x, cuda.threadIdx.x, width)

    @cuda.jit
    def backwards(x, n):
        t = cuda.shared.array(64, into)
        cuda.cp_async(x, cuda.threadIdx.x, t, cuda.threadIdx.x, width)

    @cuda.jit
    def two_indices(x, n):
        t = cuda.shared.array(64, into)
        cuda.cp_async(t, (cuda.threadIdx.x, 0), x, cuda.threadIdx.x, width)

    @cuda.jit
    def unknown_width(x, n):
        t = cuda.shared.array(64, into)
        cuda.cp_async(t, cuda.threadIdx.x, x, cuda.threadIdx.x, n)

    @cuda.jit
    def unknown_wait(x, n):
        t = cuda.shared.array(64, into)
        cuda.cp_async(t, cuda.threadIdx.x, x, cuda.threadIdx.x, width)
        cuda.cp_async_wait(n)

    @cuda.jit
    def negative_wait(x, n):
        t = cuda.shared.array(64, into)
        cuda.cp_async(t, cuda.threadIdx.x, x, cuda.threadIdx.x, width)
        cuda.cp_async_wait(-1)

    return {
        "in": normal, "back": backwards, "two": two_indices, "width": unknown_width, "wait": unknown_wait,
        "negative": negative_wait,
    }[way]  # fmt: skip


@pytest.mark.parametrize("width", [1, 2, 12, 32])
def test_a_width_that_no_card_has_is_refused(width: int) -> None:
    with pytest.raises(KernelTypeError, match=rf"copies 4, 8 or 16 bytes, not {width}"):
        run(refused(width, int8), 1, 32, (np.zeros(1024, np.int8), 4))


@pytest.mark.parametrize(
    ("kernel", "dtype", "says"),
    [
        (refused(4, float64), np.float64, "no whole number of elements of 8 bytes"),
        (refused(4, int32), np.float32, "cannot change float32 to int32"),
        (refused(way="back"), np.float32, "to shared memory, not to global memory"),
        (refused(way="two"), np.float32, r"2 indices for an array of 1 dimension"),
        (refused(way="width"), np.float32, "the number of bytes must be a constant"),
        (refused(way="wait"), np.float32, "the number of groups must be a constant"),
        (refused(way="negative"), np.float32, "0 or more groups"),
    ],
    ids=["half an element", "other type", "backwards", "indices", "width", "groups", "negative"],
)
def test_what_cannot_be_compiled_is_refused_before_a_thread_runs(kernel: Any, dtype: Any, says: str) -> None:
    with pytest.raises(KernelTypeError, match=says):
        run(kernel, 1, 32, (np.zeros(1024, dtype), 4))


def shifted(from_: int, to: int, step: int) -> Any:
    @cuda.jit
    def kernel(x, out):
        t = cuda.shared.array(256, float32)
        i = cuda.threadIdx.x
        cuda.cp_async(t, step * i + to, x, step * i + from_, 16)

    return kernel


@pytest.mark.parametrize(("from_", "to", "array"), [(1, 0, "x"), (0, 2, "t"), (2, 1, "x")])
def test_an_address_that_is_no_multiple_of_the_width_stops_the_kernel(from_: int, to: int, array: str) -> None:
    observer = CountAndCheck()
    x = np.zeros(256, np.float32)
    with pytest.raises(MisalignedAddress, match=f"of {array} needs an address that is a multiple of 16"):
        run(shifted(from_, to, 4), 1, 32, (x, x.copy()), observer=observer)
    (finding,) = observer.hazards.findings
    assert (finding.kind, finding.array, finding.count) == ("misaligned", array, 32)


def test_a_start_at_every_fourth_float_is_aligned() -> None:
    x = np.zeros(256, np.float32)
    seen = launch(shifted(4, 8, 4), 1, 32, x, x.copy())
    assert kinds(seen) == ["async-not-committed"]


@pytest.mark.parametrize(("size", "reaches"), [(128, 32), (126, 31)])
def test_a_copy_that_leaves_the_array_is_out_of_bounds(size: int, reaches: int) -> None:
    seen = launch(shifted(0, 0, 4), 1, 32, np.zeros(size, np.float32), np.zeros(1, np.float32))
    found = {finding.kind: finding.count for finding in seen.hazards.findings}
    assert found.get("out-of-bounds", 0) == 32 - reaches
    assert found["async-not-committed"] == reaches


def test_elements_that_are_no_neighbours_cannot_be_copied_together() -> None:
    @cuda.jit
    def kernel(x, out):
        t = cuda.shared.array((8, 8), float32)
        cuda.cp_async(t, (0, 0), x, (0, 0), 8)

    with pytest.raises(LaunchError, match="must be neighbours"):
        run(kernel, 1, 32, (np.zeros((8, 8), np.float32, order="F"), np.zeros(1, np.float32)))


# ---- on a GPU ---------------------------------------------------------------------------------------------


def three_widths() -> Any:
    @cuda.jit
    def kernel(x, out):
        t = cuda.shared.array((4, 256), float32)
        i = cuda.threadIdx.x
        cuda.cp_async(t, (0, i), x, (0, i), 4)
        cuda.cp_async(t, (1, 2 * i), x, (1, 2 * i), 8)
        cuda.cp_async(t, (2, 4 * i), x, (2, 4 * i), 16)
        cuda.cp_async_commit()
        cuda.cp_async_wait(3)
        out[i] = t[0, i]

    return kernel


def llvm(kernel: Any) -> str:
    """What numba makes of a kernel before NVIDIA's compiler takes over."""
    from numba.core import types as numba_types
    from numba.cuda.compiler import compile_cuda

    kinds = (numba_types.Array(float32, 2, "C"), numba_types.Array(float32, 1, "C"))
    result = compile_cuda(to_numba(kernel.py_func), numba_types.void, kinds, cc=(8, 0))
    return str(result.library.get_llvm_str())


def test_the_compiled_kernel_holds_the_cards_own_instructions() -> None:
    text = llvm(three_widths())
    for instruction in (
        "cp.async.ca.shared.global [$0], [$1], 4;",
        "cp.async.ca.shared.global [$0], [$1], 8;",
        "cp.async.cg.shared.global [$0], [$1], 16;",
        "cp.async.commit_group;",
        "cp.async.wait_group 3;",
    ):
        assert text.count(instruction) == 1


def test_a_card_without_the_instruction_copies_through_registers_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from numba import cuda as numba_cuda

    old = types.SimpleNamespace(compute_capability=(7, 5))
    monkeypatch.setattr(numba_cuda, "is_available", lambda: True)
    monkeypatch.setattr(numba_cuda, "get_current_device", lambda: old)
    monkeypatch.setattr(gpu_copies, "_said", [])
    text = llvm(three_widths())
    assert "cp.async" not in text
    assert text.count("align 16") >= 2
    assert capsys.readouterr().out.count("compute capability 7.5, and cp.async begins with 8.0") == 1


def test_numba_types_the_kernels() -> None:
    from course.simulator.source.programs import prepare

    x = np.zeros((4, 1024), np.float32)
    compiled, _ = prepare(three_widths(), [x, np.zeros(256, np.float32)])
    assert "i" in type_kernel(three_widths().py_func, compiled.arguments)
