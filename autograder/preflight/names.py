"""Which names some Python binds and uses, also when it does not parse: students hand in what they have."""

from __future__ import annotations

import re
import symtable
import warnings
from dataclasses import dataclass

__all__ = ["Names", "names_of", "same_form"]

LONGEST = 200_000
"""Characters; longer text is not given to Python's parser."""

MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)

BINDING = re.compile(
    r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)"
    r"|^(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(\w[\w., \t]*)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Names:
    """Names of the top level of a cell."""

    bound: frozenset[str] = frozenset()
    """Assigned, defined or imported."""
    used: frozenset[str] = frozenset()
    """Read, also from inside functions."""
    parsed: bool = False
    """Whether it is Python; if not, `bound` is what the beginnings of its lines look like, and `used` is empty."""


def names_of(source: str) -> Names:
    """The names of a cell. Never raises, whatever the text."""
    if len(source) <= LONGEST:
        for text in dict.fromkeys((source, MAGIC.sub(r"\1pass", source))):
            table = _table(text)
            if table is not None:
                return Names(frozenset(_bound(table)), frozenset(_used(table)), parsed=True)
    bound = set()
    for defined, assigned, imported in BINDING.findall(source):
        bound |= {defined, assigned} | {part.split()[-1].split(".")[0] for part in imported.split(",") if part.strip()}
    return Names(frozenset(bound - {""}))


def same_form(source: str, placeholder: str, names: frozenset[str]) -> bool:
    """Whether `source` binds each name the way the placeholder does: by a `def`, or by a `dict`."""
    for name in names:
        for form in (rf"^(async[ \t]+)?def[ \t]+{name}\b", rf"^{name}[ \t]*(:[^=\n]*)?=[ \t]*(dict[ \t]*\(|\{{)"):
            if re.search(form, placeholder, re.MULTILINE) and not re.search(form, source, re.MULTILINE):
                return False
    return True


def _table(source: str) -> symtable.SymbolTable | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a student's "\d" is no news to the instructor
        try:
            return symtable.symtable(source, "cell", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _bound(table: symtable.SymbolTable) -> set[str]:
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}


def _used(table: symtable.SymbolTable) -> set[str]:
    used, inside = set(), [table]
    while inside:
        part = inside.pop()
        used |= {s.get_name() for s in part.get_symbols() if s.is_referenced() and (part is table or s.is_global())}
        inside += part.get_children()
    return used
