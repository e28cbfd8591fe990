"""Turns a program into steps and runs them: all lanes of a batch together, those at the lowest place first.

Loops and early returns reconverge by themselves that way, as on the card. Lanes at a block barrier wait until no lane
of the batch can go on. Every step is a small function of the lanes; what it needs is worked out before the launch.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.simulator.access import ArrayInfo, Batch, Finding, Launch, Observer
from course.simulator.batches import batches
from course.simulator.errors import LaunchError
from course.simulator.launch import MAX_STEPS, RunInfo, check_launch, check_memory, check_warp, dimensions
from course.simulator.machine import exchanges
from course.simulator.machine.fetching import addresses_of, condition, fetch
from course.simulator.machine.lanes import State
from course.simulator.machine.masks import either, split
from course.simulator.machine.memory import Memory, Region
from course.simulator.machine.program import BARRIERS, ENDS, HOST_CALLS, Program, called_name, refused, target, targets
from course.simulator.machine.stepping import step_of

__all__ = ["Argument", "Code", "compile_program", "run"]

Step = Callable[[State, Any], None]


@dataclass(frozen=True)
class Argument:
    """An array of a launch: its bytes at a device address."""

    name: str
    address: int
    array: Any
    """The NumPy array whose memory is read and written, one contiguous piece."""


@dataclass
class Straight:
    """A basic block: its steps, and what the lanes do at its end."""

    steps: list[Step]
    end: Callable[[State, Any], None]
    lines: list[tuple[int, tuple[int, int, int], int]]
    """(line, floating-point operations of a lane, instructions)."""
    line: int


@dataclass
class Code:
    """A program ready to run."""

    program: Program
    blocks: dict[int, Straight]


def compile_program(program: Program) -> Code:
    """Work out the steps. Raises UnsupportedKernel, with the line, for an instruction that does not run here."""
    blocks = {}
    for first, block in program.blocks.items():
        steps: list[Step] = []
        flops: dict[int, list[int]] = {}
        counts: Counter[int] = Counter()
        end: Callable[[State, Any], None] | None = None
        for index in range(first, block.end):
            instruction = program.instructions[index]
            counts[instruction.line] += 1
            if instruction.opcode in ENDS or instruction.opcode in BARRIERS:
                end = _ending(program, index)
                continue
            step, cost = step_of(program, index)
            if step is not None:
                steps.append(step)
            sums = flops.setdefault(instruction.line, [0, 0, 0])
            for place in range(3):
                sums[place] += cost[place]
        if end is None:
            following = block.end

            def end(state: State, mask: Any, following: int = following) -> None:
                state.go(following, mask)

        none = (0, 0, 0)
        lines = [(line, tuple(flops.get(line, none)), count) for line, count in counts.items()]
        blocks[first] = Straight(steps, end, lines, program.instructions[first].line)  # type: ignore[arg-type]
    return Code(program, blocks)


# ---- what follows a block ------------------------------------------------------------------------------


def _ending(program: Program, index: int) -> Callable[[State, Any], None]:
    instruction = program.instructions[index]
    owner, following = program.owners[index], index + 1
    guard = condition(program, index)

    def when(go: Callable[[State, Any], None]) -> Callable[[State, Any], None]:
        """`go` for the lanes that the guard lets through; the others go on behind."""
        if guard is None:
            return go

        def choose(state: State, mask: Any) -> None:
            yes, no = split(mask, guard(state))
            state.go(following, no)
            if yes is not False:
                go(state, yes)

        return choose

    if instruction.opcode == "bra":
        there = target(program, index, instruction.operands[0].name)  # type: ignore[union-attr]
        return when(lambda state, mask: state.go(there, mask))
    if instruction.opcode == "brx":
        return when(_switch(program, index))
    if instruction.opcode == "call":
        return when(_call(program, index))
    if instruction.opcode == "ret" and not owner.is_entry:
        return when(lambda state, mask: _return(state, owner.name, mask))
    if instruction.opcode == "trap":

        def stop(state: State, mask: Any) -> None:
            raise LaunchError(f"line {instruction.line}: the kernel stopped itself (trap), as a failed assert does.")

        return when(stop)
    if instruction.opcode in ("ret", "exit"):
        return when(lambda state, mask: state.leave(mask))
    return _barrier(program, index, when)


def _switch(program: Program, index: int) -> Callable[[State, Any], None]:
    places = targets(program, index)
    get = fetch(program, index, program.instructions[index].operands[0], "u32")

    def choose(state: State, mask: Any) -> None:
        which = get(state)
        for number, place in enumerate(places):
            yes, mask = split(mask, np.asarray(which == number))
            state.go(place, yes)
            if mask is False:
                return

    return choose


def _call(program: Program, index: int) -> Callable[[State, Any], None]:
    instruction = program.instructions[index]
    name = called_name(instruction)
    if name in HOST_CALLS:
        return exchanges.host_call(program, index, name)
    start, following = program.starts[name], index + 1
    hand_over = exchanges.passing(program, index, name)

    def call(state: State, mask: Any) -> None:
        hand_over(state, mask)
        old = state.returns.get(name)
        state.returns[name] = np.int64(following) if mask is None or old is None else np.where(mask, following, old)
        state.go(start, mask)

    return call


def _return(state: State, name: str, mask: Any) -> None:
    places = state.returns[name]
    for place in np.unique(places):
        yes, mask = split(mask, np.asarray(places == place))
        state.go(int(place), yes)
        if mask is False:
            return


def _barrier(program: Program, index: int, when: Any) -> Callable[[State, Any], None]:
    instruction, following = program.instructions[index], index + 1
    names = instruction.modifiers
    line = instruction.line
    if "warp" in names:

        def warp(state: State, mask: Any) -> None:
            state.barrier(line, "warp", mask)
            state.go(following, mask)

        return when(warp)  # type: ignore[no-any-return]
    operands = len(instruction.operands)
    if "arrive" in names or (operands > 1 and "red" not in names) or operands > 3:
        raise refused(instruction)

    def wait(state: State, mask: Any) -> None:
        state.waiting[index] = either(state.waiting[index], mask, state.whole) if index in state.waiting else mask

    return when(wait)  # type: ignore[no-any-return]


def _release(state: State, program: Program) -> None:
    """Nobody can go on: whoever waits at a barrier passes it."""
    waiting, state.waiting = state.waiting, {}
    for index, mask in waiting.items():
        instruction = program.instructions[index]
        state.barrier(instruction.line, "block", mask)
        if "red" in instruction.modifiers:
            exchanges.block_vote(program, index, state, mask)
        state.go(index + 1, mask)
    state.epoch += 1


# ---- a launch ------------------------------------------------------------------------------------------


def run(
    code: Code,
    grid: Any,
    block: Any,
    parameters: bytes,
    arrays: Sequence[Argument],
    *,
    kernel: str,
    filename: str,
    source: Sequence[str],
    first_line: int,
    observer: Observer | None = None,
    warp_lanes: int = 32,
    shared_bytes: int = 0,
    budget: float | None = None,
    max_steps: int = MAX_STEPS,
    progress: Callable[[int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> RunInfo:
    """Run a compiled kernel.

    parameters: the bytes of the kernel's parameter space, with device addresses for pointers.
    arrays: what those addresses point to; their memory is changed in place.
    kernel, filename, source, first_line: the text that the lines of findings and counts belong to.
    The rest is as for the engine of the source (`course.simulator.source.run`).

    Raises LaunchConfigurationError before any thread runs, LaunchError when the kernel is stopped.
    """
    started = clock()
    program = code.program
    grid3, block3 = dimensions("grid", grid), dimensions("block", block)
    check_launch(grid3, block3)
    check_warp(warp_lanes)
    static = program.static_shared
    dynamic_at = -(-static // 16) * 16 if shared_bytes else static
    check_memory(kernel, static, shared_bytes, program.local_bytes, 0)
    regions = _regions(program, arrays)
    infos = [ArrayInfo(a.name, "global", a.address, a.array.nbytes, a.array.dtype, a.array.shape) for a in arrays]
    for variable in program.variables.values():
        if variable.space == "shared":
            at, size = program.shared[variable.name], variable.size
            infos.append(ArrayInfo(variable.name, "shared", dynamic_at if at < 0 else at,
                                   shared_bytes if at < 0 else size, np.dtype(np.uint8), (size,)))  # fmt: skip
    launch = Launch(kernel, filename, tuple(source), first_line, grid3, block3, warp_lanes, tuple(program.sites),
                    tuple(infos), dynamic_at + shared_bytes)  # fmt: skip
    findings: dict[Any, Finding] = {}
    total, done = math.prod(grid3), 0
    if observer is not None:
        observer.begin(launch)
    raw = np.frombuffer(bytearray(parameters + bytes(16)), np.uint8)
    threads = math.prod(block3)
    try:
        for origin, shape in batches(grid3, block3, warp_lanes, dynamic_at + shared_bytes, program.local_bytes, budget,
                                     clock):  # fmt: skip
            before = done

            def tick(done: int = before) -> None:
                if progress is not None:
                    progress(done, total)

            whole = (np.arange(shape[3]) < threads).reshape(1, 1, 1, -1) if threads < shape[3] else None
            memory = Memory(regions, shape, dynamic_at + shared_bytes, program.local_bytes)
            state = State(shape, origin, grid3, block3, warp_lanes, memory, observer, whole,
                          [None] * len(program.widths), max_steps, tick, findings)  # fmt: skip
            state.calls[program.entry.name] = raw
            state.dynamic_at = dynamic_at
            if observer is not None:
                observer.batch(Batch(origin, shape, whole))
            with np.errstate(all="ignore"):
                _take_through(code, state)
            done += math.prod(shape[:3])
            tick(done)
    finally:
        if observer is not None:
            observer.end()
    return RunInfo(launch, tuple(findings.values()), done, total, clock() - started)


def _take_through(code: Code, state: State) -> None:
    """Run a batch to its end."""
    program, blocks = code.program, code.blocks
    needed = {first: block.needed for first, block in program.blocks.items()}
    state.go(program.starts[program.entry.name], state.whole)
    while True:
        if not state.runnable:
            if not state.waiting:
                return
            _release(state, program)
        place = min(state.runnable)
        mask = state.runnable.pop(place)
        if place not in blocks:  # behind the last instruction
            state.leave(mask)
            continue
        state.protected = 0
        for other in (*state.runnable, *state.waiting):
            state.protected |= needed.get(other, 0)
        block = blocks[place]
        state.step(block.line)
        for line, flops, count in block.lines:
            state.executed(line, mask, flops, count)
        for step in block.steps:
            step(state, mask)
        block.end(state, mask)


def _regions(program: Program, arrays: Sequence[Argument]) -> tuple[Region, ...]:
    """The arrays, and the module's own variables, as bytes at device addresses."""
    found = [
        Region(
            a.name, a.address, a.array.reshape(-1, order="A").view(np.uint8) if a.array.size else np.empty(0, np.uint8)
        )
        for a in arrays
    ]
    for name, address in addresses_of(program).items():
        variable = program.variables[name]
        content = np.frombuffer(bytearray(variable.initial or bytes(variable.size)), np.uint8)
        for offset, symbol in variable.symbols:
            content[offset : offset + 8] = np.frombuffer(
                int(addresses_of(program).get(symbol, 0)).to_bytes(8, "little"), np.uint8
            )
        found.append(Region(name, address, content))
    return tuple(found)
