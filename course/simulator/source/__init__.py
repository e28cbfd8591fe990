"""Runs the text of a kernel in lockstep: every statement for all lanes at once, counted as it is written."""

from __future__ import annotations

from course.simulator.source.running import run

__all__ = ["run"]
