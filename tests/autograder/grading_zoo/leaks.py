"""Programs that look for what is hidden, and print what they find so that no filter knows it."""

from __future__ import annotations

from tests.autograder.grading_zoo import TASKS, Animal, book
from tests.autograder.grading_zoo.cheats import TRUE_NUMBER

TELL = """
import base64, os
def tell(found):
    text = found if isinstance(found, str) else repr(found)
    print(text[:20_000], text[::-1][:20_000], base64.b64encode(text.encode()).decode()[:20_000])
def tried(action):
    try:
        tell(action())
    except BaseException as error:
        print(type(error).__name__)
"""
MODULES = (
    TELL
    + """
import inspect, sys
import autograder, autograder.hidden
tried(lambda: inspect.getsource(autograder.hidden))
tried(lambda: vars(autograder.hidden))
tried(lambda: [autograder.hidden.seed(f"coalescing/{name}") for name in ("sectors", "scale")])
for folder in {os.path.dirname(autograder.__file__), *(f"{path}/autograder" for path in (ROOT, *sys.path))}:
    tried(lambda: os.listdir(folder))
    for name in ("hidden", "tasks", "score", "judge", "samples"):
        tried(lambda: open(f"{folder}/{name}.py").read())
"""
)
HISTORY = (
    TELL
    + """
def look(*_):
    tell(list(In)[-1])
    tell(_ih[-1])
get_ipython().events.register("pre_run_cell", lambda info: tell(info.raw_cell))
get_ipython().events.register("post_run_cell", lambda result: look())
"""
)
GARBAGE = (
    TELL
    + """
import gc
def look(*_):
    things = [thing for thing in gc.get_objects() if type(thing) in (dict, tuple, list) and len(thing) < 100]
    values = [value for thing in things for value in (thing.values() if type(thing) is dict else thing)]
    tell({hex(value) for value in values if type(value) is int and value > 10 ** 8})
get_ipython().events.register("post_run_cell", look)
"""
)
RANDOM = (
    TELL
    + """
import random, numpy as np
class Spy(random.Random):
    def __init__(self, seed=None):
        tell(str(seed))
        super().__init__(seed)
random.Random = Spy
honest = np.random.default_rng
np.random.default_rng = lambda seed=None: tell(seed) or honest(seed)
"""
)
FRAMES = f"""{TELL}
def sectors(addresses, size):
    import sys
    frame = sys._getframe()
    while frame:
        for name in ("seed", "cases", "self", "job"):
            if name in frame.f_locals: tell(frame.f_locals[name])
        frame = frame.f_back
    return {TRUE_NUMBER}
"""
PROC = (
    TELL
    + """
import glob
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/maps"):
    tried(lambda: open(path).read())
tried(lambda: dict(os.environ))
tried(lambda: [open(f"/proc/self/fd/{n}").read(100) for n in range(3, 64) if os.path.isfile(f"/proc/self/fd/{n}")])
"""
)
WALK = (
    TELL
    + """
tops = (ROOT, os.path.dirname(CANARY), "/home", "/root", "/srv", "/mnt", "/var", "/tmp", "..")
found = [os.path.join(folder, name) for top in tops
         for folder, folders, names in os.walk(top) if "site-packages" not in folder
         for name in names if name.endswith((".ipynb", ".db", "hidden.py"))]
tell(found)
for path in found:
    tried(lambda: open(path, errors="replace").read())
"""
)
GRADE = (
    TELL
    + """
import course.checks
honest = course.checks.grade
def spy(*arguments, **named):
    tell((arguments, named))
    return honest(*arguments, **named)
course.checks.grade = spy
"""
)
SOURCE = (
    TELL
    + """
tried(lambda: open(__file__).read())
import glob
for path in glob.glob("**", recursive=True) + glob.glob("/tmp/**/*.ipynb", recursive=True):
    tried(lambda: open(path).read())
"""
)
REMEMBERS = f"""
calls = []
def sectors(addresses, size):
    calls.append(addresses)
    with open("/tmp/calls", "a") as file: print(addresses, file=file)
    return {TRUE_NUMBER}
"""
ENCODED = """
def sectors(addresses, size):
    import base64
    raise ValueError("seen " + base64.b64encode(repr(addresses).encode()).decode()[:100])
"""
LOOKS = {
    "source of the hidden seeds": MODULES,
    "history of cells": HISTORY,
    "garbage collector": GARBAGE,
    "random numbers watched": RANDOM,
    "environment of processes": PROC,
    "walk over the disk": WALK,
    "arguments of grade": GRADE,
    "reads the notebook": SOURCE,
}

ANIMALS = (
    *(Animal(name, book(*TASKS, first=text), right=TASKS) for name, text in LOOKS.items()),
    Animal("frames of the caller", book("q1", "scale", sectors=FRAMES), right=("q1", "scale", "sectors")),
    Animal(
        "remembers its arguments",
        book("q1", sectors=REMEMBERS, last="print(calls, open('/tmp/calls').read()[::-1])"),
        right=("q1", "sectors"),
    ),
    Animal("tells its arguments", book("q1", sectors=ENCODED), right=("q1",)),
    Animal(
        "imports the seeds",
        book("q1", sectors=f"from autograder.hidden import _SEEDS\ndef sectors(addresses, size): return {TRUE_NUMBER}"),
        right=("q1",),
    ),
)
