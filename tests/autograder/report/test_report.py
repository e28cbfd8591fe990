"""The report: its figures against numpy and nbgrader's sums, hostile names, odd records, what platforms import."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, text

from autograder.report import build_report, gradebook_rows
from autograder.report.csv_files import number, safe
from autograder.report.gather import NO_RECORD, NOT_YET, gather
from autograder.report.records import read_records
from autograder.settings import Course
from tests.support.report_class import CHAPTERS, points, write_class, write_record

STUDENTS = 200
EVIL = '<script>alert("1")</script>'
FORMULA = "=HYPERLINK(A1)"
RTL = "\u202eעברית"
LONG = "x" * 200
FEW = CHAPTERS[:2]


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return write_class(tmp_path_factory.mktemp("class"), [f"s{n:03d}" for n in range(STUDENTS)])


@pytest.fixture(scope="module")
def results(course) -> Path:
    return build_report(course).parent


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Course:
    """Four students whose names and texts mean harm."""
    names = [FORMULA, RTL, LONG, "b\"o'b & <b>"]
    course = write_class(tmp_path_factory.mktemp("class"), names, records=False, chapters=FEW)
    part = {"right": False, "message": EVIL}
    flag = {"question": EVIL, "reason": EVIL, "in_kernel": 3.0, "of_record": 0.0}
    for name in names[:3]:
        write_record(
            course, name, "coalescing", repairs=[EVIL, "\t+1"], flags=[flag],
            scores={"q1": {"parts": {EVIL: part}}},
        )  # fmt: skip
    write_record(course, LONG, "layout", state="failed", reason=EVIL)
    connect(course, "update student set first_name = '<i>', last_name = '@SUM(1)' where id like 'x%'")
    build_report(course)
    return course


def connect(course: Course, statement: str) -> list[tuple]:
    engine = create_engine(course.gradebook_url)
    with engine.begin() as connection:
        result = connection.execute(text(statement))
        rows = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return rows


def table_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


class Page(HTMLParser):
    """Tags and text of a page, as a browser reads them."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_rows_are_nbgraders_own_sums(course, chapter):
    rows = {row.student: row for row in gradebook_rows(course, chapter)}
    with Gradebook(course.gradebook_url) as gradebook:
        for student in ("s000", "s007", "s123"):
            submission = gradebook.find_submission(chapter, student)
            row = rows[student]
            assert sum(row.scores.values()) == pytest.approx(submission.score)
            assert row.penalty == submission.late_submission_penalty
            assert row.seconds_late == submission.total_seconds_late
            assert bool(row.waiting) == submission.needs_manual_grade
            grades = {grade.name: grade.score for notebook in submission.notebooks for grade in notebook.grades}
            assert row.scores == grades
    assert len(rows) == STUDENTS


def test_a_persons_score_wins_and_extra_credit_is_added(course):
    query = "select manual_score, extra_credit, notebook_id, cell_id from grade where extra_credit is not null limit 1"
    (manual, extra, notebook, cell) = connect(course, query)[0]
    student = connect(
        course,
        "select a.student_id from submitted_assignment a join submitted_notebook n on n.assignment_id = a.id "
        f"where n.id = '{notebook}'",
    )[0][0]
    chapter, _, question = cell.partition("-")
    row = next(row for row in gradebook_rows(course, chapter) if row.student == student)
    assert row.scores[question] == manual + extra


