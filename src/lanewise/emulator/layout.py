"""Where things lie in the memory that compiled kernels and the scheduler share: offsets in bytes, sizes, windows.

One `Worker` per host thread, holding `slots` blocks in progress; each block has one context per warp.
"""

from __future__ import annotations

from lanewise.records import Space

# Generic addresses of the shared and local windows: far from any device memory, 16 MiB apart at least.
SHARED_WINDOW = 0x0000_1000_0000_0000
LOCAL_WINDOW = 0x0000_1001_0000_0000
WINDOW_BYTES = 1 << 24
CLUSTER_WINDOW_BYTES = 1 << 32  # from SHARED_WINDOW: the block's own window, then one for each block of its cluster
RANK_SHIFT = 24  # an address in shared::cluster: byte 3 is 0 in the block's own memory, else the rank of the block + 1
FUNCTION_BASE = 0x0000_1002_0000_0000  # "addresses" of device functions: 16 bytes each, never memory


class Warp:
    """Context of one warp of a block in progress."""

    STACK_POINTER = 0
    STATUS = 8  # i32, see Status
    BARRIER = 12  # i32: the barrier waited at
    MASK = 16  # i32: lanes that exist
    INDEX = 20  # i32: warp within the block
    TID_X, TID_Y, TID_Z = 24, 28, 32  # i32: of lane 0
    CTAID_X, CTAID_Y, CTAID_Z = 36, 40, 44
    BLOCK = 48  # ptr: Block
    LOCAL = 56  # ptr: local memory of the warp
    TIDS = 64  # ptr: 3 x <32 x i32>, for irregular block shapes
    STACK_TOP = 72  # ptr
    BARRIER_RESULT = 80  # i32: result of bar.red
    SPIN = 84  # i32: back edges of spin loops since the last turn given away
    EXITED = 88  # i32: lanes that left by exit
    PLACE = 92  # i32: number of the barrier instruction waited at, see `unit.PLACE_BASE`
    CLOCK = 96  # i64: what clock registers read
    WAIT_WORD = 104  # ptr: the mbarrier waited at
    WAIT_STATE = 112  # i32: the top bits of its word (see `mbarriers`) while the phase waited for goes on
    CLUSTER_ARRIVED = 120  # i32: lanes that have arrived at the cluster barrier, while it is not complete
    CLUSTER_PENDING = 124  # i32: lanes that have arrived there and not waited yet
    QUEUE = 128  # ptr: AsyncQueue; null in kernels that copy nothing asynchronously
    TRACE_BLOCK = 136  # i32: the block whose requests TRACE_ORDER counts, see `trace`
    TRACE_ORDER = 140  # i32
    SIZE = 192


class Block:
    """Context of one block in progress."""

    SHARED = 0  # ptr
    WARPS = 8  # i64: number of warps
    LIVE = 16  # i64: warps not finished
    LINEAR = 24  # i64: block index in launch order
    ACTIVE = 32  # ptr: the Worker while in progress, else null
    IDLE = 40  # i64, of the cluster's first block: times in a row that all warps of the cluster waited and those at
    # mbarriers were told that nothing had come
    CLUSTER = 48  # ptr: the cluster's first Block; they lie one after the other
    RANK = 56  # i64: rank in the cluster
    STILL = 64  # i64, of the cluster's first block: visits in a row in which no warp of the cluster ran
    NOTES = 72  # ptr: an instrument's own
    BULK = 80  # ptr: BulkQueue; null in kernels that copy nothing asynchronously
    BARRIERS = 128  # 16 x {i32 arrived threads, i32 expected threads (0: all), i32 sum, i32 and, i32 or, i32 pad...}
    BARRIER_SIZE = 32
    WARP_CONTEXTS = BARRIERS + 16 * BARRIER_SIZE
    # warps follow at WARP_CONTEXTS


