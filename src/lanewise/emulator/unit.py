"""One compilation unit: a kernel with every function it can reach, its numbering of blocks and sites, its frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lanewise.emulator import runtime
from lanewise.emulator.analysis import Reach, reads_of_others, waits_for_phase
from lanewise.emulator.flow import FlowGraph, exchanges, is_sync
from lanewise.emulator.instrument import SILENT, Events
from lanewise.emulator.kinds import LaneShape
from lanewise.emulator.layout import BLOCK_COUNTERS, Warp, Worker
from lanewise.emulator.machine import EXCHANGES, NOTHING, CountingPlan, Recount, TripPlan
from lanewise.emulator.program import Program
from lanewise.emulator.quantity import Quantity, uniform
from lanewise.ptx.instructions import lookup
from lanewise.ptx.syntax import Function, Instruction, Register, Special, Symbol, Variable
from lanewise.records import AccessKind, SourceLine, Space

if TYPE_CHECKING:
    from lanewise.emulator.values import ValueTranslator

STACK_BYTES = 512 << 10  # native stack of one warp, at least
STACK_MARGIN = 128 << 10  # what a function leaves for what it calls of the runtime
PLACE_BASE = 1 << 24
RESERVED_SHARED_BYTES = 1024  # at the start of shared memory, for %reserved_smem_offset_*: as on cards since sm_80
BUILTIN_FUNCTIONS = frozenset(("vprintf", "malloc", "free", "__assertfail", "__assert_fail"))


@dataclass(slots=True)
class SiteInfo:
    """A memory instruction of the unit. Static costs are added once for each execution of the block by a warp."""

    index: int
    function: str
    ptx_line: int
    source: SourceLine | None
    opcode: str
    block: int
    space: Space
    kind: AccessKind
    width_bits: int
    array: str | None
    guarded: bool
    static_sectors: int = 0
    static_wavefronts: int = 0
    static_wavefronts_ideal: int = 0
    static_pattern: int = 0  # bit set of pattern codes
    static_stride: int = 0
    on_from_block: bool = False  # every active lane is on: no counter needed
    module: int = 0
    generic: bool = False  # one of three sites that a generic address may turn to
    range: tuple[int, int] | None = None  # bytes of the shared or local variable meant; an end of -1: the launch's
    root: str | None = None  # its name
    distances: tuple[int, ...] = ()  # of the lanes of a shared access from one scalar, where they are constants
    pointer: tuple[str, int] | None = None  # a global address: ("param", offset) or ("at", address) it is built from
    recount: Recount | None = None  # the access of the site before it, counted again for its machine code
    told_bits: int | None = (
        None  # of each access that instruments are told of, where there are several; else width_bits
    )
    copy: int | None = None  # which copy of the access in an unrolled loop: stage by stage


@dataclass(frozen=True, slots=True)
class BlockInfo:
    """A basic block of the unit: what each of its executions stands for."""

    function: str
    module: int
    lines: tuple[tuple[SourceLine | None, int], ...]  # source line -> PTX instructions on it, guarded ones included
    instructions: int
    branch: tuple[SourceLine | None, int] | None  # source and PTX line of the branch that ends it
    ptx_lines: tuple[int, ...] = ()  # of its instructions, in order


@dataclass(slots=True)
class Frame:
    """Local memory of one activation of a function: byte offsets by variable name."""

    offsets: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def place(self, name: str, size: int, alignment: int) -> None:
        alignment = max(alignment, 1)
        self.offsets[name] = -(-self.size // alignment) * alignment
        self.size = self.offsets[name] + size


class Unit:
    """What is shared while the functions of one kernel are translated."""

    def __init__(
        self,
        program: Program,
        kernel: Function,
        shape: LaneShape,
        plan: CountingPlan = NOTHING,
        events: Events = SILENT,
    ) -> None:
        self.unseen_writes = any(map(_writes_unseen, reachable(program, kernel)))
        self.untold = tuple(sorted({kind for f in reachable(program, kernel) for kind in _untold(f)}))
        self.fences = any(i.opcode in ("fence", "membar") for f in reachable(program, kernel) for i in _instructions(f))
        # Where instructions write memory without a word, nothing can be said of what is defined.
        self.events = replace(events, defined=events.defined and not self.unseen_writes)
        self.program = program
        self.kernel = kernel
        self.shape = shape
        self.plan = plan
        self.recounts: dict[tuple[int, int], list[Recount]] = {}
        for item in plan.recounts:
            self.recounts.setdefault((item.module, item.ptx_line), []).append(item)
        self._recounting: dict[tuple[int, Recount], SiteInfo] = {}
        self.trip_rows: dict[TripPlan, int] = {}  # number of the block counters of a plan's first stage
        self.definitions: dict[str, str] = {}
        self.declarations: set[str] = set()
        self.sites: list[SiteInfo] = []
        self._sites: dict[
            tuple[int, AccessKind], SiteInfo
        ] = {}  # by id of the instruction: blocks may be translated twice
        self.blocks: list[BlockInfo] = []
        self.functions = reachable(program, kernel)
        self.frames = {id(f): _frame(f) for f in self.functions}
        self.shared: dict[tuple[int, str], int] = {}
        self.static_shared = self._lay_out_shared()
        self.site_base = 0  # index of the first site counter; set when all blocks are known
        self.recursive = _is_recursive(program, self.functions)
        self.spins = False
        self.copies = any(_copies_asynchronously(f) for f in self.functions)
        self.stack_bytes = 0  # native stack of a warp
        self._reaches: dict[int, Reach] = {}
        self.places: list[tuple[str, int, SourceLine | None]] = []

    def module_text(self) -> str:
        """The LLVM module of the kernel."""
        from lanewise.emulator.translate import FunctionTranslator

        translators = [FunctionTranslator(self, function) for function in self.functions]
        self._add_trip_rows()
        frames = [translator.frame_bytes for translator in translators]
        # Callees lie below their callers; values between instructions take as much again at the most.
        self.stack_bytes = max(STACK_BYTES, -(-(2 * sum(frames) + 2 * STACK_MARGIN) // 65536) * 65536)
        if self.recursive:
            self.stack_bytes = max(4 * STACK_BYTES, 4 * self.stack_bytes)
        self.spins = any(translator.analysis.yields for translator in translators)
        self.site_base = len(self.blocks) * BLOCK_COUNTERS
        texts = [translator.translate() for translator in translators]
        kernel = self.llvm_name(self.kernel.name)
        entry = f"""
