"""The score of record: right answers get their points, hostile ones none, and nothing of a kernel ever runs."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder import half_right
from autograder.cells import nbgrader_of, read_notebook, split
from autograder.samples import sample_notebooks
from autograder.sandbox.bubblewrap import available
from autograder.sandbox.limits import GIB, Limits
from autograder.scoring import score as scoring
from autograder.scoring.judge import judge
from autograder.scoring.score import Score, score
from autograder.scoring.tasks import Task, tasks_of
from autograder.settings import ROOT, Course, CourseError
from course.checks import find
from tests.support.kernel_answers import load
from tests.support.sandbox_runs import needs_sandbox

COURSE = Course(ROOT)
CHAPTERS = ("coalescing", "layout", "tiling", "roofline", "occupancy", "cp_async")
SANDBOXED = available() == ""
LIMITS = Limits(cell_seconds=60, memory_bytes=2 * GIB)
SHORT = Limits(cell_seconds=4, memory_bytes=2 * GIB)
"""For answers that never end: an honest one may need longer on a busy machine."""
ENDLESS = {"bomb", "endless", "endless answer", "flood"}


def tasks(chapter: str) -> tuple[Task, ...]:
    return tasks_of(read_notebook(COURSE.notebook(chapter)))


def answered(chapter: str, grade_id: str, text: str) -> tuple[Task, bytes]:
    """A task, and a released notebook in which only its answer is written."""
    task = next(task for task in tasks(chapter) if task.grade_id == grade_id)
    notebook = read_notebook(COURSE.release / chapter / f"{chapter}.ipynb")
    (cell,) = (cell for cell in notebook.cells if nbgrader_of(cell).get("grade_id") == task.answer_id)
    cell.source = text
    return task, nbformat.writes(notebook).encode()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge in this process, where it would be seen if anything ran. Answers that have to run still get their own."""

    def ask(jobs: list[Any], cells: Any, limits: Limits, sandboxed: bool) -> Any:
        return json.loads(json.dumps([judge(job, cells) for job in json.loads(json.dumps(jobs))]))

    monkeypatch.setattr(scoring, "ask", ask)


def scored(chapter: str, grade_id: str, text: str, limits: Limits = LIMITS) -> Score:
    task, notebook = answered(chapter, grade_id, text)
    result = score([task], notebook, limits, SANDBOXED)[grade_id]
    json.dumps(vars(result))
    assert 0 <= result.points <= result.max_points == find(task.check).max_points
    return result


# ---- tasks ------------------------------------------------------------------------------------------------


def test_every_test_cell_of_every_chapter_is_a_task() -> None:
    found = {chapter: tasks(chapter) for chapter in CHAPTERS}
    assert {len(some) for some in found.values()} == {5, 6, 7, 8}
    q1 = next(task for task in found["coalescing"] if task.grade_id == "q1")
    assert q1 == Task("q1", "q1-answer", "coalescing/q1", "q1", None)
    flight = next(task for task in found["occupancy"] if task.grade_id == "in_flight")
    assert (flight.answer_id, flight.variable) == ("in_flight-answer", "flight")
    assert all(
        (task.seed is not None) == hasattr(find(task.check), "cases") for some in found.values() for task in some
    )


@pytest.mark.parametrize(
    "last",
    ["grade('coalescing/q1')", "grade(name, q1)", "1.0", "grade('coalescing/q1', dict())", "q1 = ("],
)
def test_a_test_cell_that_cannot_be_read_is_an_error_that_names_it(last: str) -> None:
    master = read_notebook(COURSE.notebook("coalescing"))
    (cell,) = (cell for cell in master.cells if nbgrader_of(cell).get("grade_id") == "q1")
    cell.source = last
    with pytest.raises(CourseError, match="'q1' cannot be read: expected"):
        tasks_of(master)


def test_a_task_knows_its_variant() -> None:
    master = read_notebook(COURSE.notebook("coalescing"))
    (cell,) = (cell for cell in master.cells if nbgrader_of(cell).get("grade_id") == "q1")
    cell.source = 'grade("coalescing/q1", q1, variant=2)'
    assert next(task for task in tasks_of(master) if task.grade_id == "q1").variant == 2


# ---- quiz answers -----------------------------------------------------------------------------------------

