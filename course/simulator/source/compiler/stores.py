"""Assignments of a kernel: to variables, tuples, elements of arrays and fields of records."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from course.simulator.source.compiler.arrays import loader, storer
from course.simulator.source.compiler.expressions import Expressions
from course.simulator.source.compiler.program import NOTHING, Execute, Expr, Scope
from course.simulator.source.compiler.values import array_name, untuple, what
from course.simulator.source.lanes import DEAD, Mask, State, Value, both, convert
from course.simulator.source.memory import Record, gather, locate, notify, pieces, scatter
from course.simulator.types import ArrayType, RecordType, TupleType, Type, describe

__all__ = ["Stores"]


class Stores(Expressions):
    """Compiles statements that store something."""

    def _assign(self, scope: Scope, node: ast.Assign) -> Execute:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.naming = node.targets[0].id
        value = self.expression(scope, node.value)
        self.naming = None
        if len(node.targets) > 1:
            value = _held(value)
        stores = [self.store(scope, target, value if place == 0 else _reheld(value))
                  for place, target in enumerate(node.targets)]  # fmt: skip
        return stores[0] if len(stores) == 1 else _sequence(stores)

    def _annassign(self, scope: Scope, node: ast.AnnAssign) -> Execute:
        assert node.value is not None
        return self.store(scope, node.target, self.expression(scope, node.value))

    def store(self, scope: Scope, target: ast.expr, value: Expr) -> Execute:
        """Compile the assignment of a value to a variable, tuple, element or field."""
        if isinstance(target, ast.Name):
            return self._store_name(scope, target, value)
        if isinstance(target, ast.Tuple):
            return self._unpack(scope, target, value)
        if isinstance(target, ast.Subscript):
            return self._store_element(scope, target, value)
        if isinstance(target, ast.Attribute):
            base = self.expression(scope, target.value)
            if isinstance(base.kind, RecordType):
                return self._store_field(scope, target, base, target.attr, value)
        raise scope.refuse(target, f"cannot assign to {scope.source.text(target)} in a kernel.")

    def _store_name(self, scope: Scope, target: ast.Name, value: Expr) -> Execute:
        name, slot, fresh = target.id, scope.slots[target.id], target in scope.fresh
        constant_only = value.known and self._assigned_once(scope, name)
        scope.env[name] = (value.kind, value.const if constant_only else NOTHING)
        if value.kind is None:
            if not constant_only:
                raise scope.refuse(target, f"{name} may name one function or type only: {scope.source.text(target)}")
            return lambda state, mask: mask
        self.present(scope, target, value)
        if isinstance(value.kind, np.dtype):
            self.program.variables.setdefault((scope.source.name, name), set()).add(value.kind.name)
        run = value.run

        def execute(state: State, mask: Mask) -> Mask:
            state.assign(slot, mask, run(state, mask), fresh)
            return mask

        return execute

    def _assigned_once(self, scope: Scope, name: str) -> bool:
        stores = sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
                     for node in ast.walk(scope.source.tree))  # fmt: skip
        return stores == 1 and name not in scope.source.parameters

    def _unpack(self, scope: Scope, target: ast.Tuple, value: Expr) -> Execute:
        if not isinstance(value.kind, TupleType):
            raise scope.mistyped(target, f"{describe(value.kind)} cannot be unpacked: {scope.source.text(target)}")
        count = len(value.kind.items)
        if count != len(target.elts):
            raise scope.mistyped(target, f"{count} values for {len(target.elts)} names: {scope.source.text(target)}")
        held: list[Value] = []
        run = value.run

        def fill(state: State, mask: Mask) -> Mask:
            held[:] = run(state, mask)
            return mask

        def item(place: int, kind: Type, const: Any) -> Expr:
            def evaluate(state: State, mask: Mask) -> Value:
                found = held[place]
                return convert(found, kind) if isinstance(kind, np.dtype) else found

            return Expr(evaluate, kind, const)

        consts = [expr.const for expr in untuple(value)]
        stores = [self.store(scope, element, item(place, kind, const)) for place, (element, kind, const) in
                  enumerate(zip(target.elts, value.kind.items, consts, strict=True))]  # fmt: skip
        return _sequence([fill, *stores])

    def _store_element(self, scope: Scope, target: ast.Subscript, value: Expr) -> Execute:
        base = self.expression(scope, target.value)
        if isinstance(base.kind, RecordType) and isinstance(target.slice, ast.Constant):
            return self._store_field(scope, target, base, target.slice.value, value)
        if not isinstance(base.kind, ArrayType):
            raise scope.mistyped(target, f"cannot assign to {scope.source.text(target)}.")
        if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            raise scope.refuse(target, f"write one element of the field: {scope.source.text(target)}[i] = ...")
        kind, view_of, line = base.kind, base.run, target.lineno
        if kind.space == "constant":
            raise scope.mistyped(target, f"constant memory cannot be written: {scope.source.text(target)}")
        indices, literal = self.indices(scope, target, kind)
        if len(indices) < kind.ndim or any(isinstance(index, tuple) for index in indices):
            raise scope.refuse(target, f"write element by element, in a loop: {scope.source.text(target)} = ...")
        if kind.dtype.names:
            return self._copy_record(scope, target, base, indices, literal, value)
        converted = self._stored(scope, target, value, kind.dtype)
        site = self.program.site(scope, target, kind.space, "store", kind.root or array_name(target))
        put = storer(site, pieces(kind.dtype, kind.space), line, literal)
        runs, number = [index.run for index in indices], converted.run

        def execute(state: State, mask: Mask) -> Mask:
            given = number(state, mask)
            put(state, mask, view_of(state, mask), [run(state, mask) for run in runs], given)
            return mask

        return execute

    def _stored(self, scope: Scope, target: ast.expr, value: Expr, kind: np.dtype[Any]) -> Expr:
        if value.kind is None:
            raise scope.mistyped(target, f"{what(value)} is no value that can be stored: {scope.source.text(target)} "
                                 f"= ... Is a call of it meant, as in {what(value)}(...)?")  # fmt: skip
        if not isinstance(value.kind, np.dtype):
            raise scope.mistyped(target, f"cannot store {describe(value.kind)} in an element of type {kind.name}: "
                                 f"{scope.source.text(target)} = ...")  # fmt: skip
        if value.kind.kind == "c" and kind.kind != "c":
            raise scope.mistyped(target, f"cannot store a complex number in an element of type {kind.name}.")
        return self.cast(value, kind)

    def _store_field(self, scope: Scope, target: ast.expr, base: Expr, name: Any, value: Expr) -> Execute:
        kind, reference = base.kind, base.run
        if name not in (kind.dtype.names or ()):
            raise scope.mistyped(target, f"the record has no field {name!r}: {scope.source.text(target)}")
        inner = kind.dtype.fields[name][0]
        run = self._stored(scope, target, value, inner).run
        site = self.program.site(scope, target, kind.space, "store", kind.root or array_name(target))
        parts = pieces(inner, kind.space, packed=not kind.dtype.isalignedstruct)

        def execute(state: State, mask: Mask) -> Mask:
            number, record = run(state, mask), reference(state, mask)
            view = record.view.field(name)
            active = mask if record.inside is None else both(mask, np.asarray(record.inside)) \
                if np.ndim(record.inside) else mask if record.inside else DEAD  # fmt: skip
            notify(state, site, parts, view, record.element, active, number)
            scatter(state, view, record.element, number, active)
            return mask

        return execute

    def _copy_record(self, scope: Scope, target: ast.Subscript, base: Expr, indices: list[Expr], literal: bool,
                     value: Expr) -> Execute:  # fmt: skip
        kind = base.kind
        if not isinstance(value.kind, RecordType) or value.kind.dtype != kind.dtype:
            raise scope.mistyped(target, f"expected a record of the same type: {scope.source.text(target)} = ...")
        load = self.program.site(scope, target, value.kind.space, "load", value.kind.root or "record")
        store = self.program.site(scope, target, kind.space, "store", kind.root or array_name(target))
        parts, view_of, source, line = pieces(kind.dtype, kind.space), base.run, value.run, target.lineno
        runs = [index.run for index in indices]

        def execute(state: State, mask: Mask) -> Mask:
            record: Record = source(state, mask)
            notify(state, load, parts, record.view, record.element, mask)
            number = np.asarray(gather(state, record.view, record.element))
            view = view_of(state, mask)
            element, inside, _ = locate(state, mask, view, [run(state, mask) for run in runs], line, literal)
            notify(state, store, parts, view, element, inside)
            scatter(state, view, element, number, inside)
            return mask

        return execute

    def _augassign(self, scope: Scope, node: ast.AugAssign) -> Execute:
        operation = self.operation(scope, node)
        if isinstance(node.target, ast.Name):
            old = self.scalar(scope, ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            new = self.binary(scope, node, operation, old, self.scalar(scope, node.value))
            return self._store_name(scope, node.target, new)
        if isinstance(node.target, ast.Attribute) or not self._is_plain_element(scope, node.target):
            reading = ast.copy_location(_as_load(node.target), node.target)
            new = self.binary(scope, node, operation, self.scalar(scope, reading), self.scalar(scope, node.value))
            return self.store(scope, node.target, new)
        return self._update_element(scope, node, node.target, operation)

    def _is_plain_element(self, scope: Scope, target: ast.expr) -> bool:
        assert isinstance(target, ast.Subscript)
        base = self.expression(scope, target.value)
        return isinstance(base.kind, ArrayType) and not base.kind.dtype.names

    def _update_element(self, scope: Scope, node: ast.AugAssign, target: ast.Subscript, operation: Any) -> Execute:
        """`x[i] += v`: the array and the index are evaluated once, then a load and a store."""
        base = self.expression(scope, target.value)
        kind, line = base.kind, node.lineno
        if kind.space == "constant":
            raise scope.mistyped(target, f"constant memory cannot be written: {scope.source.text(target)}")
        indices, literal = self.indices(scope, target, kind)
        if len(indices) < kind.ndim or any(isinstance(index, tuple) for index in indices):
            raise scope.refuse(target, f"write element by element, in a loop: {scope.source.text(node)}")
        name, parts = kind.root or array_name(target), pieces(kind.dtype, kind.space)
        held: dict[Any, Any] = {}
        reading = self.program.site(scope, target, kind.space, "load", name)
        given = [_slot_of(held, place) for place in range(len(indices))]
        load = loader(lambda state, mask: held["view"], given, reading, parts, line, literal)
        new = self.binary(scope, node, operation, Expr(load, kind.dtype), self.scalar(scope, node.value))
        number = self._stored(scope, target, new, kind.dtype).run
        put = storer(self.program.site(scope, target, kind.space, "store", name), parts, line, literal)
        runs, view_of = [index.run for index in indices], base.run

        def execute(state: State, mask: Mask) -> Mask:
            view, places = view_of(state, mask), [run(state, mask) for run in runs]
            held["view"] = view
            held.update(enumerate(places))
            value = number(state, mask)
            put(state, mask, view, places, value)
            return mask

        return execute


def _sequence(stores: list[Execute]) -> Execute:
    def execute(state: State, mask: Mask) -> Mask:
        for store in stores:
            store(state, mask)
        return mask

    return execute


def _slot_of(held: dict[Any, Any], place: int) -> Any:
    return lambda state, mask: held[place]


def _held(expr: Expr) -> Expr:
    """`a = b = value`: the value is computed once."""
    run = expr.run
    kept: list[Value] = []

    def evaluate(state: State, mask: Mask) -> Value:
        kept[:] = [run(state, mask)]
        return kept[0]

    result = Expr(evaluate, expr.kind, expr.const)
    result.kept = kept  # type: ignore[attr-defined]
    return result


def _reheld(expr: Expr) -> Expr:
    kept = expr.kept  # type: ignore[attr-defined]
    return Expr(lambda state, mask: kept[0], expr.kind, expr.const)


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    assert isinstance(target, ast.Subscript)
    return ast.Subscript(target.value, target.slice, ast.Load())
