"""What lanes of a warp tell each other, and the functions that the driver provides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.simulator.errors import LaunchError
from course.simulator.machine.fetching import choice, fetch, write
from course.simulator.machine.lanes import State
from course.simulator.machine.masks import lanes_of
from course.simulator.machine.operations import dtype_of
from course.simulator.machine.program import Program, called_name, refused
from course.simulator.machine.ptx import Parameter, Symbol, Vector

__all__ = ["active_mask", "block_vote", "host_call", "match", "passing", "reduce", "shuffle", "vote"]

Step = Callable[[State, Any], None]


def _warps(value: Any, state: State) -> Any:
    """(..., warps, 32) from a value of the lanes."""
    return np.broadcast_to(value, state.shape).reshape(*state.shape[:3], -1, 32)


def _bits(flags: Any) -> Any:
    """A 32-bit number of each warp from a flag of each lane."""
    return (flags.astype(np.uint32) << np.arange(32, dtype=np.uint32)).sum(axis=-1, keepdims=True, dtype=np.uint32)


def _lanes(value: Any, state: State) -> Any:
    return np.broadcast_to(value, (*value.shape[:-1], 32)).reshape(state.shape)


def shuffle(program: Program, index: int) -> Step:
    """``shfl.sync``: a lane reads another lane's register."""
    instruction = program.instructions[index]
    mode = choice(instruction, "up", "down", "bfly", "idx")
    target, source, distance, control = instruction.operands[:4]
    get = fetch(program, index, source, "b32")
    far, clamp = fetch(program, index, distance, "u32"), fetch(program, index, control, "u32")
    put = write(program, index, target)
    put_valid = write(program, index, instruction.second) if instruction.second is not None else None

    def step(state: State, mask: Any) -> None:
        value, there, limit = (_warps(part, state) for part in (get(state), far(state), clamp(state)))
        lane = np.arange(32)
        there = (there & np.uint32(31)).astype(np.int64)
        segment = ((limit >> np.uint32(8)) & np.uint32(31)).astype(np.int64)
        bound = (limit & np.uint32(31)).astype(np.int64)
        low, high = lane & segment, (lane & segment) | (bound & ~segment)
        if mode == "up":
            wanted = lane - there
            valid = wanted >= high
        elif mode == "down":
            wanted = lane + there
            valid = wanted <= high
        elif mode == "bfly":
            wanted = lane ^ there
            valid = wanted <= high
        else:
            wanted = low | (there & ~segment)
            valid = wanted <= high
        wanted = np.where(valid, wanted, lane) & 31
        put(state, mask, np.take_along_axis(value, np.broadcast_to(wanted, value.shape), axis=-1).reshape(state.shape))
        if put_valid is not None:
            put_valid(state, mask, np.broadcast_to(valid, value.shape).reshape(state.shape))

    return step


def vote(program: Program, index: int) -> Step:
    """``vote.sync`` among the lanes that are there."""
    instruction = program.instructions[index]
    mode = choice(instruction, "all", "any", "uni", "ballot")
    get, put = fetch(program, index, instruction.operands[1], "pred"), write(program, index, instruction.operands[0])

    def step(state: State, mask: Any) -> None:
        active = _warps(lanes_of(mask, state.shape), state)
        yes = _warps(get(state), state)
        every = (yes | ~active).all(axis=-1, keepdims=True)
        some = (yes & active).any(axis=-1, keepdims=True)
        found = {"all": every, "any": some, "uni": every | ~some}.get(mode)
        put(state, mask, _lanes(_bits(yes & active) if found is None else found, state))

    return step


def active_mask(program: Program, index: int) -> Step:
    """``activemask``: the lanes that are here."""
    put = write(program, index, program.instructions[index].operands[0])

    def step(state: State, mask: Any) -> None:
        put(state, mask, _lanes(_bits(_warps(lanes_of(mask, state.shape), state)), state))

    return step


