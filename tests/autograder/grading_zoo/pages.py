"""Texts that are programs for whoever reads them: in pages, in spreadsheets, in a terminal."""

from __future__ import annotations

from tests.autograder.grading_zoo import TASKS, Animal, book, edited
from tests.autograder.grading_zoo.cells import rewritten

MARK = "zoo4711"
"""Stands in every hostile text, so that pages can be searched for it."""
TAG = f"<script>{MARK}()</script><img src=x onerror='{MARK}()'><a href='javascript:{MARK}()'>x</a></style></table>"
"""A text that must be nowhere as it stands here."""
FORMULA = f"=cmd|' /C calc'!A0 {MARK}"

SHOWS = f"""
from IPython.display import HTML, SVG, Javascript, Markdown, display
for kind in (HTML, Markdown, Javascript): display(kind({TAG!r}))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg' onload='{MARK}()'><script>{MARK}()</script></svg>"))
print({TAG!r})
raise ValueError({TAG!r})
"""
RAISES = f"""
def sectors(addresses, size):
    raise type({TAG!r}, (Exception,), {{}})({TAG!r})
"""
RETURNS = f"""
def sectors(addresses, size):
    return type({TAG!r}, (), {{}})()
"""
KEYS = f"q1 = {{'sectors': 32, {TAG!r}: 1, {FORMULA!r}: 2, 'shape': {TAG!r}, 'lines': {FORMULA!r}}}"
VALUES = f"q1 = type({TAG!r}, (), {{}})()"
KERNEL = f"@cuda.jit\ndef scale(x, out, a, k):\n    out[0] = '{MARK}<script>' + x  # <script>{MARK}</script>"
STORES = f"@cuda.jit\ndef scale(x, out, a, k):\n    out[cuda.grid(1) * 2] = a * x[0] # <script>{MARK}</script>\n"
ESCAPES = f"q1 = {{'\\x1b[2J\\x1b]0;{MARK}\\x07': 1, 'sectors': '\\x1b[31m'}}"

STUDENTS = {
    "name with quotes": 'O\'Brien "Bobby"; DROP TABLE grade;--',
    "name with tags": f"<script>alert({MARK})<",
    "name with a formula": "=cmd|' C calc'!A0",
    "name in other letters": "Žofie 王小明",
    "name with a percent": "%s{{7}}{% raw %}",
}

ANIMALS = (
    Animal("shows scripts", book(*TASKS, first=SHOWS), right=TASKS),
    Animal("writes scripts", edited(rewritten(**{"q8-why": f"{TAG}\n\n{FORMULA}"}), *TASKS), right=TASKS),
    Animal("error with scripts", book("q1", sectors=RAISES), right=("q1",)),
    Animal("type with scripts", book("q1", sectors=RETURNS), right=("q1",)),
    Animal("keys with scripts", book("q8", q1=KEYS), right=("q8",), partly={"q1": 1.0}),
    Animal("value with scripts", book("q8", q1=VALUES), right=("q8",), flag="q1: Not verified"),
    Animal("kernel with scripts", book("q1", scale=KERNEL), right=("q1",)),
    Animal("comment with scripts", book("q1", scale=STORES), right=("q1",)),
    Animal("keys with escapes", book("q8", q1=ESCAPES), right=("q8",)),
    *(
        Animal(name, book("q8", "sectors"), right=("q8", "sectors"), student=student)
        for name, student in STUDENTS.items()
    ),
    Animal("name that turns around", book("q8"), student="Ann\u202eevil", failed="nbgrader cannot handle"),
    Animal("name with brackets", book("q8"), student="[a-z]*?", failed="nbgrader cannot handle"),
)
