"""Runs a kernel as compiled, with no GPU: `run(kernel, grid, block, args)`, beside the engine that runs its text."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from course.languages.compiled import Compiled
from course.languages.numba_front_end import compile_numba, pack
from course.languages.sass import Machine, assemble
from course.simulator.access import Observer
from course.simulator.arguments import typed
from course.simulator.device import Addresses, DeviceArray
from course.simulator.launch import MAX_STEPS, RunInfo
from course.simulator.machine.engine import Argument, Code, compile_program
from course.simulator.machine.engine import run as run_code
from course.simulator.machine.program import prepare
from course.simulator.machine.ptx import parse
from course.simulator.machine.rewrites import MachineAccess, Rewrite, rewrite

__all__ = ["Built", "build", "run"]

_GAP = 1 << 20
"""Bytes between two arrays, so that an index past the end of one does not reach the next."""


@dataclass(frozen=True)
class Built:
    """A compiled kernel, ready to run."""

    code: Code
    machine: Machine
    rewrites: tuple[Rewrite, ...]
    """What the assembler did to shared and local accesses."""

    @property
    def gone(self) -> frozenset[int]:
        """Numbers of the access sites that the machine code no longer has: joined to another, or dropped."""
        program = self.code.program
        without = {index for index, told in program.telling.items() if told is None}
        return frozenset(site.index for (index, _), site in program.site_of.items() if index in without)


@functools.lru_cache(maxsize=64)
def build(compiled: Compiled) -> Built:
    """The steps of a compiled kernel, with the accesses that its machine code has (remembered)."""
    pointers = {p.declared.name: p.argument for p in compiled.parameters if p.part == "data"}
    program = prepare(parse(compiled.ptx), compiled.entry, pointers)
    machine = assemble(compiled.ptx, compiled.cc, compiled.max_registers, compiled.entry)
    rewrites = rewrite(program, _private_accesses(machine))
    return Built(compile_program(program), machine, rewrites)


_PRIVATE = {"LDS", "STS", "LDL", "STL"}
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def _private_accesses(machine: Machine) -> Iterator[MachineAccess]:
    for one in machine.instructions:
        if one.operation in _PRIVATE and one.ptx_line is not None:
            size = next((_BYTES[part] for part in one.opcode.split(".") if part in _BYTES), 4)
            yield MachineAccess(one.ptx_line, size, str(one))


def run(
    kernel: Any,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    *,
    cc: tuple[int, int] = (9, 0),
    observer: Observer | None = None,
    warp_lanes: int = 32,
    shared_bytes: int = 0,
    budget: float | None = None,
    max_steps: int = MAX_STEPS,
    progress: Callable[[int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> RunInfo:
    """Run a numba.cuda kernel as NVIDIA's compiler writes it for compute capability `cc`.

    The arguments are those of `course.simulator.source.run`. Host arrays are changed when the launch has ended.

    Raises NoCompilerError where the compiler is missing, UnsupportedKernel for an instruction that does not run here,
    and otherwise what a launch raises.
    """
    compiled = compile_numba(kernel, args, cc)
    names = [*dict.fromkeys(parameter.argument for parameter in compiled.parameters)]
    values, _ = typed(args, names) if len(names) == len(args) else (list(args), None)
    arrays: list[Argument] = []
    give_back: list[Callable[[], None]] = []
    addresses = Addresses()
    for name, value in zip(names, values, strict=False):
        if isinstance(value, DeviceArray):
            arrays.append(Argument(name, value.address, value.buffer))
            if value.origin is not None:
                give_back.append(partial(value.origin.copy_to_device, value.host_array))
        elif isinstance(value, np.ndarray):
            work = value.copy(order="K")
            arrays.append(Argument(name, addresses.take(work.nbytes + _GAP), work))
            if value.flags.writeable:
                give_back.append(partial(np.copyto, value, work))
    places = {a.name: a.address for a in arrays}
    for name, value in zip(names, values, strict=False):
        if isinstance(value, DeviceArray):
            places[name] = value.device_address
    parameters = b""
    for parameter, number in zip(compiled.parameters, pack(compiled, kernel, values, places), strict=True):
        parameters += bytes(-len(parameters) % parameter.declared.align) + number.tobytes()
    info = run_code(
        build(compiled).code, grid, block, parameters, arrays, kernel=compiled.name,
        filename=Path(compiled.filename).name, source=compiled.lines, first_line=compiled.first_line,
        observer=observer, warp_lanes=warp_lanes, shared_bytes=shared_bytes, budget=budget, max_steps=max_steps,
        progress=progress, clock=clock,
    )  # fmt: skip
    for back in give_back:
        back()
    return info
