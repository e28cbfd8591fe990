"""Runs a kernel: places its arguments, and takes the blocks through it batch by batch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Batch, Finding, Observer, Shape
from course.simulator.batches import batches
from course.simulator.launch import (
    LOOP_SECONDS,
    MAX_STEPS,
    RunInfo,
    check_launch,
    check_limits,
    check_memory,
    check_warp,
    dimensions,
)
from course.simulator.source.compiler.program import Program
from course.simulator.source.failures import from_outside, placed
from course.simulator.source.lanes import UNBOUND, State
from course.simulator.source.placing import described, place
from course.simulator.source.programs import prepare

__all__ = ["run"]


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
    progress: Callable[[int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> RunInfo:
    """Run a kernel in the simulator.

    kernel: a function decorated with @cuda.jit (of course.cuda or numba.cuda), or the plain function.
    grid, block: numbers of blocks and threads, an int or a tuple (x, y, z).
    args: NumPy arrays, DeviceArrays, numbers, tuples of numbers. Host arrays are copied back at the end.
    observer: who is told about every access; None is fastest.
    warp_lanes: 32, or 64 for the teaching model of AMD wavefronts.
    shared_bytes: dynamic shared memory of a block.
    budget: seconds; when the launch would take longer, some blocks are sampled and `sampled` is set.
    max_steps, loop_seconds: iterations of the loops of one batch, and time of one of its loops, after which the
    kernel is taken to be endless. A `for` loop whose end is near enough may take longer.
    progress: called with (blocks done, blocks in all).
    clock: gives the seconds by which `budget` and `loop_seconds` are kept.

    Raises UnsupportedKernel, KernelTypeError and LaunchConfigurationError before any thread runs,
    LaunchError when the kernel is stopped. An interrupt leaves host arrays as they were.
    """
    started = clock()
    grid3, block3 = dimensions("grid", grid), dimensions("block", block)
    check_launch(grid3, block3)
    check_warp(warp_lanes)
    check_limits(shared_bytes, max_steps, budget)
    program, values = prepare(kernel, args, signature)
    static = -(-program.bytes_of("shared") // 16) * 16 if shared_bytes else program.bytes_of("shared")
    local = program.bytes_of("local")
    check_memory(program.source.name, static, shared_bytes, local, program.bytes_of("constant"))
    arguments, views, copies = place(program, values)
    launch = described(program, grid3, block3, warp_lanes, views, static, shared_bytes)
    findings: dict[Any, Finding] = {}
    total, done = math.prod(grid3), 0
    if observer is not None:
        observer.begin(launch)
    try:
        for origin, shape in batches(grid3, block3, warp_lanes, static + shared_bytes, local, budget, clock):
            before = done

            def tick(done: int = before) -> None:
                if progress is not None:
                    with from_outside():
                        progress(done, total)

            limits = (max_steps, loop_seconds, clock)
            state = _state(program, origin, shape, grid3, block3, warp_lanes, observer, limits, tick)
            state.findings = findings
            if any(array.dynamic for array in program.places.values()):
                padded = -(-shared_bytes // 16) * 16
                raw = np.full((*shape[:3], padded), 0xFF, np.uint8)
                state.memory["dynamic shared"] = (raw, shared_bytes, static)
            for slot, value in zip(program.parameter_slots, arguments, strict=True):
                state.variables[slot] = value
                state.written[slot] = None
            if observer is not None:
                observer.batch(Batch(origin, shape, state.exists))
            assert program.body is not None
            with np.errstate(all="ignore"), placed(program, state):
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
    return RunInfo(launch, tuple(findings.values()), done, total, clock() - started)


_Limits = tuple[int, float, Callable[[], float]]
"""max_steps, loop_seconds and clock of `run`."""


def _state(program: Program, origin: tuple[int, int, int], shape: Shape, grid: tuple[int, int, int],
           block: tuple[int, int, int], warp_lanes: int, observer: Observer | None, limits: _Limits,
           tick: Callable[[], None]) -> State:  # fmt: skip
    threads = math.prod(block)
    exists: npt.NDArray[np.bool_] | None = None
    if threads < shape[3]:
        exists = (np.arange(shape[3]) < threads).reshape(1, 1, 1, -1)
    return State(shape, origin, grid, block, warp_lanes, observer, exists, [UNBOUND] * program.slots,
                 [None] * program.slots, *limits, tick, exists, exists)  # fmt: skip
