"""Registers of a kernel: ``registers(kernel, *args)``. The compiler chooses them, so somebody must ask it.

Three places know them, and the first that does answers: the driver of a GPU, NVIDIA's compiler without a GPU (the
optional extra `compiler`), and a table of the course's own kernels. Nothing is estimated.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from types import ModuleType
from typing import Any

from course import cuda
from course.cards import card
from course.errors import CourseError
from course.languages.numba_front_end import numba_ptx, options
from course.languages.ptxas import run_ptxas, usage
from course.languages.tools import NoCompilerError, assembler, first_line, version
from course.simulator.arguments import typed
from course.simulator.kernels import lookup, python_function
from course.simulator.names import CudaName, numba_cuda
from course.simulator.numba_types import numba_type
from course.simulator.source.frontend import read_source
from course.simulator.source.programs import prepare
from course.simulator.types import ArrayType, describe

__all__ = [
    "RECORDED",
    "RECORDED_CC",
    "NoRegistersError",
    "Registers",
    "ask_compiler",
    "ask_driver",
    "fingerprint",
    "gpu_capability",
    "multiprocessors",
    "registers",
]

RECORDED = "h200_registers.json"
"""The table, in course/measured/ (made by tools/record_registers.py)."""
RECORDED_CC = (9, 0)
"""Compute capability of the table."""
_NO_MACHINE_CODE = {"ctx", "kind", "type_comment", "type_params"}
"""Fields of a syntax tree that change no machine code, or that older Pythons do not have."""
_HOW_TO_GET_IT = (
    "A computer with a GPU knows it, and so does NVIDIA's compiler without one: on Linux, run "
    "pip install -e '.[compiler]' in the folder of the course, and start the notebook again."
)


class NoRegistersError(CourseError, RuntimeError):
    """Nobody here knows the registers of this kernel; the text says who would."""


@dataclass(frozen=True)
class Registers:
    """What the compiler gave a kernel."""

    kernel: str
    count: int
    """Registers of a thread."""
    local_bytes: int
    """Local memory of a thread: registers that did not fit (spills), and local arrays."""
    shared_bytes: int
    """Static shared memory of a block."""
    source: str
    """Who said so."""

    def __str__(self) -> str:
        return (
            f"{self.kernel}: {self.count} registers and {self.local_bytes} B of local memory a thread, "
            f"{self.shared_bytes} B of shared memory a block ({self.source})"
        )

    def __repr__(self) -> str:
        return str(self)


def registers(kernel: Any, *args: Any, cc: tuple[int, int] | None = None) -> Registers:
    """Registers of ``kernel`` when it is launched with these arguments; nothing is launched.

    cc: compute capability to compile for. None is the GPU of this computer, or (9, 0) where there is none.

    Raises NoRegistersError, with what to do, where neither a GPU nor NVIDIA's compiler nor the table knows.
    """
    wanted = cc or RECORDED_CC
    if cuda.is_available() and cc in (None, gpu_capability()):
        return ask_driver(kernel, args)
    try:
        return ask_compiler(kernel, args, wanted)
    except NoCompilerError as error:
        why = str(error)
    found = _recorded().get(fingerprint(kernel, args)) if wanted == RECORDED_CC else None
    if found is not None:
        return found
    name = python_function(kernel).__name__
    raise NoRegistersError(
        f"how many registers {name} gets for compute capability {wanted[0]}.{wanted[1]} is not known here ({why}). "
        f"{_HOW_TO_GET_IT}"
    )


def multiprocessors() -> int:
    """SMs of this computer's GPU; without one, those of the H200, which the course's measurements are from."""
    if not cuda.is_available():
        return card("H200").multiprocessors
    return int(numba_cuda().get_current_device().MULTIPROCESSOR_COUNT)


# A GPU knows -------------------------------------------------------------------------------------


def gpu_capability() -> tuple[int, int]:
    """Compute capability of this computer's GPU."""
    return tuple(numba_cuda().get_current_device().compute_capability)


def ask_driver(kernel: Any, args: Sequence[Any]) -> Registers:
    """What the driver of this computer's GPU says (numba's ``get_regs_per_thread()`` asks it, too)."""
    compiled = _dispatcher(kernel).compile(_signature(kernel, args))
    device = numba_cuda().get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    return Registers(
        python_function(kernel).__name__, int(compiled.regs_per_thread), int(compiled.local_mem_per_thread),
        int(compiled.shared_mem_per_block), f"the driver of {name}",
    )  # fmt: skip


