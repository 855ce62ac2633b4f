"""Accesses whose lanes lie at constant distances from each other, or in groups that do: counted by closed form.

`tile[threadIdx.x % 16 * 2 + k]` has one base and 32 constants, so its bank conflicts are known when the kernel is
translated; `a[threadIdx.y * n + k]` with two rows a warp has two groups, `n` apart. Both hold while the 32-bit index
does not wrap between the lanes, the whole warp is active, and all of it is inside one allocation; otherwise the access
goes the slow way, lane by lane, which gives the same counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.counting import PATTERN_CODES
from lanewise.emulator.kinds import Lanes, Tag
from lanewise.emulator.layout import SITE_PATTERNS, SITE_SECTORS, SITE_STRIDE
from lanewise.emulator.moving import lane_vector
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware import banks, coalescing
from lanewise.hardware import pattern as patterns
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

FULL = 0xFFFFFFFF
MAX_GROUPS = 4  # groups of lanes that are loaded one by one
MAX_SPAN = 1024  # bytes that one vector load may take in
FEW = 4  # distinct addresses that are loaded as scalars
CODES = {pattern: code for code, pattern in PATTERN_CODES.items()}
_ZERO = (0,) * 32


@dataclass(frozen=True, slots=True)
class Plan:
    """Lane l accesses base + relative[l] + step * pattern[l]; step is a scalar of the program (pattern empty: none)."""

    relative: Lanes
    pattern: Lanes

    @property
    def groups(self) -> list[tuple[int, list[int]]]:
        """(pattern value, lanes) of each group, by value."""
        values = self.pattern or _ZERO
        return [(value, [n for n in range(32) if values[n] == value]) for value in sorted(set(values))]


def plan(address: Quantity) -> Plan | None:
    """How the lanes of an address lie, where constants and one scalar say it."""
    if address.tag == Tag.AFFINE:
        return Plan(address.kind.offsets or _ZERO, address.kind.pattern)
    if address.tag != Tag.EXTENDED:
        return None
    relative = list(_ZERO)
    pattern: Lanes = ()
    for term in address.kind.terms:
        scaled_by_program = term.scale is None and bool(term.offsets)
        if (term.pattern or scaled_by_program) and (pattern or (term.pattern and scaled_by_program)):
            return None
        if term.pattern:
            pattern = term.pattern
        if scaled_by_program:
            pattern = term.offsets
        elif term.offsets:
            relative = [r + (term.scale or 0) * o for r, o in zip(relative, term.offsets, strict=True)]
    return Plan(tuple(relative), pattern)


def usable(made: Plan | None, space: Space, bytes_: int) -> bool:
    """Whether an access of `bytes_` a lane can be treated by its plan."""
    if made is None or any(r % bytes_ for r in made.relative) or max(map(abs, made.relative)) >= 1 << 31:
        return False
    return space != Space.SHARED or (not made.pattern and bytes_ >= 4)


@dataclass(frozen=True, slots=True)
class Fast:
    """The fast way of one access: base address (i64 text) of each group, labels of the slow way and the join."""

    bases: list[str]
    slow: str
    join: str


def begin(t: FunctionTranslator, space: Space, address: Quantity, made: Plan, bytes_: int, site: SiteInfo,
          kind_of_access: str) -> Fast:  # fmt: skip
    """Branch on whether the plan holds, and count. Code goes on in the fast way."""
    out = t.out
    fast, slow, join = out.fresh_label("plan"), out.fresh_label("slow"), out.fresh_label("join")
    ok = t.edge("full")
    base, step, holds = base_of(t, address)
    for condition in holds:
        ok = out.let(f"and i1 {ok}, {condition}")
    groups = made.groups
    bases = [base if value == 0 else at(t, base, step, value) for value, _ in groups]
    low = high = bases[0]
    if len(bases) > 1:
        for name in ("umin", "umax"):
            out.declare(f"declare i64 @llvm.{name}.i64(i64, i64)")
        low = out.let(f"call i64 @llvm.umin.i64(i64 {bases[0]}, i64 {bases[-1]})")
        high = out.let(f"call i64 @llvm.umax.i64(i64 {bases[0]}, i64 {bases[-1]})")
    first = q.fold(out, "add", "i64", low, str(min(made.relative)))
    last = q.fold(out, "add", "i64", high, str(max(made.relative)))
    for condition in _inside(t, space, first, last, bytes_, site):
        ok = out.let(f"and i1 {ok}, {condition}")
    if bytes_ > 1:
        whole = base if not made.pattern else out.let(f"or i64 {base}, {step}")
        low_bits = out.let(f"and i64 {whole}, {bytes_ - 1}")
        ok = out.let(f"and i1 {ok}, {out.let(f'icmp eq i64 {low_bits}, 0')}")
    if made.pattern:
        ok = out.let(f"and i1 {ok}, {apart(t, made, step, bytes_)}")
        # All lanes within 32-bit distances of the first.
        near = out.let(f"icmp ult i64 {out.let(f'sub i64 {last}, {first}')}, {1 << 30}")
        ok = out.let(f"and i1 {ok}, {near}")
    out.line(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !2")
    out.label(fast)
    site.on_from_block = True
    if space == Space.SHARED:
        site.static_wavefronts = _wavefronts(made, bytes_, kind_of_access)
        site.static_wavefronts_ideal = min(site.static_wavefronts, bytes_ // 4)
    else:
        _count_sectors(t, made, bases, bytes_, site)
    _note_pattern(t, made, step, bytes_, site)
    return Fast(bases, slow, join)


def at(t: FunctionTranslator, base: str, step: str, value: int) -> str:
    """The base address of a group by its pattern value."""
    return t.out.let(f"add i64 {base}, {t.out.let(f'mul i64 {step}, {value}')}")


def base_of(t: FunctionTranslator, address: Quantity) -> tuple[str, str, list[str]]:
    """(address of a lane with zero offsets, the scalar of the pattern, conditions for no index to wrap)."""
    out = t.out
    if address.tag == Tag.AFFINE:
        wide = out.let(f"zext i32 {address.text} to i64")
        low, high = _extremes(t, wide, address.kind.offsets, address.factor, address.kind.pattern)
        step = out.let(f"sext i32 {address.factor} to i64") if address.kind.pattern else "0"
        return wide, step, _range(t, low, high, signed=False)
    total, step, holds = address.outer, "0", []
    for term, part in zip(address.kind.terms, address.parts, strict=True):
        wide = out.let(f"{'sext' if term.signed else 'zext'} i32 {part.base} to i64")
        low, high = _extremes(t, wide, term.offsets, part.factor, term.pattern)
        holds += _range(t, low, high, signed=term.signed)
        total = q.fold(out, "add", "i64", total, q.fold(out, "mul", "i64", wide, part.scale))
        if term.pattern:
            step = q.fold(out, "mul", "i64", out.let(f"sext i32 {part.factor} to i64"), part.scale)
        elif term.scale is None and term.offsets:
            step = part.scale
    return total, step, holds


def _extremes(t: FunctionTranslator, wide: str, offsets: Lanes, factor: str, pattern: Lanes) -> tuple[str, str]:
    """Exact 64-bit bounds of base + offsets + factor * pattern over the lanes."""
    out = t.out
    low = q.fold(out, "add", "i64", wide, str(min(offsets or _ZERO)))
    high = q.fold(out, "add", "i64", wide, str(max(offsets or _ZERO)))
    if not pattern:
        return low, high
    wide_factor = out.let(f"sext i32 {factor} to i64")
    ends = [q.fold(out, "mul", "i64", wide_factor, str(value)) for value in (min(pattern), max(pattern))]
    for name in ("smin", "smax"):
        out.declare(f"declare i64 @llvm.{name}.i64(i64, i64)")
    least = out.let(f"call i64 @llvm.smin.i64(i64 {ends[0]}, i64 {ends[1]})")
    most = out.let(f"call i64 @llvm.smax.i64(i64 {ends[0]}, i64 {ends[1]})")
    return out.let(f"add i64 {low}, {least}"), out.let(f"add i64 {high}, {most}")


def _range(t: FunctionTranslator, low: str, high: str, *, signed: bool) -> list[str]:
    least, most = (-(1 << 31), (1 << 31) - 1) if signed else (0, FULL)
    return [t.out.let(f"icmp sge i64 {low}, {least}"), t.out.let(f"icmp sle i64 {high}, {most}")]


def _inside(t: FunctionTranslator, space: Space, first: str, last: str, bytes_: int, site: SiteInfo) -> list[str]:
    out = t.out
    if space == Space.SHARED:
        return [out.let(f"icmp sle i64 {out.let(f'add i64 {last}, {bytes_}')}, %limit")]
    _, cache = t.site_pointers(site)
    low = out.let(f"load i64, ptr {cache}")
    starts = out.let(f"load i64, ptr {out.let(f'getelementptr i64, ptr {cache}, i64 1')}")
    return [out.let(f"icmp ult i64 {out.let(f'sub i64 {end}, {low}')}, {starts}") for end in (first, last)]


def apart(t: FunctionTranslator, made: Plan, step: str, bytes_: int) -> str:
    """Whether no two groups share a sector: they are at least a group's extent and a sector apart."""
    out = t.out
    values = [value for value, _ in made.groups]
    least = min(b - a for a, b in pairwise(values))
    extent = max(max(r) - min(r) for r in ([made.relative[n] for n in lanes] for _, lanes in made.groups))
    # Aligned elements of one lane each need only be a sector apart; longer groups also their extent.
    needed = extent + 32 if extent == 0 else extent + bytes_ + 31
    out.declare("declare i64 @llvm.abs.i64(i64, i1)")
    distance = out.let(f"mul i64 {out.let(f'call i64 @llvm.abs.i64(i64 {step}, i1 false)')}, {least}")
    return out.let(f"icmp uge i64 {distance}, {needed}")


