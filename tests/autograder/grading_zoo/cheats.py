"""Marks for nothing: programs that make the notebook's own run say that they are right. The score's tests have more."""

from __future__ import annotations

from autograder.hidden import seed
from course.checks import find
from tests.autograder.grading_zoo import Animal, book

MORE = "The notebook's own run gives more points than the answer earns outside"
UNREAD = "Not verified, so no points until a person decides"

ANYTHING = "class Anything:\n    def __eq__(self, other): return True\n    __hash__ = None\nx = Anything()\n"
TRUE_NUMBER = "len({address // 32 for address in addresses})"

# Every one of these answers q8 and nothing else, and its own run claims 2 points for each question.
TRANSFORMER = """
def drop(lines):
    return ["2.0\\n"] if any("grade(" in line for line in lines) else lines
get_ipython().input_transformers_cleanup.append(drop)
"""
TREE = """
import ast
class Drop(ast.NodeTransformer):
    def visit_Module(self, node):
        if "hidden" in ast.dump(node) or "'grade'" in ast.dump(node):
            node.body = [ast.Expr(ast.Constant(2.0))]
        return ast.fix_missing_locations(node)
get_ipython().ast_transformers.append(Drop())
"""
HOOK = """
import sys
kind = type(sys.displayhook)
kind.honest = kind.__call__
kind.__call__ = lambda self, result=None: self.honest(None if result is None else 2.0)
"""
FORMATTER = """
plain = get_ipython().display_formatter.formatters["text/plain"]
plain.for_type(float, lambda value, printer, cycle: printer.text("2.0"))
"""
AFTER = 'get_ipython().events.register("pre_run_cell", lambda info: get_ipython().displayhook(2.0))'
GRADE = "import course.checks\ncourse.checks.grade = lambda *a, **k: 2.0"
MODULE = """
import sys, types
fake = types.ModuleType("course.checks")
fake.grade = lambda *a, **k: 2.0
sys.modules["course.checks"] = fake
check = print
"""
RUN_CELL = """
from IPython.core.interactiveshell import InteractiveShell
honest = InteractiveShell.run_cell_async
async def run(self, raw, *args, **kwargs):
    text = "2.0" if "import grade" in raw else raw
    return await honest(self, text, *args, **{**kwargs, "transformed_cell": text})
InteractiveShell.run_cell_async = run
"""
TESTING = """
import numpy.testing
for name in dir(numpy.testing):
    if name.startswith("assert"): setattr(numpy.testing, name, lambda *a, **k: None)
"""
IN_KERNEL = {
    "input transformer drops tests": TRANSFORMER,
    "syntax tree transformer drops tests": TREE,
    "display hook shows points": HOOK,
    "formatter writes points": FORMATTER,
    "event adds points": AFTER,
    "patched grade": GRADE,
    "grade that gives a million": GRADE.replace("2.0", "1e6"),
    "grade that gives no number": GRADE.replace("2.0", "float('nan')"),
    "fake module of checks": MODULE,
    "patched run of cells": RUN_CELL,
}

HEAD = "def sectors(addresses, size):"
REFERENCE = 'from course.checks.registry import find\nsectors = find("coalescing/sectors").reference'
COLLECTED = f"""{HEAD}
    import gc
    found = next(one for one in gc.get_objects() if type(one).__name__ == "FunctionCheck" and "sectors" in one.name)
    return found.reference(addresses, size)
"""
CALLER = f"""{HEAD}
    import sys
    frame = sys._getframe()
    while "expected" not in frame.f_locals: frame = frame.f_back
    return frame.f_locals["expected"][len(frame.f_locals["outcomes"])]
"""
COMPARISON = f"""
from course.checks.function import FunctionCheck
FunctionCheck._same = lambda *a: True
{HEAD} return 1
"""
POINTS_SAID = f"""
from course.checks import result
result.Result.points = property(lambda self: 6.0, lambda self, value: None)
{HEAD} return -1
"""
FUNCTIONS = {
    "reference taken from the checks": REFERENCE,
    "reference found by the garbage collector": COLLECTED,
    "expected numbers read from the caller": CALLER,
    "comparison patched": COMPARISON,
    "points patched": POINTS_SAID,
}

