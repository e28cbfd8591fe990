"""NVIDIA's assembler: PTX in, machine code out, and what it says of a kernel. No GPU is needed."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from course.languages.tools import SECONDS, NoCompilerError, assembler

__all__ = ["Assembled", "Usage", "run_ptxas", "usage"]


@dataclass(frozen=True)
class Assembled:
    """What the assembler gave."""

    said: str
    """What it said (``ptxas -v``)."""
    cubin: bytes
    """The machine code of every kernel in the PTX."""


@dataclass(frozen=True)
class Usage:
    """What a kernel needs of the card."""

    registers: int
    """Registers of a thread."""
    stack_bytes: int
    """Local memory of a thread: registers that did not fit (spills), and local arrays."""
    spill_store_bytes: int
    spill_load_bytes: int
    shared_bytes: int
    """Static shared memory of a block."""


def run_ptxas(
    ptx: str, cc: tuple[int, int], max_registers: int | None = None, *, lines: bool = False
) -> Assembled:  # fmt: skip
    """Assemble a PTX text.

    lines: whether the machine code names the line of the PTX that each instruction comes from.

    Raises NoCompilerError where there is no assembler, or where it refuses the text.
    """
    command = [assembler(), "-v", f"-arch=sm_{cc[0]}{cc[1]}"]
    if lines:
        command.append("-lineinfo")
    if max_registers is not None:
        command.append(f"--maxrregcount={int(max_registers)}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.ptx").write_text(ptx, encoding="utf-8", newline="\n")
        ran = subprocess.run(
            [*command, "kernel.ptx", "-o", "kernel.cubin"], cwd=folder, capture_output=True, text=True, timeout=SECONDS
        )
        if ran.returncode:
            lines_said = ran.stderr.strip().splitlines() or ["no output"]
            errors = [line for line in lines_said if "error" in line]
            raise NoCompilerError(f"ptxas refused: {(errors or lines_said[-1:])[0][:160]}")
        made = Path(folder) / "kernel.cubin"
        return Assembled(ran.stderr, made.read_bytes() if made.exists() else b"")


def usage(said: str, entry: str | None = None) -> Usage:
    """What ``ptxas -v`` says of a kernel; of the first one, if none is named."""
    kernels = said.split("Compiling entry function ")[1:]
    kernel = next(text for text in kernels if entry is None or text.startswith(f"'{entry}'"))
    used = kernel[kernel.index("Used ") :].split("\n", 1)[0]

    def number(pattern: str, text: str) -> int:
        found = re.search(pattern, text)
        return int(found[1]) if found else 0

    return Usage(
        number(r"Used (\d+) registers", used),
        number(r"(\d+) bytes cumulative stack", used) or number(r"(\d+) bytes stack frame", kernel),
        number(r"(\d+) bytes spill stores", kernel),
        number(r"(\d+) bytes spill loads", kernel),
        number(r"(\d+) bytes smem", used),
    )
