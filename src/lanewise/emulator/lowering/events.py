"""Calls of an instrument's functions (`layout.Hooks`), written only where the unit's `Events` ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import Block, BlockNotes, Hooks, Launch, Warp
from lanewise.emulator.lowering.definedness import ADDRESS, VECTOR, ZERO
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.roots import root
from lanewise.ptx.syntax import Address, Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo

# Scopes by the modifiers that name them, as FENCE gives them and checks compare them: the wider, the higher.
SCOPES = {"cta": 1, "cluster": 2, "gl": 3, "gpu": 3, "sys": 4}
_STRONG = ("volatile", "relaxed", "acquire", "mmio")  # loads that may tell of other threads
_ZERO = (0,) * 32
WATCH_ACCESS, WATCH_DEFINED = 1, 2  # bits of a site's byte in the watch table
UPDATES, EXCHANGES = 1, 2  # ways of STORED: the operand is added to what is there, or takes its place
_FOLLOWED = frozenset((Space.GLOBAL, Space.SHARED, Space.LOCAL))
_WARP_SHIFT = 27  # of the warp's number in an entry of the list of reads


def scope_of(ins: Instruction) -> int:
    """The scope an instruction names; 0 where it names none."""
    return next((SCOPES[m] for m in ins.modifiers if m in SCOPES), 0)


def prologue(t: FunctionTranslator) -> None:
    """What a function keeps for its events."""
    if not t.unit.events:
        return
    out = t.out
    out.line("%told = alloca <32 x i64>, align 64")
    for name, field in (("hooks", Launch.HOOKS), ("watch", Launch.WATCH)):
        out.line(f"%{name}p = getelementptr i8, ptr %launch, i64 {field}")
        out.line(f"%{name} = load ptr, ptr %{name}p")
    if t.unit.events.brief_reads or t.unit.events.defined:
        out.line(f"%blockp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}")
        out.line("%block = load ptr, ptr %blockp")
        out.line(f"%notesp = getelementptr i8, ptr %block, i64 {Block.NOTES}")
        out.line("%notes = load ptr, ptr %notesp")
        out.line(f"%listend = getelementptr i8, ptr %notes, i64 {BlockNotes.END}")
        out.line(f"%warpp = getelementptr i8, ptr %x, i64 {Warp.INDEX}")
        out.line("%warpn = load i32, ptr %warpp")
        out.line(f"%warpbits = shl i32 %warpn, {_WARP_SHIFT}")


def access(
    t: FunctionTranslator,
    ins: Instruction,
    site: SiteInfo,
    space: Space,
    address: Quantity,
    values: Sequence[Quantity] = (),
    mask: str | None = None,
) -> None:
    """A load, store or atomic that is about to be done. `address` as of its space: an offset where that is shared or
    local memory. `mask`: the lanes that take part, if they are not those of the guard."""
    events = t.unit.events
    if not (events.accesses or events.ranges or events.defined) or space in (Space.CONST, Space.PARAM):
        return
    if events.defined:
        t.defined.decides(_address(ins), ADDRESS, t.mask(ins) if mask is None else mask)
    _note_origin(t, ins, site, space)
    mask = t.mask(ins) if mask is None else mask
    if events.ranges and site.range is not None:
        _range(t, site, address, mask)
    if not events.accesses or space == Space.LOCAL:
        return
    out = t.out
    watched = out.let(f"load i8, ptr {out.let(f'getelementptr i8, ptr %watch, i64 {site.index}')}")
    done = out.fresh_label("told")
    wants = out.let(f"icmp ne i8 {out.let(f'and i8 {watched}, {WATCH_ACCESS}')}, 0")
    if events.brief_reads:
        wants = _brief(t, ins, site, space, address, wants)
    vector = t.vector(address)
    texts = [t.vector(value) for value in values] if events.values else []
    _branch(t, wants, done)
    _tell_addresses(t, address, vector)
    for part, text in enumerate(texts):
        at = out.let(f"getelementptr <32 x {values[part].type}>, ptr %scratch, i64 {part}")
        out.line(f"store <32 x {values[part].type}> {text}, ptr {at}, align 16")
    given = "%scratch" if texts else "null"
    listener = _listener(t, Hooks.ACCESS)
    out.line(
        f"call void {listener}(ptr %x, ptr %w, i32 {site.index}, i32 {mask}, i32 {t.active}, ptr %told, ptr {given})"
    )
    out.line(f"br label %{done}")
    out.label(done)


def _address(ins: Instruction) -> Operand:
    return next(operand for operand in ins.operands if isinstance(operand, Address))


def loaded(
    t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity, targets: Sequence[Operand]
) -> None:
    """Which bytes of what a load is about to bring are defined."""
    if not t.unit.events.defined or site.space not in _FOLLOWED:
        return
    out = t.out
    ask, join, here = out.fresh_label("ask"), out.fresh_label("asked"), out.fresh_label("from")
    mask, vector = t.mask(ins), t.vector(address)
    out.line(f"br label %{here}")
    out.label(here)
    follows = _follows(t, site)
    if site.space == Space.SHARED and not site.generic:
        holes = out.let(f"load i64, ptr {out.let(f'getelementptr i8, ptr %notes, i64 {BlockNotes.HOLES}')}")
        follows = out.let(f"and i1 {follows}, {out.let(f'icmp ne i64 {holes}, 0')}")
    out.line(f"br i1 {follows}, label %{ask}, label %{join}")
    out.label(ask)
    _tell_addresses(t, address, vector)
    out.line(
        f"call void {_listener(t, Hooks.LOADED)}(ptr %x, ptr %w, i32 {site.index}, i32 {mask}, ptr %told, "
        "ptr %undefined)"
    )
    brought = [_undefined(t, part) for part in range(len(targets))]
    out.line(f"br label %{join}")
    out.label(join)
    texts = [out.let(f"phi {VECTOR} [ zeroinitializer, %{here} ], [ {text}, %{ask} ]") for text in brought]
    t.defined.loaded(targets, texts)


def stored(
    t: FunctionTranslator,
    ins: Instruction,
    site: SiteInfo,
    address: Quantity,
    values: Sequence[Operand],
    results: Sequence[Operand] = (),
    way: int = 0,
) -> None:
    """Which bytes of what a store is about to write are defined. An atomic (`way`: UPDATES, EXCHANGES) gives what
    memory held to `results`."""
    if not t.unit.events.defined or site.space not in _FOLLOWED:
        return
    out = t.out
    mask, vector = t.mask(ins), t.vector(address)
    texts = [t.defined.of(value) for value in values]
    wants = _follows(t, site)
    for text in texts:
        if text != ZERO:
            some = out.let(f"bitcast {VECTOR} {text} to i256")
            wants = out.let(f"or i1 {wants}, {out.let(f'icmp ne i256 {some}, 0')}")
    done, here = out.fresh_label("marked"), out.fresh_label("from")
    out.line(f"br label %{here}")
    out.label(here)
    mark = out.fresh_label("mark")
    out.line(f"br i1 {wants}, label %{mark}, label %{done}")
    out.label(mark)
    _tell_addresses(t, address, vector)
    for part, text in enumerate(texts):
        out.line(f"store {VECTOR} {text}, ptr {_undefined_place(t, part)}, align 32")
    out.line(
        f"call void {_listener(t, Hooks.STORED)}(ptr %x, ptr %w, i32 {site.index}, i32 {mask}, ptr %told, "
        f"ptr %undefined, i32 {way})"
    )
    brought = [_undefined(t, part) for part in range(len(results))]
    out.line(f"br label %{done}")
    out.label(done)
    held = [out.let(f"phi {VECTOR} [ zeroinitializer, %{here} ], [ {text}, %{mark} ]") for text in brought]
    t.defined.loaded(results, held)


def _follows(t: FunctionTranslator, site: SiteInfo) -> str:
    watched = t.out.let(f"load i8, ptr {t.out.let(f'getelementptr i8, ptr %watch, i64 {site.index}')}")
    return t.out.let(f"icmp ne i8 {t.out.let(f'and i8 {watched}, {WATCH_DEFINED}')}, 0")


def _undefined_place(t: FunctionTranslator, part: int) -> str:
    return t.out.let(f"getelementptr {VECTOR}, ptr %undefined, i64 {part}")


def _undefined(t: FunctionTranslator, part: int) -> str:
    return t.out.let(f"load {VECTOR}, ptr {_undefined_place(t, part)}, align 32")


def _branch(t: FunctionTranslator, condition: str, otherwise: str) -> None:
    """Go on where the condition holds."""
    tell = t.out.fresh_label("tell")
    t.out.line(f"br i1 {condition}, label %{tell}, label %{otherwise}")
    t.out.label(tell)


def _tell_addresses(t: FunctionTranslator, address: Quantity, vector: str) -> None:
    if address.type == "i32":
        vector = t.out.let(f"zext <32 x i32> {vector} to <32 x i64>")
    t.out.line(f"store <32 x i64> {vector}, ptr %told, align 64")


def _distances(address: Quantity) -> tuple[int, ...] | None:
    """The lanes' distances from the scalar of an address of 32 bits, where they are constants."""
    if address.type != "i32":
        return None
    if address.tag == Tag.UNIFORM:
        return _ZERO
    if address.tag == Tag.AFFINE and not address.kind.pattern:
        return address.kind.offsets or _ZERO
    return None


