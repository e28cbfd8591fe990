"""An exercise whose answer is a numba.cuda kernel: run in the simulator on visible and on seeded hidden shapes.

Results, findings and counters decide, never time. A budget is what a well-made kernel costs on the same shape,
computed from `course.models`, because no kernel reads a row of 1001 floats at 4.0 sectors a request. Results and
findings earn nothing alone: the kernel that the exercise starts from is right as well, only slow.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from course.checks.attempt import Attempt, Launch, attempt, warm_up
from course.checks.result import PartResult, Result
from course.checks.values import is_placeholder, kind

if TYPE_CHECKING:
    from course.profiling.profile import Profile
    from course.simulator.access import Finding
    from course.simulator.counting.counters import SiteCounts

__all__ = ["Budget", "KernelCase", "KernelCheck", "Sizes"]

SECONDS = 15.0
"""For all launches of one check together."""
FP64 = "accidental-fp64"

Sizes = Mapping[str, int]
"""The numbers that make a shape, by name: n, k, threads ..."""
_UNITS = {"sectors": "sectors", "instructions": "requests"}


@dataclass(frozen=True)
class KernelCase:
    """One shape. A hidden one is never shown in feedback."""

    sizes: Sizes
    hidden: bool
    data_seed: int
    """Of the random values in its arrays."""


@dataclass(frozen=True)
class Budget:
    """A part of the exercise: accesses of one kind to global memory must stay within the launch's budget.

    hint: where to think when they do not.
    """

    name: str
    points: float
    kind: Literal["load", "store"]
    hint: str


@dataclass(frozen=True)
class KernelCheck:
    """Checks a kernel on every shape: right results, no findings, and every budget."""

    name: str
    statement: str
    kernel: str
    """Name of the student's function."""
    keys: dict[str, str]
    """Parameter of the kernel -> its meaning."""
    result_points: float
    finding_points: float
    budgets: tuple[Budget, ...]
    visible: tuple[Sizes, ...]
    more: Callable[[random.Random], list[Sizes]]
    launch: Callable[[Sizes, np.random.Generator], Launch]
    """Arguments, expected values and budgets of one shape; every call makes new arrays."""
    fp64_is_a_fault: bool = True

    @property
    def max_points(self) -> float:
        """Points of a kernel that is right everywhere and within every budget."""
        return float(self.result_points + self.finding_points + sum(budget.points for budget in self.budgets))

    def cases(self, seed: int | str | None = None) -> tuple[KernelCase, ...]:
        """All shapes: the visible ones, then random ones, hidden when a seed is given."""
        generator = random.Random(f"{self.name} {'practice' if seed is None else seed}")
        visible = [KernelCase(sizes, False, generator.getrandbits(32)) for sizes in self.visible]
        return (*visible, *(KernelCase(s, seed is not None, generator.getrandbits(32)) for s in self.more(generator)))

    def run(self, value: object, seed: int | str | None = None) -> Result:
        """Run a student's kernel on all shapes and judge what it did. Never on a GPU."""
        if is_placeholder(value):
            return self._unread("Not answered yet.")
        if not callable(value):
            return self._unread(
                f"This is {kind(value)}: give the kernel itself, {self.kernel} without brackets, "
                f'as in check("{self.name}", {self.kernel}).'
            )
        warm_up()
        cases, deadline = self.cases(seed), time.monotonic() + SECONDS
        attempts: list[Attempt] = []
        for case in cases:
            launch = self.launch_of(case)
            attempts.append(attempt(value, launch, deadline, exact_places=not case.hidden))
            if attempts[-1].hopeless or attempts[-1].interrupted:
                break
        return self.judge(cases, attempts)

    def launch_of(self, case: KernelCase) -> Launch:
        """The launch of one case, with new arrays."""
        return self.launch(case.sizes, np.random.default_rng(case.data_seed))

    def judge(self, cases: Sequence[KernelCase], attempts: Sequence[Attempt]) -> Result:
        """Judge attempts, one for each case; fewer when the check was stopped."""
        last = attempts[-1]
        if last.hopeless:
            return self._unread(f"{self.kernel} {last.problem}.")
        tried = list(zip(cases, attempts, strict=False))
        within = [self._within(budget, tried, len(cases)) for budget in self.budgets]
        correct = [
            self._part("results", self.result_points, self._results(tried)),
            self._part("findings", self.finding_points, self._no_findings(tried)),
        ]
        if not any(part.right for part in within):
            correct = [_held(part) for part in correct]
        parts = (*correct, *within)
        return Result(self.name, float(sum(p.points for p in parts)), self.max_points, parts, self._remark(attempts))

    # ---- parts: each gives '' when it is right, else what is wrong -----------------------------------------

    def _results(self, tried: Sequence[tuple[KernelCase, Attempt]]) -> str:
        for case, found in tried:
            if found.profile is None:
                return f"{self._where(case)}{self.kernel} {found.problem}."
            for array, fault in found.faults:
                return f"{self._where(case)}`{array}` is wrong ({fault}). {_stores(found.profile, array)}"
        return ""

    def _no_findings(self, tried: Sequence[tuple[KernelCase, Attempt]]) -> str:
        for case, found in tried:
            if found.profile is None:
                return f"{self._where(case)}the kernel did not come to its end."
            for finding in found.profile.findings:
                if finding.kind != FP64 or self.fp64_is_a_fault:
                    return f"{self._where(case)}{_told(finding, case.hidden)}"
        return ""

    def _within(self, budget: Budget, tried: Sequence[tuple[KernelCase, Attempt]], shapes: int) -> PartResult:
        """Counters prove something only where the results are right: on most shapes, at least."""
        right = [(case, found.profile) for case, found in tried if found.right and found.profile is not None]
        if 2 * len(right) <= shapes:
            return self._part(budget.name, budget.points, "Not counted yet: get the results right first.")
        faults = (self._excess(budget, case, found) for case, found in right)
        return self._part(budget.name, budget.points, next(filter(None, faults), ""))

    def _excess(self, budget: Budget, case: KernelCase, found: Profile) -> str:
        for number, most in self.launch_of(case).budgets[budget.name].items():
            got = found.total("global", number, budget.kind)
            if got > most:
                cost = _cost(got, most, _UNITS[number], exact=not case.hidden)
                return f"{self._where(case)}the {budget.name} {cost}. {_worst(found, budget.kind)} {budget.hint}"
        return ""

    def _part(self, name: str, points: float, fault: str) -> PartResult:
        fault = fault[:1].upper() + fault[1:]
        return PartResult(name, not fault, fault or "Right.", 0.0 if fault else points, points)

    # ---- words ---------------------------------------------------------------------------------------------

    def _where(self, case: KernelCase) -> str:
        if case.hidden:
            return "On a hidden shape: "
        return f"With {', '.join(f'{name} = {size}' for name, size in case.sizes.items())}: "

    def _remark(self, attempts: Sequence[Attempt]) -> str:
        if self.fp64_is_a_fault:
            return ""
        found = (f for a in attempts if a.profile is not None for f in a.profile.findings if f.kind == FP64)
        return next((_told(finding, hidden=True) for finding in found), "")

    def _unread(self, why: str) -> Result:
        worth = {"results": self.result_points, "findings": self.finding_points}
        worth.update((budget.name, budget.points) for budget in self.budgets)
        parts = tuple(PartResult(name, False, "Not run.", 0.0, points) for name, points in worth.items())
        return Result(self.name, 0.0, self.max_points, parts, why)


