"""Preflight never raises, and loses no answer in silence, whatever was done to a notebook."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.preflight.names import names_of
from tests.autograder.preflight.cases import (
    PERFECT,
    PERFECT_BYTES,
    Raw,
    answers,
    assert_gradable,
    cells_of,
    looked_over,
    own,
    raw,
    strip_marks,
)


@pytest.mark.parametrize(
    ("source", "bound"),
    [
        ("import numpy as np\nfrom a import b, c as d", {"np", "b", "d"}),
        ("%%time\nx = 1\n!ls", {"x"}),
        ("q1 = dict(a=1,", {"q1"}),
        ("def f(:\n    y = 1\nimport a.b, c as d\nz == 1", {"f", "a", "d"}),
        ("(" * 100_000, set()),
        ("x = 1\0", {"x"}),
        ("import " + " " * 150_000 + "!", set()),
    ],
)
def test_names_are_read_from_any_text(source, bound):
    assert names_of(source).bound == bound


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["drop", "copy", "move", "unmark", "unid", "retype", "mark", "empty", "own"]),
        st.integers(0, 10_000),
        st.integers(0, 10_000),
    ),
    max_size=12,
)


def mutate(notebook: Raw, steps: list[tuple[str, int, int]]) -> None:
    for action, one, other in steps:
        cells = notebook["cells"]
        place, target = one % len(cells), other % len(cells)
        cell = cells[place]
        if action == "drop" and len(cells) > 1:
            cells.pop(place)
        elif action == "copy":
            cells.insert(target, copy.deepcopy(cell))
        elif action == "move":
            cells.insert(target, cells.pop(place))
        elif action == "unmark":
            cell["metadata"] = {}
        elif action == "unid":
            cell.pop("id", None)
        elif action == "retype":
            cell["cell_type"] = ("code", "markdown", "raw")[other % 3]
        elif action == "mark":
            cell["metadata"] = copy.deepcopy(cells[target]["metadata"])
        elif action == "empty":
            cell["source"] = ""
        elif action == "own":
            own(notebook, f"mine = {other}", place)


@given(steps=STEPS, stripped=st.booleans())
@settings(max_examples=25, deadline=None)
def test_any_mutation_gives_a_gradable_notebook_that_loses_no_answer_in_silence(steps, stripped):
    notebook = raw(PERFECT["short"])
    if stripped:
        strip_marks(notebook)
    mutate(notebook, steps)
    handed_in = {"".join(cell["source"]).strip() for cell in notebook["cells"]}
    prepared = looked_over(notebook)
    assert_gradable(prepared, "short")
    kept = answers(cells_of(prepared))
    texts = "\n".join(cell.source for cell in cells_of(prepared))
    said = "\n".join((*prepared.repairs, *(f"{question} {reason}" for question, reason in prepared.flags)))
    for name, answer in answers(PERFECT["short"].cells).items():
        if answer in handed_in:
            # Every answer is somewhere in the notebook; if it is not where it counts, its name or its cell is reported.
            assert answer in texts or "the original was used" in said
            assert kept[name] == answer or name in said or "another question" in said
    again = looked_over(prepared.notebook)
    assert (again.repairs, again.notebook) == ((), prepared.notebook)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["cells", "cell_type", "source", "metadata", "id", "nbgrader", "grade_id", "x"]),
                      inner, max_size=4),
)  # fmt: skip


@given(
    value=JSON,
    key=st.sampled_from(["cells", "metadata", "nbformat", "nbformat_minor", "worksheets"]),
    field=st.sampled_from(["source", "metadata", "cell_type", "id", "attachments", "outputs"]),
    place=st.integers(0, 30),
)
@settings(max_examples=15, deadline=None)
def test_odd_values_anywhere_never_raise(value, key, field, place):
    inside, around = raw(PERFECT["short"]), raw(PERFECT["short"])
    inside["cells"][place][field] = value
    around[key] = value
    for notebook in (inside, around, value):
        prepared = looked_over(json.dumps(notebook).encode())
        assert (prepared.notebook is None) == bool(prepared.problem)
        if prepared.notebook is not None:
            assert_gradable(prepared, "short")


@given(cut=st.integers(0, len(PERFECT_BYTES)), junk=st.binary(max_size=20))
@settings(max_examples=25, deadline=None)
def test_damaged_bytes_never_raise(cut, junk):
    prepared = looked_over(PERFECT_BYTES[:cut] + junk + PERFECT_BYTES[cut:])
    assert (prepared.notebook is None) == bool(prepared.problem)
