"""Where the parts of a copy of a box of a tensor lie, and what may be wrong with one (`tensor_copies`)."""

from __future__ import annotations


class TensorCopy:
    """One copy of a box of a tensor."""

    MAP = 0  # the map's 128 bytes, as they were when the copy was issued
    MAP_ADDRESS = 128  # i64: where it was read
    COORDINATES = 136  # i32 x 5
    OFFSETS = 156  # i16 x 3: of im2col
    SHARED = 168  # ptr: shared memory of the block that it reads or writes
    OFFSET = 184  # i32: where the box lies in shared memory
    OPERATION = 188  # i32, see TensorOperation
    COUNTERS = 192  # ptr: of the site
    CACHE = 200  # ptr: of the site
    PLACE = 208  # i32: of the instruction, for messages
    LANES = 212  # i32
    RANK = 216  # i32: as the instruction says
    IM2COL = 220  # i32: 1 where the instruction says so
    TRACE = 240  # i32: kind and site, as `trace` wants them; -1 where nothing is traced
    FILL = 224  # 16 bytes of what is outside the tensor
    SIZE = 256


class TensorIssue:
    """The operands of one execution of an instruction by a warp."""

    MAPS = 0  # <32 x i64>
    TO = 256  # <32 x i32>: shared memory, in shared::cluster
    BARRIERS = 384  # <32 x i32>
    BLOCKS = 512  # <32 x i32>: blocks of the cluster that get the box (multicast)
    COORDINATES = 640  # 5 x <32 x i32>
    OFFSETS = 1280  # 3 x <32 x i32>
    SIZE = 1664


class TensorOperation:
    """What a copy of a box does; the reductions follow."""

    LOAD = 0
    STORE = 1
    PREFETCH = 2
    REDUCE = 3


class TensorFault:
    """What is wrong with a copy of a box of a tensor."""

    MAP = 1
    RANK = 2
    MODE = 3
    ALIGNMENT = 4
    SHARED = 5
    GLOBAL = 6
    NO_MAP = 7
    MAP_ALIGNMENT = 8
    TYPE = 9
    COORDINATE = 10
    PIXEL = 11
    INTERLEAVE = 12
    NEGATIVE = 13
    CORNER = 14
