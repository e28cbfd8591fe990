"""`load4` and `store4` for a real GPU: one 128-bit instruction each. Importing this imports numba.cuda.

PTX: `ld.global.v4.f32` / `st.global.v4.f32`; an address that is no multiple of 16 stops the kernel with
CUDA_ERROR_MISALIGNED_ADDRESS.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.cuda.extending import intrinsic

try:
    from numba.cuda.np.arrayobj import make_array
except ImportError:  # numba's own CUDA target, until numba 0.61
    from numba.np.arrayobj import make_array

__all__ = ["load4", "store4"]


def _checked(array: Any) -> Any:
    narrow = isinstance(array, types.Array) and array.ndim == 1 and array.dtype in (
        types.float32, types.int32, types.uint32
    )  # fmt: skip
    if not narrow:
        raise TypeError("load4 and store4 need a 1-D array of 4-byte numbers")
    return array.dtype


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    """Pointer to a vector of four elements, starting at element `index`."""
    fields = make_array(array_type)(context, builder, array)
    position = context.cast(builder, index, index_type, types.intp)
    element = builder.gep(fields.data, [position])
    vector = ir.VectorType(context.get_data_type(array_type.dtype), 4)
    return builder.bitcast(element, vector.as_pointer()), vector


@intrinsic
def load4(typingctx: Any, array: Any, index: Any) -> Any:
    """Load elements i to i + 3 with one instruction, as a tuple: ``load4(array, i)``."""
    element = _checked(array)
    result = types.UniTuple(element, 4)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, _ = _pointer(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        loaded = builder.load(pointer, align=16)
        items = [builder.extract_element(loaded, ir.Constant(ir.IntType(32), n)) for n in range(4)]
        return context.make_tuple(builder, result, items)

    return result(array, index), codegen


@intrinsic
def store4(typingctx: Any, array: Any, index: Any, values: Any) -> Any:
    """Store elements i to i + 3 with one instruction: ``store4(array, i, (a, b, c, d))``."""
    element = _checked(array)
    if not isinstance(values, types.BaseTuple) or len(values) != 4:
        raise TypeError("store4 stores a tuple of four numbers")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, vector = _pointer(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        packed = ir.Constant(vector, ir.Undefined)
        for n in range(4):
            item = context.cast(builder, builder.extract_value(args[2], n), signature.args[2][n], element)
            packed = builder.insert_element(packed, item, ir.Constant(ir.IntType(32), n))
        builder.store(packed, pointer, align=16)
        return context.get_dummy_value()

    return types.none(array, index, values), codegen
