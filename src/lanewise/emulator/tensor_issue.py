"""Copies of boxes of tensors are issued, in LLVM IR: for each lane the map is read and checked, and a copy added to the
ring of bulk copies (`bulk`), from which it lands when somebody waits for it."""

from __future__ import annotations

from lanewise.emulator.layout import RANK_SHIFT, BulkEntry, Launch, Worker
from lanewise.emulator.structured import Code
from lanewise.emulator.tensor_layout import TensorCopy, TensorFault, TensorIssue, TensorOperation
from lanewise.emulator.tensor_maps import ALIGNMENT, BYTES, MAX_RANK

assert TensorCopy.SIZE <= BulkEntry.PAYLOAD_BYTES
_RANKS = 16  # blocks that a mask of multicast may name
_LOW = (1 << RANK_SHIFT) - 1


def definitions() -> str:
    """The functions' text."""
    return _lanes() + _one() + _INTRINSICS


_INTRINSICS = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"


def _copy(c: Code, target: str, source: str, size: int) -> None:
    c.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def _put(c: Code, offset: int | str, kind: str, value: str, base: str = "%a") -> None:
    c.line(f"store {kind} {value}, ptr {c.at(base, offset)}, align 1")


def _fault(c: Code, what: int, address: str) -> None:
    c.line(f"call void @lw_tensor_fault(ptr %x, ptr %w, ptr %a, i64 {what}, i64 {address})")
    c.line("unreachable")


def _i32(c: Code, value: str) -> str:
    return c.let(f"trunc i64 {value} to i32")


def _has_bit(c: Code, mask: str, number: str) -> str:
    return c.test("ne", c.op("and", mask, c.op("shl", "1", number)), 0)


def _lanes() -> str:
    c = Code()
    copy = c.array(TensorCopy.SIZE, "i8")
    c.line(f"%a = getelementptr i8, ptr {copy}, i64 0")
    mask = c.let("zext i32 %m to i64")
    c.line("%which = zext i32 %operation to i64")
    cache, first = c.array(2), c.variable("-1")
    with c.loop(32) as lane:
        bit = c.op("shl", "1", lane)
        with c.when(_has_bit(c, mask, lane)):
            wide, narrow = c.mul(lane, 8), c.mul(lane, 4)
            map_ = c.field("%i", c.add(wide, TensorIssue.MAPS))
            for offset, value in (
                (TensorCopy.PLACE, "%place"),
                (TensorCopy.LANES, _i32(c, bit)),
                (TensorCopy.RANK, "%rank"),
                (TensorCopy.IM2COL, "%im2col"),
                (TensorCopy.OPERATION, "%operation"),
                (TensorCopy.TRACE, "%trace"),
            ):
                _put(c, offset, "i32", value)
            _put(c, TensorCopy.COUNTERS, "ptr", "%c")
            _put(c, TensorCopy.CACHE, "ptr", "%k")
            _put(c, TensorCopy.MAP_ADDRESS, "i64", map_)
            with c.when(c.test("ne", c.op("and", map_, ALIGNMENT - 1), 0)):
                _fault(c, TensorFault.MAP_ALIGNMENT, map_)
            with c.unless(c.let(f"call i1 @lw_find(ptr %w, i64 {map_}, i64 {BYTES}, ptr {cache})")):
                _fault(c, TensorFault.NO_MAP, map_)
            _copy(c, "%a", c.let(f"inttoptr i64 {map_} to ptr"), BYTES)
            for d in range(MAX_RANK):
                coordinate = c.field("%i", c.add(narrow, TensorIssue.COORDINATES + 128 * d), "i32")
                _put(c, TensorCopy.COORDINATES + 4 * d, "i32", _i32(c, coordinate))
            for d in range(3):
                moved = c.field("%i", c.add(narrow, TensorIssue.OFFSETS + 128 * d), "i32")
                _put(c, TensorCopy.OFFSETS + 2 * d, "i16", c.let(f"trunc i64 {moved} to i16"))
            with c.when(c.test("eq", c.get(first), -1)):
                c.set(first, lane)
            with c.when(_repeats(c, lane, c.get(first))):
                _count_no_more(c)
            to = c.field("%i", c.add(narrow, TensorIssue.TO), "i32")
            barrier = c.field("%i", c.add(narrow, TensorIssue.BARRIERS), "i32")
            with c.unless("%multicast"):
                c.line(f"call void @lw_tensor_one(ptr %x, ptr %w, ptr %a, i64 {to}, i64 {barrier})")
            with c.when("%multicast"):
                blocks = c.field("%i", c.add(narrow, TensorIssue.BLOCKS), "i32")
                with c.loop(_RANKS) as rank, c.when(_has_bit(c, blocks, rank)):
                    block = c.op("shl", c.add(rank, 1), RANK_SHIFT)
                    to_block, its = (c.op("or", block, c.op("and", value, _LOW)) for value in (to, barrier))
                    c.line(f"call void @lw_tensor_one(ptr %x, ptr %w, ptr %a, i64 {to_block}, i64 {its})")
                    _count_no_more(c)  # read once for all of them
    c.line("ret void")
    return "; The lanes of %m copy boxes, with the operands in %i (a TensorIssue).\n" + c.text(
        "define internal void @lw_tensor_lanes(ptr %x, ptr %w, ptr %c, ptr %k, ptr %i, i32 %m, i32 %rank, i32 %im2col, "
        "i32 %operation, i1 %multicast, i32 %trace, i32 %place) noinline nounwind"
    )


