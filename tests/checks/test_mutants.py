"""Every exercise against automatic one-edit mutants of its reference: nine in ten of those that matter lose points.

A mutant matters when it changes results, findings or counters on some shape, also one that the check does not draw.
"""

from __future__ import annotations

import ast
import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from course.checks import find
from course.checks.coalescing import gather
from course.checks.function import FunctionCheck
from course.checks.kernel import KernelCheck
from tests.support.kernel_answers import WRONG, load, reference

pytestmark = pytest.mark.slow

SEED, OTHER_SEED = 3, 20
"""Of the shapes that judge a mutant, and of those that say whether it matters."""
ARITHMETIC: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Add, ast.FloorDiv),
    ast.FloorDiv: (ast.Mult, ast.Mod), ast.Mod: (ast.FloorDiv, ast.Add),
}  # fmt: skip
COUNTED = {"global": ("instructions", "sectors"), "shared": ("instructions", "wavefronts")}
COMPARISONS: dict[type, tuple[type, ...]] = {ast.Lt: (ast.LtE, ast.Gt, ast.GtE, ast.NotEq)}
ATTRIBUTES = {
    "sort": "argsort", "x": "y", "y": "x", "grid": "gridsize", "gridsize": "grid", "load4": "store4", "store4": "load4",
}  # fmt: skip


def mutants(text: str) -> Iterator[str]:
    """The text with one edit: an operator, a comparison, a number, a name, or a statement left out."""
    tree = ast.parse(text)
    total = sum(1 for _ in ast.walk(tree))
    seen = {ast.unparse(tree)}
    for place in range(total):
        for change in range(8):
            mutant = copy.deepcopy(tree)
            if not _change(mutant, list(ast.walk(mutant))[place], change):
                continue
            made = ast.unparse(ast.fix_missing_locations(mutant))
            if made not in seen:
                seen.add(made)
                yield made


def _change(tree: ast.Module, node: ast.AST, change: int) -> bool:
    """Make one of the changes that fit a node; False when there are no more."""
    choices: list[Callable[[], None]] = []
    if isinstance(node, ast.BinOp):
        choices += [lambda op=op: setattr(node, "op", op()) for op in ARITHMETIC.get(type(node.op), ())]
        choices += [lambda side=side: _replace(tree, node, side) for side in (node.left, node.right)]
    elif isinstance(node, ast.Compare):
        choices += [lambda op=op: setattr(node, "ops", [op()]) for op in COMPARISONS.get(type(node.ops[0]), ())]
        choices += [lambda step=step: _shift(node, step) for step in (-1, 1)]
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        choices += [lambda step=step: setattr(node, "value", node.value + step) for step in (-1, 1)]
    elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
        choices += [lambda: setattr(node, "attr", ATTRIBUTES[node.attr])]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        choices += [lambda step=step: node.args.__setitem__(0, _plus(node.args[0], step)) for step in (-1, 1)]
    elif isinstance(node, (ast.If, ast.For, ast.FunctionDef)):
        body = node.body
        choices += [lambda n=n: body.__setitem__(n, ast.Pass()) for n in range(len(body))]
        if isinstance(node, ast.If):
            choices += [lambda: setattr(node, "test", ast.Constant(True))]
    if change >= len(choices):
        return False
    choices[change]()
    return True


def _plus(node: ast.expr, step: int) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(step))


def _shift(node: ast.Compare, step: int) -> None:
    node.comparators[0] = _plus(node.comparators[0], step)


def _replace(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list) and any(item is old for item in value):
                value[next(n for n, item in enumerate(value) if item is old)] = new


def effects(name: str, function: Callable[..., Any]) -> object:
    """What an answer does on some cases: results, findings and counts of a kernel, or what a function returns."""
    check = find(name)
    if isinstance(check, FunctionCheck):
        return [_returned(function, case.arguments) for case in check.cases(OTHER_SEED)]
    if isinstance(check, gather.GatherCheck):
        return [_order(function, indices) for indices in check.cases(OTHER_SEED)]
    assert isinstance(check, KernelCheck)
    seen: list[object] = []
    for case in check.cases(OTHER_SEED):
        found = check.attempted(function, case, math.inf)
        if found.profile is None:
            return [*seen, "stopped"]
        counts = [
            found.profile.total(space, number, way)  # type: ignore[arg-type]
            for space, numbers in COUNTED.items() for number in numbers for way in ("load", "store", "atomic")
        ]  # fmt: skip
        seen.append((found.faults, sorted({f.kind for f in found.profile.findings}), counts))
    return seen


def _returned(function: Callable[..., Any], arguments: tuple[Any, ...]) -> object:
    try:
        return function(*copy.deepcopy(arguments))
    except Exception as error:
        return type(error)


def _order(function: Callable[..., Any], indices: Any) -> object:
    try:
        order = function(indices.copy())
        return sorted(order.tolist()) == sorted(indices.tolist()), gather.sectors(order)
    except Exception as error:
        return type(error)


def loses_points(name: str, function: Callable[..., Any]) -> bool:
    """What `run` says, without the shapes after the first with a wrong result: these cannot make it right again."""
    check = find(name)
    if not isinstance(check, KernelCheck):
        return not check.run(function, SEED).right
    cases, attempts = check.cases(SEED), []
    for case in cases:
        attempts.append(check.attempted(function, case, time.monotonic() + 20))
        if not attempts[-1].right:
            return True
    return not check.judge(cases, attempts).right


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    """The references take fewer: a mutant that never ends is known in a tenth of the time."""
    monkeypatch.setattr("course.checks.attempt.MAX_STEPS", 2_000)
    monkeypatch.setattr("course.checks.kernel.SECONDS", math.inf)  # a busy machine makes no mutant wrong


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", WRONG)
def test_nine_in_ten_mutants_that_matter_lose_points(name: str) -> None:
    right = effects(name, load(name, reference(name)))
    killed, survived = 0, []
    for text in mutants(reference(name)):
        function = load(name, text)
        if loses_points(name, function):
            killed += 1
        elif effects(name, function) != right:
            survived.append(text)
    print(f"{name}: {killed} killed, {len(survived)} survived", *survived, sep="\n\n")
    assert killed >= (2 if name == "coalescing/gather" else 10)
    assert killed >= 0.9 * (killed + len(survived)), "\n\n".join(survived)
