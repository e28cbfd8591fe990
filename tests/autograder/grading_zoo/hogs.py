"""Programs that use up time, memory, disk, processes or the patience of whoever reads what they print."""

from __future__ import annotations

from tests.autograder.grading_zoo import TASKS, Animal, book

ENDED = ": The notebook's run ended early"

ENDLESS = "while True: pass"
DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
MEMORY = "rows = []\nwhile True: rows.append(bytearray(50_000_000))"
FORKS = "import os\nwhile True:\n    try: os.fork()\n    except OSError: break\nimport time\ntime.sleep(60)"
THREADS = """
import threading, time
try:
    while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
except RuntimeError as error:
    print(error)
"""
DISK = """
import os
for folder in (".", "/tmp", os.path.expanduser("~"), "/dev/shm", "/var/tmp", "/dev"):
    try:
        for n in range(10_000):
            with open(f"{folder}/fill-{n}", "wb") as file: file.write(bytes(8 << 20))
    except OSError as error:
        print(error)
"""
FILES = """
files = []
try:
    while True: files.append(open("/dev/null"))
except OSError as error:
    print(error)
files.clear()
"""
ONE_LINE = "print('x' * 100_000_000)"
MANY_LINES = "for n in range(200_000): print(n, 'x' * 50)"
DISPLAYS = "from IPython.display import HTML, display\nfor n in range(3_000): display(HTML('<b>' + 'y' * 1_000))"
BACKGROUND = """
import threading, time
def talk():
    while True: print("still here " * 100)
threading.Thread(target=talk, daemon=True).start()
"""
ANSI = "for n in range(50_000): print(f'\\x1b[{n % 108}m\\x1b[2J\\x1b]0;owned\\x07\\x1b[{n};1H', end='')"
RESULT = "[[n, 'z' * 40] for n in range(100_000)]"
EXCEPTION = "raise ValueError('v' * 3_000_000)"

WITHIN_LIMITS = {
    "endless loop": ENDLESS,
    "endless threads": THREADS,
    "disk filler": DISK,
    "opens files": FILES,
    "a hundred megabytes on one line": ONE_LINE,
    "many lines": MANY_LINES,
    "many displays": DISPLAYS,
    "talks in the background": BACKGROUND,
    "flood of escapes": ANSI,
    "long result": RESULT,
    "long exception": EXCEPTION,
}

ANIMALS = (
    *(Animal(name, book(*TASKS, last=text), right=TASKS) for name, text in WITHIN_LIMITS.items()),
    Animal("deaf to interrupts", book(*TASKS, first=DEAF), right=TASKS, flag=ENDED),
    Animal("memory hog", book(*TASKS, last=MEMORY), right=TASKS),
    Animal("fork bomb", book(*TASKS, last=FORKS), right=TASKS, flag=ENDED),
    Animal(
        "endless function",
        book("q1", sectors="def sectors(addresses, size):\n    while True: pass"),
        right=("q1",),
    ),
    Animal(
        "function that eats memory",
        book("q1", sectors="def sectors(addresses, size):\n    rows = [0] * 10 ** 12\n    return 1"),
        right=("q1",),
    ),
    Animal(
        "endless kernel",
        book("q1", scale="@cuda.jit\ndef scale(x, out, a, k):\n    while True: out[0] = x[0]"),
        right=("q1",),
    ),
    Animal(
        "huge container as an answer",
        book("q8", q1="q1 = [[0] * 10 ** 6 for i in range(10 ** 9)]"),
        right=("q8",),
        flag="q1: Not verified",
    ),
)