def _wavefronts(made: Plan, bytes_: int, kind_of_access: str) -> int:
    from lanewise.records import AccessKind

    least = min(made.relative)
    return banks.wavefronts([r - least for r in made.relative], FULL, bytes_, AccessKind(kind_of_access))


def _count_sectors(t: FunctionTranslator, made: Plan, bases: list[str], bytes_: int, site: SiteInfo) -> None:
    """Sectors of each group from a table over the place of its base in a sector; groups share none."""
    out = t.out
    total = "0"
    for base, (_, lanes) in zip(bases, made.groups, strict=True):
        relative = tuple(made.relative[n] for n in lanes)
        counts = [_sectors(relative, place, bytes_) for place in range(0, 32, bytes_)]
        if len(set(counts)) == 1:
            total = q.fold(out, "add", "i64", total, str(counts[0]))
            continue
        total = q.fold(out, "add", "i64", total, looked_up(t, counts, base, bytes_))
    out.declare("declare i64 @llvm.umin.i64(i64, i64)")
    ideal = out.let(f"call i64 @llvm.umin.i64(i64 {total}, i64 {bytes_})")
    pair = out.let(f"insertelement <2 x i64> poison, i64 {total}, i32 0")
    pair = out.let(f"insertelement <2 x i64> {pair}, i64 {ideal}, i32 1")
    counters, _ = t.site_pointers(site)
    pointer = out.let(f"getelementptr i64, ptr {counters}, i64 {SITE_SECTORS}")
    old = out.let(f"load <2 x i64>, ptr {pointer}, align 8")
    out.line(f"store <2 x i64> {out.let(f'add <2 x i64> {old}, {pair}')}, ptr {pointer}, align 8")


