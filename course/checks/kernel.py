"""An exercise whose answer is a numba.cuda kernel: run in the simulator on visible and on seeded hidden shapes.

Results, findings and counters decide, never time. A budget is what a well-made kernel costs on the same shape,
computed from `course.models`, because no kernel reads a row of 1001 floats at 4.0 sectors a request. What the kernel
that the exercise starts from does right already earns nothing alone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from course.checks.attempt import Attempt, Launch, attempt, warm_up
from course.checks.result import PartResult, Result
from course.checks.values import is_placeholder, kind

if TYPE_CHECKING:
    from course.profiling.profile import Profile
    from course.simulator.access import Finding, Kind
    from course.simulator.counting.counters import SiteCounts

__all__ = ["Budget", "KernelCase", "KernelCheck", "Sizes"]

SECONDS = 15.0
"""For all launches of one check together."""
FP64 = "accidental-fp64"

Sizes = Mapping[str, int]
"""The numbers that make a shape, by name: n, k, threads ..."""
_UNITS = {
    "global": {"sectors": "sectors", "instructions": "requests"},
    "shared": {
        "wavefronts": "shared wavefronts", "extra_wavefronts": "shared wavefronts more than without conflicts",
        "instructions": "shared requests",
    },
}  # fmt: skip


@dataclass(frozen=True)
class KernelCase:
    """One shape. A hidden one is never shown in feedback."""

    sizes: Sizes
    hidden: bool
    data_seed: int
    """Of the random values in its arrays."""


@dataclass(frozen=True)
class Budget:
    """A part of the exercise: accesses of one kind to one memory must stay within the launch's budget.

    kind: "both" are loads and stores together. hint: where to think when they do not. A budget on shared memory is
    met by a kernel that uses shared memory only.
    """

    name: str
    points: float
    kind: Literal["load", "store", "both"]
    hint: str
    space: Literal["global", "shared"] = "global"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of access that count."""
        return ("load", "store") if self.kind == "both" else (self.kind,)


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
    given: tuple[str, ...] = ("results", "findings")
    """Parts that are right in the kernel that the student gets. They earn points once another part is right."""

    @property
    def max_points(self) -> float:
        """Points of a kernel that is right everywhere and within every budget."""
        return float(self.result_points + self.finding_points + sum(budget.points for budget in self.budgets))

    def cases(self, seed: int | str | None = None) -> tuple[KernelCase, ...]:
        """All shapes: the visible ones and the practice ones, which everybody has; a seed adds hidden ones."""
        generator = random.Random(f"{self.name} practice")
        visible = [KernelCase(sizes, False, generator.getrandbits(32)) for sizes in self.visible]
        practice = [KernelCase(sizes, False, generator.getrandbits(32)) for sizes in self.more(generator)]
        if seed is None:
            return (*visible, *practice)
        generator = random.Random(f"{self.name} {seed}")
        return (*visible, *practice, *(KernelCase(s, True, generator.getrandbits(32)) for s in self.more(generator)))

    def run(self, value: object, seed: int | str | None = None) -> Result:
        """Run a student's kernel on all shapes and judge what it did. Never on a GPU."""
        if is_placeholder(value):
            return replace(self._unread("Not answered yet."), answered=False)
        if not callable(value):
            return self._unread(
                f"This is {kind(value)}: give the kernel itself, {self.kernel} without brackets, "
                f'as in check("{self.name}", {self.kernel}).'
            )
        warm_up()
        cases, deadline = self.cases(seed), time.monotonic() + SECONDS
        attempts: list[Attempt] = []
        for case in cases:
            attempts.append(self.attempted(value, case, deadline))
            if attempts[-1].hopeless or attempts[-1].interrupted:
                break
        return self.judge(cases, attempts)

    def attempted(self, value: object, case: KernelCase, deadline: float) -> Attempt:
        """Run a kernel on one case. `deadline` is a time of `time.monotonic()`."""
        return attempt(value, self.launch_of(case), deadline, exact_places=not case.hidden)

    def launch_of(self, case: KernelCase) -> Launch:
        """The launch of one case, with new arrays."""
        return self.launch(case.sizes, np.random.default_rng(case.data_seed))

    def judge(self, cases: Sequence[KernelCase], attempts: Sequence[Attempt]) -> Result:
        """Judge attempts, one for each case; fewer when the check was stopped."""
        last = attempts[-1]
        if last.hopeless:
            return self._unread(f"{self.kernel} {last.problem}.")
        tried = list(zip(cases, attempts, strict=False))
        parts = [
            self._part("results", self.result_points, self._results(tried)),
            self._part("findings", self.finding_points, self._no_findings(tried)),
            *(self._within(budget, tried, len(cases)) for budget in self.budgets),
        ]
        if not any(part.right and part.name not in self.given for part in parts):
            parts = [_held(part) if part.right else part for part in parts]
        return Result(
            self.name, float(sum(p.points for p in parts)), self.max_points, tuple(parts), self._remark(attempts)
        )

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
        if budget.space == "shared" and not spent(found, budget, "instructions"):
            return f"{self._where(case)}nothing goes through shared memory, and that is not enough. {budget.hint}"
        for number, most in self.launch_of(case).budgets[budget.name].items():
            got = spent(found, budget, number)
            if got > most:
                cost = _cost(got, most, _UNITS[budget.space][number], exact=not case.hidden)
                return f"{self._where(case)}the {budget.name} {cost}. {_worst(found, budget)} {budget.hint}"
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


def spent(profile: Profile, budget: Budget, number: str) -> int:
    """What a launch cost, in one of the numbers that a budget may limit."""
    if number == "extra_wavefronts":
        return spent(profile, budget, "wavefronts") - spent(profile, budget, "ideal_wavefronts")
    return profile.total(budget.space, number, *budget.kinds)


def _held(part: PartResult) -> PartResult:
    why = "Right so far, but so is the kernel that you started from. It earns points once something else is better."
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


def _worst(profile: Profile, budget: Budget) -> str:
    """The line that wastes most: most bytes or passes more than needed, and among equals most requests."""
    shared = budget.space == "shared"
    sites = [c for c in profile.sites
             if c.site.space == budget.space and c.site.kind in budget.kinds and c.instructions]  # fmt: skip
    if not sites:
        return "The kernel has no such access."

    def waste(counts: SiteCounts) -> tuple[int, int]:
        more = (
            counts.wavefronts - counts.ideal_wavefronts if shared else counts.transferred_bytes - counts.requested_bytes
        )
        return more, counts.instructions

    counts = max(sites, key=waste)
    where = f"Line {counts.site.line}, `{counts.site.text}`,"
    if shared:
        return f"{where} takes {counts.wavefronts / counts.instructions:.3g} shared wavefronts per request."
    return (
        f"{where} has {counts.sectors_per_request:.3g} sectors per request and uses {counts.efficiency:.0%} of their "
        "bytes."
    )
