"""Reads the ladder's data: one folder a subject, with `ladder.toml` and the CUDA C++ file of each rung.

Sizes, grids and defines are integer expressions (`expressions.py`) over: the problem's sizes, `size` (bytes of an
element), `sms` (multiprocessors of the card), and the rung's own defines. `plan.py` turns a rung into launches.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lanewise.errors import UsageError

#: Element types: name, CUDA C++ spelling (the macro `Element`), bytes.
TYPES: dict[str, tuple[str, int]] = {
    "u8": ("unsigned char", 1),
    "u16": ("unsigned short", 2),
    "u32": ("unsigned int", 4),
    "i32": ("int", 4),
    "u64": ("unsigned long long", 8),
    "i64": ("long long", 8),
    "f16": ("__half", 2),
    "bf16": ("__nv_bfloat16", 2),
    "f32": ("float", 4),
    "f64": ("double", 8),
}

#: Types whose sums are kept in another type (the macro `Sum`).
SUMS: dict[str, str] = {"f16": "float", "bf16": "float"}

#: Before the name of a metric: counted from the machine code, which may have merged accesses, instead of from the PTX.
MACHINE = "machine_"

#: What a claim may speak of, each summed over the rung's launches: memory accesses; instructions (`instructions`: the
#: machine's, by warps) and branches; what the compiler gave a thread and how many warps a multiprocessor then holds;
#: the modelled time of all launches and copies (0 where it is not known).
METRICS = frozenset(
    f"{basis}{space}_{kind}_{what}"
    for basis in ("", MACHINE)
    for space, whats in (
        ("global", ("requests", "sectors")),
        ("texture", ("requests", "sectors")),
        ("shared", ("requests", "wavefronts")),
    )
    for kind in ("load", "store", "atomic")
    for what in whats
) | {
    "machine_local_load_requests",
    "machine_local_store_requests",
    "ptx_instructions",
    "instructions",
    "divergent_branches",
    "launches",
    "modelled_ns",
    "registers",
    "resident_warps",
}


@dataclass(frozen=True, slots=True)
class Buffer:
    """Device memory of `count` elements of `type` ("element": the problem's).

    `zero`: "each run" (cleared before each run of the rung), "once" (cleared when made; the rung leaves it so), or "".
    """

    name: str
    type: str
    count: str
    role: str  # "input", "output", "scratch"
    zero: str = ""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """What the bulk tensor copy engine needs to know of a matrix: CUtensorMap, a parameter of 128 bytes.

    `extents` and `box` in elements, innermost dimension first; rows are dense. `swizzle`: bytes of a row of the box in
    shared memory within which 16-byte pieces are exchanged (128), or 0.
    """

    name: str
    buffer: str
    extents: tuple[str, ...]
    box: tuple[str, ...]
    swizzle: int


@dataclass(frozen=True, slots=True)
class TextureOf:
    """A texture object over a CUDA array that holds a copy of an f32 input: height x width, unfiltered, clamped."""

    name: str
    buffer: str
    height: str
    width: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch, or `repeat` of them, in which expressions may speak of `i`, 0 for the first.

    A grid with an extent of 0 is not launched. `arguments`: the name of a buffer, a tensor map or a texture, or a
    value with its type ("i32 rows"); "x if i % 2 else y" takes one of two buffers.
    """

    kernel: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    arguments: tuple[str, ...]
    shared: str = "0"
    repeat: str = "1"


@dataclass(frozen=True, slots=True)
class Host:
    """Inputs and outputs lie in the host's memory and are copied in and out in `pieces`, round about on `streams`.

    The launch with `i` of a piece's number works on that piece. Emulated, there are neither copies nor streams.
    """

    pieces: str
    streams: str


@dataclass(frozen=True, slots=True)
class Change:
    """`metric` is `factor` times that of the rung before, within `tolerance` of the factor (relative)."""

    metric: str
    factor: float
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class Claim:
    """What changes against the rung `against` at the sizes `problem` (the subject's defaults where it names none)."""

    against: str
    text: str
    changes: tuple[Change, ...]
    problem: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Choice:
    """Defines for the problems where `when` holds; of a rung's choices the first that holds is taken."""

    when: str
    defines: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Best:
    """A rung to take where `when` holds of the problem (always where it is empty) and the rung takes it."""

    rung: str
    when: str


@dataclass(frozen=True, slots=True)
class Rung:
    """One idea: a source file, its macros, its launches and its claim.

    `arch`: the least compute capability, 90 is 9.0; `last`: the latest one, where later cards lack its instructions
    (0: no limit). `alignment`: of the buffers' addresses, in bytes (0: an element's).
    """

    subject: str
    name: str
    file: str
    title: str
    arch: int
    last: int
    alignment: int
    types: tuple[str, ...]
    needs: tuple[str, ...]  # of the problem
    fits: tuple[str, ...]  # of the defines, whoever chose them
    defines: Mapping[str, str]
    choices: tuple[Choice, ...]
    search: Mapping[str, tuple[int | str, ...]]  # values of the defines that a search on a card tries
    values: Mapping[str, str]
    scratch: tuple[Buffer, ...]
    maps: tuple[TensorMap, ...]
    textures: tuple[TextureOf, ...]
    launches: tuple[Launch, ...]
    graph: bool  # on a card, the launches are captured into a CUDA graph, and it is launched
    host: Host | None
    claim: Claim | None

    @property
    def element(self) -> str:
        """The type it is shown and its claim is checked with."""
        return "f32" if "f32" in self.types else self.types[0]

    def barred(self, arch: int) -> str:
        """Why a card of this compute capability (90: 9.0) cannot run it; empty where it can."""
        if arch < self.arch:
            return f"needs compute capability {self.arch // 10}.{self.arch % 10}"
        if self.last and arch > self.last:
            return f"has instructions that no card after compute capability {self.last // 10}.{self.last % 10} has"
        return ""

    def source(self) -> str:
        return (files("lanewise.ladder") / self.subject / self.file).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    title: str
    about: str
    types: tuple[str, ...]
    scales: tuple[str, ...]  # the sizes of a problem that one number sets
    best: tuple[Best, ...]  # the rungs for `lanewise.kernels`, the first that fits; empty where it has no function
    problem: Mapping[str, int]
    buffers: tuple[Buffer, ...]
    rungs: tuple[Rung, ...]
    paced: bool  # modelled times have the host issue launches one by one

    def rung(self, name: str) -> Rung:
        """The rung of this name; UsageError lists the ones there are."""
        for rung in self.rungs:
            if rung.name == name:
                return rung
        known = ", ".join(rung.name for rung in self.rungs)
        raise UsageError(f"ladder {self.name}: no rung {name!r}", next_step=f"rungs: {known}")


@cache
def subjects() -> tuple[str, ...]:
    """The names of all subjects, in alphabetical order."""
    here = files("lanewise.ladder")
    return tuple(sorted(entry.name for entry in here.iterdir() if (entry / "ladder.toml").is_file()))


@cache
def load(name: str) -> Subject:
    """The subject of this name; UsageError for an unknown one or for a field that its file may not have."""
    if name not in subjects():
        raise UsageError(f"ladder: no subject {name!r}", next_step=f"subjects: {', '.join(subjects())}")
    text = (files("lanewise.ladder") / name / "ladder.toml").read_text(encoding="utf-8")
    return _subject(name, tomllib.loads(text))


def _take(table: dict[str, Any], where: str, required: str, optional: str = "") -> dict[str, Any]:
    """The table itself, once it has every required key and no unknown one."""
    unknown = table.keys() - set(required.split()) - set(optional.split())
    missing = set(required.split()) - table.keys()
    if unknown or missing:
        raise UsageError(f"ladder {where}: unknown fields {sorted(unknown)}, missing fields {sorted(missing)}")
    return table


def _subject(name: str, table: dict[str, Any]) -> Subject:
    _take(table, name, "title about types scales problem buffer rung", "best paced")
    types = tuple(table["types"])
    return Subject(
        name=name,
        title=table["title"],
        about=table["about"],
        types=types,
        scales=tuple(table["scales"]),
        best=tuple(_best(entry, name) for entry in table.get("best", ())),
        problem={size: int(value) for size, value in table["problem"].items()},
        buffers=tuple(_buffer(entry, name) for entry in table["buffer"]),
        rungs=tuple(_rung(entry, name, types) for entry in table["rung"]),
        paced=table.get("paced", False),
    )


def _best(table: dict[str, Any], where: str) -> Best:
    _take(table, f"{where} best", "rung", "when")
    return Best(table["rung"], table.get("when", ""))


def _buffer(table: dict[str, Any], where: str) -> Buffer:
    _take(table, f"{where} buffer", "name type count", "role zero")
    return Buffer(table["name"], table["type"], table["count"], table.get("role", "scratch"), table.get("zero", ""))


def _rung(table: dict[str, Any], subject: str, types: tuple[str, ...]) -> Rung:
    where = f"{subject}/{table.get('name', '?')}"
    _take(
        table,
        where,
        "name file title launch",
        "arch last alignment types needs fits defines choice search values scratch map texture graph host claim",
    )
    return Rung(
        subject=subject,
        name=table["name"],
        file=table["file"],
        title=table["title"],
        arch=table.get("arch", 70),
        last=table.get("last", 0),
        alignment=table.get("alignment", 0),
        types=tuple(table.get("types", types)),
        needs=tuple(table.get("needs", ())),
        fits=tuple(table.get("fits", ())),
        defines={key: str(value) for key, value in table.get("defines", {}).items()},
        choices=tuple(_choice(entry, where) for entry in table.get("choice", ())),
        search={name: tuple(tried) for name, tried in table.get("search", {}).items()},
        values=dict(table.get("values", {})),
        scratch=tuple(_buffer(entry, where) for entry in table.get("scratch", ())),
        maps=tuple(_map(entry, where) for entry in table.get("map", ())),
        textures=tuple(_texture(entry, where) for entry in table.get("texture", ())),
        launches=tuple(_launch(entry, where) for entry in table["launch"]),
        graph=table.get("graph", False),
        host=_host(table["host"], where) if "host" in table else None,
        claim=_claim(table["claim"], where) if "claim" in table else None,
    )


def _choice(table: dict[str, Any], where: str) -> Choice:
    _take(table, f"{where} choice", "when defines")
    return Choice(table["when"], {key: str(value) for key, value in table["defines"].items()})


def _map(table: dict[str, Any], where: str) -> TensorMap:
    _take(table, f"{where} map", "name buffer extents box", "swizzle")
    return TensorMap(
        name=table["name"],
        buffer=table["buffer"],
        extents=tuple(str(extent) for extent in table["extents"]),
        box=tuple(str(extent) for extent in table["box"]),
        swizzle=int(table.get("swizzle", 0)),
    )


def _texture(table: dict[str, Any], where: str) -> TextureOf:
    _take(table, f"{where} texture", "name buffer height width")
    return TextureOf(table["name"], table["buffer"], str(table["height"]), str(table["width"]))


def _launch(table: dict[str, Any], where: str) -> Launch:
    _take(table, f"{where} launch", "kernel grid block arguments", "shared repeat")
    return Launch(
        kernel=table["kernel"],
        grid=tuple(str(extent) for extent in table["grid"]),
        block=tuple(str(extent) for extent in table["block"]),
        arguments=tuple(table["arguments"]),
        shared=str(table.get("shared", "0")),
        repeat=str(table.get("repeat", "1")),
    )


def _host(table: dict[str, Any], where: str) -> Host:
    _take(table, f"{where} host", "pieces streams")
    return Host(str(table["pieces"]), str(table["streams"]))


def _claim(table: dict[str, Any], where: str) -> Claim:
    _take(table, f"{where} claim", "against text", "changes problem")
    changes = tuple(
        Change(entry["metric"], float(entry["factor"]), float(entry.get("tolerance", 0.0)))
        for entry in table.get("changes", ())
    )
    return Claim(table["against"], table["text"], changes, dict(table.get("problem", {})))