def _count_no_more(c: Code) -> None:
    _put(c, TensorCopy.COUNTERS, "ptr", "null")
    _put(c, TensorCopy.TRACE, "i32", "-1")


def _repeats(c: Code, lane: str, first: str) -> str:
    """Whether the lane stores or prefetches just what the first one does: compilers make one copy of those of a warp,
    where they make a loop over the lanes of loads and reductions."""
    once = c.let(
        f"or i1 {c.test('eq', '%which', TensorOperation.STORE)}, {c.test('eq', '%which', TensorOperation.PREFETCH)}"
    )
    same = c.both(once, c.test("ne", lane, first))
    columns = [(TensorIssue.MAPS, 8, "i64"), (TensorIssue.TO, 4, "i32")]
    columns += [(TensorIssue.COORDINATES + 128 * d, 4, "i32") for d in range(MAX_RANK)]
    columns += [(TensorIssue.OFFSETS + 128 * d, 4, "i32") for d in range(3)]
    for offset, size, kind in columns:
        own, other = (c.field("%i", c.add(c.mul(number, size), offset), kind) for number in (lane, first))
        same = c.both(same, c.test("eq", own, other))
    return same


def _one() -> str:
    c = Code()
    operation = c.field("%a", TensorCopy.OPERATION, "i32")
    launch = c.pointer(c.at("%w", Worker.LAUNCH))
    limit = c.field(launch, Launch.SHARED_BYTES)
    _put(c, TensorCopy.OFFSET, "i32", _i32(c, c.op("and", "%to", _LOW)))
    size = c.let(f"call i64 @lw_tensor_check(ptr %x, ptr %w, ptr %a, i64 {limit})")
    with c.when(c.test("eq", operation, TensorOperation.PREFETCH)):
        c.line("call void @lw_tensor_move(ptr %x, ptr %w, ptr %a)")
        c.line("ret void")
    bit, place = (_i32(c, c.field("%a", offset, "i32")) for offset in (TensorCopy.LANES, TensorCopy.PLACE))
    where = f"i32 {bit}, i32 {place}"
    block = c.let(f"call ptr @lw_bulk_block(ptr %x, ptr %w, i32 {_i32(c, '%to')}, {where})")
    _put(c, TensorCopy.SHARED, "ptr", c.pointer(block))
    home, word = c.variable(block, "ptr"), c.variable("null", "ptr")
    with c.when(c.test("eq", operation, TensorOperation.LOAD)):
        barrier = _i32(c, "%barrier")
        owner = c.let(f"call ptr @lw_bulk_block(ptr %x, ptr %w, i32 {barrier}, {where})")
        c.set(home, owner, "ptr")
        found = c.let(f"call ptr @lw_bulk_word(ptr %x, ptr %w, ptr {owner}, i32 {barrier}, {where})")
        c.set(word, found, "ptr")
    payload = c.let(
        f"call ptr @lw_bulk_push(ptr %x, ptr %w, ptr {c.pointer(home)}, ptr @lw_tensor_move, ptr {c.pointer(word)}, "
        f"i64 {size}, {where})"
    )
    _copy(c, payload, "%a", TensorCopy.SIZE)
    c.line("ret void")
    return "; The copy %a to or from %to, with the mbarrier %barrier: addresses in shared::cluster.\n" + c.text(
        "define internal void @lw_tensor_one(ptr %x, ptr %w, ptr %a, i64 %to, i64 %barrier) noinline nounwind"
    )
