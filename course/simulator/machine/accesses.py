"""Loads, stores and atomics: which lanes read and write what, and what observers are told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.simulator.access import Site
from course.simulator.errors import MisalignedAddress
from course.simulator.machine.fetching import address_of, fetch, write
from course.simulator.machine.lanes import State
from course.simulator.machine.masks import lanes_of, split
from course.simulator.machine.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, outside
from course.simulator.machine.operations import dtype_of
from course.simulator.machine.program import Program, parameter_of, refused
from course.simulator.machine.ptx import Address, Instruction, Symbol, Vector, width_of

__all__ = ["atomic", "load", "store"]

Step = Callable[[State, Any], None]
_SPACES = ("global", "shared", "local", "const")
_REMEDY = "Guard the access, as in `if i < x.size:`."


def _spaces(instruction: Instruction) -> str | None:
    """The space that an instruction names; None for a generic address."""
    return next((name for name in _SPACES if name in instruction.modifiers), None)


def _each_space(state: State, space: str | None, addresses: Any, mask: Any) -> Any:
    """(space, addresses in it, lanes) of an access; a generic one may reach several."""
    if space is not None:
        yield "constant" if space == "const" else space, addresses, mask
        return
    for name, window in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
        inside = (addresses >= window) & (addresses < window + WINDOW_BYTES)
        if inside.any():
            here, mask = split(mask, inside if inside.size > 1 else inside.reshape(-1)[0])
            if here is not False:
                yield name, addresses - window, here
            if mask is False:
                return
    yield "global", addresses, mask


def _check_aligned(state: State, site: Site, addresses: Any, size: int, mask: Any) -> None:
    if size == 1:
        return
    odd = (addresses & (size - 1)) != 0
    if not odd.any():
        return
    wrong = lanes_of(mask, state.shape) & odd
    if wrong.any():
        said = f"{size} bytes of {site.array} are accessed at an address that is no multiple of {size}."
        state.report(
            "misaligned", site.line, wrong, lambda _: said, f"Start at a multiple of {size} bytes.", site.array
        )
        raise MisalignedAddress(
            f"line {site.line}: misaligned address (CUDA_ERROR_MISALIGNED_ADDRESS): an access of {size} bytes to "
            f"{site.array} needs an address that is a multiple of {size}."
        )


def _report_outside(state: State, site: Site, addresses: Any, size: int, wrong: Any) -> None:
    spread = np.broadcast_to(addresses, state.shape)

    def message(first: int) -> str:
        address = int(spread[np.unravel_index(first, state.shape)])
        does = "reads" if site.kind == "load" else "writes"
        if site.space in ("shared", "local"):
            limit = state.memory.sizes[site.space]
            return f"A thread {does} byte {address} of {site.space} memory, which has {limit} bytes."
        near, at = outside(address, state.memory.regions)
        if near is None:
            return f"A thread {does} at address {address:#x}, where there is no array."
        return f"A thread {does} byte {at} of {near.name}, which has {len(near.buffer)} bytes."

    state.report("out-of-bounds", site.line, wrong, message, _REMEDY, site.array)


# ---- loads and stores -----------------------------------------------------------------------------------


def load(program: Program, index: int) -> Step:
    """``ld``, of one element or of two to eight neighbours."""
    instruction = program.instructions[index]
    if "param" in instruction.modifiers:
        return _load_parameter(program, index)
    target, source = instruction.operands[:2]
    assert isinstance(source, Address)
    puts = [write(program, index, part) for part in (target.parts if isinstance(target, Vector) else (target,))]
    dtype = dtype_of(instruction.modifiers[-1])
    get, said, size = address_of(program, index, source), _spaces(instruction), dtype.itemsize
    told = program.telling.get(index, (0, size * len(puts), ()))

    def step(state: State, mask: Any) -> None:
        for space, addresses, lanes in _each_space(state, said, get(state), mask):
            site = program.site_of[index, space]
            _check_aligned(state, site, addresses, size * len(puts), lanes)
            if told is not None:
                state.tell(site, told[1], addresses + told[0] if told[0] else addresses, lanes)
            for place, put in enumerate(puts):
                values, wrong = state.memory.load(space, addresses + place * size if place else addresses, dtype, lanes)
                if wrong is not None and place == 0:
                    _report_outside(state, site, addresses, size, wrong)
                before = state.protected
                if lanes is not mask:
                    state.protected = -1
                put(state, lanes, values)
                state.protected = before

    return step


def store(program: Program, index: int) -> Step:
    """``st``."""
    instruction = program.instructions[index]
    if "param" in instruction.modifiers:
        return _store_parameter(program, index)
    place_ = instruction.operands[0]
    assert isinstance(place_, Address)
    kind = instruction.modifiers[-1]
    gets = _stored(program, index)
    where, said, size = address_of(program, index, place_), _spaces(instruction), width_of(kind)
    told = program.telling.get(index, (0, size * len(gets), ()))
    all_gets = gets if told is None or not told[2] else [get for member in told[2] for get in _stored(program, member)]

    def step(state: State, mask: Any) -> None:
        for space, addresses, lanes in _each_space(state, said, where(state), mask):
            site = program.site_of[index, space]
            _check_aligned(state, site, addresses, size * len(gets), lanes)
            values = [get(state) for get in gets]
            if told is not None:
                stored = _together(values if all_gets is gets else [get(state) for get in all_gets])
                state.tell(site, told[1], addresses + told[0] if told[0] else addresses, lanes, stored)
            for place, value in enumerate(values):
                wrong = state.memory.store(space, addresses + place * size if place else addresses, value, lanes)
                if wrong is not None and place == 0:
                    _report_outside(state, site, addresses, size, wrong)

    return step


def _stored(program: Program, index: int) -> list[Callable[[State], Any]]:
    """Who fetches what a store writes."""
    instruction = program.instructions[index]
    source = instruction.operands[1]
    return [fetch(program, index, part, instruction.modifiers[-1])
            for part in (source.parts if isinstance(source, Vector) else (source,))]  # fmt: skip


def _together(values: list[Any]) -> Any:
    """What a store writes, as one value of each lane."""
    if len(values) == 1:
        return values[0].reshape(1, 1, 1, 1) if values[0].ndim == 0 else values[0]
    spread = np.broadcast_arrays(*(v.reshape(1, 1, 1, 1) if v.ndim == 0 else v for v in values))
    stacked = np.ascontiguousarray(np.stack(spread, axis=-1))
    return stacked.view([("parts", stacked.dtype, (len(values),))])[..., 0]


# ---- parameters ----------------------------------------------------------------------------------------


def _load_parameter(program: Program, index: int) -> Step:
    """``ld.param``: the kernel's arguments are bytes, the same for all; those of a call are values of the lanes."""
    instruction, owner = program.instructions[index], program.owners[index]
    target, source = instruction.operands[:2]
    assert isinstance(source, Address)
    puts = [write(program, index, part) for part in (target.parts if isinstance(target, Vector) else (target,))]
    dtype = dtype_of(instruction.modifiers[-1])
    if not isinstance(source.base, Symbol):  # a pointer into the parameters, which nobody else has
        raise refused(instruction)
    parameter = parameter_of(owner, source.base.name)
    if parameter is None:
        raise refused(instruction)
    at = parameter.offset + source.offset
    if owner.is_entry and parameter in owner.parameters:

        def argument(state: State, mask: Any) -> None:
            raw = state.calls[owner.name]
            for place, put in enumerate(puts):
                start = at + place * dtype.itemsize
                put(state, mask, raw[start : start + dtype.itemsize].view(dtype)[0])

        return argument
    key = f"{owner.name} {source.base.name}"

    def handed(state: State, mask: Any) -> None:
        known = state.calls.get(key, {})
        for place, put in enumerate(puts):
            value = known.get(source.offset + place * dtype.itemsize)
            put(state, mask, dtype.type(0) if value is None else value)

    return handed


