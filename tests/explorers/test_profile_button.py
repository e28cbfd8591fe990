"""The button "Profile this", pressed without a browser."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from course import cuda
from course.explorers.profile_button import Comparison, ProfileButton, Row
from course.profiling.profile import profile


@cuda.jit
def copy(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


def compared(*rows, **more):
    taken = profile(copy, 1, 32, np.ones(32, np.float32), np.zeros(32, np.float32))
    return Comparison(taken, "copy[1, 32](x, out)", rows, **more)


def parsed(button):
    return ElementTree.fromstring(f"<body>{button.answer.value}</body>")


def words(button):
    return "".join(parsed(button).itertext())


def test_numbers_that_differ_are_named():
    button = ProfileButton(lambda: compared(Row("Sectors", 4, 4), Row("Efficiency", 0.5, 1.0, "%")))
    button.button.click()
    assert not button.comparison.agrees
    assert "The model and the profile differ: Efficiency." in words(button)
    rows = [[cell.text for cell in row] for row in parsed(button).iter("tr") if row.get("data-row")]
    assert rows == [
        ["Sectors", "4", "4", "= yes"],
        ["Efficiency", "50\N{NO-BREAK SPACE}%", "100\N{NO-BREAK SPACE}%", "≠ no"],
    ]


def test_two_undefined_numbers_agree_and_an_undefined_one_does_not_agree_with_a_number():
    nan = float("nan")
    assert Row("Efficiency", nan, nan).agrees
    assert not Row("Efficiency", nan, 1).agrees
    assert Row("Intensity", 1 / 3, 0.1 + 0.7 / 3).agrees  # the last bit is no difference


def test_without_chosen_lines_every_line_that_accesses_memory_is_quoted():
    button = ProfileButton(lambda: compared(Row("Sectors", 4, 4)))
    button.button.click()
    (quoted,) = parsed(button).iter("pre")
    assert [part.split(None, 1)[1] for part in "".join(quoted.itertext()).splitlines()] == ["out[i] = x[i]"]


def test_the_whole_profile_is_folded_below():
    button = ProfileButton(lambda: compared(Row("Sectors", 4, 4), note="Only loads."))
    button.button.click()
    (details,) = parsed(button).iter("details")
    assert "source of copy" in "".join(details.itertext())
    assert "Only loads." in words(button)


def test_a_failure_is_told_in_the_page_and_the_button_works_again(capsys):
    def fail():
        raise RuntimeError("x has 3 elements < 4")

    button = ProfileButton(fail)
    button.button.click()
    assert "could not be profiled. RuntimeError: x has 3 elements < 4" in words(button)
    assert not button.button.disabled and button.comparison is None
    assert capsys.readouterr().err == ""


def test_nothing_runs_before_the_press_and_the_press_says_that_it_works():
    said = []

    def compare():
        said.append((button.answer.value, button.button.disabled))
        return compared(Row("Sectors", 4, 4))

    button = ProfileButton(compare)
    assert (said, button.answer.value) == ([], "")
    button.button.click()
    ((value, disabled),) = said
    assert "The simulator runs the kernel" in value and disabled


@pytest.mark.parametrize(
    ("value", "unit", "shown"), [(1024, "B", "1,024 B"), (2.5, "FLOP/B", "2.5 FLOP/B"), (7, "", "7")]
)
def test_numbers_are_shown_with_their_unit(value, unit, shown):
    button = ProfileButton(lambda: compared(Row("It", value, value, unit)))
    button.button.click()
    assert shown in words(button).replace("\N{NO-BREAK SPACE}", " ")
