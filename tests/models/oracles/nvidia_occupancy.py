"""Answers of NVIDIA's occupancy calculator to a fixed list of questions.

`ask` compiles the calculator (cuda_occupancy.h) on the spot; `golden` reads the answers it once gave.
Write the golden file anew with ``python tests/models/oracles/nvidia_occupancy.py`` after a change of QUESTIONS.
"""

from __future__ import annotations

import ctypes
import hashlib
import lzma
import os
import shutil
import site
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "golden" / "nvidia_occupancy.xz"
CAPABILITIES = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
SHARED_KIB = np.array([96, 64, 164, 100, 100, 228, 228, 100])
RESERVED = np.array([0, 0, *[1024] * 6])
COUNT = 20480 * len(CAPABILITIES)
FACTORS = {"warps": 1, "registers": 2, "shared": 4, "blocks": 8, "barriers": 16}


class NoCalculator(Exception):
    """NVIDIA's calculator cannot be compiled here; the message says what is missing."""


def questions() -> np.ndarray:
    """The list, (COUNT, 7): device, threads, registers, static, dynamic, limit of dynamic (-1: none), carveout.

    Half of the numbers are anywhere in their range, half on or beside an edge of a rule.
    """
    draws = _Draws(COUNT)
    device = np.arange(COUNT) % len(CAPABILITIES)
    opt_in = SHARED_KIB[device] * 1024 - RESERVED[device]
    threads = draws.mix(
        draws.integers(1, 1100),
        32 * draws.integers(1, 33),
        draws.choice([1, 31, 32, 33, 63, 127, 129, 255, 257, 511, 513, 1023, 1024, 1025]),
    )
    registers = draws.mix(
        draws.integers(0, 256),
        draws.integers(16, 73),
        8 * draws.integers(0, 32),
        draws.choice([0, 1, 32, 33, 64, 65, 255]),
    )
    edge = draws.choice([0, 8, 16, 32, 48, 64, 96, 99, 100, 131, 163, 164, 195, 227]) * 1024
    total = draws.mix(
        draws.integers(0, 4096),
        draws.integers(0, 240 * 1024) % (opt_in + 2),
        np.zeros(COUNT, np.int64),
        128 * draws.integers(0, 400) + draws.integers(-1, 2),
        edge + draws.integers(-1, 2) - RESERVED[device] * draws.integers(0, 2),
        opt_in,
        opt_in // draws.integers(1, 40) + draws.integers(-1, 2),
    ).clip(0)
    static = (total * draws.integers(0, 5) // 4).clip(0, 48 * 1024)
    dynamic = total - static
    limit = draws.mix(np.full(COUNT, -1), dynamic, dynamic, np.maximum(opt_in - static, dynamic))
    carveout = draws.mix(np.full(COUNT, -1), draws.integers(0, 101), draws.choice([0, 1, 39, 50, 99, 100]))
    return np.stack([device, threads, registers, static, dynamic, limit, carveout], axis=1).astype(np.int32)


def ask(listed: np.ndarray) -> tuple[np.ndarray, str]:
    """Answers (n, 10) from NVIDIA's header compiled now, and the header's path; NoCalculator says why not.

    Columns: status, blocks, factors, blocks by warps, registers, shared, slots, barriers; registers, bytes of a block.
    """
    header, compiler = _header(), _compiler()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "oracle.so"
        command = [compiler, "-O1", "-shared", "-fPIC", f"-I{header.parent}", "-o", str(library)]
        built = subprocess.run(
            [*command, str(HERE / "nvidia_occupancy.c")], capture_output=True, text=True, check=False
        )
        if built.returncode:
            raise NoCalculator(f"{compiler} cannot build the calculator with {header}: {built.stderr[:300]}")
        occupancies = ctypes.CDLL(str(library)).occupancies
        listed, answers = np.ascontiguousarray(listed, np.int32), np.zeros((len(listed), 10), np.int32)
        pointer = ctypes.POINTER(ctypes.c_int)
        occupancies(len(listed), listed.ctypes.data_as(pointer), answers.ctypes.data_as(pointer))
    if answers[:, 0].any():
        device = listed[answers[:, 0] != 0][0, 0]
        raise NoCalculator(f"{header} does not know compute capability {CAPABILITIES[device]}")
    return answers, str(header)


def golden(listed: np.ndarray) -> np.ndarray:
    """Blocks and factors, (n, 2), as NVIDIA's header once answered exactly this list."""
    content = lzma.decompress(GOLDEN.read_bytes())
    assert content[:32] == hashlib.sha256(listed.tobytes()).digest(), "the golden file answers other questions"
    return np.frombuffer(content[32:], np.uint8).reshape(2, -1).T.astype(np.int64)


def write_golden() -> None:
    """Answer the list with the header of this machine and keep blocks and factors, a byte each."""
    listed = questions()
    answers, header = ask(listed)
    content = hashlib.sha256(listed.tobytes()).digest() + answers[:, 1:3].T.astype(np.uint8).tobytes()
    GOLDEN.write_bytes(lzma.compress(content, preset=9))
    print(f"{len(listed)} answers of {header}: {GOLDEN.stat().st_size} bytes in {GOLDEN}")


def _header() -> Path:
    homes = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    homes += sorted(Path("/usr/local").glob("cuda*"), reverse=True)
    places = [home / "include" for home in homes]
    for packages in map(Path, site.getsitepackages()):  # the wheel nvidia-cuda-runtime, CUDA 12 and 13
        places += [packages / "nvidia" / "cuda_runtime" / "include", *packages.glob("nvidia/cu*/include")]
    for place in places:
        if (place / "cuda_occupancy.h").is_file():
            return place / "cuda_occupancy.h"
    raise NoCalculator("cuda_occupancy.h is not here: install the CUDA toolkit or the wheel nvidia-cuda-runtime")


def _compiler() -> str:
    for name in ("cc", "gcc", "clang", "g++", "c++"):
        if found := shutil.which(name):
            return found
    raise NoCalculator("no C compiler is here")


class _Draws:
    """Pseudo-random numbers that are the same for ever (SplitMix64), whatever NumPy's generators become."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.state = np.uint64(1)

    def integers(self, low: int, high: int) -> np.ndarray:
        """From `low` up to, not including, `high`."""
        with np.errstate(over="ignore"):
            z = (self.state + np.arange(self.count, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        self.state += np.uint64(self.count)
        return ((z ^ (z >> np.uint64(31))) % np.uint64(high - low)).astype(np.int64) + low

    def choice(self, values: list[int]) -> np.ndarray:
        return np.array(values)[self.integers(0, len(values))]

    def mix(self, *kinds: np.ndarray) -> np.ndarray:
        """Each number from one of the kinds."""
        return np.stack(kinds)[self.integers(0, len(kinds)), np.arange(self.count)]


if __name__ == "__main__":
    write_golden()
