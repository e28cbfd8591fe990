"""PTX text as data: the functions of a module, their parameters, variables and instructions, each with its lines.

Nothing is interpreted here beyond the grammar (PTX ISA, chapters "Syntax" and "Directives").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course.simulator.errors import UnsupportedKernel

__all__ = [
    "Address", "Constant", "Function", "Instruction", "Module", "Operand", "Parameter", "Register", "Special",
    "Symbol", "Variable", "Vector", "parse", "width_of",
]  # fmt: skip

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_LABEL = re.compile(r"([\w$%]+)\s*:(?!:)")
_VARIABLE = re.compile(
    r"(?:\.v(?P<vector>\d)\s+)?\.(?P<type>[a-z]\w*)\s+(?P<name>[\w$%]+)\s*(?P<sizes>(?:\[\s*\d*\s*\])*)"
)
_NOT_ITS_NAME = re.compile(
    r"\.(visible|extern|weak|common|global|const|shared|local|managed)\b|\.align\s+\d+|\.attribute\([^)]*\)"
)
_SPECIAL = re.compile(
    r"%(?:n?tid|n?ctaid|laneid|n?warpid|n?smid|gridid|lanemask_\w+|clock\w*|globaltimer\w*|dynamic_smem_size|total_smem_size"
    r"|(?:is_explicit_)?cluster\w*|nclusterid|aggr_smem_size|envreg\d+|current_graph_exec)(?:\.[xyzw])?$"
)


@dataclass(frozen=True)
class Register:
    """A register; `negated` is the ``!`` before a predicate."""

    name: str
    negated: bool = False


@dataclass(frozen=True)
class Constant:
    """A number as written: an int, or for ``0f…`` and ``0d…`` a float32 or float64."""

    value: Any


@dataclass(frozen=True)
class Special:
    """A register that the hardware sets, such as ``%tid.x``."""

    name: str


@dataclass(frozen=True)
class Symbol:
    """The address of a variable or function, plus bytes."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """``[base + offset]``."""

    base: Register | Symbol | Constant
    offset: int


@dataclass(frozen=True)
class Vector:
    """``{a, b, ...}``; also the arguments of a call."""

    parts: tuple[Any, ...]


Operand = Register | Constant | Special | Symbol | Address | Vector


@dataclass(frozen=True)
class Instruction:
    """One instruction."""

    opcode: str
    """The first part of its name, e.g. ``ld``."""
    modifiers: tuple[str, ...]
    """The other parts in order, e.g. ``("global", "f32")``."""
    operands: tuple[Operand, ...]
    guard: Register | None
    """The predicate in ``@p`` or ``@!p``."""
    ptx_line: int
    """Line in the PTX text, 1-based."""
    file: int
    """Number of the source file (``.file``); 0 where nothing is known."""
    line: int
    """Line in that file."""
    second: Register | None = None
    """The predicate that ``setp`` and ``shfl`` also set (``d|p``)."""

    @property
    def name(self) -> str:
        """The opcode with its modifiers, as in the PTX ISA."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function."""

    name: str
    offset: int
    """First byte in the parameter space, as its alignment wants it."""
    size: int


@dataclass(frozen=True)
class Variable:
    """A variable in memory."""

    name: str
    space: str
    """global, const, shared or local."""
    size: int
    """Bytes; 0 for ``extern`` shared memory, whose size the launch says."""
    align: int
    initial: bytes | None = None
    symbols: tuple[tuple[int, str], ...] = ()
    """(offset, name) of the addresses among the initial values."""


