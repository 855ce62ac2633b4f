"""Rings of what is on its way, in LLVM IR. Entries are numbered from the start of a block; the first field of one (i32)
is 0 when it has landed."""

from __future__ import annotations

from lanewise.emulator.layout import AsyncEntry, AsyncQueue, BulkEntry, BulkQueue


def ring(prefix: str, queue: type[AsyncQueue] | type[BulkQueue], entry: type[AsyncEntry] | type[BulkEntry]) -> str:
    """`PREFIX_entry(ring, number)`: the entry's address; `PREFIX_pop(ring)`: entries at the front that landed leave."""
    return f"""
define internal ptr @{prefix}_entry(ptr %q, i64 %i) nounwind {{
  %n = urem i64 %i, {queue.CAPACITY}
  %o = mul i64 %n, {entry.SIZE}
  %o1 = add i64 %o, {queue.ENTRIES}
  %e = getelementptr i8, ptr %q, i64 %o1
  ret ptr %e
}}
define internal void @{prefix}_pop(ptr %q) noinline nounwind {{
entry:
  %h = load i64, ptr %q
  %tp = getelementptr i8, ptr %q, i64 {queue.TAIL}
  %t = load i64, ptr %tp
  br label %front
front:
  %f = phi i64 [ %h, %entry ], [ %f1, %gone ]
  %any = icmp ult i64 %f, %t
  br i1 %any, label %look, label %out
look:
  %e = call ptr @{prefix}_entry(ptr %q, i64 %f)
  %live = load i32, ptr %e
  %done = icmp eq i32 %live, 0
  br i1 %done, label %gone, label %out
gone:
  %f1 = add i64 %f, 1
  br label %front
out:
  store i64 %f, ptr %q
  ret void
}}
"""