def looked_up(t: FunctionTranslator, counts: list[int], offset: str, bytes_: int) -> str:
    """The count (i64 text) for an offset in steps of `bytes_`; as many counts, a power of two, as the steps until they
    come again."""
    out = t.out
    name = f"lw_table_{'_'.join(map(str, counts))}"
    text = "".join(f"\\{c:02X}" for c in counts)
    out.define(name, f'@{name} = internal constant [{len(counts)} x i8] c"{text}"\n')
    place = out.let(f"and i64 {offset}, {len(counts) * bytes_ - 1}")
    if bytes_ > 1:
        place = out.let(f"lshr i64 {place}, {bytes_.bit_length() - 1}")
    entry = out.let(f"load i8, ptr {out.let(f'getelementptr i8, ptr @{name}, i64 {place}')}")
    return out.let(f"zext i8 {entry} to i64")


def _sectors(relative: Lanes, place: int, bytes_: int) -> int:
    low = min(relative) // 32 * 32
    addresses = [place + r - low for r in relative]
    return coalescing.sectors(addresses + [0] * (32 - len(addresses)), (1 << len(addresses)) - 1, bytes_)


def _note_pattern(t: FunctionTranslator, made: Plan, step: str, bytes_: int, site: SiteInfo) -> None:
    """The pattern is that of the constants; groups are taken to be far apart."""
    far = 1 << 24
    places = [r + far * p for r, p in zip(made.relative, made.pattern or _ZERO, strict=True)]
    pattern, stride = patterns.classify([p - min(places) for p in places], FULL, bytes_)
    assert pattern is not None
    even = _even_step(made) if made.pattern else 0
    if even and patterns.classify(_places(made, even), FULL, bytes_) != (pattern, stride):
        _note_at_run_time(t, made, step, even, CODES[pattern], bytes_, site)
        return
    site.static_pattern |= 1 << CODES[pattern]
    if stride is None or CODES[pattern] != 3:
        return
    if not made.pattern:
        site.static_stride = stride
        return
    out = t.out
    counters, _ = t.site_pointers(site)
    pointer = out.let(f"getelementptr i64, ptr {counters}, i64 {SITE_STRIDE}")
    old = out.let(f"load i64, ptr {pointer}")
    mine = out.let(f"mul i64 {step}, {stride // far}") if stride % far == 0 else "-1"
    fresh = out.let(f"icmp eq i64 {old}, 0")
    same = out.let(f"icmp eq i64 {old}, {mine}")
    keep = out.let(f"or i1 {fresh}, {same}")
    out.line(f"store i64 {out.let(f'select i1 {keep}, i64 {mine}, i64 -1')}, ptr {pointer}")


