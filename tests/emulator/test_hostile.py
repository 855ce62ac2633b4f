"""Kernels that reach for what is not theirs: refused, or a fault, and never memory of the emulator itself."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.errors import KernelFault, UnsupportedCode

HEADER = """.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 r) f(.param .b32 x) {
 .reg .b32 %r<3>;
 ld.param.u32 %r1, [x];
 st.param.b32 [r], %r1;
 ret;
}
.func indirect(.param .b32 x) {
 .reg .b64 %d<3>; .reg .b32 %r<3>;
 mov.u64 %d1, x;
 ld.param.u32 %r1, [%d1+4000000];
 ret;
}
.visible .entry k(.param .u64 p, .param .u32 n) {
 .reg .b32 %r<9>; .reg .b64 %d<9>; .param .b32 a; .param .b64 wide; .param .b32 b;
 ld.param.u64 %d1, [p];
 mov.u32 %r1, 5;
"""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ld.param.u32 %r2, [n+4];", "byte 4 is not within parameter 'n' of 4 bytes"),
        ("ld.param.u32 %r2, [p-4];", "byte -4 is not within parameter 'p'"),
        ("ld.param.v2.u32 {%r2, %r3}, [n];", "not within parameter 'n'"),
        ("st.param.b32 [a+500000000], %r1;", "not within parameter 'a'"),
        ("st.param.b32 [%d1], %r1;", "written by name"),
        ("st.param.b32 [n], %r1;\n call (b), f, (n);", "n"),
        ("call (b), f, (wide);", "does not fit the parameters of 'f'"),
        ("call f, (a);", "does not fit the parameters of 'f'"),
    ],
)
def test_parameters_out_of_reach_are_refused(code: str, reason: str) -> None:
    with pytest.raises(UnsupportedCode) as caught:
        lanewise.compile(f"{HEADER} {code}\n ret;\n}}")["k"][1, 32](np.zeros(32, np.int32), np.uint32(1))
    assert any(reason in item.reason for item in caught.value.items)


@pytest.mark.parametrize(
    "code",
    [
        "mov.u64 %d2, p;\n add.u64 %d2, %d2, 1000000000000;\n ld.param.u32 %r2, [%d2];",
        "mov.u64 %d2, p;\n ld.param.u32 %r2, [%d2+100000];",
        "st.param.b32 [a], %r1;\n call indirect, (a);",
        "mov.u64 %d2, 12345;\n st.param.b32 [a], %r1;\n call %d2, (a), P;\n P: .callprototype _ (.param .b32 _);",
        "ld.shared.u32 %r2, [4000000000];",
        "st.local.u32 [4000000000], %r1;",
        "mov.u64 %d2, 0x100000ffffc;\n st.u32 [%d2], %r1;",
        "atom.global.add.u32 %r2, [%d1+1099511627776], 1;",
        "atom.shared.add.u32 %r2, [65536], 1;",
    ],
)
def test_wild_addresses_are_faults(code: str) -> None:
    kernel = lanewise.compile(f"{HEADER} {code}\n ret;\n}}")["k"]
    with pytest.raises(KernelFault):
        kernel[1, 32](np.zeros(32, np.int32), np.uint32(1))


def test_printf_of_what_is_not_there() -> None:
    source = r"""#include <cstdio>
    __global__ void k(int* o, int n) {
      __shared__ char s[8];
      char b[8];
      for (int i = 0; i < 8; i++) s[i] = b[i] = 'a' + i % n;  // no end
      printf("%.8s %.8s\n", b, s);
      printf("%.3s|%.3s|\n", b + (1 << 20) * n, s + (1 << 20) * n);
      printf((const char*)o + n * 100000);
      printf("%s %d %.*f\n", (char*)(size_t)n, 5, 2000000000, 1.0);
      printf("%s%s", b, s);
    }"""
    output = lanewise.compile(source)["k"][1, 1](np.zeros(1, np.int32), np.int32(3)).output
    assert output.startswith("abcabcab abcabcab\n||\n(null)(null) 5 1.0000")


def test_malloc_and_free_of_nonsense() -> None:
    source = """__global__ void k(int* o, int n) {
      o[0] = malloc((size_t)-n) == 0;
      free((void*)(size_t)n);
      free(o);
      void* p = malloc(0);
      free(p);
      free(p);
      o[1] = 7;
    }"""
    o = np.zeros(2, np.int32)
    lanewise.compile(source)["k"][1, 1](o, np.int32(3))
    assert o.tolist() == [1, 7]


def test_registers_that_are_never_written_or_only_from_themselves() -> None:
    ptx = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  add.s32 %r3, %r3, %r2;        // r2 is never written, r3 only from itself
  add.s32 %r4, %r3, %r1;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r4;
  ret;
}
"""
    out = np.zeros(32, np.int32)
    lanewise.compile(ptx)["k"][1, 32](out)
    assert out.tolist() == list(range(32))