def match(program: Program, index: int) -> Step:
    """``match.sync``: the lanes with an equal value."""
    instruction = program.instructions[index]
    kind = instruction.modifiers[-1]
    get, put = fetch(program, index, instruction.operands[1], kind), write(program, index, instruction.operands[0])
    put_all = write(program, index, instruction.second) if instruction.second is not None else None
    every = "all" in instruction.modifiers

    def step(state: State, mask: Any) -> None:
        active = _warps(lanes_of(mask, state.shape), state)
        value = _warps(get(state), state)
        equal = (value[..., :, None] == value[..., None, :]) & active[..., None, :]
        found = _bits(equal)[..., 0]
        if every:
            whole = _bits(active)
            same = (found == whole) | ~active
            agree = same.all(axis=-1, keepdims=True)
            put(state, mask, _lanes(np.where(agree, whole, np.uint32(0)), state))
            if put_all is not None:
                put_all(state, mask, _lanes(agree, state))
            return
        put(state, mask, found.reshape(state.shape))

    return step


def reduce(program: Program, index: int) -> Step:
    """``redux.sync``."""
    instruction = program.instructions[index]
    kind = instruction.modifiers[-1]
    name = choice(instruction, "add", "min", "max", "and", "or", "xor")
    dtype = dtype_of(kind)
    if dtype.kind == "f":
        raise refused(instruction)
    get, put = fetch(program, index, instruction.operands[1], kind), write(program, index, instruction.operands[0])
    function = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                "xor": np.bitwise_xor}[name]  # fmt: skip
    info = np.iinfo(dtype)
    neutral = {"add": 0, "min": info.max, "max": info.min, "or": 0, "xor": 0}.get(name)
    start = np.array(-1, np.int64).astype(dtype)[()] if neutral is None else dtype.type(neutral)

    def step(state: State, mask: Any) -> None:
        active = _warps(lanes_of(mask, state.shape), state)
        value = np.where(active, _warps(get(state), state), start)
        put(state, mask, _lanes(function.reduce(value, axis=-1, keepdims=True).astype(dtype), state))

    return step


def block_vote(program: Program, index: int, state: State, mask: Any) -> None:
    """``bar.red``: what the lanes of a block that reached a barrier say, counted or combined."""
    instruction = program.instructions[index]
    says = fetch(program, index, instruction.operands[-1], "pred")(state)
    active = lanes_of(mask, state.shape)
    if "popc" in instruction.modifiers:
        found = (active & says).sum(axis=3, keepdims=True, dtype=np.uint32)
    elif "and" in instruction.modifiers:
        found = (says | ~active).all(axis=3, keepdims=True)
    else:
        found = (says & active).any(axis=3, keepdims=True)
    before, state.protected = state.protected, -1
    write(program, index, instruction.operands[0])(state, mask, found)
    state.protected = before


# ---- calls ---------------------------------------------------------------------------------------------


def passing(program: Program, index: int, name: str) -> Step:
    """The caller's parameters become the function's, and its results the caller's (the same values by place)."""
    instruction, owner = program.instructions[index], program.owners[index]
    function = next(found for found in program.owners if found.name == name)
    vectors = [operand for operand in instruction.operands if isinstance(operand, Vector)]
    place = next(n for n, operand in enumerate(instruction.operands) if isinstance(operand, Symbol))
    results = vectors[0].parts if place > 0 else ()
    given = vectors[-1].parts if len(instruction.operands) > place + 1 else ()

    def paired(ours: Sequence[Any], theirs: Sequence[Parameter]) -> list[tuple[str, str]]:
        both = zip(ours, theirs, strict=True)
        return [(f"{owner.name} {one.name}", f"{name} {two.name}") for one, two in both if isinstance(one, Symbol)]

    pairs, back = paired(given, function.parameters), paired(results, function.results)

    def hand_over(state: State, mask: Any) -> None:
        for ours, theirs in pairs:
            known = state.calls.setdefault(theirs, {})
            for offset, value in state.calls.get(ours, {}).items():
                old = known.get(offset)
                known[offset] = value if mask is None or old is None else np.where(mask, value, old)
        for ours, theirs in back:
            state.calls[ours] = state.calls.setdefault(theirs, {})

    return hand_over


def host_call(program: Program, index: int, name: str) -> Step:
    """A call of a function that the driver has: printing is silent here, a failed assert stops the kernel."""
    line = program.instructions[index].line
    following = index + 1
    assert called_name(program.instructions[index]) == name

    def step(state: State, mask: Any) -> None:
        if name == "__assertfail":
            raise LaunchError(f"line {line}: an assertion failed in the kernel.")
        state.go(following, mask)

    return step
