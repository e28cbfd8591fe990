"""What a typical mistake is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Wrong"]


@dataclass(frozen=True)
class Wrong:
    """A typical mistake: the text of the reference that it replaces, and what the feedback must say."""

    edit: tuple[str, str]
    part: str
    says: str
