"""Plain values between a student's process and the grader, as JSON.

An object does not survive this: what arrives is made of exact Python types, or it is an `Other`, which is nothing but
the name of a type. Numbers, text and True pass as they are, containers as {"list": [...]}, arrays with their type.
"""

from __future__ import annotations

import re
import sys
from typing import Any

__all__ = ["Other", "WireError", "decode", "encode"]

MOST_ITEMS = 200_000
DEEPEST = 12
MOST_CHARACTERS = 20_000
MOST_BITS = 4096
_DTYPE = re.compile(r"[<>=|]?[iufb][1248]")
_CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class WireError(ValueError):
    """What arrived is no value of this form."""


class Other:
    """Stands for a value that is no plain data."""


def encode(value: Any) -> Any:
    """`value` for JSON. Whatever is no plain data, or too large, becomes {"other": name of its type}."""
    return _Encoder().encode(value, 0)


def decode(data: Any, *, named: bool = True) -> Any:
    """The value again. An array needs NumPy. Raises WireError for everything that `encode` does not write.

    named: whether an `Other` has the name of its type, which may be anything that a student wrote.
    """
    try:
        return _Decoder(named).decode(data, 0)
    except (TypeError, ValueError, OverflowError, RecursionError, KeyError) as error:
        if isinstance(error, WireError):
            raise
        raise WireError(f"not readable ({type(error).__name__})") from None


class _Encoder:
    def __init__(self) -> None:
        self.items = 0

    def encode(self, value: Any, depth: int) -> Any:
        exact = type(value)
        if exact in (bool, type(None), float):
            return value
        if exact is int and value.bit_length() <= MOST_BITS:
            return value
        if exact is str and len(value) <= MOST_CHARACTERS:
            return value
        if value is Ellipsis:
            return {"ellipsis": None}
        if exact in (list, tuple, set, frozenset, dict) and depth < DEEPEST and self.items + len(value) <= MOST_ITEMS:
            self.items += len(value)
            if exact is dict:
                pairs = list(value.items())
                return {"dict": [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in pairs]}
            return {exact.__name__: [self.encode(item, depth + 1) for item in list(value)]}
        numpy: Any = sys.modules.get("numpy")  # without it no value can come from there
        if (
            numpy is not None
            and isinstance(value, (numpy.generic, numpy.ndarray))
            and _DTYPE.fullmatch(value.dtype.str)
        ):
            self.items += value.size
            if self.items <= MOST_ITEMS and (exact is numpy.ndarray or isinstance(value, numpy.generic)):
                shape = list(value.shape) if exact is numpy.ndarray else None
                return {"array": numpy.asarray(value).ravel().tolist(), "dtype": value.dtype.str, "shape": shape}
        return {"other": str(getattr(exact, "__name__", "?"))[:60]}


class _Decoder:
    def __init__(self, named: bool) -> None:
        self.named = named
        self.items = 0

    def decode(self, data: Any, depth: int) -> Any:
        if data is None or type(data) in (bool, int, float, str):
            return data
        if type(data) is not dict or depth > DEEPEST or not data:
            raise WireError("not readable")
        if "array" in data:
            return self._array(data)
        ((tag, content),) = data.items()
        if tag == "ellipsis":
            return ...
        if tag == "other":
            return type(_text(content), (Other,), {})() if self.named else Other()
        if type(content) is not list:
            raise WireError("not readable")
        self.items += len(content)
        if self.items > MOST_ITEMS:
            raise WireError("far too much")
        if tag == "dict":
            return {self.decode(key, depth + 1): self.decode(item, depth + 1) for key, item in content}
        return _CONTAINERS[tag](self.decode(item, depth + 1) for item in content)

    def _array(self, data: dict[str, Any]) -> Any:
        import numpy as np

        numbers, dtype, shape = data["array"], data["dtype"], data["shape"]
        if type(numbers) is not list or type(dtype) is not str or not _DTYPE.fullmatch(dtype):
            raise WireError("not readable")
        self.items += len(numbers)
        if self.items > MOST_ITEMS or any(type(number) not in (bool, int, float) for number in numbers):
            raise WireError("not readable")
        array = np.array(numbers, dtype=dtype)
        return array[0] if shape is None else array.reshape([int(size) for size in shape])


def _text(name: Any) -> str:
    """The name of a type, harmless."""
    if type(name) is not str:
        raise WireError("not readable")
    return name[:60].replace("\0", "") or "?"
