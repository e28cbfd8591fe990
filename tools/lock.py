"""Write constraints.txt: every installed version, but for the course itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEADER = """\
# Every version of the course's environment, as installed and tested together on Python 3.11.
# Made by: make lock
"""


MAC = {"llvmlite": "0.46.0", "numba": "0.63.1", "numpy": "2.3.5"}
"""numba-cuda does not exist for the Mac: there, the last numba with a complete CUDA target of its own."""


COMPILER = {
    "nvidia-cuda-cccl": "13.0.85",
    "nvidia-cuda-crt": "13.0.88",
    "nvidia-cuda-nvcc": "13.0.88",
    "nvidia-cuda-nvdisasm": "13.2.51",
    "nvidia-cuda-nvrtc": "13.0.88",
    "nvidia-cuda-runtime": "13.0.96",
    "nvidia-nvjitlink": "13.0.88",
    "nvidia-nvvm": "13.0.88",
}
"""NVIDIA's compiler (on Linux, and it need not be installed here), with what its wheels bring along."""


def lines(pin: str) -> list[str]:
    """A pin, or a pair of them where the Mac has another version."""
    name = pin.split("==")[0]
    if name not in MAC:
        return [pin]
    return [f"{pin}; sys_platform != 'darwin'", f"{name}=={MAC[name]}; sys_platform == 'darwin'"]


def main() -> None:
    """Ask pip, drop what is no pinned release, write the file."""
    frozen = subprocess.run(
        [sys.executable, "-m", "pip", "freeze", "--exclude-editable"], check=True, capture_output=True, text=True
    ).stdout
    pins = [line for pin in frozen.splitlines() if "==" in pin for line in lines(pin)]
    pins = [pin for pin in pins if pin.split("==")[0] not in COMPILER]
    pins += [f"{name}=={version}; sys_platform == 'linux'" for name, version in COMPILER.items()]
    (Path(__file__).parents[1] / "constraints.txt").write_text(HEADER + "\n".join(pins) + "\n", encoding="utf-8")
    print(f"constraints.txt: {len(pins)} versions")


if __name__ == "__main__":
    main()
