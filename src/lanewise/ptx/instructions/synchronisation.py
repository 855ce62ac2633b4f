"""Barriers, fences, atomics, votes and the like (PTX ISA 9.7.13, and 9.7.9.5 and 9.7.9.6 for shuffles)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_barrier = partial(group("Barriers and fences"), destinations=0)
_atomic = group("Atomics and reductions")
_warp = partial(group("Warp-level operations"), convergence="warp")
_mbarrier = group("Memory barriers (mbarrier)")
_cluster = partial(group("Clusters and dependent grids"), destinations=0)

_NO_CONTROL = "launch control of clusters (sm_100) is not run yet"
_REMOVED = "it was removed from PTX for sm_70 and newer; use the .sync form"

# Operations and types of atom and red alike.
_REDUCTIONS = (
    ("and|or|xor", "b32|b64"),
    ("add", "u32|s32|u64|f32|f64"),
    ("inc|dec", "u32"),
    ("min|max", "u32|s32|u64|s64"),
    ("add noftz", "HALF|PACKED"),
)
_VECTOR_REDUCTIONS = (
    "add HINT? v2|v4 f32",
    "add|min|max noftz HINT? v2|v4|v8 HALF",
    "add|min|max noftz HINT? v2|v4 PACKED",
)
_ATOM = "relaxed|acquire|release|acq_rel? SCOPE?"
_RED = "relaxed|release? SCOPE?"


def _atomics(start: str, operations: tuple[tuple[str, str], ...], operands: str) -> tuple[str, ...]:
    """Forms for global and generic addresses, which take hints for the cache, and for shared memory."""
    return tuple(
        form
        for operation, types in operations
        for form in (
            f"{start} global? {operation} HINT? {types} : {operands} POLICY",
            f"{start} SHARED {operation} {types} : {operands}",
        )
    )


# Of mbarriers: those of the block itself, and the order that an operation makes, with its scope, or neither.
_OWN = "shared|shared::cta?"
_ARRIVAL = ("", "release|relaxed cta|cluster")
_PHASE = ("", "acquire|relaxed cta|cluster")

SPECS: tuple[InstructionSpec, ...] = (
    _warp(
        "shfl",
        "9.7.9.5",
        "Shuffle, without .sync",
        None,
        "up|down|bfly|idx b32 : b32|pred b32 b32 b32",
        reason=_REMOVED,
    ),
    _warp("shfl.sync", "9.7.9.6", "Shuffle", "warp.shfl", "up|down|bfly|idx b32 : b32|pred b32 b32 b32 b32"),
    _barrier("bar.sync", "9.7.13.1", "Block barrier", "barrier.bar", "cta? : u32 u32?", convergence="barrier"),
    _barrier(
        "barrier.sync", "9.7.13.1", "Block barrier", "barrier.bar", "cta? aligned? : u32 u32?", convergence="barrier"
    ),
    _barrier("bar.arrive", "9.7.13.1", "Arrive at a block barrier", "barrier.arrive", "cta? : u32 u32"),
    _barrier("barrier.arrive", "9.7.13.1", "Arrive at a block barrier", "barrier.arrive", "cta? aligned? : u32 u32"),
    *(
        _barrier(
            f"{name}.red",
            "9.7.13.1",
            "Block barrier with a reduction",
            "barrier.barrier_red",
            f"cta? popc {aligned} u32 : u32 u32 pred",
            f"cta? popc {aligned} u32 : u32 u32 u32 pred",
            f"cta? and|or {aligned} pred : pred u32 pred",
            f"cta? and|or {aligned} pred : pred u32 u32 pred",
            destinations=1,
            convergence="barrier",
        )
        for name, aligned in (("bar", ""), ("barrier", "aligned?"))
    ),
    _barrier("bar.warp.sync", "9.7.13.2", "Warp barrier", "barrier.warp_sync", ": b32", convergence="warp"),
    _cluster(
        "barrier.cluster",
        "9.7.13.3",
        "Cluster barrier",
        "cluster.barrier",
        "arrive release|relaxed? aligned? :",
        "wait acquire? aligned? :",
        convergence="barrier",
    ),
    _barrier("membar", "9.7.13.4", "Memory fence", "barrier.membar", "cta|gl|sys :", "proxy alias :"),
    _barrier(
        "fence",
        "9.7.13.4",
        "Memory fence",
        "barrier.membar",
        "sc|acq_rel|acquire|release? SCOPE :",
        "acquire sync_restrict::shared::cluster cluster :",
        "release sync_restrict::shared::cta cluster :",
        "mbarrier_init release cluster :",
        "proxy alias :",
    ),
    _barrier(
        "fence.proxy",
        "9.7.13.4",
        "Fence between kinds of memory access",
        "barrier.membar",
        "async global|SHARED? :",
        "tensormap::generic release SCOPE :",
        "tensormap::generic acquire SCOPE : [] u32",
        "async::generic acquire sync_restrict::shared::cluster cluster :",
        "async::generic release sync_restrict::shared::cta cluster :",
    ),
    _atomic(
        "atom",
        "9.7.13.5",
        "Atomic operation",
        "atomics.atom",
        *_atomics(_ATOM, (*_REDUCTIONS, ("exch", "b32|b64|b128")), "T [] T"),
        f"{_ATOM} global|SHARED? cas b16|b32|b64|b128 : T [] T T",
    ),
    _atomic(
        "atom",
        "9.7.13.5",
        "Atomic operation on a vector",
        "atomics.atom",
        *(f"{_ATOM} global? {operation} : V [] V POLICY" for operation in _VECTOR_REDUCTIONS),
    ),
    _atomic(
        "red",
        "9.7.13.6",
        "Reduction in memory",
        "atomics.red",
        *_atomics(_RED, _REDUCTIONS, "[] T"),
        destinations=0,
    ),
    _atomic(
        "red",
        "9.7.13.6",
        "Reduction of a vector in memory",
        "atomics.red",
        *(f"{_RED} global? {operation} : [] V POLICY" for operation in _VECTOR_REDUCTIONS),
        destinations=0,
    ),
    _atomic(
        "red.async",
        "9.7.13.7",
        "Reduction in another block of the cluster",
        "remote.reduce",
        "relaxed cluster shared::cluster? TX inc|dec u32 : [] T []",
        "relaxed cluster shared::cluster? TX min|max u32|s32 : [] T []",
        "relaxed cluster shared::cluster? TX and|or|xor b32 : [] T []",
        "relaxed cluster shared::cluster? TX add u32|s32|u64 : [] T []",
        destinations=0,
    ),
    _atomic(
        "red.async",
        "9.7.13.7",
        "Asynchronous reduction",
        None,
        "mmio? release gpu|sys|cluster global? add u32|s32|u64|s64 : [] T",
        destinations=0,
        reason="asynchronous reductions are not run yet",
    ),
    _warp(
        "vote",
        "9.7.13.8",
        "Vote, without .sync",
        None,
        "all|any|uni pred : pred pred",
        "ballot b32 : b32 pred",
        reason=_REMOVED,
    ),
    _warp(
        "vote.sync", "9.7.13.9", "Vote", "warp.vote", "all|any|uni pred : pred pred b32", "ballot b32 : b32 pred b32"
    ),
    _warp(
        "match.sync",
        "9.7.13.10",
        "Find the lanes with the same value",
        "warp.match",
        "any b32|b64 : b32 T b32",
        "all b32|b64 : b32|pred T b32",
    ),
    _warp("activemask", "9.7.13.11", "Mask of the active lanes", "warp.activemask", "b32 : b32"),
    _warp(
        "redux.sync",
        "9.7.13.12",
        "Reduction over a warp",
        "warp.redux",
        "add|min|max u32|s32 : T T b32",
        "and|or|xor b32 : T T b32",
    ),
    _warp(
        "redux.sync",
        "9.7.13.12",
        "Reduction of floats over a warp",
        None,
        "min|max abs? NaN? f32 : T T b32",
        reason="reductions of floats over a warp (sm_100a) are not run yet",
    ),
    _cluster(
        "griddepcontrol",
        "9.7.13.13",
        "Order against the next or previous grid",
        "control.griddepcontrol",
        "launch_dependents|wait :",
    ),
    _warp("elect.sync", "9.7.13.14", "Choose one lane", "warp.elect", ": b32+pred b32"),
    _mbarrier("mbarrier.init", "9.7.13.15.9", "Make", "mbarrier.init", f"{_OWN} b64 : [] u32", destinations=0),
    _mbarrier("mbarrier.inval", "9.7.13.15.10", "End the use", "mbarrier.inval", f"{_OWN} b64 : []", destinations=0),
    *(
        _mbarrier(
            f"mbarrier.{name}",
            section,
            title,
            f"mbarrier.{name}",
            "SHARED? b64 : [] u32",
            "relaxed cta|cluster SHARED? b64 : [] u32",
            destinations=0,
        )
        for name, section, title in (
            ("expect_tx", "9.7.13.15.11", "Expect bytes"),
            ("complete_tx", "9.7.13.15.12", "Count bytes as arrived"),
        )
    ),
    *(
        _mbarrier(
            f"mbarrier.{name}",
            section,
            title,
            "mbarrier.arrive",
            *(f"{semantics} {_OWN} b64 : b64 [] u32?" for semantics in _ARRIVAL),
            *(f"{semantics} shared::cluster b64 : _ [] u32?" for semantics in _ARRIVAL),
            *(f"expect_tx {semantics} {_OWN} b64 : b64 [] u32" for semantics in _ARRIVAL),
            *(f"expect_tx {semantics} shared::cluster b64 : _ [] u32" for semantics in _ARRIVAL),
            f"noComplete {_OWN} b64 : b64 [] u32",
            f"noComplete release cta {_OWN} b64 : b64 [] u32",
        )
        for name, section, title in (
            ("arrive", "9.7.13.15.13", "Arrive"),
            ("arrive_drop", "9.7.13.15.14", "Arrive for the last time"),
        )
    ),
    *(
        _mbarrier(
            f"mbarrier.{name}",
            "9.7.13.15.16",
            title,
            "mbarrier.wait",
            *(f"{semantics} {_OWN} b64 : pred [] b64 {hint}" for semantics in _PHASE),
            *(f"parity {semantics} {_OWN} b64 : pred [] u32 {hint}" for semantics in _PHASE),
        )
        for name, title, hint in (("test_wait", "Ask whether it is complete", ""), ("try_wait", "Wait a while", "u32?"))
    ),
    _mbarrier(
        "mbarrier.pending_count",
        "9.7.13.15.17",
        "Pending arrivals of a state",
        "mbarrier.pending_count",
        "b64 : u32 b64",
        elementwise=True,
    ),
    _cluster(
        "clusterlaunchcontrol.try_cancel",
        "9.7.13.17",
        "Take over the work of a block",
        None,
        "async shared::cta? TX multicast::cluster::all? b128 : [] []",
        reason=_NO_CONTROL,
    ),
    _cluster(
        "clusterlaunchcontrol.query_cancel",
        "9.7.13.18",
        "Ask which block was taken over",
        None,
        "is_canceled pred b128 : pred b128",
        "get_first_ctaid v4 b32 b128 : {T} b128",
        "get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128 : b32 b128",
        destinations=1,
        reason=_NO_CONTROL,
    ),
)