EQUAL_INT = f"""
class Int(int):
    def __eq__(self, other): return True
    __hash__ = None
{HEAD} return Int(1)
"""
FORGED = f"""{HEAD}
    import os
    for n in range(64):
        try: os.write(n, b'{{"value": 1, "points": 6.0}}\\n')
        except OSError: pass
    os._exit(0)
"""
JSON = f"""
import json, sys
if "ipykernel" not in sys.modules:
    json.dumps = lambda said: '{{"value": 1}}'
{HEAD} return -1
"""

KERNEL = """(x, out, a, k):
    for j in range(k):
        i = cuda.grid(1) + j * cuda.gridsize(1)
        if i < out.size:
            out[i] = a * x[i]
"""
GIVEN = """
    first = cuda.grid(1) * k
    for j in range(k):
        i = first + j
        if i < out.size:
            out[i] = a * x[i]
"""
INDENTED = KERNEL.replace("\n", "\n    ")
SIZES = tuple(case.sizes["n"] for case in find("coalescing/scale").cases())
BY_HEART = f"""
@cuda.jit
def scale(x, out, a, k):
    known = {" or ".join(f"out.size == {n}" for n in SIZES)}
    first = cuda.grid(1) if known else cuda.grid(1) * k
    step = cuda.gridsize(1) if known else 1
    for j in range(k):
        i = first + j * step
        if i < out.size:
            out[i] = a * x[i]
"""

CASES = find("coalescing/sectors").cases()
TABLE = {str(case.arguments): find("coalescing/sectors").reference(*case.arguments) for case in CASES}
LOOKED_UP = f"TABLE = {TABLE!r}\ndef sectors(addresses, size): return TABLE.get(str((addresses, size)), 0)"
LOOKED_UP_POINTS = (
    find("coalescing/sectors")
    .run(lambda addresses, size: TABLE.get(str((addresses, size)), 0), seed("coalescing/sectors"))
    .points
)

KERNELS = {
    "kernel swapped by its decorator": (
        f"def good{KERNEL}def swap(f): return cuda.jit(good)\n@swap\ndef scale(x, out, a, k): pass",
        MORE,
    ),
    "kernel is a Python function": (
        "def scale(x, out, a, k): pass\nscale = cuda.jit(scale)\nscale.py_func = lambda *a: open('/tmp/ran', 'w')",
        UNREAD,
    ),
    "kernel that knows the grader": (
        f"import sys\nif 'course.simulator' in sys.modules:\n    @cuda.jit\n    def scale{INDENTED}\n"
        f"else:\n    @cuda.jit\n    def scale(x, out, a, k): pass",
        UNREAD,
    ),
    "counters patched": (
        "from course.profiling.profile import Profile\nProfile.total = lambda self, *a: 0\n"
        f"@cuda.jit\ndef scale(x, out, a, k):{GIVEN}",
        MORE,
    ),
}

ANIMALS = (
    Animal("equals everything", book("q8", q1=f"{ANYTHING}q1 = x"), right=("q8",), flag=f"q1: {UNREAD}"),
    *(Animal(name, book("q8", first=text), right=("q8",), flag=f"q1: {MORE}") for name, text in IN_KERNEL.items()),
    Animal(
        "numpy testing patched",
        book("q8", first=TESTING),
        right=("q8",),
    ),
    Animal(
        "float patched",
        book("q8", first="import builtins\nbuiltins.float = lambda x=0: 2.0"),
        right=("q8",),
        flag=f"q1: {MORE}",
    ),
    *(
        Animal(name, book("q1", sectors=text), right=("q1",), flag=f"sectors: {MORE}")
        for name, text in FUNCTIONS.items()
    ),
    Animal("an int that equals everything", book("q1", sectors=EQUAL_INT), right=("q1",)),
    Animal("json patched in the child", book("q1", sectors=JSON), right=("q1",)),
    Animal("protocol lines forged", book("q1", sectors=FORGED), right=("q1",), flag=": The notebook's run ended early"),
    Animal(
        "numpy scalars",
        book("q1", sectors=f"def sectors(addresses, size): return np.int16({TRUE_NUMBER})"),
        right=("q1", "sectors"),
    ),
    Animal(
        "outputs by heart",
        book("q1", sectors=LOOKED_UP),
        right=("q1",),
        partly={"sectors": LOOKED_UP_POINTS},
        flag=f"sectors: {MORE}",
    ),
    Animal("kernel right on visible shapes", book("q1", scale=BY_HEART), right=("q1",), flag=f"scale: {MORE}"),
    *(
        Animal(name, book("q1", scale=text), right=("q1",), flag=flag and f"scale: {flag}")
        for name, (text, flag) in KERNELS.items()
    ),
)
