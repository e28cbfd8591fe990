"""Open JupyterLab on the student's first notebook.

Students work on a copy: ``release/`` is generated and would be overwritten, so each chapter is copied to
``work/`` once and never touched again.
"""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from pathlib import Path

from jupyterlab.labapp import LabApp

ROOT = Path(__file__).resolve().parents[1]
FIRST = Path("start/start.ipynb")


def copy_new(release: Path, work: Path) -> list[str]:
    """Copy the files of `release` that `work` does not have yet; return their names."""
    new = []
    for source in sorted(release.rglob("*")):
        target = work / source.relative_to(release)
        if source.is_dir() or ".ipynb_checkpoints" in source.parts or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        new.append(str(target.relative_to(work)))
    return new


def has_browser() -> bool:
    """Whether a browser can be opened here."""
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def main() -> None:
    """Copy what is new, then run JupyterLab until it ends."""
    work = ROOT / "work"
    for name in copy_new(ROOT / "release", work):
        print(f"new: work/{name}")
    options = [f"--ServerApp.root_dir={work}", str(work / FIRST), *sys.argv[1:]]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    if not has_browser():
        print("There is no browser here: open the address that JupyterLab prints below.")
        options.append("--no-browser")
    LabApp.launch_instance(options)


if __name__ == "__main__":
    main()
