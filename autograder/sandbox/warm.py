"""What is slow to make is made once, outside: a sandbox starts with it and forgets what it makes itself."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from course.simulator.source.resolver import cache_folder

__all__ = ["warm_files"]

TAG = f"py{sys.version_info[0]}{sys.version_info[1]}"
"""Of this Python, in the names of numba's files."""

# In a process of its own: numba would stay in this one's memory, with 100 MB.
_COMPILE = """
import compileall, importlib, sys
sys.path.insert(0, sys.argv[1])
compileall.compile_dir(sys.argv[2], quiet=2)
for name in sys.argv[3:]:
    importlib.import_module(name)
"""


def warm_files(course: Path, home: str) -> list[list[str]]:
    """[file, place in the sandbox] of what is slow to make.

    That is numba's compiled counters, the types that numba gave to kernels so far, and matplotlib's list of fonts. They
    are copies, in folders that can be written: numba uses its cache only where it could also write.
    course: the folder of the package. home: the home folder in the sandbox.
    """
    places = [[str(path), f"{home}/matplotlib/{path.name}"] for path in _font_lists()]
    if folder := cache_folder():
        wanted = f"types_*py{sys.version_info[0]}.{sys.version_info[1]}.json"
        with suppress(OSError):  # a home folder that cannot be read
            places += [[str(path), f"{home}/.cache/{folder.name}/{path.name}"] for path in sorted(folder.glob(wanted))]
    _compile_counters(course)
    caches = {path.parent for path in course.rglob(f"__pycache__/*.{TAG}.nbi")}
    ready = re.compile(rf"\.{TAG}(\.\d+)?\.nb[ci]$|\.{re.escape(sys.implementation.cache_tag)}\.pyc$")
    files = sorted(path for folder in caches for path in folder.iterdir() if ready.search(path.name))
    return [*places, *([str(path)] * 2 for path in files)]


@cache
def _compile_counters(course: Path) -> None:
    """Compile the course where that has not been done. If it fails, each sandbox compiles what it needs, in seconds."""
    modules = sorted(course.rglob("*_kernels.py"))
    if all(map(_is_compiled, modules)):
        return
    names = [".".join(path.relative_to(course.parent).with_suffix("").parts) for path in modules]
    command = [sys.executable, "-c", _COMPILE, str(course.parent), str(course), *names]
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _is_compiled(module: Path) -> bool:
    """Whether numba's last index of this file is newer than the file, and of this numba (its first bytes say)."""
    indexes = module.parent.glob(f"__pycache__/{module.stem}.*.{TAG}.nbi")
    last = max(indexes, key=lambda path: path.stat().st_mtime, default=None)
    if last is None or last.stat().st_mtime < module.stat().st_mtime:
        return False
    return version("numba").encode() in last.read_bytes()[:100]


@cache
def _font_lists() -> list[Path]:
    """matplotlib's lists of fonts; it makes one here if there is none."""
    from matplotlib import font_manager, get_cachedir

    font_manager.get_font_names()
    return sorted(Path(get_cachedir()).glob("fontlist-*.json"))
