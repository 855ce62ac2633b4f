"""Short PTX texts that the tests share."""

from __future__ import annotations

from lanewise.ptx import parse
from lanewise.ptx.syntax import Function, Instruction, PtxModule

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"

# A little of everything that is valid; ptxas is asked about it too.
EVERYTHING = (
    HEAD
    + """
.file 1 "kernel.cu", 1339013327, 64118
.pragma "nounroll";
/* variables */
.global .align 8 .b8 table[3][2] = {{1, 2}, {3}, {-1, 0xff}};
.global .u64 pointers[2] = {generic(table)+2, table};
.global .u8 bytes[] = {0xff(table), 0xFF00(table+4), 0xff(generic(table)), 0xFF00(131187)};
.const .f32 weights[] = {1.0, 0f3F800000, -1e5, .5};
.visible .global .attribute(.managed) .u32 counter;
.global .v4 .f32 quad = {1.0, 2.0, 3.0, 4.0};
.extern .shared .align 16 .b8 dynamic[];
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.weak .func (.param .b32 value) twice (.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x];
    shl.b32 %r2, %r1, 1;
    st.param.b32 [value+0], %r2;
    ret;
}
.func (.reg .u32 sum) plus (.reg .u32 a, .reg .u32 b) { add.u32 sum, a, b; ret; }
.func stop () .noreturn { exit; }
.visible .entry kernel (.param .u64 .ptr .global .align 16 data, .param .align 8 .b8 structure[24])
.maxntid 128, 1, 1 .minnctapersm 2 .pragma "nounroll";
{
    .reg .v4 .f32 v;
    .reg .pred p, %p<3>;
    .reg .b32 %r<5>, x;
    .reg .b64 %rd<4>;
    .reg .f64 %fd<2>;
    .shared .b32 tile[4][8];
    .local .align 16 .b8 stack[64];
    .loc 1 12 3
    ld.param.u64 %rd1, [data];
    mov.u32 x, (1+2*3)<<2;
    mov.u32 %r1, %tid.x;
    { // a block of its own
        .reg .b32 x, %r<2>;
        .reg .pred p;
        mov.u32 x, -WARP_SZ;
        mov.u32 %r1, x;
        setp.eq.s32 p, %r1, x;
    again: @p bra again;
    @!p bra done;
    }
    ld.global.v4.f32 v, [%rd1+16];
    add.f32 v.x, v.y, v.a;
    setp.lt.and.s32 p|%p1, x, 5, !%p2;
    mov.b64 {%r2, _}, %rd1;
    st.shared.u32 [tile+-4+8], %r2;
    ld.shared.u32 %r3, tile[3];
    vadd.s32.s32.s32.sat %r1, %r2.b0, %r3.h1;
    mov.f64 %fd1, 1.5e300;
done:
    call (%r1), plus, (x, 7);
    {
        .param .b32 argument;
        .param .b32 back;
        st.param.b32 [argument], %r1;
        call.uni (back), twice, (argument);
        ld.param.b32 %r1, [back];
        mov.u64 %rd2, twice;
        prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (back), %rd2, (argument), prototype;
        targets: .calltargets twice;
        call (back), %rd2, (argument), targets;
    }
    setp.lt.u32 %p1, %r1, 2;
    choices: .branchtargets done, end;
    @%p1 brx.idx %r1, choices;
end:
    call stop;
    ret;
}
"""
)


def kernel(body: str, params: str = "", before: str = "") -> Function:
    """The kernel `k` with a body, after what stands before it."""
    return module(f"{before}\n.visible .entry k({params})\n{{\n{body}\n}}\n").functions["k"]


def module(text: str) -> PtxModule:
    return parse(HEAD + text)


def instructions(function: Function) -> list[Instruction]:
    return [statement for statement in function.body if isinstance(statement, Instruction)]
