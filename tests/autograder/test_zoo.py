"""The zoo: hostile and broken submissions in one batch with honest ones. Each gets what a fair person would give it."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.grade import How, Outcome, grade
from autograder.hidden import _SEEDS, seed
from autograder.report import build_report, gradebook_rows
from autograder.sandbox.limits import Limits
from autograder.settings import Course
from tests.autograder.grading_zoo import CHAPTER, Animal, Habitat, cells, cheats, escapes, files, hogs, leaks, pages
from tests.support.sandbox_runs import needs_sandbox
from tests.support.small_course import answered, hand_in, released, small_course

KINDS = {
    module.__name__.split(".")[-1]: module.ANIMALS for module in (files, cells, cheats, escapes, hogs, leaks, pages)
}
ANIMALS = tuple(animal for animals in KINDS.values() for animal in animals)
GRADED = tuple(animal for animal in ANIMALS if not animal.failed)
NEIGHBOURS = {"perfect": answered(), "half-right": answered("sectors", "q1"), "untouched": released()}
# A cell has more time than a check gives a kernel that never ends.
HOW = How(limits=Limits(cell_seconds=20, notebook_seconds=90))

pytestmark = pytest.mark.timeout(1800)
"""The first test waits for the whole batch."""


def names(animal: Animal) -> str:
    return animal.name


@dataclass(frozen=True)
class Batch:
    """The zoo after it was graded."""

    course: Course
    outside: Path
    """A folder that any process of this machine can read, with the canary in it."""
    canary: str
    """What stands in the canary: random, so that it is nowhere by chance."""
    server: socket.socket
    temporary: Path
    """Where graders make their temporary files: the path of each kernel's files begins with it."""
    said: list[str]
    outcomes: dict[str, Outcome]
    before: dict[Path, bytes]
    """All files of source/ and submitted/ and outside, as they were."""

    def record(self, student: str) -> dict[str, Any]:
        return dict(json.loads(self.course.record(student, CHAPTER).read_text(encoding="utf-8")))

    @property
    def written(self) -> list[Path]:
        """All files that grading wrote, the gradebook left out."""
        folders = (self.course.feedback, self.course.autograded, self.course.records)
        return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def contents(*folders: Path) -> dict[Path, bytes]:
    """Path -> bytes of all plain files, and where each link leads; links are not followed."""
    found = {}
    for path in (path for folder in folders for path in folder.rglob("*")):
        if path.is_symlink():
            found[path] = os.fsencode(path.readlink())
        elif path.is_file():
            found[path] = path.read_bytes()
    return found


