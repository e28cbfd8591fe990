"""Kernels that somebody mistyped: one that runs, with one to three random slips in its text or in its arguments."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import random
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.simulator.cases import CASES
from tests.simulator.hazard_zoo import correct, correct_async

__all__ = ["ORIGINALS", "Mutant", "Original", "mutant"]


@dataclass(frozen=True)
class Original:
    """A kernel that runs, and a launch of it."""

    function: Any
    grid: Any
    block: Any
    shared: int
    arguments: Callable[[], list[Any]]


@dataclass(frozen=True)
class Mutant:
    kernel: Any
    original: Original
    arguments: list[Any]
    text: str


def _originals() -> list[Original]:
    found = [
        Original(_function(c.kernel), c.grid, c.block, c.shared,
                 lambda c=c: list(c.arguments(np.random.default_rng(1))))
        for c in CASES.values()
    ]  # fmt: skip
    zoo = correct.ZOO.animals + correct_async.ZOO.animals
    return found + [Original(_function(a.kernel), a.grid, a.block, 0, lambda a=a: list(a.args())) for a in zoo]


def _function(kernel: Any) -> Any:
    return getattr(kernel, "py_func", None) or getattr(kernel, "fn", kernel)


ORIGINALS = _originals()

_VALUES = ["0", "1", "-1", "2.5", "3j", "'id'", "None", "True", "(1, 2)", "10**20", "cuda", "np", "math", "float32",
           "np.float32", "cuda.threadIdx", "cuda.grid", "cuda.syncthreads", "cuda.grid(1)", "cuda.grid(2)", "len",
           "cuda.shared.array", "cuda.float32x4(1, 2, 3, 4)", "range", "np.zeros", "()", "x", "i",
           "cuda.laneid"]  # fmt: skip
_OPERATORS = [ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.FloorDiv(), ast.Mod(), ast.Pow(), ast.BitAnd(),
              ast.LShift(), ast.RShift(), ast.MatMult()]  # fmt: skip
_COMPARISONS = [ast.Lt(), ast.GtE(), ast.Eq(), ast.NotEq(), ast.Is(), ast.In()]
_ATTRIBUTES = ["x", "y", "w", "shape", "size", "T", "dtype", "real", "imag", "add", "array", "ndim", "gird", "strides"]


def _value(chance: random.Random) -> ast.expr:
    return ast.parse(chance.choice(_VALUES), mode="eval").body


class _Slip(ast.NodeTransformer):
    """Replaces one node."""

    def __init__(self, target: ast.AST, new: ast.AST | None) -> None:
        self.target, self.new = target, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.target else self.generic_visit(node)


def _slip(tree: ast.FunctionDef, chance: random.Random) -> ast.FunctionDef:
    nodes = [node for statement in tree.body for node in ast.walk(statement)]
    expressions = [node for node in nodes if isinstance(node, ast.expr) and not isinstance(
        getattr(node, "ctx", None), (ast.Store, ast.Del))]  # fmt: skip
    names = sorted({node.id for node in nodes if isinstance(node, ast.Name)})
    kind = chance.randrange(16)
    numbers = [node for node in nodes if isinstance(node, ast.Constant) and type(node.value) in (int, float)]
    if kind > 12 and numbers:
        chance.choice(numbers).value = chance.choice([0, 1, 2, 3, 31, 64, 1000, 0.5, 2**31, 2**63, 1e300, 10**12])
        return tree
    kind = {11: 5, 12: 6}.get(kind, kind)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if kind <= 1 and calls:  # the classic slip
        node = chance.choice(calls)
        return _Slip(node, node.func).visit(tree)
    if kind == 2 and calls:
        node = chance.choice(calls)
        if node.args and chance.random() < 0.6:
            node.args.pop(chance.randrange(len(node.args)))
        else:
            node.args.insert(chance.randint(0, len(node.args)), _value(chance))
        return tree
    if kind <= 4:
        node = chance.choice([n for n in nodes if isinstance(n, ast.Name)] or [ast.Name("x")])
        node.id = chance.choice([*names, node.id[:-1] + "q"])
        return tree
    if kind == 5:
        holders = [node for node in [tree, *nodes] if isinstance(getattr(node, "body", None), list) and node.body]
        body = chance.choice(holders).body
        if len(body) > 1:
            body.pop(chance.randrange(len(body)))
        else:
            body.append(chance.choice([ast.Return(_value(chance)), ast.Break(), ast.Continue(), ast.Return(None)]))
        return tree
    if kind == 6:
        for node in chance.sample(nodes, len(nodes)):
            if isinstance(node, (ast.BinOp, ast.AugAssign)):
                node.op = chance.choice(_OPERATORS)
                return tree
            if isinstance(node, ast.Compare):
                node.ops[0] = chance.choice(_COMPARISONS)
                return tree
    if kind == 7:
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        if attributes:
            chance.choice(attributes).attr = chance.choice(_ATTRIBUTES)
            return tree
    node = chance.choice(expressions or [ast.Constant(0)])
    if kind == 8:  # used where it makes no sense
        new = chance.choice([
            ast.Subscript(copy.deepcopy(node), _value(chance), ast.Load()),
            ast.Call(copy.deepcopy(node), [], []),
            ast.Attribute(copy.deepcopy(node), chance.choice(_ATTRIBUTES), ast.Load()),
            ast.Tuple([copy.deepcopy(node), _value(chance)], ast.Load()),
            ast.IfExp(_value(chance), copy.deepcopy(node), _value(chance)),
        ])  # fmt: skip
        return _Slip(node, new).visit(tree)
    if kind == 9:
        tree.body.insert(chance.randint(0, len(tree.body)), ast.Expr(chance.choice([
            _value(chance), ast.Call(ast.Name("print"), [_value(chance), copy.deepcopy(node)], []),
        ])))  # fmt: skip
        return tree
    return _Slip(node, _value(chance)).visit(tree)


def _other_argument(value: Any, chance: random.Random) -> Any:
    options: list[Any] = [
        0, -1, 2.5, 3j, None, "text", (1, 2), (), True, np.float32(3), np.int64(7), 2**63, [1, 2],
        np.zeros(4), np.zeros((3, 3), np.float32), np.zeros(0, np.int32), np.array(1.0), np.zeros(8, np.complex64),
        np.zeros(4, [("x", "f4"), ("y", "i4")]), np.zeros(5, np.uint8), np.zeros(5, bool), np.zeros(6, np.float16),
        np.array(["a"]), np.zeros((4, 4))[:, 1], (np.float32(1), 2), object(),
    ]  # fmt: skip
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "iuf":
        options += [value.astype(kind) for kind in ("f8", "i8", "u1", "c8", "?")] * 2 + [value[:1].copy()] * 4
    return chance.choice(options)


def mutant(seed: int) -> Mutant | None:
    """The mutant of a seed; None where the slips left something that is no Python."""
    chance = random.Random(seed)
    original = chance.choice(ORIGINALS)
    tree: Any = ast.parse(textwrap.dedent(inspect.getsource(original.function))).body[0]
    tree.decorator_list, tree.returns = [], None
    arguments = original.arguments()
    for _ in range(chance.randint(1, 2)):
        if chance.random() < 0.15:
            place = chance.randrange(len(arguments))
            arguments[place] = _other_argument(arguments[place], chance)
        else:
            tree = _slip(tree, chance)
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    filename = f"<mutant {seed}>"
    cells = zip(original.function.__code__.co_freevars, original.function.__closure__ or (), strict=True)
    namespace = {**original.function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(text, filename, "exec"), namespace)
    except SyntaxError:
        return None
    return Mutant(namespace[tree.name], original, arguments, text)