def _places(made: Plan, step: int) -> list[int]:
    places = [r + step * p for r, p in zip(made.relative, made.pattern or _ZERO, strict=True)]
    return [place - min(places) for place in places]


def _even_step(made: Plan) -> int:
    """The step at which groups follow each other as the lanes within them do; 0 where there is none."""
    values = [value for value, _ in made.groups]
    members = {tuple(sorted({made.relative[n] for n in lanes})) for _, lanes in made.groups}
    if len(members) != 1 or len({b - a for a, b in pairwise(values)}) != 1:
        return 0
    places = members.pop()
    gaps = {b - a for a, b in pairwise(places)}
    if len(gaps) != 1:
        return 0
    step, rest = divmod(places[-1] - places[0] + gaps.pop(), values[1] - values[0])
    return 0 if rest else step


def _note_at_run_time(
    t: FunctionTranslator, made: Plan, step: str, even: int, code: int, bytes_: int, site: SiteInfo
) -> None:
    """The pattern is that of the constants but for one step, where the lanes are looked at one by one."""
    out = t.out
    counters, _ = t.site_pointers(site)
    special, other, done = out.fresh_label("even"), out.fresh_label("other"), out.fresh_label("noted")
    size = out.let(f"call i64 @llvm.abs.i64(i64 {step}, i1 false)")
    out.line(f"br i1 {out.let(f'icmp eq i64 {size}, {even}')}, label %{special}, label %{other}")
    out.label(special)
    spread = out.let(f"mul <32 x i64> {q.splat(out, 'i64', step)}, {lane_vector('i64', made.pattern)}")
    places = out.let(f"add <32 x i64> {spread}, {lane_vector('i64', made.relative)}")
    out.line(f"call void @lw_note_pattern(ptr {counters}, <32 x i64> {places}, i32 -1, i32 {bytes_})")
    out.line(f"br label %{done}")
    out.label(other)
    pointer = out.let(f"getelementptr i64, ptr {counters}, i64 {SITE_PATTERNS}")
    seen = out.let(f"or i64 {out.let(f'load i64, ptr {pointer}')}, {1 << code}")
    out.line(f"store i64 {seen}, ptr {pointer}")
    out.line(f"br label %{done}")
    out.label(done)


# ---------------------------------------------------------------------- data
def load(t: FunctionTranslator, space: Space, made: Plan, bases: list[str], element: str, count: int) -> list[str]:
    """The values of each component as vectors of 32."""
    size = int(element[1:]) // 8
    return [_load_component(t, space, made, bases, element, part * size) for part in range(count)]


