"""The machine code of a kernel (SASS): each instruction, the PTX line it comes from, and its basic block.

``ptxas -lineinfo`` puts the text of the PTX into the machine code, and ``nvdisasm -gp`` says the line of that text
before each instruction: exactly the lines of the PTX as given, also with comments and empty lines. A load that the
assembler joined from several has the line of one of them.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from course.languages import cache
from course.languages.compiled import entries
from course.languages.opcodes import kind_of
from course.languages.ptxas import Usage, run_ptxas, usage
from course.languages.tools import SECONDS, NoCompilerError, assembler, disassembler, version

__all__ = ["Machine", "SassInstruction", "assemble", "read_listing"]

_INSTRUCTION = re.compile(
    r"\s*/\*([0-9a-f]{4,})\*/\s+\{?\s*(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;?\s*\}?\s*(?:/\*.*)?"
)
_LABEL = re.compile(r"([.$\w][\w.$@]*):\s*")
_LINE = re.compile(r'\s*//## File "\.nv_debug_ptx_txt", line (\d+)')
_SECTION = re.compile(r"\s*\.section\s+([^,\s]+).*")
_ENDS_BLOCK = ("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "EXIT", "BREAK", "BSYNC", "KILL")
_NAMES_OF_FILES = re.compile(r'^(\s*\.file\s+\d+\s+)"[^"]*"', re.M)


@dataclass(frozen=True)
class SassInstruction:
    """One machine instruction."""

    address: int
    opcode: str
    """With its modifiers: ``LDS.128``."""
    predicate: str
    """``P0`` or ``!P0``; '' for an instruction that always runs."""
    operands: str
    ptx_line: int | None
    """Line of the PTX text, from 1; None where the assembler does not say."""
    block: str
    """Its basic block: a label, and ``+1``, ``+2`` ... for what follows a branch without a label of its own."""
    function: str
    """The kernel, or a device function or division that it calls."""

    @property
    def operation(self) -> str:
        """The operation without its modifiers."""
        return self.opcode.split(".", 1)[0]

    @property
    def kind(self) -> str:
        """Kind of work: "FP32", "load shared", "control", ..."""
        return kind_of(self.opcode)

    def __str__(self) -> str:
        guard = f"@{self.predicate} " if self.predicate else ""
        return f"/*{self.address:04x}*/ {guard}{self.opcode} {self.operands}".rstrip()


@dataclass(frozen=True)
class Machine:
    """A kernel as machine code."""

    entry: str
    cc: tuple[int, int]
    usage: Usage
    instructions: tuple[SassInstruction, ...]
    """In the order of their addresses: the kernel's, then those of the functions that it calls."""
    labels: Mapping[str, str]
    """Label -> basic block (two labels at one address are one block)."""
    said_by: str

    @cached_property
    def blocks(self) -> dict[str, tuple[SassInstruction, ...]]:
        """Basic block -> its instructions, in order."""
        return {block: tuple(items) for block, items in groupby(self.instructions, lambda one: one.block)}

    @cached_property
    def mix(self) -> Counter[str]:
        """Instructions in the code (not: executed) by kind."""
        return Counter(instruction.kind for instruction in self.instructions)

    def of_line(self, ptx_line: int) -> tuple[SassInstruction, ...]:
        """The instructions that name a line of the PTX."""
        return tuple(instruction for instruction in self.instructions if instruction.ptx_line == ptx_line)


def assemble(
    ptx: str, cc: tuple[int, int] = (9, 0), max_registers: int | None = None, entry: str | None = None
) -> Machine:
    """The machine code of a kernel (remembered on disk).

    entry: which kernel of the PTX; None where it has one only.

    Raises NoCompilerError where a tool is missing, or where it refuses the PTX.
    """
    found = entries(ptx)
    if len(found) != 1 if entry is None else entry not in found:
        raise NoCompilerError(
            f"expected {'one kernel' if entry is None else f'a kernel {entry}'} in the PTX, got "
            f"{', '.join(found) or 'none'}: say entry= one of them"
        )
    name = entry or found[0]
    by = f"ptxas {version(assembler())}, nvdisasm {version(disassembler())}"
    key = cache.key("sass", _NAMES_OF_FILES.sub(r"\1", ptx), cc, max_registers, by)
    kept = cache.get(key)
    if kept is None:
        assembled = run_ptxas(ptx, cc, max_registers, lines=True)
        kept = {"said": assembled.said, "listing": _disassemble(assembled.cubin)}
        cache.put(key, kept)
    instructions, labels = read_listing(kept["listing"].splitlines(), name)
    return Machine(name, cc, usage(kept["said"], name), instructions, labels, by)


def _disassemble(cubin: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.cubin").write_bytes(cubin)
        ran = subprocess.run(
            [disassembler(), "-c", "-gp", "kernel.cubin"], cwd=folder, capture_output=True, text=True, timeout=SECONDS
        )
    if ran.returncode:
        raise NoCompilerError(f"nvdisasm failed: {(ran.stderr.strip().splitlines() or ['no output'])[-1][:160]}")
    code = [line for line in ran.stdout.splitlines() if line.strip()]
    return "\n".join(code)


def read_listing(lines: Iterable[str], entry: str) -> tuple[tuple[SassInstruction, ...], dict[str, str]]:
    """The instructions of one kernel of what ``nvdisasm -c -gp`` prints, and the basic block of each label."""
    instructions: list[SassInstruction] = []
    labels: dict[str, str] = {}
    waiting: list[str] = []
    section = function = block = base = ""
    ptx_line: int | None = None
    ended, parts = False, 0
    for line in lines:
        if found := _SECTION.fullmatch(line):
            section, function, ptx_line = found[1], entry, None
        elif section != f".text.{entry}":
            continue
        elif found := _LINE.match(line):
            ptx_line = int(found[1])
        elif found := _LABEL.fullmatch(line):
            waiting.append(found[1])
            if not found[1].startswith((".L", ".text.")):
                function, ptx_line = found[1], None
        elif found := _INSTRUCTION.fullmatch(line):
            address, predicate, opcode, operands = found.groups()
            if waiting:
                base = block = waiting[-1].removeprefix(".text.")
                labels.update((label, block) for label in waiting)
                waiting, parts = [], 0
            elif ended:
                parts += 1
                block = f"{base}+{parts}"
            one = SassInstruction(int(address, 16), opcode, predicate or "", operands, ptx_line, block, function)
            instructions.append(one)
            ended = one.operation in _ENDS_BLOCK
    return tuple(_without_padding(instructions)), labels


def _without_padding(instructions: list[SassInstruction]) -> list[SassInstruction]:
    """Code ends with a branch to itself and NOPs up to a round address, which nobody runs."""
    end = len(instructions)
    while end and instructions[end - 1].operation == "NOP":
        end -= 1
    last = instructions[end - 1] if end else None
    if last is not None and last.operation == "BRA" and last.operands == f"`({last.block})":
        end -= 1
    return instructions[:end]
