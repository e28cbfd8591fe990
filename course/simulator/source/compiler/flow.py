"""Control flow of a kernel as lane masks: if, for, while, break and continue."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from course.simulator.source.compiler.program import NOTHING, Execute, Expr, Scope
from course.simulator.source.compiler.stores import Stores
from course.simulator.source.compiler.values import INT64, constant
from course.simulator.source.lanes import DEAD, Mask, State, Value, both, either, split, without
from course.simulator.types import Type, describe

__all__ = ["Flow"]


class Flow(Stores):
    """Compiles branches and loops. A compiled statement returns the mask of the lanes that go on."""

    def block(self, scope: Scope, body: list[ast.stmt]) -> Execute:
        """Compile a list of statements."""
        raise NotImplementedError

    def _if(self, scope: Scope, node: ast.If) -> Execute:
        test = self.condition(scope, node.test)
        flops, line = (self.flops[0], self.flops[1], self.flops[2]), node.lineno
        if test.known:
            return self.block(scope, node.body if test.const else node.orelse)
        before = dict(scope.env)
        body = self.block(scope, node.body)
        after_body, body_ended = scope.env, scope.ended
        scope.env, scope.ended = dict(before), False
        orelse = self.block(scope, node.orelse) if node.orelse else None
        orelse_ended = scope.ended
        if body_ended != orelse_ended:
            scope.env = scope.env if body_ended else after_body
        else:
            scope.env = self.joined(scope, node, after_body, scope.env)
        scope.ended = body_ended and orelse_ended
        condition = test.run
        leaves, loops = _exits(node)

        def execute(state: State, mask: Mask) -> Mask:
            state.line = line
            if state.observer is not None:
                state.executed(line, mask, flops)
            everyone = mask is state.live
            yes, no = split(mask, condition(state, mask))
            after = body(state, yes) if yes is not DEAD else DEAD
            rest = no if no is DEAD or orelse is None else orelse(state, no)
            if not leaves:
                return mask
            onward = mask if after is yes and rest is no else either(after, rest)
            if everyone and not loops and onward is not DEAD:
                state.live = onward  # exactly the lanes that have not returned: keep one mask object for both
                if scope.caller is None:
                    state.live_kernel = onward
            return onward

        return execute

    def joined(self, scope: Scope, node: ast.AST, first: Any, second: Any) -> dict[str, tuple[Type, Any]]:
        """Variables after two ways through the text: numba's type for either."""
        env = {}
        for name in {**first, **second}:
            if name not in first or name not in second:
                kind, const = first.get(name) or second[name]
                env[name] = (kind, const if kind is None else NOTHING)
                continue
            (kind, const), (other, value) = first[name], second[name]
            try:
                both_kinds = self.unified(scope, node, kind, other)
            except TypeError:
                raise scope.mistyped(
                    node, f"variable {name} is {describe(kind)} on one way and {describe(other)} on another: "
                    "use two variables."
                ) from None  # fmt: skip
            env[name] = (both_kinds, const if const is value else NOTHING)
        return env

    def _loop_body(self, scope: Scope, node: ast.For | ast.While, bind: Any) -> tuple[Any, Execute]:
        """Compile a loop until the types of its variables no longer change from one iteration to the next."""
        before = dict(scope.env)
        for _ in range(8):
            scope.env = dict(before)
            head = bind()
            body = self.block(scope, node.body)
            scope.ended = False
            after = self.joined(scope, node, before, scope.env)
            carried = {name: after[name] for name in before}
            if _same(carried, before):
                scope.env = after
                return head, body
            before = carried
        raise scope.mistyped(node, "the types of the variables of this loop do not settle.")

    def _while(self, scope: Scope, node: ast.While) -> Execute:
        def bind() -> tuple[Any, Any]:
            self.flops = [0, 0, 0]
            test = self.condition(scope, node.test)
            return test.run, (self.flops[0], self.flops[1], self.flops[2])

        (condition, flops), body = self._loop_body(scope, node, bind)
        line, (leaves, returns) = node.lineno, _leaves(node)

        def execute(state: State, mask: Mask) -> Mask:
            kept, state.broken = state.broken, DEAD
            active, since = mask, state.clock()
            while True:
                state.step(line, since)
                if state.observer is not None:
                    state.executed(line, active, flops)
                active, _ = split(active, condition(state, active))
                if active is DEAD:
                    break
                after = body(state, active)
                if leaves:
                    active = _next(state, active, after)
                    if active is DEAD:
                        break
            state.broken = kept
            return both(mask, state.live) if returns else mask

        return execute

    def _for(self, scope: Scope, node: ast.For) -> Execute:
        bounds, kind = self._range(scope, node)
        flops, line, (leaves, returns) = (self.flops[0], self.flops[1], self.flops[2]), node.lineno, _leaves(node)
        if not isinstance(node.target, ast.Name):
            raise scope.refuse(node, f"the loop variable must be one name: {scope.source.text(node.target)}")
        target = node.target
        slot, fresh = scope.slots[target.id], target in scope.fresh
        self.program.variables.setdefault((scope.source.name, target.id), set()).add(kind.name)

        def bind() -> None:
            scope.env[target.id] = (kind, NOTHING)

        _, body = self._loop_body(scope, node, bind)
        number = kind.type

        def execute(state: State, mask: Mask) -> Mask:
            start, stop, step = (bound.run(state, mask) for bound in bounds)
            kept, state.broken = state.broken, DEAD
            if start.ndim or stop.ndim or step.ndim:
                _lanes(state, mask, start, stop, step)
            else:
                active, values = mask, range(int(start), int(stop), int(step) or 1)
                since = state.clock() if _longer_than(values, state.max_steps - state.steps) else None
                for value in values:
                    state.step(line, since)
                    if state.observer is not None:
                        state.executed(line, active, flops)
                    state.assign(slot, active, number(value), fresh)
                    after = body(state, active)
                    if leaves:
                        active = _next(state, active, after)
                        if active is DEAD:
                            break
            state.broken = kept
            return both(mask, state.live) if returns else mask

        def _lanes(state: State, mask: Mask, start: Value, stop: Value, step: Value) -> None:
            value, active, up = start, mask, step > 0
            rising = bool(up.all()) if up.ndim else bool(up)
            mixed = bool(up.ndim and not rising and up.any())
            rounds = np.max((stop.astype(np.float64) - start) / np.where(step == 0, 1, step))
            since = state.clock() if rounds > state.max_steps - state.steps else None
            while True:
                state.step(line, since)
                inside = np.where(up, value < stop, value > stop) if mixed else value < stop if rising else value > stop
                active, _ = split(active, inside)
                if active is DEAD:
                    return
                if state.observer is not None:
                    state.executed(line, active, flops)
                state.assign(slot, active, value, fresh)
                after = body(state, active)
                if leaves:
                    active = _next(state, active, after)
                    if active is DEAD:
                        return
                value = value + step

        return execute

    def _range(self, scope: Scope, node: ast.For) -> tuple[list[Expr], np.dtype[Any]]:
        call = node.iter
        is_range = isinstance(call, ast.Call) and self.expression(scope, call.func).const is range \
            and not call.keywords and 1 <= len(call.args) <= 3  # fmt: skip
        if not is_range:
            raise scope.refuse(node, f"only `for ... in range(...)` is supported: {scope.source.text(call)}")
        assert isinstance(call, ast.Call)
        exprs = [self.scalar(scope, argument) for argument in call.args]
        for expr in exprs:
            if expr.kind.kind not in "iufb":
                raise scope.mistyped(node, f"range() needs whole numbers, got {expr.kind.name}: "
                                     f"{scope.source.text(call)}.")  # fmt: skip
        narrow = all(expr.kind.kind in "iub" and (expr.kind.itemsize < 4 or expr.kind == np.int32) for expr in exprs)
        wide = any(expr.kind == np.uint64 for expr in exprs)
        kind = np.dtype(np.int32) if narrow else np.dtype(np.uint64) if wide else INT64
        exprs = [self.cast(expr, kind) for expr in exprs]
        start = exprs[0] if len(exprs) > 1 else constant(0, kind, 0)
        step = exprs[2] if len(exprs) > 2 else constant(1, kind, 1)
        if step.known and step.const == 0:
            raise scope.mistyped(node, "the step of range() is 0.")
        return [start, exprs[1] if len(exprs) > 1 else exprs[0], step], kind

    def _break(self, scope: Scope, node: ast.Break) -> Execute:
        scope.ended = True

        def execute(state: State, mask: Mask) -> Mask:
            state.broken = either(state.broken, mask)
            return DEAD

        return execute

    def _continue(self, scope: Scope, node: ast.Continue) -> Execute:
        scope.ended = True
        return lambda state, mask: DEAD