def _brief(t: FunctionTranslator, ins: Instruction, site: SiteInfo, space: Space, address: Quantity, wants: str) -> str:
    """Put a plain read of shared memory by a full warp into the block's list; whether it is still to be told."""
    distances = _distances(address)
    plain = site.kind == AccessKind.LOAD and ins.guard is None and not ins.has(*_STRONG)
    if space != Space.SHARED or not plain or distances is None:
        return wants
    out = t.out
    site.distances = distances
    at = out.let("load ptr, ptr %notes")
    end = out.let("load ptr, ptr %listend")
    room = out.let(f"icmp ne ptr {at}, {end}")
    brief = out.let(f"and i1 {out.let(f'and i1 {room}, {wants}')}, {t.edge('full')}")
    write, go = out.fresh_label("brief"), out.fresh_label("go")
    out.line(f"br i1 {brief}, label %{write}, label %{go}")
    out.label(write)
    out.line(f"store i32 {out.let(f'or i32 %warpbits, {site.index}')}, ptr {at}")
    out.line(f"store i32 {address.text}, ptr {out.let(f'getelementptr i8, ptr {at}, i64 4')}")
    out.line(f"store ptr {out.let(f'getelementptr i8, ptr {at}, i64 8')}, ptr %notes")
    out.line(f"br label %{go}")
    out.label(go)
    return out.let(f"and i1 {wants}, {out.let(f'xor i1 {brief}, true')}")


