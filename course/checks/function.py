"""An exercise whose answer is a plain function: run on visible and on seeded hidden cases.

Cases come in groups, one idea each, and a group earns its points when all its cases are right.
When every number that the function returned is that of a known wrong model, the result names it.
Running and judging are separate steps, so that a sandbox can run what a trusted process judges.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course.checks.outcome import Outcome, Returned, call, outcome_of
from course.checks.result import PartResult, Result
from course.checks.values import is_placeholder, kind

__all__ = ["Arguments", "Case", "FunctionCheck", "Group", "WrongModel"]

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """Arguments of one call. A hidden case is never shown in feedback."""

    group: str
    arguments: Arguments
    hidden: bool


@dataclass(frozen=True)
class Group:
    """Cases that test one idea.

    visible: arguments that feedback may show. more: makes further ones from a random generator.
    hint: where to think when a case of this group is wrong.
    """

    name: str
    points: float
    hint: str
    visible: tuple[Arguments, ...]
    more: Callable[[random.Random], list[Arguments]]


@dataclass(frozen=True)
class WrongModel:
    """A known wrong idea: the functions that people write from it, and the sentence that names it."""

    sentence: str
    variants: tuple[Callable[..., float], ...]


@dataclass(frozen=True)
class FunctionCheck:
    """Checks `function(*arguments)` against `reference` on every case of every group."""

    name: str
    statement: str
    function: str
    keys: dict[str, str]
    """Argument of the function -> its meaning."""
    groups: tuple[Group, ...]
    reference: Callable[..., float]
    wrong_models: tuple[WrongModel, ...]
    tolerance: float = 0.0
    """Relative, for functions whose result depends on the order of the arithmetic; counts are exact."""

    @property
    def max_points(self) -> float:
        """Points of a function that is right everywhere."""
        return float(sum(group.points for group in self.groups))

    def cases(self, seed: int | str | None = None) -> tuple[Case, ...]:
        """All cases: the visible ones and the practice ones, which everybody has; a seed adds hidden ones."""
        visible = [Case(group.name, arguments, False) for group in self.groups for arguments in group.visible]
        practice = self._drawn("practice", hidden=False)
        return (*visible, *practice, *(self._drawn(seed, hidden=True) if seed is not None else ()))

    def _drawn(self, seed: int | str, *, hidden: bool) -> list[Case]:
        generator = random.Random(f"{self.name} {seed}")
        more = [(group.name, group.more(generator)) for group in self.groups]
        return [Case(name, arguments, hidden) for name, some in more for arguments in some]

    def run(self, value: object, seed: int | str | None = None) -> Result:
        """Call a student's function on all cases and judge what it returned."""
        if is_placeholder(value):
            return replace(self._unread("Not answered yet."), answered=False)
        if not callable(value):
            return self._unread(
                f"This is {kind(value)}: give the function itself, {self.function} without parentheses, "
                f'as in check("{self.name}", {self.function}).'
            )
        cases = self.cases(seed)
        expected = [self.reference(*case.arguments) for case in cases]
        outcomes: list[Outcome] = []
        for case in cases:
            outcomes.append(call(value, copy.deepcopy(case.arguments)))
            if outcomes[-1].interrupted:
                break
        outcomes += [Outcome(problem="was not called: the check was stopped")] * (len(cases) - len(outcomes))
        return self._judged(cases, outcomes, expected)

    def calls(self, seed: int | str | None = None) -> tuple[Arguments, ...]:
        """Arguments of all calls, for a process that runs them elsewhere."""
        return tuple(case.arguments for case in self.cases(seed))

    def judge_calls(self, found: Sequence[Returned | Outcome], seed: int | str | None = None) -> Result:
        """Judge what the calls of `calls(seed)` gave elsewhere, one for each."""
        return self.judge(self.cases(seed), [outcome_of(f.value) if isinstance(f, Returned) else f for f in found])

    def judge(self, cases: Sequence[Case], outcomes: Sequence[Outcome]) -> Result:
        """Judge outcomes that were produced elsewhere, one for each case."""
        return self._judged(cases, outcomes, [self.reference(*case.arguments) for case in cases])

    def _judged(self, cases: Sequence[Case], outcomes: Sequence[Outcome], expected: Sequence[float]) -> Result:
        if all(outcome.unwritten for outcome in outcomes):
            unwritten = self._unread(f"Not written yet: replace the last line of {self.function} by your own code.")
            return replace(unwritten, answered=False)
        parts = []
        for group in self.groups:
            mine = [n for n, case in enumerate(cases) if case.group == group.name]
            failed = [n for n in mine if not self._same(outcomes[n].value, expected[n])]
            if not failed:
                parts.append(PartResult(group.name, True, "Right.", group.points, group.points))
                continue
            message = f"{self._told(cases[failed[0]], outcomes[failed[0]])} {group.hint}"
            parts.append(PartResult(group.name, False, message, 0.0, group.points))
        points = float(sum(part.points for part in parts))
        return Result(self.name, points, self.max_points, tuple(parts), self._remark(cases, outcomes, expected))

    def _same(self, got: float | None, wanted: float) -> bool:
        if got is None or not self.tolerance:
            return got == wanted
        return math.isclose(got, wanted, rel_tol=self.tolerance)

    def _told(self, case: Case, outcome: Outcome) -> str:
        if case.hidden:  # a number could be the hidden input itself
            return f"On a hidden input, {self.function} {outcome.problem or 'returned a number that is not right'}."
        what = outcome.problem or f"returned {outcome.value}, which is not right"
        return f"{self.function}({', '.join(_shown(argument) for argument in case.arguments)}) {what}."

    def _remark(self, cases: Sequence[Case], outcomes: Sequence[Outcome], expected: Sequence[float]) -> str:
        numbers = [n for n, outcome in enumerate(outcomes) if outcome.value is not None]
        if all(self._same(outcomes[n].value, expected[n]) for n in numbers):
            return ""
        sentences = {
            wrong.sentence
            for wrong in self.wrong_models
            for variant in wrong.variants
            if all(self._same(outcomes[n].value, variant(*cases[n].arguments)) for n in numbers)
        }
        # A few numbers may fit several wrong models: then none is named.
        return sentences.pop() if len(sentences) == 1 else ""

    def _unread(self, why: str) -> Result:
        parts = tuple(PartResult(group.name, False, "Not run.", 0.0, group.points) for group in self.groups)
        return Result(self.name, 0.0, self.max_points, parts, why)


def _shown(argument: object) -> str:
    """An argument as text; long lists are cut."""
    if isinstance(argument, list) and len(argument) > 8:
        return f"[{_joined(argument[:4])}, ..., {_joined(argument[-2:])}]"
    return repr(argument)


def _joined(items: Iterable[object]) -> str:
    return ", ".join(repr(item) for item in items)
