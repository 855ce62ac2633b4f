"""The table of instructions: what it finds, and what it refuses."""

from __future__ import annotations

import pytest

from lanewise.emulator.lowering import resolve
from lanewise.ptx import parse
from lanewise.ptx.instructions import TABLE, Status, explain, lookup
from lanewise.ptx.syntax import Instruction

DECLARATIONS = """
.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b128 %q<8>; .reg .f32 %f<8>; .reg .f64 %g<8>;
.shared .align 16 .b8 buffer[64];
"""


def instruction(text: str) -> Instruction:
    """One instruction; `there` is a label and `table` a list of labels."""
    module = parse(
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 parameter) {"
        f"{DECLARATIONS}\ntable: .branchtargets there;\nthere: {text};\n}}"
    )
    found = [statement for statement in module.functions["k"].body if isinstance(statement, Instruction)]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("text", "lowering", "types"),
    [
        ("mul.wide.s32 %d1, %r1, %r2", "integer.mul", ("s64", "s32", "s32")),
        ("mad.wide.u16 %r1, %h1, %h2, %r2", "integer.mad", ("u32", "u16", "u16", "u32")),
        ("selp.f32 %f1, %f2, %f3, %p1", "compare.selp", ("f32", "f32", "f32", "pred")),
        ("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3", "compare.setp", ("pred", "s32", "s32", "pred")),
        ("set.eq.u32.f32 %r1, %f1, %f2", "compare.set_", ("u32", "f32", "f32")),
        ("add.rn.ftz.f32 %f1, %f2, 0f3F800000", "floating.add", ("f32", "f32", "f32")),
        ("add.f32.rn %f1, %f2, %f3", "floating.add", ("f32", "f32", "f32")),
        ("add.f16x2 %r1, %r2, %r3", "half.add", ("f16x2", "f16x2", "f16x2")),
        ("cvt.rzi.s32.f64 %r1, %g1", "convert.cvt", ("s32", "f64")),
        ("popc.b64 %r1, %d1", "integer.popc", ("u32", "b64")),
        ("addc.cc.u32 %r1, %r2, %r3", "carry.addc", ("u32", "u32", "u32")),
        ("mov.b64 %d1, {%r1, %r2}", "move.pack", ("b64", "b32")),
        ("mov.b64 {%h1, %h2, %h3, _}, %d1", "move.unpack", ("b16", "b64")),
        ("mov.u64 %d1, buffer+8", "move.mov", ("u64", "u64")),
        ("mov.u32 %r1, %tid.x", "move.mov", ("u32", "u32")),
        ("ld.global.v2.f32 {%f1, %f2}, [%d1+8]", "memory.load", ("f32", "u64")),
        ("ld.global.nc.L1::no_allocate.L2::128B.u32 %r1, [%d1]", "memory.load", ("u32", "u64")),
        ("ld.param.u64 %d1, [parameter]", "parameter.load", ("u64", "u64")),
        ("st.shared.u8 [buffer], %h1", "memory.store", ("u64", "u8")),
        ("atom.global.sys.cas.b32 %r1, [%d1], %r2, %r3", "atomics.atom", ("b32", "u64", "b32", "b32")),
        ("atom.add.release.gpu.u32 %r1, [%d1], %r2", "atomics.atom", ("u32", "u64", "u32")),
        ("red.global.add.f32 [%d1], %f1", "atomics.red", ("u64", "f32")),
        ("shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1", "warp.shfl", ("b32", "b32", "b32", "b32", "b32")),
        ("vote.sync.ballot.b32 %r1, !%p1, -1", "warp.vote", ("b32", "pred", "b32")),
        ("vote.ballot.sync.b32 %r1, %p1, -1", "warp.vote", ("b32", "pred", "b32")),
        ("bar.sync 0", "barrier.bar", ("u32",)),
        ("barrier.red.or.pred %p1, 1, 64, !%p2", "barrier.barrier_red", ("pred", "u32", "u32", "pred")),
        ("brx.idx %r1, table", "control.brx", ("u32", "u64")),
        ("vadd.s32.u32.s32.sat %r1, %r2.b1, %r3.h0", "video.vadd", ("s32", "u32", "s32")),
        ("vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4", "video.vabsdiff4", ("u32", "u32", "u32", "b32")),
        ("fma.rn.f32.f16 %f1, %h1, %h2, %f2", "half.fma", ("f32", "f16", "f16", "f32")),
        ("mov.pred %p1, !%p2", "move.mov", ("pred", "pred")),
        ("ld.shared.u8 %h1, buffer[5]", "memory.load", ("u8", "u64")),
        ("lop3.b32 %r1, %r2, %r3, %r4, 0x96", "logic.lop3", ("b32", "b32", "b32", "b32", "u32")),
    ],
)
def test_found_with_types(text: str, lowering: str, types: tuple[str, ...]) -> None:
    spec = lookup(instruction(text))
    assert spec is not None
    assert spec.lowering == lowering
    assert spec.operand_types(instruction(text)) == types


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("frob.s32 %r1, %r2", "no instruction 'frob'"),
        ("add.sat.u16 %h1, %h2, %h3", "no form 'add.sat.u16'"),
        ("ld.gloal.u32 %r1, [%d1]", "has no modifier '.gloal'; is 'global' meant?"),
        ("setpp.eq.u32 %p1, %r2, %r3", "no instruction 'setpp' that is known here; is 'setp' meant?"),
        ("add.xyz.u32 %r1, %r2, %r3", "no modifier '.xyz'"),
        ("add.s32.s32 %r1, %r2, %r3", "no form"),
        ("fma.f32 %f1, %f2, %f3, %f4", "no form"),
        ("add.s32 %r1, %r2", "does not take these operands"),
        ("add.s32 %r1, %r2, [%d1]", "does not take these operands"),
        ("add.s32 5, %r2, %r1", "does not take these operands"),
        ("add.s32 %r1, %r2, -%r3", "does not take these operands"),
        ("add.s32 %r1, %r2.h0, %r3", "does not take these operands"),
        ("add.u64 %d1, %d2, buffer", "does not take these operands"),
        ("ld.global.v4.f32 {%f1, %f2}, [%d1]", "does not take these operands"),
        ("setp.lo.f32 %p1, %f1, %f2", "no form"),
        ("cvt.f32.s32 %f1, %r1", "no form"),
        ("atom.global.inc.s32 %r1, [%d1], %r2", "no form"),
    ],
)
def test_refused(text: str, words: str) -> None:
    assert lookup(instruction(text)) is None
    assert words in explain(instruction(text))


