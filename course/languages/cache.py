"""What the compilers said, kept on disk: a kernel that has not changed is not compiled again.

Safe with many processes: an entry is written to a file of its own and then renamed. An entry that cannot be read, or
whose text does not match its checksum, is thrown away. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "clear", "folder", "get", "key", "put"]

FOLDER = "COURSE_COMPILED"
"""Environment variable that names another folder."""
LIMIT = 500
"""Entries that are kept; beyond them, the oldest go."""
_FORMAT = 1
_PACKAGES = (
    "gpu-memory-course", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "nvidia-nvvm", "nvidia-cuda-nvrtc",
)  # fmt: skip


def folder() -> Path:
    """Where the entries are."""
    said = os.environ.get(FOLDER)
    if said:
        return Path(said)
    import platformdirs

    return Path(platformdirs.user_cache_dir("gpu-memory-course", appauthor=False)) / "compiled"


def key(*parts: Any) -> str:
    """The name of an entry: everything that decides about it, and the versions of what makes it."""
    return hashlib.sha256(repr((_FORMAT, _versions(), parts)).encode()).hexdigest()[:40]


def get(name: str) -> dict[str, str] | None:
    """An entry, or None."""
    file = folder() / f"{name}.json"
    try:
        checksum, text = file.read_text(encoding="utf-8").split("\n", 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        _discard(file)
        return None
    if checksum != _checksum(text):
        _discard(file)
        return None
    entry: dict[str, str] = json.loads(text)
    return entry


def put(name: str, entry: dict[str, str]) -> None:
    """Keep an entry."""
    text = json.dumps(entry)
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder(), suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(f"{_checksum(text)}\n{text}")
            Path(temporary).replace(folder() / f"{name}.json")
        except BaseException:
            _discard(Path(temporary))
            raise
        _prune()


def clear() -> int:
    """Throw everything away; the number of entries that there were."""
    entries = list(folder().glob("*.json"))
    for file in (*entries, *folder().glob("*.part")):
        _discard(file)
    return len(entries)


def _prune() -> None:
    """Throw the oldest entries away."""
    entries = list(folder().glob("*.json"))
    if len(entries) <= LIMIT:
        return
    for _, file in sorted((_written(file), file) for file in entries)[: len(entries) - LIMIT]:
        _discard(file)


def _written(file: Path) -> float:
    with contextlib.suppress(OSError):  # another process threw it away
        return file.stat().st_mtime
    return 0.0


def _discard(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def _versions() -> tuple[str, ...]:
    found = []
    for package in _PACKAGES:
        try:
            found.append(importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            found.append("")
    return tuple(found)
