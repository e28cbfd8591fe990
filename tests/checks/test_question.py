"""The question engine: parts, points, tolerance, choices, and what it says to a learner."""

from __future__ import annotations

import numpy as np
import pytest

from course import check
from course.checks import PartResult, Result, UnknownCheckError, find, grade, names
from course.checks.parts import Choice, ChoiceSet, Misconception, Number
from course.checks.question import Question
from course.checks.registry import CHAPTERS

QUESTION = Question(
    name="test/trees",
    statement="About trees.",
    parts=(
        Number(
            name="leaves",
            points=1,
            asks="leaves of the tree",
            unit="leaves",
            expected=12,
            hint="Count again.",
            misconceptions=(
                Misconception(6, "These are branches."),
                Misconception(lambda given: given < 0, "A count is not negative."),
            ),
        ),
        Number(
            name="share",
            points=1,
            asks="share of green leaves",
            expected=0.3,
            tolerance=0.01,
            fraction=True,
            hint="Green over all.",
            misconceptions=(Misconception(0.7, "These are the brown ones."),),
        ),
        Choice(
            name="kind",
            points=0.5,
            asks="kind of tree",
            options={"broad leaf": "", "needle": "", "palm": ""},
            expected="broad leaf",
            hint="Look at a leaf.",
            misconceptions=(Misconception("palm", "Palms have no branches."),),
        ),
        ChoiceSet(
            name="needs",
            points=2,
            asks="what it needs",
            options=dict.fromkeys(("water", "light", "soil", "noise"), ""),
            expected=frozenset({"water", "light", "soil"}),
            hint="Think of roots and leaves.",
            misconceptions=(Misconception("noise", "Trees have no ears."),),
        ),
    ),
)
PERFECT = {"leaves": 12, "share": 0.3, "kind": "broad leaf", "needs": ["water", "light", "soil"]}


def part(value: object, name: str) -> PartResult:
    return next(part for part in QUESTION.run(value).parts if part.name == name)


def judged(name: str, value: object) -> PartResult:
    return part({**PERFECT, name: value}, name)


def test_a_perfect_answer_earns_every_point() -> None:
    result = QUESTION.run(PERFECT)
    assert (result.points, result.max_points, result.right, result.feedback) == (4.5, 4.5, True, "")


def test_each_wrong_part_costs_its_own_points_only() -> None:
    assert QUESTION.run({**PERFECT, "leaves": 5}).points == 3.5
    assert QUESTION.run({**PERFECT, "kind": "palm"}).points == 4.0


@pytest.mark.parametrize("value", [12, 12.0, np.int32(12), np.float64(12), np.array(12)])
def test_a_count_may_be_any_plain_number_that_equals_it(value: object) -> None:
    assert judged("leaves", value).right


@pytest.mark.parametrize(("value", "right"), [(0.3, True), (0.302, True), (0.31, False), (30, True), (30.2, True)])
def test_fractions_have_a_relative_tolerance_and_may_be_in_percent(value: float, right: bool) -> None:
    assert judged("share", value).right is right


def test_percent_is_right_and_asks_for_a_fraction() -> None:
    assert "as a fraction" in judged("share", 30).message
    assert judged("share", 0.3).message == "Right."


def test_a_wrong_value_is_named_by_its_model_and_others_get_the_hint() -> None:
    assert judged("leaves", 6).message == "These are branches."
    assert judged("leaves", -3).message == "A count is not negative."
    assert judged("leaves", 11).message == "Count again."


@pytest.mark.parametrize("value", ["Broad Leaf", " broad-leaf ", "broad_leaf."])
def test_choices_forgive_case_spaces_and_hyphens(value: str) -> None:
    assert judged("kind", value).right


def test_a_misspelt_choice_gets_did_you_mean_and_an_odd_one_the_list() -> None:
    assert "did you mean 'needle'?" in judged("kind", "neddle").message
    assert "choose from 'broad leaf', 'needle', 'palm'" in judged("kind", "xyz").message


@pytest.mark.parametrize(
    ("value", "points"),
    [
        (["water", "light", "soil"], 2),
        ({"soil", "water", "light"}, 2),
        (("soil", "soil", "Water", "light"), 2),
        (["water", "light"], 1),
        (["water", "light", "soil", "noise"], 1),
        (["water"], 0),
        ("water", 0),
        (["noise"], 0),
        ([], 0),
    ],
)
def test_a_set_earns_by_decision_and_guessing_does_not_pay(value: object, points: float) -> None:
    result = judged("needs", value)
    assert result.points == points
    assert result.right is (points == 2)


def test_a_set_names_wrong_members_and_says_that_some_are_missing_but_not_which() -> None:
    message = judged("needs", ["water", "noise"]).message
    assert "Trees have no ears." in message
    assert "Something is missing." in message
    assert "light" not in message
    assert "soil" not in message


