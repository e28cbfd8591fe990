"""numba's front end: a kernel and the arguments of a launch become PTX, and the values of its parameters.

numba flattens every argument into parameters of the entry, in order (found with compile_ptx, numba-cuda 0.30):

- an array: meminfo, parent, nitems, itemsize, data, shape of every dimension, strides of every dimension: 5 + 2 ndim
  parameters of 8 bytes (an array of records, too). meminfo and parent are 0;
- a scalar: one of its own size; a bool is one byte, a float16 its 16 bits;
- a complex number: its real and its imaginary part;
- a tuple: its items, one after the other, also in a nested tuple; an empty one is nothing.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from course.errors import ArgumentTypeError
from course.languages import cache
from course.languages.code_key import read_code
from course.languages.compiled import Compiled, Declared, Number, Parameter, declared, entries
from course.languages.linking import flags_as_nvrtc, linked_ptx, missing
from course.languages.tools import NoCompilerError, assembler, first_line
from course.simulator.arguments import signed, typed
from course.simulator.device import DeviceArray
from course.simulator.errors import KernelTypeError
from course.simulator.kernels import python_function
from course.simulator.names import numba_cuda, to_numba
from course.simulator.numba_types import numba_type, refusal, some_device
from course.simulator.types import ArrayType, TupleType, Type, describe

__all__ = ["compile_numba", "numba_ptx", "options", "pack"]

_OPTIONS = {"fastmath": False, "opt": True, "debug": False, "launch_bounds": None, "max_registers": None}
"""Options of `cuda.jit` that change the machine code, and what they are when nobody says anything."""
_ADDED = ("gpu_copies", "wide")
"""Modules of `course.simulator` that make what numba.cuda does not have."""
_DRIVERS = ("numba.cuda.cudadrv", "cuda.")
"""Modules whose errors are about a library that is missing, or too old or too new; others are about the kernel."""
_FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"]*)"', re.M)


def compile_numba(kernel: Any, args: Sequence[Any], cc: tuple[int, int] = (9, 0)) -> Compiled:
    """The PTX of a kernel for these arguments, with the line of every instruction (remembered on disk).

    Raises NoCompilerError where the compiler is missing or refuses, KernelTypeError for a wrong kernel or argument.
    """
    assembler()  # says what is missing
    function = python_function(kernel)
    names, _, kinds = _arguments(kernel, args)
    numba_types = tuple(numba_type(kind) for kind in kinds)
    said = options(kernel)
    most = said.pop("max_registers", None)
    code = read_code(function)
    key = cache.key("numba", _additions(), code.key, [str(kind) for kind in numba_types], cc, sorted(said.items()))
    kept = cache.get(key)
    if kept is None:
        kept = {"ptx": _without_names(_typed_ptx(function, numba_types, cc, said), code.files)}
        cache.put(key, kept)
    ptx = _with_names(kept["ptx"], code.files)
    (entry,) = entries(ptx)
    lines, first = _text(function)
    return Compiled(
        "numba", function.__name__, ptx, entry, cc, function.__code__.co_filename, first, lines,
        _parameters(declared(ptx, entry), names, kinds), None if most is None else int(most),
    )  # fmt: skip


def pack(compiled: Compiled, kernel: Any, args: Sequence[Any], addresses: Mapping[str, int]) -> list[Any]:
    """The value of every parameter, a NumPy scalar of exactly its size (``.tobytes()`` is what the launch writes).

    addresses: device address of the data of each array argument, by the name of the argument.
    """
    names, values, _ = _arguments(kernel, args)
    held = dict(zip(names, values, strict=True))
    packed = []
    for parameter in compiled.parameters:
        name = parameter.argument
        number = parameter.number(held[name], addresses.get(name, 0))
        packed.append(number.view(parameter.declared.dtype))
    return packed


def options(kernel: Any) -> dict[str, Any]:
    """What the decorator said about the machine code."""
    said = getattr(kernel, "options", None) or getattr(kernel, "targetoptions", {})
    return {name: said[name] for name in _OPTIONS if said.get(name) not in (None, _OPTIONS[name])}


def numba_ptx(function: Any, numba_types: tuple[Any, ...], cc: tuple[int, int], said: Mapping[str, Any]) -> str:
    """What numba and NVIDIA's compiler make of a Python function.

    Raises numba's own errors, and the compiler's; NoCompilerError where a part of the kernel is not in the PTX.
    """
    twin = to_numba(function)
    with some_device(), flags_as_nvrtc():
        ptx, _ = numba_cuda().compile_ptx(twin, numba_types, cc=cc, **said)
        return linked_ptx(twin, numba_types, cc, said, function.__name__) if missing(str(ptx)) else str(ptx)


def _typed_ptx(function: Any, numba_types: tuple[Any, ...], cc: tuple[int, int], said: Mapping[str, Any]) -> str:
    try:
        return numba_ptx(function, numba_types, cc, {**said, "lineinfo": True})
    except NoCompilerError:
        raise
    except Exception as error:
        if isinstance(error, OSError | ImportError) or type(error).__module__.startswith(_DRIVERS):
            raise NoCompilerError(f"NVIDIA's compiler failed: {first_line(error)}") from None
        raise refusal(error, function) from None


@functools.cache
def _additions() -> str:
    """The text of what this course adds to numba.cuda (`cuda.load4`): part of a kernel that uses it."""
    texts = [inspect.getsource(importlib.import_module(f"course.simulator.{name}")) for name in _ADDED]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def _without_names(ptx: str, files: Sequence[str]) -> str:
    """PTX whose files have numbers for names: a cell of a notebook has another file name in each session."""

    def numbered(found: re.Match[str]) -> str:
        for number, file in enumerate(files):
            if found[2] == file or found[2].endswith(f"/{file}"):
                return f'{found[1]}"<{number}>"'
        return found[0]

    return _FILE.sub(numbered, ptx)


def _with_names(ptx: str, files: Sequence[str]) -> str:
    names = {f"<{number}>": file for number, file in enumerate(files)}
    return _FILE.sub(lambda found: f'{found[1]}"{names.get(found[2], found[2])}"', ptx)


def _text(function: types.FunctionType) -> tuple[tuple[str, ...], int]:
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise KernelTypeError(
            f"the text of {function.__name__} cannot be found (it was made by exec or typed at a bare prompt): write "
            "the kernel in a notebook cell or in a file."
        ) from None
    return tuple(line.rstrip("\n") for line in lines), max(first, 1)


def _arguments(kernel: Any, args: Sequence[Any]) -> tuple[Sequence[str], list[Any], list[Type]]:
    """Names, values and types of the arguments, as a launch would have them."""
    function = python_function(kernel)
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    if len(args) != len(names):
        raise ArgumentTypeError(
            f"{function.__name__} takes {len(names)} argument(s) ({', '.join(names)}), got {len(args)}."
        )
    values, kinds = typed(args, names)
    signature = getattr(kernel, "signature", None)
    if signature is not None:
        kinds, values = signed(function.__name__, names, kinds, values, signature)
    return names, values, kinds


# From arguments to parameters --------------------------------------------------------------------


def _parameters(declarations: Sequence[Declared], names: Sequence[str], kinds: Sequence[Type]) -> tuple[Parameter, ...]:
    flat = [(name, *piece) for name, kind in zip(names, kinds, strict=True) for piece in _flatten(kind, "")]
    if [size for _, _, size, _ in flat] != [one.bytes for one in declarations]:
        wanted = ", ".join(f"{name} {describe(kind)}" for name, kind in zip(names, kinds, strict=True))
        raise NoCompilerError(
            f"expected {len(flat)} parameters for the arguments {wanted}, but the compiler made {len(declarations)} "
            "of other sizes; this version of numba-cuda passes arguments in a way that is not known here"
        )
    return tuple(
        Parameter(one, name, part, number)
        for one, (name, part, _, number) in zip(declarations, flat, strict=True)
    )  # fmt: skip


def _flatten(kind: Type, part: str) -> Iterator[tuple[str, int, Number]]:
    """(part, bytes, number) of every parameter of an argument."""
    if isinstance(kind, ArrayType):
        yield from _flatten_array(kind.ndim)
    elif isinstance(kind, TupleType):
        for index, item in enumerate(kind.items):
            for inner, size, number in _flatten(item, f"{part}[{index}]"):
                yield inner, size, _of_item(index, number)
    elif kind.kind == "c":
        half = np.dtype(f"f{kind.itemsize // 2}")
        yield f"{part}.real", half.itemsize, lambda value, _: half.type(value.real)
        yield f"{part}.imag", half.itemsize, lambda value, _: half.type(value.imag)
    else:
        yield part, kind.itemsize, lambda value, _: np.asarray(value, kind)[()]


def _of_item(index: int, number: Number) -> Number:
    return lambda value, address: number(value[index], address)


def _flatten_array(ndim: int) -> Iterator[tuple[str, int, Number]]:
    yield "meminfo", 8, lambda array, address: np.uint64(0)
    yield "parent", 8, lambda array, address: np.uint64(0)
    yield "nitems", 8, lambda array, address: np.int64(_host(array).size)
    yield "itemsize", 8, lambda array, address: np.int64(_host(array).itemsize)
    yield "data", 8, lambda array, address: np.uint64(address)
    for axis in range(ndim):
        yield f"shape[{axis}]", 8, _of_axis(axis, lambda array: array.shape)
    for axis in range(ndim):
        yield f"strides[{axis}]", 8, _of_axis(axis, lambda array: array.strides)


def _of_axis(axis: int, read: Callable[[np.ndarray[Any, Any]], tuple[int, ...]]) -> Number:
    return lambda array, _: np.int64(read(_host(array))[axis])


def _host(array: Any) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = array.host_array if isinstance(array, DeviceArray) else array
    return found