RIGHT = ('dict(sectors=32, lines=8, requested_bytes=128, transferred_bytes=1024, efficiency=1 / 8, '
         'shape="one lane per sector")')  # fmt: skip
EQUAL = "class Equal:\n    def __eq__(self, other): return True\n    __hash__ = None\n"
ALL_EQUAL = "sectors=x, lines=x, requested_bytes=x, transferred_bytes=x, efficiency=x, shape=x"
QUIZ = {
    "right": (f"q1 = {RIGHT}", "data", 5),
    "magic": (f"%%time\nq1 = {RIGHT}\n%timeit 1", "data", 5),
    "equal to everything": (f"{EQUAL}q1 = Equal()", "unread", 0),
    "parts equal to everything": (f"{EQUAL}x = Equal()\nq1 = dict({ALL_EQUAL})", "values", 0),
    "metaclass": ("class M(type):\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\n"
                  f"class x(metaclass=M): pass\nq1 = dict({ALL_EQUAL})", "values", 0),
    "dict subclass": (f"class D(dict): pass\nq1 = D({RIGHT[5:]}", "unread", 0),
    "str subclass": (f"class x(str):\n    __eq__ = lambda s, o: True\nx = x()\nq1 = dict({ALL_EQUAL})", "values", 0),
    "generator": ("q1 = (i for i in range(3))", "unread", 0),
    "lambda": ("q1 = lambda: 32", "unread", 0),
    "nan": (f"x = float('nan')\nq1 = dict({ALL_EQUAL})", "data", 0),
    "inf": (f"x = 1e999\nq1 = dict({ALL_EQUAL})", "data", 0),
    "True": (f"x = True\nq1 = dict({ALL_EQUAL})", "data", 0),
    "huge number": ("q1 = 10**10**10", "unread", 0),
    "huge text": ("q1 = 'a' * 10**9", "unread", 0),
    "million elements": ("q1 = [" + "0," * 1_000_000 + "]", "data", 0),
    "nested": ("q1 = " + "[" * 10_000 + "]" * 10_000, "data", 0),
    "import": ("q1 = __import__('os')._exit(0)", "unread", 0),
    "walrus": (f"q1 = (other := {RIGHT})", "values", 5),
    "item by item": (f"q1 = {{}}\nfor key, value in {RIGHT}.items():\n    q1[key] = value", "values", 5),
    "bomb": ("q1 = [[0] * 10**6 for i in range(10**9)]", "unread", 0),
    "endless": ("while True: pass\nq1 = 1", "data", 0),
    "endless answer": ("def f():\n    while True: pass\nq1 = f()", "unread", 0),
    "syntax error": (f"q1 = {RIGHT[:-1]}", "data", 0),
    "raises before": (f"raise OSError\nq1 = ({RIGHT},)[0] or {RIGHT}", "unread", 0),
    "forged json": (f"import json\njson.dumps = lambda said: '[' * 10**6\nq1 = (lambda: {RIGHT})()", "unread", 0),
    "flood": ("import os\ndef f():\n    while True:\n        for d in range(3, 30):\n            try: "
              "os.write(d, b'x' * 65536)\n            except OSError: pass\nq1 = f()", "unread", 0),
    "forged line": ("import os\nfor d in range(3, 30):\n    try: os.write(d, b'{\"value\": {\"dict\": 1}}\\n')\n"
                    f"    except OSError: pass\nq1 = (lambda: {RIGHT})()", "unread", 0),
    "deleted": ("", "data", 0),
}  # fmt: skip


RUNS = {"bomb", "endless answer", "flood", "forged json", "forged line", "metaclass", "str subclass", "dict subclass",
        "generator", "lambda", "import", "walrus", "item by item", "raises before"}  # fmt: skip
"""Those that need a process of their own; two others stay among the fast tests."""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in RUNS else ()) for n in QUIZ])
def test_a_quiz_answer(name: str) -> None:
    text, how, points = QUIZ[name]
    result = scored("coalescing", "q1", text, SHORT if name in ENDLESS else LIMITS)
    if name == "endless":  # what stands below is text as well; a kernel would not come there, and both marks are 0
        assert result.points == 0
        return
    assert (result.how, result.points) == (how, points), result.reason
    assert bool(result.parts) == (
        how != "unread" and name not in ("syntax error", "nested", "million elements", "deleted")
    )