def _longer_than(values: range, steps: int) -> bool:
    return values[steps:] != range(0)  # len() has no room for 2**63 values


def _same(first: dict[str, tuple[Type, Any]], second: dict[str, tuple[Type, Any]]) -> bool:
    """Whether variables have the same types, and the same known values."""
    return all(
        kind == second[name][0] and const is second[name][1]
        and getattr(kind, "root", "") == getattr(second[name][0], "root", "")
        for name, (kind, const) in first.items()
    )  # fmt: skip


def _next(state: State, active: Mask, after: Mask) -> Mask:
    """Lanes that start the next iteration: those that neither left the loop nor returned."""
    if after is active:
        return active
    return both(without(active, state.broken), state.live)


def _exits(node: ast.If) -> tuple[bool, bool]:
    """Whether lanes may leave through the branches at all, and whether by break or continue."""
    inner = [child for statement in [*node.body, *node.orelse] for child in ast.walk(statement)]
    loops = any(isinstance(child, (ast.Break, ast.Continue)) for child in inner)
    return loops or any(isinstance(child, ast.Return) for child in inner), loops


def _leaves(node: ast.For | ast.While) -> tuple[bool, bool]:
    """Whether lanes may leave an iteration early, and whether by return."""
    inner = [child for statement in node.body for child in ast.walk(statement)]
    returns = any(isinstance(child, ast.Return) for child in inner)
    return returns or any(isinstance(child, (ast.Break, ast.Continue)) for child in inner), returns