class Worker:
    """What one host thread needs."""

    LAUNCH = 0  # ptr: Launch
    MAIN_STACK = 8  # saved stack pointer of the scheduler
    FUEL = 16  # i64: back edges and warps until the next look at the limits
    SLOTS = 24  # i64: blocks that may be in progress
    BLOCKS = 32  # ptr: first Block
    BLOCK_SIZE = 40  # i64: bytes from one Block to the next
    CURRENT = 48  # ptr: warp that runs
    REQUEST = 56  # i64: why the scheduler returned to the host, see Request
    FAULT_SITE = 64  # i64
    FAULT_CODE = 72  # i64
    FAULT_MASK = 80  # i64: lanes at fault
    COUNTERS = 88  # ptr
    CACHE = 96  # ptr: per-site bounds
    PARAMS = 104  # ptr
    CURSOR = 112  # i64: slot to go on with
    NOTES = 120  # ptr: an instrument's own
    SERVICE = 152  # i64: what a kernel asks the host for, see Service
    SERVICE_MASK = 160  # i64: lanes that ask
    SERVICE_RESULT = 168  # i64: offset of the result in local memory
    SERVICE_ARGUMENTS = 176  # i64 x 8: offsets of the arguments in local memory
    FAULT_ADDRESSES = 256  # <32 x i64>
    FAULT_SIZE = 512  # i64: bytes a lane accesses
    BLOCKS_DONE = 520  # i64
    SPENT = 528  # i64: what this worker has added to Launch.EXECUTED
    SINK = 576  # 64 bytes: where accesses go that are told and left out
    TRACE_BEGIN, TRACE_AT, TRACE_LIMIT = 640, 648, 656  # ptr: records of `trace`: the first, the next, the last
    TRACE_ARENA = 664  # i64: where device memory starts
    TRACE_MASK = 672  # i32: bits of a line's hash that must be zero
    SIZE = 704


class Launch:
    """Shared by all workers of a launch."""

    NEXT = 0  # i64: next cluster, taken atomically
    COUNT = 8  # i64: clusters, or blocks where they have one
    GRID_X, GRID_Y, GRID_Z = 16, 24, 32  # i64
    BLOCK_X, BLOCK_Y, BLOCK_Z = 40, 48, 56  # i64
    ABORT = 64  # i64: not 0: stop at the next opportunity, see Abort
    BOUNDS = 72  # ptr: {number, 0}, then sorted [begin, end) pairs of live allocations
    SHARED_BYTES = 88  # i64: static + dynamic
    LOCAL_BYTES = 96  # i64: of one thread
    WARP_TABLE = 104  # ptr: per warp of a block {mask, tid.x, tid.y, tid.z} i32 x 4
    TIDS_TABLE = 112  # ptr: per warp 3 x 32 x i32
    DYNAMIC_SHARED = 120  # i64
    GRID_ID = 128  # i64
    STACK_BYTES = 136  # i64: native stack of one warp
    BUDGET = 144  # i64: thread-level instructions that the launch may execute
    EXECUTED = 152  # i64: those executed, up to each worker's last look
    SIZES = 160  # ptr: i64 instructions of each basic block
    SIZES_COUNT = 168  # i64: basic blocks
    REFILL = 176  # i64: fuel from one look to the next
    CLUSTER_X, CLUSTER_Y, CLUSTER_Z = 184, 192, 200  # i64: blocks of a cluster
    CLUSTERS_X, CLUSTERS_Y, CLUSTERS_Z = 208, 216, 224  # i64: clusters of the grid
    CLUSTER_BLOCKS = 232  # i64
    CLUSTER_EXPLICIT = 240  # i64: 1 where the launch or the kernel says what a cluster is
    GRID_WORKSPACE = 248  # address of the words that grid.sync() works with; 0 where the launch is not cooperative
    HOOKS = 256  # ptr: Hooks; 0 where nobody listens
    WATCH = 264  # ptr: one byte a site, 0 where its accesses are not told
    ORDER_STEP, ORDER_START = 272, 280  # i64: the n-th block to run is (start + n * step) modulo their number
    WARP_START = 288  # i64: the warp of a block that has its turn first
    SIZE = 320


BARRIER_OF_CLUSTER = 16  # Warp.BARRIER of a warp that waits for its cluster