# ---- kernels ----------------------------------------------------------------------------------------------

BODY = """(x, out, a, k):
    for j in range(k):
        i = cuda.grid(1) + j * cuda.gridsize(1)
        if i < out.size:
            out[i] = a * x[i]
"""
GOOD = f"@cuda.jit\ndef scale{BODY}"
SLOW = "@cuda.jit\ndef scale(x, out, a, k):\n    {}\n"
KERNELS = {
    "right": (GOOD, "kernel", 6),
    "numba": (f"from numba import cuda\n{GOOD}", "kernel", 6),
    "undecorated": (f"def scale{BODY}", "kernel", 6),
    "magic": (f"%%time\n{GOOD}\n!ls", "kernel", 6),
    "device function and constants": (
        "ONE = np.float32(1)\nSTEP = (1, 2)\nf4 = np.float32\n@cuda.jit(device=True)\ndef twice(v, w=np.float32(1)):\n"
        f"    return f4(v) * ONE * w\n{GOOD.replace('x[i]', 'twice(x[i])').replace('i = ', 'i = STEP[0] * ')}",
        "kernel", 6),
    "annotated": (GOOD.replace("(x, out, a, k)", "(x: RUN(), out, a, k) -> RUN()"), "kernel", 6),
    "signature": (GOOD.replace("cuda.jit", "cuda.jit(RUN())"), "kernel", 6),
    "swapped by a decorator": (f"def swap(f): return good\n@swap\n{SLOW.format('RUN()')}", "kernel", 0),
    "last one counts": (f"{SLOW.format('pass')}\n{GOOD}", "kernel", 6),
    "default value runs": (GOOD.replace("a, k)", "a, k=RUN())"), "unread", 0),
    "code beside it runs": (f"RUN()\n{GOOD}\nRUN()", "kernel", 6),
    "global object": ("class G:\n    def __getitem__(self, i): RUN()\ng = G()\n" + GOOD.replace("a * x", "g"),
                      "unread", 0),
    "global array": ("g = np.ones(3)\n" + GOOD.replace("a * x", "g"), "unread", 0),
    "global call": ("g = RUN()\n" + GOOD.replace("a * x[i]", "g"), "unread", 0),
    "star import": ("from os import *\n" + GOOD.replace("a * x[i]", "getpid()"), "unread", 0),
    "other module": ("import os\n" + GOOD.replace("a * x[i]", "os.getpid()"), "unread", 0),
    "calls Python": (GOOD.replace("a * x[i]", "eval('RUN()')"), "kernel", 0),
    "numpy call": (GOOD.replace("a * x[i]", "np.load('x')"), "kernel", 0),
    "factory": (f"def make():\n    @cuda.jit\n    def inner{BODY.replace('    ', '        ')}    return inner\n"
                "scale = make()", "unread", 0),
    "wrapped": (f"{GOOD}\nscale = RUN(scale)", "unread", 0),
    "lambda": ("scale = lambda x, out, a, k: RUN()", "unread", 0),
    "class": ("class scale:\n    RUN()", "unread", 0),
    "conditional": ("if RUN():\n    @cuda.jit\n    def scale(x, out, a, k): pass", "unread", 0),
    "None": ("scale = None", "kernel", 0),
    "endless": (SLOW.format("while True: pass"), "kernel", 0),
    "huge shared array": (SLOW.format("t = cuda.shared.array(10**9, np.float32)"), "kernel", 0),
    "huge local array": (SLOW.format("t = cuda.local.array(2**40, np.float32)"), "kernel", 0),
    "huge number": (SLOW.format("out[0] = 10**10**10"), "kernel", 0),
    "no kernel syntax": (SLOW.format("out[0] = [RUN() for _ in x][0]"), "kernel", 0),
    "syntax error": (GOOD + "(", "kernel", 0),
    "recursive": ("@cuda.jit(device=True)\ndef f(v): return f(v)\n" + GOOD.replace("x[i]", "f(x[i])"), "kernel", 0),
}  # fmt: skip


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel(name: str, tmp_path: Path) -> None:
    text, how, points = KERNELS[name]
    ran = tmp_path / "ran"
    # As an expression of its own, RUN() would be seen wherever it is executed.
    result = scored("coalescing", "scale", text.replace("RUN(", f"open({str(ran)!r}, 'w')and("))
    assert (result.how, result.points) == (how, points), result.reason
    assert not ran.exists(), "code of the student ran in the judging process"