@dataclass
class Function:
    """An entry (kernel) or a device function."""

    name: str
    is_entry: bool
    parameters: tuple[Parameter, ...] = ()
    results: tuple[Parameter, ...] = ()
    registers: dict[str, str] = field(default_factory=dict)
    """Name -> type, e.g. ``{"%r1": "b32"}``."""
    variables: dict[str, Variable] = field(default_factory=dict)
    """Shared and local variables declared inside."""
    call_parameters: dict[str, Parameter] = field(default_factory=dict)
    """``.param`` variables for calls; each has an offset of its own."""
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    """Label -> index of the instruction that follows."""
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Labels of a ``.branchtargets`` list."""


@dataclass
class Module:
    """A PTX file."""

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)

    def entry(self, name: str | None = None) -> Function:
        """The kernel of that name, or the only one."""
        entries = {f.name: f for f in self.functions.values() if f.is_entry}
        if name in entries:
            return entries[name]
        if name is None and len(entries) == 1:
            return next(iter(entries.values()))
        said = f"there is no kernel {name!r}" if name else "which kernel is meant is not said"
        raise UnsupportedKernel(f"{said}: the PTX has {', '.join(sorted(entries)) or 'none'}.")


def width_of(kind: str) -> int:
    """Bytes of a type such as ``f32``, ``b8``, ``pred`` or ``bf16x2``."""
    if kind == "pred":
        return 1
    found = re.fullmatch(r"(?:[subf]|bf|tf)(\d+)(?:x(\d))?", kind)
    if found is None:
        raise UnsupportedKernel(f"the type .{kind} of PTX does not run in the simulator.")
    return int(found[1]) // 8 * int(found[2] or 1) or 1


def parse(text: str) -> Module:
    """Read a PTX file. Raises UnsupportedKernel, with the line, for what is no PTX that compilers write."""
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        self.at = 0
        self.where = (0, 0)
        self.lines = [found.start() for found in re.finditer("\n", self.text)]
        self.result = Module()

    # ---- the text ----

    def line(self) -> int:
        return int(np.searchsorted(self.lines, self.at, "left")) + 1

    def skip(self) -> bool:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at < len(self.text)

    def misread(self, said: str) -> UnsupportedKernel:
        return UnsupportedKernel(f"line {self.line()} of the PTX is not understood: {said.strip()[:80]!r}.")

    def until(self, mark: str) -> str:
        end = self.text.find(mark, self.at)
        end = len(self.text) if end < 0 else end
        found = self.text[self.at : end]
        self.at = end + len(mark)
        return found.strip()

    def starts(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def block(self) -> None:
        """Step over ``{ ... }``."""
        depth = 0
        while self.at < len(self.text):
            depth += {"{": 1, "}": -1}.get(self.text[self.at], 0)
            self.at += 1
            if depth == 0 and self.text[self.at - 1] == "}":
                return

    # ---- the module ----

    def module(self) -> Module:
        while self.skip():
            if self.starts(".version"):
                self.result.version = self.until("\n").split()[1]
            elif self.starts(".target"):
                self.result.target = self.until("\n").split(None, 1)[1]
            elif self.starts(".address_size"):
                self.until("\n")
            elif self.starts(".file"):
                self.file()
            elif self.starts(".section"):
                self.block()
            elif self.starts(".pragma") or self.starts(".alias"):
                self.until(";")
            else:
                self.declaration()
        return self.result

    def file(self) -> None:
        found = re.match(r'\.file\s+(\d+)\s+"([^"]*)"', self.text[self.at :])
        if found:
            self.result.files[int(found[1])] = found[2]
        self.until("\n")

    def declaration(self) -> None:
        head = re.compile(r"(?:\.(?:visible|extern|weak|common|alias)\s+)*\.(entry|func)\b(?:\s*\.noreturn)?").match(
            self.text, self.at
        )
        if head:
            self.at = head.end()
            self.function(head[1] == "entry")
            return
        said = self.until(";")
        variable = self.variable(said)
        if variable is not None:
            self.result.variables[variable.name] = variable

    def variable(self, said: str) -> Variable | None:
        """Read ``.shared .align 4 .b8 name[16] = {...}``."""
        declared, _, values = said.partition("=")
        found = re.search(r"\.(global|const|shared|local)\b", declared)
        if found is None:
            raise self.misread(said)
        align = re.search(r"\.align\s+(\d+)", declared)
        match = _VARIABLE.search(_NOT_ITS_NAME.sub(" ", declared))
        if match is None:
            raise self.misread(said)
        element = width_of(match["type"])
        size = element * int(match["vector"] or 1)
        for count in re.findall(r"\[\s*(\d*)\s*\]", match["sizes"]):
            size *= int(count or 0)
        initial, symbols = _initial(values, match["type"], size) if values.strip() else (None, ())
        size = max(size, len(initial or b""))
        return Variable(match["name"], found[1], size, int(align[1]) if align else element, initial, symbols)

    def function(self, is_entry: bool) -> None:
        self.skip()
        results: tuple[Parameter, ...] = ()
        if self.starts("("):
            self.at += 1
            results = _parameters(self.until(")"))
        self.skip()
        found = re.compile(r"[\w$%]+").match(self.text, self.at)
        if found is None:
            raise self.misread(self.until("\n"))
        self.at = found.end()
        self.skip()
        parameters: tuple[Parameter, ...] = ()
        if self.starts("("):
            self.at += 1
            parameters = _parameters(self.until(")"))
        while self.skip() and not (self.starts("{") or self.starts(";")):
            self.at += 1  # .maxntid, .noreturn and their like
        function = Function(found[0], is_entry, parameters, results)
        if self.starts(";"):
            self.at += 1
            self.result.functions.setdefault(function.name, function)
            return
        self.at += 1
        _Body(self, function).read()
        self.result.functions[function.name] = function


class _Body:
    """Reads a function's body. Names declared in an inner ``{ }`` (inline assembly) hide outer ones."""

    def __init__(self, parser: _Parser, function: Function) -> None:
        self.parser, self.function = parser, function
        self.scopes: list[dict[str, str]] = [{}]
        self.inner = 0
        self.param_end = 0

    def read(self) -> None:
        parser, function = self.parser, self.function
        while parser.skip():
            if parser.starts("}"):
                parser.at += 1
                self.scopes.pop()
                if not self.scopes:
                    return
            elif parser.starts("{"):
                parser.at += 1
                self.scopes.append({})
                self.inner += 1
            elif re.compile(r"\.loc\s").match(parser.text, parser.at):
                words = parser.until("\n").replace(",", " ").split()
                self.parser.where = (int(words[1]), int(words[2]))
            elif parser.starts("."):
                self.directive(parser.until(";"))
            elif label := _LABEL.match(parser.text, parser.at):
                parser.at = label.end()
                name = self.local(label[1], declare=True)
                function.labels[name] = len(function.instructions)
                if parser.skip() and parser.starts(".branchtargets"):
                    targets = parser.until(";").split(None, 1)[1]
                    function.tables[name] = tuple(part.strip() for part in targets.split(","))
                elif parser.starts(".callprototype"):
                    parser.until(";")
            else:
                line = parser.line()
                function.instructions.append(self.instruction(parser.until(";"), line))

    def local(self, name: str, declare: bool = False) -> str:
        if declare and len(self.scopes) > 1:
            self.scopes[-1][name] = f"{name}@{self.inner}"
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def directive(self, said: str) -> None:
        function = self.function
        if said.startswith(".reg"):
            match = re.match(r"\.reg\s+\.(\w+)\s+(.*)", said, re.S)
            if match is None:
                raise self.parser.misread(said)
            kind, names = match.groups()
            for name in names.split(","):
                many = re.fullmatch(r"([\w$%]+)<(\d+)>", name.strip())
                whole = [f"{many[1]}{n}" for n in range(int(many[2]))] if many else [name.strip()]
                for one in whole:
                    function.registers[self.local(one, declare=True)] = kind
        elif said.startswith(".param"):
            (parameter,) = _parameters(said, self.param_end)
            name = self.local(parameter.name, declare=True)
            function.call_parameters[name] = Parameter(name, parameter.offset, parameter.size)
            self.param_end = parameter.offset + parameter.size
        elif said.startswith((".pragma", ".branchtargets", ".calltargets", ".callprototype", ".minnctapersm")):
            return
        else:
            variable = self.parser.variable(said)
            if variable is not None:
                function.variables[variable.name] = variable

    def instruction(self, said: str, line: int) -> Instruction:
        guard = None
        found = re.match(r"@(!?)\s*([\w$%]+)\s+", said)
        if found:
            guard = Register(self.local(found[2]), found[1] == "!")
            said = said[found.end() :]
        words = said.split(None, 1)
        opcode, *modifiers = words[0].split(".")
        operands: list[Operand] = []
        second = None
        for part in _split(words[1]) if len(words) > 1 else ():
            if "|" in part:
                part, also = (piece.strip() for piece in part.split("|"))
                second = None if also == "_" else Register(self.local(also))
            operands.append(self.operand(part))
        file, source = self.parser.where
        modifiers = [piece for modifier in modifiers for piece in modifier.split("::")]
        return Instruction(opcode, tuple(modifiers), tuple(operands), guard, line, file, source, second)

    def operand(self, said: str) -> Operand:
        if said.startswith("["):
            inside = said.strip("[] \n\t")
            base, _, rest = (piece.strip() for piece in inside.partition("+"))
            parts = self.operand(base)
            if isinstance(parts, Symbol):
                return Address(Symbol(parts.name), parts.offset + (_integer(rest) if rest else 0))
            if not isinstance(parts, (Register, Constant)):
                raise self.parser.misread(said)
            return Address(parts, _integer(rest) if rest else 0)
        if said.startswith(("{", "(")):
            return Vector(tuple(self.operand(part) for part in _split(said[1:-1])))
        negated = said.startswith("!")
        name = said.lstrip("!").strip()
        if name == "_":
            return Register("_")
        if _SPECIAL.match(name):
            return Special(name)
        number = _number(name)
        if number is not None:
            return Constant(number)
        symbol, _, offset = (piece.strip() for piece in name.partition("+"))
        renamed = self.local(symbol)
        if renamed in self.function.registers:
            return Register(renamed, negated)
        if name == "WARP_SZ":
            return Constant(32)
        return Symbol(renamed, _integer(offset) if offset else 0)