define void @lw_kernel(ptr %x, ptr %w) #0 {{
  %cp = getelementptr i8, ptr %w, i64 {Worker.COUNTERS}
  %cnt = load ptr, ptr %cp
  %kp = getelementptr i8, ptr %w, i64 {Worker.CACHE}
  %cache = load ptr, ptr %kp
  %pp = getelementptr i8, ptr %w, i64 {Worker.PARAMS}
  %params = load ptr, ptr %pp
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %shared = load ptr, ptr %blk
  %mp = getelementptr i8, ptr %x, i64 {Warp.MASK}
  %mask = load i32, ptr %mp
{"  call void @lw_async_begin(ptr %x)" if self.copies else ""}
  %r = call i32 @{kernel}(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, ptr %params, i32 %mask, i32 0)
{"  call void @lw_bulk_wait(ptr %x, ptr %w, i32 -1, i32 0, i1 true)" if self.copies else ""}
  ret void
}}
"""
        return runtime.merge([*self.definitions.values(), *texts, entry], [*self.declarations, *runtime.declarations()])

    def reach(self, caller: Function, call: Instruction) -> Reach:
        """What a call may do, for the analysis of its caller."""
        functions = self.functions[1:]
        if not any(isinstance(operand, Register) for operand in call.operands):
            module = self.program.module_of(caller)
            found = [self.program.find_function(o.name, module) for o in call.operands if isinstance(o, Symbol)]
            functions = [f for target in found if target is not None for f in reachable(self.program, target)]
        return Reach(*(any(column) for column in zip(Reach(), *map(self._reach, functions), strict=True)))

    def _reach(self, function: Function) -> Reach:
        if id(function) not in self._reaches:
            own = [s for s in function.body if isinstance(s, Instruction)]
            self._reaches[id(function)] = Reach(
                any(reads_of_others(i) or waits_for_phase(i) for i in own),
                any(is_sync(i) and not i.has("warp") for i in own),
                any(exchanges(i) or (is_sync(i) and i.has("warp")) for i in own),
            )
        return self._reaches[id(function)]

    def llvm_name(self, name: str) -> str:
        return '"ptx.' + name.replace('"', "_") + '"'

    # ------------------------------------------------------------------ numbering
    def add_blocks(self, function: Function, graph: FlowGraph) -> int:
        """Number the blocks of a function; returns the number of the first."""
        first = len(self.blocks)
        module = self.program.module_of(function)
        written = set(map(id, function.body))
        for block in graph.blocks:
            lines: dict[SourceLine | None, int] = {}
            real = [i for i in block.instructions if id(i) in written]  # the end of the body returns, but is none
            for instruction in real:
                lines[instruction.source] = lines.get(instruction.source, 0) + 1
            ptx_lines = tuple(instruction.line for instruction in block.instructions)
            last = block.instructions[-1] if block.instructions else None
            branch = None
            if last is not None and last.opcode in ("bra", "brx") and (last.guard is not None or last.opcode == "brx"):
                branch = (last.source, last.line)
            self.blocks.append(BlockInfo(function.name, module, tuple(lines.items()), len(real), branch, ptx_lines))
        return first

    def _add_trip_rows(self) -> None:
        """Each stage of an unrolled loop is counted like a block, of no instructions."""
        for plan in self.plan.trips:
            self.trip_rows[plan] = len(self.blocks)
            self.blocks += [BlockInfo(plan.function, plan.module, (), 0, None) for _ in plan.stages]

    def add_site(
        self,
        function: Function,
        instruction: Instruction,
        block: int,
        space: Space,
        kind: AccessKind,
        width_bits: int,
        array: str | None,
    ) -> SiteInfo:
        """A site; a generic one takes three numbers, for global, shared and local lanes. An instruction that reads one
        space and writes another has one of each kind."""
        key = (id(instruction), kind)
        if key in self._sites:
            return self._sites[key]
        module = self.program.module_of(function)

        def make(where: Space) -> SiteInfo:
            site = SiteInfo(
                len(self.sites), function.name, instruction.line, instruction.source, instruction.name, block, where,
                kind, width_bits, array, instruction.guard is not None, module=module,
                generic=space == Space.GENERIC,
            )  # fmt: skip
            self.sites.append(site)
            return site

        first = self._sites[key] = make(Space.GLOBAL if space == Space.GENERIC else space)
        if space != Space.GENERIC:
            return first
        make(Space.SHARED)
        make(Space.LOCAL)
        return first

    def add_recount(self, site: SiteInfo, recount: Recount) -> SiteInfo:
        """The site that counts the access of another one again."""
        key = (site.index, recount)
        if key not in self._recounting:
            space = site.space  # of generic ones the first site's: global lanes, but for the loops of shared ones
            if site.generic and recount.rule in EXCHANGES:
                space = Space.SHARED
            again = replace(site, index=len(self.sites), space=space, width_bits=recount.width_bits, recount=recount)
            again.static_sectors = again.static_wavefronts = again.static_wavefronts_ideal = 0
            again.static_pattern = again.static_stride = 0
            again.on_from_block = False
            self.sites.append(again)
            self._recounting[key] = again
        return self._recounting[key]

    def add_staged(self, site: SiteInfo, recount: Recount, plan: TripPlan) -> int:
        """The first of the sites, one a copy, that count an access of an unrolled loop as its machine code executes."""
        first = len(self.sites)
        for copy in range(sum(stage.copies for stage in plan.stages)):
            again = replace(site, index=first + copy, width_bits=recount.width_bits, recount=recount, copy=copy)
            again.static_sectors = again.static_wavefronts = again.static_wavefronts_ideal = 0
            again.static_pattern = again.static_stride = 0
            again.on_from_block = False
            self.sites.append(again)
        return first

    def add_place(self, function: Function, instruction: Instruction) -> int:
        """A number for an instruction that is no memory access but may fault: they follow PLACE_BASE."""
        self.places.append((function.name, instruction.line, instruction.source))
        return PLACE_BASE + len(self.places) - 1

    # ------------------------------------------------------------------ symbols
    def _lay_out_shared(self) -> int:
        """Offsets of all shared variables that the functions mention; dynamic ones start where these end."""
        end = RESERVED_SHARED_BYTES if any(map(_uses_reserved_shared, self.functions)) else 0
        dynamic: list[tuple[int, Variable]] = []
        for module, variable in self._shared_variables():
            key = (module, variable.name)
            if key in self.shared:
                continue
            if variable.linkage == "extern" and variable.size == 0:
                dynamic.append((module, variable))
                self.shared[key] = -1
                continue
            alignment = max(variable.alignment, 16)
            end = -(-end // alignment) * alignment
            self.shared[key] = end
            end += variable.size
        start = end
        for _, variable in dynamic:
            start = max(start, -(-end // max(variable.alignment, 16)) * max(variable.alignment, 16))
        for module, variable in dynamic:
            self.shared[module, variable.name] = start
        return start

    def _shared_variables(self) -> Iterable[tuple[int, Variable]]:
        for function in self.functions:
            module = self.program.module_of(function)
            for variable in function.variables:
                if variable.space == "shared":
                    yield module, variable
            for name in sorted(mentioned_symbols(function)):
                found = self.program.find_variable(name, module)
                if found is not None and found[1].space == "shared":
                    yield found

    def symbol(self, t: ValueTranslator, name: str, offset: int, element: str) -> str:
        """The value of a name: an address in the variable's own space."""
        frame = self.frames[id(t.function)]
        if name in frame.offsets:
            text = t.out.let(f"add i32 %frame, {frame.offsets[name] + offset}")
            return text if element == "i32" else t.out.let(f"zext i32 {text} to i64")
        module = self.program.module_of(t.function)
        shared = self.shared_offset(name, module)
        if shared is not None:
            return str(shared + offset)
        if t.function.is_kernel:
            for param in t.function.params:
                if param.name == name:
                    base = t.out.let("ptrtoint ptr %params to i64")
                    return t.out.let(f"add i64 {base}, {param.offset + offset}")
        allocation = self.program.address_of(name, module)
        if allocation is not None:
            return str(allocation.base + offset)
        function = self.program.find_function(name, module)
        assert function is not None, name
        return str(self.program.function_address(function))

    def shared_offset(self, name: str, module: int) -> int | None:
        if (module, name) in self.shared:
            return self.shared[module, name]
        found = self.program.find_variable(name, module)
        return None if found is None else self.shared.get((found[0], name))

    def shared_size(self, name: str, module: int) -> int:
        """Bytes of a shared variable; 0: the launch says."""
        for function in self.functions:
            for variable in function.variables:
                if variable.name == name and self.program.module_of(function) == module:
                    return variable.size
        found = self.program.find_variable(name, module)
        return found[1].size if found is not None else 0

    def special_registers(self, t: ValueTranslator, name: str) -> Quantity:
        from lanewise.emulator.special import read

        return read(t, name)

    def launch_field(self, t: ValueTranslator, offset: int) -> Quantity:
        """A field of the launch that programs read as 32 bits."""
        return uniform(t.out.let(f"trunc i64 {t.load_field(offset, 'i64', '%launch')} to i32"), "i32")