# ---- functions --------------------------------------------------------------------------------------------

SECTORS = "def sectors(addresses, size):\n    {}\n    return len({{a // 32 for a in addresses}})"
FUNCTIONS = {
    "right": (SECTORS.format("pass"), 6),
    "callable object": ("class C:\n    def __call__(self, a, s): return len({x // 32 for x in a})\nsectors = C()", 6),
    "helper and magic": ("%matplotlib inline\nfrom math import floor\ndef f(a): return floor(a / 32)\n"
                         "sectors = lambda addresses, size: len({f(a) for a in addresses})", 6),
    "prints megabytes": (SECTORS.format("print('x' * 10**6)"), 6),
    "writes to stderr": (SECTORS.format("import sys; print('x', file=sys.stderr)"), 6),
    "equal int": ("class I(int):\n    __eq__ = lambda s, o: True\nsectors = lambda a, s: I(1)", 0),
    "bool": ("sectors = lambda a, s: True", 0),
    "nan": ("sectors = lambda a, s: float('nan')", 0),
    "huge": ("sectors = lambda a, s: 10**100000", 0),
    "exits": (SECTORS.format("raise SystemExit"), 0),
    "ends the process": (SECTORS.format("import os; os._exit(0)"), 0),
    "kills itself": (SECTORS.format("import os, signal; os.kill(os.getpid(), 9)"), 0),
    "endless": (SECTORS.format("while True: pass"), 0),
    "recursion": ("def sectors(a, s): return sectors(a, s)", 0),
    "threads": ("import threading, time\n"
                + SECTORS.format("threading.Thread(target=time.sleep, args=(9,)).start()"), 6),
    "patched builtins": ("import builtins\n" + SECTORS.format("builtins.len = lambda x: 1"), 0),
    "closed descriptors": (SECTORS.format("import os; os.closerange(0, 100)"), 0),
    "flood": (SECTORS.format("import os\n    while True: [os.write(d, b'x' * 9999) for d in range(3, 4)]"), 0),
    "number": ("sectors = 5", 0),
    "None": ("sectors = None", 0),
    "raises": ("raise OSError\n" + SECTORS.format("pass"), 0),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name: str) -> None:
    text, points = FUNCTIONS[name]
    result = scored("coalescing", "sectors", text, SHORT if name in ENDLESS else LIMITS)
    assert result.points == points, result.reason
    assert result.how == ("unread" if name == "flood" else "function"), result.reason


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_a_function_that_counts_its_calls_is_right_only_where_it_is_right() -> None:
    count = "calls = []\n" + SECTORS.format("calls.append(1)\n    if len(calls) > 20: return 0")
    assert 0 <= scored("coalescing", "sectors", count).points < 6


