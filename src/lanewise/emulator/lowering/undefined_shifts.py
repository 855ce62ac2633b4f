"""Which bytes are undefined after shifts and permutations by amounts that only the running kernel knows.

Undefined bytes are a bit each (`definedness.py`). A shift by whole bytes moves them; where bits are left over, each
byte is made of two neighbours.
"""

from __future__ import annotations

from collections.abc import Callable

VECTOR, WIDE = "<32 x i8>", "<32 x i32>"
Emit = Callable[[str], str]  # an instruction of LLVM's text; gives its name
_MOST = 64  # bits: after so many nothing is left of eight bytes


def shifted(emit: Emit, undefined: str, count: str, opcode: str) -> str:
    """`undefined` (VECTOR) after `opcode` (shl, lshr) by `count` bits (WIDE): up to eight bytes, the caller cuts."""
    small = emit(f"icmp ult {WIDE} {count}, {_splat(_MOST)}")
    bits = emit(f"select <32 x i1> {small}, {WIDE} {count}, {WIDE} {_splat(_MOST)}")
    bytes_ = emit(f"lshr {WIDE} {bits}, {_splat(3)}")
    over = emit(f"icmp ne {WIDE} {emit(f'and {WIDE} {bits}, {_splat(7)}')}, zeroinitializer")
    wide = emit(f"zext {VECTOR} {undefined} to {WIDE}")
    near = emit(f"{opcode} {WIDE} {wide}, {bytes_}")
    next_ = emit(f"{opcode} {WIDE} {near}, {_splat(1)}")
    far = emit(f"select <32 x i1> {over}, {WIDE} {next_}, {WIDE} zeroinitializer")
    return emit(f"trunc {WIDE} {emit(f'or {WIDE} {near}, {far}')} to {VECTOR}")


def funnelled(emit: Emit, both: str, count: str, *, left: bool, wrap: bool) -> str:
    """`both` (VECTOR, eight bytes of [b:a]) after `shf` by `count` (WIDE): four bytes, the caller cuts."""
    if wrap:
        bits = emit(f"and {WIDE} {count}, {_splat(31)}")
    else:
        small = emit(f"icmp ult {WIDE} {count}, {_splat(32)}")
        bits = emit(f"select <32 x i1> {small}, {WIDE} {count}, {WIDE} {_splat(32)}")
    return shifted(emit, both, emit(f"sub {WIDE} {_splat(32)}, {bits}") if left else bits, "lshr")


def permuted(emit: Emit, both: str, selector: str) -> str:
    """`both` (VECTOR, eight bytes of [b:a]) after `prmt` by `selector` (WIDE) in its plain mode."""
    wide, result = emit(f"zext {VECTOR} {both} to {WIDE}"), "zeroinitializer"
    for n in range(4):
        picked = emit(f"and {WIDE} {emit(f'lshr {WIDE} {selector}, {_splat(4 * n)}')}, {_splat(7)}")
        bit = emit(f"and {WIDE} {emit(f'lshr {WIDE} {wide}, {picked}')}, {_splat(1)}")
        result = emit(f"or {WIDE} {result}, {emit(f'shl {WIDE} {bit}, {_splat(n)}')}")
    return emit(f"trunc {WIDE} {result} to {VECTOR}")


def _splat(number: int) -> str:
    return f"splat (i32 {number})"
