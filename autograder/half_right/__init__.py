"""Typical wrong answers, one file per chapter: what the sample student half-right hands in."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

__all__ = ["answers"]


def answers(chapter: str) -> dict[str, str]:
    """Answer cell -> its text; empty for a chapter without samples, such as the start page."""
    if find_spec(f"{__name__}.{chapter}") is None:
        return {}
    found: dict[str, str] = import_module(f"{__name__}.{chapter}").ANSWERS
    return found
