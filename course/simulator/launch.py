"""Runs a kernel: checks the launch, moves the arrays, and takes the blocks through it batch by batch."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import math
import random
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from course.errors import ArgumentTypeError, ArgumentValueError, CourseError
from course.simulator.access import ArrayInfo, Batch, Finding, Launch, Observer, Shape
from course.simulator.compiler.engine import compile_kernel
from course.simulator.compiler.program import Program, fault
from course.simulator.device import Addresses, DeviceArray, array_type, refuse_scattered, view_of
from course.simulator.frontend import python_function, read_source
from course.simulator.lanes import UNBOUND, LaunchError, State
from course.simulator.memory import View
from course.simulator.typing import ArrayType, KernelTypeError, TupleType, Type, describe, resolver, typeof

__all__ = ["LaunchConfigurationError", "RunInfo", "prepare", "run", "typed"]

LANES_PER_BATCH = 1 << 18
BYTES_PER_BATCH = 1 << 26
"""Shared and local memory of one batch, at most."""
STATIC_SHARED_BYTES = 48 * 1024
DYNAMIC_SHARED_BYTES = 227 * 1024
CONSTANT_BYTES = 64 * 1024
LOCAL_BYTES = 512 * 1024
"""Local memory of a thread, at most."""
MAX_STEPS = 2_000_000
"""Loop iterations of one batch after which a kernel is taken to be endless."""
LOOP_SECONDS = 10.0
"""Time of one loop, in one batch, after which it is taken to be endless."""


class LaunchConfigurationError(ArgumentValueError):
    """A launch that no GPU accepts: the numbers of blocks or threads, or too much shared memory."""


@dataclass(frozen=True)
class RunInfo:
    """What happened in a launch."""

    launch: Launch
    findings: tuple[Finding, ...]
    """What the engine itself saw: out of bounds, negative index, misaligned."""
    blocks: int
    """Blocks that ran."""
    total_blocks: int
    seconds: float

    @property
    def sampled(self) -> bool:
        """Whether only some of the blocks ran (the time budget was too small): outputs are then incomplete."""
        return self.blocks < self.total_blocks


def run(
    kernel: Any,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    *,
    observer: Observer | None = None,
    warp_lanes: int = 32,
    shared_bytes: int = 0,
    signature: Any = None,
    budget: float | None = None,
    max_steps: int = MAX_STEPS,
    loop_seconds: float = LOOP_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[int, int], None] | None = None,
) -> RunInfo:
    """Run a kernel in the simulator.

    kernel: a function decorated with @cuda.jit (of course.cuda or numba.cuda), or the plain function.
    grid, block: numbers of blocks and threads, an int or a tuple (x, y, z).
    args: NumPy arrays, DeviceArrays, numbers, tuples of numbers. Host arrays are copied back at the end.
    observer: who is told about every access; None is fastest.
    warp_lanes: 32, or 64 for the teaching model of AMD wavefronts.
    shared_bytes: dynamic shared memory of a block.
    budget: seconds; when the launch would take longer, some blocks are sampled and `sampled` is set.
    max_steps, loop_seconds: iterations of the loops of one batch, and time (by `clock`) of one of its loops, after
    which the kernel is taken to be endless. A `for` loop whose end is near enough may take longer.
    progress: called with (blocks done, blocks in all).

    Raises UnsupportedKernel, KernelTypeError and LaunchConfigurationError before any thread runs,
    LaunchError when the kernel is stopped. An interrupt leaves host arrays as they were.
    """
    started = time.monotonic()
    grid3, block3 = dimensions("grid", grid), dimensions("block", block)
    check_launch(grid3, block3)
    for name, number in (("shared_bytes", shared_bytes), ("max_steps", max_steps)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise ArgumentTypeError(f"{name} is {number!r}: expected a whole number.")
    if budget is not None and not isinstance(budget, (int, float)):
        raise ArgumentTypeError(f"the time budget is {budget!r}: expected a number of seconds.")
    if warp_lanes not in (32, 64):
        raise ArgumentValueError(f"warp_lanes is {warp_lanes!r}: expected 32, or 64 for AMD's wavefronts.")
    program, values = prepare(kernel, args, signature)
    static = -(-program.bytes_of("shared") // 16) * 16 if shared_bytes else program.bytes_of("shared")
    check_memory(program, static, shared_bytes)
    arguments, views, copies = _place(program, values)
    launch = _describe(program, grid3, block3, warp_lanes, views, static, shared_bytes)
    findings: dict[Any, Finding] = {}
    total, done = math.prod(grid3), 0
    if observer is not None:
        observer.begin(launch)
    try:
        for origin, shape in _batches(program, grid3, block3, warp_lanes, static + shared_bytes, budget):
            before = done

            def tick(done: int = before) -> None:
                if progress is not None:
                    with _from_outside():
                        progress(done, total)

            limits = (max_steps, loop_seconds, clock)
            state = _state(program, origin, shape, grid3, block3, warp_lanes, observer, limits, tick)
            state.findings = findings
            if any(place.dynamic for place in program.places.values()):
                padded = -(-shared_bytes // 16) * 16
                raw = np.full((*shape[:3], padded), 0xFF, np.uint8)
                state.memory["dynamic shared"] = (raw, shared_bytes, static)
            for slot, value in zip(program.parameter_slots, arguments, strict=True):
                state.variables[slot] = value
                state.written[slot] = None
            if observer is not None:
                observer.batch(Batch(origin, shape, state.exists))
            assert program.body is not None
            with np.errstate(all="ignore"), _placed(program, state):
                program.body(state, state.exists)
                if state.copies is not None:
                    state.copies.finish(state)
            done += math.prod(shape[:3])
            tick(done)
    finally:
        if observer is not None:
            observer.end()
    for give_back, copy in copies:
        give_back(copy)
    return RunInfo(launch, tuple(findings.values()), done, total, time.monotonic() - started)


class _FromOutside(Exception):
    """Carries what a progress function raises: nothing of the simulator's."""


