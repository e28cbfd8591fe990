"""Write a file whole or not at all."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write"]


def write(place: Path, content: bytes) -> None:
    """Put `content` at `place`, in place of what was there; whoever reads it sees the old or the new, never half."""
    place.parent.mkdir(parents=True, exist_ok=True)
    # The same name each time: what a run that was killed left behind is replaced by the next one.
    new = place.with_name(f".{place.name}.new")
    new.write_bytes(content)
    new.replace(place)