def test_a_misspelt_member_of_a_set_gets_did_you_mean() -> None:
    result = judged("needs", ["water", "lihgt", "soil"])
    assert "'lihgt' is no option: did you mean 'light'?" in result.message
    assert result.points == 1


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("leaves", "12", "This is text: give a number, without quotes"),
        ("leaves", True, "This is True or False: give a number."),
        ("leaves", [12], "This is a list: give a number."),
        ("leaves", float("nan"), "The number is not finite"),
        ("leaves", 12j, "A value of type complex is no answer"),
        ("kind", 3, "This is a whole number: give one of 'broad leaf'"),
        ("needs", {"water": True}, "This is a dict: give a list of names"),
        ("needs", [1], "The list holds a whole number: give names"),
    ],
)
def test_a_wrong_type_says_what_to_give_instead(name: str, value: object, words: str) -> None:
    result = judged(name, value)
    assert result.points == 0
    assert words in result.message


@pytest.mark.parametrize("value", [None, ...])
def test_placeholders_are_not_answered_yet(value: object) -> None:
    assert {part.message for part in QUESTION.run(value).parts} == {"Not answered yet."}
    assert judged("leaves", value).message == "Not answered yet."
    assert QUESTION.run({**PERFECT, "leaves": value}).points == 3.5


def test_a_missing_part_says_what_to_add() -> None:
    assert part({"share": 0.3}, "leaves").message == "Missing: add leaves=... to your dict."


def test_an_unknown_key_gets_did_you_mean_among_the_missing_ones() -> None:
    answer = {**PERFECT, "leafs": 12}
    del answer["leaves"]
    assert QUESTION.run(answer).feedback == "Unknown key 'leafs': did you mean 'leaves'?"
    assert "leave it out" in QUESTION.run({**PERFECT, "leafs": 12}).feedback
    assert "type int: keys are names" in QUESTION.run({**PERFECT, 3: 12}).feedback


@pytest.mark.parametrize("value", [12, [12, 0.3], "leaves", {12}, dict])
def test_an_answer_that_is_no_dict_says_how_to_write_one(value: object) -> None:
    result = QUESTION.run(value)
    assert result.points == 0
    assert "expected dict(leaves=..., share=..., kind=..., needs=...)" in result.feedback


def test_keys_tell_unit_and_options() -> None:
    assert QUESTION.keys["leaves"] == "leaves of the tree"
    assert find("coalescing/q4").keys["misaligned_by"].endswith("(bytes)")
    assert "fraction" in QUESTION.keys["share"]
    assert '"needle"' in QUESTION.keys["kind"]


def test_text_and_html_show_the_same_messages_and_escape_what_a_student_wrote() -> None:
    result = QUESTION.run({**PERFECT, "kind": "<script>alert(1)</script>", "<b>": 1})
    html = result._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
    assert all(part.message in str(result) for part in result.parts)
    assert "4 of 4.5 points" in str(result)
    assert "4 of 4.5 points" in html


def test_partly_right_has_its_own_badge() -> None:
    result = QUESTION.run({**PERFECT, "needs": ["water", "light"]})
    assert "[partly right]" in str(result)
    assert "partly right" in result._repr_html_()


def test_an_unknown_check_gets_did_you_mean() -> None:
    with pytest.raises(UnknownCheckError, match="did you mean 'coalescing/q1'"):
        check("coalescing/Q1", {})
    with pytest.raises(UnknownCheckError, match="did you mean 'coalescing/sectors'"):
        grade("coalesing/sectors", {})
    with pytest.raises(UnknownCheckError, match="text such as"):
        find(7)  # type: ignore[arg-type]


def test_names_lists_every_check_and_each_has_statement_and_keys() -> None:
    exercises = ("sectors", "scale", "wide_copy", "gather")
    assert names()[:8] == tuple(f"coalescing/{check}" for check in (*exercises, "q1", "q4", "q7", "q8"))
    assert tuple(dict.fromkeys(name.partition("/")[0] for name in names())) == CHAPTERS
    assert len(set(names())) == len(names())
    for name in names():
        assert find(name).name == name
        assert len(find(name).statement) > 60
        assert find(name).keys


def test_grade_prints_the_feedback_and_returns_a_plain_float(capsys: pytest.CaptureFixture[str]) -> None:
    points = grade("coalescing/q8", {"line_fraction": np.float64(1), "warp_stride": 4})
    assert type(points) is float
    assert points == 1.0
    printed = capsys.readouterr()
    assert printed.out == f"{check('coalescing/q8', {'line_fraction': 1, 'warp_stride': 4})}\n"
    assert printed.err == ""


def test_grade_prints_on_a_console_that_lacks_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    console = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", console)
    assert grade("coalescing/q7", {"layout": "plänes ✓"}) == 0.0


def test_results_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Result("a", 0, 1, ()).points = 1  # type: ignore[misc]