def mentioned_symbols(function: Function) -> set[str]:
    """Names of variables and functions in operands."""
    names: set[str] = set()

    def visit(operand: object) -> None:
        if isinstance(operand, Register):
            return
        if isinstance(operand, Symbol):
            names.add(operand.name)
        for attribute in ("base", "elements", "first", "second", "operand"):
            inner = getattr(operand, attribute, None)
            if isinstance(inner, tuple):
                for item in inner:
                    visit(item)
            elif inner is not None:
                visit(inner)

    for statement in function.body:
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                visit(operand)
    return names


def _copies_asynchronously(function: Function) -> bool:
    """Whether a function has copies that land later, or arrivals that follow them."""
    return any(isinstance(s, Instruction) and (s.opcode == "cp" or s.has("async")) for s in function.body)


def _uses_reserved_shared(function: Function) -> bool:
    return any(
        isinstance(operand, Special) and operand.name.startswith("%reserved_smem")
        for statement in function.body
        if isinstance(statement, Instruction)
        for operand in statement.operands
    )


_UNSEEN = frozenset(
    (
        "asynchronous.copy", "bulk.copy", "bulk.reduce", "tensor.copy", "tensor.reduce", "tensor_map.copy",
        "tensor_map.replace", "matrix.stmatrix", "wmma.store", "remote.store", "remote.reduce", "surface.sust",
        "surface.sured", "clusterlaunchcontrol.try_cancel",
    )
)  # fmt: skip


