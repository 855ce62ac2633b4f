"""Arrays of other libraries, in place: through DLPack, or the CUDA array interface where there is no DLPack (numba).

DLPack: https://dmlc.github.io/dlpack/latest/c_api.html. CUDA array interface, version 3:
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.errors import UsageError
from lanewise.gpu import bindings

_CUDA = 2  # DLDeviceType
_KINDS = {0: "i", 1: "u", 2: "f", 4: "bf", 6: "u"}  # DLDataTypeCode; a bool is a byte
_CAI_KINDS = {"i": "i", "u": "u", "f": "f", "b": "u"}
#: Type names that the libraries spell otherwise; both have the others by numpy's names.
_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}
_NAMES |= {"u8": "uint8", "i8": "int8", "i16": "int16", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
_LEGACY_STREAM = 1


@dataclass(frozen=True, slots=True)
class Array:
    """An array on a card: address, shape, strides in elements, element type (`f32`), card, the library it is of."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    device: int
    library: str
    owner: Any  # kept, so that the memory stays

    @property
    def itemsize(self) -> int:
        return int(self.element.lstrip("iufb")) // 8

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def contiguous(self) -> bool:
        """By rows, without gaps."""
        return self.elements == 0 or all(
            extent == 1 or stride == wanted
            for extent, stride, wanted in zip(self.shape, self.strides, row_strides(self.shape), strict=True)
        )

    @property
    def alignment(self) -> int:
        """The largest power of two up to 256 that divides the address."""
        return min(256, self.address & -self.address) if self.address else 256


def row_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of an array stored by rows, in elements."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))[: len(shape)] if shape else ()


def view(array: Any, what: str) -> Array:
    """The array as it lies. Raises UsageError for something that is no array on a card; `what` names the argument."""
    library = type(array).__module__.split(".")[0]
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        kind, device = array.__dlpack_device__()
        if int(kind) == _CUDA:
            return _from_dlpack(array, int(device), library, what)
    elif hasattr(array, "__cuda_array_interface__"):
        return _from_interface(array, library)
    raise UsageError(
        f"{what} is no array on a GPU: {type(array).__module__}.{type(array).__qualname__}",
        next_step="Give a torch, CuPy or numba array on a CUDA device.",
    )


def empty(shape: tuple[int, ...], element: str, like: Array) -> Any:
    """A new array of the library of `like`, on its card. Raises UsageError where that library is not known."""
    if like.library not in ("torch", "cupy", "numba"):
        raise UsageError(f"no new array can be made as {like.library} makes them", next_step="Give `out`.")
    if like.library == "torch":
        torch = importlib.import_module("torch")
        return torch.empty(shape, dtype=getattr(torch, _NAMES[element]), device=f"cuda:{like.device}")
    if like.library == "cupy":
        cupy = importlib.import_module("cupy")
        with cupy.cuda.Device(like.device):
            return cupy.empty(shape, dtype=_NAMES[element])
    return importlib.import_module("numba.cuda").device_array(shape, dtype=_NAMES[element])


def current_stream(like: Array) -> int:
    """The stream on which the array's library works now, as a handle of the driver."""
    if like.library == "torch":
        return int(importlib.import_module("torch").cuda.current_stream(like.device).cuda_stream)
    if like.library == "cupy":
        return int(importlib.import_module("cupy").cuda.get_current_stream().ptr)
    return 0


class _DLDevice(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _from_dlpack(array: Any, device: int, library: str, what: str) -> Array:
    # torch and CuPy work on the stream that we will use, so nobody needs to wait; of others the legacy stream waits.
    stream = -1 if library in ("torch", "cupy") else _LEGACY_STREAM
    try:
        capsule = array.__dlpack__(stream=stream)
    except (BufferError, RuntimeError) as error:
        raise UsageError(f"{what} cannot be used in place: {error}") from error
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    if tensor.dtype.lanes != 1 or tensor.dtype.code not in _KINDS:
        raise UsageError(f"{what} has elements of a kind that no rung takes (DLPack code {tensor.dtype.code})")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else row_strides(shape)
    element = f"{_KINDS[tensor.dtype.code]}{tensor.dtype.bits}"
    return Array((tensor.data or 0) + tensor.byte_offset, shape, strides, element, device, library, (array, capsule))


def _from_interface(array: Any, library: str) -> Array:
    interface = array.__cuda_array_interface__
    kind, size = interface["typestr"][1], int(interface["typestr"][2:])
    if kind not in _CAI_KINDS:
        raise UsageError(f"elements of type {interface['typestr']}: no rung takes them")
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    by_element = row_strides(shape) if strides is None else tuple(stride // size for stride in strides)
    address = interface["data"][0] or 0
    return Array(address, shape, by_element, f"{_CAI_KINDS[kind]}{8 * size}", _device_of(address), library, array)


def _device_of(address: int) -> int:
    """The card that holds an address (0 for an empty array)."""
    if not address:
        return 0
    driver = bindings.driver()
    ordinal = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    status, device = driver.cuPointerGetAttribute(ordinal, address)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise UsageError("the address of the CUDA array interface is not of a GPU")
    return int(device)
