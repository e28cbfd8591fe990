"""Arrays in a kernel: attributes, indices, views, fields of records, and arrays that the kernel declares."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Space
from course.simulator.source.compiler.operators import Operators
from course.simulator.source.compiler.program import Expr, Place, Scope
from course.simulator.source.compiler.values import INT64, array_name, constant, never, untuple, what
from course.simulator.source.lanes import DEAD, Mask, State, Value, both
from course.simulator.source.memory import (
    Record,
    View,
    fill_poison,
    gather,
    index_record,
    locate,
    notify,
    part,
    pieces,
    report_uninitialised,
    scatter,
)
from course.simulator.spelling import did_you_mean
from course.simulator.types import ArrayType, RecordType, TupleType

__all__ = ["Arrays", "loader", "storer"]


_ATTRIBUTES = ("shape", "strides", "size", "nbytes", "ndim", "itemsize", "dtype", "T")


class Arrays(Operators):
    """Compiles what reads arrays."""

    def _array_attribute(self, scope: Scope, node: ast.Attribute, base: Expr, name: str) -> Expr:
        kind, run = base.kind, base.run
        if kind.dtype.names and name in kind.dtype.names:
            inner = kind.dtype.fields[name][0]
            return Expr(lambda state, mask: run(state, mask).field(name),
                        ArrayType(inner, kind.ndim, kind.space, "A", kind.root), pure=base.pure)  # fmt: skip
        sizes = TupleType((INT64,) * kind.ndim)
        if name == "shape":
            return Expr(lambda state, mask: tuple(_size(n) for n in run(state, mask).shape), sizes, pure=True)
        if name == "strides":
            return Expr(lambda state, mask: _byte_strides(run(state, mask)), sizes, pure=True)
        if name == "size":
            return Expr(lambda state, mask: _total(run(state, mask).shape), INT64, pure=True)
        if name == "nbytes":
            width = np.int64(kind.dtype.itemsize)
            return Expr(lambda state, mask: _total(run(state, mask).shape) * width, INT64, pure=True)
        if name in ("ndim", "itemsize"):
            number = kind.ndim if name == "ndim" else kind.dtype.itemsize
            return constant(np.int64(number), INT64, number)
        if name == "dtype":
            return Expr(never, None, kind.dtype)
        if name == "T":
            return Expr(lambda state, mask: _transposed(run(state, mask)),
                        ArrayType(kind.dtype, kind.ndim, kind.space, "A", kind.root), pure=base.pure)  # fmt: skip
        known = [*_ATTRIBUTES, *(kind.dtype.names or ())]
        meant = did_you_mean(name, known, f"{scope.source.text(node.value)}.")
        raise scope.refuse(node, f"attribute .{name} of an array is not supported: {scope.source.text(node)}.{meant}")

    def _subscript(self, scope: Scope, node: ast.Subscript) -> Expr:
        base = self.array_of(scope, node.value)
        if isinstance(base.kind, TupleType):
            return self._item(scope, node, base)
        if isinstance(base.kind, RecordType) and isinstance(node.slice, ast.Constant):
            return self._field(scope, node, base, node.slice.value)
        if not isinstance(base.kind, ArrayType):
            raise scope.mistyped(node, f"{what(base)} cannot be indexed: {scope.source.text(node)}")
        kind, view = base.kind, base.run
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self._array_attribute(scope, ast.copy_location(
                ast.Attribute(node.value, node.slice.value, ast.Load()), node), base, node.slice.value)  # fmt: skip
        indices, literal = self.indices(scope, node, kind)
        line = node.lineno
        if any(isinstance(index, tuple) for index in indices) or len(indices) < kind.ndim:
            return self._part(scope, node, base, indices, literal)
        runs = [index.run for index in indices]
        if kind.dtype.names:
            record = RecordType(kind.dtype, kind.space, kind.root)
            return Expr(lambda state, mask: index_record(
                state, mask, view(state, mask), [run(state, mask) for run in runs], line, literal), record)  # fmt: skip
        site = self.program.site(scope, node, kind.space, "load", kind.root or array_name(node.value))
        return Expr(loader(view, runs, site, pieces(kind.dtype, kind.space), line, literal), kind.dtype)

    def array_of(self, scope: Scope, node: ast.expr) -> Expr:
        """Compile what is indexed; a NumPy array from outside the kernel is constant memory."""
        base = self.expression(scope, node)
        return self.constant_array(scope, node, base.const) if isinstance(base.const, np.ndarray) else base

    def constant_array(self, scope: Scope, node: ast.expr, array: npt.NDArray[Any]) -> Expr:
        """Copy of a NumPy array in constant memory."""
        data = np.array(array, order="C")
        return self.declare(scope, node, "constant", data.shape, data.dtype, data)

    def indices(self, scope: Scope, node: ast.Subscript, kind: ArrayType) -> tuple[list[Any], bool]:
        """Compile the indices of an array: an Expr each, or a tuple of three for a slice; and if all are literals."""
        inner = node.slice
        elements = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        if len(elements) == 1 and not isinstance(elements[0], ast.Slice):
            whole = self.expression(scope, elements[0])
            if isinstance(whole.kind, TupleType):
                found: list[Any] = [self.index(scope, node, item) for item in untuple(whole)]
                return self._enough(scope, node, kind, found), False
            found = [self.index(scope, elements[0], whole)]
        else:
            found = [
                tuple(None if bound is None else self.index(scope, bound, self.expression(scope, bound))
                      for bound in (element.lower, element.upper, element.step))
                if isinstance(element, ast.Slice) else self.index(scope, element, self.expression(scope, element))
                for element in elements
            ]  # fmt: skip
        literal = any(isinstance(index, Expr) and index.known and index.const < 0 for index in found)
        return self._enough(scope, node, kind, found), literal

    def _enough(self, scope: Scope, node: ast.Subscript, kind: ArrayType, found: list[Any]) -> list[Any]:
        if len(found) > kind.ndim:
            raise scope.mistyped(
                node, f"{len(found)} indices for an array of {kind.ndim} dimension(s): {scope.source.text(node)}"
            )
        return found

    def index(self, scope: Scope, node: ast.AST, expr: Expr) -> Expr:
        """An index: a whole number, as int64."""
        if expr.kind is None:
            raise self.valueless(scope, node, expr)
        if not isinstance(expr.kind, np.dtype) or expr.kind.kind not in "iu":
            raise scope.mistyped(
                node, f"an array index must be a whole number, got {what(expr)}: {scope.source.text(node)}. "
                "Use // instead of /, or int(...)."
            )  # fmt: skip
        if expr.known:
            return self.cast(expr, INT64)
        run = expr.run
        return Expr(lambda state, mask: state.index_of(run(state, mask)), INT64, pure=expr.pure)

    def _part(self, scope: Scope, node: ast.Subscript, base: Expr, indices: list[Any], literal: bool) -> Expr:
        view, line, kind = base.run, node.lineno, base.kind
        axes = sum(isinstance(index, tuple) for index in indices) + kind.ndim - len(indices)
        for index in indices:
            if isinstance(index, tuple) and index[2] is not None and not index[2].known:
                raise scope.refuse(node, f"the step of a slice must be a constant: {scope.source.text(node)}")
            if isinstance(index, tuple) and index[2] is not None and index[2].const == 0:
                raise scope.mistyped(node, f"the step of a slice is 0: {scope.source.text(node)}")

        def evaluate(state: State, mask: Mask) -> View:
            values = [
                slice(*(None if bound is None else bound.run(state, mask) for bound in index))
                if isinstance(index, tuple) else index.run(state, mask)
                for index in indices
            ]  # fmt: skip
            return part(view(state, mask), state, mask, values, line, literal)

        return Expr(evaluate, ArrayType(kind.dtype, axes, kind.space, "A", kind.root))

    def _item(self, scope: Scope, node: ast.Subscript, base: Expr) -> Expr:
        index = self.expression(scope, node.slice)
        if not index.known or not isinstance(index.const, (int, np.integer)):
            raise scope.refuse(node, f"a tuple needs a constant index: {scope.source.text(node)}")
        items = untuple(base)
        if not -len(items) <= index.const < len(items):
            raise scope.mistyped(node, f"tuple index out of range: {scope.source.text(node)}")
        return items[int(index.const)]

    def _field(self, scope: Scope, node: ast.expr, base: Expr, name: Any) -> Expr:
        kind, reference = base.kind, base.run
        if not isinstance(name, str) or name not in (kind.dtype.names or ()):
            raise scope.mistyped(node, f"the record has no field {name!r}: {scope.source.text(node)}")
        inner = kind.dtype.fields[name][0]
        if inner.subdtype is not None or inner.names:
            raise scope.refuse(node, f"field {name!r} is itself an array or record: {scope.source.text(node)}")
        site = self.program.site(scope, node, kind.space, "load", kind.root or array_name(node))
        parts, line = pieces(inner, kind.space, packed=not kind.dtype.isalignedstruct), node.lineno

        def evaluate(state: State, mask: Mask) -> Value:
            record: Record = reference(state, mask)
            view = record.view.field(name)
            active = mask if record.inside is None else _also(mask, record.inside)
            notify(state, site, parts, view, record.element, active)
            if view.initialised is not None:
                report_uninitialised(state, view, record.element, active, line)
            value = gather(state, view, record.element)
            return value if record.inside is None else np.where(record.inside, value, inner.type(0))

        return Expr(evaluate, inner)

    def declare(self, scope: Scope, node: ast.expr, space: Space, shape: tuple[int, ...], dtype: np.dtype[Any],
                data: Any = None) -> Expr:  # fmt: skip
        """Compile a shared, local or constant array."""
        key = (scope.source.name, id(scope), node.lineno, node.col_offset)
        if key not in self.program.places:
            alignment = max(16 if space == "shared" else 1, dtype.alignment)
            address = -(-self.program.bytes_of(space) // alignment) * alignment
            dynamic = space == "shared" and shape == (0,)
            name = self.naming or scope.source.text(node)
            self.program.places[key] = Place(name, space, dtype, shape, address, dynamic, data)
        place = self.program.places[key]
        strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))

        def evaluate(state: State, mask: Mask) -> View:
            view = state.memory.get(key)
            if view is None:
                view = state.memory[key] = allocate(state, place, strides)
            return view

        return Expr(evaluate, ArrayType(dtype, len(shape), space, root=place.name), pure=True)


def loader(view: Any, runs: list[Any], site: Any, parts: Any, line: int, literal: bool) -> Any:
    """Closure that loads one element per lane."""

    def evaluate(state: State, mask: Mask) -> Value:
        array: View = view(state, mask)
        element, inside, outside = locate(state, mask, array, [run(state, mask) for run in runs], line, literal)
        if state.observer is not None:
            notify(state, site, parts, array, element, inside)
            if array.initialised is not None:
                report_uninitialised(state, array, element, inside, line)
        value = gather(state, array, element)
        return value if outside is None else np.where(outside, value.dtype.type(0), value)[()]

    return evaluate


def storer(site: Any, parts: Any, line: int, literal: bool) -> Any:
    """Closure that stores one element per lane: (state, mask, view, indices, value)."""

    def execute(state: State, mask: Mask, array: View, indices: list[Value], value: Value) -> None:
        element, inside, _ = locate(state, mask, array, indices, line, literal)
        if state.observer is not None:
            notify(state, site, parts, array, element, inside, value)
        scatter(state, array, element, value, inside)

    return execute


def allocate(state: State, place: Place, strides: tuple[int, ...]) -> View:
    """Fresh memory for a declared array, for every block (thread) of the batch."""
    count = int(np.prod(place.shape))
    if place.space == "constant":
        return View(place.data.reshape(-1), "constant", place.name, place.address, place.dtype.itemsize, 0,
                    place.shape, strides)  # fmt: skip
    if place.dynamic:
        raw, nbytes, address = state.memory["dynamic shared"]
        return View(raw.view(place.dtype), "shared", place.name, address, place.dtype.itemsize, 0,
                    (nbytes // place.dtype.itemsize,), (1,))  # fmt: skip
    if place.space == "shared":
        flat = fill_poison(np.empty((*state.shape[:3], count), place.dtype))
        return View(flat, "shared", place.name, place.address, place.dtype.itemsize, 0, place.shape, strides)
    flat = fill_poison(np.empty((count, *state.shape), place.dtype))
    written = np.zeros(flat.shape, bool) if state.observer is not None else None
    return View(flat, "local", place.name, place.address, place.dtype.itemsize, 0, place.shape, strides, written)


def _size(value: Any) -> Any:
    return np.int64(value) if isinstance(value, int) else value


def _total(shape: tuple[Any, ...]) -> Any:
    total: Any = np.int64(1)
    for size in shape:
        total = total * size
    return total


def _byte_strides(view: View) -> tuple[Any, ...]:
    return tuple(np.int64(stride * view.unit) for stride in view.strides)


def _transposed(view: View) -> View:
    return replace(view, shape=view.shape[::-1], strides=view.strides[::-1])


def _also(mask: Mask, lanes: Any) -> Mask:

    return DEAD if not np.any(lanes) else both(mask, np.asarray(lanes)) if np.ndim(lanes) else mask
