"""The parts of a question: a number, one choice, several choices. Each judges one plain value.

A part holds the right value and the wrong models that lead to other values. What it says about a
wrong value names the wrong model or says where to think; it never says the right value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from course.checks.values import Plain, kind
from course.checks.words import did_you_mean, listed, normalised, quoted

__all__ = ["Choice", "ChoiceSet", "Misconception", "Number", "Part", "Verdict"]


@dataclass(frozen=True)
class Misconception:
    """A wrong model and the sentence that names it.

    wrong: the value that the wrong model gives (a number, or the name of an option), or a function
        that says whether a number comes from it.
    """

    wrong: float | str | Callable[[float], bool]
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """How much of a part is right (0 to 1), and what to tell the learner."""

    fraction: float
    message: str


RIGHT = Verdict(1.0, "Right.")


def _wrong(sentence: str) -> Verdict:
    return Verdict(0.0, sentence)


@dataclass(frozen=True)
class Part:
    """What all parts share.

    name: key of the answer. points: what it earns. asks: what to give, for the statement.
    hint: where to think when the value is wrong and no misconception fits.
    """

    name: str
    points: float
    asks: str
    hint: str
    misconceptions: tuple[Misconception, ...]

    @property
    def key(self) -> str:
        """What to give for this part, in words."""
        return self.asks

    def judge(self, value: Plain) -> Verdict:
        """Verdict on a plain value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Part):
    """A number. Counts are exact; `tolerance` is relative.

    unit: what is counted, in words ('sectors', 'bytes').
    fraction: the number is a part of a whole; the same in percent is right as well, with a remark.
    """

    expected: float
    unit: str = ""
    tolerance: float = 0.0
    fraction: bool = False

    @property
    def key(self) -> str:
        """What to give for this part, with its unit."""
        unit = "a fraction of one, no percent" if self.fraction else self.unit
        return f"{self.asks} ({unit})" if unit and unit not in self.asks else self.asks

    def judge(self, value: Plain) -> Verdict:
        """Right, or the wrong model that gives this number."""
        if isinstance(value, str):
            return _wrong("This is text: give a number, without quotes and without a unit.")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return _wrong(f"This is {kind(value)}: give a number.")
        if self._is(value, self.expected):
            return RIGHT
        if self.fraction and self._is(value, 100 * self.expected):
            return Verdict(1.0, "Right, in percent. Give it as a fraction: divide by a hundred.")
        for misconception in self.misconceptions:
            wrong = misconception.wrong
            if not isinstance(wrong, str) and (wrong(value) if callable(wrong) else self._is(value, wrong)):
                return _wrong(misconception.sentence)
        return _wrong(self.hint)

    def _is(self, value: float, other: float) -> bool:
        return math.isclose(value, other, rel_tol=self.tolerance)


@dataclass(frozen=True)
class Choice(Part):
    """One of several named options. `options` maps the name to what it means."""

    expected: str
    options: Mapping[str, str]

    @property
    def key(self) -> str:
        """What to give for this part, with the options."""
        return f"{self.asks} (one of {_described(self.options)})"

    def judge(self, value: Plain) -> Verdict:
        """Right, or what is wrong with the chosen option."""
        if not isinstance(value, str):
            return _wrong(f"This is {kind(value)}: give one of {listed(self.options)} as text.")
        option = _option(value, self.options)
        if option is None:
            return _wrong(f"{quoted(value)} is no option: {did_you_mean(value, self.options)}")
        return RIGHT if option == self.expected else _wrong(_sentence(option, self.misconceptions) or self.hint)


@dataclass(frozen=True)
class ChoiceSet(Part):
    """Any number of several named options: each option is one decision, to take or to leave.

    Right decisions earn, wrong ones take away again, so that guessing, taking everything or taking
    nothing does not pay. Options are taken with a list, tuple or set of texts.
    """

    expected: frozenset[str]
    options: Mapping[str, str]

    @property
    def key(self) -> str:
        """What to give for this part, with the options."""
        return f"{self.asks} (a list; choose from {_described(self.options)})"

    def judge(self, value: Plain) -> Verdict:
        """How many decisions are right, and what is wrong with the options taken."""
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, (list, tuple, frozenset)):
            return _wrong(f"This is {kind(value)}: give a list of names, chosen from {listed(self.options)}.")
        taken, remarks = set(), []
        for word in given:
            option = _option(word, self.options) if isinstance(word, str) else None
            if option is not None:
                taken.add(option)
            elif isinstance(word, str):
                remarks.append(f"{quoted(word)} is no option: {did_you_mean(word, self.options)}")
            else:
                remarks.append(f"The list holds {kind(word)}: give names, chosen from {listed(self.options)}.")
        if taken == self.expected and not remarks:
            return RIGHT
        wrong_decisions = len(taken ^ self.expected)
        fraction = max(0.0, 1 - 2 * wrong_decisions / len(self.options)) if taken else 0.0
        remarks = sorted(set(remarks))[:3]
        remarks += [_sentence(option, self.misconceptions) or self.hint for option in sorted(taken - self.expected)]
        if self.expected - taken:
            remarks.append(f"Something is missing. {self.hint}")
        return Verdict(fraction, " ".join(remarks))


def _option(word: str, options: Mapping[str, str]) -> str | None:
    wanted = normalised(word)
    return next((option for option in options if normalised(option) == wanted), None)


def _sentence(option: str, misconceptions: tuple[Misconception, ...]) -> str | None:
    return next((m.sentence for m in misconceptions if m.wrong == option), None)


def _described(options: Mapping[str, str]) -> str:
    return "; ".join(f'"{name}": {meaning}' if meaning else f'"{name}"' for name, meaning in options.items())
