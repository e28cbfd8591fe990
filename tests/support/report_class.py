"""A class that never was: a gradebook with nbgrader's schema and the grader's records, of any size, filled in bulk."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from nbgrader.api import (
    Assignment,
    Base,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    SolutionCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.api import Course as CourseTable
from sqlalchemy import Connection, create_engine, insert

from autograder.settings import ROOT, Course

__all__ = ["CHAPTERS", "DUE", "points", "write_class", "write_record"]

CHAPTERS = ("coalescing", "layout", "tiling", "roofline", "occupancy", "cp_async")
DUE = datetime(2026, 11, 1, 12)
MESSAGES = (
    "This counts lines, or repeats the stride. A line is four sectors: count the pieces that are fetched.",
    "On a hidden input, sectors returned {n}, which is not right. Lanes come in any order.",
    "This is the cost of one of the four loads.",
    "A cast changes the type of a pointer, not its value.",
)


def points(chapter: str) -> dict[str, float]:
    """question -> points, as in the real chapter."""
    cells = json.loads((ROOT / "autograder" / "grade_ids.json").read_text())[chapter]
    return {name: most for name, most in cells.items() if most is not None}


def write_class(
    root: Path, students: list[str], *, seed: int = 0, records: bool = True, chapters: tuple[str, ...] = CHAPTERS
) -> Course:
    """A course in `root` in which all students handed in all chapters; every 40th notebook cannot be graded."""
    course = Course(root)
    (root / "autograder").mkdir(parents=True, exist_ok=True)
    (root / "autograder" / "grade_ids.json").write_bytes((ROOT / "autograder" / "grade_ids.json").read_bytes())
    for chapter in chapters:
        (root / "source" / chapter).mkdir(parents=True)
        course.notebook(chapter).write_bytes((ROOT / "source" / chapter / f"{chapter}.ipynb").read_bytes())
    rng = np.random.default_rng(seed)
    engine = create_engine(course.gradebook_url)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(CourseTable.__table__), [{"id": "default_course"}])
        people = [{"id": s, "first_name": f"First{n}", "last_name": f"Last{n}"} for n, s in enumerate(students)]
        connection.execute(insert(Student.__table__), people)
        for chapter in chapters:
            _fill(connection, course, chapter, students, rng, records)
    engine.dispose()
    return course


def _fill(connection: Connection, course: Course, chapter: str, students: list[str], rng: Any, records: bool) -> None:
    most, none = points(chapter), {"kernelspec": "{}"}
    cells = {name: f"{chapter}-{name}" for name in most}
    written = {name for name in most if name.endswith("-why")}
    connection.execute(
        insert(Assignment.__table__), [{"id": chapter, "name": chapter, "duedate": DUE, "course_id": "default_course"}]
    )
    connection.execute(insert(Notebook.__table__), [{"id": chapter, "name": chapter, "assignment_id": chapter, **none}])
    graded = [{"id": cells[n], "name": n, "notebook_id": chapter, "type": "GradeCell"} for n in most]
    answers = [{"id": f"{cells[n]}-s", "name": n, "notebook_id": chapter, "type": "SolutionCell"} for n in written]
    connection.execute(insert(BaseCell.__table__), graded + answers)
    kinds = {name: "markdown" if name in written else "code" for name in most}
    connection.execute(
        insert(GradeCell.__table__), [{"id": cells[n], "max_score": most[n], "cell_type": kinds[n]} for n in most]
    )
    connection.execute(insert(SolutionCell.__table__), [{"id": cell["id"]} for cell in answers])
    late = rng.exponential(20, len(students)) * (rng.random(len(students)) < 0.1)
    ids = [f"{chapter[:9]}{n:07d}" for n in range(len(students))]
    handed_in = [
        {"id": i, "assignment_id": chapter, "student_id": s, "timestamp": DUE + timedelta(hours=float(h) - 1e-3)}
        for i, s, h in zip(ids, students, late, strict=True)
    ]
    connection.execute(insert(SubmittedAssignment.__table__), handed_in)
    connection.execute(
        insert(SubmittedNotebook.__table__),
        [
            {"id": i, "assignment_id": i, "notebook_id": chapter, "late_submission_penalty": 1.5 if h > 1 else None}
            for i, h in zip(ids, late, strict=True)
        ],
    )
    ability = rng.beta(4, 2, len(students))
    grades, comments = [], []
    for number, (i, student) in enumerate(zip(ids, students, strict=True)):
        scores = {}
        failed = number % 40 == 39
        for name, top in most.items():
            read = name not in written or rng.random() < 0.5
            scores[name] = float(np.round(2 * top * min(1.0, max(0.0, rng.normal(ability[number], 0.3)))) / 2)
            by_hand = name in written and read
            grades.append(
                {
                    "id": f"{i}-{name}",
                    "notebook_id": i,
                    "cell_id": cells[name],
                    "auto_score": None if name in written or failed else scores[name],
                    "manual_score": scores[name] if by_hand and not failed else None,
                    "extra_credit": 0.5 if by_hand and rng.random() < 0.05 else None,
                    "needs_manual_grade": not read,
                }
            )
            if name in written:
                text = "Say which multiple." if by_hand else None
                comments.append(
                    {"id": f"{i}-{name}c", "notebook_id": i, "cell_id": f"{cells[name]}-s", "manual_comment": text}
                )
        if records:
            write_record(course, student, chapter, **_record(scores, most, written, number, failed, rng))
    connection.execute(insert(Grade.__table__), grades)
    if comments:
        connection.execute(insert(Comment.__table__), comments)


def _record(
    scores: dict[str, float], most: dict[str, float], written: set[str], number: int, failed: bool, rng: Any
) -> dict[str, Any]:
    if failed:
        return {"state": "failed", "reason": "the file is not a notebook; ask for a new upload", "scores": {}}
    answered = {name: score for name, score in scores.items() if name not in written}
    first = next(iter(answered))
    flag = {"question": first, "reason": "the answer is no plain data", "in_kernel": most[first], "of_record": 0.0}
    return {
        "state": "graded",
        "repairs": ["the test cell scale was deleted; it was put back"] if number % 15 == 3 else [],
        "flags": [flag] if number % 20 == 7 else [],
        "scores": {
            name: {
                "points": score, "max_points": most[name], "how": "data", "reason": "",
                "parts": _parts(score, most[name], rng),
            }
            for name, score in answered.items()
        },
    }  # fmt: skip


def _parts(score: float, most: float, rng: Any) -> dict[str, Any]:
    right = {f"part {k}": {"right": True, "message": "Right."} for k in range(4)}
    if score < most:
        text = MESSAGES[int(rng.integers(len(MESSAGES)) * rng.random())].format(n=int(rng.integers(100)))
        right["part 0"] = {"right": False, "message": text}
    return right


def write_record(course: Course, student: str, chapter: str, **fields: Any) -> Path:
    """One record as the grader writes it; `fields` replace what an ordinary one holds."""
    record = {
        "student": student,
        "chapter": chapter,
        "submission": "0" * 64,
        "state": "graded",
        "reason": "",
        "repairs": [],
        "seconds": 3.2,
        "graded_at": "2026-11-30T10:00:00+00:00",
        "flags": [],
        "scores": {},
    }
    file = course.root / course.area / "records" / student / f"{chapter}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record | fields, indent=1), encoding="utf-8")
    return file