def _store_parameter(program: Program, index: int) -> Step:
    instruction, owner = program.instructions[index], program.owners[index]
    place_, source = instruction.operands[:2]
    if not (isinstance(place_, Address) and isinstance(place_.base, Symbol)):
        raise refused(instruction)
    kind = instruction.modifiers[-1]
    gets = [fetch(program, index, part, kind) for part in (source.parts if isinstance(source, Vector) else (source,))]
    key, offset = f"{owner.name} {place_.base.name}", place_.offset

    def hand(state: State, mask: Any) -> None:
        known = state.calls.setdefault(key, {})
        for place, get in enumerate(gets):
            value, old = get(state), known.get(offset + place * width_of(kind))
            known[offset + place * width_of(kind)] = (
                value if mask is None or old is None else np.where(mask, value, old)
            )

    return hand


# ---- atomics -------------------------------------------------------------------------------------------

_ACCUMULATES: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def atomic(program: Program, index: int) -> Step:
    """``atom`` and ``red``: lanes one after the other, in order of their number."""
    instruction = program.instructions[index]
    returns = instruction.opcode == "atom"
    operands = instruction.operands[1:] if returns else instruction.operands
    address = operands[0]
    assert isinstance(address, Address)
    kind = instruction.modifiers[-1]
    dtype = dtype_of(kind)
    names = set(instruction.modifiers)
    name = next((n for n in ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec") if n in names), None)
    if name is None or kind.endswith("x2") or kind == "bf16" or any(isinstance(o, Vector) for o in operands):
        raise refused(instruction)
    where, said = address_of(program, index, address), _spaces(instruction)
    gets = [fetch(program, index, operand, kind) for operand in operands[1:]]
    put = write(program, index, instruction.operands[0]) if returns else None

    def step(state: State, mask: Any) -> None:
        for space, addresses, lanes in _each_space(state, said, where(state), mask):
            site = program.site_of[index, space]
            _check_aligned(state, site, addresses, dtype.itemsize, lanes)
            state.tell(site, dtype.itemsize, addresses, lanes)
            active = lanes_of(lanes, state.shape)
            values = [np.broadcast_to(get(state), state.shape)[active] for get in gets]
            old = np.zeros(state.shape, dtype)
            wrong = np.zeros(state.shape, bool)
            for flat, places, here in _targets(state, space, addresses, dtype, active):
                chosen = here[active]
                old[here] = _one_after_another(flat, places[here], [v[chosen] for v in values], name)
                wrong |= here
            wrong = active & ~wrong
            if wrong.any():
                _report_outside(state, site, addresses, dtype.itemsize, wrong)
            if put is not None:
                before = state.protected
                if lanes is not mask:
                    state.protected = -1
                put(state, lanes, old)
                state.protected = before

    return step


def _targets(state: State, space: str, addresses: Any, dtype: np.dtype[Any], active: Any) -> Any:
    """(memory as elements, element of each lane, lanes) of each array that is reached."""
    memory, size = state.memory, dtype.itemsize
    spread = np.broadcast_to(addresses, state.shape)
    if space in memory.private:
        raw = memory.private[space]
        inside = active & (spread >= 0) & (spread + size <= memory.sizes[space])
        if inside.any():
            yield raw.reshape(-1).view(dtype), memory.rows(space) * (raw.shape[1] // size) + spread // size, inside
        return
    for region in memory.regions:
        inside = active & (spread >= region.address) & (spread + size <= region.address + len(region.buffer))
        if inside.any():
            whole = region.buffer[: len(region.buffer) // size * size].view(dtype)
            yield whole, (spread - region.address) // size, inside


def _one_after_another(flat: Any, places: Any, values: list[Any], name: str) -> Any:
    """Do the lanes' operations in their order; returns what each found."""
    old = np.empty(len(places), flat.dtype)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, np.int64)
    sizes = np.diff(np.r_[first, len(ordered)])
    if name in _ACCUMULATES and len(first) < int(sizes.max(initial=0)):
        function = _ACCUMULATES[name]
        given = values[0][order]
        for start, size in zip(first.tolist(), sizes.tolist(), strict=True):
            place = ordered[start]
            chain = function.accumulate(np.r_[flat[place : place + 1], given[start : start + size]])
            old[order[start : start + size]] = chain[:-1]
            flat[place] = chain[-1]
        return old
    for turn in range(int(sizes.max(initial=0))):
        who = order[first[sizes > turn] + turn]
        now = flat[places[who]]
        old[who] = now
        flat[places[who]] = _changed(name, now, [value[who] for value in values])
    return old


def _changed(name: str, now: Any, values: list[Any]) -> Any:
    if name in _ACCUMULATES:
        if now.dtype.kind == "f" and name in ("min", "max"):
            return (np.fmin if name == "min" else np.fmax)(now, values[0])
        return _ACCUMULATES[name](now, values[0])
    if name == "exch":
        return values[0]
    if name == "cas":
        return np.where(now == values[0], values[1], now)
    one = now.dtype.type(1)
    if name == "inc":
        return np.where(now >= values[0], now.dtype.type(0), now + one)
    return np.where((now == 0) | (now > values[0]), values[0], now - one)
