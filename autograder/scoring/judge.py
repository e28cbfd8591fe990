"""Judges one answer from the text of a notebook: trusted code on data, which runs nothing of the student.

A quiz answer and a kernel are judged at once. A function, and a quiz answer that is no plain data, has to run: then
the reply holds a program for a sandboxed process, and what that process said is judged in a second step.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.scoring.kernels import Unreadable, kernel
from autograder.scoring.literals import NotData, TooMuch, evaluate
from autograder.scoring.needed import needed
from autograder.scoring.program import Cell, Program
from autograder.scoring.wire import Other, WireError, decode, encode
from course.checks import attempt
from course.checks.kernel import KernelCheck
from course.checks.outcome import Outcome, Returned
from course.checks.registry import Check, answers_another_row, find, names
from course.checks.result import Result
from course.checks.values import type_name
from course.simulator.numba_types import type_kernel
from course.simulator.source.resolver import Resolver
from course.simulator.types import ArrayType

__all__ = ["judge", "warm_up"]

Job = dict[str, Any]
"""What to do, as JSON: the fields of a `Task`, and in the second step "how" and "said"."""

STOPPED = "took too long, or ended its process: look for a loop that never ends"
MOST_CHARACTERS = 400
"""Of a reason."""


def judge(job: Job, cells: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Judge a job on code cells, each (grade_id or "", source).

    Returns {"points", "how", "reason", "parts"}, or {"program", "how"} when a student's process has to run first.
    """
    check = find(job["check"], job["variant"])
    if "said" in job:
        return _judge_said(check, job)
    program = Program([Cell(*cell) for cell in cells], job["grade_id"], job["answer_id"])
    if isinstance(check, KernelCheck):
        return _judge_kernel(check, program, job)
    if hasattr(check, "calls"):
        return _judge_function(check, program, job)
    return _judge_quiz(check, program, job)


def warm_up() -> None:
    """Load and compile what the first judgement would have to wait for."""
    names()  # loads the checks of every chapter
    attempt.warm_up()
    check = find("coalescing/scale")
    made = kernel(Program([Cell("scale-answer", _WARM)], "scale", "scale-answer"), "scale")
    check.run(made)
    # What is remembered on disk is not asked of numba again, and numba is slow when it is asked the first time.
    floats, whole = ArrayType(np.dtype(np.float32), 1, "global"), np.dtype(np.int64)
    type_kernel(made.py_func, [floats, floats, np.dtype(np.float32), whole])
    Resolver(None).signature(operator.add, "operator.add", [whole, whole])


_WARM = """\
from course import cuda
import numpy as np
@cuda.jit
def scale(x, out, a, k):
    tile = cuda.shared.array(64, np.float32)
    tile[cuda.threadIdx.x % 64] = np.float32(0)
    cuda.syncthreads()
    for j in range(k):
        i = cuda.grid(1) + j * cuda.gridsize(1)
        if i < out.size:
            out[i] = a * x[i]
"""


def _judge_quiz(check: Check, program: Program, job: Job) -> dict[str, Any]:
    found = program.binding(job["variable"])
    if found is None:
        return _nothing("data", _absent(program, job))
    try:
        if found.value is None:
            raise NotData(f"line {found.statement.lineno} does more than one plain assignment")
        value = evaluate(program, found.value, found.place)
    except TooMuch as error:
        return _nothing("unread", str(error))
    except NotData as error:
        return {"program": {**needed(program, found), "name": job["variable"], "calls": None}, "how": "values",
                "reason": str(error)}  # fmt: skip
    return _quiz(check, value, job, "data")


def _quiz(check: Check, value: object, job: Job, how: str, reason: str = "") -> dict[str, Any]:
    score = _score(check.run(value, job["seed"]), how, reason)
    return {**score, "other_row": answers_another_row(job["check"], job["variant"], value)}


def _judge_kernel(check: KernelCheck, program: Program, job: Job) -> dict[str, Any]:
    if program.binding(job["variable"]) is None:
        return _nothing("kernel", _absent(program, job))
    try:
        value = kernel(program, job["variable"])
    except Unreadable as error:
        return _nothing("unread", str(error))
    return _score(check.run(value, job["seed"]), "kernel")


def _judge_function(check: Any, program: Program, job: Job) -> dict[str, Any]:
    found = program.binding(job["variable"])
    if found is None:
        return _nothing("function", _absent(program, job))
    calls = [[encode(argument) for argument in arguments] for arguments in check.calls(job["seed"])]
    return {"program": {**needed(program, found), "name": job["variable"], "calls": calls}, "how": "function"}


def _absent(program: Program, job: Job) -> str:
    return program.problem or f"the notebook does not define {job['variable']}"


def _nothing(how: str, reason: str) -> dict[str, Any]:
    return {"points": 0.0, "how": how, "reason": reason[:MOST_CHARACTERS], "parts": {}}


def _score(result: Result, how: str, reason: str = "") -> dict[str, Any]:
    parts = {part.name: {"right": part.right, "message": part.message} for part in result.parts}
    points = float(min(max(result.points, 0.0), result.max_points))
    return {"points": points, "how": how, "reason": reason or result.feedback, "parts": parts}


# ---- what a student's process said ------------------------------------------------------------------------


def _judge_said(check: Any, job: Job) -> dict[str, Any]:
    """Judge the lines of a student's process. They may hold anything."""
    how, said = job["how"], list(job["said"])
    first = said.pop(0) if said else None
    if not isinstance(first, dict):
        return _nothing("unread", job["ended"] or "the answer ended its process before it was there")
    if "missing" in first:
        where = "unread" if how == "values" else how
        return _nothing(where, f"the answer cannot be used: {_line(first['missing'])}")
    if "calls" in first and how == "function":
        calls = check.calls(job["seed"])
        found = [_found(line, job["seed"] is not None) for line in said[: len(calls)]]
        if len(found) < len(calls):
            found.append(Outcome(problem=STOPPED, interrupted=True))
        found += [Outcome(problem="was not called: the check was stopped")] * (len(calls) - len(found))
        return _score(check.judge_calls(found, job["seed"]), how)
    try:
        value = decode(first["value"])
    except (WireError, KeyError):
        return _nothing("unread", "the answer's process said something that cannot be read")
    if how == "values" and isinstance(value, Other):
        return _nothing("unread", f"the answer is a value of type {type_name(value)}: only plain values are judged")
    return _quiz(check, value, job, how, job.get("reason", "") if how == "values" else "")


def _found(line: Any, hidden: bool) -> Returned | Outcome:
    """What one call gave. On a hidden input nothing that the student's code wrote may come back in words."""
    if isinstance(line, dict) and "error" in line:
        name, text = _line(line["error"]), _line(line.get("text"))
        known = isinstance(getattr(builtins, name, None), type)
        if hidden:
            name, text = name if known else "an error", ""
        told = f"stopped with {name}: {text}" if text else f"stopped with {name}"
        return Outcome(problem=told, unwritten=name == "NotImplementedError")
    try:
        return Returned(decode(line["value"], named=not hidden))
    except (WireError, KeyError, TypeError):
        return Outcome(problem="gave something that cannot be read")


def _line(text: Any) -> str:
    """Text of a student's process on one short line."""
    line = " ".join(text[:120].split()).rstrip(".") if isinstance(text, str) else ""
    return line if line.isprintable() else ascii(line)
