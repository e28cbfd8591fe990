# ruff: noqa: F821, F841, SIM105, SIM108  (the kernels here are wrong on purpose)
"""Where kernels come from, and what is refused before it runs."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import math
import sys
import textwrap
import types
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import cuda as numba_cuda
from numba import float32

from course import cuda
from course.simulator import KernelTypeError, UnsupportedKernel
from course.simulator.source.frontend import fresh_stores, read_source
from tests.simulator.runs import launch, line_of

X = np.arange(100, dtype=np.float32)
WIDTH = 7
TESTS = Path(__file__).parents[2]
ROOT = TESTS.parent

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


FACTORY = """from __future__ import annotations

def make():
    class Kernels:
{kernel}
    return Kernels.{name}
"""
DOCSTRING = '''"""One line.

            Indented further than the rest,
    and less.
        """
'''


def kernels_of_the_suite():
    """(file, name, text without decorators) of every kernel and device function in the tests and in course.kernels."""
    for file in sorted(path for folder in (ROOT / "course" / "kernels", TESTS) for path in folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if "cuda.jit" in text else "")):
            if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list):
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                yield file.name, node.name, textwrap.dedent("\n".join(lines))


def test_every_kernel_of_the_suite_is_read_inside_an_indented_factory_with_a_long_docstring(tmp_path):
    """Only a text that differs is refused: a docstring of several lines is a string that must not be dedented."""
    read = 0
    for number, (file, name, text) in enumerate(kernels_of_the_suite()):
        definition = ast.parse(text).body[0]
        definition.args.defaults, definition.returns = [], None
        plain = ast.unparse(definition)
        if definition.body[0].lineno > definition.lineno:
            head, body = plain.split("\n", 1)
            plain = f"{head}\n    {DOCSTRING}{body}"
        path = tmp_path / f"factory_{number}_{file}"
        path.write_text(FACTORY.format(kernel=textwrap.indent(plain, " " * 8), name=name))
        namespace = {"__name__": path.stem}
        exec(compile(path.read_text(), str(path), "exec"), namespace)
        try:
            source = read_source(namespace["make"]())
        except UnsupportedKernel as refusal:
            assert "not supported" in str(refusal), f"{file}: {name}: {refusal}"  # those that are wrong on purpose
            continue
        assert source.name == name and source.lines[0].lstrip().startswith("def ")
        read += 1
    assert read > 400


def test_numbas_documented_matmul_runs_in_a_class():
    class Example:
        @cuda.jit
        def fast_matmul(A, B, C):  # noqa: N803, N805
            """
            Perform matrix multiplication of C = A * B using CUDA shared memory.

            Reference: https://stackoverflow.com/a/64198479/13697228 by @RobertCrovella
            """
            sA = cuda.shared.array(shape=(4, 4), dtype=float32)  # noqa: N806
            x, y = cuda.grid(2)
            tx = cuda.threadIdx.x
            ty = cuda.threadIdx.y
            sA[ty, tx] = 0
            if y < A.shape[0] and tx < A.shape[1]:
                sA[ty, tx] = A[y, tx]
            cuda.syncthreads()
            if y < C.shape[0] and x < C.shape[1]:
                C[y, x] = sA[ty, tx] + B[y, x]

    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    c = np.zeros_like(a)
    launch(Example.fast_matmul, a, a, c, block=(4, 4))
    np.testing.assert_array_equal(c, 2 * a)


def test_a_module_that_is_imported_and_one_that_is_set_at_run_time_are_both_known(tmp_path, monkeypatch):
    file = tmp_path / "half_imported.py"
    file.write_text(
        "import math\nfrom course import cuda\ncuda = cuda\n@cuda.jit\ndef k(x):\n    i = cuda.grid(1)\n"
        "    if i < x.size:\n        x[i] = math.sqrt(x[i]) + np.float32(other.pi)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("half_imported")
    module.np, module.other = np, math
    x = X.copy()
    launch(module.k, x)
    np.testing.assert_allclose(x, np.sqrt(X) + np.float32(math.pi))
    del sys.modules["half_imported"]


def test_lines_added_above_a_kernel_do_not_change_its_text(tmp_path, monkeypatch):
    file = tmp_path / "moved_kernel.py"
    text = "from course import cuda\n@cuda.jit\ndef k(x):\n    x[0] = 1\n"
    file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("moved_kernel")
    file.write_text("# one\n# two\n" + text)
    assert read_source(module.k).first_line == 4
    del sys.modules["moved_kernel"]


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
    (t_no_such_math, "math has no nothing"),
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
