"""A PTX function made ready to run: numbered registers, basic blocks, which registers are still needed where, sites.

All functions that a kernel calls lie behind one another in one list of instructions, so that a place in the program is
one number, and "the lanes with the lowest number go first" holds across calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from course.simulator.access import Kind, Site, Space
from course.simulator.errors import UnsupportedKernel
from course.simulator.machine.ptx import (
    Address,
    Function,
    Instruction,
    Module,
    Parameter,
    Register,
    Symbol,
    Variable,
    Vector,
    width_of,
)

__all__ = ["Block", "Program", "prepare"]

ENDS = {"bra", "brx", "ret", "exit", "call", "trap"}
"""Opcodes after which another instruction than the next may follow."""
BARRIERS = {"bar", "barrier"}
_MEMORY = {"ld": "load", "ldu": "load", "st": "store", "atom": "atomic", "red": "atomic"}
SPACES = ("global", "shared", "local", "const", "param")


@dataclass
class Block:
    """Instructions that run one after the other: [first, end)."""

    first: int
    end: int
    successors: tuple[int, ...] = ()
    needed: int = 0
    """Registers that are read before they are written, from here on: a bit each."""


@dataclass
class Program:
    """A kernel and the functions that it calls."""

    entry: Function
    variables: dict[str, Variable]
    instructions: list[Instruction] = field(default_factory=list)
    owners: list[Function] = field(default_factory=list)
    """Function of each instruction."""
    starts: dict[str, int] = field(default_factory=dict)
    """Function -> its first instruction."""
    blocks: dict[int, Block] = field(default_factory=dict)
    registers: dict[tuple[str, str], int] = field(default_factory=dict)
    """(function, register) -> number."""
    widths: list[int] = field(default_factory=list)
    """Bytes of each register."""
    sites: list[Site] = field(default_factory=list)
    site_of: dict[tuple[int, str], Site] = field(default_factory=dict)
    """(instruction, space) -> site."""
    shared: dict[str, int] = field(default_factory=dict)
    """Shared variable -> first byte; ``extern`` ones start behind the static ones."""
    local: dict[str, int] = field(default_factory=dict)
    static_shared: int = 0
    local_bytes: int = 0
    telling: dict[int, tuple[int, int, tuple[int, ...]] | None] = field(default_factory=dict)
    """What observers are told of an access that the assembler changed: nothing (None), or a wider access, as (bytes
    from this one's address to its first, its size, the instructions that it does)."""

    def number(self, function: Function, register: Register) -> int:
        """Number of a register of a function."""
        return self.registers[function.name, register.name]


def prepare(module: Module, entry: str | None = None, arrays: dict[str, str] | None = None) -> Program:
    """Make a kernel ready. `arrays`: name of the array that each parameter of the kernel points to.

    Raises UnsupportedKernel for recursion, and for calls of functions that are not in the module.
    """
    kernel = module.entry(entry)
    program = Program(kernel, dict(module.variables))
    for function in _called(module, kernel):
        _append(program, function)
    _place_variables(program)
    _find_blocks(program)
    _find_sites(program, arrays or {})
    return program


def refused(instruction: Instruction) -> UnsupportedKernel:
    """The sentence about an instruction that does not run."""
    return UnsupportedKernel(
        f"line {instruction.line}: the compiler wrote the instruction {instruction.name} (line {instruction.ptx_line} "
        "of its PTX), which the machine engine does not run."
    )


def _called(module: Module, kernel: Function) -> list[Function]:
    """The kernel and what it calls, each once. A PTX register has one value, so recursion is refused."""
    found: list[Function] = []

    def visit(function: Function, path: tuple[str, ...]) -> None:
        if function.name in path:
            raise UnsupportedKernel(f"{function.name} calls itself: recursion does not run in the machine engine.")
        if function in found:
            return
        found.append(function)
        for instruction in function.instructions:
            if instruction.opcode == "call":
                name = called_name(instruction)
                if name in HOST_CALLS:
                    continue
                callee = module.functions.get(name)
                if callee is None or not callee.instructions:
                    raise UnsupportedKernel(
                        f"line {instruction.line}: the function {name} is called, and its text is not there."
                    )
                visit(callee, (*path, function.name))

    visit(kernel, ())
    return found


HOST_CALLS = {"vprintf", "__assertfail"}
"""Functions that the driver provides."""


def called_name(instruction: Instruction) -> str:
    """Whom a ``call`` calls."""
    for operand in instruction.operands:
        if isinstance(operand, Symbol):
            return operand.name
    raise UnsupportedKernel(f"line {instruction.line}: a call through a pointer does not run in the machine engine.")


def _append(program: Program, function: Function) -> None:
    start = program.starts[function.name] = len(program.instructions)
    for name, kind in function.registers.items():
        program.registers[function.name, name] = len(program.widths)
        program.widths.append(width_of(kind))
    program.instructions += function.instructions
    program.owners += [function] * len(function.instructions)
    function_end = len(program.instructions)
    for label, index in function.labels.items():
        program.starts[f"{function.name} {label}"] = min(start + index, function_end)
    program.variables.update(function.variables)


def target(program: Program, index: int, label: str) -> int:
    """Instruction that a label of the function at `index` names."""
    place = program.starts.get(f"{program.owners[index].name} {label}")
    if place is None:
        raise UnsupportedKernel(f"line {program.instructions[index].line}: the PTX has no label {label}.")
    return place


def targets(program: Program, index: int) -> list[int]:
    """Instructions that a ``brx`` may go to, in the order of its list."""
    instruction, owner = program.instructions[index], program.owners[index]
    named = instruction.operands[-1]
    table = owner.tables.get(named.name) if isinstance(named, Symbol) else None
    if table is None:
        raise UnsupportedKernel(f"line {instruction.line}: {instruction.name} jumps to places that are not listed.")
    return [target(program, index, label) for label in table]


def _place_variables(program: Program) -> None:
    for space, places in (("shared", program.shared), ("local", program.local)):
        at = 0
        extern = []
        for variable in program.variables.values():
            if variable.space != space:
                continue
            if variable.size == 0:
                extern.append(variable)
                continue
            at = -(-at // variable.align) * variable.align
            places[variable.name] = at
            at += variable.size
        for variable in extern:
            places[variable.name] = -1
        if space == "shared":
            program.static_shared = at
        else:
            program.local_bytes = at


# ---- blocks --------------------------------------------------------------------------------------------


def _find_blocks(program: Program) -> None:
    leaders = {index for index in program.starts.values() if index < len(program.instructions)}
    for index, instruction in enumerate(program.instructions):
        if instruction.opcode in ENDS or instruction.opcode in BARRIERS:
            leaders.add(index + 1)
        if instruction.opcode in BARRIERS:
            leaders.add(index)
    ordered = sorted(leader for leader in leaders if leader < len(program.instructions))
    returns = [index + 1 for index, i in enumerate(program.instructions) if i.opcode == "call"]
    for first, end in zip(ordered, [*ordered[1:], len(program.instructions)], strict=True):
        program.blocks[first] = Block(first, end, _successors(program, end - 1, returns))
    _find_needed(program)


def _successors(program: Program, last: int, returns: list[int]) -> tuple[int, ...]:
    instruction = program.instructions[last]
    following = () if last + 1 >= len(program.instructions) else (last + 1,)
    if instruction.opcode == "bra":
        symbol = instruction.operands[0]
        assert isinstance(symbol, Symbol)
        there = (target(program, last, symbol.name),)
        return (*there, *following) if instruction.guard else there
    if instruction.opcode == "brx":
        return tuple(targets(program, last))
    if instruction.opcode == "call":
        name = called_name(instruction)
        return following if name in HOST_CALLS else (program.starts[name], *following)
    if instruction.opcode == "ret" and not program.owners[last].is_entry:
        return (*returns, *following) if instruction.guard else tuple(returns)
    if instruction.opcode in ("ret", "exit", "trap"):
        return following if instruction.guard else ()
    return following


def reads_and_writes(program: Program, index: int) -> tuple[list[int], list[int]]:
    """Numbers of the registers that an instruction reads, and of those that it writes."""
    instruction, owner = program.instructions[index], program.owners[index]

    def numbers(operand: Any) -> list[int]:
        if isinstance(operand, Register):
            return [] if operand.name == "_" else [program.number(owner, operand)]
        if isinstance(operand, Vector):
            return [number for part in operand.parts for number in numbers(part)]
        if isinstance(operand, Address):
            return numbers(operand.base)
        return []

    operands = list(instruction.operands)
    writes: list[int] = []
    if (instruction.opcode in BARRIERS and "red" in instruction.modifiers) or (
        operands and instruction.opcode not in NO_RESULT and not isinstance(operands[0], Address)
    ):
        writes = numbers(operands.pop(0))
    if instruction.second is not None:
        writes += numbers(instruction.second)
    reads = [number for operand in operands for number in numbers(operand)]
    if instruction.guard is not None:
        reads += numbers(instruction.guard)
    return reads, writes


NO_RESULT = {
    "st", "red", "bra", "brx", "bar", "barrier", "ret", "exit", "call", "trap", "membar", "fence", "prefetch", "cp",
    "nanosleep", "brkpt", "pmevent", "prefetchu", "discard", "applypriority", "griddepcontrol",
}  # fmt: skip
"""Instructions whose first operand is read, or that have none."""


def _find_needed(program: Program) -> None:
    """Live registers at the start of each block, backwards until nothing changes."""
    uses: dict[int, tuple[int, int]] = {}
    for block in program.blocks.values():
        read = written = 0
        for index in range(block.first, block.end):
            reads, writes = reads_and_writes(program, index)
            for number in reads:
                read |= (1 << number) & ~written
            if program.instructions[index].guard is None:
                for number in writes:
                    written |= 1 << number
            else:  # lanes that do not execute it keep what they had
                for number in writes:
                    read |= (1 << number) & ~written
        uses[block.first] = read, written
    changed = True
    while changed:
        changed = False
        for block in reversed(program.blocks.values()):
            after = 0
            for successor in block.successors:
                after |= program.blocks[successor].needed if successor in program.blocks else 0
            read, written = uses[block.first]
            needed = read | (after & ~written)
            if needed != block.needed:
                block.needed, changed = needed, True


# ---- sites ---------------------------------------------------------------------------------------------


def _find_sites(program: Program, arrays: dict[str, str]) -> None:
    """A site for each instruction that reads or writes memory; a generic address may mean three kinds of it."""
    pointers = _pointers(program, arrays)
    for index, instruction in enumerate(program.instructions):
        kind = _MEMORY.get(instruction.opcode)
        if kind is None or "param" in instruction.modifiers:
            continue
        said = next((name for name in SPACES if name in instruction.modifiers), None)
        spaces = ("global", "shared", "local") if said is None else ("constant" if said == "const" else said,)
        address = next((operand for operand in instruction.operands if isinstance(operand, Address)), None)
        if address is None:
            raise refused(instruction)
        names = pointers.get(program.number(program.owners[index], address.base), set()) if isinstance(
            address.base, Register) else {address.base.name} if isinstance(address.base, Symbol) else set()  # fmt: skip
        for space in spaces:
            array = next(iter(names)) if len(names) == 1 else _private(program, space) or "memory"
            site = Site(len(program.sites), instruction.line, 0, f"{array}[...]", _space(space), _kind(kind), array,
                        program.owners[index].name)  # fmt: skip
            program.sites.append(site)
            program.site_of[index, space] = site


def _space(name: str) -> Space:
    return name  # type: ignore[return-value]


def _kind(name: str) -> Kind:
    return name  # type: ignore[return-value]


def _private(program: Program, space: str) -> str | None:
    names = [variable.name for variable in program.variables.values() if variable.space == space]
    return names[0] if len(names) == 1 else None


_CARRIES = {"mov", "add", "sub", "cvta", "selp", "mad", "and", "or", "cvt", "shfl"}
"""Instructions through which an address keeps the array that it points into."""


def _pointers(program: Program, arrays: dict[str, str]) -> dict[int, set[str]]:
    """Register -> the arrays into which it may point, followed from the parameters and the variables."""
    found: dict[int, set[str]] = {}
    changed = True
    while changed:
        changed = False
        for index, instruction in enumerate(program.instructions):
            if instruction.opcode == "ld" and "param" in instruction.modifiers:
                address = instruction.operands[1]
                names = {arrays[address.base.name]} if isinstance(address, Address) and isinstance(
                    address.base, Symbol) and address.base.name in arrays else set()  # fmt: skip
            elif instruction.opcode in _CARRIES:
                names = set()
                for operand in instruction.operands[1:]:
                    if isinstance(operand, Symbol) and operand.name in program.variables:
                        names.add(operand.name)
                    elif isinstance(operand, Register) and operand.name != "_":
                        names |= found.get(program.number(program.owners[index], operand), set())
            else:
                continue
            if not names:
                continue
            for number in reads_and_writes(program, index)[1]:
                if not names <= found.setdefault(number, set()):
                    found[number] |= names
                    changed = True
    return found


def parameter_of(function: Function, name: str) -> Parameter | None:
    """A parameter (or a result, or a call's parameter) of a function by its name."""
    for parameter in (*function.parameters, *function.results):
        if parameter.name == name:
            return parameter
    return function.call_parameters.get(name)
