"""CUtensorMap: what the bulk tensor copy engine is told of a matrix.

Source: CUDA Driver API, "Tensor Map Object Management".
"""

from __future__ import annotations

import ctypes
from functools import cache

from lanewise.errors import EnvironmentProblem
from lanewise.ladder.plan import MAP_TYPES, PlannedMap

BYTES, ALIGNMENT = 128, 64

#: CUtensorMapSwizzle by bytes.
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_NOT_INTERLEAVED, _L2_PROMOTION_128_BYTES, _ZEROS_OUTSIDE = 0, 2, 0

Encoded = ctypes.Array[ctypes.c_byte]


def encode(entry: PlannedMap, address: int) -> Encoded:
    """The map of the buffer at `address`, itself at a multiple of 64 bytes.

    Raises EnvironmentProblem where the driver refuses it.
    """
    whole = (ctypes.c_byte * (BYTES + ALIGNMENT))()
    held = (ctypes.c_byte * BYTES).from_buffer(whole, -ctypes.addressof(whole) % ALIGNMENT)
    rank = len(entry.extents)
    status = _driver().cuTensorMapEncodeTiled(
        ctypes.byref(held),
        MAP_TYPES[entry.type],
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*entry.extents),
        (ctypes.c_uint64 * rank)(*entry.pitches, 0),  # the innermost one is the element's size and not given
        (ctypes.c_uint32 * rank)(*entry.box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        _NOT_INTERLEAVED,
        SWIZZLES[entry.swizzle],
        _L2_PROMOTION_128_BYTES,
        _ZEROS_OUTSIDE,
    )
    if status:
        raise EnvironmentProblem(f"the driver refuses the tensor map {entry}: error {status}")
    return held


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")