def _held(part: PartResult) -> PartResult:
    if not part.right:
        return part
    why = "Right so far, but so is the kernel that you started from. It earns points once a budget below is met."
    return PartResult(part.name, False, why, 0.0, part.max_points)


def _told(finding: Finding, hidden: bool) -> str:
    """A finding in words. Its message may hold numbers of the shape, so that of a hidden one is left out."""
    what = f"{finding.kind}." if hidden else f"{finding.kind}. {finding.message}"
    return f"line {finding.line}: {what} {finding.remedy}"


def _stores(profile: Profile, array: str) -> str:
    """Where the kernel writes to an array."""
    sites = [c.site for c in profile.sites if c.site.kind != "load" and c.site.array == array]
    if not sites:
        return f"No line of the kernel stores to `{array}`."
    lines = dict.fromkeys(f"line {site.line}, `{site.text}`" for site in sites)
    return f"Look at {'; '.join(lines)}."


def _cost(got: int, most: int, unit: str, *, exact: bool) -> str:
    if exact:
        return f"cost {got} {unit}, where {most} are enough"
    return f"cost {got / most:.2f} times the {unit} that this shape needs" if most else f"cost {unit} and need none"


def _worst(profile: Profile, way: str) -> str:
    """The line that wastes most: most sectors, and among equals most requests."""
    sites = [c for c in profile.sites if c.site.space == "global" and c.site.kind == way and c.instructions]

    def waste(counts: SiteCounts) -> tuple[int, int]:
        return counts.transferred_bytes - counts.requested_bytes, counts.instructions

    counts = max(sites, key=waste)
    return (
        f"Line {counts.site.line}, `{counts.site.text}`, has {counts.sectors_per_request:.3g} sectors per request and "
        f"uses {counts.efficiency:.0%} of their bytes."
    )
