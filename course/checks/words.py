"""Small talk about words: what a name means when case, spaces and hyphens are forgiven, and what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "listed", "normalised", "quoted"]

_LONGEST = 60
"""Characters of a student's text that feedback repeats or compares; more is cut."""


def normalised(text: str) -> str:
    """`text` in lower case, with single spaces for blanks, underscores and hyphens, and no full stop at its end."""
    spaced = text[: 4 * _LONGEST].casefold().replace("_", " ").replace("-", " ")
    return " ".join(spaced.split()).rstrip(".")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question "did you mean 'lines'?" with the nearest known word, or the list of all when none is near."""
    options = {normalised(option): option for option in known}
    near = difflib.get_close_matches(normalised(word)[:_LONGEST], options, n=1)
    if near:
        return f"did you mean {options[near[0]]!r}?"
    return f"choose from {listed(options.values())}."


def listed(words: Iterable[str]) -> str:
    """The words in quotes, separated by commas."""
    return ", ".join(repr(word) for word in words)


def quoted(text: str) -> str:
    """`text` in quotes, on one line, cut when long; control and broken characters are escaped."""
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")
