"""Kernels that numba completes with CUDA C++ when it launches them (float16, say): linked here as it does there.

The text that numba brings along is compiled by NVRTC to the form that is optimized at link time, and so is the kernel;
NVIDIA's linker makes one PTX of both, with everything inlined.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from course.languages.tools import NoCompilerError, first_line

__all__ = ["flags_as_nvrtc", "linked_ptx", "missing"]

_EXTERNAL = re.compile(r"^\s*\.extern\s+\.func\s+(?:\([^)]*\)\s*)?([\w$]+)", re.M)
_OF_THE_DRIVER = ("vprintf", "malloc", "free", "__assertfail")
"""Functions that every GPU has, without any linking."""
_AS_NVRTC = 1
"""Behaviour of the module flag "Debug Info Version" in what NVRTC makes; numba's 2 would not be linked with it."""


def missing(ptx: str) -> list[str]:
    """Functions that a PTX calls and does not hold."""
    return [name for name in _EXTERNAL.findall(ptx) if name not in _OF_THE_DRIVER]


def linked_ptx(
    function: Any, numba_types: tuple[Any, ...], cc: tuple[int, int], said: Mapping[str, Any], name: str
) -> str:  # fmt: skip
    """The PTX of a kernel with all that it calls; `function` in numba's words.

    Raises NoCompilerError where it cannot be linked.
    """
    try:
        ptx = _linked(function, numba_types, cc, dict(said))
    except Exception as error:  # a library is missing or of another version
        raise NoCompilerError(
            f"{name} uses CUDA C++ that numba links in, as it does for float16, and that failed: {first_line(error)}"
        ) from None
    if missing(ptx):
        raise NoCompilerError(f"{name} calls {', '.join(missing(ptx))}, which nobody has given to the linker")
    return ptx


def _linked(function: Any, numba_types: tuple[Any, ...], cc: tuple[int, int], said: dict[str, Any]) -> str:
    compiler = importlib.import_module("numba.cuda.compiler")
    driver = importlib.import_module("numba.cuda.cudadrv.driver")
    given = {"cc": cc, "device": False, "abi": "numba", "output": "ltoir"}
    kernel, _ = compiler.compile(function, numba_types, **given, **said)
    (_, *others), _ = compiler.compile_all(function, numba_types, **given, **{**said, "lineinfo": False})
    linker = driver._Linker(cc=cc, lineinfo=said.get("lineinfo", False), lto=True)
    linker.add_ltoir(kernel)
    for code in others:
        if hasattr(code, "kind"):  # a file that the kernel names
            linker.add_file_guess_ext(code)
        else:
            linker._object_codes.append(code)
    ptx = linker.get_linked_ptx()
    return str(ptx.decode() if isinstance(ptx, bytes) else ptx).rstrip("\0")


@contextlib.contextmanager
def flags_as_nvrtc() -> Iterator[None]:
    """numba marks its line numbers as NVRTC marks its own. It keeps parts of a kernel: all must be made in here."""
    builder = importlib.import_module("numba.cuda.debuginfo").DIBuilder
    original = getattr(builder, "_set_module_flags", None)
    if original is None:  # a version of numba that is not known here: what needs linking will fail
        yield
        return

    def flags(self: Any) -> None:
        constant = self._const_int
        behaviour = iter([_AS_NVRTC])  # the first number that it asks for; a version follows
        self._const_int = lambda value, *more: constant(next(behaviour, value), *more)
        try:
            original(self)
        finally:
            del self._const_int

    builder._set_module_flags = flags
    try:
        yield
    finally:
        builder._set_module_flags = original
