"""One step for each instruction: fetch the operands, do it, write the result.

Arithmetic comes from `operations`; memory accesses and what lanes tell each other from `accesses` and `exchanges`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from course.simulator.machine import accesses, exchanges
from course.simulator.machine.fetching import address_window, condition, fetch, write
from course.simulator.machine.lanes import State
from course.simulator.machine.masks import split
from course.simulator.machine.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from course.simulator.machine.operations import dtype_of, operation, seen_as, widened
from course.simulator.machine.program import Program, refused
from course.simulator.machine.ptx import Register, Vector, width_of

__all__ = ["step_of"]

Step = Callable[[State, Any], None]
NOTHING = (0, 0, 0)


def step_of(program: Program, index: int) -> tuple[Step | None, tuple[int, int, int]]:
    """The step of an instruction (None: it changes nothing here), and its floating-point operations.

    Raises UnsupportedKernel, with the line, for what does not run.
    """
    instruction = program.instructions[index]
    build = _BUILDERS.get(instruction.opcode)
    if instruction.opcode in _IGNORED:
        return None, NOTHING
    body: Step | None
    if instruction.opcode in _CARRYING and (instruction.opcode.endswith("c") or "cc" in instruction.modifiers):
        body, cost = _extended(program, index), NOTHING
    elif build is not None:
        body, cost = build(program, index), NOTHING
    else:
        found = _arithmetic(program, index)
        if found is None:
            raise refused(instruction)
        body, cost = found
    guard = condition(program, index)
    if guard is None or body is None:
        return body, cost

    def under_guard(state: State, mask: Any) -> None:
        yes, no = split(mask, guard(state))
        if yes is False:
            return
        before = state.protected
        if no is not False:
            state.protected = -1  # lanes of this very place keep their values
        body(state, yes)
        state.protected = before

    return under_guard, cost


_IGNORED = {"prefetch", "prefetchu", "nanosleep", "pmevent", "discard", "applypriority", "griddepcontrol", "brkpt"}
"""Instructions that change no value and no count."""


def _arithmetic(program: Program, index: int) -> tuple[Step, tuple[int, int, int]] | None:
    instruction = program.instructions[index]
    found = operation(instruction)
    if found is None:
        return None
    operands = instruction.operands
    if instruction.opcode == "mov" and any(isinstance(operand, Vector) for operand in operands):
        return _move_parts(program, index), NOTHING
    fetches = [fetch(program, index, operand, kind) for operand, kind in zip(operands[1:], found.sources, strict=False)]
    result = found.result
    if len(fetches) != len(found.sources):
        raise refused(instruction)
    if instruction.second is not None:  # setp p|q
        put, put_second = write(program, index, operands[0]), write(program, index, instruction.second)

        def both(state: State, mask: Any) -> None:
            value = result(*[get(state) for get in fetches])
            put(state, mask, value)
            put_second(state, mask, ~value)

        return both, found.flops
    target = operands[0]
    if not isinstance(target, Register):
        raise refused(instruction)
    number = program.number(program.owners[index], target)
    size = program.widths[number]
    if len(fetches) == 2:
        one, two = fetches

        def pair(state: State, mask: Any) -> None:
            value = result(one(state), two(state))
            state.put(number, mask, value if value.dtype.itemsize >= size else widened(value, size))

        return pair, found.flops

    def step(state: State, mask: Any) -> None:
        value = result(*[get(state) for get in fetches])
        state.put(number, mask, value if value.dtype.itemsize >= size else widened(value, size))

    return step, found.flops


def _move_parts(program: Program, index: int) -> Step:
    """``mov.b64 {lo, hi}, r`` and ``mov.b64 r, {lo, hi}``."""
    instruction = program.instructions[index]
    target, source = instruction.operands
    size = width_of(instruction.modifiers[-1])
    whole = dtype_of(f"b{8 * size}")
    if isinstance(target, Vector):
        part = size // len(target.parts)
        get = fetch(program, index, source, f"b{8 * size}")
        puts = [write(program, index, piece) for piece in target.parts]

        def take_apart(state: State, mask: Any) -> None:
            value = get(state)
            for place, put in enumerate(puts):
                put(state, mask, (value >> whole.type(8 * part * place)).astype(f"u{part}"))

        return take_apart
    assert isinstance(source, Vector)
    part = size // len(source.parts)
    gets = [fetch(program, index, piece, f"b{8 * part}") for piece in source.parts]
    put = write(program, index, target)

    def put_together(state: State, mask: Any) -> None:
        value = whole.type(0)
        for place, get in enumerate(gets):
            value = value | (get(state).astype(whole) << whole.type(8 * part * place))
        put(state, mask, value)

    return put_together


_CARRYING = {"add", "addc", "sub", "subc", "mad", "madc"}


def _extended(program: Program, index: int) -> Step:
    """Arithmetic of several words: ``.cc`` leaves a carry (of a sum) or a borrow, ``addc`` and its like add it."""
    instruction = program.instructions[index]
    kind, names = instruction.modifiers[-1], instruction.modifiers
    size = width_of(kind)
    unsigned = np.dtype(f"u{size}")
    gets = [fetch(program, index, operand, f"u{8 * size}") for operand in instruction.operands[1:]]
    put = write(program, index, instruction.operands[0])
    uses, leaves = instruction.opcode.endswith("c"), "cc" in names
    half = tuple(name for name in names if name in ("lo", "hi"))
    multiply = replace(instruction, opcode="mul", modifiers=(*half, kind), operands=instruction.operands[:3])
    product = operation(multiply) if "mad" in instruction.opcode else None
    less = instruction.opcode.startswith("sub")
    signed = [fetch(program, index, operand, kind) for operand in instruction.operands[1:3]]

    def step(state: State, mask: Any) -> None:
        if product is None:
            one, two = (get(state) for get in gets)
        else:
            one, two = seen_as(product.result(*(get(state) for get in signed)), unsigned), gets[2](state)
        carry = state.carry.astype(unsigned) if uses else unsigned.type(0)
        if less:
            total = one - two
            found = total - carry
            out = (one < two) | (total < carry)
        else:
            total = one + two
            found = total + carry
            out = (total < one) | (found < total)
        if leaves:
            state.carry = np.asarray(out)
        put(state, mask, found)

    return step


# ---- addresses -------------------------------------------------------------------------------------


def _cvta(program: Program, index: int) -> Step:
    """Between the addresses of a space and generic ones."""
    instruction = program.instructions[index]
    window = address_window(next((name for name in instruction.modifiers if name in ("shared", "local")), "global"))
    size = instruction.modifiers[-1]
    get, put = fetch(program, index, instruction.operands[1], size), write(program, index, instruction.operands[0])
    sign = -1 if "to" in instruction.modifiers else 1

    def convert(state: State, mask: Any) -> None:
        value = get(state)
        put(state, mask, value if not window else value + value.dtype.type(window) if sign > 0 else
            value - value.dtype.type(window))  # fmt: skip

    return convert


def _isspacep(program: Program, index: int) -> Step:
    space = program.instructions[index].modifiers[0]
    put, get = write(program, index, program.instructions[index].operands[0]), fetch(
        program, index, program.instructions[index].operands[1], "u64")  # fmt: skip

    def test(state: State, mask: Any) -> None:
        address = get(state)
        shared = (address >= SHARED_WINDOW) & (address < SHARED_WINDOW + WINDOW_BYTES)
        local = (address >= LOCAL_WINDOW) & (address < LOCAL_WINDOW + WINDOW_BYTES)
        found = {"shared": shared, "local": local, "global": ~shared & ~local}
        put(state, mask, found.get(space, np.zeros_like(shared)))

    return test


def _fence(program: Program, index: int) -> Step:
    line = program.instructions[index].line
    return lambda state, mask: state.barrier(line, "fence", mask)


_BUILDERS: dict[str, Callable[[Program, int], Step | None]] = {
    "ld": accesses.load, "ldu": accesses.load, "st": accesses.store, "atom": accesses.atomic, "red": accesses.atomic,
    "cvta": _cvta, "isspacep": _isspacep, "membar": _fence, "fence": _fence,
    "shfl": exchanges.shuffle, "vote": exchanges.vote, "match": exchanges.match, "activemask": exchanges.active_mask,
    "redux": exchanges.reduce,
}  # fmt: skip
