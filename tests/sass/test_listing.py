"""What is read from a listing: of text as nvdisasm prints it, and of kernels compiled here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lanewise.records import AccessKind, Space
from lanewise.sass import blocks, listing, opcodes
from lanewise.sass.opcodes import Flow

TEXT = """
	.target	sm_90
	.section	.text.k,"ax",@progbits
        .type           k,@function
k:
.text.k:
	//## File ".nv_debug_ptx_txt", line 10
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.U8 R2, desc[UR4][R2.64+0x1] ;
	//## File ".nv_debug_ptx_txt.77", line 12 inlined at ".nv_debug_ptx_txt.77", line 40
        /*0020*/                   STL [R1+0xc], R17                          (*"SpillRefill"*) ;
        /*0030*/               @P1 BRA `(.L_x_1) ;
        /*0040*/               @PT STS.128 [R5], R8 ;
        /*0050*/                   BRX R2 -0x60                               (*"BRANCH_TARGETS .L_x_1,.L_x_2"*) ;
.L_x_1:
        /*0060*/                   CALL.REL.NOINC `($k$f) ;
.L_x_2:
        /*0070*/                   EXIT ;
        .type           $k$f,@function
$k$f:
        /*0080*/                   RET.REL.NODEC R6 `(k) ;
.L_x_3:
        /*0090*/                   BRA `(.L_x_3);
        /*00a0*/                   NOP;
"""


def test_fields_of_instructions() -> None:
    function = listing.parse(TEXT)["k"]
    first, load, spill, branch, store, table, call, leave, back = function.instructions
    assert (first.offset, first.text, first.ptx_line, first.memory) == (
        0, "LDC R1, c[0x0][0x28]", 10, (Space.CONST, AccessKind.LOAD),
    )  # fmt: skip
    assert (load.predicate, load.opcode, load.width_bits) == ("@!P0", "LDG.E.U8", 8)
    assert load.memory == (Space.GLOBAL, AccessKind.LOAD)
    assert spill.spill
    assert (spill.operands, spill.ptx_line, spill.module) == ("[R1+0xc], R17", 12, "77")
    assert (branch.flow, branch.targets) == (Flow.BRANCH, (".L_x_1",))
    assert (store.predicate, store.width_bits) == (None, 128)
    assert (table.flow, table.targets) == (Flow.INDIRECT, (".L_x_1", ".L_x_2"))
    assert (call.flow, call.targets) == (Flow.CALL, ("$k$f",))
    assert leave.flow == Flow.EXIT
    assert (back.flow, back.ptx_line) == (Flow.RETURN, None)  # a function without lines does not take the last one's
    assert function.functions == ["k", "$k$f"]


def test_blocks_and_edges() -> None:
    found = blocks.build(listing.parse(TEXT)["k"])
    assert [(b.offset, b.successors) for b in found] == [
        (0x00, (2, 1)), (0x40, (2, 3)), (0x60, (3,)), (0x70, ()), (0x80, ()),
    ]  # fmt: skip
    assert found[2].predecessors == (0, 1)
    assert [b.calls for b in found] == [None, None, "$k$f", None, None]
    assert [b.leaves for b in found] == [False, False, False, True, True]
    assert [b.function for b in found] == ["k"] * 4 + ["$k$f"]


@pytest.mark.parametrize(
    ("opcode", "space", "kind", "bits"),
    [
        ("LDG.E.64.CONSTANT", Space.GLOBAL, AccessKind.LOAD, 64),
        ("STG.E.U16", Space.GLOBAL, AccessKind.STORE, 16),
        ("LDG.E.ENL2.256", Space.GLOBAL, AccessKind.LOAD, 256),
        ("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", Space.GLOBAL, AccessKind.ATOMIC, 32),
        ("ATOMG.E.ADD.64.STRONG.GPU", Space.GLOBAL, AccessKind.ATOMIC, 64),
        ("RED.E.ADD.F64.RN.STRONG.GPU", Space.GLOBAL, AccessKind.ATOMIC, 64),
        ("ATOMS.POPC.INC.32", Space.SHARED, AccessKind.ATOMIC, 32),
        ("LDSM.16.M88.4", Space.SHARED, AccessKind.LOAD, 128),
        ("LD.E.128", Space.GENERIC, AccessKind.LOAD, 128),
        ("LDL.LU", Space.LOCAL, AccessKind.LOAD, 32),
        ("STL.64", Space.LOCAL, AccessKind.STORE, 64),
    ],
)
def test_memory_opcodes(opcode: str, space: Space, kind: AccessKind, bits: int) -> None:
    assert opcodes.memory(opcode) == (space, kind)
    assert opcodes.width_bits(opcode) == bits


@pytest.mark.parametrize("opcode", ["FFMA", "IMAD.WIDE", "BSSY", "S2R", "MOV"])
def test_other_opcodes_access_nothing(opcode: str) -> None:
    assert opcodes.memory(opcode) is None
    assert opcodes.width_bits(opcode) == 0
    assert opcodes.flow(opcode) is None


ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_memory_instruction_carries_a_ptx_line_of_its_own_kind(build: Callable, arch: str) -> None:
    built = build(
        """
extern "C" __global__ void k(const float4* a, float* o, int* bins, const double* d, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float4 v = a[t];
  s[t] = v.x + v.y + v.z + v.w;
  __syncthreads();
  if (t < n) atomicAdd(&bins[t & 7], 1);
  o[t] = s[255 - t] + (float)d[t];
  for (int i = t; i < n; i += blockDim.x) ((unsigned char*)o)[4096 + i] = ((const unsigned char*)a)[i];
}
""",
        arch,
    )
    words = {"ld.": AccessKind.LOAD, "st.": AccessKind.STORE, "atom.": AccessKind.ATOMIC, "red.": AccessKind.ATOMIC}
    seen = set()
    for instruction in listing.memory_instructions(built.kernel):
        text = built.ptx_text(instruction.ptx_line)
        space, kind = instruction.memory
        assert next(k for word, k in words.items() if text.startswith(word)) == kind
        assert f".{space}" in text
        seen.add((space, kind, instruction.width_bits))
    assert {
        (Space.GLOBAL, AccessKind.LOAD, 128),
        (Space.GLOBAL, AccessKind.LOAD, 64),
        (Space.GLOBAL, AccessKind.LOAD, 8),
        (Space.GLOBAL, AccessKind.STORE, 32),
        (Space.GLOBAL, AccessKind.STORE, 8),
        (Space.GLOBAL, AccessKind.ATOMIC, 32),
        (Space.SHARED, AccessKind.LOAD, 32),
        (Space.SHARED, AccessKind.STORE, 32),
    } <= seen


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_edges_lead_from_the_entry_to_an_exit(build: Callable, arch: str) -> None:
    body = "float s = 0; for (int i = 0; i < n; i++) s += a[i] / s; a[n] = s;"
    built = build(f'extern "C" __global__ void k(float* a, int n) {{ {body} }}', arch)
    found = built.blocks
    reached, pending = set(), [0]
    while pending:
        number = pending.pop()
        if number not in reached:
            reached.add(number)
            pending.extend(found[number].successors)
    own = {b.index for b in found if b.function == found[0].function}
    assert own <= reached
    assert any(b.leaves for b in found)
    assert any(s <= b.index for b in found for s in b.successors)  # the loop