def test_a_score_that_is_no_number_counts_nothing(tmp_path):
    course = write_class(tmp_path, ["ada", "bob"], records=False, chapters=FEW)
    connect(course, "update grade set auto_score = 9e999 where cell_id = 'coalescing-q1'")
    ada = gradebook_rows(course, "coalescing")[0]
    assert ada.scores["q1"] == 0.0
    assert ada.total == sum(score for name, score in ada.scores.items() if name != "q1") - ada.penalty


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_statistics_are_numpys(course, chapter):
    report = next(c for c in gather(course).chapters if c.name == chapter)
    joined = connect(
        course,
        "select n.assignment_id, coalesce(g.manual_score, g.auto_score, 0) + coalesce(g.extra_credit, 0), "
        "g.needs_manual_grade, g.cell_id, a.student_id from grade g join submitted_notebook n on n.id = g.notebook_id "
        f"join submitted_assignment a on a.id = n.assignment_id where a.assignment_id = '{chapter}'",
    )
    failed = {f"s{n:03d}" for n in range(39, STUDENTS, 40)}
    numbers = report.statistics
    penalties = dict(
        connect(
            course,
            "select a.student_id, coalesce(n.late_submission_penalty, 0) from submitted_notebook n "
            f"join submitted_assignment a on a.id = n.assignment_id where a.assignment_id = '{chapter}'",
        )
    )
    totals = {student: -penalties[student] for student in penalties if student not in failed}
    for _, score, _, _, student in joined:
        if student in totals:
            totals[student] += score
    values = np.maximum(0, list(totals.values()))
    assert numbers.graded == STUDENTS - len(failed) == len(values)
    assert numbers.mean == pytest.approx(values.mean())
    assert [numbers.lower_quartile, numbers.median, numbers.upper_quartile] == pytest.approx(
        np.percentile(values, [25, 50, 75])
    )
    tenths = np.round(10 * values / sum(points(chapter).values()), 9)
    assert numbers.bins == tuple(np.histogram(np.minimum(tenths, 10), bins=range(11))[0])
    for question in numbers.questions:
        mine = [
            (s, w) for _, s, w, cell, student in joined if cell == f"{chapter}-{question.name}" and student in totals
        ]
        read = np.array([score for score, waits in mine if not waits])
        assert question.marked == read.size
        assert question.waiting == len(mine) - read.size
        assert question.mean_share == pytest.approx(read.mean() / question.max_points)
        assert question.none_share == pytest.approx((read == 0).mean())
        assert question.full_share == pytest.approx((read >= question.max_points).mean())
    shares = [question.mean_share for question in numbers.hardest]
    assert shares == sorted(shares)


def test_questions_stand_in_the_order_of_the_notebook(course):
    for chapter in gather(course).chapters:
        assert list(chapter.points.items()) == list(points(chapter.name).items())


def test_chapters_stand_in_the_order_of_the_course(course):
    assert tuple(chapter.name for chapter in gather(course).chapters) == CHAPTERS


def test_misconceptions_are_counted_and_messages_that_differ_in_a_number_are_one(tmp_path):
    course = write_class(tmp_path, [f"s{n}" for n in range(6)], records=False, chapters=FEW)
    told = [
        "f returned 7, which is not right.",
        "f returned 93, which is not right.",
        "f returned 93, which is not right.",
    ]
    told += ["This counts lines.", "Not answered yet.", "Missing: add lines=... to your dict."]
    for n, message in enumerate(told):
        wrong = {"right": False, "message": message}
        parts = {"sectors": wrong, "lines": {"right": True, "message": "Right."}}
        write_record(course, f"s{n}", "coalescing", scores={"q1": {"parts": parts}})
    assert read_records(course).misconceptions("coalescing") == [
        ("q1", "sectors", 3, "f returned 93, which is not right."),
        ("q1", "sectors", 1, "This counts lines."),
    ]
    assert read_records(course).misconceptions("layout") == []


def test_the_report_has_every_page_and_file(results):
    assert {file.name for file in results.iterdir()} == {
        "index.html",
        *(f"{chapter}.html" for chapter in CHAPTERS),
        *(f"{name}.csv" for name in ("marks", "questions", "misconceptions", "flags", "repairs", "late", "not_graded")),
        "canvas.csv",
        "moodle.csv",
    }


def test_links_lead_to_files_that_exist(results):
    for file in results.glob("*.html"):
        targets = [attributes["href"] for tag, attributes in Page(file).tags if tag == "a"]
        assert targets
        assert [target for target in targets if not (results / target).is_file()] == []


