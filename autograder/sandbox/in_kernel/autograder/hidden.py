"""Stands in for the seeds of hidden inputs, so that test cells run unchanged: the inputs are the visible ones."""

from __future__ import annotations

__all__ = ["seed"]


def seed(name: str) -> None:
    """No seed: `grade(..., seed=None)` uses the inputs that students have as well."""
