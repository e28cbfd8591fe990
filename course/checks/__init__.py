"""Instant feedback and grading: one pure function of the student's value, the same in both."""

from __future__ import annotations

from course.checks.asking import check, grade
from course.checks.registry import Check, UnknownCheckError, find, names
from course.checks.result import PartResult, Result

__all__ = ["Check", "PartResult", "Result", "UnknownCheckError", "check", "find", "grade", "names"]
