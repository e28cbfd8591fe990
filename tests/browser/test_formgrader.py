"""nbgrader's formgrader on a graded class, as an instructor uses it: read, give points, comment, grade again."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import expect

from autograder.grade import How, grade
from autograder.report import gradebook_rows
from autograder.sandbox import bubblewrap
from autograder.settings import ROOT, prepare_environment
from tests.support.grading_helpers import clone
from tests.support.small_course import CHAPTER, POINTS, answered, hand_in, small_course
from tools import in_browser

pytestmark = pytest.mark.slow

WHY = "Each lane of the warp reads another sector."
COMMENT = "The reason is right; say what the L2 cache does with it."
UNREAD = "q1 = (n for n in range(3))"
"""An answer that is no data, so no points could be verified."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory, browser):
    """What an instructor has after the first grading run: the course, and a page of formgrader."""
    prepare_environment(ROOT)
    course = clone(tmp_path_factory.mktemp("clone"))
    small_course(course.root)
    good = answered()
    next(cell for cell in good.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "q8-why").source = WHY
    hand_in(course, "ada", good)
    hand_in(course, "bob", answered("scale", q1=UNREAD))
    how = How(workers=2, sandboxed=not bubblewrap.available())
    states = [outcome.state for outcome in grade(course, str, how=how)]
    assert states == ["graded", "graded"]
    with pytest.MonkeyPatch.context() as patch, browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        patch.chdir(course.root)  # formgrader reads nbgrader_config.py where the server was started
        with in_browser.jupyterlab(course.root) as lab:
            page = context.new_page()
            page.goto(f"{lab.url}formgrader?token={lab.token}")
            yield SimpleNamespace(course=course, how=how, url=f"{lab.url}formgrader", page=page)


@pytest.fixture
def submissions(desk):
    """The list of the chapter's submissions, by student."""
    page = desk.page
    page.goto(f"{desk.url}/gradebook/{CHAPTER}/{CHAPTER}")
    page.get_by_role("link", name="Submission #2").wait_for()
    page.get_by_role("button", name="Show All Names").click()
    page.get_by_role("link", name="ada", exact=True).wait_for()
    return {name: page.get_by_role("row").filter(has=page.get_by_role("link", name=name)) for name in ("ada", "bob")}


def test_the_assignment_is_listed_with_its_submissions(desk):
    page = desk.page
    page.goto(f"{desk.url}/manage_assignments")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=CHAPTER, exact=True))
    expect(row.locator("td.num-submissions")).to_have_text("2")


def test_the_scores_of_record_are_shown(desk, submissions):
    most = f"{sum(POINTS.values()):g}"
    for row in gradebook_rows(desk.course, CHAPTER):
        expect(submissions[row.student].locator("td.score")).to_have_text(f"{row.total:g} / {most}")


def test_written_and_unread_answers_wait_for_a_person(desk, submissions):
    waiting = {row.student: sorted(row.waiting) for row in gradebook_rows(desk.course, CHAPTER)}
    assert waiting == {"ada": ["q8-why"], "bob": ["q1"]}
    for row in submissions.values():
        expect(row.locator("td.needs-manual-grade .glyphicon-ok")).to_be_attached()


def test_points_and_a_comment_of_a_person_are_kept_and_reach_the_student(desk, submissions):
    page = desk.page
    _open(page, submissions["ada"], "ada")
    expect(page.get_by_text(WHY)).to_be_visible()
    _fill(page, "input#q8-why", "1.5")
    _fill(page, "textarea#q8-why-comment", COMMENT)
    assert _given(desk.course) == (1.5, COMMENT)
    assert [outcome.state for outcome in grade(desk.course, str, how=desk.how)] == ["unchanged", "unchanged"]
    assert _given(desk.course) == (1.5, COMMENT)
    feedback = (desk.course.feedback / "ada" / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")
    assert COMMENT in feedback
    again = grade(desk.course, str, student="ada", how=replace(desk.how, force=True))
    assert [outcome.state for outcome in again] == ["graded"]
    assert _given(desk.course) == (1.5, COMMENT)


def test_points_for_an_unread_answer_end_its_waiting(desk, submissions):
    page = desk.page
    _open(page, submissions["bob"], "bob")
    expect(page.locator("input#q1")).to_have_class("score tabbable needs_manual_grade")
    _fill(page, "input#q1", "3")
    row = next(row for row in gradebook_rows(desk.course, CHAPTER) if row.student == "bob")
    assert (row.scores["q1"], row.waiting) == (3, frozenset())


def _open(page, row, student: str) -> None:
    """Open a submission, and wait until its fields can save: then they have placeholders."""
    row.get_by_role("link", name=student).click()
    for field in (".extra-credit", ".comment"):
        page.locator(f"{field}[placeholder]").first.wait_for()


def _fill(page, field: str, value: str) -> None:
    """Type into a field of formgrader and leave it, which saves it."""
    place = page.locator(field)
    with page.expect_response(lambda answer: answer.request.method == "PUT") as saved:
        place.fill(value)
        place.blur()
    assert saved.value.ok


def _given(course) -> tuple[float | None, str | None]:
    """Points and comment that a person gave ada's written answer."""
    with Gradebook(course.gradebook_url) as gradebook:
        place = ("q8-why", CHAPTER, CHAPTER, "ada")
        return gradebook.find_grade(*place).manual_score, gradebook.find_comment(*place).manual_comment