def _writes_unseen(function: Function) -> bool:
    """Whether some instruction writes memory and tells no instrument which bytes are then defined."""
    for s in _instructions(function):
        spec = lookup(s)
        if s.opcode == "mapa" or s.has("shared::cluster") or (spec is not None and spec.lowering in _UNSEEN):
            return True
    return False


_UNTOLD = frozenset(
    (
        "texture.tex", "texture.tld4", "surface.suld", "surface.sust", "surface.sust_formatted", "surface.sured",
        "wgmma.mma_async", "bulk.copy", "bulk.reduce", "tensor.copy", "tensor.reduce", "remote.store", "remote.reduce",
    )
)  # fmt: skip


def _untold(function: Function) -> Iterator[str]:
    """Kinds of accesses, by their room in `lowering`, that no instrument is told of."""
    for s in _instructions(function):
        spec = lookup(s)
        if spec is not None and spec.lowering in _UNTOLD:
            yield spec.lowering.split(".")[0]
        elif s.opcode == "mapa" or s.has("shared::cluster"):
            yield "remote"


def _instructions(function: Function) -> Iterator[Instruction]:
    return (statement for statement in function.body if isinstance(statement, Instruction))


def callees(program: Program, function: Function) -> list[Function]:
    """Functions that a function calls by name, or whose address it takes."""
    module = program.module_of(function)
    found = []
    for name in sorted(mentioned_symbols(function)):
        if name in BUILTIN_FUNCTIONS:
            continue
        target = program.find_function(name, module)
        if target is not None and not target.is_kernel:
            found.append(target)
    return found


