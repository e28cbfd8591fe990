"""Write constraints.txt: every installed version, but for the course itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEADER = """\
# Every version of the course's environment, as installed and tested together on Python 3.11.
# Made by: make lock
"""


def main() -> None:
    """Ask pip, drop what is no pinned release, write the file."""
    frozen = subprocess.run(
        [sys.executable, "-m", "pip", "freeze", "--exclude-editable"], check=True, capture_output=True, text=True
    ).stdout
    pins = [line for line in frozen.splitlines() if "==" in line]
    (Path(__file__).parents[1] / "constraints.txt").write_text(HEADER + "\n".join(pins) + "\n", encoding="utf-8")
    print(f"constraints.txt: {len(pins)} versions")


if __name__ == "__main__":
    main()
