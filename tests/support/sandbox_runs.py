"""Programs and notebooks run in the sandbox, and what became of them: for the tests of the sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from autograder.sandbox.bubblewrap import available, command
from autograder.sandbox.execute import Executed
from autograder.sandbox.limits import GIB, MIB, Limits

SMALL = Limits(cell_seconds=60, notebook_seconds=120, memory_bytes=GIB, file_bytes=8 * MIB, scratch_bytes=16 * MIB)
"""Little room, but time enough for an honest program on a busy machine."""

needs_sandbox = pytest.mark.skipif(bool(available()), reason=f"no sandbox here: {available()}")


def notebook(*cells: str) -> bytes:
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]
    return nbformat.writes(nbformat.v4.new_notebook(cells=code)).encode("utf-8")


def shown(executed: Executed) -> list[str]:
    """What each code cell showed, as text; errors as "Name: value"."""
    return ["".join(map(_text, cell.outputs)) for cell in cells_of(executed)]


def cells_of(executed: Executed) -> list[nbformat.NotebookNode]:
    """The code cells of a notebook that was run."""
    cells = nbformat.reads(executed.notebook.decode("utf-8"), as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def _text(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return str(output.data.get("text/html") or output.data.get("text/plain"))


def run(code: str, limits: Limits = SMALL, **options: object) -> subprocess.CompletedProcess[str]:
    """Run some Python in the sandbox, without a kernel."""
    argv = command([sys.executable, "-c", code], limits=limits, **options)  # type: ignore[arg-type]
    return subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL)


def eventually(condition, seconds: float = 60.0) -> bool:
    """Whether it comes true; a busy machine may take its time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def processes_with(mark: str) -> list[str]:
    """Processes of this machine whose command line holds `mark`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line and path.parent.name != str(os.getpid()):
            found.append(line)
    return found