def reachable(program: Program, kernel: Function) -> list[Function]:
    """The kernel and every function it may call, in a fixed order. An indirect call may reach any device function whose
    address is taken anywhere, variables included: all of them are taken in."""
    result = [kernel]
    seen = {id(kernel)}
    position = 0
    while position < len(result):
        function = result[position]
        position += 1
        more = callees(program, function)
        if _indirect(function):
            more += [
                f for m in program.modules for f in m.functions.values() if not f.is_kernel and not f.is_declaration
            ]
        for target in more:
            if id(target) not in seen:
                seen.add(id(target))
                result.append(target)
    return result


def _indirect(function: Function) -> bool:
    return any(
        isinstance(s, Instruction) and s.opcode == "call" and any(isinstance(o, Register) for o in s.operands)
        for s in function.body
    )


def _frame(function: Function) -> Frame:
    frame = Frame()
    if not function.is_kernel:
        for param in (*function.returns, *function.params):
            frame.place(param.name, param.size, max(param.alignment, 8))  # `parameter.copy` moves 8 bytes at a time
    for variable in function.variables:
        if variable.space in ("local", "param"):
            frame.place(variable.name, variable.size, max(variable.alignment, 8))
    frame.size = -(-frame.size // 16) * 16
    return frame


def _is_recursive(program: Program, functions: list[Function]) -> bool:
    """Whether the call graph has a cycle, or calls that are not known by name."""
    return any(_indirect(f) for f in functions) or callees_first(program, functions[0]) is None


def callees_first(program: Program, kernel: Function) -> list[Function] | None:
    """What a kernel calls by name, each function after those that it calls; None where there is a cycle.

    Chains of calls may be longer than Python's own stack allows."""
    order: list[Function] = []
    state = {id(kernel): "open"}
    stack = [(kernel, iter(callees(program, kernel)))]
    while stack:
        function, left = stack[-1]
        target = next(left, None)
        if target is None:
            state[id(function)] = "done"
            order.append(function)
            stack.pop()
        elif state.get(id(target)) == "open":
            return None
        elif id(target) not in state:
            state[id(target)] = "open"
            stack.append((target, iter(callees(program, target))))
    return order
