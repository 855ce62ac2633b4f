"""Copies of boxes of tensors on their way, in LLVM IR: issued by the lanes of a warp, landed when somebody waits.

A load lands when a warp waits at its mbarrier, and not before: a kernel that forgets to wait reads what was there.
Where the queue is full all that is in it lands, and loads into the memory of a block that ends are dropped. Stores and
reductions are done when they are issued. All of it is early or late within what a card may do.
"""

from __future__ import annotations

from lanewise.emulator.layout import RANK_SHIFT, Block, Launch, Status, Warp, Worker
from lanewise.emulator.structured import Code
from lanewise.emulator.tensor_layout import TensorCopy, TensorFault, TensorIssue, TensorOperation, TensorQueue
from lanewise.emulator.tensor_maps import ALIGNMENT, BYTES, MAX_RANK

_RANKS = 16  # blocks that a mask of multicast may name
_LOW = (1 << RANK_SHIFT) - 1


def definitions() -> str:
    """The functions' text."""
    return _lanes() + _one() + _place() + _waited() + _push() + _land() + _pump() + _end() + _INTRINSICS


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
    cache = c.array(2)
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
            ):
                _put(c, offset, "i32", value)
            _put(c, TensorCopy.COUNTERS, "ptr", "%c")
            _put(c, TensorCopy.CACHE, "ptr", "%k")
            _put(c, TensorCopy.MAP_ADDRESS, "i64", map_)
            _put(c, TensorCopy.FILL, "i128", "0")
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
                    _put(c, TensorCopy.COUNTERS, "ptr", "null")  # read once for all of them
    c.line("ret void")
    return "; The lanes of %m copy boxes, with the operands in %i (a TensorIssue).\n" + c.text(
        "define internal void @lw_tensor_lanes(ptr %x, ptr %w, ptr %c, ptr %k, ptr %i, i32 %m, i32 %rank, i32 %im2col, "
        "i32 %operation, i1 %multicast, i32 %place) noinline nounwind"
    )


def _one() -> str:
    c = Code()
    operation = c.field("%a", TensorCopy.OPERATION, "i32")
    loads = c.test("eq", operation, TensorOperation.LOAD)
    _put(c, TensorCopy.BARRIER, "ptr", "null")
    with c.unless(c.test("eq", operation, TensorOperation.PREFETCH)):
        shared = c.let("call ptr @lw_tensor_place(ptr %x, ptr %w, ptr %a, i64 %to)")
        _put(c, TensorCopy.SHARED, "ptr", shared)
    _put(c, TensorCopy.OFFSET, "i32", _i32(c, c.op("and", "%to", _LOW)))
    launch = c.pointer(c.at("%w", Worker.LAUNCH))
    limit = c.field(launch, Launch.SHARED_BYTES)
    size = c.let(f"call i64 @lw_tensor_check(ptr %x, ptr %w, ptr %a, i64 {limit})")
    _put(c, TensorCopy.BYTES, "i64", size)
    with c.unless(loads):
        c.line("call void @lw_tensor_move(ptr %x, ptr %w, ptr %a)")
        c.line("ret void")
    home = c.let("call ptr @lw_tensor_place(ptr %x, ptr %w, ptr %a, i64 %barrier)")
    offset = c.op("and", "%barrier", _LOW)
    fits = c.test("ule", c.add(offset, 8), limit)
    with c.unless(c.both(fits, c.test("eq", c.op("and", offset, 7), 0))):
        _fault(c, TensorFault.BARRIER, offset)
    barrier = c.at(home, offset)
    _put(c, TensorCopy.BARRIER, "ptr", barrier)
    waited = c.let(f"call i1 @lw_tensor_waited(ptr %x, ptr %w, ptr {barrier})")
    with c.when(waited):
        c.line("call void @lw_tensor_land(ptr %x, ptr %w, ptr %a)")
        c.line("ret void")
    c.line("call void @lw_tensor_push(ptr %x, ptr %w, ptr %a)")
    c.line("ret void")
    return "; The copy %a to or from %to, with the mbarrier %barrier: addresses in shared::cluster.\n" + c.text(
        "define internal void @lw_tensor_one(ptr %x, ptr %w, ptr %a, i64 %to, i64 %barrier) noinline nounwind"
    )


def _place() -> str:
    c = Code()
    found = c.let(f"call {{ ptr, i32 }} @lw_cluster_block(ptr %x, ptr %w, i32 {_i32(c, '%to')})")
    why = c.let(f"zext i32 {c.let(f'extractvalue {{ ptr, i32 }} {found}, 1')} to i64")
    with c.when(c.test("ne", why, 0)):
        addresses = c.at("%w", Worker.FAULT_ADDRESSES)
        with c.loop(32) as lane:
            _put(c, c.mul(lane, 8), "i64", "%to", addresses)
        place, lanes = c.field("%a", TensorCopy.PLACE, "i32"), c.field("%a", TensorCopy.LANES, "i32")
        numbers = ", ".join(f"i32 {_i32(c, number)}" for number in (place, why, lanes))
        c.line(f"call void @lw_fault(ptr %x, ptr %w, {numbers}, i32 0)")
        c.line("unreachable")
    c.line(f"ret ptr {c.let(f'extractvalue {{ ptr, i32 }} {found}, 0')}")
    return "; The shared memory that an address in shared::cluster lies in.\n" + c.text(
        "define internal ptr @lw_tensor_place(ptr %x, ptr %w, ptr %a, i64 %to) noinline nounwind"
    )


