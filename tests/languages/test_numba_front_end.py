"""numba's kernels as PTX, and what a launch puts into their parameters."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import cuda as numba_cuda

from course import cuda
from course.languages import numba_front_end
from course.languages.numba_front_end import compile_numba, pack
from course.languages.tools import NoCompilerError
from course.simulator.errors import KernelTypeError
from tests.languages.kernels import TILES, scaled, tiled

pytestmark = pytest.mark.usefixtures("compiler")
FLOATS = np.zeros(64, np.float32)
RECORDS = np.zeros(4, np.dtype([("a", np.int32), ("b", np.float64)], align=True))


def loaded(compiled):
    """The parts of the arguments that the PTX reads."""
    numbers = {int(number) for number in re.findall(r"ld\.param\.\w+\s+.*_param_(\d+)\]", compiled.ptx)}
    return {(compiled.parameters[number].argument, compiled.parameters[number].part) for number in numbers}


def test_a_kernel_has_its_text_its_lines_and_its_entry():
    found = compile_numba(tiled, TILES)
    assert (found.language, found.name, found.cc) == ("numba", "tiled", (9, 0))
    assert found.filename == tiled.py_func.__code__.co_filename
    assert found.first_line == tiled.py_func.__code__.co_firstlineno
    assert found.lines[1] == "def tiled(a, b, c):" and "c[y, x] = total" in found.lines[-1]
    assert f".entry {found.entry}(" in found.ptx and ".target sm_90" in found.ptx
    lines = {int(line) for line in re.findall(r"\.loc\s+1 (\d+) ", found.ptx)} - {0}
    assert min(lines) >= found.first_line and max(lines) < found.first_line + len(found.lines)
    assert f'"{found.filename}"' in found.ptx


def test_another_compute_capability_is_another_ptx():
    assert ".target sm_80" in compile_numba(scaled(2), (FLOATS, FLOATS), cc=(8, 0)).ptx


def test_options_reach_the_compiler():
    assert compile_numba(scaled(2, max_registers=40), (FLOATS, FLOATS)).max_registers == 40
    assert ".maxntid 256" in compile_numba(scaled(2, launch_bounds=(256, 4)), (FLOATS, FLOATS)).ptx.replace(
        ", 1, 1", ""
    )
    same = compile_numba(numba_cuda.jit(scaled(2).py_func), (FLOATS, FLOATS))
    assert same.max_registers is None and ".maxntid" not in same.ptx

    def divided(**options):
        @cuda.jit(**options)
        def divide(x, out):
            out[0] = x[0] / x[1]

        return compile_numba(divide, (FLOATS, FLOATS)).ptx

    assert "div.approx" in divided(fastmath=True) and "div.approx" not in divided()


# Parameters ------------------------------------------------------------------------------------------


@cuda.jit
def everything(out, b, i8, u16, i32, i64, f16, f32, f64, c64, c128, pair, same, nested, records):
    out[0] = i8 + u16 + i32 + i64 + f32 + f64 + c64.real + c128.imag + pair[1] + same[0] + nested[0][1] + records[0].b


EVERYTHING = (
    np.zeros(5), True, np.int8(-1), np.uint16(2), np.int32(-3), -4, np.float16(1.5), np.float32(2.5), 3.5,
    np.complex64(1 + 2j), 3 + 4j, (-5, 6.5), (np.float32(1), np.float32(2)), ((7, 8.5), np.int8(-9)), RECORDS,
)  # fmt: skip


def test_every_kind_of_argument_is_flattened_as_the_ptx_declares():
    """Their sizes are compared with the PTX when it is compiled; here, what is written into them."""
    compiled = compile_numba(everything, EVERYTHING)
    values = pack(compiled, everything, EVERYTHING, {"out": 4096, "records": 8192})
    shown = [
        (parameter.argument, parameter.part, parameter.declared.kind, value.tobytes())
        for parameter, value in zip(compiled.parameters, values, strict=True)
    ]

    def word(value, kind="<i8"):
        return np.array(value, kind).tobytes()

    def array(name, address, count, size):
        parts = ("meminfo", 0), ("parent", 0), ("nitems", count), ("itemsize", size), ("data", address)
        parts += ("shape[0]", count), ("strides[0]", size)
        return [(name, part, "u64", word(value)) for part, value in parts]

    assert shown == [
        *array("out", 4096, 5, 8),
        ("b", "", "u8", b"\1"), ("i8", "", "u8", b"\xff"), ("u16", "", "u16", b"\2\0"),
        ("i32", "", "u32", word(-3, "<i4")), ("i64", "", "u64", word(-4)), ("f16", "", "u16", word(1.5, "<f2")),
        ("f32", "", "f32", word(2.5, "<f4")), ("f64", "", "f64", word(3.5, "<f8")),
        ("c64", ".real", "f32", word(1, "<f4")), ("c64", ".imag", "f32", word(2, "<f4")),
        ("c128", ".real", "f64", word(3, "<f8")), ("c128", ".imag", "f64", word(4, "<f8")),
        ("pair", "[0]", "u64", word(-5)), ("pair", "[1]", "f64", word(6.5, "<f8")),
        ("same", "[0]", "f32", word(1, "<f4")), ("same", "[1]", "f32", word(2, "<f4")),
        ("nested", "[0][0]", "u64", word(7)), ("nested", "[0][1]", "f64", word(8.5, "<f8")),
        ("nested", "[1]", "u8", word(-9, "<i1")),
        *array("records", 8192, 4, 16),
    ]  # fmt: skip
    assert len(compiled.parameters_of("nested")) == 3


def reading(attribute):
    """A kernel that reads one attribute of its first argument."""
    if attribute == "data":

        @cuda.jit
        def read(x, out):
            out[0] = x[0, 0]

    elif attribute in ("size", "itemsize"):

        @cuda.jit
        def read(x, out):
            out[0] = x.size if attribute == "size" else x.itemsize

    else:
        kind, axis = attribute

        @cuda.jit
        def read(x, out):
            out[0] = x.shape[axis] if kind == "shape" else x.strides[axis]

    return read


@pytest.mark.parametrize(
    ("attribute", "part"),
    [
        ("data", "data"), ("size", "nitems"), ("itemsize", "itemsize"),
        (("shape", 0), "shape[0]"), (("shape", 1), "shape[1]"),
        (("strides", 0), "strides[0]"), (("strides", 1), "strides[1]"),
    ],
)  # fmt: skip
def test_the_compiler_reads_each_part_of_an_array_where_it_is_said_to_be(attribute, part):
    strided = cuda.to_device(np.zeros((6, 8), np.int64))[::2, ::2]  # its strides are not known when it is compiled
    compiled = compile_numba(reading(attribute), (strided, np.zeros(1, np.int64)))
    assert {name for name, _ in loaded(compiled)} == {"x", "out"}
    assert {found for name, found in loaded(compiled) if name == "x"} == {part}
    values = pack(compiled, reading(attribute), (strided, np.zeros(1, np.int64)), {"x": 256, "out": 512})
    parts = {
        one.part: int(value) for one, value in zip(compiled.parameters, values, strict=True) if one.argument == "x"
    }
    assert parts == {
        "meminfo": 0, "parent": 0, "nitems": 12, "itemsize": 8, "data": 256, "shape[0]": 3, "shape[1]": 4,
        "strides[0]": 128, "strides[1]": 16,
    }  # fmt: skip


def test_a_declared_signature_decides_about_the_size_of_a_number():
    @cuda.jit("void(float32[:], int32)")
    def kernel(x, n):
        x[0] = n

    compiled = compile_numba(kernel, (FLOATS, 7))
    (n,) = compiled.parameters_of("n")
    assert (n.declared.kind, n.declared.bytes) == ("u32", 4)
    assert pack(compiled, kernel, (FLOATS, 7), {"x": 256})[-1].tobytes() == np.int32(7).tobytes()


def test_an_empty_tuple_is_no_parameter():
    @cuda.jit
    def kernel(x, nothing):
        x[0] = len(nothing)

    compiled = compile_numba(kernel, (FLOATS, ()))
    assert compiled.parameters_of("nothing") == () and len(compiled.parameters) == 7


# Errors ----------------------------------------------------------------------------------------------


def test_numbas_complaint_is_one_sentence_with_the_line():
    @cuda.jit
    def wrong(x):
        x[0] = x.nothing

    with pytest.raises(KernelTypeError, match=r"^wrong, line \d+: .*nothing") as error:
        compile_numba(wrong, (FLOATS,))
    assert "\n" not in str(error.value)


def test_a_wrong_number_of_arguments_is_said():
    with pytest.raises(TypeError, match=r"^scale takes 2 argument\(s\) \(x, out\), got 1\.$"):
        compile_numba(scaled(2), (FLOATS,))


def test_a_compute_capability_that_the_compiler_does_not_know_is_said():
    with pytest.raises(NoCompilerError, match=r"^NVIDIA's compiler failed: .*3\.0 is not supported") as error:
        compile_numba(scaled(2), (FLOATS, FLOATS), cc=(3, 0))
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:Could not find source")
def test_a_text_without_a_source_is_said():
    space = {"cuda": cuda}
    exec("@cuda.jit\ndef made(x):\n    x[0] = 1\n", space)
    with pytest.raises(KernelTypeError, match=r"text of made cannot be found .* in a notebook cell or in a file"):
        compile_numba(space["made"], (FLOATS,))


def test_options_for_a_debugger_are_kept():
    @cuda.jit(debug=True, opt=False)
    def kernel(x):
        x[0] = 1

    assert ".loc" in compile_numba(kernel, (FLOATS,)).ptx


def test_parameters_that_the_ptx_declares_otherwise_are_refused():
    ptx = ".entry k(.param .u64 a, .param .u32 b) { ret; }"
    declarations = numba_front_end.declared(ptx, "k")
    with pytest.raises(NoCompilerError, match=r"expected 1 parameters for the arguments n int64, but .* made 2"):
        numba_front_end._parameters(declarations, ["n"], [np.dtype(np.int64)])


# The cache -------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """How often the compiler was asked."""
    real, calls = numba_front_end.numba_ptx, []
    monkeypatch.setattr(numba_front_end, "numba_ptx", lambda *given: calls.append(given) or real(*given))
    return calls


def test_a_kernel_that_has_not_changed_is_not_compiled_again(asked, monkeypatch):
    first = compile_numba(scaled(2), (FLOATS, FLOATS))
    assert compile_numba(scaled(2), (FLOATS, FLOATS)) == first
    assert len(asked) == 1
    compile_numba(scaled(3), (FLOATS, FLOATS))
    compile_numba(scaled(2), (FLOATS.astype(np.float64), FLOATS))
    compile_numba(scaled(2), (FLOATS, FLOATS), cc=(8, 0))
    compile_numba(scaled(2, fastmath=True), (FLOATS, FLOATS))
    assert len(asked) == 5
    assert compile_numba(scaled(2, max_registers=32), (FLOATS, FLOATS)).ptx == first.ptx  # the assembler's business
    assert len(asked) == 5


def test_what_the_course_adds_to_numba_is_part_of_a_kernel(asked, monkeypatch):
    """`cuda.load4` is made by the course: when its text changes, so does a kernel with it."""
    from course.simulator import names

    assert set(numba_front_end._ADDED) == set(names._OWN.values())
    compile_numba(scaled(2), (FLOATS, FLOATS))
    monkeypatch.setattr(numba_front_end, "_additions", lambda: "another text")
    compile_numba(scaled(2), (FLOATS, FLOATS))
    assert len(asked) == 2


def test_wide_loads_of_the_course_are_one_instruction():
    @cuda.jit
    def wide(x, out):
        cuda.store4(out, 0, cuda.load4(x, 0))

    ptx = compile_numba(wide, (FLOATS, FLOATS)).ptx
    assert "ld.global.v4.f32" in ptx and "st.global.v4.f32" in ptx


def test_a_cell_of_another_session_has_the_ptx_with_its_own_file_name(asked, tmp_path):
    text = "from course import cuda\n@cuda.jit\ndef cell(x):\n    x[0] = 1\n"
    for name in ("one.py", "two.py"):
        file = tmp_path / name
        file.write_text(text)
        space = {"__name__": "__main__"}
        exec(compile(text, str(file), "exec"), space)
        assert f'"{file}"' in compile_numba(space["cell"], (FLOATS,)).ptx
    assert len(asked) == 1