class Hooks:
    """Native functions that listen to a launch, 0 where one is not wanted. Masks are of lanes; `place` is a number of
    `KernelInfo.places`, from `unit.PLACE_BASE` up.

    `ACCESS(warp, worker, site, mask, active, addresses, values)`: before each access, `mask` being the lanes whose
    predicate holds; 32 u64 addresses (offsets in shared and local memory); `values`: vectors of 32, one a component, or
    null. `FAULT(warp, worker, site, code, mask, bytes) -> i32`: an access a card would refuse, addresses in the worker;
    0 ends the launch. `BLOCK(worker, block, begins)`. `ARRIVE(warp, worker, barrier, threads, mask, waits, place)`.
    `RELEASE(worker, block, barrier)`: all have come. `WARP_SYNC(warp, worker, place, active, orders, members)`: 32 i32
    member masks; `orders`: 1 for bar.warp.sync, 0 for exchanges. `FENCE(warp, worker, active, scope)`: scope as of
    `lowering.events.SCOPES`. `RANGE(warp, worker, site, mask, active, addresses)`: some lanes may have left
    `SiteInfo.range`. `MEET(warp, worker, mask, hosts, arrives)`: lanes arrive at mbarriers (1), by their addresses in
    this process, or have waited for them (0). `COPIES(warp, worker, mask, what, pending)`: what `cp.async` copied to
    shared memory is a group (`events.COMMITTED`), or has landed: all of it (`events.LANDED`), or all groups but the
    last `pending` (`events.LANDED_BUT`).

    What is defined: one bit a byte, eight bytes of one lane in a byte, 1 where it is not. `LOADED(warp, worker, site,
    mask, addresses, vectors)` fills a vector a component; `STORED(warp, worker, site, mask, addresses, vectors, way)`
    takes them, and for an atomic (`events.UPDATES`, `EXCHANGES`) gives those of what memory held; `UNDEFINED(warp,
    worker, place, mask, what)`: a branch (0) or an address (1) hangs on a value that is not defined.
    """

    ACCESS = 0
    FAULT = 8
    BLOCK = 16
    ARRIVE = 24
    RELEASE = 32
    WARP_SYNC = 40
    FENCE = 48
    RANGE = 56
    LOADED = 64
    STORED = 72
    UNDEFINED = 80
    MEET = 88
    COPIES = 96
    SIZE = 128


class BlockNotes:
    """The head of what Block.NOTES points to, where `Events.brief_reads` is set: the list of the block's reads. An
    entry is {i32 site + (warp << 27), i32 offset}: a read by a full warp at the offset plus `SiteInfo.distances`."""

    NEXT = 0  # ptr: the next entry
    END = 8  # ptr: no entry from here on; reads are then told by a call
    HOLES = 16  # i64: bytes of the block's shared memory that are not defined (`Events.defined`)


class AsyncEntry:
    """One execution of cp.async by a warp whose bytes have not landed, or arrivals that follow such."""

    LANES = 0  # i32: those that have not landed
    BYTES = 4  # i32: of one lane; 0: an arrival
    PLACE = 8  # i32: of the instruction, for messages
    TO = 64  # <32 x i64>: host addresses in shared memory
    FROM = 320  # <32 x i64>
    GROUP = 576  # <32 x i32>: groups that the lane had committed before
    READ = 704  # <32 x i32>: bytes that are copied; the rest is zero
    SIZE = 832


class AsyncQueue:
    """Asynchronous copies of one warp: a ring of entries, numbered from the start of the block."""

    HEAD = 0  # i64: number of the first entry
    TAIL = 8  # i64: number of the next one
    COMMITTED = 64  # <32 x i32>: groups of cp.async that each lane has committed
    BULK_COMMITTED = 192  # <32 x i32>: groups of bulk copies
    ENTRIES = 320
    CAPACITY = 256
    SIZE = ENTRIES + CAPACITY * AsyncEntry.SIZE


class BulkCopy:
    """What a bulk copy or reduction has to do: the payload of its entry."""

    TO = 0  # ptr
    FROM = 8  # ptr
    BYTES = 16  # i64
    MASK = 24  # i16: of .cp_mask


class BulkEntry:
    """One bulk copy of a lane that has not landed."""

    LIVE = 0  # i32: 0 once it has
    PLACE = 4  # i32: of the instruction, for messages
    MOVE = 8  # ptr: what to call when it lands
    WORD = 16  # ptr: the mbarrier to tell; null: of a group
    BYTES = 24  # i64: those it is told
    LANE = 32  # i32: the bit of the lane
    GROUP = 36  # i32: groups of bulk copies that the lane had committed before
    WARP = 40  # ptr: the Warp that copies
    PAYLOAD = 64
    PAYLOAD_BYTES = 256
    SIZE = PAYLOAD + PAYLOAD_BYTES


class BulkQueue:
    """Bulk copies of one block: a ring of entries, numbered from the start of the block."""

    HEAD = 0  # i64: number of the first entry
    TAIL = 8  # i64: number of the next one
    ENTRIES = 64
    CAPACITY = 1024
    SIZE = ENTRIES + CAPACITY * BulkEntry.SIZE


