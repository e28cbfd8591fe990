"""`cp_async`, its commit and its wait for a real GPU. Importing this imports numba.cuda.

PTX: `cp.async.cg.shared.global` for 16 bytes (past L1), `cp.async.ca.shared.global` for 4 and 8, `commit_group` and
`wait_group`; compute capability 8.0 and later. On an older card the copy is an ordinary load and store.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.cuda.extending import intrinsic

from course.models.pipeline import COPY_BYTES

try:
    from numba.cuda.cgutils import get_item_pointer
    from numba.cuda.np.arrayobj import make_array
except ImportError:  # numba's own CUDA target, until numba 0.61
    from numba.core.cgutils import get_item_pointer
    from numba.np.arrayobj import make_array

__all__ = ["cp_async", "cp_async_commit", "cp_async_wait"]

_GLOBAL, _SHARED = 1, 3
"""Numbers of NVVM's address spaces."""
_FIRST_CC = (8, 0)


def _literal(kind: Any) -> Any:
    """The number that an argument is known to be while compiling; None if it is not known."""
    return getattr(kind, "literal_value", None)


def _supported() -> bool:
    """Whether the GPU has the instruction; without a GPU, kernels are compiled as for one that has."""
    from numba import cuda

    if not cuda.is_available():
        return True
    cc = tuple(cuda.get_current_device().compute_capability)
    if cc < _FIRST_CC and not _said:
        _said.append(True)
        print(
            f"This GPU has compute capability {cc[0]}.{cc[1]}, and cp.async begins with {_FIRST_CC[0]}.{_FIRST_CC[1]}: "
            "cuda.cp_async is an ordinary copy through registers here, and nothing overlaps."
        )
    return cc >= _FIRST_CC


_said: list[bool] = []


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    """Pointer to bytes at an element; `index` is a number or a tuple of them."""
    several: Any = index_type if isinstance(index_type, types.BaseTuple) else None
    if several is not None:
        kinds = list(several)
        numbers = [builder.extract_value(index, place) for place in range(len(kinds))]
    else:
        kinds, numbers = [index_type], [index]
    numbers = [context.cast(builder, number, kind, types.intp) for number, kind in zip(numbers, kinds, strict=True)]
    fields = make_array(array_type)(context, builder, array)
    element = get_item_pointer(context, builder, array_type, fields, numbers, wraparound=False)
    return builder.bitcast(element, ir.IntType(8).as_pointer())


def _address(builder: Any, pointer: Any, space: int, bits: int) -> Any:
    """Where a pointer points to, as a number in one memory space."""
    inside = builder.addrspacecast(pointer, ir.PointerType(ir.IntType(8), space))
    return builder.ptrtoint(inside, ir.IntType(bits))


def _assembly(builder: Any, text: str, constraints: str, arguments: list[Any]) -> None:
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(ir.InlineAsm(kind, text, constraints, side_effect=True), arguments)


def _axes(index: Any) -> int:
    return len(index) if isinstance(index, types.BaseTuple) else 1


@intrinsic
def cp_async(typingctx: Any, target: Any, place: Any, source: Any, start: Any, nbytes: Any) -> Any:
    """Start to copy `nbytes` from ``source[start]`` on to shared memory from ``target[place]`` on."""
    width = _literal(nbytes)
    if width is None:
        return None
    arrays = isinstance(target, types.Array) and isinstance(source, types.Array)
    if not arrays or target.dtype != source.dtype or (target.ndim, source.ndim) != (_axes(place), _axes(start)):
        raise TypeError("cp_async copies between two arrays of the same type, at one index for each axis")
    if width not in COPY_BYTES["ca"]:
        raise TypeError(f"cp_async copies 4, 8 or 16 bytes, not {width}")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        into = _pointer(context, builder, kinds[0], args[0], kinds[1], args[1])
        out_of = _pointer(context, builder, kinds[2], args[2], kinds[3], args[3])
        if _supported():
            cache = "cg" if width in COPY_BYTES["cg"] else "ca"
            addresses = [_address(builder, into, _SHARED, 32), _address(builder, out_of, _GLOBAL, 64)]
            _assembly(builder, f"cp.async.{cache}.shared.global [$0], [$1], {width};", "r,l,~{memory}", addresses)
        else:
            value = ir.VectorType(ir.IntType(32), width // 4) if width > 4 else ir.IntType(32)
            loaded = builder.load(builder.bitcast(out_of, value.as_pointer()), align=width)
            builder.store(loaded, builder.bitcast(into, value.as_pointer()), align=width)
        return context.get_dummy_value()

    return types.none(target, place, source, start, nbytes), codegen


@intrinsic
def cp_async_commit(typingctx: Any) -> Any:
    """Make one group of the copies that this thread started since its last commit."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _supported():
            _assembly(builder, "cp.async.commit_group;", "~{memory}", [])
        return context.get_dummy_value()

    return types.none(), codegen


@intrinsic
def cp_async_wait(typingctx: Any, pending: Any) -> Any:
    """Wait until at most `pending` of this thread's groups are still on their way."""
    groups = _literal(pending)
    if groups is None:
        return None
    if groups < 0:
        raise TypeError(f"cp_async_wait leaves 0 or more groups on their way, not {groups}")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _supported():
            _assembly(builder, f"cp.async.wait_group {groups};", "~{memory}", [])
        return context.get_dummy_value()

    return types.none(pending), codegen