def _parameters(said: str, offset: int = 0) -> tuple[Parameter, ...]:
    """Parameters with their places: each aligned to its size, or to what ``.align`` says."""
    found = []
    for part in _split(said):
        text = re.sub(r"\.ptr\b(\s*\.(global|shared|const|local|generic))?(\s*\.align\s+\d+)?", " ", part)
        align = re.search(r"\.align\s+(\d+)", text)
        match = _VARIABLE.search(re.sub(r"\.(param|reg)\b|\.align\s+\d+", " ", text))
        if match is None:
            raise UnsupportedKernel(f"the PTX parameter {part[:80]!r} is not understood.")
        element = width_of(match["type"])
        size = element
        for count in re.findall(r"\[\s*(\d*)\s*\]", match["sizes"]):
            size *= int(count or 0)
        unit = max(int(align[1]) if align else 1, element)
        offset = -(-offset // unit) * unit
        found.append(Parameter(match["name"], offset, size))
        offset += size
    return tuple(found)


def _split(said: str) -> Iterator[str]:
    """Parts between commas outside of brackets."""
    depth, part = 0, ""
    for letter in said:
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()


def _number(said: str) -> Any:
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", said):
        return np.uint32(int(said[2:], 16)).view(np.float32)
    if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", said):
        return np.uint64(int(said[2:], 16)).view(np.float64)
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", said):
        return _integer(said)
    return None


def _integer(said: str) -> int:
    text = said.strip().rstrip("U").replace(" ", "")
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    base = 16 if digits[:2].lower() == "0x" else 2 if digits[:2].lower() == "0b" else (
        8 if len(digits) > 1 and digits[0] == "0" else 10)  # fmt: skip
    return sign * int(digits, base)


def _initial(values: str, kind: str, size: int) -> tuple[bytes, tuple[tuple[int, str], ...]]:
    """Initial bytes of a variable, and the addresses among them."""
    width = width_of(kind)
    parts = re.findall(r"[^\s{},]+(?:\s*\([^)]*\))?", values)
    raw, symbols = bytearray(), []
    for part in parts:
        number = _number(part)
        if number is None:
            name = re.sub(r"generic\s*\(|\)|mask\([^)]*\)", "", part).strip()
            symbol, _, offset = name.partition("+")
            symbols.append((len(raw), symbol))
            raw += (int(offset) if offset else 0).to_bytes(width, "little")
        elif isinstance(number, int):
            raw += struct.pack("<Q", number & (2**64 - 1))[:width]
        else:
            raw += number.tobytes()
    return bytes(raw) + bytes(max(0, size - len(raw))), tuple(symbols)