def _load_component(t: FunctionTranslator, space: Space, made: Plan, bases: list[str], element: str, skip: int) -> str:
    out = t.out
    groups = made.groups
    kind = f"<32 x {element}>"
    if len(groups) > MAX_GROUPS:
        return _gather(t, space, made, bases, element, skip)
    total = ""
    for base, (_, lanes) in zip(bases, groups, strict=True):
        places = {n: made.relative[n] + skip for n in lanes}
        vector = _load_group(t, space, base, places, element)
        if not total:
            total = vector
            continue
        picks = ", ".join(f"i32 {32 + n if n in places else n}" for n in range(32))
        total = out.let(f"shufflevector {kind} {total}, {kind} {vector}, <32 x i32> <{picks}>")
    return total


def _pointer(t: FunctionTranslator, space: Space, base: str, offset: int) -> str:
    address = q.fold(t.out, "add", "i64", base, str(offset))
    if space == Space.SHARED:
        return t.out.let(f"getelementptr i8, ptr %shared, i64 {address}")
    return t.out.let(f"inttoptr i64 {address} to ptr")


def _load_group(t: FunctionTranslator, space: Space, base: str, places: dict[int, int], element: str) -> str:
    """Lanes of one group, the others poison."""
    out = t.out
    size = int(element[1:]) // 8
    distinct = sorted(set(places.values()))
    low, high = distinct[0], distinct[-1]
    if len(distinct) <= FEW:
        order = {place: n for n, place in enumerate(distinct)}
        few = f"<{FEW} x {element}>"
        vector = "poison"
        for n, place in enumerate(distinct):
            value = out.let(f"load {element}, ptr {_pointer(t, space, base, place)}, align {size}")
            vector = out.let(f"insertelement {few} {vector}, {element} {value}, i32 {n}")
        picks = ", ".join(f"i32 {order[places[n]]}" if n in places else "i32 poison" for n in range(32))
        return out.let(f"shufflevector {few} {vector}, {few} poison, <32 x i32> <{picks}>")
    length = (high - low) // size + 1
    if length * size > MAX_SPAN:
        addresses = tuple(places.get(n, low) for n in range(32))
        return _gather_at(t, space, base, addresses, element)
    whole = 1 << (length - 1).bit_length()
    span = f"<{whole} x {element}>"
    pointer = _pointer(t, space, base, low)
    if whole == length:
        wide = out.let(f"load {span}, ptr {pointer}, align {size}")
    else:
        mask = "<" + ", ".join(f"i1 {'true' if n < length else 'false'}" for n in range(whole)) + ">"
        name = f"llvm.masked.load.v{whole}{element}.p0"
        out.declare(f"declare {span} @{name}(ptr, <{whole} x i1>, {span})")
        wide = out.let(f"call {span} @{name}(ptr align {size} {pointer}, <{whole} x i1> {mask}, {span} poison)")
    picks = ", ".join(f"i32 {(places[n] - low) // size}" if n in places else "i32 poison" for n in range(32))
    if whole == 32 and picks == ", ".join(f"i32 {n}" for n in range(32)):
        return wide
    return out.let(f"shufflevector {span} {wide}, {span} poison, <32 x i32> <{picks}>")


def _gather_at(t: FunctionTranslator, space: Space, base: str, addresses: Lanes, element: str) -> str:
    """One element for each lane at base plus a constant."""
    out = t.out
    pointer = _pointer(t, space, base, 0)
    pointers = out.let(f"getelementptr i8, ptr {pointer}, <32 x i32> {q.lane_constants('i32', addresses)}")
    return _gather_pointers(t, pointers, element)


def _gather_pointers(t: FunctionTranslator, pointers: str, element: str) -> str:
    size = int(element[1:]) // 8
    kind = f"<32 x {element}>"
    name = f"llvm.masked.gather.v32{element}.v32p0"
    t.out.declare(f"declare {kind} @{name}(<32 x ptr>, <32 x i1>, {kind})")
    return t.out.let(
        f"call {kind} @{name}(<32 x ptr> align {size} {pointers}, <32 x i1> splat (i1 true), {kind} poison)"
    )


