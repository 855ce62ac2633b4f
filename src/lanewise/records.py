"""The records that everything hangs on: plain data from the emulator to the model, the advice and the reports.

Nothing here computes. Each record is a frozen dataclass; units are in the field's name or its comment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Space(StrEnum):
    """State space of an access, after a generic address was resolved."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONST = "const"
    PARAM = "param"
    GENERIC = "generic"
    TEXTURE = "texture"
    SURFACE = "surface"


class AccessKind(StrEnum):
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


class Pattern(StrEnum):
    """One word for how the lanes of a request lie in memory; the worst one seen at a site is reported."""

    BROADCAST = "broadcast"
    CONTIGUOUS = "contiguous"
    STRIDED = "strided"
    SCATTERED = "scattered"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in a source file; `inlined_at` is where the function holding it was inlined (the user's line)."""

    file: str
    line: int
    column: int = 0
    function: str | None = None
    inlined_at: SourceLine | None = None

    @property
    def outermost(self) -> SourceLine:
        """The line of the user's own code: the end of the chain of inlining."""
        here = self
        while here.inlined_at is not None:
            here = here.inlined_at
        return here

    @property
    def shown(self) -> SourceLine:
        """The line that reports show: the first of the chain that lies in the file of the outermost one. So a helper in
        the user's own file stands at its own line, code of a header at the line that called it."""
        file = self.outermost.file
        here = self
        while here.file != file and here.inlined_at is not None:
            here = here.inlined_at
        return here


@dataclass(frozen=True, slots=True)
class Param:
    """One kernel parameter. `offset`, `size` and `alignment` in bytes within the parameter buffer."""

    name: str
    type: str
    offset: int
    size: int
    alignment: int
    is_pointer: bool = False


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    """One machine instruction that carries a PTX line."""

    offset: int
    opcode: str
    width_bits: int
    predicate: str | None
    block: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """A range of device memory. Addresses and sizes in bytes."""

    id: int
    base: int
    size: int
    kind: str  # "malloc", "managed", "host", "global", "constant", "device-malloc"
    name: str | None = None
    made_at: SourceLine | None = None
    freed: bool = False

    @property
    def end(self) -> int:
        return self.base + self.size


@dataclass(frozen=True, slots=True)
class Access:
    """What all executions of one memory instruction did in one launch (or a fold of equal launches).

    `requests` are warp-level executions, `threads` active lanes, `threads_on` lanes whose predicate held, all summed.
    `sectors` are 32-byte sectors (global), `wavefronts` shared-memory wavefronts, each beside the least possible for
    the same lanes and width; None where the space has no such count.
    """

    basis: str
    file: str | None
    line: int | None
    inlined_at: SourceLine | None
    ptx_line: int
    opcode: str
    space: Space
    kind: AccessKind
    width_bits: int
    requests: int
    threads: int
    threads_on: int
    sectors: int | None
    sectors_ideal: int | None
    wavefronts: int | None
    wavefronts_ideal: int | None
    pattern: Pattern | None
    stride_bytes: int | None = None
    array: str | None = None  # the name of the shared, constant, global or parameter array, where it is known
    sass: str | None = None  # basis "sass": the machine instruction as nvdisasm lists it
    sass_offset: int | None = None  # bytes from the start of the kernel's machine code


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Executions of one source line: PTX instructions at warp level and thread level, branches and divergent ones."""

    file: str
    line: int
    ptx_instructions: int
    ptx_thread_instructions: int
    branches: int = 0
    divergent_branches: int = 0


@dataclass(frozen=True, slots=True)
class OccupancyLimit:
    """How many blocks fit an SM by one resource."""

    resource: str  # "warps", "blocks", "registers", "shared memory"
    blocks: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Theoretical occupancy: resident warps over the most an SM can hold, every limit, and the `binding` ones."""

    active_blocks: int
    active_warps: int
    max_warps: int
    limits: tuple[OccupancyLimit, ...]
    binding: tuple[str, ...]
    next_step: str | None = None

    @property
    def fraction(self) -> float:
        return self.active_warps / self.max_warps if self.max_warps else 0.0


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Side:
    """One of two that a finding is about. `thread` and `block` are None where they are not known."""

    file: str | None
    line: int | None
    did: str  # "read", "write", "atomic", "wait"
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None


class Tried(StrEnum):
    """How the time after a change is known. RERUN: the changed kernel ran, and its results were the same. REEVALUATED:
    the recorded addresses were put through the change. ESTIMATED: the counts were, as the change would leave them."""

    RERUN = "re-run"
    REEVALUATED = "re-evaluated"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Gain:
    """What a change is worth: modelled microseconds of one launch before and after it."""

    before_us: float
    after_us: float
    tried: Tried
    change: str  # in a few words: "rows of 33 words instead of 32"


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of advice by its key in the catalogue and what fills its places, so that it can be said in another
    language. `part` is the field that it stands in: "message", "evidence", "next_step", "price", "change". A value that
    starts with `@` is itself a key."""

    part: str
    key: str
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LaneSample:
    """One request of an access as it was recorded: where its lanes went. `lanes` are bytes from `base`, None for a lane
    that took no part; `base` is an address of global memory, or an offset in the block's shared memory."""

    file: str | None
    line: int | None
    ptx_line: int
    space: Space
    kind: AccessKind
    width_bits: int
    base: int
    lanes: tuple[int | None, ...]
    array: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One type for faults, checks and advice.

    `check` is the rule or check by name (of a fault: "bounds", "misaligned", "barrier", "limit", "trap"; of a check:
    "bounds", "race", "uninitialised", "barrier", "leak"); `evidence` are complete sentences (lanes, addresses, ranges);
    `next_step` says what to do; `sides`: both parties, where there are two. Advice has a `gain`, its `price` in a
    sentence, the rung of the ladder that shows the change ("transpose padded"), and requests that show the evidence.
    """

    check: str
    severity: Severity
    message: str
    kernel: str | None = None
    source: SourceLine | None = None
    ptx_line: int | None = None
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    evidence: tuple[str, ...] = ()
    next_step: str | None = None
    sides: tuple[Side, ...] = ()
    gain: Gain | None = None
    price: str | None = None
    rung: str | None = None
    samples: tuple[LaneSample, ...] = ()
    said: tuple[Said, ...] = ()  # the sentences of advice by their keys

    @property
    def file(self) -> str | None:
        """The file of the user's own line."""
        return self.source.outermost.file if self.source else None

    @property
    def line(self) -> int | None:
        """The user's own line."""
        return self.source.outermost.line if self.source else None


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What ptxas says of one kernel."""

    registers: int
    static_shared_bytes: int
    local_bytes: int  # stack frame per thread
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    constant_bytes: int = 0
    barriers: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """How busy one unit of the device is in a launch: cycles of the SM's clock, and their share of the launch."""

    name: str
    busy_cycles: float
    share: float


@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """What the caches made of a launch's sectors; rates from 0 to 1, None where nothing was asked. `share` of all cache
    lines was followed, the rest follows from it."""

    l1_hit_rate: float | None
    l2_hit_rate: float | None
    l2_read_bytes: int
    l2_write_bytes: int
    dram_read_bytes: int
    dram_write_bytes: int
    share: float


@dataclass(frozen=True, slots=True)
class Roof:
    """Speed reached and the device's roofs: 10^9 bytes of DRAM, of the L2, and 10^9 floating-point operations a second;
    `flops_per_byte` None where no byte of DRAM was moved."""

    dram_gb_s: float
    dram_roof_gb_s: float
    gflops: float
    gflops_roof: float
    flops: int
    flops_per_byte: float | None
    l2_gb_s: float
    l2_roof_gb_s: float


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """Everything known of one launch."""

    id: int
    kernel: str  # demangled
    symbol: str  # as in the PTX
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int
    resources: KernelResources | None
    occupancy: Occupancy | None
    device: str
    stream: int
    ptx_instructions: int
    ptx_thread_instructions: int
    accesses: tuple[Access, ...] = ()
    lines: tuple[LineCounts, ...] = ()
    findings: tuple[Finding, ...] = ()
    completed: bool = True
    cluster: tuple[int, int, int] | None = None  # blocks of a cluster; None where there are none
    instructions: int | None = None  # machine instructions by warps; None where the machine code is not known
    thread_instructions: int | None = None  # by active threads
    time_us: float | None = None  # modelled; None where the machine code or a C compiler is not there
    bound: str | None = None  # the unit, or the latency, that decides the time
    stall: str | None = None  # what warps wait for most, in the profiler's words
    units: tuple[Unit, ...] = ()  # the busiest first
    roof: Roof | None = None
    memory: MemoryTraffic | None = None
    caches: str | None = None  # "warm": as the launches before left them; "cold": emptied before the launch
    advice: tuple[Finding, ...] = ()  # what to change, the most worth first; of the first launch of a shape
    samples: tuple[LaneSample, ...] = ()  # a request of each access, where advice was asked for
    advised: bool = False  # whether changes were looked for: where they were, no advice means nothing worth it
    seconds: float = field(default=0.0, compare=False)  # wall time of the emulation; never written to JSON


@dataclass(frozen=True, slots=True)
class LineCode:
    """What the compilers made of one source line in a kernel: PTX as (line of its text, instruction), machine code as
    (offset in bytes, line of PTX or None, instruction). `file` and `line` None for code without a source line."""

    file: str | None
    line: int | None
    ptx: tuple[tuple[int, str], ...]
    sass: tuple[tuple[int, int | None, str], ...]


@dataclass(frozen=True, slots=True)
class KernelCode:
    """All code of a kernel by source line, of the functions that it calls too."""

    symbol: str
    lines: tuple[LineCode, ...]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """One use of an instruction or call that this version cannot run."""

    what: str
    reason: str
    kernel: str | None
    ptx_line: int | None
    source: SourceLine | None


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """What the checks of a run looked at. `accesses` are requests of warps to memory that were checked, `threads` the
    lanes in them; `unchecked` says in sentences what was not looked at."""

    checks: tuple[str, ...]
    launches: int
    accesses: int
    threads: int
    suppressed: int = 0
    unused_suppressions: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run of a program: what the reports read."""

    program: str
    device: str
    arch: str
    exit_code: int | None  # the program's own; None when it did not start or there is no host program
    launches: tuple[LaunchRecord, ...]
    sources: dict[str, str]  # path as in the PTX -> text, embedded so that a report needs no other file
    findings: tuple[Finding, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    notes: tuple[str, ...] = ()
    check: CheckSummary | None = None  # where checks were asked for
    has_host: bool = True  # False: launched from Python, no program of its own
    code: tuple[KernelCode, ...] = ()  # of each kernel that has a launch
