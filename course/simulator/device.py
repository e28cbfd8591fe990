"""Arrays on the simulated device: a buffer, a device address, and views that keep their offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from course.errors import ArgumentValueError

__all__ = ["ALIGNMENT", "Addresses", "DeviceArray", "refuse_scattered"]

ALIGNMENT = 256
"""Every allocation starts at a multiple of this many bytes (cudaMalloc promises 256)."""
_FIRST_ADDRESS = 0x7000_0000_0000
_HOST_ADDRESS = 0x1000_0000_0000


class Addresses:
    """Hands out aligned device addresses; one for `to_device`, a fresh one per launch for host arrays."""

    def __init__(self, first: int = _HOST_ADDRESS) -> None:
        self._free = first

    def take(self, nbytes: int) -> int:
        """Address of a new allocation."""
        address = self._free
        self._free += -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
        return address


_device_addresses = Addresses(_FIRST_ADDRESS)


class DeviceArray:
    """An array in simulated device memory, with the interface of numba's device arrays."""

    def __init__(self, array: npt.NDArray[Any], buffer: npt.NDArray[np.uint8], address: int) -> None:
        self._array, self._buffer, self._address = array, buffer, address
        self.origin: Any = None
        """Array on a real GPU that this one is a copy of; it gets the values back after a launch."""

    @classmethod
    def allocate(cls, shape: Any, dtype: Any, order: Any = "C") -> DeviceArray:
        """New memory. Like a GPU's, it holds no particular values (here: a pattern that is no result)."""
        array = np.empty(shape, dtype, order)
        buffer = array.reshape(-1, order="A").view(np.uint8) if array.size else np.empty(0, np.uint8)
        buffer.fill(0x7B)
        return cls(array, buffer, _device_addresses.take(array.nbytes))

    @classmethod
    def copy_of(cls, source: npt.ArrayLike) -> DeviceArray:
        """New memory with the values of a host array."""
        host = np.asarray(source)
        refuse_scattered(host, "the array")
        made = cls.allocate(host.shape, host.dtype, "F" if host.flags.f_contiguous and host.ndim > 1
                            and not host.flags.c_contiguous else "C")  # fmt: skip
        made._array[...] = host
        return made

    @classmethod
    def copy_of_gpu(cls, array: Any) -> DeviceArray:
        """Copy of an array on a real GPU, at the same device address."""
        host = array.copy_to_host()
        buffer = host.reshape(-1, order="A").view(np.uint8) if host.size else np.empty(0, np.uint8)
        made = cls(host, buffer, int(array.__cuda_array_interface__["data"][0] or 0))
        made.origin = array
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of every axis."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of an element."""
        return self._array.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along every axis."""
        return self._array.strides

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._array.size

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._array.ndim

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    @property
    def device_address(self) -> int:
        """Device address of the first element."""
        return self._address + self._offset()

    @property
    def T(self) -> DeviceArray:  # noqa: N802 (NumPy's name)
        """The transposed view."""
        return self._view(self._array.T)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        found = self._array[index]
        return self._view(found) if isinstance(found, np.ndarray) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[index] = value.copy_to_host() if isinstance(value, DeviceArray) else value

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.array(self._array, dtype)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype})"

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same elements in another shape (no copy)."""
        reshaped = self._array.reshape(*shape)
        if not np.shares_memory(reshaped, self._array) and self.size:
            raise NotImplementedError("reshape would need a copy: only contiguous device arrays can be reshaped.")
        return self._view(reshaped)

    def ravel(self) -> DeviceArray:
        """The same elements on one axis."""
        return self.reshape(-1)

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as another type."""
        return self._view(self._array.view(dtype))

    def copy_to_host(self, ary: npt.NDArray[Any] | None = None, stream: Any = None) -> npt.NDArray[Any]:
        """The values as a NumPy array; into `ary` when given."""
        if ary is None:
            return self._array.copy(order="K")
        if ary.shape != self.shape or ary.dtype != self.dtype:
            raise ArgumentValueError(
                f"cannot copy an array of shape {self.shape} and type {self.dtype} into one of shape {ary.shape} and "
                f"type {ary.dtype}: use the same shape and type."
            )
        ary[...] = self._array
        return ary

    def copy_to_device(self, ary: Any, stream: Any = None) -> None:
        """Overwrite the values with those of a host or device array of the same shape and type."""
        source = ary._array if isinstance(ary, DeviceArray) else np.asarray(ary)
        if source.shape != self.shape or source.dtype != self.dtype:
            raise ArgumentValueError(
                f"cannot copy an array of shape {source.shape} and type {source.dtype} to one of shape {self.shape} "
                f"and type {self.dtype}: use the same shape and type."
            )
        self._array[...] = source

    def is_c_contiguous(self) -> bool:
        """Whether the elements lie in row order without gaps."""
        return bool(self._array.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether the elements lie in column order without gaps."""
        return bool(self._array.flags.f_contiguous)

    def _view(self, array: npt.NDArray[Any]) -> DeviceArray:
        return DeviceArray(array, self._buffer, self._address)

    def _offset(self) -> int:
        return self._array.ctypes.data - self._buffer.ctypes.data if self.size else 0

    @property
    def buffer(self) -> npt.NDArray[np.uint8]:
        """The bytes of the allocation that the array is a view of."""
        return self._buffer

    @property
    def address(self) -> int:
        """Device address of the first byte of `buffer`."""
        return self._address

    @property
    def host_array(self) -> npt.NDArray[Any]:
        """The simulator's own memory (not a copy)."""
        return self._array


def refuse_scattered(array: npt.NDArray[Any], name: str) -> None:
    """Host arrays must be one piece of memory, as numba demands."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ArgumentValueError(
            f"{name} is not contiguous (shape {array.shape}, strides {array.strides}), so it cannot be copied to the "
            "device in one piece: pass np.ascontiguousarray(...) of it, or slice a device array instead."
        )
