"""Run one step of nbgrader inside this process, quietly; a failure becomes one exception that says why."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbgrader.converters import GenerateAssignment, GenerateFeedback
from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.log import get_logger

from autograder.settings import Course, nbgrader_settings

__all__ = ["StepError", "generate_assignment", "generate_feedback", "quiet"]


class StepError(Exception):
    """nbgrader gave up on one assignment or one submission; `log` is all that it had to say."""

    def __init__(self, reason: str, log: str) -> None:
        super().__init__(reason)
        self.log = log


def generate_assignment(course: Course, chapter: str, into: str, *, record: bool) -> None:
    """Write the students' version of a chapter to `into`/<chapter>/ (a folder relative to the course's root).

    record: also write the chapter's cells to the gradebook, which is created when there is none.
    """
    settings = nbgrader_settings(course)
    settings.CourseDirectory.release_directory = into
    if not record:
        settings.SaveCells.enabled = False
        settings.GenerateAssignment.no_database = True
    _run(GenerateAssignment, settings, chapter)


def generate_feedback(course: Course, chapter: str, student: str) -> None:
    """Write one student's feedback as HTML, again if it was written before."""
    _run(GenerateFeedback, nbgrader_settings(course), chapter, student)


def _run(step: type[BaseConverter], settings: Config, chapter: str, student: str | None = None) -> None:
    settings.CourseDirectory.assignment_id = chapter
    if student is not None:
        settings.CourseDirectory.student_id = student
    folders = CourseDirectory(config=settings)
    converter: Any = step(coursedir=folders, config=settings, force=True)
    with quiet():
        converter.start()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what nbgrader logs in this block; raise StepError with it when nbgrader gives up."""
    with _recorded_log() as records, warnings.catch_warnings():
        # nbgrader's use of SQLAlchemy and nbformat warns on every submission; nobody here can act on it.
        warnings.simplefilter("ignore")
        try:
            yield
        except (Exception, SystemExit) as error:
            # What it gave up on belongs to one submission; the reason and the whole log go to the person who grades.
            raise StepError(_reason(records, f"{type(error).__name__}: {error}"), _text(records)) from error


class _Keeper(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def _recorded_log() -> Iterator[list[logging.LogRecord]]:
    """Keep what nbgrader logs in this block instead of printing it."""
    logger = get_logger()
    logger = logger.logger if isinstance(logger, logging.LoggerAdapter) else logger
    keeper = _Keeper()
    level, propagate, disabled = logger.level, logger.propagate, logger.disabled
    logger.addHandler(keeper)
    logger.setLevel(logging.INFO)
    # Any library that sets logging up through logging.config has disabled it: that is the default there.
    logger.disabled = False
    logger.propagate = False
    try:
        yield keeper.records
    finally:
        logger.removeHandler(keeper)
        logger.setLevel(level)
        logger.propagate = propagate
        logger.disabled = disabled


def _reason(records: list[logging.LogRecord], fallback: str) -> str:
    """The innermost cause that nbgrader logged: the exception of its last traceback, or its own message."""
    tracebacks = [text for record in records if (text := record.getMessage()).startswith("Traceback")]
    last = "".join(tracebacks[-1:])
    causes = re.findall(r"^(?:\w+\.)*\w+(?:Error|Exception|Exit)\b.*", last, re.MULTILINE)
    return causes[-1] if causes else fallback


def _text(records: list[logging.LogRecord]) -> str:
    return "".join(f"{record.levelname}: {record.getMessage()}\n" for record in records)