def _waited() -> str:
    c = Code()
    block = c.pointer(c.at("%x", Warp.BLOCK))
    first = c.pointer(c.at(block, Block.CLUSTER))
    count = c.mul(c.let("call i64 @lw_cluster_size(ptr %w)"), c.field(first, Block.WARPS))
    with c.loop(count) as number:
        warp = c.let(f"call ptr @lw_cluster_warp(ptr %w, ptr {first}, i64 {number})")
        with c.unless(c.let(f"icmp eq ptr {warp}, null")):
            sleeps = c.test("eq", c.field(warp, Warp.STATUS, "i32"), Status.PHASE)
            with c.when(c.both(sleeps, c.let(f"icmp eq ptr {c.pointer(c.at(warp, Warp.WAIT_WORD))}, %barrier"))):
                c.line("ret i1 true")
    c.line("ret i1 false")
    return "; Does a warp of the cluster wait at an mbarrier?\n" + c.text(
        "define internal i1 @lw_tensor_waited(ptr %x, ptr %w, ptr %barrier) noinline nounwind"
    )


def _push() -> str:
    c = Code()
    queue = c.pointer(c.at("%w", Worker.TENSORS))
    with c.when(c.test("eq", c.field(queue, TensorQueue.COUNT), TensorQueue.CAPACITY)):
        with c.loop(TensorQueue.CAPACITY) as number:
            place = c.at(queue, c.add(c.mul(number, TensorCopy.SIZE), TensorQueue.COPIES))
            c.line(f"call void @lw_tensor_land(ptr %x, ptr %w, ptr {place})")
        _put(c, TensorQueue.COUNT, "i64", "0", queue)
    count = c.field(queue, TensorQueue.COUNT)
    _copy(c, c.at(queue, c.add(c.mul(count, TensorCopy.SIZE), TensorQueue.COPIES)), "%a", TensorCopy.SIZE)
    _put(c, TensorQueue.COUNT, "i64", c.add(count, 1), queue)
    c.line("ret void")
    return "; The copy %a is on its way.\n" + c.text(
        "define internal void @lw_tensor_push(ptr %x, ptr %w, ptr %a) noinline nounwind"
    )


def _land() -> str:
    c = Code()
    c.line("call void @lw_tensor_move(ptr %x, ptr %w, ptr %a)")
    place, lanes = c.field("%a", TensorCopy.PLACE, "i32"), c.field("%a", TensorCopy.LANES, "i32")
    c.line(
        f"call void @lw_mbarrier_complete_tx(ptr %x, ptr %w, ptr {c.pointer(c.at('%a', TensorCopy.BARRIER))}, "
        f"i64 {c.field('%a', TensorCopy.BYTES)}, i32 {_i32(c, lanes)}, i32 {_i32(c, place)})"
    )
    c.line("ret void")
    return "; The load %a lands, and its mbarrier is told.\n" + c.text(
        "define internal void @lw_tensor_land(ptr %x, ptr %w, ptr %a) noinline nounwind"
    )


def _remove(c: Code, queue: str, field: int, wanted: str, land: bool) -> str:
    """Take copies with a pointer in a field out of the queue; gives whether there were any (a variable, i1)."""
    kept, any_ = c.variable(), c.variable("false", "i1")
    with c.loop(c.field(queue, TensorQueue.COUNT)) as number:
        place = c.at(queue, c.add(c.mul(number, TensorCopy.SIZE), TensorQueue.COPIES))
        is_wanted = c.let(f"icmp eq ptr {c.pointer(c.at(place, field))}, {wanted}")
        with c.when(is_wanted):
            if land:
                c.line(f"call void @lw_tensor_land(ptr %x, ptr %w, ptr {place})")
            c.set(any_, "true", "i1")
        with c.unless(is_wanted):
            target = c.at(queue, c.add(c.mul(c.get(kept), TensorCopy.SIZE), TensorQueue.COPIES))
            with c.when(c.test("ne", c.get(kept), number)):
                _copy(c, target, place, TensorCopy.SIZE)
            c.set(kept, c.add(c.get(kept), 1))
    _put(c, TensorQueue.COUNT, "i64", c.get(kept), queue)
    return any_


def _pump() -> str:
    c = Code()
    queue = c.pointer(c.at("%w", Worker.TENSORS))
    with c.when(c.let(f"icmp eq ptr {queue}, null")):
        c.line("ret i1 false")
    any_ = _remove(c, queue, TensorCopy.BARRIER, "%word", land=True)
    with c.when(c.get(any_, "i1")):
        block = c.pointer(c.at("%x", Warp.BLOCK))
        _put(c, Block.IDLE, "i64", "0", c.pointer(c.at(block, Block.CLUSTER)))
    c.line(f"ret i1 {c.get(any_, 'i1')}")
    return "; Somebody waits at the mbarrier %word: loads that it counts land. Returns whether any did.\n" + c.text(
        "define internal i1 @lw_tensor_pump(ptr %x, ptr %w, ptr %word) noinline nounwind"
    )


def _end() -> str:
    c = Code()
    queue = c.pointer(c.at("%w", Worker.TENSORS))
    with c.when(c.let(f"icmp eq ptr {queue}, null")):
        c.line("ret void")
    _remove(c, queue, TensorCopy.SHARED, c.pointer("%blk"), land=False)
    c.line("ret void")
    return "; The block %blk has ended: nothing lands in its memory any more.\n" + c.text(
        "define internal void @lw_tensor_end(ptr %w, ptr %blk) noinline nounwind"
    )
