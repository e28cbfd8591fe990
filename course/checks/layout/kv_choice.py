"""Which layout of a cache suits which kernel, and what the wrong one costs."""

from __future__ import annotations

from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.models.layout import KV_DIM_FIRST, KV_TOKENS_FIRST, Tensor

__all__ = ["QUESTION"]

_SIZES = {"blocks": 4, "tokens": 32, "heads": 8, "dim": 128}
_BYTE, _HALF, _FLOAT = 1, 2, 4
_LAYOUTS = {
    "dim last": KV_TOKENS_FIRST,
    "tokens last": KV_DIM_FIRST,
    "heads last": ("blocks", "tokens", "dim", "heads"),
}
_OPTIONS = {name: f"[{', '.join(order)}]" for name, order in _LAYOUTS.items()}


def _sectors(name: str, along: str, element_bytes: int) -> int:
    """Sectors of one request whose lanes are neighbours along an axis."""
    return int(Tensor(_SIZES, _LAYOUTS[name], element_bytes).warp(along).sectors.sum())


def _best(along: str) -> str:
    return min(_LAYOUTS, key=lambda name: _sectors(name, along, _FLOAT))


def _factor(element_bytes: int) -> float:
    return _sectors("tokens last", "dim", element_bytes) / _sectors("dim last", "dim", element_bytes)


_HEADS_LAST = "Here the heads lie side by side. In neither kernel do the lanes of a warp differ in the head."

QUESTION = Question(
    name="layout/kv_choice",
    statement=(
        "A cache holds keys or values for attention: 32 tokens in each block, 8 heads, 128 elements (dim). Two kernels "
        "read it. In `values`, the lanes of a warp take neighbouring elements of one token and one head. In `scores`, "
        "the lanes take neighbouring tokens, and all of them the same head and element. Which layout suits which?"
    ),
    parts=(
        Choice(
            name="values_layout",
            points=1,
            asks="the layout in which a request of `values` touches the fewest sectors",
            expected=_best("dim"),
            options=_OPTIONS,
            hint="Along which axis do the lanes of a warp go? Which axis counts fastest in memory?",
            misconceptions=(
                Misconception(
                    "tokens last",
                    "Here the tokens of a block lie side by side. The lanes of this kernel all read the same token.",
                ),
                Misconception("heads last", _HEADS_LAST),
            ),
        ),
        Choice(
            name="scores_layout",
            points=1,
            asks="the layout in which a request of `scores` touches the fewest sectors",
            expected=_best("tokens"),
            options=_OPTIONS,
            hint="Along which axis do the lanes of a warp go? Which axis counts fastest in memory?",
            misconceptions=(
                Misconception(
                    "dim last",
                    "Here the elements of a token lie side by side. The lanes of this kernel all read the same "
                    "element, each of another token.",
                ),
                Misconception("heads last", _HEADS_LAST),
            ),
        ),
        Number(
            name="byte_factor",
            points=1,
            asks="how many times as many sectors a request of `values` touches with the tokens last instead of the dim "
            "last, when an element has one byte",
            unit="times",
            expected=_factor(_BYTE),
            hint="Count the sectors of one request in both layouts, then divide.",
            misconceptions=(
                Misconception(
                    _factor(_HALF),
                    "This is the factor for elements of two bytes. Smaller elements fill fewer sectors at best, but a "
                    "lane that has a sector of its own still pays for all of it.",
                ),
                Misconception(
                    _factor(_FLOAT),
                    "This is the factor for elements of four bytes. How many sectors do the bytes of a warp fill here?",
                ),
                Misconception(1, "The bytes that are used are the same. The sectors that are touched are not."),
            ),
        ),
        Number(
            name="float_factor",
            points=1,
            asks="the same factor for elements of four bytes",
            unit="times",
            expected=_factor(_FLOAT),
            hint="Count the sectors of one request in both layouts, then divide.",
            misconceptions=(
                Misconception(
                    _factor(_BYTE),
                    "This is the number of sectors in the bad layout, or of tokens in a block. How many sectors does "
                    "the good layout need?",
                ),
                Misconception(_factor(_HALF), "This is the factor for elements of two bytes."),
                Misconception(
                    _sectors("dim last", "dim", _FLOAT),
                    "This is the number of sectors in the good layout. How many does the bad one need?",
                ),
                Misconception(1, "The bytes that are used are the same. The sectors that are touched are not."),
            ),
        ),
    ),
)
