"""Typical mistakes in the exercises that are functions or kernels, one file per chapter."""

from __future__ import annotations

from importlib import import_module

from course.checks.registry import CHAPTERS
from tests.support.mistakes.wrong import Wrong

__all__ = ["WRONG", "Wrong"]

WRONG: dict[str, dict[str, Wrong]] = {}
"""check name -> mistake -> what it changes in the reference, and what is said about it."""
for _chapter in CHAPTERS:
    WRONG |= import_module(f"{__name__}.{_chapter}").WRONG
