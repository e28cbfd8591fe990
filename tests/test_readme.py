"""What the README shows is what the course prints."""

from __future__ import annotations

import re
import subprocess
import sys


def test_the_readmes_kernel_prints_the_readmes_listing(root, tmp_path):
    readme = (root / "README.md").read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.S).groups()
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "example.py"], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout == shown
