"""Copies of boxes of tensors, in LLVM IR: what cp.async.bulk.tensor and its kin do once they land.

`lw_tensor_move` takes a `TensorCopy`. It goes through the rows of the box in order: a row is a run of elements along
the innermost dimension, in chunks of 16 bytes, which is also what the swizzle moves. Tiles and im2col differ only in
how the other coordinates go on from row to row.
"""

from __future__ import annotations

from typing import NamedTuple

from lanewise.emulator.bulk import reducer
from lanewise.emulator.layout import (
    SITE_ON,
    SITE_REQUESTS_ON,
    SITE_SECTORS,
    SITE_SECTORS_IDEAL,
    BulkCopy,
    Fault,
    Worker,
)
from lanewise.emulator.moving import lane_vector
from lanewise.emulator.structured import Code
from lanewise.emulator.tensor_layout import TensorCopy, TensorFault, TensorOperation
from lanewise.emulator.tensor_maps import MAGIC, ElementType, Layout

_HEAD = "ptr %x, ptr %w, ptr %a"
_CHUNK = "ptr %x, ptr %w, ptr %a, ptr %shared, ptr %remote, i64 %lo, i64 %hi, i64 %n"
_DIMENSIONS = range(1, 5)
FILL = 0x7FF7_7FF7_7FF7_7FF7  # what an H200 fills with where the map asks for NaN, whatever the type
ENDLESS = 1 << 40  # more than any coordinate
CHUNK = 16
assert TensorCopy.MAP == 0


def definitions() -> str:
    """The functions' text."""
    return _check() + _move() + _edge() + _out() + _ROUND + _FAULT


_ROUND = """
; Four f32 become tf32: to the nearest, ties away from zero. NaN and infinities stay, and so does what was filled with.
define internal void @lw_tensor_round(ptr %p) nounwind {
  %v = load <4 x i32>, ptr %p, align 16
  %m = and <4 x i32> %v, splat (i32 2139095040)
  %special = icmp eq <4 x i32> %m, splat (i32 2139095040)
  %up = add <4 x i32> %v, splat (i32 4096)
  %cut = and <4 x i32> %up, splat (i32 -8192)
  %r = select <4 x i1> %special, <4 x i32> %v, <4 x i32> %cut
  store <4 x i32> %r, ptr %p, align 16
  ret void
}
"""

_FAULT = f"""
; A fault of the copy %a: %what is one of TensorFault, %address what it is about.
define internal void @lw_tensor_fault(ptr %x, ptr %w, ptr %a, i64 %what, i64 %address) noinline nounwind cold {{
  %i = insertelement <32 x i64> poison, i64 %address, i32 0
  %v = shufflevector <32 x i64> %i, <32 x i64> poison, <32 x i32> zeroinitializer
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %v, ptr %fa, align 64
  %sp = getelementptr i8, ptr %a, i64 {TensorCopy.PLACE}
  %s = load i32, ptr %sp
  %mp = getelementptr i8, ptr %a, i64 {TensorCopy.LANES}
  %m = load i32, ptr %mp
  %w32 = trunc i64 %what to i32
  call void @lw_fault(ptr %x, ptr %w, i32 %s, i32 {Fault.TENSOR}, i32 %m, i32 %w32)
  unreachable
}}
"""


def _fault(c: Code, what: int, address: str) -> None:
    c.line(f"call void @lw_tensor_fault({_HEAD}, i64 {what}, i64 {address})")
    c.line("unreachable")


