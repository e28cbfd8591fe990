"""Ask for the registers of the course's own kernels, and keep the answers for computers that cannot ask.

    python tools/record_registers.py

A GPU's driver is asked where there is a GPU of compute capability 9.0, otherwise NVIDIA's compiler (the extra
`compiler`). The answers go to course/measured/h200_registers.json, with who gave them and when. Where both are there,
both are asked, and a difference is printed. Exit code 1 when they differ, 2 when there is nobody to ask.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from course import backend  # noqa: E402
from course.kernels import cp_async, occupancy  # noqa: E402
from course.languages.tools import NoCompilerError, assembler  # noqa: E402
from course.profiling import compiled  # noqa: E402

FILE = ROOT / "course" / "measured" / compiled.RECORDED


def measured_on(on_gpu: bool, said_by: str) -> dict[str, str]:
    """Card, driver, versions and date; without a GPU, that it was the compiler who said it."""
    major, minor = compiled.RECORDED_CC
    gpu, driver = f"none: compiled for compute capability {major}.{minor}", f"none: {said_by}"
    if on_gpu:
        gpu = said_by.removeprefix("the driver of ")
        driver = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[0]
    return {
        "gpu": gpu, "compute_capability": f"{major}.{minor}", "driver": driver, "numba": version("numba"),
        "numba_cuda": version("numba-cuda"), "date": datetime.date.today().isoformat(),
    }  # fmt: skip


def main() -> int:
    """Ask for every kernel, write the table, return the exit code."""
    on_gpu = backend.choose().is_gpu and compiled.gpu_capability() == compiled.RECORDED_CC
    has_compiler = True
    try:
        assembler()
    except NoCompilerError as error:
        has_compiler = False
        if not on_gpu:
            print(f"There is no GPU of this compute capability here, and {error}: nothing was recorded.")
            return 2
    rows: list[dict[str, Any]] = []
    said_by, differ = "", False
    for name, (kernel, args) in (occupancy.examples() | cp_async.examples()).items():
        said = [compiled.ask_driver(kernel, args)] if on_gpu else []
        if has_compiler:
            said.append(compiled.ask_compiler(kernel, args))
        numbers = [(one.count, one.local_bytes, one.shared_bytes) for one in said]
        print(f"{name}: {'; '.join(map(str, said))}", flush=True)
        if len(set(numbers)) > 1:
            print("  They differ.")
            differ = True
        said_by = said[0].source
        count, local, shared = numbers[0]
        rows.append({
            "kernel": said[0].kernel, "launch": name, "fingerprint": compiled.fingerprint(kernel, args),
            "registers": count, "local_bytes": local, "shared_bytes": shared,
        })  # fmt: skip
    head = {"measured_on": measured_on(on_gpu, said_by), "said_by": said_by, "kernels": rows}
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items() if key != "kernels"]
    table = ",\n".join(json.dumps(row) for row in rows)
    FILE.write_text("{" + ",\n".join([*lines, f'"kernels": [\n{table}\n]']) + "}\n", encoding="utf-8")
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
