"""How an instruction gets its operands and where its result goes, worked out once before the launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.simulator.errors import UnsupportedKernel
from course.simulator.machine.lanes import State
from course.simulator.machine.memory import LOCAL_WINDOW, SHARED_WINDOW
from course.simulator.machine.operations import dtype_of, seen_as, widened
from course.simulator.machine.program import Program, refused
from course.simulator.machine.ptx import Address, Constant, Instruction, Register, Special, Symbol

__all__ = ["address_of", "address_window", "addresses_of", "choice", "condition", "fetch", "write"]

Fetch = Callable[[State], Any]
_VARIABLES_AT = 0x2000_0000_0000
"""Device address of a module's global and constant variables."""


def choice(instruction: Instruction, *names: str) -> str:
    """Which of some modifiers an instruction has. Raises UnsupportedKernel where it has none of them."""
    for name in names:
        if name in instruction.modifiers:
            return name
    raise refused(instruction)


def address_window(space: str) -> int:
    """Where a space begins in the generic address space."""
    return {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)


def addresses_of(program: Program) -> dict[str, int]:
    """Device address of each global and constant variable."""
    found, at = {}, _VARIABLES_AT
    for variable in program.variables.values():
        if variable.space in ("global", "const") and variable.size:
            found[variable.name] = at
            at += -(-variable.size // 256) * 256 + 256
    return found


def fetch(program: Program, index: int, operand: Any, kind: str) -> Fetch:
    """The values of an operand, seen as a PTX type."""
    dtype = dtype_of(kind)
    if isinstance(operand, Register):
        number = program.number(program.owners[index], operand)
        negated = operand.negated

        def register(state: State) -> Any:
            value = state.registers[number]
            if value is None:  # never written: any value will do
                value = dtype.type(0)
            elif value.dtype != dtype:
                value = seen_as(value, dtype)
            return ~value if negated else value

        return register
    if isinstance(operand, Constant):
        value = operand.value
        if isinstance(value, int):
            size = dtype.itemsize
            raw = np.array(value & (1 << 8 * size) - 1, f"u{size}")
            found = np.bool_(value) if dtype == np.bool_ else raw.view(dtype)[()]
        else:
            found = seen_as(value, dtype)
        return lambda state: found
    if isinstance(operand, Special):
        name = operand.name

        def special(state: State) -> Any:
            known = state.returns.get(name)
            if known is None or name.startswith(("%clock", "%global")):
                known = state.returns[name] = state.special(name)
            return widened(seen_as(known, dtype), dtype.itemsize) if known.dtype.itemsize >= dtype.itemsize else (
                known.astype(dtype))  # fmt: skip

        return special
    if isinstance(operand, Symbol):
        if operand.name not in program.variables:
            raise refused(program.instructions[index])
        return _symbol(program, operand, dtype)
    raise UnsupportedKernel(f"line {program.instructions[index].line}: the operand {operand} is not understood.")


def _symbol(program: Program, symbol: Symbol, dtype: np.dtype[Any]) -> Fetch:
    """The address of a variable in its own space."""
    if symbol.name in program.shared:
        at = program.shared[symbol.name]
        if at < 0:
            return lambda state: dtype.type(state.dynamic_at + symbol.offset)
        return lambda state: dtype.type(at + symbol.offset)
    known = {**program.local, **addresses_of(program)}
    if symbol.name in known:
        return lambda state: dtype.type(known[symbol.name] + symbol.offset)
    return lambda state: dtype.type(0)  # a format or file name that nobody reads


def address_of(program: Program, index: int, operand: Address) -> Fetch:
    """Byte addresses of an access, int64, on at least the four axes of the lanes."""
    base = operand.base
    kind = "u64"
    if isinstance(base, Register):
        number = program.number(program.owners[index], base)
        kind = "u64" if program.widths[number] == 8 else "u32"
    get, offset = fetch(program, index, base, kind), np.int64(operand.offset)

    def addresses(state: State) -> Any:
        value = get(state).astype(np.int64)
        if offset:
            value = value + offset
        return value.reshape(1, 1, 1, 1) if value.ndim == 0 else value

    return addresses


def condition(program: Program, index: int) -> Fetch | None:
    """The guard of an instruction."""
    guard = program.instructions[index].guard
    return None if guard is None else fetch(program, index, guard, "pred")


def write(program: Program, index: int, operand: Any) -> Callable[[State, Any, Any], None]:
    """Who writes a result."""
    if not isinstance(operand, Register):
        raise UnsupportedKernel(f"line {program.instructions[index].line}: {operand} is no place for a result.")
    if operand.name == "_":
        return lambda state, mask, value: None
    number = program.number(program.owners[index], operand)
    size = program.widths[number]

    def put(state: State, mask: Any, value: Any) -> None:
        state.put(number, mask, widened(value, size))

    return put