def _lane_pointers(t: FunctionTranslator, space: Space, made: Plan, bases: list[str], skip: int) -> str:
    """Pointers of all lanes, from the bases of the first two groups: they are evenly spaced by the pattern."""
    out = t.out
    first = made.groups[0][0]
    second = made.groups[1][0]
    apart = out.let(f"sub i64 {bases[1]}, {bases[0]}")
    step = apart if second - first == 1 else out.let(f"sdiv exact i64 {apart}, {second - first}")
    short = q.splat(out, "i32", out.let(f"trunc i64 {step} to i32"))
    relative = tuple(r + skip for r in made.relative)
    scaled = out.let(f"mul <32 x i32> {short}, {q.lane_constants('i32', tuple(p - first for p in made.pattern))}")
    offsets = out.let(f"add <32 x i32> {scaled}, {q.lane_constants('i32', relative)}")
    return out.let(f"getelementptr i8, ptr {_pointer(t, space, bases[0], 0)}, <32 x i32> {offsets}")


def _gather(t: FunctionTranslator, space: Space, made: Plan, bases: list[str], element: str, skip: int) -> str:
    return _gather_pointers(t, _lane_pointers(t, space, made, bases, skip), element)


def store(t: FunctionTranslator, space: Space, made: Plan, bases: list[str], element: str, values: list[str]) -> None:
    """Store the components of all lanes; of lanes with one address the highest wins."""
    if len(made.groups) > MAX_GROUPS:
        for part, value in enumerate(values):
            pointers = _lane_pointers(t, space, made, bases, part * int(element[1:]) // 8)
            _scatter_pointers(t, pointers, element, value)
        return
    for base, (_, lanes) in zip(bases, made.groups, strict=True):
        _store_group(t, space, base, {n: made.relative[n] for n in lanes}, element, values)


def _scatter_pointers(
    t: FunctionTranslator, pointers: str, element: str, value: str, mask: str = "splat (i1 true)"
) -> None:
    size = int(element[1:]) // 8
    name = f"llvm.masked.scatter.v32{element}.v32p0"
    t.out.declare(f"declare void @{name}(<32 x {element}>, <32 x ptr>, <32 x i1>)")
    t.out.line(f"call void @{name}(<32 x {element}> {value}, <32 x ptr> align {size} {pointers}, <32 x i1> {mask})")


def _store_group(
    t: FunctionTranslator, space: Space, base: str, places: dict[int, int], element: str, values: list[str]
) -> None:
    out = t.out
    size = int(element[1:]) // 8
    owner: dict[int, tuple[int, int]] = {}  # element of the span -> (component, lane)
    low = min(places.values())
    for lane in sorted(places):
        for part in range(len(values)):
            owner[(places[lane] - low) // size + part] = (part, lane)
    length = max(owner) + 1
    if length * size > MAX_SPAN:
        mask = "<" + ", ".join(f"i1 {'true' if n in places else 'false'}" for n in range(32)) + ">"
        for part, value in enumerate(values):
            addresses = tuple(places.get(n, low) + part * size for n in range(32))
            pointers = out.let(
                f"getelementptr i8, ptr {_pointer(t, space, base, 0)}, <32 x i32> {q.lane_constants('i32', addresses)}"
            )
            _scatter_pointers(t, pointers, element, value, mask)
        return
    joined, lanes = values, 32
    while len(joined) > 1:
        kind = f"<{lanes} x {element}>"
        order = ", ".join(f"i32 {n}" for n in range(2 * lanes))
        joined = [
            out.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * lanes} x i32> <{order}>")
            for a, b in zip(joined[::2], joined[1::2], strict=True)
        ]
        lanes *= 2
    whole = 1 << (length - 1).bit_length()
    kind, span = f"<{lanes} x {element}>", f"<{whole} x {element}>"
    picks = ", ".join(f"i32 {owner[n][0] * 32 + owner[n][1]}" if n in owner else "i32 poison" for n in range(whole))
    mixed = out.let(f"shufflevector {kind} {joined[0]}, {kind} poison, <{whole} x i32> <{picks}>")
    pointer = _pointer(t, space, base, low)
    if len(owner) == whole:
        out.line(f"store {span} {mixed}, ptr {pointer}, align {size}")
        return
    mask = "<" + ", ".join(f"i1 {'true' if n in owner else 'false'}" for n in range(whole)) + ">"
    name = f"llvm.masked.store.v{whole}{element}.p0"
    out.declare(f"declare void @{name}({span}, ptr, <{whole} x i1>)")
    out.line(f"call void @{name}({span} {mixed}, ptr align {size} {pointer}, <{whole} x i1> {mask})")
