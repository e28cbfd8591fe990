"""Which of two equal modules does the work: the one in NumPy, or its compiled twin.

The NumPy module needs no start: it does the small launches, and everything where compiled code is not to
be had. Once it has worked for `PATIENCE` seconds in a process, the compiled twin is loaded: at once from
numba's cache, or compiled, which takes seconds once per machine (`observers.warm_up` does it at set-up).
"""

from __future__ import annotations

import importlib
import time
from types import ModuleType
from typing import Any

__all__ = ["PATIENCE", "Twins"]

PATIENCE = 0.3
"""Seconds of NumPy work (of this thread) that are worth loading the compiled twin."""


class Twins:
    """Two modules with the same functions. `call` runs a function of the one that suits the moment."""

    def __init__(self, definition: ModuleType, compiled: str) -> None:
        self.definition = definition
        self._name = compiled
        self._spent = 0.0
        self._compiled: ModuleType | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled twin does the work now."""
        return self._compiled is not None

    def call(self, function: str, *arguments: Any) -> Any:
        """Run `function` of the compiled twin if it is loaded, otherwise of the NumPy module."""
        if self._compiled is not None:
            return getattr(self._compiled, function)(*arguments)
        started = time.thread_time()
        result = getattr(self.definition, function)(*arguments)
        self._spent += time.thread_time() - started
        if self._spent > PATIENCE:
            self.load()
        return result

    def load(self) -> bool:
        """Load the compiled twin; False where numba finds no place for its cache, or is missing."""
        try:
            self._compiled = importlib.import_module(self._name)
        except (RuntimeError, ImportError):
            self._spent = float("-inf")
        return self.is_compiled
