"""A bar for runs that take long: it appears after a second, and is gone at the end."""

from __future__ import annotations

import sys
import time
from types import TracebackType

__all__ = ["Progress"]

_PATIENCE = 1.0
"""Seconds before a bar is shown at all."""
_INTERVAL = 0.2
"""Seconds between two updates."""
_WIDTH = 30


class Progress:
    """``with Progress("scale") as tick: tick(done, total)``. Writes to standard output only, never to stderr.

    In a notebook the bar is one output that is updated and then emptied; in a terminal one line that is
    rewritten and then cleared; elsewhere (a file, a test) nothing is shown.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = time.monotonic() + _PATIENCE
        self._show = _shown_by()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Tell how far the run is."""
        now = time.monotonic()
        if self._show is None or now < self._next:
            return
        self._next = now + _INTERVAL
        self._shown = True
        full = _WIDTH * done // max(total, 1)
        self._show(f"{self._name}  {'█' * full}{'░' * (_WIDTH - full)}  {done:,} of {total:,} blocks")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._show is not None:
            self._show("")


class _Terminal:
    def __call__(self, text: str) -> None:
        sys.stdout.write(f"\r\x1b[K{text}")
        sys.stdout.flush()


class _Notebook:
    def __init__(self) -> None:
        self._handle: object | None = None

    def __call__(self, text: str) -> None:
        from IPython.display import HTML, display

        content = HTML(f"<pre>{text}</pre>" if text else "")
        if self._handle is None:
            self._handle = display(content, display_id=True)
        else:
            self._handle.update(content)  # type: ignore[attr-defined]


def _shown_by() -> _Terminal | _Notebook | None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and getattr(shell, "kernel", None) is not None:
        return _Notebook()
    return _Terminal() if sys.stdout is not None and sys.stdout.isatty() else None
