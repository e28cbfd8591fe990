"""The score of record: marks that are computed outside the student's process, from the text of the notebook.

Quiz answers and kernels are data and nothing of them runs. What has to run does so in a sandbox, one for each answer,
and only plain values come back. So no mark depends on what a student's program says about itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from autograder.sandbox.limits import Limits
from autograder.scoring.judges import JudgeError, ask
from autograder.scoring.students import said
from autograder.scoring.tasks import Task
from course.checks.registry import find

__all__ = ["How", "Score", "score"]

How: TypeAlias = Literal["data", "kernel", "function", "values", "unread"]


@dataclass(frozen=True)
class Score:
    """The mark of one question.

    how: "data" is a quiz answer that was read as text, "kernel" was simulated as data, "function" ran in a sandbox, and
    so did "values", a quiz answer that is no plain data. "unread" has 0 points until a person looks.
    reason: why it is unread, or what there is to say about the answer as a whole.
    parts: name of a part -> {"right": whether it is, "message": hint}.
    """

    points: float
    max_points: float
    how: How
    reason: str = ""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    other_row: int | None = None
    """A question with numbers of its own: the row of another student whose right answer this is."""


def score(tasks: Sequence[Task], notebook: bytes, limits: Limits, sandboxed: bool) -> dict[str, Score]:
    """Score the answers in a notebook: grade_id -> Score, for every task. Never raises because of a submission.

    May be called from several threads and processes at a time. A judgement may take `limits.cell_seconds`, and so may
    an answer that has to run. sandboxed=False runs answers without the sandbox (see `bubblewrap.UNPROTECTED`).
    """
    try:
        cells = _code_cells(notebook)
        replies = ask([asdict(task) for task in tasks], cells, limits, sandboxed)
        later = [n for n, reply in enumerate(replies) if "program" in reply]
        jobs = [_said(tasks[n], replies[n], limits, sandboxed) for n in later]
        for n, reply in zip(later, ask(jobs, [], limits, sandboxed) if jobs else [], strict=True):
            replies[n] = reply
    except (JudgeError, ValueError, RecursionError) as error:
        replies = [{"died": str(error)} for _ in tasks]
    return {task.grade_id: _score(task, reply) for task, reply in zip(tasks, replies, strict=True)}


def _said(task: Task, reply: dict[str, Any], limits: Limits, sandboxed: bool) -> dict[str, Any]:
    """The job of judging what an answer said when it ran."""
    lines, ended = said(reply["program"], limits, sandboxed)
    return {**asdict(task), "how": reply["how"], "reason": reply.get("reason", ""), "said": lines, "ended": ended}


def _score(task: Task, reply: dict[str, Any]) -> Score:
    most = find(task.check, task.variant).max_points
    if "died" in reply:
        return Score(0.0, most, "unread", reply["died"])
    return Score(reply["points"], most, reply["how"], reply["reason"], reply["parts"], reply.get("other_row"))


def _code_cells(notebook: bytes) -> list[tuple[str, str]]:
    """(grade_id or "", source) of the code cells of a notebook in format 4. Raises ValueError when it is none."""
    try:
        cells = json.loads(notebook)["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        return [(_grade_id(cell), _source(cell["source"])) for cell in code]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the notebook cannot be read: {type(error).__name__} {error}") from None


def _grade_id(cell: dict[str, Any]) -> str:
    return str(cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", ""))


def _source(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)
