"""Words and numbers as the terminal reports write them. Other people's text is made harmless."""

from __future__ import annotations

import math
import re
import textwrap

from rich.cells import cell_len, set_cell_size

_SCOPE = re.compile(r"^.*\)[^:()]*::")  # the function that a variable is in
_TEMPLATE = re.compile(r"<[^<>]*>")
# A line may be broken at blanks, and before and after a Chinese character; not before punctuation that ends something,
# nor after a bracket that opens.
_CHINESE = r"[\u3000-\u9fff\uff00-\uffef]"
_PIECE = re.compile(rf"\s+|（*(?:(?![（，。：；、）]){_CHINESE}|(?:(?!{_CHINESE})\S)+)[，。：；、）]*|\S")


def clean(text: str) -> str:
    """The text with tabs expanded and control characters spelled out (`\\x1b`), so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() or c == " " else ascii(c)[1:-1] for c in text.expandtabs(4))


def count(value: int) -> str:
    """A whole number with thousands separated: 131,072."""
    return f"{value:,}"


def per(total: int, requests: int) -> str:
    """`total / requests` with at most two decimals and no trailing zeros: 4, 3.97, 0.5, ~4; `-` for no requests."""
    if requests == 0:
        return "-"
    if total % requests == 0:
        return count(total // requests)
    ratio = total / requests
    if ratio < 0.01:
        return "<0.01"
    text = f"{ratio:,.2f}"
    # Two decimals must not claim a whole number that it is not.
    return f"~{text[:-3]}" if text.endswith(".00") else text.rstrip("0")


def significant(value: float) -> str:
    """A quantity of any size in three digits, without powers of ten: 0.0587, 1.76, 2,100,000."""
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def percent(part: int, whole: int) -> str:
    """`part` of `whole` in whole percent, never rounded to 0 or 100 when it is neither."""
    if whole == 0:
        return "0%"
    value = round(100 * part / whole)
    if value == 0 and part:
        return "<1%"
    if value == 100 and part < whole:
        return ">99%"
    return f"{value}%"


def size(value: int) -> str:
    """Bytes for people: 512 B, 4 KB (4,096 bytes), 1.5 KB."""
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if round(1024 * value / scale, 1) >= 1024:  # what the smaller unit would round up to 1024 of
            return f"{value / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{value} B"


def dims(shape: tuple[int, int, int]) -> str:
    """A grid or block without trailing ones: 256, (64,64), (4,4,4)."""
    x, y, z = shape
    if z != 1:
        return f"({x},{y},{z})"
    return f"({x},{y})" if y != 1 else f"{x}"


def kernel_name(demangled: str) -> str:
    """A demangled name without return type and parameter list: `void f<32>(float*, int)` is `f<32>`."""
    name = clean(demangled)
    end = len(name)
    if name.endswith(")"):
        depth = 0
        for position in range(len(name) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(name[position], 0)
            if depth == 0:
                end = position
                break
    return name[:end].removeprefix("void ").strip() or name


def variable_name(demangled: str) -> str:
    """A variable without the function that it stands in: `k(float*)::tile` is `tile`."""
    return _SCOPE.sub("", clean(demangled))


def share(fraction: float) -> str:
    """A share of 1 in whole percent, as `percent` writes it."""
    return percent(round(100_000 * fraction), 100_000)


def shorten(name: str, width: int) -> str:
    """The name with its innermost template arguments replaced by dots until it fits, then cut."""
    marker = "\0"
    while cell_len(name) > width:
        shorter, changes = _TEMPLATE.subn(marker, name, count=1)
        if not changes:
            break
        name = shorter
    name = name.replace(marker, "<..>")
    return cut(name, width)


def cut_path(path: str, width: int) -> str:
    """The path, its first folders replaced by dots where it takes more than `width` columns."""
    while cell_len(path) > width and "/" in path.removeprefix(".../"):
        path = f".../{path.removeprefix('.../').partition('/')[2]}"
    return path


def cut(line: str, width: int) -> str:
    """The line, its end replaced by dots where it takes more than `width` columns."""
    return line if cell_len(line) <= width else set_cell_size(line, max(width - 3, 1)).rstrip() + "..."


def pad(cell: str, width: int, *, right: bool = False) -> str:
    """The cell filled up with blanks to `width` columns of a terminal; `right`: the blanks stand in front."""
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if right else cell + blanks


def note_lines(note: str, width: int, label: str) -> list[str]:
    """A note below a report, after its label ("note: "); one of several lines, as compilers write them, keeps them."""
    return [
        line
        for index, part in enumerate(note.splitlines())
        if part.strip()
        for line in wrap(part, width, first="  " if index else label, rest="  ")
    ]


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """A paragraph as lines of `width` columns; `first` starts the first line, `rest` (default: blanks) the others."""
    indent = " " * cell_len(first) if rest is None else rest
    text, width = clean(text), max(width, 20)
    if len(text) < cell_len(text):
        return _wrap_wide(text, width, first, indent)
    lines = textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent)
    return lines or [first.rstrip()]


def _wrap_wide(text: str, width: int, first: str, indent: str) -> list[str]:
    """`wrap` of a text with characters that take two columns. A word longer than a line stays whole."""
    lines, line = [], first
    for piece in _PIECE.findall(text):
        if line not in (first, indent) and cell_len(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = indent
        if line != indent or not piece.isspace():
            line += piece
    return [*lines, line.rstrip()]