def checksum(c: Code, at: str) -> str:
    """`tensor_maps.checksum` of the map at a pointer."""
    total = c.variable()
    with c.loop(Layout.CHECK // 4) as i:
        c.set(total, c.op("and", c.add(c.mul(c.get(total), 31), c.field(at, c.mul(i, 4), "i32")), 0xFFFFFFFF))
    return c.get(total)


def _divided_up(c: Code, a: str, b: str) -> str:
    return c.op("sdiv", c.sub(c.add(a, b), 1), b)


def _check() -> str:
    """Look at the map and the place in shared memory, when the copy is issued. Returns the bytes of the box."""
    c = Code()
    magic = c.test("eq", c.field("%a", TensorCopy.MAP + Layout.MAGIC, "i32"), MAGIC)
    same = c.test("eq", checksum(c, "%a"), c.field("%a", TensorCopy.MAP + Layout.CHECK, "i32"))
    with c.unless(c.both(magic, same)):
        _fault(c, TensorFault.MAP, c.field("%a", TensorCopy.MAP_ADDRESS))
    rank = c.field("%a", TensorCopy.MAP + Layout.RANK, "i8")
    with c.when(c.test("ne", rank, c.field("%a", TensorCopy.RANK, "i32"))):
        _fault(c, TensorFault.RANK, rank)
    im2col = c.field("%a", TensorCopy.MAP + Layout.IM2COL, "i8")
    with c.when(c.test("ne", im2col, c.field("%a", TensorCopy.IM2COL, "i32"))):
        _fault(c, TensorFault.MODE, im2col)
    _check_type(c)
    _check_start(c)
    fill = c.select(c.test("ne", c.field("%a", TensorCopy.MAP + Layout.FILL, "i8"), 0), FILL, 0)
    for half in range(2):
        c.line(f"store i64 {fill}, ptr {c.at('%a', TensorCopy.FILL + 8 * half)}")
    offset = c.field("%a", TensorCopy.OFFSET, "i32")
    with c.when(c.test("ne", c.op("and", offset, 127), 0)):
        _fault(c, TensorFault.ALIGNMENT, offset)
    row, rows, pitch = _shape(c)
    with c.when(c.test("ugt", c.add(offset, c.mul(rows, pitch)), "%limit")):
        _fault(c, TensorFault.SHARED, offset)
    size = c.field("%a", TensorCopy.MAP + Layout.SIZE, "i8")
    c.line(f"ret i64 {c.mul(c.mul(row, size), rows)}")
    return "; Is the copy %a of a box one that can be made? Returns its bytes.\n" + c.text(
        f"define internal i64 @lw_tensor_check({_HEAD}, i64 %limit) noinline nounwind"
    )


def _check_type(c: Code) -> None:
    """A reduction takes some types."""
    operation = c.field("%a", TensorCopy.OPERATION, "i32")
    kind = c.field("%a", TensorCopy.MAP + Layout.TYPE, "i8")
    for number, name in enumerate(REDUCTIONS):
        types = sum(1 << int(element_type) for element_type in reduced_types(name))
        taken = c.test("ne", c.op("and", c.op("shl", "1", kind), types), 0)
        is_this = c.test("eq", operation, TensorOperation.REDUCE + number)
        with c.when(c.both(is_this, c.let(f"xor i1 {taken}, true"))):
            _fault(c, TensorFault.TYPE, kind)


def _check_start(c: Code) -> None:
    """The first coordinate is one of a chunk; those of im2col lie in the box between the corners."""
    at = c.at("%a", TensorCopy.MAP)
    first = c.field("%a", TensorCopy.COORDINATES, "i32", signed=True)
    with c.when(c.test("ne", c.op("and", c.mul(first, c.field(at, Layout.SIZE, "i8")), CHUNK - 1), 0)):
        _fault(c, TensorFault.COORDINATE, first)
    with c.when(c.test("ne", c.field(at, Layout.IM2COL, "i8"), 0)):
        interleave = c.field(at, Layout.INTERLEAVE, "i8")
        with c.when(c.test("ne", interleave, 0)):
            _fault(c, TensorFault.INTERLEAVE, interleave)
        last = c.sub(c.field(at, Layout.RANK, "i8"), 1)
        for dimension in _dimensions(c, at, c.add(last, 1), "true")[:3]:
            start = c.get(dimension.current)
            below = c.test("slt", start, dimension.reset)
            with c.when(c.let(f"or i1 {below}, {c.test('sge', start, dimension.end)}")):
                _fault(c, TensorFault.PIXEL, start)
    operation = c.field("%a", TensorCopy.OPERATION, "i32")
    with c.when(c.test("sge", operation, TensorOperation.STORE)):
        _check_target(c, at)


def _check_target(c: Code, at: str) -> None:
    """What goes to global memory starts in the tensor, and its box of pixels does not go beyond it."""
    with c.loop(c.field(at, Layout.RANK, "i8")) as d:
        coordinate = c.field(c.at("%a", TensorCopy.COORDINATES), c.mul(d, 4), "i32", signed=True)
        with c.when(c.test("slt", coordinate, 0)):
            _fault(c, TensorFault.NEGATIVE, coordinate)
    for number in range(3):
        lower = c.field(at, Layout.LOWER + 2 * number, "i16", signed=True)
        upper = c.field(at, Layout.UPPER + 2 * number, "i16", signed=True)
        for corner, beyond in ((lower, c.test("slt", lower, 0)), (upper, c.test("sgt", upper, 0))):
            with c.when(beyond):
                _fault(c, TensorFault.CORNER, corner)


def _shape(c: Code) -> tuple[str, str, str]:
    """Elements of a row, rows, and bytes from one row to the next in shared memory."""
    at = c.at("%a", TensorCopy.MAP)
    row = c.field(at, Layout.BOX, "i16")
    tile = c.variable("1")
    for d in _DIMENSIONS:
        box, step = c.field(at, Layout.BOX + 2 * d, "i16"), c.field(at, Layout.STEPS + d, "i8")
        c.set(tile, c.mul(c.get(tile), c.op("udiv", c.sub(c.add(box, step), 1), step)))
    im2col = c.test("ne", c.field(at, Layout.IM2COL, "i8"), 0)
    rows = c.select(im2col, c.field(at, Layout.BOX + 2, "i16"), c.get(tile))
    bytes_ = c.mul(row, c.field(at, Layout.SIZE, "i8"))
    swizzle = c.field(at, Layout.SWIZZLE, "i8")
    span = c.select(c.test("ne", swizzle, 0), c.op("shl", str(CHUNK), swizzle), 0)
    return row, rows, c.largest(bytes_, span)


def _move() -> str:
    c = Code()
    at = c.at("%a", TensorCopy.MAP)
    operation = c.field("%a", TensorCopy.OPERATION, "i32")
    loads = c.test("eq", operation, TensorOperation.LOAD)
    moves = c.test("ne", operation, TensorOperation.PREFETCH)
    im2col = c.test("ne", c.field(at, Layout.IM2COL, "i8"), 0)
    rank, size = c.field(at, Layout.RANK, "i8"), c.field(at, Layout.SIZE, "i8")
    address = c.field(at, Layout.ADDRESS)
    row, rows, pitch = _shape(c)
    first = c.field("%a", TensorCopy.COORDINATES, "i32", signed=True)
    width = c.add(c.field(at, Layout.LAST, "i32"), 1)
    # What is inside the tensor of each row, in elements from the start of the row.
    stretch = c.field(at, Layout.STEPS, "i8")  # from one element of a row to the next, in the tensor
    begin = c.smallest(c.largest(_divided_up(c, c.sub("0", first), stretch), 0), row)
    end = c.largest(c.smallest(_divided_up(c, c.sub(width, first), stretch), row), begin)
    bytes_, begin_bytes, end_bytes = (c.mul(count, size) for count in (row, begin, end))
    start = c.add(address, c.mul(first, size))
    some = c.test("ult", begin, end)
    dimensions = _dimensions(c, at, rank, im2col)
    base = c.pointer(c.at("%a", TensorCopy.SHARED))
    offset = c.field("%a", TensorCopy.OFFSET, "i32")
    swizzle = c.field(at, Layout.SWIZZLE, "i8")
    mask = c.sub(c.op("shl", "1", swizzle), 1)  # of the bits of a chunk's number that are exchanged
    sectors, filled = c.variable(), c.variable()
    rounds = c.test("uge", c.field(at, Layout.TYPE, "i8"), int(ElementType.TFLOAT32))
    traced = c.test("ne", c.field("%a", TensorCopy.TRACE, "i32", signed=True), -1)
    chunks = c.op("lshr", c.add(bytes_, CHUNK - 1), 4)
    with c.loop(rows) as r:
        inside = c.variable("true", "i1")
        place = c.variable(start)
        for dimension in dimensions:
            coordinate = c.add(c.get(dimension.current), dimension.offset)
            good = c.test("ult", coordinate, dimension.size)
            c.set(inside, c.both(c.get(inside, "i1"), good), "i1")
            c.set(place, c.add(c.get(place), c.mul(coordinate, dimension.stride)))
        there = c.both(c.get(inside, "i1"), some)
        source = c.get(place)
        with c.when(there):
            low = c.add(source, c.mul(begin_bytes, stretch))
            reach = c.add(c.mul(c.sub(c.sub(end_bytes, begin_bytes), size), stretch), size)
            _check_row(c, low, reach)
            _count_row(c, low, c.add(low, reach), sectors)
            with c.when(traced):
                _trace_row(c, low, c.add(low, reach))
            c.set(filled, c.add(c.get(filled), c.sub(end_bytes, begin_bytes)))
        with c.when(moves), c.loop(chunks) as chunk:
            from_ = c.mul(chunk, CHUNK)
            line = c.add(c.add(offset, c.mul(r, pitch)), from_)
            turned = c.op("and", c.op("lshr", line, 7), mask)
            shared = c.at(base, c.op("xor", line, c.op("shl", turned, 4)))
            element = c.op("udiv", from_, size)
            there_from = c.add(c.mul(c.mul(element, stretch), size), c.op("urem", from_, size))
            remote = c.let(f"inttoptr i64 {c.add(source, there_from)} to ptr")
            whole = c.both(c.test("uge", from_, begin_bytes), c.test("ule", c.add(from_, CHUNK), end_bytes))
            whole = c.both(whole, there)
            lo = c.select(there, c.smallest(c.largest(c.sub(begin_bytes, from_), 0), CHUNK), CHUNK)
            hi = c.select(there, c.smallest(c.largest(c.sub(end_bytes, from_), 0), CHUNK), 0)
            numbers = ", ".join(f"i64 {number}" for number in (lo, hi, c.smallest(c.sub(bytes_, from_), CHUNK)))
            args = f"ptr %x, ptr %w, ptr %a, ptr {shared}, ptr {remote}, {numbers}"
            with c.when(loads):
                with c.when(whole):
                    c.line(f"store i128 {c.let(f'load i128, ptr {remote}, align 1')}, ptr {shared}, align 16")
                with c.unless(whole):
                    c.line(f"call void @lw_tensor_edge({args})")
                with c.when(rounds):
                    c.line(f"call void @lw_tensor_round(ptr {shared})")
            with c.unless(loads):
                c.line(f"call void @lw_tensor_out({args})")
        _next_row(c, dimensions)
    _count(c, c.get(sectors), c.get(filled))
    c.line("ret void")
    return "; The copy %a of a box, which passed the check, lands.\n" + c.text(
        f"define internal void @lw_tensor_move({_HEAD}) noinline nounwind"
    )


class _Dimension(NamedTuple):
    """How a coordinate goes: values in the LLVM function."""

    current: str  # a variable
    reset: str
    end: str
    step: str
    offset: str  # added to it: of im2col
    size: str
    stride: str


def _dimensions(c: Code, at: str, rank: str, im2col: str) -> list[_Dimension]:
    """Dimensions 1 to 4. Tiles go from a coordinate through the box. Pixels of im2col go from a coordinate through the
    box between the corners, start at the lower corner again, and go on in the last dimension without an end."""
    result = []
    for d in _DIMENSIONS:
        coordinate = c.field("%a", TensorCopy.COORDINATES + 4 * d, "i32", signed=True)
        size = c.add(c.field(at, Layout.LAST + 4 * d, "i32"), 1)
        box = c.field(at, Layout.BOX + 2 * d, "i16")
        step = c.field(at, Layout.STEPS + d, "i8")
        reset, end, offset = coordinate, c.select(im2col, ENDLESS, c.add(coordinate, box)), "0"
        if d < 4:
            is_pixel = c.both(im2col, c.test("slt", str(d), c.sub(rank, 1)))
            lower = c.field(at, Layout.LOWER + 2 * (d - 1), "i16", signed=True)
            upper = c.field(at, Layout.UPPER + 2 * (d - 1), "i16", signed=True)
            reset = c.select(is_pixel, lower, reset)
            end = c.select(is_pixel, c.add(size, upper), end)
            offset = c.select(is_pixel, c.field("%a", TensorCopy.OFFSETS + 2 * (d - 1), "i16"), 0)
        stride = c.field(at, Layout.STRIDES + 8 * (d - 1))
        result.append(_Dimension(c.variable(coordinate), reset, end, step, offset, size, stride))
    return result


def _next_row(c: Code, dimensions: list[_Dimension]) -> None:
    first, *more = dimensions
    c.set(first.current, c.add(c.get(first.current), first.step))
    if more:
        with c.when(c.test("sge", c.get(first.current), first.end)):
            c.set(first.current, first.reset)
            _next_row(c, more)


def _check_row(c: Code, begin: str, length: str) -> None:
    """The bytes of a row lie in one live allocation: `cache` is the one that the last row lay in."""
    cache = c.pointer(c.at("%a", TensorCopy.CACHE))
    low, room = c.field(cache, 0), c.field(cache, 8)
    inside = c.test("ult", c.sub(begin, low), room)
    inside = c.both(inside, c.test("ule", c.add(c.sub(begin, low), length), room))
    with c.unless(inside):
        found = c.let(f"call i1 @lw_find(ptr %w, i64 {begin}, i64 {length}, ptr {cache})")
        with c.unless(found):
            _fault(c, TensorFault.GLOBAL, begin)
        # The cache of an access holds the places where it starts; rows differ in length.
        c.line(f"store i64 {c.sub(c.add(c.field(cache, 8), length), 1)}, ptr {c.at(cache, 8)}")


def _count_row(c: Code, begin: str, end: str, sectors: str) -> None:
    """Sectors of a row. An H200 asks for a sector where two rows meet twice."""
    low, high = c.op("lshr", begin, 5), c.op("lshr", c.sub(end, 1), 5)
    c.set(sectors, c.add(c.get(sectors), c.add(c.sub(high, low), 1)))


def _trace_row(c: Code, begin: str, end: str) -> None:
    """The sectors of a row, up to 32 at a time."""
    first = c.op("and", begin, -32)
    count = c.op("lshr", c.add(c.sub(end, first), 31), 5)
    what = c.let(f"trunc i64 {c.field('%a', TensorCopy.TRACE, 'i32')} to i32")
    with c.loop(c.op("lshr", c.add(count, 31), 5)) as number:
        at = c.add(first, c.mul(number, 32 * 32))
        left = c.smallest(c.sub(count, c.mul(number, 32)), 32)
        mask = c.let(f"trunc i64 {c.sub(c.op('shl', '1', left), 1)} to i32")
        one = c.let(f"insertelement <32 x i64> poison, i64 {at}, i32 0")
        all_ = c.let(f"shufflevector <32 x i64> {one}, <32 x i64> poison, <32 x i32> zeroinitializer")
        places = lane_vector("i64", (32 * lane for lane in range(32)))
        addresses = c.let(f"add <32 x i64> {all_}, {places}")
        c.line(f"call void @lw_trace(ptr %x, ptr %w, <32 x i64> {addresses}, i32 {mask}, i32 {what})")


def _count(c: Code, sectors: str, filled: str) -> None:
    counters = c.pointer(c.at("%a", TensorCopy.COUNTERS))
    with c.when(c.let(f"icmp eq ptr {counters}, null")):
        c.line("ret void")
    ideal = c.op("lshr", c.add(filled, 31), 5)
    for counter, value in (
        (SITE_SECTORS, sectors),
        (SITE_SECTORS_IDEAL, c.smallest(ideal, sectors)),
        (SITE_ON, "1"),
        (SITE_REQUESTS_ON, "1"),
    ):
        place = c.at(counters, 8 * counter)
        c.line(f"store i64 {c.add(c.field(counters, 8 * counter), value)}, ptr {place}")


def _edge() -> str:
    c = Code()
    fill = c.at("%a", TensorCopy.FILL)
    with c.loop("%n") as i:
        there = c.both(c.test("uge", i, "%lo"), c.test("ult", i, "%hi"))
        with c.when(there):
            c.move_byte(c.at("%remote", i), c.at("%shared", i))
        with c.unless(there):
            c.move_byte(c.at(fill, i), c.at("%shared", i))
    c.line("ret void")
    return "; A chunk of %n bytes of which those from %lo to %hi lie in the tensor; the others are filled.\n" + c.text(
        f"define internal void @lw_tensor_edge({_CHUNK}) noinline nounwind"
    )


def _out() -> str:
    c = Code()
    operation = c.field("%a", TensorCopy.OPERATION, "i32")
    kind = c.field("%a", TensorCopy.MAP + Layout.TYPE, "i8")
    with c.unless(c.test("slt", "%lo", "%hi")):
        c.line("ret void")
    source, target = c.at("%shared", "%lo"), c.at("%remote", "%lo")
    length = c.sub("%hi", "%lo")
    copy = c.array(32, "i8")
    for offset, element, value in (
        (BulkCopy.TO, "ptr", target),
        (BulkCopy.FROM, "ptr", source),
        (BulkCopy.BYTES, "i64", length),
    ):
        c.line(f"store {element} {value}, ptr {c.at(copy, offset)}")
    with c.when(c.test("eq", operation, TensorOperation.STORE)):
        c.line(f"call void @lw_bulk_copy(ptr %x, ptr %w, ptr {copy})")
        c.line("ret void")
    for number, name in enumerate(REDUCTIONS):
        for element_type, suffix in reduced_types(name).items():
            both = c.both(
                c.test("eq", operation, TensorOperation.REDUCE + number), c.test("eq", kind, int(element_type))
            )
            with c.when(both):
                c.line(f"call void @{reducer(name, suffix)}(ptr %x, ptr %w, ptr {copy})")
                c.line("ret void")
    c.line("ret void")
    return "; The bytes from %lo to %hi of a chunk go to global memory, or are combined into it.\n" + c.text(
        f"define internal void @lw_tensor_out({_CHUNK}) noinline nounwind"
    )


REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_T = ElementType
_ORDERED = {_T.UINT32: "u32", _T.INT32: "s32", _T.UINT64: "u64", _T.FLOAT16: "f16", _T.BFLOAT16: "bf16"}


def reduced_types(operation: str) -> dict[ElementType, str]:
    """The types of tensors that a reduction takes, as an H200 does, and the type in which it is done."""
    if operation in ("and", "or", "xor"):
        return {_T.UINT32: "b32", _T.INT32: "b32", _T.UINT64: "b64"}
    if operation in ("inc", "dec"):
        return {_T.UINT32: "u32"}
    if operation == "add":
        floats = dict.fromkeys((_T.FLOAT32, _T.FLOAT32_FTZ, _T.TFLOAT32, _T.TFLOAT32_FTZ), "f32")
        return {**_ORDERED, **floats, _T.FLOAT64: "f64"}
    return {**_ORDERED, _T.INT64: "s64"}