def _dispatcher(kernel: Any) -> Any:
    """numba's dispatcher of a kernel, of this course or numba's own."""
    if hasattr(kernel, "targetoptions"):
        return kernel
    return (kernel if isinstance(kernel, cuda.Kernel) else cuda.jit(python_function(kernel))).numba_dispatcher()


def _signature(kernel: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """numba's types of the arguments, as a launch would give them. Raises KernelTypeError for a wrong kernel."""
    program, _ = prepare(kernel, args, getattr(kernel, "signature", None))
    return tuple(numba_type(kind) for kind in program.arguments)


# NVIDIA's compiler knows -------------------------------------------------------------------------


def ask_compiler(kernel: Any, args: Sequence[Any], cc: tuple[int, int] = RECORDED_CC) -> Registers:
    """What ``ptxas -v`` says: numba makes the PTX, NVIDIA's assembler the machine code. No GPU is needed.

    Raises NoCompilerError where a part of the compiler is missing, or where it does not know `cc`.
    """
    tool = assembler()
    function = python_function(kernel)
    said = options(kernel)
    most = said.pop("max_registers", None)
    types = _signature(kernel, args)  # an error in the kernel itself shows here
    try:
        ptx = numba_ptx(function, types, cc, said)
    except NoCompilerError:
        raise
    except Exception as error:  # a library is missing, or too old or too new for the compute capability
        raise NoCompilerError(f"NVIDIA's compiler failed: {first_line(error)}") from None
    found = usage(run_ptxas(ptx, cc, most).said)
    return Registers(
        function.__name__, found.registers, found.stack_bytes, found.shared_bytes,
        f"ptxas {version(tool)} for compute capability {cc[0]}.{cc[1]}",
    )  # fmt: skip


# A table knows the course's own kernels ----------------------------------------------------------


def fingerprint(kernel: Any, args: Sequence[Any]) -> str:
    """What decides about the machine code of a launch, in 16 letters: text, constants, options and types.

    Comments, annotations and the name of the file change nothing.
    """
    _, kinds = typed(args, ["argument"] * len(args))
    types = [f"{describe(kind)} {kind.layout if isinstance(kind, ArrayType) else ''}" for kind in kinds]
    said = repr((list(_texts(python_function(kernel))), sorted(options(kernel).items()), types))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _texts(function: Any) -> Iterator[str]:
    """The text of a function, the constants that it takes from around it, and the device functions that it calls."""
    tree = read_source(function).tree
    bare = copy.deepcopy(tree)
    assert isinstance(bare, ast.FunctionDef)
    bare.decorator_list, bare.returns = [], None
    for argument in bare.args.args:
        argument.annotation = None
    if isinstance(bare.body[0], ast.Expr) and isinstance(bare.body[0].value, ast.Constant):
        bare.body = bare.body[1:] or [ast.Pass()]
    yield _written(bare)
    own = {*function.__code__.co_varnames, *function.__code__.co_cellvars}
    for name in sorted({node.id for node in ast.walk(bare) if isinstance(node, ast.Name)} - own):
        try:
            value = lookup(function, name)
        except KeyError:  # the compiler will say that there is no such name
            continue
        if hasattr(value, "py_func"):
            yield from _texts(value.py_func)
        elif not isinstance(value, (ModuleType, CudaName)):
            yield f"{name} = {value!r}"


def _written(node: Any) -> str:
    """A tree as text, the same in every Python: what ast.unparse and ast.dump write differs between versions."""
    if isinstance(node, list):
        return f"[{', '.join(map(_written, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = (f"{name}={_written(value)}" for name, value in ast.iter_fields(node) if name not in _NO_MACHINE_CODE)
    return f"{type(node).__name__}({', '.join(fields)})"


@functools.cache
def _recorded() -> dict[str, Registers]:
    """Fingerprint -> registers, from the table."""
    file = resources.files("course.measured").joinpath(RECORDED)
    content = json.loads(file.read_text(encoding="utf-8"))
    said = f"recorded: {content['said_by']}, {content['measured_on']['date']}"
    return {
        row["fingerprint"]: Registers(row["kernel"], row["registers"], row["local_bytes"], row["shared_bytes"], said)
        for row in content["kernels"]
    }
