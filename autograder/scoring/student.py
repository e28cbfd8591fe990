"""Runs one answer of a student, inside the sandbox: a script that the grader starts for every such answer anew.

It gets one line of JSON on stdin: the statements to run, the name of the answer, and the arguments of each call. It
writes one line for the answer itself and one for each call. These lines are all that leaves the process. The student's
code could write lines of its own: it would only say what its own answer is.
"""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Not this folder but the one that holds the package: it is the one that the grader shows us.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from autograder.scoring.wire import decode, encode

MOST_CHARACTERS = 200


def main() -> None:
    """Run the answer, say what it is, and call it."""
    request = json.loads(sys.stdin.buffer.readline())
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)

    def reply(said: dict[str, Any]) -> None:
        replies.write(json.dumps(said) + "\n")
        replies.flush()

    # Bound here, so that an answer that changes `builtins` or `json` harms itself only.
    value, missing = _run(request["helpers"], request["answer"], request["name"])
    if missing:
        reply({"missing": missing})
    elif request["calls"] is None or not callable(value):
        reply({"value": encode(value)})
    else:
        reply({"calls": len(request["calls"])})
        for arguments in request["calls"]:
            reply(_called(value, [decode(argument) for argument in arguments]))
    replies.close()
    os._exit(0)  # threads and exit handlers of the student do not matter any more


def _run(helpers: list[str], answer: list[str], name: str) -> tuple[Any, str]:
    """The value of `name` after all statements, or None and why there is none."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    problem = ""
    for text in helpers:
        # As in the notebook: a cell that fails does not keep later ones from running.
        problem = _executed(text, module) or problem
    for text in answer:
        found = _executed(text, module)
        problem = found or problem
        if found:
            break
    if name not in vars(module):
        return None, f"{name} is not there" + (f": {problem}" if problem else "")
    return vars(module)[name], ""


def _executed(text: str, module: types.ModuleType) -> str:
    try:
        exec(compile(text, "<answer>", "exec"), vars(module))
    except BaseException as error:
        return f"a line stops with {_told(error)['error']}"
    return ""


def _called(function: Any, arguments: list[Any]) -> dict[str, Any]:
    try:
        return {"value": encode(function(*arguments))}
    except BaseException as error:
        return _told(error)


def _told(error: BaseException) -> dict[str, Any]:
    try:
        text = str(error)[:MOST_CHARACTERS]
    except BaseException:  # a student's exception may have a __str__ that raises anything
        text = ""
    return {"error": str(type(error).__name__)[:60], "text": text}


if __name__ == "__main__":
    main()