def _range(t: FunctionTranslator, site: SiteInfo, address: Quantity, mask: str) -> None:
    """Ask whether the lanes are within the variable; by its two ends where the lanes' distances are constants."""
    out = t.out
    assert site.range is not None
    low, high = site.range
    limit = out.let("trunc i64 %limit to i32") if high < 0 else str(high)
    last = out.let(f"sub i32 {limit}, {site.width_bits // 8}")  # the last start that fits
    distances = _distances(address)
    vector = t.vector(address)
    if distances is not None:
        near = out.let(f"add i32 {address.text}, {min(distances)}")
        far = out.let(f"add i32 {address.text}, {max(distances)}")
        under = out.let(f"icmp slt i32 {near}, {low}")
        wrong = out.let(f"or i1 {under}, {out.let(f'icmp sgt i32 {far}, {last}')}")
    else:
        under = out.let(f"icmp slt <32 x i32> {vector}, splat (i32 {low})")
        splat = out.let(f"insertelement <32 x i32> poison, i32 {last}, i32 0")
        splat = out.let(f"shufflevector <32 x i32> {splat}, <32 x i32> poison, <32 x i32> zeroinitializer")
        over = out.let(f"icmp sgt <32 x i32> {vector}, {splat}")
        bits = out.let(f"bitcast <32 x i1> {out.let(f'or <32 x i1> {under}, {over}')} to i32")
        wrong = out.let(f"icmp ne i32 {out.let(f'and i32 {bits}, {mask}')}, 0")
    done = out.fresh_label("within")
    _branch(t, wrong, done)
    _tell_addresses(t, address, vector)
    listener = _listener(t, Hooks.RANGE)
    out.line(f"call void {listener}(ptr %x, ptr %w, i32 {site.index}, i32 {mask}, i32 {t.active}, ptr %told)")
    out.line(f"br label %{done}")
    out.label(done)


