"""Where NVIDIA's tools are: `ptxas`, `nvdisasm`, the libraries that make PTX; one sentence where they are not."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from course.errors import CourseError

__all__ = ["SECONDS", "NoCompilerError", "assembler", "disassembler", "first_line", "version"]

SECONDS = 120
"""A tool that runs longer than this hangs."""


class NoCompilerError(CourseError):
    """NVIDIA's compiler is not complete here, or does not know this compute capability."""


def assembler() -> str:
    """Path of `ptxas`. Raises NoCompilerError where it, or a library that must be with it, is missing."""
    tool, problem = _found()
    if problem:
        raise NoCompilerError(problem)
    return tool


def disassembler() -> str:
    """Path of `nvdisasm`. Raises NoCompilerError where it is missing."""
    tool = _tool("nvdisasm")
    if tool is None:
        raise NoCompilerError("NVIDIA's disassembler, nvdisasm, is not installed")
    return tool


@functools.cache
def version(tool: str) -> str:
    """Version of a tool, in its own words."""
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=SECONDS).stdout
    found = re.search(r"V(\d+(?:\.\d+)+)", said)
    return found[1] if found else "of an unknown version"


def first_line(error: Exception) -> str:
    """The first line that an error says, not longer than a sentence."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:160]


@functools.cache
def _found() -> tuple[str, str]:
    """Path of `ptxas`, and why the compiler cannot be used ('' if it can)."""
    tool = _tool("ptxas")
    if tool is None:
        return "", "NVIDIA's compiler is not installed"
    try:
        load = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib
        for library in ("nvrtc", "nvvm"):
            load(library)
    except Exception:  # no such package, or no such library
        return tool, "NVIDIA's compiler is not complete"
    return tool, ""


@functools.cache
def _tool(name: str) -> str | None:
    """Path of a tool: of the extra `compiler`, else of a CUDA toolkit on the PATH."""
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    names = (f"bin/{name}", f"bin/{name}.exe")
    wheels = [found for folder in folders for file in names for found in sorted(Path(folder).glob(f"*/{file}"))]
    return str(wheels[-1]) if wheels else shutil.which(name)