def test_marks_csv_holds_every_point(course, results):
    lines = {line["student"]: line for line in table_of(results / "marks.csv")}
    assert len(lines) == STUDENTS
    for chapter in CHAPTERS:
        for row in gradebook_rows(course, chapter):
            line = lines[row.student]
            if int(row.student[1:]) % 40 == 39:
                assert line[f"{chapter}/total"] == ""
                continue
            assert float(line[f"{chapter}/total"]) == pytest.approx(row.total, abs=1e-4)
            for name, score in row.scores.items():
                assert line[f"{chapter}/{name}"] == ("" if name in row.waiting else number(score))


def test_failures_flags_and_repairs_reach_pages_and_files(course, results):
    flags, repairs, failed = (table_of(results / f"{n}.csv") for n in ("flags", "repairs", "not_graded"))
    expected = sum(n % 20 == 7 and n % 40 != 39 for n in range(STUDENTS)) * len(CHAPTERS)
    assert len(flags) == expected
    assert {
        (f["points in the student's process"], f["points of record"]) for f in flags if f["chapter"] == "layout"
    } == {("6", "0")}
    assert len(repairs) == sum(n % 15 == 3 and n % 40 != 39 for n in range(STUDENTS)) * len(CHAPTERS)
    assert {line["student"] for line in failed} == {f"s{n:03d}" for n in range(39, STUDENTS, 40)}
    page = Page(results / "coalescing.html").text
    for words in ("the answer is no plain data", "it was put back", "the file is not a notebook", "?"):
        assert words in page


def test_a_late_hand_in_is_listed_with_its_penalty(course, results):
    late = {(line["student"], line["chapter"]): line for line in table_of(results / "late.csv")}
    rows = {
        (row.student, chapter): row
        for chapter in CHAPTERS
        for row in gradebook_rows(course, chapter)
        if row.seconds_late and int(row.student[1:]) % 40 != 39
    }
    assert late.keys() == rows.keys()
    for key, row in rows.items():
        assert float(late[key]["hours late"]) == pytest.approx(row.seconds_late / 3600, abs=1e-4)
        assert float(late[key]["points taken off"]) == row.penalty


def test_pictures_say_their_figures_in_words_and_have_a_table_beside(course, results):
    page = Page(results / "coalescing.html")
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert [picture["role"] for picture in pictures] == ["img", "img"]
    chapter = gather(course).chapters[0]
    told = [int(count) for count in re.findall(r"%: (\d+)", pictures[0]["aria-label"])]
    assert tuple(told) == chapter.statistics.bins
    assert f"{chapter.statistics.hardest[0].name} " in pictures[1]["aria-label"]
    assert "currentColor" in (results / "coalescing.html").read_text(encoding="utf-8")
    regions = [attributes for _, attributes in page.tags if attributes.get("role") == "region"]
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions)
    assert sum(tag == "table" for tag, _ in page.tags) == len(regions)


def test_no_id_stands_twice_in_a_page(results):
    for file in results.glob("*.html"):
        ids = [attributes["id"] for _, attributes in Page(file).tags if "id" in attributes]
        assert len(ids) == len(set(ids))


def test_a_page_runs_nothing_and_loads_nothing(results):
    for file in results.glob("*.html"):
        page = Page(file)
        assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "link", "object"}
        assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_a_cell_of_the_large_table_carries_no_style(results):
    page = (results / "coalescing.html").read_text(encoding="utf-8")
    line = next(line for line in page.split("\n") if line.startswith('<tr><th scope="row">s000'))
    assert "style" not in line
    assert len(line) < 160


def test_what_students_wrote_is_text_in_the_pages(hostile):
    results = hostile.root / hostile.area / "results"
    for name in ("index", "coalescing", "layout"):
        page = Page(results / f"{name}.html")
        assert "script" not in {tag for tag, _ in page.tags}
        assert "b" not in {tag for tag, _ in page.tags}
        assert EVIL in page.text
    everyone = Page(results / "coalescing.html").text
    assert all(name in everyone for name in (FORMULA, RTL, LONG, "b\"o'b & <b>"))


