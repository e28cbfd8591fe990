"""Registers of a kernel: who is asked, in which order, and that nobody makes a number up."""

from __future__ import annotations

import json
import re
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda as numba_cuda

from course import backend, cuda, measured
from course.kernels import cp_async, occupancy
from course.languages import tools
from course.languages.tools import NoCompilerError
from course.profiling import compiled
from course.profiling.compiled import NoRegistersError, Registers, fingerprint, registers
from course.simulator import UnsupportedKernel
from tests.support.replay_kernels import replays

FLOATS = np.zeros(64, np.float32)
SQUARE = np.zeros((64, 64), np.float32)
EXAMPLES = occupancy.examples() | cp_async.examples()
TABLE = json.loads((Path(measured.__file__).parent / compiled.RECORDED).read_text(encoding="utf-8"))
NUMBERS = ("registers", "local_bytes", "shared_bytes")
INCOMPLETE = "NVIDIA's compiler is not complete here"


@cuda.jit
def doubled(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    """Neither a GPU nor a compiler, unless a test brings one."""
    monkeypatch.setattr(backend, "_chosen", [backend.Simulator("a test")])
    monkeypatch.setattr(tools, "_found", lambda: ("", "NVIDIA's compiler is not installed"))


# The table -------------------------------------------------------------------------------------------


def test_the_table_holds_the_kernels_of_the_course_as_they_are_now():
    """Change a kernel, and its registers must be asked for again: tools/record_registers.py."""
    assert {name: fingerprint(kernel, args) for name, (kernel, args) in EXAMPLES.items()} == {
        row["launch"]: row["fingerprint"] for row in TABLE["kernels"]
    }
    assert len({row["fingerprint"] for row in TABLE["kernels"]}) == len(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_kernel_of_the_course_is_known_without_a_gpu(name):
    kernel, args = EXAMPLES[name]
    (row,) = [row for row in TABLE["kernels"] if row["launch"] == name]
    found = registers(kernel, *args)
    assert (found.count, found.local_bytes, found.shared_bytes) == (
        row["registers"], row["local_bytes"], row["shared_bytes"],
    )  # fmt: skip
    assert 8 <= found.count <= 255
    assert found.source == f"recorded: {TABLE['said_by']}, {TABLE['measured_on']['date']}"


def test_more_loads_and_more_results_in_a_thread_need_more_registers():
    def count(kernel, *args):
        return registers(kernel, *args).count

    copies = [count(occupancy.copy_rows(n), np.zeros((n, 64), np.float32), np.zeros((n, 64), np.float32))
              for n in occupancy.WIDTHS]  # fmt: skip
    products = [count(occupancy.product(side), SQUARE, SQUARE, SQUARE) for side in occupancy.SIDES]
    assert copies == sorted(copies) and copies[-1] > 2 * copies[0]
    assert products == sorted(products) and products[2] > products[1] > products[0]


def test_a_bound_is_kept_and_paid_with_local_memory():
    free, bound = (
        registers(occupancy.product(4, **o), SQUARE, SQUARE, SQUARE) for o in ({}, {"launch_bounds": (256, 8)})
    )
    assert free.local_bytes == 0 and bound.local_bytes > 0
    assert bound.count <= 32 < free.count


def test_a_device_array_is_as_good_as_one_of_the_host():
    on_device = cuda.to_device(FLOATS)
    assert registers(occupancy.unstaged, on_device, on_device) == registers(occupancy.unstaged, FLOATS, FLOATS)


def test_an_unknown_kernel_is_refused_with_what_to_do():
    with pytest.raises(NoRegistersError, match=r"doubled .* capability 9\.0 .*not installed.*GPU.*\[compiler\]"):
        registers(doubled, FLOATS, FLOATS)
    with pytest.raises(NoRegistersError, match=r"capability 8\.0"):
        registers(occupancy.unstaged, FLOATS, FLOATS, cc=(8, 0))
    with pytest.raises(NoRegistersError):
        registers(occupancy.unstaged, FLOATS.astype(np.float64), FLOATS)
    with pytest.raises(NoRegistersError):
        registers(occupancy.product(3), SQUARE, SQUARE, SQUARE)


# The fingerprint -------------------------------------------------------------------------------------


def family(step, **options):
    @cuda.jit(**options)
    def kernel(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + step

    return kernel


def same_family(step):
    @cuda.jit
    def kernel(x: object, out: object) -> None:
        """Say what it does."""
        i = cuda.grid(1)  # the number of the thread
        if i < out.size:
            out[i] = x[i] + step

    return kernel


FINGERPRINT = fingerprint(family(1), (FLOATS, FLOATS))


def test_comments_annotations_and_docstrings_do_not_change_the_fingerprint():
    assert fingerprint(same_family(1), (FLOATS, FLOATS)) == FINGERPRINT
    assert fingerprint(family(1, lineinfo=True), (FLOATS, FLOATS)) == FINGERPRINT
    assert fingerprint(numba_cuda.jit(family(1).py_func), (FLOATS, FLOATS)) == FINGERPRINT


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (family(2), (FLOATS, FLOATS)),
        (family(1, launch_bounds=(256, 2)), (FLOATS, FLOATS)),
        (family(1, max_registers=32), (FLOATS, FLOATS)),
        (family(1, fastmath=True), (FLOATS, FLOATS)),
        (family(1), (FLOATS.astype(np.float64), FLOATS)),
        (family(1), (np.asfortranarray(SQUARE), FLOATS)),
        (doubled, (FLOATS, FLOATS)),
    ],
)
def test_constants_options_types_and_text_change_it(kernel, args):
    assert fingerprint(kernel, args) != FINGERPRINT


def test_the_order_in_memory_changes_it():
    rows, columns = (fingerprint(family(1), (np.array(SQUARE, order=order), FLOATS)) for order in "CF")
    assert rows != columns


@cuda.jit(device=True)
def twice(v):
    return 2 * v


@cuda.jit(device=True)
def thrice(v):
    return 3 * v


def calls(helper):
    @cuda.jit
    def kernel(x, out):
        out[0] = helper(x[0])

    return kernel


def test_the_text_of_a_device_function_belongs_to_it():
    assert fingerprint(calls(twice), (FLOATS, FLOATS)) != fingerprint(calls(thrice), (FLOATS, FLOATS))


def test_a_global_with_the_name_of_a_variable_does_not(monkeypatch):
    monkeypatch.setitem(occupancy.copy_rows(1).py_func.__globals__, "values", 7)
    monkeypatch.setitem(occupancy.copy_rows(1).py_func.__globals__, "i", 7)
    rows = np.zeros((1, 64), np.float32)
    assert registers(occupancy.copy_rows(1), rows, rows).count > 0


# A GPU -----------------------------------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that says 21 registers, and notes the types that it was asked for."""
    asked = []

    def compile_(types):
        asked.append(types)
        return SimpleNamespace(regs_per_thread=21, local_mem_per_thread=8, shared_mem_per_block=1024)

    device = SimpleNamespace(name=b"Test Card", compute_capability=(8, 6), MULTIPROCESSOR_COUNT=3)
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(numba_cuda, "get_current_device", lambda: device)
    monkeypatch.setattr(cuda.Kernel, "numba_dispatcher", lambda self: SimpleNamespace(compile=compile_))
    return asked


def test_the_driver_of_a_gpu_is_asked_first(gpu):
    found = registers(occupancy.unstaged, FLOATS, FLOATS)
    assert found == Registers("unstaged", 21, 8, 1024, "the driver of Test Card")
    assert [kind.dtype.name for kind in gpu[0]] == ["float32", "float32"]
    assert registers(doubled, FLOATS, FLOATS, cc=(8, 6)).count == 21
    assert compiled.multiprocessors() == 3


def test_another_compute_capability_is_not_for_this_driver(gpu):
    assert registers(occupancy.unstaged, FLOATS, FLOATS, cc=(9, 0)).source.startswith("recorded")
    assert not gpu


def test_numbas_own_kernel_is_asked_itself_because_it_has_options(gpu):
    said = SimpleNamespace(regs_per_thread=16, local_mem_per_thread=0, shared_mem_per_block=0)
    kernel = SimpleNamespace(py_func=doubled.py_func, targetoptions={"max_registers": 16}, compile=lambda types: said)
    assert registers(kernel, FLOATS, FLOATS).count == 16
    assert not gpu


def test_without_a_gpu_the_sms_are_those_of_the_h200():
    assert compiled.multiprocessors() == 132


# NVIDIA's compiler -----------------------------------------------------------------------------------

SAID = """ptxas info    : 8 bytes gmem
ptxas info    : Compiling entry function '_ZN7doubled' for 'sm_90'
ptxas info    : Function properties for _ZN7doubled
    96 bytes stack frame, 132 bytes spill stores, 140 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 96 bytes cumulative stack size, 8192 bytes smem
ptxas info    : Compile time = 5.642 ms
"""


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    """A ptxas that says what the real one said of a kernel; `calls` holds its arguments, `options` those of numba."""
    tool, log = tmp_path / "ptxas", tmp_path / "log"
    tool.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "if '--version' in sys.argv:\n    print('Cuda compilation tools, release 13.0, V13.0.88')\n    sys.exit()\n"
        f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"
        "if '-arch=sm_99' in sys.argv:\n    print('ptxas fatal: unknown sm_99', file=sys.stderr)\n    sys.exit(1)\n"
        f"sys.stderr.write({SAID!r})\n"
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    options = {}

    def compile_ptx(function, types, cc, **given):
        options.update(given, cc=cc)
        if cc == (7, 0):
            raise RuntimeError("compute capability 7.0 is not supported\nmore")
        return "// PTX", None

    monkeypatch.setattr(tools, "_found", lambda: (str(tool), ""))
    monkeypatch.setattr(numba_cuda, "compile_ptx", compile_ptx)
    return SimpleNamespace(calls=lambda: log.read_text().splitlines(), options=options)


@pytest.mark.skipif(sys.platform == "win32", reason="the test's ptxas is a script")
class TestCompiler:
    def test_it_is_asked_where_there_is_no_gpu(self, compiler):
        found = registers(doubled, FLOATS, FLOATS)
        assert found == Registers("doubled", 32, 96, 8192, "ptxas 13.0.88 for compute capability 9.0")
        assert compiler.calls() == ["-v -arch=sm_90 kernel.ptx -o kernel.cubin"]

    def test_it_goes_before_the_table(self, compiler):
        assert registers(occupancy.unstaged, FLOATS, FLOATS).source.startswith("ptxas")

    def test_options_of_the_kernel_reach_it(self, compiler):
        registers(family(1, launch_bounds=(256, 4), max_registers=40), FLOATS, FLOATS, cc=(8, 0))
        assert compiler.options == {"launch_bounds": (256, 4), "cc": (8, 0)}
        assert compiler.calls()[0].startswith("-v -arch=sm_80 --maxrregcount=40 ")

    @pytest.mark.parametrize(
        ("cc", "why"), [((9, 9), "refused: ptxas fatal: unknown sm_99"), ((7, 0), "7.0 is not supp")]
    )
    def test_what_it_cannot_compile_is_said(self, compiler, cc, why):
        with pytest.raises(NoRegistersError, match=re.escape(why)):
            registers(occupancy.unstaged, FLOATS, FLOATS, cc=cc)

    def test_an_error_in_the_kernel_is_that_of_a_launch(self, compiler):
        @cuda.jit
        def wrong(x, out):
            out[0] = x.nothing

        with pytest.raises(UnsupportedKernel, match="nothing"):
            registers(wrong, FLOATS, FLOATS)
        assert not compiler.options


def test_registers_show_everything_and_who_said_so():
    text = str(Registers("k", 32, 96, 8192, "ptxas 13.0.88"))
    assert text == "k: 32 registers and 96 B of local memory a thread, 8192 B of shared memory a block (ptxas 13.0.88)"
    assert repr(Registers("k", 1, 0, 0, "x")) == str(Registers("k", 1, 0, 0, "x"))


# The real compiler, where somebody has installed it -----------------------------------------------------


@pytest.fixture
def real(monkeypatch):
    monkeypatch.undo()  # the fixture that took the compiler away
    monkeypatch.setattr(backend, "_chosen", [backend.Simulator("a test")])
    try:
        return tools.assembler()
    except NoCompilerError:
        pytest.skip(INCOMPLETE)


def test_the_real_compiler_gives_each_kernel_the_registers_that_an_h200_counted(real):
    """Nsight Compute shows 16 for every kernel with fewer."""
    counted, seen, differ = measured.counters(), {}, []
    for launch in replays(lambda array: array):
        if launch.name not in counted:
            continue
        key = launch.kernel, tuple(getattr(arg, "dtype", type(arg)) for arg in launch.args)
        if key not in seen:
            seen[key] = registers(launch.kernel, *launch.args, cc=(9, 0)).count
        if max(16, seen[key]) != counted[launch.name]["registers_per_thread"]:
            differ.append((launch.name, seen[key], counted[launch.name]["registers_per_thread"]))
    assert len(seen) > 25
    assert differ == []


def test_the_real_compiler_says_what_the_table_says(real):
    """The driver of an H200 said it (or an earlier compiler): the same registers, local and shared memory."""
    differ = []
    for row in TABLE["kernels"]:
        kernel, args = EXAMPLES[row["launch"]]
        found = registers(kernel, *args, cc=(9, 0))
        assert found.source.startswith("ptxas")
        if (found.count, found.local_bytes, found.shared_bytes) != tuple(row[key] for key in NUMBERS):
            differ.append((row, found))
    assert differ == []