def _note_origin(t: FunctionTranslator, ins: Instruction, site: SiteInfo, space: Space) -> None:
    """Which variable or parameter the address is built from."""
    if ins.has("shared::cluster"):
        return
    name = root(t.function, _address(ins))
    if name is None:
        return
    module = t.unit.program.module_of(t.function)
    if space in (Space.GLOBAL, Space.GENERIC):
        allocation = t.unit.program.address_of(name, module)
        offset = next((param.offset for param in t.function.params if param.name == name), None)
        if t.function.is_kernel and offset is not None:
            site.pointer = ("param", offset)
        elif allocation is not None:
            site.pointer = ("at", allocation.base)
    elif space == Space.LOCAL:
        frame = t.unit.frames[id(t.function)]
        size = next((v.size for v in t.function.variables if v.name == name), 0)
        if t.function.is_kernel and name in frame.offsets:  # its frame is the first
            site.range, site.root = (frame.offsets[name], frame.offsets[name] + size), name
    elif (start := t.unit.shared_offset(name, module)) is not None:
        size = t.unit.shared_size(name, module)
        site.range, site.root = (start, start + size if size else -1), name


def warp_sync(t: FunctionTranslator, members: Operand, *, orders: bool, active: str | None = None) -> None:
    """Lanes that have met by the masks they name: bar.warp.sync (`orders` memory) or an exchange. `active`: those of a
    guarded one."""
    if not t.unit.events.sync:
        return
    active = active or t.active
    quantity = t.operand(members, "b32")
    done = t.out.fresh_label("met")
    if quantity.tag == Tag.UNIFORM and not orders:  # exactly those that are named: nothing to tell
        _branch(t, t.out.let(f"icmp ne i32 {quantity.text}, {active}"), done)
    else:
        t.out.line(f"br label %{done}in")
        t.out.label(f"{done}in")
    t.out.line(f"store <32 x i32> {t.vector(quantity)}, ptr %told, align 64")
    t.out.line(
        f"call void {_listener(t, Hooks.WARP_SYNC)}(ptr %x, ptr %w, i32 {t.fault_site()}, i32 {active}, "
        f"i32 {int(orders)}, ptr %told)"
    )
    t.out.line(f"br label %{done}")
    t.out.label(done)


def exchange(t: FunctionTranslator, ins: Instruction) -> None:
    """shfl.sync, vote.sync and the like; the forms without a mask ask nothing of their lanes."""
    if ins.has("sync"):
        active = None if ins.guard is None else t.mask(ins)
        warp_sync(t, ins.operands[-1], orders=False, active=active)


def fence(t: FunctionTranslator, ins: Instruction) -> None:
    """membar and fence."""
    if not t.unit.events.sync:
        return
    scope = scope_of(ins)
    t.out.line(f"call void {_listener(t, Hooks.FENCE)}(ptr %x, ptr %w, i32 {t.mask(ins)}, i32 {scope})")


def meet(t: FunctionTranslator, hosts: str, mask: str, *, arrives: bool) -> None:
    """Lanes of a mask arrive at mbarriers, or have seen a phase end."""
    if not t.unit.events.sync:
        return
    t.out.line(f"store <32 x i64> {hosts}, ptr %told, align 64")
    t.out.line(f"call void {_listener(t, Hooks.MEET)}(ptr %x, ptr %w, i32 {mask}, ptr %told, i32 {int(arrives)})")


COMMITTED, LANDED, LANDED_BUT = range(3)  # check.h


def copies(t: FunctionTranslator, mask: str, what: int, pending: int = 0) -> None:
    """Asynchronous copies of a mask's lanes are a group, or have landed."""
    if t.unit.events.accesses:
        t.out.line(f"call void {_listener(t, Hooks.COPIES)}(ptr %x, ptr %w, i32 {mask}, i32 {what}, i32 {pending})")


def _listener(t: FunctionTranslator, which: int) -> str:
    """Every function of the table that an instrument's events reach is there."""
    place = t.out.let(f"getelementptr i8, ptr %hooks, i64 {which}")
    return t.out.let(f"load ptr, ptr {place}")
