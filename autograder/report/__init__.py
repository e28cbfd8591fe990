"""The marks of a class: rows, a table for the terminal, and a report as pages and CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autograder.report.gradebook import Submission, gradebook_rows
from autograder.report.terminal import table

if TYPE_CHECKING:
    from autograder.settings import Course

__all__ = ["Submission", "build_report", "gradebook_rows", "table"]


def build_report(course: Course) -> Path:
    """Write the report of everything that is graded to <area>/results/; returns its index.html."""
    from autograder.report.build import build_report  # matplotlib: a second that the marks alone do not need

    return build_report(course)
