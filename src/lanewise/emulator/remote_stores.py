"""st.async and red.async in LLVM IR (PTX ISA 9.7.9.12, 9.7.13.7): values that go to a block of the cluster and are
counted by an mbarrier there. They land as bulk copies do (`bulk`)."""

from __future__ import annotations

from lanewise.emulator.layout import BulkCopy, BulkEntry
from lanewise.emulator.structured import Code


class RemoteStore:
    """The operands of one execution by a warp."""

    TO = 0  # <32 x i64>: host addresses
    WORDS = 256  # <32 x i32>: mbarriers, in shared::cluster
    VALUES = 384  # a vector of 32 for each component, 256 bytes from one to the next
    VALUES_SIZE = 256


_VALUE = 64  # where a value lies in the payload
assert _VALUE + 16 <= BulkEntry.PAYLOAD_BYTES


def definitions() -> str:
    """The function's text."""
    c = Code()
    mask = c.let("zext i32 %m to i64")
    total = c.mul("%size", "%count")
    with c.loop(32) as lane:
        bit = c.op("shl", "1", lane)
        with c.when(c.test("ne", c.op("and", mask, bit), 0)):
            bit32 = c.let(f"trunc i64 {bit} to i32")
            to = c.field("%s", c.add(c.mul(lane, 8), RemoteStore.TO))
            word = c.let(f"load i32, ptr {c.at('%s', c.add(c.mul(lane, 4), RemoteStore.WORDS))}")
            where = f"i32 {bit32}, i32 %place"
            block = c.let(f"call ptr @lw_bulk_block(ptr %x, ptr %w, i32 {word}, {where})")
            barrier = c.let(f"call ptr @lw_bulk_word(ptr %x, ptr %w, ptr {block}, i32 {word}, {where})")
            payload = c.let(
                f"call ptr @lw_bulk_push(ptr %x, ptr %w, ptr {block}, ptr %move, ptr {barrier}, i64 {total}, {where})"
            )
            value = c.at(payload, _VALUE)
            for offset, kind, what in (
                (BulkCopy.TO, "i64", to),
                (BulkCopy.FROM, "ptr", value),
                (BulkCopy.BYTES, "i64", total),
            ):
                c.line(f"store {kind} {what}, ptr {c.at(payload, offset)}")
            with c.loop("%count") as part:
                source = c.add(c.mul(part, RemoteStore.VALUES_SIZE), c.mul(lane, "%size"))
                with c.loop("%size") as i:
                    from_ = c.at("%s", c.add(c.add(source, i), RemoteStore.VALUES))
                    c.move_byte(from_, c.at(value, c.add(c.mul(part, "%size"), i)))
    c.line("ret void")
    return (
        "; The lanes of %m send %count values of %size bytes each, with the operands in %s (a RemoteStore).\n"
        + c.text(
            "define internal void @lw_remote_store(ptr %x, ptr %w, ptr %s, ptr %move, i64 %size, i64 %count, i32 %m, "
            "i32 %place) noinline nounwind"
        )
    )
