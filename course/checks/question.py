"""A question whose answer is a dict of plain values, one for each part."""

from __future__ import annotations

from dataclasses import dataclass, replace

from course.checks.parts import Choice, ChoiceSet, Part
from course.checks.result import PartResult, Result
from course.checks.values import NotPlainError, is_placeholder, kind, plain, type_name
from course.checks.words import did_you_mean, listed, quoted

__all__ = ["Question"]

_MOST_KEYS = 100
_UNKNOWN_KEYS_NAMED = 3


@dataclass(frozen=True)
class Question:
    """Parts with points, judged one by one.

    name: 'chapter/question'. statement: the question in words, as Markdown.
    worked: the worked answer, as Markdown; only a practice question has one, and it is not graded.
    """

    name: str
    statement: str
    parts: tuple[Part, ...]
    worked: str = ""

    @property
    def max_points(self) -> float:
        """Points of a perfect answer."""
        return float(sum(part.points for part in self.parts))

    @property
    def keys(self) -> dict[str, str]:
        """Key -> what to give for it, with unit or options."""
        return {part.name: part.key for part in self.parts}

    @property
    def form(self) -> str:
        """How an answer is written: `dict(sectors=..., lines=...)`."""
        return f"dict({', '.join(f'{part.name}=...' for part in self.parts)})"

    @property
    def markdown(self) -> str:
        """The whole task as a notebook shows it: the statement, then what to give, key by key."""
        return "\n".join([self.statement, "", *(line for part in self.parts for line in _explained(part))])

    def run(self, value: object, seed: int | str | None = None) -> Result:
        """Judge an answer. `seed` is for checks with hidden inputs; a question has none."""
        if is_placeholder(value):
            return replace(self._result({}, "", "Not answered yet."), answered=False)
        if type(value) is not dict:
            return self._result({}, f"The answer is {kind(value)}: expected {self.form}.", "Not read.")
        if len(value) > _MOST_KEYS:
            return self._result({}, f"The answer has far too many keys: expected {self.form}.", "Not read.")
        # Looking a key up would call __eq__ of other keys in the dict; reading all pairs does not.
        pairs = list(value.items())
        given = {key: item for key, item in pairs if type(key) is str}
        result = self._result(given, self._unknown([key for key, _ in pairs], given), "")
        return replace(result, answered=not all(is_placeholder(item) for item in given.values()))

    def _result(self, given: dict[str, object], remarks: str, absent: str) -> Result:
        parts = tuple(_judged(part, given, absent) for part in self.parts)
        return Result(self.name, float(sum(part.points for part in parts)), self.max_points, parts, remarks)

    def _unknown(self, keys: list[object], given: dict[str, object]) -> str:
        names = [part.name for part in self.parts]
        missing = [name for name in names if name not in given]
        remarks = [
            f"Unknown key {quoted(key)}: {did_you_mean(key, missing)}"
            if missing
            else f"Unknown key {quoted(key)}: leave it out; the keys are {listed(names)}."
            for key in given
            if key not in names
        ]
        remarks += [
            f"One key is of type {type_name(key)}: keys are names, as in {self.form}."
            for key in keys
            if type(key) is not str
        ]
        return "\n".join(remarks[:_UNKNOWN_KEYS_NAMED])


def _explained(part: Part) -> list[str]:
    """A part as lines of a list, each option on a line of its own."""
    if not isinstance(part, (Choice, ChoiceSet)):
        return [f"- `{part.name}`: {part.key}"]
    several = ". A set with the names of **all** of these that fit" if isinstance(part, ChoiceSet) else ". One of"
    options = [f'`"{name}"`' + (f": {meaning}" if meaning else "") for name, meaning in part.options.items()]
    return [f"- `{part.name}`: {part.asks}{several}", *(f"    - {option}" for option in options)]


def _judged(part: Part, given: dict[str, object], absent: str) -> PartResult:
    if part.name not in given:
        message = absent or f"Missing: add {part.name}=... to your dict."
        return PartResult(part.name, False, message, 0.0, part.points)
    value = given[part.name]
    if is_placeholder(value):
        return PartResult(part.name, False, "Not answered yet.", 0.0, part.points)
    try:
        verdict = part.judge(plain(value))
    except NotPlainError as refusal:
        message = str(refusal)
        return PartResult(part.name, False, message[0].upper() + message[1:], 0.0, part.points)
    return PartResult(part.name, verdict.fraction == 1.0, verdict.message, verdict.fraction * part.points, part.points)
