"""mma.m8n8k4 of halves (PTX ISA 9.7.14.5.1), in LLVM IR: four products of 8 x 8 x 4, each by eight lanes.

It is Volta's instruction; the machine code of sm_90 computes it with FFMA and FADD in f32, and so does this: for f32
results a chain of four from zero, then c; for f16 the first two products, c, then the other two.
"""

from __future__ import annotations

from lanewise.emulator.matrix.build import Builder, function
from lanewise.emulator.matrix.numbers import NAN
from lanewise.emulator.moving import lane_vector

DEPTH = 4
_F, _W = "<32 x float>", "<32 x i32>"
Place = tuple[int, int]  # element of a lane's operand, lane


def _pair(lane: int) -> int:
    """The lowest lane of the quad pair of a lane: lanes 4 p to 4 p + 3 and 16 more."""
    return lane % 16 // 4 * 4


def _holder(lane: int, index: int, k: int, along_k: bool) -> Place:
    """Who holds element (index, k) of the operand of a lane's pair: `along_k`, each lane has one index and all of k."""
    upper = 16 if index >= 4 else 0
    if along_k:
        return k, _pair(lane) + index % 4 + upper
    return index % 4, _pair(lane) + k + upper


def place_of_c(kind: str, lane: int, i: int) -> tuple[int, int]:
    """(row, column) of element i of fragments c and d."""
    upper = 4 if lane >= 16 else 0
    if kind == "f16":
        return lane % 4 + upper, i
    return (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)


def _halves(out: Builder, first: int, registers: int) -> list[str]:
    """The halves of registers in memory, as vectors of f32: two of each."""
    found = []
    for register in range(first, first + registers):
        word = out.let(f"load {_W}, ptr {out.at('%registers', _W, str(register))}, align 64")
        for part in (0, 1):
            moved = out.let(f"lshr {_W} {word}, splat (i32 {16 * part})")
            short = out.let(f"trunc {_W} {moved} to <32 x i16>")
            half = out.let(f"bitcast <32 x i16> {short} to <32 x half>")
            found.append(out.let(f"fpext <32 x half> {half} to {_F}"))
    return found


def _joined(out: Builder, vectors: list[str]) -> str:
    """Four vectors end to end."""
    pairs = [
        out.let(f"shufflevector {_F} {a}, {_F} {b}, <64 x i32> {lane_vector('i32', range(64))}")
        for a, b in (vectors[:2], vectors[2:])
    ]
    kind = "<64 x float>"
    return out.let(f"shufflevector {kind} {pairs[0]}, {kind} {pairs[1]}, <128 x i32> {lane_vector('i32', range(128))}")


def _pick(out: Builder, whole: str, places: list[Place]) -> str:
    order = lane_vector("i32", (32 * element + lane for element, lane in places))
    return out.let(f"shufflevector <128 x float> {whole}, <128 x float> poison, <32 x i32> {order}")


def name(layouts: tuple[str, str], c: str, d: str) -> str:
    return f"lw_mma_m8n8k4_{'_'.join(layouts)}_{c}_{d}"


def write(layouts: tuple[str, str], c: str, d: str) -> str:
    """The text of a function that takes `ptr %registers`: a, b, c, then room for d."""

    def body(out: Builder) -> None:
        out.declare(f"declare {_F} @llvm.fma.v32f32({_F}, {_F}, {_F})")
        a, b = (_joined(out, _halves(out, first, 2)) for first in (0, 2))
        count = 8 if c == "f32" else 4
        if c == "f32":
            old = [out.let(f"load {_F}, ptr {out.at('%registers', _W, str(4 + i))}, align 64") for i in range(8)]
        else:
            old = _halves(out, 4, 4)
        results = []
        for i in range(8):
            spots = [place_of_c(d, lane, i) for lane in range(32)]
            factors = []
            for k in range(DEPTH):
                x = [_holder(lane, spots[lane][0], k, layouts[0] == "row") for lane in range(32)]
                y = [_holder(lane, spots[lane][1], k, layouts[1] == "col") for lane in range(32)]
                factors.append((_pick(out, a, x), _pick(out, b, y)))
            results.append(_sum(out, factors, _moved(out, old, c, d, i), d))
        _keep(out, results, d, 4 + count)

    return function(name(layouts, c, d), "ptr %registers", body)


def _moved(out: Builder, old: list[str], c: str, d: str, i: int) -> str:
    """Element i of c where d has it; they lie apart where their types differ."""
    if c == d:
        return old[i]
    holders = {
        (_pair(lane), *place_of_c(c, lane, element)): (element, lane) for lane in range(32) for element in range(8)
    }
    wanted = [holders[(_pair(lane), *place_of_c(d, lane, i))] for lane in range(32)]
    value = "zeroinitializer"
    for element in sorted({element for element, _ in wanted}):
        order = lane_vector("i32", (lane for _, lane in wanted))
        moved = out.let(f"shufflevector {_F} {old[element]}, {_F} poison, <32 x i32> {order}")
        mine = "<" + ", ".join(f"i1 {str(e == element).lower()}" for e, _ in wanted) + ">"
        value = out.let(f"select <32 x i1> {mine}, {_F} {moved}, {_F} {value}")
    return value


def _sum(out: Builder, factors: list[tuple[str, str]], c: str, d: str) -> str:
    def fma(k: int, value: str) -> str:
        x, y = factors[k]
        return out.let(f"call {_F} @llvm.fma.v32f32({_F} {x}, {_F} {y}, {_F} {value})")

    def add(x: str, y: str) -> str:
        return out.let(f"fadd {_F} {x}, {y}")

    if d == "f32":
        return add(fma(3, fma(2, fma(1, fma(0, "zeroinitializer")))), c)
    low, high = (fma(k + 1, out.let(f"fmul {_F} {factors[k][0]}, {factors[k][1]}")) for k in (0, 2))
    return add(add(low, c), high)


def _keep(out: Builder, results: list[str], d: str, first: int) -> None:
    """Store d; what is no number becomes the NaN of the machine."""
    words = []
    for value in results:
        no_number = out.let(f"fcmp uno {_F} {value}, zeroinitializer")
        if d == "f32":
            bits = out.let(f"bitcast {_F} {value} to {_W}")
            words.append(out.let(f"select <32 x i1> {no_number}, {_W} splat (i32 {NAN['f32']}), {_W} {bits}"))
            continue
        half = out.let(f"fptrunc {_F} {value} to <32 x half>")
        wide = out.let(f"zext <32 x i16> {out.let(f'bitcast <32 x half> {half} to <32 x i16>')} to {_W}")
        words.append(out.let(f"select <32 x i1> {no_number}, {_W} splat (i32 {NAN['f16']}), {_W} {wide}"))
    if d == "f16":
        words = [
            out.let(f"or {_W} {low}, {out.let(f'shl {_W} {high}, splat (i32 16)')}")
            for low, high in zip(words[::2], words[1::2], strict=True)
        ]
    for register, word in enumerate(words):
        out.line(f"store {_W} {word}, ptr {out.at('%registers', _W, str(first + register))}, align 64")
