"""The counters of a real GPU for one launch, read by NVIDIA's Nsight Compute (`ncu`) from a second process.

The kernel and its arguments go to that process in a file; it launches once, and ncu writes its metrics.
"""

from __future__ import annotations

import csv
import io
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from course import cuda
from course.errors import CourseError

__all__ = ["NoCountersError", "counters", "launch_from_file"]

_SECONDS = 120
_USUAL_PLACE = "/usr/local/cuda/bin/ncu"
_ALIGNMENT = 256


class NoCountersError(CourseError, RuntimeError):
    """Counters cannot be read here; the text says why."""


def counters(
    kernel: Callable[..., Any], grid: int | tuple[int, ...], block: int | tuple[int, ...], args: tuple[Any, ...],
    metrics: Iterable[str],
) -> dict[str, float]:  # fmt: skip
    """Metric -> value of ``kernel[grid, block](*args)`` on the GPU of this computer.

    The arguments keep their values, and device arrays the place of their first byte in 256 bytes.
    Raises NoCountersError without a GPU, without ncu, or where this user may not read counters.
    """
    if not cuda.is_available():
        raise NoCountersError("no GPU here")
    if (tool := shutil.which("ncu") or shutil.which(_USUAL_PLACE)) is None:
        raise NoCountersError("ncu is not installed")
    from numba import cloudpickle  # functions of a notebook are pickled with their code

    wanted = list(metrics)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "launch"
        function = getattr(kernel, "py_func", kernel)
        path.write_bytes(cloudpickle.dumps((function, grid, block, [_packed(argument) for argument in args])))
        code = f"from course.profiling.ncu import launch_from_file; launch_from_file({str(path)!r})"
        command = [tool, "--csv", "--page", "raw", "--clock-control", "none", "--metrics", ",".join(wanted),
                   sys.executable, "-c", code]  # fmt: skip
        package = Path(__file__).parents[2]
        paths = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, cwd=folder,
                                 env={**os.environ, "PYTHONPATH": paths})  # fmt: skip
        except subprocess.TimeoutExpired:
            raise NoCountersError(f"ncu took longer than {_SECONDS} s") from None
    return _read(ran.stdout + ran.stderr, function.__name__, wanted)


def launch_from_file(path: str) -> None:
    """What runs under ncu: launch the kernel of a file once."""
    function, grid, block, packed = pickle.loads(Path(path).read_bytes())
    cuda.jit(function)[grid, block](*[_unpacked(one) for one in packed])
    cuda.synchronize()


def _packed(argument: Any) -> tuple[Any, int | None]:
    """A device array as its values and the place of its first byte; everything else as it is."""
    if not hasattr(argument, "copy_to_host"):
        return argument, None
    pointer = int(argument.__cuda_array_interface__["data"][0])
    return argument.copy_to_host(), pointer % _ALIGNMENT


def _unpacked(packed: tuple[Any, int | None]) -> Any:
    value, place = packed
    if place is None:
        return cuda.to_device(value) if isinstance(value, np.ndarray) else value
    items = place // value.itemsize
    whole = cuda.to_device(np.concatenate([np.zeros(items, value.dtype), value.ravel()]))
    return whole[items:].reshape(value.shape)


def _read(output: str, kernel: str, metrics: list[str]) -> dict[str, float]:
    """The metrics of the last launch of the kernel in ncu's CSV."""
    if "ERR_NVGPUCTRPERM" in output:
        raise NoCountersError("this user may not read the GPU's counters (ERR_NVGPUCTRPERM)")
    table = "\n".join(line for line in output.splitlines() if line.startswith('"'))
    rows = [row for row in csv.DictReader(io.StringIO(table)) if kernel in (row.get("Kernel Name") or "")]
    if not rows:
        last = [line for line in output.splitlines() if line.strip()][-1:] or ["no output"]
        raise NoCountersError(f"ncu saw no launch of {kernel} ({last[0][:120]})")
    return {name: float((rows[-1].get(name) or "nan").replace(",", "")) for name in metrics}
