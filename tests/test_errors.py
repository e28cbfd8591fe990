"""What a person sees when something is wrong: the sentence and the line, in a notebook and in Python."""

from __future__ import annotations

import copy
import linecache
import math
import pickle

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from numba import float32, int32

from course import check, cuda, profile
from course.errors import ArgumentTypeError, ArgumentValueError, CourseError, OutsideKernelError, SimulatorFault
from course.profiling.compiled import NoRegistersError
from course.profiling.ncu import NoCountersError
from course.simulator.errors import KernelTypeError, LaunchConfigurationError, LaunchError, StepLimit, UnsupportedKernel
from course.simulator.source import run
from tests.simulator.runs import launch, line_of

X = np.arange(100, dtype=np.float32)

SETUP = """from course import cuda, profile, check
import numpy as np
x = np.zeros(64, np.float32)

@cuda.jit
def scale(x):
    i = cuda.gird(1)
    x[i] = 2 * x[i]

@cuda.jit
def endless(x):
    i = cuda.grid(1)
    while i < x.size:
        x[i] = 1

@cuda.jit
def untyped(x):
    i = cuda.grid(1)
    cuda.atomic.cas(x, 0, 1, 2)
"""
CELLS = {
    "profile(scale, 1, 64, x)": (
        "scale, line 7: cuda has no gird. Did you mean `cuda.grid`?", "    7 |     i = cuda.gird(1)",
    ),
    "n = 0\nprofile(endless, 1, n, x)": (
        "block.x is 0: expected 1 or more (CUDA_ERROR_INVALID_VALUE). Round the number of blocks up: "
        "(n + threads - 1) // threads.", "    2 | profile(endless, 1, n, x)",
    ),
    "endless[1, 64](x, x)": ("endless takes 1 argument(s) (x), got 2.", "    1 | endless[1, 64](x, x)"),
    "profile(endless, 1, 64, x, max_steps=100)": (
        "endless, line 13: the loops of this kernel ran 100 iterations without an end. Check the condition of the loop "
        "at this line: does every thread reach its end? If it must run this long, try a smaller input.",
        "   13 |     while i < x.size:",
    ),
    "profile(untyped, 1, 64, x)": (
        "untyped, line 19: numba cannot compile this for the given arguments. It has no cas(array(float32, 1d, C), "
        "0, 1, 2)", "   19 |     cuda.atomic.cas(x, 0, 1, 2)",
    ),
    "cuda.grid(1)": (
        "cuda.grid works inside a kernel only: call it in a function decorated with @cuda.jit.",
        "    1 | cuda.grid(1)",
    ),
    "check('coalescing/sektors', 1)": (
        "no check is called 'coalescing/sektors': did you mean 'coalescing/sectors'?",
        "    1 | check('coalescing/sektors', 1)",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def shown():
    """What an executed notebook shows below each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in (SETUP, *CELLS)])
    NotebookClient(notebook, allow_errors=True, timeout=120, kernel_name="python3").execute()
    return {cell.source: cell.outputs for cell in notebook.cells}


@pytest.mark.parametrize("cell", CELLS)
def test_a_notebook_shows_the_sentence_and_the_line_and_no_frame(shown, cell):
    error = shown[cell][-1]
    assert error.output_type == "error"
    sentence, line = CELLS[cell]
    assert "\n".join(error.traceback) == f"{sentence}\n\n{line}"


def test_all_errors_of_the_course_have_one_base():
    own = (ArgumentTypeError, ArgumentValueError, OutsideKernelError, SimulatorFault, KernelTypeError, LaunchError,
           LaunchConfigurationError, StepLimit, UnsupportedKernel, NoRegistersError, NoCountersError)  # fmt: skip
    assert all(issubclass(kind, CourseError) for kind in own)
    assert issubclass(LaunchConfigurationError, ValueError) and issubclass(KernelTypeError, TypeError)


def test_an_error_survives_a_copy_and_the_way_to_another_process():
    error = UnsupportedKernel("no.", line=3, kernel="k", filename="f.py")
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(twin), twin.line, twin.kernel, twin.filename) == ("k, line 3: no.", 3, "k", "f.py")


def test_a_line_that_cannot_be_found_is_left_out():
    assert CourseError("wrong.", line=99, filename="nowhere.py")._render_traceback_() == ["line 99: wrong."]


def test_a_fault_of_the_simulator_is_told_with_its_line_and_never_as_a_bare_exception(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("deep inside")

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = i

    monkeypatch.setattr("course.simulator.source.compiler.arrays.scatter", broken)
    with pytest.raises(SimulatorFault, match=r"kernel, line \d+: the simulator cannot run this line") as caught:
        launch(kernel, X.copy(), block=32)
    assert caught.value.line == line_of(kernel, "x[i] = i")
    monkeypatch.setattr("course.simulator.source.compiler.stores.Stores._store_element", broken)
    with pytest.raises(SimulatorFault, match=f"kernel, line {line_of(kernel, 'x[i] = i')}: .*deep inside"):
        launch(kernel, X.astype(np.float64), block=32)


def test_what_a_progress_function_raises_stays_what_it_is():
    class StoppedError(Exception):
        pass

    def stop(done, total):
        raise StoppedError

    @cuda.jit
    def loop(x):
        for i in range(100):
            x[i] = i

    with pytest.raises(StoppedError):
        run(loop, 1, 1, (X.copy(),), progress=stop)


@cuda.jit
def one(x):
    x[0] = 1


@cuda.jit(device=True)
def inner(x):
    return x


@cuda.jit("void(flaot32[:])")
def misspelt_signature(x):
    x[0] = 1


@cuda.jit("void(float32[:], int32)")
def longer_signature(x):
    x[0] = 1


def generator(x):
    yield x


def starred(*x):
    pass


READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False
ODD_LAUNCHES = {
    "no threads": lambda: one[1],
    "five sizes": lambda: one[1, 2, 3, 4, 5],
    "four axes": lambda: one[(1, 1, 1, 1), 1](X.copy()),
    "no axis": lambda: one[(), 1](X.copy()),
    "text as a size": lambda: one["1", 1](X.copy()),
    "too many blocks": lambda: one[2**40, 1](X.copy()),
    "text as shared bytes": lambda: one[1, 1, None, "a"](X.copy()),
    "half a byte": lambda: profile(one, 1, 1, X.copy(), shared_bytes=1.5),
    "text as seconds": lambda: profile(one, 1, 1, X.copy(), seconds="a"),
    "text as steps": lambda: profile(one, 1, 1, X.copy(), max_steps="a"),
    "a strange warp": lambda: profile(one, 1, 1, X.copy(), warp_lanes=7),
    "no launch": lambda: one(X),
    "a device function": lambda: inner[1, 1](X),
    "a device function called": lambda: inner(X),
    "an argument too many": lambda: one[1, 1](X, X),
    "no argument": lambda: one[1, 1](),
    "a list": lambda: one[1, 1]([1, 2]),
    "nothing": lambda: one[1, 1](None),
    "text": lambda: one[1, 1]("x"),
    "a slice": lambda: one[1, 1](X[::2]),
    "read-only": lambda: one[1, 1](READ_ONLY),
    "objects": lambda: one[1, 1](np.array([object()])),
    "foreign byte order": lambda: one[1, 1](X.astype(">f4")),
    "a number": lambda: one[1, 1](np.float32(3)),
    "a large number": lambda: one[1, 1](2**70),
    "a tuple of text": lambda: one[1, 1]((1, (2, "a"))),
    "dates": lambda: one[1, 1](np.zeros(3, "M8[s]")),
    "a misspelt signature": lambda: misspelt_signature[1, 1](X.copy()),
    "a signature that is too long": lambda: longer_signature[1, 1](X.copy()),
    "a number as kernel": lambda: profile(3, 1, 1, X),
    "a builtin as kernel": lambda: profile(len, 1, 1, X),
    "a generator": lambda: profile(generator, 1, 1, X),
    "a starred parameter": lambda: profile(starred, 1, 1, X),
    "a lambda": lambda: profile(lambda x: x, 1, 1, X),
    "text as tasks": lambda: one.forall("a"),
    "no check": lambda: check(3, 1),
    "no such name": lambda: cuda.gird,
}


@pytest.mark.parametrize("launched", ODD_LAUNCHES.values(), ids=ODD_LAUNCHES)
def test_an_odd_launch_is_refused_by_the_course_itself(launched):
    with pytest.raises(CourseError) as caught:
        launched()
    assert type(caught.value) is not SimulatorFault and len(str(caught.value)) > 20


# ---- slips of beginners -----------------------------------------------------------------------------------


def refusal(body, *arguments):
    """What is said about a kernel `k(x)` with this body."""
    text = "def k(x):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    linecache.cache["<slip>"] = (len(text), None, text.splitlines(keepends=True), "<slip>")
    namespace = {"cuda": cuda, "np": np, "math": math, "float32": float32, "int32": int32}
    exec(compile(text, "<slip>", "exec"), namespace)
    with pytest.raises(CourseError) as caught:
        profile(namespace["k"], 1, 32, *(arguments or (X.copy(),)))
    assert type(caught.value) is not SimulatorFault
    return str(caught.value).removeprefix("k, line ")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("cuda.syncthreads", "2: cuda.syncthreads is a function and does nothing until it is called: write "
                             "cuda.syncthreads()."),
        ("cuda.grid", "2: cuda.grid is a function and does nothing until it is called: write cuda.grid(1)."),
        ("i = cuda.grid\nif i < x.size:\n    x[i] = 1", "3: cuda.grid is a function"),
        ("i = cuda.grid\nx[i] = 1", "3: cuda.grid is a function"),
        ("np.float32", "2: np.float32 is a type and no value: write np.float32(...)"),
        ("x[0] = np.float32", "float32 is no value that can be stored"),
        ("print((1, 2))", "2: print() in a kernel takes numbers and text, got (int64, int64)"),
        ("print('id', cuda.threadIdx)", "2: cuda.threadIdx is three numbers: write cuda.threadIdx.x"),
        ("print(cuda.grid)", "2: cuda.grid is a function"),
        ("x[0] = cuda", "course.cuda is no value that can be stored"),
        ("i = 1 + cuda.shared", "2: cuda.shared holds functions and is no value"),
        ("(cuda.syncthreads, 1)", "2: cuda.syncthreads is a function"),
        ("x[0] = x[0] if x[0] > 0 else float32", "2: float32"),
        ("a = x[::0]\na[0] = 1", "2: the step of a slice is 0"),
        # Names.
        ("i = cuda.gridsise(1)", "Did you mean `cuda.gridsize`?"),
        ("i = cuda.threadidx.x", "Did you mean `cuda.threadIdx`?"),
        ("i = cuda.threadIdx.w", "2: cuda.threadIdx has no w: it has x, y and z."),
        ("t = cuda.shared.aray(3, float32)", "Did you mean `cuda.shared.array`?"),
        ("cuda.atomic.ad(x, 0, 1)", "Did you mean `cuda.atomic.add`?"),
        ("x[0] = math.sqroot(2.0)", "2: math has no sqroot. Did you mean `math.sqrt`?"),
        ("x[0] = np.flaot32(2.0)", "2: np has no flaot32. Did you mean `np.float32`?"),
        ("syncthreads()", "2: name 'syncthreads' is not defined. Did you mean `cuda.syncthreads`?"),
        ("x[0] = sqrt(2.0)", "Did you mean `math.sqrt`?"),
        ("total = 1\nx[0] = totl", "3: name 'totl' is not defined. Did you mean `total`?"),
        ("for k in rnage(3):\n    x[0] = k", "Did you mean `range`?"),
        ("n = x.shpae[0]", "Did you mean `x.shape`?"),
        ("x[0] = q", "2: name 'q' is not defined."),
        # Whole arrays.
        ("t = np.zeros(4)", "2: np.zeros(...) makes no array in a kernel. Use cuda.local.array(shape, dtype)"),
        ("t = np.empty((4, 4), dtype=np.float32)", "cuda.shared.array(shape, dtype)"),
        ("t = np.ones(4)", "cuda.local.array"),
        ("t = np.arange(4)", "cuda.local.array"),
        ("t = np.zeros_like(x)", "cuda.local.array"),
        ("x[0] = np.sum(x)", "2: np.sum(...) works on whole arrays"),
        ("x[0] = sum(x)", "2: sum(...) works on whole arrays"),
        ("y = x @ x", "2: a kernel has no product of whole matrices: x @ x. One thread makes one element of it, in a "
                      "loop: for k in range"),
        ("x @= x", "2: a kernel has no product of whole matrices"),
        ("y = x + 1", "2: expected a number, got array(float32, 1d): x. A thread works on one element"),
    ],
)  # fmt: skip
def test_a_slip_is_refused_with_a_remedy(body, said):
    assert said in refusal(body)
    assert not any(kind in refusal(body) for kind in ("Error", "Unsupported", "NoneType", "<class", "object at"))


def test_fields_of_a_constant_vector_are_numbers():
    @cuda.jit
    def kernel(x):
        v = cuda.float32x4(1, 2, 3, 4)
        x[0] = v.x + v.w

    x = X.copy()
    launch(kernel, x, block=1)
    assert x[0] == 5


# ---- declared signatures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("int32", 0xFFFFFFFF, -1),
        ("int32", 2**31, -(2**31)),
        ("int8", 300, 44),
        ("uint32", -1, 2**32 - 1),
        ("uint8", np.int64(-1), 255),
        ("int32", True, 1),
        ("float32", 0.1, np.float32(0.1)),
        ("float64", 7, 7.0),
        ("boolean", 2, 1),
    ],
)
def test_a_declared_type_wraps_a_number_as_ctypes_does(kind, value, stored):
    @cuda.jit(f"void(float64[:], {kind})")
    def kernel(x, v):
        x[0] = v

    x = np.zeros(1)
    kernel[1, 1](x, value)
    assert x[0] == stored


@pytest.mark.parametrize(("kind", "value"), [("int32", 2.5), ("int32", 1j), ("float64", 1j), ("uint8", np.float32(1))])
def test_a_number_that_a_declared_type_cannot_hold_is_refused(kind, value):
    @cuda.jit(f"void(float64[:], {kind})")
    def kernel(x, v):
        x[0] = v

    with pytest.raises(KernelTypeError, match=rf"argument v is .*, the signature says {kind}"):
        kernel[1, 1](np.zeros(1), value)


def test_a_check_tells_the_sentence_without_the_name_of_a_class():
    @cuda.jit
    def scale(x, out, n, factor):
        x[cuda.gird(1)] = 1

    told = str(check("coalescing/scale", scale))
    assert "scale was stopped: scale, line" in told and "Did you mean `cuda.grid`?" in told
    assert "KernelTypeError" not in told
