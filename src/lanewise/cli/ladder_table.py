"""The rungs of a subject as a table that fits 100 columns, and their claims in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from lanewise.hardware import device
from lanewise.ladder import Subject
from lanewise.ladder.plot import amount
from lanewise.report import text
from lanewise.report.table import table
from lanewise.request import DEFAULT_DEVICE

if TYPE_CHECKING:
    from lanewise.ladder.rows import Row
from lanewise.ladder.timeline import LAUNCH_US

WIDTH = 100
Value = TypeVar("Value", int, float)


@dataclass(frozen=True, slots=True)
class _Column:
    """`idle`: the column is left out where all its cells are among these. `legend` says what it is."""

    head: str
    side: str
    cell: Callable[[Row], str]
    legend: str = ""
    idle: frozenset[str] = frozenset()


def short(value: int) -> str:
    """A count: whole below a hundred thousand, else four digits of it (262.1k, 1.049M, 138.7M)."""
    if value < 100_000:
        return text.count(value)
    unit, size = next((unit, size) for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)) if value >= size)
    return f"{value / size:#.4g}{unit}" if value < 999.95 * size else f"{value / size:,.0f}{unit}"


def _or_dash(value: Value | None, write: Callable[[Value], str]) -> str:
    return "-" if value is None else write(value)


def _time(value: float | None) -> str:
    return _or_dash(value, "{:,.1f}".format)


def _named(rows: Sequence[Row]) -> list[str]:
    """The rungs, with the type of their elements where it is not that of the first."""
    return [row.rung if row.element == rows[0].element else f"{row.rung} {row.element}" for row in rows]


def _verdict(row: Row) -> str:
    return {None: "-", True: "holds", False: _fails(row)}[row.claim_holds] if row.right else "WRONG RESULT"


def _fails(row: Row) -> str:
    """Claims are stated for one device; machine code and what fits a multiprocessor are others elsewhere."""
    return "FAILS" if row.device == DEFAULT_DEVICE else "differs"


def _spills(row: Row) -> int:
    return row.counts["machine_local_load_requests"] + row.counts["machine_local_store_requests"]


_NONE = frozenset(("0", "-"))
_COLUMNS = (
    _Column("runs", "r", lambda row: short(row.counts["launches"]), "runs: launches of kernels.", frozenset("01")),
    _Column("instr.", "r", lambda row: _or_dash(row.instructions, short), "instr.: machine instructions by warps."),
    _Column(
        "req.",
        "r",
        lambda row: short(amount(row, "global", "requests")),
        "req., sectors: of global memory and textures, loads, stores and atomics together, as the PTX asks for them; "
        "each: sectors a request.",
    ),
    _Column("sectors", "r", lambda row: short(amount(row, "global", "sectors"))),
    _Column("each", "r", lambda row: text.per(amount(row, "global", "sectors"), amount(row, "global", "requests"))),
    _Column(
        "wavefr.",
        "r",
        lambda row: short(amount(row, "shared", "wavefronts")),
        "wavefr.: wavefronts of shared memory.",
        _NONE,
    ),
    _Column(
        "div.", "r", lambda row: short(row.counts["divergent_branches"]), "div.: branches that part a warp.", _NONE
    ),
    _Column("spills", "r", lambda row: short(_spills(row)), "spills: requests of local memory.", _NONE),
    _Column("regs", "r", lambda row: _or_dash(row.registers, str), "regs, occ.: of the launch that does most."),
    _Column("occ.", "r", lambda row: _or_dash(row.occupancy, "{:.0%}".format)),
    _Column("claim", "l", _verdict, "claim: as stated for the H200."),
    _Column("model", "r", lambda row: _time(row.time_us)),
    _Column("here", "r", lambda row: _time(row.measured_us), idle=_NONE),
)


def table_lines(subject: Subject, rows: Sequence[Row], card: str | None) -> list[str]:
    """A table a device with the rungs that do not run there, what the columns are, the devices' times side by side, and
    the claims: in full for the first device, for others where they came out otherwise. `card`: what measured times are
    of."""
    lines = [f"{subject.name}: {subject.title}", *text.wrap(subject.about, WIDTH)]
    devices = list(dict.fromkeys(row.device for row in rows))
    for name in devices:
        mine = [row for row in rows if row.device == name]
        sizes = ", ".join(f"{size} {text.count(value)}" for size, value in mine[0].problem.items())
        lines += ["", f"counted for {device.load(name).name}; {mine[0].element}; {sizes}", "", *_one_device(mine)]
        for row in mine:
            if row.refused is not None:
                why = row.refused.removeprefix(f"ladder {subject.name}/{row.rung}: ")
                lines += text.wrap(f"{row.rung}: not here: {why}", WIDTH, rest="  ")
    lines += ["", *text.wrap(" ".join(_legend(subject, rows, card)), WIDTH)]
    if len(devices) > 1:
        lines += ["", "modelled microseconds side by side", "", *_side_by_side(rows, devices)]
    return lines + _claims(rows, devices)


def _shown(rows: Sequence[Row]) -> list[tuple[_Column, list[str]]]:
    """The columns with their cells, without the idle ones."""
    all_of = [(column, [column.cell(row) for row in rows if row.refused is None]) for column in _COLUMNS]
    return [(column, cells) for column, cells in all_of if not column.idle or set(cells) - column.idle]


def _one_device(rows: Sequence[Row]) -> list[str]:
    columns = _shown(rows)
    names = ["rung", *_named([row for row in rows if row.refused is None])]
    lines = zip(names, *([column.head, *cells] for column, cells in columns), strict=True)
    return table(list(lines), "l" + "".join(column.side for column, _ in columns))


def _legend(subject: Subject, rows: Sequence[Row], card: str | None) -> list[str]:
    issued = f", the host issuing one each {LAUNCH_US} us (a graph: all at once)" if subject.paced else ""
    copies = " and copies" if any(rung.host for rung in subject.rungs) else ""
    time = f"model: modelled microseconds of all launches{issued}{copies}, caches cold before the first."
    here = [f"here: microseconds measured on this machine's {card}, warm."] if card else []
    return [*(column.legend for column, _ in _shown(rows) if column.legend), time, *here]


def _side_by_side(rows: Sequence[Row], devices: Sequence[str]) -> list[str]:
    times = {(row.rung, row.device): _time(row.time_us) for row in rows}
    names = dict.fromkeys(row.rung for row in rows)
    lines = [("rung", *devices), *((name, *(times[name, one] for one in devices)) for name in names)]
    return table(lines, "l" + "r" * len(devices))


def _claims(rows: Sequence[Row], devices: Sequence[str]) -> list[str]:
    lines: list[str] = []
    first = {row.rung: claim_lines(row) for row in rows if row.device == devices[0]}
    for name in devices:
        other = [row for row in rows if row.device == name and claim_lines(row) != first[row.rung]]
        mine = [row for row in rows if row.device == name] if name == devices[0] else other
        if found := [line for row in mine for line in claim_lines(row)]:
            lines += [*(["", f"claims on {device.load(name).name}:"] if len(devices) > 1 else []), *found]
    return lines


def claim_lines(row: Row) -> list[str]:
    """What a rung claims and by what factors its counts changed; nothing where it claims nothing or did not run."""
    if row.refused is not None or row.claim is None:
        return []
    lines = ["", *text.wrap(f"{row.rung} against {row.against}: {row.claim}", WIDTH, rest="  ")]
    for change in row.checked:
        found = "nothing to compare with" if change.found is None else f"x {change.found:.4g}"
        verdict = "" if change.holds else f"  {_fails(row)}: claimed x {change.factor:.4g}"
        lines.append(f"  {change.metric.replace('_', ' ')} {found}{verdict}")
    return lines