def test_no_cell_of_a_file_begins_like_a_formula(hostile):
    files = list((hostile.root / hostile.area / "results").glob("*.csv"))
    assert len(files) == 9
    cells = [cell for file in files for line in csv.reader(file.read_text("utf-8-sig").splitlines()) for cell in line]
    assert "'" + FORMULA in cells
    assert "'@SUM(1)" in cells
    assert " '+1" in cells
    # "-" alone is how Moodle writes "no grade"; it is no formula.
    assert [cell for cell in cells if cell != "-" and re.match(r"\s*[=+\-@]", cell)] == []


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("ada", "ada"),
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-3", "'-3"),
        ("@x", "'@x"),
        ("\t=1", " '=1"),
        ("\r=1", " '=1"),
        ("  =1", "  '=1"),
        ("a;=1", "a;'=1"),
        ("＝1", "'＝1"),
        ("a-b, 5 = five", "a-b, 5 = five"),
        ("two\nlines\x00", "two lines "),
    ],
)
def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(given, written):
    assert safe(given) == written


def test_no_record_means_that_the_score_is_not_of_record(hostile):
    chapter = next(c for c in gather(hostile).chapters if c.name == "coalescing")
    assert [(f.student, f.reason) for f in chapter.flags if not f.question] == [("b\"o'b & <b>", NO_RECORD)]


ODD = {
    "no JSON": "{",
    "empty": "",
    "a list": "[]",
    "a deep nest": "[" * 100_000,
    "state unknown": json.dumps({"state": "?", "reason": "", "repairs": [], "flags": [], "scores": {}}),
    "flags a number": json.dumps({"state": "graded", "reason": "", "repairs": [], "flags": 3, "scores": {}}),
    "a part without a message": json.dumps(
        {
            "state": "graded",
            "reason": "",
            "repairs": [],
            "flags": [],
            "scores": {"q1": {"parts": {"a": {"right": False}}}},
        }
    ),
}


@pytest.mark.parametrize("content", ODD.values(), ids=ODD.keys())
def test_an_odd_record_is_reported_and_stops_nothing(tmp_path, content):
    course = write_class(tmp_path, ["ada", "bob"], chapters=FEW)
    (tmp_path / "autograder" / "records" / "bob" / "coalescing.json").write_text(content)
    first, second = gather(course).chapters
    assert [row.student for row in first.rows] == ["ada"]
    assert [student for student, _ in first.not_graded] == ["bob"]
    assert "its record cannot be read" in first.not_graded[0][1]
    assert [row.student for row in second.rows] == ["ada", "bob"]


def test_a_hand_in_that_nothing_is_known_about_is_not_lost(tmp_path):
    course = write_class(tmp_path, ["ada"], chapters=FEW)
    (course.submitted / "eve" / "layout").mkdir(parents=True)
    connect(course, "update grade set auto_score = null, manual_score = null where cell_id like 'coalescing-%'")
    (tmp_path / "autograder" / "records" / "ada" / "coalescing.json").unlink()
    chapters = {chapter.name: chapter for chapter in gather(course).chapters}
    assert chapters["layout"].not_graded == [("eve", NOT_YET)]
    assert chapters["coalescing"].not_graded == [("ada", NOT_YET)]
    assert "eve" in {line["student"] for line in table_of(build_report(course).parent / "not_graded.csv")}


def test_an_empty_course_has_a_report(tmp_path):
    course = Course(tmp_path)
    page = build_report(course)
    assert "Nobody has handed anything in yet" in Page(page).text
    assert not (tmp_path / "autograder" / "gradebook.db").exists()


