"""Loops over the lanes of a mask, in LLVM IR."""

from __future__ import annotations


def each_lane(mask: str, before: str, after: str) -> str:
    """Text from a loop's head to the start of its body, for which %i is the number of a lane and %bit its bit.

    Block `before` jumps to `loop`, and so does the body in its block `after`; with no lane left the loop goes to `out`.
    """
    return f"""loop:
  %rest = phi i32 [ {mask}, %{before} ], [ %rest1, %{after} ]
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %lane
lane:
  %less = sub i32 %rest, 1
  %rest1 = and i32 %rest, %less
  %bit = xor i32 %rest, %rest1
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
"""
