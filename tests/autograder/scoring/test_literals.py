"""Quiz answers are read from text: what is read, what has to run, and what is refused, all of it at once."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.scoring.literals import NotData, TooMuch, evaluate
from autograder.scoring.program import Cell, Program
from tests.support.clocks import work_of_at_most


def read(*cells: str, name: str = "q") -> Any:
    """The value of a name after these cells."""
    program = Program([Cell("", text) for text in cells], "test", "answer")
    found = program.binding(name)
    assert found is not None, f"nothing binds {name}"
    if found.value is None:
        raise NotData("no plain assignment")
    return evaluate(program, found.value, found.place)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("q = dict(a=1, b='x')", {"a": 1, "b": "x"}),
        ("q = {'a': 1, **{'b': (2, -3)}}", {"a": 1, "b": (2, -3)}),
        ("q = [*range(3), *{7}]", [0, 1, 2, 7]),
        ("q = dict(efficiency=128 / 1024, n=32 * 4 // 3 % 5, p=2**10)", {"efficiency": 0.125, "n": 2, "p": 1024}),
        ("import math\nq = (math.ceil(2.5), math.log2(8), round(2.345, 2), max(1, 2), abs(-3))", (3, 3.0, 2.35, 2, 3)),
        ("from math import floor as f\nq = f(2.5)", 2),
        ("q = set(['a', 'b']) | {'c'}", {"a", "b", "c"}),
        ("n = 4\nn, m = n + 1, n\nq = [n, m]", [5, 4]),
        ("q = 1\nq = 2\nx = 3", 2),
        ("q: int = 7", 7),
        ("a = q = 7", 7),
        ("sizes = {'float': 4}\nq = 32 * sizes['float']", 128),
        ("q = dict(sectors=None, lines=...)", {"sectors": None, "lines": ...}),
        ("%matplotlib inline\nq = 3\n!ls", 3),
        ("%%time\nq = 3", 3),
        ("q = " + "1 + " * 500 + "1", 501),
    ],
)
def test_data_is_read(text: str, value: Any) -> None:
    got = read(text)
    assert got == value and type(got) is type(value)


def test_names_come_from_earlier_cells_and_the_last_binding_counts() -> None:
    assert read("n = 1", "n = 2\nq = n", "n = 3") == 2
    assert read("q = 1", "q = 2") == 2
    assert read("q = 1", "q = = 2") == 1, "a cell that is no Python binds nothing, as in a kernel"


@pytest.mark.parametrize(
    "text",
    [
        "q = [i for i in range(3)]",
        "q = {'a': f'{1}'}",
        "q = __import__('os').system('true')",
        "q = (x := 5)",
        "q = lambda: 1",
        "q = unknown",
        "q = open('answers')",
        "q = 1 if True else 2",
        "q = 'a' % 3",
        "q = 1 / 0",
        "q = int('x')",
        "q = {[]: 1}",
        "q = sorted([1], key=print)",
        "q = b'bytes'",
        "dict = print\nq = dict(a=1)",
        "q = 1\nq += 1",
        "q = {}\nq['a'] = 1",
        "q = {}\nq.update(a=1)",
        "q = 1\nif q:\n    q = 2",
        "for q in range(3):\n    pass",
        "def q():\n    return 1",
        "class q:\n    pass",
        "import math as q",
        "q, r = divmod(7, 2)",
    ],
)
def test_what_is_no_data_has_to_run(text: str) -> None:
    with pytest.raises(NotData):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "q = 10**10**10",
        "q = 2**600",
        "q = 1 << 10**9",
        "q = pow(10, 10**8)",
        "q = 'a' * 10**9",
        "q = [0] * 10**9",
        "q = 'a' * 9000 * 9000",
        "q = list(range(10**12))",
        "q = len(range(10**30))",
        "q = round(1, -10**9)",
        "q = (" + "0, " * 25_000 + ")",
        "q = " + "-" * 150 + "1",
        "q = " + "[" * 80 + "]" * 80,
        "a = [0] * 9000\nq = [a, a, a]\nq = [*a, *a]",
        "x = 2\n" + "x = x * x\n" * 40 + "q = x",
    ],
)
def test_what_is_too_much_is_refused_at_once(text: str) -> None:
    with pytest.raises(TooMuch), work_of_at_most(5):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "q = " + "[" * 10_000 + "]" * 10_000,
        "q = [" + "0," * 1_000_000 + "]",
        "q = '\0'",
        "q = (",
        "q = " + "9" * 5000,
        "q = " + "0 + " * 30_000 + "0",
    ],
    ids=["nested", "million", "null", "syntax", "digits", "long sum"],
)
def test_a_cell_that_cannot_be_parsed_binds_nothing_and_says_why(text: str) -> None:
    with work_of_at_most(5):
        program = Program([Cell("answer", text)], "test", "answer")
        assert program.binding("q") is None
    assert program.problem.startswith("the cell is")


NUMBERS = st.one_of(st.integers(-1000, 1000), st.sampled_from([0.5, 1e3, -2.25, 1e-3, True])).map(repr)
LEAVES = st.one_of(NUMBERS, st.sampled_from(["'a'", "'a b'", "''", "None", "..."]))
FORMS = ("({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "({0} // {1})", "({0} % {1})", "({0} | {1})",
         "(-{0})", "max({0}, {1})", "min({0})", "sum({0})", "len({0})", "sorted({0})", "abs({0})", "round({0}, 2)",
         "int({0})", "float({0})", "set({0})", "list({0})", "tuple({0})", "[{0}, {1}]", "({0}, *{1})", "{{{0}, {1}}}",
         "{{{0}: {1}}}", "dict(a={0}, b={1})", "{0}[{1}]")  # fmt: skip


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(FORMS), inner, inner).map(lambda made: made[0].format(made[1], made[2]))


@settings(max_examples=300, deadline=None)
@given(st.recursive(LEAVES, _combined, max_leaves=12))
def test_what_is_read_is_what_python_computes(text: str) -> None:
    ast.parse(text, mode="eval")
    try:
        got = read(f"q = {text}")
    except (NotData, TooMuch):
        return  # never a wrong value: `test_data_is_read` holds what has to be read
    assert repr(got) == repr(eval(text))