def test_a_new_report_replaces_the_old_one_and_leaves_nothing_behind(tmp_path):
    course = write_class(tmp_path, ["ada"], chapters=FEW)
    results = build_report(course).parent
    (results / "old.html").write_text("old")
    (results.parent / ".results-new").mkdir()
    assert build_report(course).parent == results
    assert not (results / "old.html").exists()
    assert {path.name for path in results.parent.glob(".*")} <= {".results-new.lock"}


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path, monkeypatch):
    course = write_class(tmp_path, ["ada"], chapters=FEW)
    page = build_report(course)
    before = page.read_bytes()
    monkeypatch.setattr("autograder.report.build.write_moodle", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_report(course)
    assert page.read_bytes() == before
    assert {path.name for path in page.parent.parent.glob(".*")} <= {".results-new.lock"}


def final_marks(course: Course, chapter: str) -> dict[str, float]:
    rows = gradebook_rows(course, chapter)
    return {r.student: r.total for r in rows if not r.waiting and int(r.student[1:]) % 40 != 39}


def test_canvas_takes_the_header_the_points_and_the_logins(course, results):
    """What Canvas's importer asks of a file, row by row."""
    raw = (results / "canvas.csv").read_bytes()
    assert not raw.startswith(b"\xef\xbb\xbf")
    header, possible, *students = csv.reader(raw.decode("utf-8").splitlines())
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *CHAPTERS]
    assert possible[0] == "    Points Possible"
    assert [float(most) for most in possible[5:]] == [sum(points(chapter).values()) for chapter in CHAPTERS]
    assert {len(row) for row in students} == {len(header)}
    assert [row[0] for row in students[:2]] == ["Last0, First0", "Last1, First1"]
    for place, chapter in enumerate(CHAPTERS, start=5):
        given = {row[3]: float(row[place]) for row in students if row[place]}
        assert given == pytest.approx(final_marks(course, chapter), abs=0.005)


def test_canvas_gets_no_second_row_of_points_from_a_students_name(tmp_path):
    course = write_class(tmp_path, ["ada", "points possible"], chapters=FEW)
    connect(course, "update student set first_name = '', last_name = '' where id = 'points possible'")
    connect(course, "update student set lms_user_id = '4711' where id = 'ada'")
    rows = list(csv.reader((build_report(course).parent / "canvas.csv").read_text().splitlines()))
    assert [row[:5] for row in rows[2:]] == [
        ["Last0, First0", "4711", "", "ada", ""],
        ["", "", "", "points possible", ""],
    ]


def test_moodle_takes_identifier_points_and_feedback(course, results):
    """What Moodle's importer asks of a file: a known user in each row, a number or "-" in each column of points."""
    header, *rows = csv.reader((results / "moodle.csv").read_text(encoding="utf-8").splitlines())
    columns = [column for chapter in CHAPTERS for column in (chapter, f"{chapter} (Feedback)")]
    assert header == ["ID number", "Email address", *columns]
    assert [row[0] for row in rows] == [f"s{n:03d}" for n in range(STUDENTS)]
    for place, chapter in enumerate(CHAPTERS):
        given = {row[0]: row[2 + 2 * place] for row in rows}
        finals = final_marks(course, chapter)
        assert {s: float(mark) for s, mark in given.items() if mark != "-"} == pytest.approx(finals, abs=1e-4)
        assert {s for s, mark in given.items() if mark == "-"} == given.keys() - finals.keys()
    told = next(row[3] for row in rows if row[2] != "-")
    assert re.match(r"sectors [\d.]+ of 6, scale [\d.]+ of 6, ", told)
    assert "q4-why: Say which multiple." in told


def test_moodle_gets_no_row_that_it_would_give_to_the_student_above(tmp_path):
    course = write_class(tmp_path, ["ada", "0", " "], chapters=FEW)
    rows = list(csv.reader((build_report(course).parent / "moodle.csv").read_text().splitlines()))
    assert [row[0] for row in rows[1:]] == ["ada"]


def test_feedback_for_moodle_is_escaped(tmp_path):
    course = write_class(tmp_path, ["ada"], chapters=FEW)
    connect(course, "update comment set manual_comment = '<img src=x> a < b'")
    connect(course, "update grade set needs_manual_grade = 0")
    written = (build_report(course).parent / "moodle.csv").read_text()
    assert "&lt;img src=x&gt; a &lt; b" in written
    assert "<img" not in written
