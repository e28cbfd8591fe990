"""Statements of a kernel: control flow as lane masks, and the compilation of whole functions.

A compiled statement is a closure `(state, mask) -> mask`: it runs for the lanes of `mask` and returns
those that go on to the next statement (fewer after return, break and continue; DEAD when none).
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from course.errors import CourseError
from course.simulator.errors import UnsupportedKernel
from course.simulator.kernels import python_function
from course.simulator.signatures import argument_types, result_type
from course.simulator.source.compiler.flow import Flow
from course.simulator.source.compiler.intrinsics import call
from course.simulator.source.compiler.program import NOTHING, Execute, Expr, Program, Scope
from course.simulator.source.compiler.values import outside
from course.simulator.source.frontend import Source, fresh_stores, read_source
from course.simulator.source.lanes import DEAD, UNBOUND, Mask, State, Value, convert, merge, without
from course.simulator.types import ArrayType, NoneType, RecordType, Type

__all__ = ["compile_kernel"]


def compile_kernel(kernel: Any, arguments: list[Type]) -> Program:
    """Compile a kernel for the types of its arguments.

    Raises UnsupportedKernel or KernelTypeError, which name construct and line.
    """
    source = read_source(kernel)
    program = Program(source, arguments)
    try:
        Compiler(program).kernel()
    except RecursionError:
        raise UnsupportedKernel("expressions are nested too deeply: use variables.", line=source.tree.lineno,
                                kernel=source.name, filename=source.filename) from None  # fmt: skip
    return program


class Compiler(Flow):
    """Compiles statements, and the kernel and its device functions."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._functions: dict[Any, tuple[Scope, list[int], Execute, Type]] = {}

    def kernel(self) -> None:
        """Compile the kernel itself."""
        program = self.program
        scope = self._scope(program.source, None)
        for name, kind in zip(program.source.parameters, program.arguments, strict=True):
            scope.env[name] = (_rooted(kind, name), NOTHING)
        program.parameter_slots = [scope.slots[name] for name in program.source.parameters]
        program.body = self.block(scope, program.source.tree.body)
        for kind in scope.returns:
            if not isinstance(kind, NoneType):
                raise scope.mistyped(program.source.tree, "a kernel cannot return a value: write it to an array.")

    def _scope(self, source: Source, caller: Scope | None) -> Scope:
        assigned = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)
                    and isinstance(node.ctx, ast.Store)}  # fmt: skip
        slots = {name: self.program.slot() for name in [*source.parameters, *sorted(assigned - set(source.parameters))]}
        self.program.sources.append(source)
        self.program.texts[source.function.__qualname__] = "\n".join(source.lines)
        return Scope(source, fresh_stores(source.tree), slots, {}, caller)

    def _call(self, scope: Scope, node: ast.Call) -> Expr:
        return call(self, scope, node)

    def device_call(self, scope: Scope, node: ast.Call, callee: Any) -> Expr:
        """Call of a device function: compiled once for each combination of argument types."""
        function = python_function(callee)
        above: Scope | None = scope
        while above is not None:
            if above.source.function is function:
                raise scope.refuse(node, f"{function.__name__} calls itself: recursion is not supported in a kernel.")
            above = above.caller
        exprs = self._bind(scope, node, function)
        declared = getattr(callee, "signature", None)
        if declared is not None:
            exprs = [self.cast(expr, kind) if isinstance(kind, np.dtype) and isinstance(expr.kind, np.dtype) else expr
                     for expr, kind in zip(exprs, argument_types(declared), strict=True)]  # fmt: skip
        for expr in exprs:
            self.present(scope, node, expr)
        key = (function, tuple(expr.kind for expr in exprs))
        if key not in self._functions:
            self._functions[key] = self._device_function(scope, function, [expr.kind for expr in exprs])
        inner, parameters, body, result = self._functions[key]
        runs, nothing, slots = [expr.run for expr in exprs], isinstance(result, NoneType), list(inner.slots.values())
        line = node.lineno

        def evaluate(state: State, mask: Mask) -> Value:
            state.step(line)  # calls without a loop can be endless too
            values = [run(state, mask) for run in runs]
            for slot in slots:
                state.variables[slot] = UNBOUND
            for slot, value in zip(parameters, values, strict=True):
                state.variables[slot], state.written[slot] = value, mask
            kept = state.live, state.broken, state.result
            state.live, state.broken, state.result = mask, DEAD, UNBOUND
            body(state, mask)
            value = state.result
            state.live, state.broken, state.result = kept
            if nothing:
                return None
            if value is UNBOUND:  # no lane came to a `return`
                return result.type(0) if isinstance(result, np.dtype) else None
            return convert(value, result) if isinstance(result, np.dtype) else value

        expr = Expr(evaluate, result)
        promised = None if declared is None else result_type(declared)
        return self.cast(expr, promised) if isinstance(promised, np.dtype) and isinstance(result, np.dtype) else expr

    def _bind(self, scope: Scope, node: ast.Call, function: Any) -> list[Expr]:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        given: dict[str, Expr] = {}
        for name, argument in zip(names, node.args, strict=False):
            given[name] = self.expression(scope, argument)
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in given:
                raise scope.mistyped(node, f"{function.__name__}() got an unexpected argument {keyword.arg!r}.")
            given[str(keyword.arg)] = self.expression(scope, keyword.value)
        defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
        for name in names:
            if name not in given and name in defaults:
                given[name] = outside(scope, node, defaults[name])
        missing = [name for name in names if name not in given]
        if missing or len(node.args) > len(names):
            raise scope.mistyped(node, f"{function.__name__}() takes {len(names)} arguments: {scope.source.text(node)}")
        return [given[name] for name in names]

    def _device_function(self, caller: Scope, function: Any, kinds: list[Type]) -> Any:
        source = read_source(function)
        outer_flops, outer_naming = self.flops, self.naming
        self.flops, self.naming = [0, 0, 0], None
        scope = self._scope(source, caller)
        for name, kind in zip(source.parameters, kinds, strict=True):
            scope.env[name] = (_rooted(kind, name), NOTHING)
        body = self.block(scope, source.tree.body)
        self.flops, self.naming = outer_flops, outer_naming
        result: Type = NoneType()
        for kind in scope.returns:
            if not isinstance(kind, NoneType):
                result = kind if isinstance(result, NoneType) else self.unified(scope, source.tree, result, kind)
        return scope, [scope.slots[name] for name in source.parameters], body, result

    def block(self, scope: Scope, body: list[ast.stmt]) -> Execute:
        """Compile a list of statements; what follows a return, break or continue is never compiled."""
        steps: list[Execute] = []
        for statement in body:
            if scope.ended:
                break
            step = self.statement(scope, statement)
            if step is not None:
                steps.append(step)
        if len(steps) == 1:
            return steps[0]

        def execute(state: State, mask: Mask) -> Mask:
            for step in steps:
                mask = step(state, mask)
                if mask is DEAD:
                    return DEAD
            return mask

        return execute

    def statement(self, scope: Scope, node: ast.stmt) -> Execute | None:
        """Compile one statement, with its share of the instruction count."""
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return None
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return None
        self.flops = [0, 0, 0]
        method = getattr(self, f"_{type(node).__name__.lower()}")
        try:
            run: Execute = method(scope, node)
        except (CourseError, RecursionError):
            raise
        except Exception as error:
            raise scope.fault(node, error) from error
        if isinstance(node, (ast.If, ast.For, ast.While)):
            return run
        flops, line = (self.flops[0], self.flops[1], self.flops[2]), node.lineno
        leaves = isinstance(node, ast.Return) and scope.caller is None

        def execute(state: State, mask: Mask) -> Mask:
            state.line = line
            if state.observer is not None:
                state.executed(line, mask, flops, leaves)
            return run(state, mask)

        return execute

    def _expr(self, scope: Scope, node: ast.Expr) -> Execute:
        self.discarded = node.value
        expr = self.present(scope, node.value, self.expression(scope, node.value))
        self.discarded = None
        run = expr.run

        def execute(state: State, mask: Mask) -> Mask:
            run(state, mask)
            return mask

        return execute

    def _return(self, scope: Scope, node: ast.Return) -> Execute:
        expr = None if node.value is None else self.expression(scope, node.value)
        scope.ended = True
        kind = NoneType() if expr is None else expr.kind
        if expr is not None and node.value is not None:
            self.present(scope, node.value, expr)
        scope.returns.append(kind)
        run = None if expr is None or isinstance(kind, NoneType) else expr.run
        in_kernel = scope.caller is None

        def execute(state: State, mask: Mask) -> Mask:
            if run is not None:
                value = run(state, mask)
                known = state.result
                state.result = value if known is UNBOUND or mask is None else merge(mask, value, known)
            state.live = without(state.live, mask)
            if in_kernel:
                state.live_kernel = state.live
            return DEAD

        return execute


def _rooted(kind: Type, name: str) -> Type:
    """Type of a parameter: accesses through it, and through views of it, carry its name."""
    return replace(kind, root=name) if isinstance(kind, (ArrayType, RecordType)) else kind
