"""Where wmma keeps the elements of a matrix (PTX ISA 9.7.14.4 leaves it open; these are an H200's).

A register of all lanes is a tile of 8 rows: lane 4 g + t holds, in row g, the elements of columns `step` t and on, as
many as fit. A tile that lies `across` has its rows and columns exchanged. The layout of memory (row, col) does not
matter. Halves of a and b are kept twice, or four times, in as many registers as the ISA asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from lanewise.emulator.matrix.numbers import PARTS
from lanewise.emulator.matrix.product import Product

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Tile:
    """One register: the place of its first element."""

    row: int
    column: int
    across: bool
    step: int

    def place(self, group: int, thread: int, part: int) -> tuple[int, int]:
        """(row, column) of an element of lane 4 group + thread."""
        along = self.step * thread + part
        return (self.row + along, self.column + group) if self.across else (self.row + group, self.column + along)


def parts(kind: str) -> int:
    """Elements in a register of a lane."""
    return 32 if kind == "b1" else PARTS[kind]


def _operand(rows: int, depth: int, kind: str) -> list[tuple[int, int]]:
    """(row, place along k) of the registers of a, or of b transposed: 16 rows at a time."""
    width = 4 * parts(kind)
    block = min(rows, 16)
    return [
        (first + half, along)
        for first in range(0, rows, block)
        for along in range(0, depth, width)
        for half in range(0, block, 8)
    ]


def _b_by_columns(columns: int, depth: int, kind: str) -> list[tuple[int, int]]:
    """The same of b as the right operand of products of eight columns: all of k for each of them."""
    width = 4 * parts(kind)
    return [(first, along) for first in range(0, columns, 8) for along in range(0, depth, width)]


@cache
def fragment(matrix: str, shape: Shape, kind: str) -> tuple[Tile, ...]:
    """The registers of matrix a, b or c (d is like c) of a wmma shape."""
    m, n, k = shape
    turned = (m, n) == (8, 32)  # the product is made of its transpose
    step = parts(kind)
    if matrix == "c":
        rows, columns = (n, m) if turned else (m, n)
        odd = (0,) if step == 2 else (0, 1)
        return tuple(
            Tile(*((column + o, row + half) if turned else (row + half, column + o)), turned, 2)
            for column in range(0, columns, 8)
            for row in range(0, rows, 16)
            for half in range(0, min(rows, 16), 8)
            for o in odd
        )
    if matrix == "a":
        found = [Tile(row, along, False, step) for row, along in _operand(m, k, kind)]
    else:
        places = _operand(n, k, kind) if turned else _b_by_columns(n, k, kind)
        found = [Tile(along, column, True, step) for column, along in places]
    if kind == "f16":
        found *= 8 // len(found)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Block:
    """One machine product of a wmma.mma: numbers of the registers of its operands."""

    product: Product
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: tuple[int, ...]
    d: tuple[int, ...]


def blocks(shape: Shape, kinds: tuple[str, str, str, str], saturate: bool, operation: str) -> tuple[list[Block], bool]:
    """The products that make d = a b + c (`kinds` of a, b, c, d), and whether they take b for a: the transpose."""
    m, n, k = shape
    kind_a, kind_b, kind_c, kind_d = kinds
    turned = (m, n) == (8, 32)
    if turned:
        (m, n), (kind_a, kind_b) = (n, m), (kind_b, kind_a)
    rows = min(m, 16)
    # tf32 is summed by fours: the machine's instruction has k = 4.
    product = Product(rows, k, kind_a, kind_b, kind_c, kind_d, saturate, operation, 4 if kind_a == "tf32" else 0)
    of_a = rows * k // (32 * parts(kind_a))
    of_b = 8 * k // (32 * parts(kind_b))

    def numbers(kind: str, block: int) -> tuple[int, ...]:
        count = rows * 8 // 32 // (2 if parts(kind) == 2 else 1)
        return tuple(range(block * count, block * count + count))

    found = []
    for column in range(n // 8):
        for row in range(m // rows):
            block = column * (m // rows) + row
            a = tuple(range(row * of_a, row * of_a + of_a))
            b = tuple(range(column * of_b, column * of_b + of_b))
            found.append(Block(product, a, b, numbers(kind_c, block), numbers(kind_d, block)))
    return found, turned