def honest(root: Path) -> Course:
    course = small_course(root)
    for student, notebook in NEIGHBOURS.items():
        hand_in(course, student, notebook)
    return course


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batch]:
    """Every animal and its honest neighbours, graded at once."""
    course = honest(tmp_path_factory.mktemp("zoo"))
    with (
        tempfile.TemporaryDirectory(prefix="zoo-", dir="/var/tmp") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        outside, temporary = Path(folder) / "outside", Path(folder) / "tmp"
        for place in (outside, temporary):
            place.mkdir()
        Path(folder).chmod(0o755)
        canary = secrets.token_hex(16)
        (outside / "canary").write_text(canary)
        for animal in (*ANIMALS, *files.LEFT_OUT):
            place = course.submitted / animal.who / CHAPTER
            place.mkdir(parents=True)
            animal.make(Habitat(place, course.root, outside / "canary", server.getsockname()[1]))
        (course.submitted / "lost" / "smal").mkdir(parents=True)
        before = contents(course.source, course.submitted, outside)
        patch.setenv("TMPDIR", str(temporary))
        said: list[str] = []
        outcomes = {outcome.student: outcome for outcome in grade(course, said.append, how=HOW)}
        yield Batch(course, outside, canary, server, temporary, said, outcomes, before)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The honest neighbours in a course of their own."""
    course = honest(tmp_path_factory.mktemp("alone"))
    grade(course, lambda text: None, how=HOW)
    return course


# ---- the zoo itself ---------------------------------------------------------------------------------------


def test_the_zoo_is_large_and_every_animal_has_its_own_name() -> None:
    assert {kind: len(animals) >= 10 for kind, animals in KINDS.items()} == dict.fromkeys(KINDS, True)
    assert [name for name, count in Counter(animal.who for animal in ANIMALS).items() if count > 1] == []
    assert [animal.name for animal in ANIMALS if animal.failed and (animal.right or animal.flag)] == []


def test_the_animals_bite(tmp_path: Path) -> None:
    """Outside the sandbox the same programs read, send and delete: else the zoo would prove nothing."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "small.ipynb").write_text("{}")
    (tmp_path / "canary").write_text("sings")
    with socket.create_server(("127.0.0.1", 0)) as server:
        habitat = Habitat(tmp_path, tmp_path, tmp_path / "canary", server.getsockname()[1])
        for text in (escapes.READ, escapes.SEND, escapes.OVERWRITE.split("import course")[0]):
            ran = subprocess.run(
                [sys.executable, "-c", habitat.fill(text)], capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, ran.stderr
            if text is escapes.READ:
                assert "sings" in ran.stdout
        server.settimeout(5)
        with server.accept()[0] as connection:
            assert connection.recv(100) == b"everything I know"
    assert (tmp_path / "source" / "small.ipynb").read_text() == "overwritten"


# ---- each animal ------------------------------------------------------------------------------------------


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("animal", GRADED, ids=names)
def test_an_animal_gets_exactly_what_is_fair(batch: Batch, animal: Animal) -> None:
    record = batch.record(animal.who)
    assert (record["state"], record["reason"]) == ("graded", "")
    (row,) = (row for row in gradebook_rows(batch.course, CHAPTER) if row.student == animal.who)
    assert row.scores == animal.points, record["scores"]
    flags = [f"{flag['question']}: {flag['reason']}" for flag in record["flags"]]
    assert any(animal.flag in flag for flag in flags) if animal.flag else flags == [], flags
    assert not animal.repair or any(animal.repair in repair for repair in record["repairs"]), record["repairs"]
    assert (batch.course.feedback / animal.who / CHAPTER / f"{CHAPTER}.html").stat().st_size > 10_000


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("animal", [animal for animal in ANIMALS if animal.failed], ids=names)
def test_what_cannot_be_graded_says_why_and_has_no_mark(batch: Batch, animal: Animal) -> None:
    record = batch.record(animal.who)
    assert record["state"] == batch.outcomes[animal.who].state == "failed"
    assert animal.failed in record["reason"]
    assert [row for row in gradebook_rows(batch.course, CHAPTER) if row.student == animal.who and row.marked] == []
    assert not (batch.course.autograded / animal.who).exists()


# ---- the whole batch --------------------------------------------------------------------------------------


@needs_sandbox
@pytest.mark.slow
class TestTheBatch:
    def test_no_animal_stops_it(self, batch: Batch) -> None:
        assert batch.outcomes.keys() == {animal.who for animal in ANIMALS} | NEIGHBOURS.keys()
        assert {row.student for row in gradebook_rows(batch.course, CHAPTER)} <= batch.outcomes.keys()

    def test_what_is_no_submission_is_said(self, batch: Batch) -> None:
        for student in (*(animal.who for animal in files.LEFT_OUT), "lost"):
            assert any("Left out" in line and student in line for line in batch.said), student

    def test_honest_neighbours_notice_nothing(self, batch: Batch, alone: Course) -> None:
        rows = {
            course: {row.student: row for row in gradebook_rows(course, CHAPTER)} for course in (batch.course, alone)
        }
        for student in NEIGHBOURS:
            assert rows[batch.course][student] == rows[alone][student]
            with_zoo, without = (
                _lasting(json.loads(course.record(student, CHAPTER).read_text())) for course in (batch.course, alone)
            )
            assert with_zoo == without
            assert without["flags"] == []
            for folder in ("autograded", "feedback"):
                both = [getattr(course, folder) / student / CHAPTER for course in (batch.course, alone)]
                assert _files(both[0]) == _files(both[1]), folder

    def test_nothing_that_was_there_has_changed(self, batch: Batch) -> None:
        after = contents(batch.course.source, batch.course.submitted, batch.outside)
        assert {
            path for path in after.keys() | batch.before.keys() if after.get(path) != batch.before.get(path)
        } == set()
        inside = {path.name for path in batch.course.root.iterdir()}
        assert inside <= {"source", "autograder", "build", "release"}
        assert {path.name for path in batch.course.records.iterdir()} == batch.outcomes.keys()

    def test_nobody_read_the_canary(self, batch: Batch) -> None:
        forms = _disguises(batch.canary)
        assert [path for path in batch.written if any(form in path.read_bytes() for form in forms)] == []

    def test_no_seed_is_in_any_file(self, batch: Batch) -> None:
        forms = {
            form for number in _SEEDS.values() for form in (*_disguises(str(number)), *_disguises(hex(number)[2:]))
        }
        forms |= set(_disguises(str([seed("coalescing/sectors"), seed("coalescing/scale")])))
        folders = (batch.course.feedback, batch.course.autograded, batch.course.records)
        for path in (
            path for path in batch.written if path.is_relative_to(folders[0]) or path.is_relative_to(folders[1])
        ):
            content = path.read_bytes()
            assert [form for form in forms if form in content] == [], path

    def test_no_process_and_no_file_is_left_behind(self, batch: Batch) -> None:
        marks = (os.fsencode(batch.temporary), b"sleep\x00987654")
        left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if any(mark in _read(path) for mark in marks)]
        assert left == []
        assert [path.name for path in batch.temporary.iterdir()] == []
        assert not Path("/tmp/ran").exists() and not Path("/tmp/shadowed").exists()

    def test_nobody_came_through_the_network(self, batch: Batch) -> None:
        batch.server.setblocking(False)
        with pytest.raises(BlockingIOError):
            batch.server.accept()

    def test_the_report_shows_all_of_it_as_text(self, batch: Batch) -> None:
        index = build_report(batch.course)
        for page in index.parent.glob("*.html"):
            text = page.read_text(encoding="utf-8")
            assert "<script" not in text and "<img" not in text and "javascript:" not in text
            assert "\x1b" not in text
        marks = list(csv.DictReader((index.parent / "marks.csv").open(encoding="utf-8-sig", newline="")))
        assert len(marks) == len(batch.outcomes) + len(files.LEFT_OUT)
        cells_of = [
            cell
            for path in index.parent.glob("*.csv")
            for row in csv.reader(path.open(encoding="utf-8-sig", newline=""))
            for cell in row
        ]
        assert [cell for cell in cells_of if cell[:1] in ("=", "+", "@")] == []
        assert pages.MARK in "".join(cells_of)

    def test_every_graded_one_is_unchanged_the_next_time(self, batch: Batch) -> None:
        again = grade(batch.course, lambda text: None, student="perfect", how=HOW)
        assert [outcome.state for outcome in again] == ["unchanged"]


def _lasting(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what differs from run to run."""
    return {key: value for key, value in record.items() if key not in ("seconds", "graded_at")}


def _files(folder: Path) -> dict[str, Any]:
    """Name -> digest of what a folder holds; of a notebook its cells, without the times of their runs."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if path.suffix == ".ipynb":
            made = json.loads(path.read_text(encoding="utf-8"))
            for cell in made["cells"]:
                cell["metadata"].pop("execution", None)
            found[path.name] = made
        elif path.is_file():
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _disguises(text: str) -> list[bytes]:
    """A text as it may be printed past a filter. Base64 in its three alignments, without the ends."""
    plain = text.encode()
    coded = [base64.b64encode(bytes(shift) + plain).rstrip(b"=")[(shift * 4 + 2) // 3 : -1] for shift in range(3)]
    return [plain, plain[::-1], plain.hex().encode(), *coded]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # a process that has ended
        return b""
