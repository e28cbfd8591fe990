"""Feedback shows a student everything about their work except the hidden tests and colours that nobody can read."""

from __future__ import annotations

import re
from typing import Any

from nbconvert.filters import ansi2html, strip_ansi
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.cells import HIDDEN, split

__all__ = ["HideTests", "ReadableColours", "without_scripts"]

ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
MOST_COLOURS = 2000
"""Changes of colour in one output: the time that nbconvert takes grows with their square."""


NO_SCRIPTS = (
    '<meta http-equiv="Content-Security-Policy" content="script-src https://cdnjs.cloudflare.com/ajax/libs/mathjax/; '
    "object-src 'none'; frame-src 'none'; form-action 'none'; base-uri 'none'\">"
)
"""Of a page of feedback, only formulas may run (MathJax): what a student wrote may hold scripts of its own."""


def without_scripts(page: str) -> str:
    """The page, told to run no script of a student's in the browser of whoever opens it."""
    return page.replace("<head>", f"<head>\n{NO_SCRIPTS}", 1)


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


class ReadableColours(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader is untyped
    """Takes all colours out of an output where nbconvert would fail at one, or never end: there would be no page."""

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """What nbconvert calls for each cell of an autograded notebook."""
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                output.traceback = [_readable(line) for line in output.traceback]
            elif output.output_type == "stream":
                output.text = _readable(output.text)
            elif "text/plain" in output.data:
                output.data["text/plain"] = _readable(output.data["text/plain"])
        return cell, resources


def _readable(text: str) -> str:
    if text.count("\x1b") > MOST_COLOURS:
        return str(strip_ansi(text))
    try:
        ansi2html(text)
    except IndexError:  # "\x1b[38m" stops in the middle of a colour
        return str(strip_ansi(text))
    return text


def _quotes(line: str, hidden: list[str]) -> bool:
    plain = ANSI_COLOUR.sub("", line)
    return any(secret in plain for secret in (*hidden, HIDDEN))