@pytest.mark.slow
@needs_sandbox
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "text",
    [
        "from course.checks import find\nsectors = find('coalescing/sectors').reference",
        SECTORS.format("from course.checks.registry import find"),
        SECTORS.format(f"open({str(ROOT / 'source' / 'coalescing' / 'coalescing.ipynb')!r})"),
        SECTORS.format("import autograder.scoring.tasks"),
        SECTORS.format("import socket\n    socket.create_connection(('1.1.1.1', 53), 1)"),
        SECTORS.format("import os\n    os.listdir('/proc/1/root/work')"),
    ],
    ids=["reference", "registry", "master", "grader", "network", "outside"],
)
def test_the_sandbox_holds_nothing_that_helps(text: str) -> None:
    result = scored("coalescing", "sectors", text)
    assert (result.how, result.points) == ("function", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "last",
    ["return sum(addresses)", "raise ValueError(repr(addresses))", "return type(repr(addresses)[:50], (), {})()",
     "raise type(repr(addresses)[:50], (Exception,), {})"],
)  # fmt: skip
def test_hidden_inputs_are_in_no_message(last: str) -> None:
    """A function that is right on what everybody sees, and tells what it gets from then on."""
    check = find("coalescing/sectors")
    visible = sum(not case.hidden for case in check.cases(1))
    text = "calls = []\n" + SECTORS.format(f"calls.append(1)\n    if len(calls) > {visible}: {last}")
    result = scored("coalescing", "sectors", text)
    task = next(task for task in tasks("coalescing") if task.grade_id == "sectors")
    numbers = {
        str(n) for case in check.cases(task.seed) if case.hidden for n in (*case.arguments[0], sum(case.arguments[0]))
    }
    told = [part["message"] for part in result.parts.values() if "On a hidden input" in part["message"]]
    assert told
    for message in told:
        assert not any(number in message for number in numbers if len(number) > 3), message


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_arrays_come_back_as_arrays() -> None:
    for text, points in (
        ("def reorder(indices): return np.sort(indices)", 4),
        ("def reorder(indices): return sorted(int(i) for i in indices)", 4),
        ("def reorder(indices): return indices", 0),
        ("def reorder(indices): return np.sort(indices).astype(object)", 0),
        ("def reorder(indices): return [[1], [1, 2]]", 0),
        ("def reorder(indices): indices.sort()", 0),
        ("def reorder(indices): return np.zeros(10**7, int)", 0),
    ):
        result = scored("coalescing", "gather", text)
        assert (result.how, result.points) == ("function", points), text


# ---- notebooks --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("notebook", [b"", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [{}]}', b"[" * 10_000, b"\xff"])
def test_a_notebook_that_is_none_has_no_points_and_a_reason(notebook: bytes) -> None:
    (found,) = score(tasks("coalescing")[:1], notebook, LIMITS, SANDBOXED).values()
    assert (found.how, found.points) == ("unread", 0)
    assert found.reason


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_samples_of_a_chapter_get_the_marks_of_their_checks(chapter: str) -> None:
    samples = sample_notebooks(COURSE, chapter)
    found = {
        who: score(tasks(chapter), nbformat.writes(samples[who]).encode(), Limits(), SANDBOXED)
        for who in ("perfect", "half-right", "untouched")
    }
    assert {s.how for some in found.values() for s in some.values()} <= {"data", "kernel", "function"}
    assert all(s.points == s.max_points for s in found["perfect"].values())
    assert all(s.points == 0 for s in found["untouched"].values())
    wrong = half_right.answers(chapter)
    for task in tasks(chapter):
        check = find(task.check)
        text = wrong[task.answer_id]
        if hasattr(check, "cases"):
            value: Any = load(task.check, "import numpy as np\nfrom course import cuda\n" + text)
        else:
            space: dict[str, Any] = {}
            exec(text, space)
            value = space[task.variable]
        assert found["half-right"][task.grade_id].points == check.run(value, task.seed).points, task.grade_id
        assert found["half-right"][task.grade_id].points < check.max_points


@pytest.mark.slow
def test_one_answer_that_does_not_end_costs_the_others_nothing_and_threads_do_not_meet() -> None:
    """Real judging processes: a kernel that takes forever to compile, beside right answers, from three threads."""
    master = read_notebook(COURSE.notebook("coalescing"))
    right = {nbgrader_of(c)["grade_id"]: split(c.source).answer for c in master.cells if nbgrader_of(c).get("solution")}
    notebook = read_notebook(COURSE.release / "coalescing" / "coalescing.ipynb")
    for cell in notebook.cells:
        name = nbgrader_of(cell).get("grade_id")
        if name == "scale-answer":
            lines = "".join(f"    out[{n}] = a * x[{n}] + x[k]\n" for n in range(5_000))
            cell.source = f"@cuda.jit\ndef scale(x, out, a, k):\n{lines}"
        elif name in right:
            cell.source = right[name]
    text, found = nbformat.writes(notebook).encode(), list[dict[str, Score]]()
    enough = replace(LIMITS, cell_seconds=20)
    threads = [
        threading.Thread(target=lambda: found.append(score(tasks("coalescing"), text, enough, SANDBOXED)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for scores in found:
        stopped = scores.pop("scale")
        assert (stopped.how, stopped.points) == ("unread", 0)
        assert "20 s" in stopped.reason
        assert all(s.points == s.max_points for s in scores.values())