class Status:
    """States of a warp."""

    READY = 0
    WAITING = 1  # at a barrier
    DONE = 2
    YIELDED = 3  # spinning: let others run first
    PHASE = 4  # at an mbarrier whose phase goes on


class Request:
    """Why a worker returned to the host."""

    FINISHED = 0
    FAULT = 1
    DEADLOCK = 2
    SERVICE = 3
    ABORTED = 4


class Abort:
    """Why a launch stops early."""

    HOST = 1  # a fault, the limit of time, an interrupt
    BUDGET = 2  # the limit of instructions


class Service:
    """What a kernel may ask the host for."""

    PRINTF = 1
    MALLOC = 2
    FREE = 3
    ASSERT = 4


class Fault:
    """Codes of faults."""

    BOUNDS = 1
    MISALIGNED = 2
    TRAP = 3
    ASSERT = 4
    STACK = 5
    BAD_CALL = 6
    SHARED_BOUNDS = 7
    LOCAL_BOUNDS = 8
    BARRIER = 9  # a barrier number that there cannot be: it stands in the place of the bytes
    MBARRIER = 10  # see `MbarrierFault`, which stands in the place of the bytes
    CLUSTER_RANK = 11
    CLUSTER_EXITED = 12
    CLUSTER_ARRIVE = 13
    CLUSTER_WAIT = 14
    CLUSTER_BOUNDS = 15
    CLUSTER_MISALIGNED = 16
    COPY = 17  # see `CopyFault`, which stands in the place of the bytes
    TENSOR = 18  # see `tensor_layout.TensorFault`, which stands in the place of the bytes
    HANDLE = 20  # no texture, or no surface
    GEOMETRY = 21
    SURFACE_BOUNDS = 22
    SURFACE_MISALIGNED = 23
    BARRIER_COUNT = 24  # threads of a barrier that are no whole warps: they stand in the place of the bytes
    MATRIX = 32  # see `MatrixFault`, which stands in the place of the bytes


class CopyFault:
    """What is wrong with an asynchronous copy; of bulk copies, their size stands above the lowest 8 bits."""

    SOURCE_SIZE = 1
    BULK_SIZE = 2
    BULK_GLOBAL_ALIGNMENT = 3
    BULK_SHARED_ALIGNMENT = 4
    BULK_GLOBAL_BOUNDS = 5
    BULK_SHARED_BOUNDS = 6
    BULK_RANK = 7
    BULK_EXITED = 8


class MatrixFault:
    """What is wrong with a matrix descriptor."""

    OUTSIDE = 1
    RESERVED = 2
    DIFFERENT = 3


class MbarrierFault:
    """What is wrong with an operation on an mbarrier."""

    OUTSIDE = 1
    MISALIGNED = 2
    INVALID = 3
    COUNT = 4
    ARRIVALS = 5
    BYTES = 6
    NO_COMPLETE = 7


# Counters of one memory site, i64 each.
SITE_SECTORS, SITE_SECTORS_IDEAL, SITE_WAVEFRONTS, SITE_WAVEFRONTS_IDEAL, SITE_ON, SITE_PATTERNS = range(6)
SITE_STRIDE = 6  # a stride seen, in bytes
SITE_REQUESTS_ON = 7  # requests counted lane by lane with at least one lane on
SITE_COUNTERS = 8


def staged_counters(space: Space) -> tuple[int, int]:
    """Of a site that counts one copy of an unrolled loop's access: where its executions by warps and by threads stand,
    in the place of costs that accesses of its space do not have."""
    return (SITE_SECTORS, SITE_SECTORS_IDEAL) if space == Space.SHARED else (SITE_WAVEFRONTS, SITE_WAVEFRONTS_IDEAL)


# Counters of one basic block, i64 each.
BLOCK_WARPS, BLOCK_THREADS, BLOCK_DIVERGENT, BLOCK_OCTETS = range(4)
BLOCK_COUNTERS = 4

# A stage of an unrolled loop (`machine.TripStage`) is counted in the place of a block: its executions as of a block,
# then the threads that came to it, and the groups in which they left.
STAGE_ARRIVED, STAGE_GROUPS = 2, 3

FUEL = 1 << 16  # the most between two looks at the limits
IDLE_LIMIT = 1 << 14  # times that a wait at an mbarrier may end without a phase ending anywhere in the block
SPIN_TURNS = 32  # back edges of a spin loop before a warp lets the others run
