"""What the assembler did to the shared and local accesses of the PTX: joined neighbours, dropped what nobody needs.

Global accesses are the same in PTX and machine code in every kernel that was compared; shared and local ones are not.
The machine code says from which line of the PTX each of its instructions comes, so that an access without one is either
part of a wider access beside it, or gone. What fits neither is counted as the PTX has it, and listed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from course.simulator.machine.program import Program
from course.simulator.machine.ptx import Address, Instruction, Register, Symbol, Vector, width_of

__all__ = ["MachineAccess", "Rewrite", "rewrite"]


@dataclass(frozen=True)
class MachineAccess:
    """A shared or local access in the machine code."""

    ptx_line: int
    size: int
    """Bytes of a lane."""
    text: str


@dataclass(frozen=True)
class Rewrite:
    """Something that the assembler changed, or an access that could not be matched."""

    line: int
    """Line of the kernel."""
    kind: str
    """joined, dropped, or unmatched."""
    message: str


@dataclass(frozen=True)
class _Access:
    index: int
    base: object
    offset: int
    size: int
    opcode: str


def rewrite(program: Program, machine: Iterable[MachineAccess]) -> tuple[Rewrite, ...]:
    """Match the accesses, enter in `program` which of them are told as what, and say what was changed."""
    by_line: dict[int, list[MachineAccess]] = defaultdict(list)
    for one in machine:
        by_line[one.ptx_line].append(one)
    found: list[Rewrite] = []
    for block in program.blocks.values():
        accesses = [a for index in range(block.first, block.end) if (a := _access(program, index)) is not None]
        gone = [a for a in accesses if _line(program, a) not in by_line]
        for access in accesses:
            wide = max((known.size for known in by_line.get(_line(program, access), ())), default=access.size)
            if wide <= access.size:
                continue
            members = _members(access, wide, gone)
            if members is None:
                said = f"{wide} bytes at once in the machine code: the access could not be matched, and is counted as "
                found.append(_say(program, access, "unmatched", f"{said}the PTX has it."))
                continue
            gone = [a for a in gone if a not in members]
            _join(program, members)
            verb = "loads" if access.opcode == "ld" else "stores"
            found.append(
                _say(program, access, "joined", f"{len(members)} {verb} joined into one {wide}-byte {verb[:-1]}.")
            )
        for access in gone:
            program.telling[access.index] = None
            verb = "load" if access.opcode == "ld" else "store"
            said = f"a {verb} is dropped: the value stays in a register, or nobody needs it."
            found.append(_say(program, access, "dropped", said))
    return _summed(found)


def _line(program: Program, access: _Access) -> int:
    return program.instructions[access.index].ptx_line


def _access(program: Program, index: int) -> _Access | None:
    """A plain load or store of shared or local memory."""
    instruction = program.instructions[index]
    if instruction.opcode not in ("ld", "st") or not {"shared", "local"} & set(instruction.modifiers):
        return None
    address = next(operand for operand in instruction.operands if isinstance(operand, Address))
    base: object = address.base.name if isinstance(address.base, (Register, Symbol)) else ""
    return _Access(index, base, address.offset, _size(instruction), instruction.opcode)


def _size(instruction: Instruction) -> int:
    value = instruction.operands[0 if instruction.opcode == "ld" else 1]
    count = len(value.parts) if isinstance(value, Vector) else 1
    return count * width_of(instruction.modifiers[-1])


def _members(access: _Access, wide: int, gone: list[_Access]) -> list[_Access] | None:
    """The accesses that fill a wide one: neighbours of `access`, of its size. None where no or several ways fit."""
    near = {a.offset: a for a in reversed(gone)
            if (a.base, a.size, a.opcode) == (access.base, access.size, access.opcode)}  # fmt: skip
    near[access.offset] = access
    count = wide // access.size
    fits = []
    for before in range(count):
        start = access.offset - before * access.size
        offsets = [start + place * access.size for place in range(count)]
        if all(offset in near for offset in offsets):
            fits.append([near[offset] for offset in offsets])
    aligned = [members for members in fits if members[0].offset % wide == 0]
    chosen = fits if len(fits) == 1 else aligned
    return chosen[0] if len(chosen) == 1 else None


def _join(program: Program, members: list[_Access]) -> None:
    """Tell the wide access once: a load where the first member stands, a store where the last one does."""
    ordered = sorted(members, key=lambda a: a.index)
    teller = ordered[0] if ordered[0].opcode == "ld" else ordered[-1]
    size = sum(a.size for a in members)
    for member in members:
        program.telling[member.index] = None
    program.telling[teller.index] = (members[0].offset - teller.offset, size, tuple(a.index for a in members))


def _say(program: Program, access: _Access, kind: str, message: str) -> Rewrite:
    return Rewrite(program.instructions[access.index].line, kind, message)


def _summed(found: list[Rewrite]) -> tuple[Rewrite, ...]:
    """Each sentence once, with its line and how often it holds."""
    counts = Counter(found)
    return tuple(
        Rewrite(one.line, one.kind, one.message if count == 1 else f"{one.message} ({count} times in the code)")
        for one, count in sorted(counts.items(), key=lambda item: (item[0].line, item[0].kind))
    )