@pytest.mark.parametrize(
    "text",
    [
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%d1, {%r1, %r2, %r3, %r4, %r5}]",
        "mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r2}, {%r5,%r6}, {%r1,%r2}, %r3, 0",
        "tex.2d.v2.f16x2.f32 {%r1, %r2}, [%d1, {%f1, %f2}]",
        "tcgen05.wait::ld.sync.aligned",
    ],
)
def test_known_but_not_supported(text: str) -> None:
    spec = lookup(instruction(text))
    assert spec is not None
    assert spec.status is Status.UNSUPPORTED
    assert spec.reason


def test_every_supported_entry_has_its_function() -> None:
    ends_of_blocks = {"control.bra", "control.brx", "control.ret", "control.exit"}  # part of the walk over blocks
    for spec in TABLE:
        if spec.lowering is not None and spec.lowering not in ends_of_blocks:
            assert callable(resolve(spec.lowering)), spec.opcode


def test_every_entry_says_how_or_why_not() -> None:
    for spec in TABLE:
        assert (spec.lowering is None) == (spec.reason is not None), spec.opcode
        assert spec.forms, spec.opcode
        assert spec.section.startswith("9.7."), spec.opcode
        assert spec.convergence in ("none", "branch", "exit", "call", "barrier", "warp")
        assert not (spec.elementwise and spec.convergence != "none")