@contextlib.contextmanager
def _from_outside() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise _FromOutside from error


@contextlib.contextmanager
def _placed(program: Program, state: State) -> Iterator[None]:
    """Every error that ends a launch names its line; no other class than the course's own gets out."""
    try:
        yield
    except _FromOutside as carried:
        assert carried.__cause__ is not None
        raise carried.__cause__ from None
    except CourseError as error:
        error.place(**_place_of(program, error.line or state.line))
        raise
    except MemoryError:
        raise LaunchError(
            "this computer has too little memory for the arrays of the kernel: use smaller local and shared arrays.",
            **_place_of(program, state.line),
        ) from None
    except RecursionError:
        raise LaunchError(
            "expressions are nested too deeply: use variables.", **_place_of(program, state.line)
        ) from None
    except Exception as error:
        raise fault(error, **_place_of(program, state.line)) from error


def _place_of(program: Program, line: int) -> Any:
    """Which function of the kernel a line belongs to."""
    holders = (s for s in program.sources if s.first_line <= line < s.first_line + len(s.lines))
    source = next(holders, program.source)
    return {"line": line, "kernel": source.name, "filename": source.filename}


# ---- checks ------------------------------------------------------------------------------------------


def dimensions(name: str, value: Any) -> tuple[int, int, int]:
    """Grid or block as (x, y, z)."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(sizes) <= 3:
        raise ArgumentValueError(f"{name} is {value!r}: expected one to three sizes.")
    for size in sizes:
        if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer)):
            raise ArgumentTypeError(f"{name} is {value!r}: expected whole numbers. Use // or math.ceil, not /.")
    x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
    return x, y, z


def check_launch(grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    """Refuse what no GPU accepts (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""
    threads = math.prod(block)
    for name, sizes, limits in (("block", block, (1024, 1024, 64)), ("grid", grid, (2**31 - 1, 65535, 65535))):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size < 1:
                raise LaunchConfigurationError(
                    f"{name}.{axis} is {size}: expected 1 or more (CUDA_ERROR_INVALID_VALUE). "
                    "Round the number of blocks up: (n + threads - 1) // threads."
                )
            if size > limit:
                raise LaunchConfigurationError(f"{name}.{axis} is {size}: a GPU takes at most {limit}.")
    if threads > 1024:
        raise LaunchConfigurationError(
            f"a block of {block} has {threads} threads: a GPU takes at most 1024 (CUDA_ERROR_INVALID_VALUE)."
        )


def check_memory(program: Program, static: int, dynamic: int) -> None:
    """Refuse more shared or constant memory than there is."""
    if static > STATIC_SHARED_BYTES:
        raise LaunchConfigurationError(
            f"{program.source.name} declares {static} bytes of shared memory: at most {STATIC_SHARED_BYTES} "
            "(48 KB) can be declared. Use smaller arrays, or shared.array(0, ...) and a size at the launch."
        )
    if not 0 <= dynamic <= DYNAMIC_SHARED_BYTES - static:
        raise LaunchConfigurationError(
            f"{dynamic} bytes of dynamic shared memory: expected 0 to {DYNAMIC_SHARED_BYTES - static}."
        )
    local = program.bytes_of("local")
    if local > LOCAL_BYTES:
        raise LaunchConfigurationError(f"{local} bytes of local memory a thread: there are {LOCAL_BYTES} (512 KB).")
    constant = program.bytes_of("constant")
    if constant > CONSTANT_BYTES:
        raise LaunchConfigurationError(f"{constant} bytes of constant memory: there are {CONSTANT_BYTES} (64 KB).")


# ---- arguments -----------------------------------------------------------------------------------------

GiveBack = tuple[Callable[[Any], None], Any]
"""Who takes the values after the launch, and the array that holds them."""

_programs: weakref.WeakKeyDictionary[Any, dict[Any, Program]] = weakref.WeakKeyDictionary()


def prepare(kernel: Any, args: Sequence[Any], signature: Any = None) -> tuple[Program, list[Any]]:
    """The kernel compiled for these arguments (remembered), and the arguments as the types demand."""
    function = python_function(kernel)
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        read_source(kernel)  # says why, with the line
    if len(args) != len(names):
        raise ArgumentTypeError(
            f"{function.__name__} takes {len(names)} argument(s) ({', '.join(names)}), got {len(args)}."
        )  # fmt: skip
    values, kinds = typed(args, names)
    if signature is not None:
        kinds, values = _signed(function.__name__, names, kinds, values, signature)
    known = _programs.setdefault(function, {})
    key = (tuple(kinds), tuple(_aligned(kind) for kind in kinds))
    if key not in known:
        program = compile_kernel(kernel, kinds)
        text = repr((sorted(program.texts.items()), [repr(kind) for kind in kinds]))
        resolver().validate(hashlib.sha256(text.encode()).hexdigest(), function, kinds)
        resolver().save()
        known[key] = program
    return known[key], values


def _aligned(kind: Type) -> bool:
    """Whether these are aligned records; NumPy calls packed ones of the same fields equal."""
    return isinstance(kind, ArrayType) and bool(kind.dtype.isalignedstruct)


def typed(args: Sequence[Any], names: Sequence[str]) -> tuple[list[Any], list[Type]]:
    """Arguments as the simulator holds them, and their types; `names` are for what is said about a wrong one."""
    values = [_argument(value, name) for value, name in zip(args, names, strict=True)]
    return values, [_kind(value, name) for value, name in zip(values, names, strict=True)]


def _argument(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray):
        refuse_scattered(value, f"argument {name}")
    elif hasattr(value, "__cuda_array_interface__") and hasattr(value, "copy_to_host"):
        return DeviceArray.copy_of_gpu(value)
    return value


def _kind(value: Any, name: str) -> Type:
    if isinstance(value, (np.ndarray, DeviceArray)):
        return array_type(value, name)
    return typeof(value, name)


def _signed(kernel: str, names: Sequence[str], kinds: list[Type], values: list[Any], signature: Any) -> Any:
    """Arguments as a declared signature wants them."""
    from course.simulator.signatures import argument_types

    wanted = argument_types(signature)
    if len(wanted) != len(kinds):
        raise KernelTypeError(f"{kernel}: the signature has {len(wanted)} arguments, the launch {len(kinds)}.")
    result_kinds, result_values = [], []
    for name, kind, value, declared in zip(names, kinds, values, wanted, strict=True):
        if isinstance(declared, np.dtype) and isinstance(kind, np.dtype):
            result_kinds.append(declared)
            result_values.append(_declared(kernel, name, value, kind, declared))
            continue
        same = isinstance(declared, ArrayType) and isinstance(kind, ArrayType) and (
            (declared.dtype, declared.ndim) == (kind.dtype, kind.ndim) and declared.layout in ("A", kind.layout)
        )  # fmt: skip
        if not same:
            raise KernelTypeError(
                f"{kernel}: argument {name} is {describe(kind)}, the signature says {describe(declared)}."
            )
        result_kinds.append(kind)
        result_values.append(value)
    return result_kinds, result_values


def _declared(kernel: str, name: str, value: Any, kind: np.dtype[Any], declared: np.dtype[Any]) -> Any:
    """A number as a declared type: a whole number that is too large wraps, as ctypes (and so numba) makes it."""
    lossy = {"c": "fiub", "f": "iu"}.get(kind.kind, "")
    if declared.kind in lossy:
        raise KernelTypeError(
            f"{kernel}: argument {name} is {value} ({describe(kind)}), the signature says {describe(declared)}. "
            f"Convert it yourself, with {'abs(...) or .real' if kind.kind == 'c' else 'int(...)'}, or change the "
            "signature."
        )
    return np.asarray(value, kind).astype(declared)[()]


def _place(program: Program, values: list[Any]) -> tuple[list[Any], list[View], list[GiveBack]]:
    """Arguments as the engine holds them, the views among them, and the working copies to give back."""
    addresses = Addresses()
    if program.read_only is None:
        program.read_only = _never_written(program)
    arguments: list[Any] = []
    views: list[View] = []
    copies: list[GiveBack] = []
    for name, kind, value in zip(program.source.parameters, program.arguments, values, strict=True):
        if isinstance(value, DeviceArray):
            arguments.append(value.kernel_view(name))
            views.append(arguments[-1])
            if value.origin is not None:
                copies.append((value.origin.copy_to_device, value.host_array))
        elif isinstance(value, np.ndarray):
            work = value
            if name not in program.read_only:
                if not value.flags.writeable:
                    raise ArgumentValueError(f"argument {name} is read-only: the kernel may write to it. Pass a copy.")
                work = value.copy(order="K")
                copies.append((partial(np.copyto, value), work))
            buffer = work.reshape(-1, order="A").view(np.uint8) if work.size else np.empty(0, np.uint8)
            arguments.append(view_of(work, buffer, addresses.take(work.nbytes), name))
            views.append(arguments[-1])
        else:
            arguments.append(_scalar(value, kind))
    return arguments, views, copies


def _scalar(value: Any, kind: Type) -> Any:
    if isinstance(kind, TupleType):
        return tuple(_scalar(item, inner) for item, inner in zip(value, kind.items, strict=True))
    return kind.type(value)


def _never_written(program: Program) -> set[str]:
    """Array parameters of which the kernel only reads elements, size and shape: they need no working copy."""
    tree, harmless, total = program.source.tree, Counter[str](), Counter[str]()
    ndims = {name: kind.ndim for name, kind in zip(program.source.parameters, program.arguments, strict=True)
             if isinstance(kind, ArrayType) and not kind.dtype.names}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            total[node.id] += 1
        inner: Any = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            given = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            whole = not any(isinstance(child, ast.Slice) for child in ast.walk(node.slice))
            inner = node.value if whole and given == ndims.get(node.value.id) else None
        elif isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim"):
            inner = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            inner = node.args[0]
        if isinstance(inner, ast.Name):
            harmless[inner.id] += 1
    return {name for name in ndims if total[name] == harmless[name]}


def _describe(program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], warp_lanes: int,
              views: list[View], static: int, dynamic: int) -> Launch:  # fmt: skip
    arrays = [
        ArrayInfo(view.name, "global", view.base + int(view.offset) * view.unit,
                  math.prod(view.shape) * view.flat.dtype.itemsize, view.flat.dtype, view.shape)
        for view in views
    ]  # fmt: skip
    for space in ("constant", "shared", "local"):
        for place in program.places.values():
            if place.space == space:
                shape = (dynamic // place.dtype.itemsize,) if place.dynamic else place.shape
                address = static if place.dynamic else place.address
                nbytes = math.prod(shape) * place.dtype.itemsize
                arrays.append(ArrayInfo(place.name, place.space, address, nbytes, place.dtype, shape))
    source = program.source
    return Launch(source.name, source.filename, source.lines, source.first_line, grid, block, warp_lanes,
                  tuple(program.sites.values()), tuple(arrays), static + dynamic)  # fmt: skip


# ---- batches --------------------------------------------------------------------------------------------


Limits = tuple[int, float, Callable[[], float]]
"""max_steps, loop_seconds and clock of `run`."""


def _state(program: Program, origin: tuple[int, int, int], shape: Shape, grid: tuple[int, int, int],
           block: tuple[int, int, int], warp_lanes: int, observer: Observer | None, limits: Limits,
           tick: Callable[[], None]) -> State:  # fmt: skip
    threads = math.prod(block)
    exists: npt.NDArray[np.bool_] | None = None
    if threads < shape[3]:
        exists = (np.arange(shape[3]) < threads).reshape(1, 1, 1, -1)
    return State(shape, origin, grid, block, warp_lanes, observer, exists, [UNBOUND] * program.slots,
                 [None] * program.slots, *limits, tick, exists, exists)  # fmt: skip


def _batches(program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], warp_lanes: int, shared: int,
             budget: float | None) -> Any:  # fmt: skip
    """(origin, shape) of each batch, both z first. With a budget, samples once it is clear that it will not do."""
    lanes = -(-math.prod(block) // warp_lanes) * warp_lanes
    memory = shared + lanes * program.bytes_of("local")
    blocks = max(1, min(LANES_PER_BATCH // lanes, BYTES_PER_BATCH // max(memory, 1)))
    gx, gy, gz = grid
    bx = min(gx, blocks)
    by = min(gy, max(1, blocks // bx)) if bx == gx else 1
    bz = min(gz, max(1, blocks // (bx * by))) if bx == gx and by == gy else 1
    counts = (-(-gz // bz), -(-gy // by), -(-gx // bx))
    total = math.prod(counts)

    def batch(number: int) -> tuple[tuple[int, int, int], Shape]:
        z, y, x = (int(n) for n in np.unravel_index(number, counts))
        origin = (z * bz, y * by, x * bx)
        return origin, (min(bz, gz - origin[0]), min(by, gy - origin[1]), min(bx, gx - origin[2]), lanes)

    started = time.monotonic()
    for number in range(total):
        yield batch(number)
        spent = time.monotonic() - started
        if budget is not None and spent / (number + 1) * total > budget and number + 1 < total:
            yield from _sample(range(number + 1, total), counts, budget, started, batch)
            return


def _sample(
    rest: range, counts: tuple[int, int, int], budget: float, started: float, batch: Callable[[int], Any]
) -> Any:
    """The last batch, those at the corners of the grid, then random ones while there is time."""
    corners = [int(np.ravel_multi_index((z, y, x), counts)) for z in {0, counts[0] - 1} for y in {0, counts[1] - 1}
               for x in {0, counts[2] - 1}]  # fmt: skip
    chosen = sorted({number for number in corners if number in rest}, reverse=True)
    for number in chosen:
        yield batch(number)
    others = [number for number in rest if number not in chosen] if len(rest) < 1_000_000 else list(rest[:1_000_000])
    random.Random(0).shuffle(others)
    for number in others:
        if time.monotonic() - started > budget:
            return
        yield batch(number)
