"""wmma (PTX ISA 9.7.14.4): fragments from and to memory in the layout of an H200, and their products.

Each register (pair of registers, where two hold neighbours) is one access of all lanes, of the width that the machine
uses; the accesses of an instruction are counted together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag
from lanewise.emulator.lowering import events
from lanewise.emulator.lowering.address import address_of, array_name, components, space_of
from lanewise.emulator.lowering.each_lane import touch
from lanewise.emulator.lowering.mma import load_registers, shape_of, store_registers
from lanewise.emulator.lowering.tell import tell
from lanewise.emulator.matrix import multiply
from lanewise.emulator.matrix.fragments import Tile, blocks, fragment, parts
from lanewise.emulator.matrix.rows import transposed
from lanewise.emulator.moving import lane_vector
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import TYPE_BITS, Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_WHOLE = "<32 x i32>"
_NARROW = (Space.SHARED, Space.LOCAL)
_FOLLOWED = (Space.GLOBAL, Space.GENERIC)


@dataclass(frozen=True, slots=True)
class Piece:
    """One access of all lanes. Lane l takes `bits` at element `slow[l] * stride + fast[l]`; they belong to `count`
    registers from `register` on, or to `part` of one (bytes of a layout that does not fit)."""

    register: int
    count: int
    bits: int
    slow: tuple[int, ...]
    fast: tuple[int, ...]
    part: int = 0
    transposed: bool = False


def _pieces(tiles: tuple[Tile, ...], kind: str, by_rows: bool) -> Iterator[Piece]:
    """The accesses of a fragment in memory that lies by rows, or by columns."""
    bits, per = TYPE_BITS[kind], parts(kind)
    lanes = [(lane // 4, lane % 4) for lane in range(32)]

    def places(tile: Tile, part: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        found = [tile.place(group, thread, part) for group, thread in lanes]
        rows, columns = tuple(row for row, _ in found), tuple(column for _, column in found)
        return (rows, columns) if by_rows else (columns, rows)

    register = 0
    while register < len(tiles):
        tile = tiles[register]
        neighbours = tile.across != by_rows  # the elements of a lane are next to each other in memory
        if bits >= 32:
            pair = neighbours and tile.step == 2
            yield Piece(register, 1 + pair, bits * (1 + pair), *places(tile, 0))
            register += pair
        elif neighbours:
            yield Piece(register, 1, 32, *places(tile, 0))
        elif bits == 16:  # fetched the other way round, then transposed
            turned = Tile(tile.row, tile.column, not tile.across, tile.step)
            yield Piece(register, 1, 32, *places(turned, 0), transposed=True)
        else:
            for part in range(per):
                yield Piece(register, 1, bits, *places(tile, part), part=part)
        register += 1


class _Access:
    """The memory operand of a load or store."""

    def __init__(self, t: FunctionTranslator, ins: Instruction, operand: int, kind: AccessKind, bits: int) -> None:
        self.t, self.ins = t, ins
        self.space = space_of(ins)
        self.kind = kind
        self.element = TYPE_BITS[ins.type]
        base = address_of(t, ins.operands[operand], self.space not in _NARROW)
        self.word = "i32" if self.space in _NARROW else "i64"
        self.base = t.vector(base)
        self.site: SiteInfo = t.new_site(ins, self.space, kind, bits, array_name(t, ins.operands[operand]))
        self.site.on_from_block = ins.guard is None
        m, n, k = shape_of(ins)
        rows, columns = {"a": (m, k), "b": (k, n)}.get(next(w for w in ins.modifiers if w in "abcd"), (m, n))
        self.by_rows = ins.has("row")
        self.stride = self._stride(ins, operand, columns if self.by_rows else rows)

    def _stride(self, ins: Instruction, operand: int, default: int) -> str:
        """Elements from one row (column) to the next, as a vector; by default they follow each other."""
        position = 2  # after the address and the fragment
        if len(ins.operands) <= position:
            return f"splat ({self.word} {default})"
        value = self.t.operand(ins.operands[position], "u32")
        if value.tag == Tag.UNIFORM:
            text = value.text if self.word == "i32" else self.t.out.let(f"zext i32 {value.text} to i64")
            return q.splat(self.t.out, self.word, text)
        vector = self.t.vector(value)
        return vector if self.word == "i32" else self.t.out.let(f"zext {_WHOLE} {vector} to <32 x i64>")

    def touch(self, piece: Piece) -> tuple[str, str]:
        """Check and count one access; host addresses and the lanes that are on."""
        out, word = self.t.out, self.word
        slow = out.let(f"mul <32 x {word}> {self.stride}, {lane_vector(word, piece.slow)}")
        index = out.let(f"add <32 x {word}> {slow}, {lane_vector(word, piece.fast)}")
        if self.element >= 8:
            offset = out.let(f"mul <32 x {word}> {index}, splat ({word} {self.element // 8})")
        else:
            offset = out.let(f"lshr <32 x {word}> {index}, splat ({word} {(8 // self.element).bit_length() - 1})")
        address = q.varying(out.let(f"add <32 x {word}> {self.base}, {offset}"), word)
        is_load = self.kind == AccessKind.LOAD
        self.site.told_bits = min(self.site.told_bits or piece.bits, piece.bits)
        events.access(self.t, self.ins, self.site, self.space, address)
        if self.space in _FOLLOWED:
            tell(self.t, self.ins, self.site, address, bits=piece.bits)
        return touch(self.t, self.ins, self.space, address, piece.bits // 8, self.site, is_load=is_load)


def load(t: FunctionTranslator, ins: Instruction) -> None:
    """wmma.load.{a,b,c}.sync.aligned."""
    out = t.out
    matrix = next(word for word in ins.modifiers if word in "abc")
    targets = components(ins.operands[0])
    tiles = fragment(matrix, shape_of(ins), ins.type)
    distinct = tuple(dict.fromkeys(tiles))
    access = _Access(t, ins, 1, AccessKind.LOAD, TYPE_BITS[ins.type] * parts(ins.type) * len(distinct))
    word = "i64" if ins.type == "f64" else "i32"
    values: dict[int, str] = {}
    for piece in _pieces(distinct, ins.type, access.by_rows):
        host, mask = access.touch(piece)
        raw = out.let(f"call <32 x i{piece.bits}> @lw_gather_i{piece.bits}(<32 x i64> {host}, i32 {mask})")
        if piece.count == 2:
            for half in (0, 1):
                shift = f"splat (i{piece.bits} {half * piece.bits // 2})"
                moved = out.let(f"lshr <32 x i{piece.bits}> {raw}, {shift}")
                values[piece.register + half] = out.let(f"trunc <32 x i{piece.bits}> {moved} to <32 x {word}>")
        elif piece.bits < 32:
            byte = out.let(f"zext <32 x i{piece.bits}> {raw} to {_WHOLE}")
            byte = out.let(f"shl {_WHOLE} {byte}, splat (i32 {piece.bits * piece.part})")
            old = values.get(piece.register)
            values[piece.register] = byte if old is None else out.let(f"or {_WHOLE} {old}, {byte}")
        else:
            values[piece.register] = transposed(t.out, raw) if piece.transposed else raw
    for target, tile in zip(targets, tiles, strict=True):
        t.write(target, q.varying(values[distinct.index(tile)], word), ins)


def store(t: FunctionTranslator, ins: Instruction) -> None:
    """wmma.store.d.sync.aligned."""
    out = t.out
    sources = components(ins.operands[1])
    word = "i64" if ins.type == "f64" else "i32"
    vectors = [t.vector(t.operand(source, f"b{word[1:]}")) for source in sources]
    tiles = fragment("c", shape_of(ins), ins.type)
    access = _Access(t, ins, 0, AccessKind.STORE, TYPE_BITS[ins.type] * parts(ins.type) * len(tiles))
    for piece in _pieces(tiles, ins.type, access.by_rows):
        host, mask = access.touch(piece)
        value = vectors[piece.register]
        if piece.count == 2:
            kind = f"<32 x i{piece.bits}>"
            low, high = (out.let(f"zext <32 x {word}> {vectors[piece.register + half]} to {kind}") for half in (0, 1))
            high = out.let(f"shl {kind} {high}, splat (i{piece.bits} {piece.bits // 2})")
            value = out.let(f"or {kind} {low}, {high}")
        elif piece.transposed:
            value = transposed(t.out, value)
        out.line(f"call void @lw_scatter_i{piece.bits}(<32 x i64> {host}, <32 x i{piece.bits}> {value}, i32 {mask})")


def mma(t: FunctionTranslator, ins: Instruction) -> None:
    """wmma.mma.sync.aligned, as the products of 16 (or 8) rows and 8 columns that the machine makes of it."""
    types = ins.types
    d_type, c_type = types[0], types[-1]
    a_type, b_type = ("f16", "f16") if len(types) == 2 else (types[1], types[2])
    operation = next((word for word in ins.modifiers if word in ("xor", "and")), "")
    kinds = (a_type, b_type, c_type, d_type)
    found, turned = blocks(shape_of(ins), kinds, ins.has("satfinite"), operation)
    d, a, b, c = (components(operand) for operand in ins.operands)
    if turned:
        a, b = b, a
    element = "i64" if a_type == "f64" else "i32"
    results: list[tuple[str, int, tuple[Operand, ...]]] = []
    size = int(element[1:]) * 4
    counts = [len(block.a + block.b + block.c + block.d) for block in found]
    room = t.room(sum(counts) * size)
    start = 0
    for block, count in zip(found, counts, strict=True):
        here = t.out.let(f"getelementptr i8, ptr {room}, i64 {start * size}")
        sources = [a[r] for r in block.a] + [b[r] for r in block.b] + [c[r] for r in block.c]
        store_registers(t, here, tuple(sources), element)
        name = multiply.name(block.product)
        t.out.define(name, multiply.write(block.product))
        t.out.line(f"call void @{name}(ptr {here})")
        results.append((here, len(sources), tuple(d[r] for r in block.d)))
        start += count
    for here, first, targets in results:
        load_registers(t, here, first, targets, ins, element)
