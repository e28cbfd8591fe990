"""Run every chapter on the GPU of this computer, from top to bottom, and keep what its labs print.

    make record-labs            # all chapters; or: python tools/record_labs.py coalescing layout

A lab is a cell that times a kernel or compares counts (`time_on_gpu`, `compare`). What it prints goes to
course/measured/h200_labs.json, with card, driver and date; `course.measured.lab` shows it where there is no GPU.
Exit code 1 when a cell fails, 2 without a usable GPU.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from course import backend  # noqa: E402
from course.checks.registry import CHAPTERS  # noqa: E402

FILE = ROOT / "course" / "measured" / "h200_labs.json"
LAB = re.compile(r"\b(time_on_gpu|compare)\(")
NOTHING_RECORDED = "from course import measured\nmeasured.lab = lambda name: measured.Lab('', '')"
"""A chapter shows its recordings, and must run before there are any."""
SECONDS = 300
"""For one cell."""


def labs(chapter: str) -> dict[str, str]:
    """'chapter/cell id' -> what the cell printed. Raises CellExecutionError when a cell fails."""
    notebook = nbformat.read(ROOT / "source" / chapter / f"{chapter}.ipynb", as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(NOTHING_RECORDED))
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", record_timing=True)
    started = time.perf_counter()
    client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
    print(f"{chapter}: {time.perf_counter() - started:.0f} s", flush=True)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        if errors := "".join(o.text for o in cell.outputs if o.get("name") == "stderr"):
            print(f"{chapter}/{cell.id} wrote to stderr:\n{errors[:2000]}", flush=True)
    return {f"{chapter}/{cell.id}": printed(cell.outputs) for cell in cells if LAB.search(cell.source)}


def printed(outputs: list[Any]) -> str:
    """The text of a cell's outputs, without pictures."""
    texts = [o.text if o.output_type == "stream" else o.get("data", {}).get("text/plain", "") for o in outputs]
    lines = "\n".join(text.rstrip("\n") for text in texts if text and not text.startswith("Run this cell")).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("Kernels run on ", "<IPython.core.display")))


def measured_on() -> dict[str, str]:
    """Card, driver, versions and date."""
    from numba import cuda

    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()[0]
    major, minor = device.compute_capability
    return {
        "gpu": name, "compute_capability": f"{major}.{minor}", "driver": driver, "numba": version("numba"),
        "numba_cuda": version("numba-cuda"), "numpy": version("numpy"), "date": datetime.date.today().isoformat(),
    }  # fmt: skip


def main() -> int:
    """Record the chapters named on the command line, or all; what other chapters printed stays."""
    chapters = sys.argv[1:] or list(CHAPTERS)
    if not backend.choose().is_gpu:
        return 2
    kept = json.loads(FILE.read_text(encoding="utf-8"))["labs"] if FILE.exists() else {}
    failed = False
    for chapter in chapters:
        try:
            new = labs(chapter)
        except CellExecutionError as error:
            print(f"{chapter}: {error}", flush=True)
            failed = True
            continue
        kept = {name: text for name, text in kept.items() if not name.startswith(f"{chapter}/")} | new
    content = {"measured_on": measured_on(), "labs": dict(sorted(kept.items()))}
    FILE.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
