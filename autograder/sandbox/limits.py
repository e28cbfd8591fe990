"""How much one student's program may use while it is graded."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GIB", "MIB", "Limits"]

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Bounds on one run of a notebook or of a function. What goes beyond is stopped or cut, and said."""

    cell_seconds: int = 60
    """Time of one cell, seconds. The cell is interrupted, the next one runs."""
    notebook_seconds: int = 300
    """Time of the whole run, start included, seconds. The run is ended."""
    feedback_seconds: int = 120
    """Time of one page of feedback: Markdown of a student is turned into HTML there. There is no page then."""
    memory_bytes: int = 4 * GIB
    """Address space of each process, and resident memory of all of them together."""
    processes: int = 128
    """Processes and threads together."""
    file_bytes: int = 64 * MIB
    """Size of one file."""
    scratch_bytes: int = 256 * MIB
    """Size of all files in the working directory and /tmp together; they are kept in memory."""
    open_files: int = 256
    """Open files of one process."""
    output_bytes: int = MIB
    """What one cell may show. The rest is dropped, with a note."""
    all_output_bytes: int = 32 * MIB
    """What all cells together may show."""
    message_bytes: int = 16 * MIB
    """One message of the kernel. A longer one is not received at all."""
