"""Feedback shows a student everything about their work except the hidden tests."""

from __future__ import annotations

import re
from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.cells import HIDDEN, split

__all__ = ["HideTests"]

ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class HideTests(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader is untyped
    """Drops HIDDEN TESTS blocks from the cells, and the tracebacks that quote them from their outputs."""

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """What nbconvert calls for each cell of an autograded notebook."""
        if cell.cell_type != "code" or f"BEGIN {HIDDEN}" not in cell.source:
            return cell, resources
        parts = split(cell.source)
        hidden = [line.strip() for line in parts.hidden.split("\n") if line.strip()]
        cell.source = parts.visible.rstrip()
        for output in cell.outputs:
            if output.output_type == "error":
                # IPython quotes the lines around the one that failed.
                output.traceback = [f"{output.ename}: {output.evalue}"]
            elif output.output_type == "stream":
                kept = [line for line in output.text.split("\n") if not _quotes(line, hidden)]
                output.text = "\n".join(kept)
        return cell, resources


def _quotes(line: str, hidden: list[str]) -> bool:
    plain = ANSI_COLOUR.sub("", line)
    return any(secret in plain for secret in (*hidden, HIDDEN))
