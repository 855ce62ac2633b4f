"""Moves, loads, stores and addresses (PTX ISA 9.7.9)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = group("Data movement")
_move = partial(_entry, elementwise=True)
_store = partial(_entry, destinations=0)

_LOAD_PARAM = "param|param::entry|param::func"


def _accesses(start: str, cached: str, more: str, operands: str) -> tuple[str, ...]:
    """A load or store by global or generic address: a cache operator, or priorities of eviction. Those of the L2 cache
    are for accesses of 256 bits."""
    return (
        f"{start} global? {cached} HINT? {more} VEC? MEMORY : {operands} POLICY",
        f"{start} global? EVICT1 HINT? {more} VEC? MEMORY : {operands} POLICY",
        f"{start} global? EVICT1? EVICT2 HINT? {more} v8 b32|u32|s32|f32 : {operands} POLICY",
        f"{start} global? EVICT1? EVICT2 HINT? {more} v4 b64|u64|s64|f64 : {operands} POLICY",
    )


_LOADS = (
    *_accesses("weak?", "ca|cg|cs|lu|cv?", "PREFETCH?", "V []"),
    *_accesses("relaxed|acquire SCOPE", "", "PREFETCH?", "V []"),
    "weak? const|local|SHARED ca|cg|cs|lu|cv? VEC? MEMORY : V []",
    "volatile global? PREFETCH? VEC? MEMORY : V []",
    "volatile local|SHARED VEC? MEMORY : V []",
    "relaxed|acquire SCOPE SHARED VEC? MEMORY : V []",
    "mmio relaxed sys global? MEMORY : V []",
)
_STORES = (
    *_accesses("weak?", "wb|cg|cs|wt?", "", "[] V"),
    *_accesses("relaxed|release SCOPE", "", "", "[] V"),
    "weak? local|SHARED wb|cg|cs|wt? VEC? MEMORY : [] V",
    "volatile global|local|SHARED? VEC? MEMORY : [] V",
    "relaxed|release SCOPE SHARED VEC? MEMORY : [] V",
    "mmio relaxed sys global? MEMORY : [] V",
)
_READ_ONLY_LOADS = (
    "ca|cg|cs? HINT? PREFETCH? VEC? MEMORY : V [] POLICY",
    "EVICT1 HINT? PREFETCH? VEC? MEMORY : V [] POLICY",
    "EVICT1? EVICT2 HINT? PREFETCH? v8 b32|u32|s32|f32 : V [] POLICY",
    "EVICT1? EVICT2 HINT? PREFETCH? v4 b64|u64|s64|f64 : V [] POLICY",
)

_SPACES = "const|global|local|SHARED|param|param::entry"
_NO_MULTIMEM = "multimem addresses (several GPUs at once) are not run yet"
_NO_ASYNC = "asynchronous stores are not run yet"

SPECS: tuple[InstructionSpec, ...] = (
    _move("mov", "9.7.9.3", "Set a register, take an address", "move.mov", "pred|BITS|INT|f32|f64|b128 : T T"),
    _move("mov", "9.7.9.4", "Pack parts into a register", "move.pack", "BITS|b128 : T {}"),
    _move("mov", "9.7.9.4", "Unpack a register into parts", "move.unpack", "BITS|b128 : {} T"),
    _move(
        "mov",
        "9.7.9.3",
        "Copy a vector of registers",
        "move.vector",
        "v2|v4 BITS|INT|f32|f64 : V V",
    ),
    _entry("ld", "9.7.9.8", "Load", "memory.load", *_LOADS),
    _entry(
        "ld.param",
        "9.7.9.8",
        "Load a parameter",
        "parameter.load",
        "weak? VEC? MEMORY : V []",
        "volatile VEC? MEMORY : V []",
        fixed=_LOAD_PARAM,
    ),
    _entry(
        "ld.global.nc",
        "9.7.9.9",
        "Load through the read-only path",
        "memory.load",
        *_READ_ONLY_LOADS,
    ),
    _entry("ldu", "9.7.9.10", "Load, the same address in all lanes", "memory.load", "global? v2|v4? MEMORY : V []"),
    _store("st", "9.7.9.11", "Store", "memory.store", *_STORES),
    _store(
        "st.param",
        "9.7.9.11",
        "Store a parameter of a call or a result",
        "parameter.store",
        "weak? VEC? MEMORY : [] V",
        fixed="param|param::func",
    ),
    _store(
        "st.async",
        "9.7.9.12",
        "Store to another block of the cluster",
        "remote.store",
        "weak? shared::cluster? TX v2|v4? b32|u32|s32|f32|b64|u64|s64|f64 : [] V []",
    ),
    _store(
        "st.async",
        "9.7.9.12",
        "Store asynchronously",
        None,
        "mmio? release gpu|sys global? MEMORY : [] V",
        reason=_NO_ASYNC,
    ),
    _store("st.bulk", "9.7.9.13", "Clear shared memory", None, "weak? shared::cta? : [] u64 u64", reason=_NO_ASYNC),
    _entry(
        "multimem.ld_reduce",
        "9.7.9.14",
        "Load and reduce over several GPUs",
        None,
        "weak|relaxed|acquire? SCOPE? global? min|max|add|and|or|xor acc::f32|acc::f16? VEC? MULTIMEM : V []",
        reason=_NO_MULTIMEM,
    ),
    _store(
        "multimem.st",
        "9.7.9.14",
        "Store to several GPUs",
        None,
        "weak|relaxed|release? SCOPE? global? VEC? MULTIMEM : [] V",
        reason=_NO_MULTIMEM,
    ),
    _store(
        "multimem.red",
        "9.7.9.14",
        "Reduce on several GPUs",
        None,
        "relaxed|release? SCOPE? global? min|max|add|and|or|xor VEC? MULTIMEM : [] V",
        reason=_NO_MULTIMEM,
    ),
    _store(
        "prefetch",
        "9.7.9.15",
        "Prefetch",
        "memory.prefetch",
        "global|local? L1|L2 : []",
        "global? L2::evict_last|L2::evict_normal : []",
        "const|param? tensormap : []",
    ),
    _store("prefetchu", "9.7.9.15", "Prefetch to the uniform cache", "memory.prefetch", "L1 : []"),
    _store(
        "applypriority", "9.7.9.16", "Set an eviction priority", "memory.prefetch", "global? L2::evict_normal : [] u64"
    ),
    _store("discard", "9.7.9.17", "Give up cached data", "memory.prefetch", "global? L2 : [] u64"),
    _entry(
        "createpolicy",
        "9.7.9.18",
        "Make a cache policy",
        "memory.create_policy",
        "range global? POLICY1 POLICY2? b64 : b64 [] u32 u32",
        "fractional POLICY1 POLICY2? b64 : b64 f32?",
        "cvt L2 b64 : b64 b64",
    ),
    _entry("isspacep", "9.7.9.19", "Ask for an address's space", "address.isspacep", f"{_SPACES} : pred u64"),
    _entry("cvta", "9.7.9.20", "Convert to a generic address", "address.cvta", f"{_SPACES} u32|u64 : T T"),
    _entry("cvta.to", "9.7.9.20", "Convert from a generic address", "address.cvta", f"{_SPACES} u32|u64 : T T"),
    _entry("mapa", "9.7.9.23", "Map an address to another block", "cluster.mapa", "shared::cluster? u32|u64 : T T u32"),
    _entry(
        "getctarank",
        "9.7.9.24",
        "The block that an address belongs to",
        "cluster.getctarank",
        "shared::cluster? u32|u64 : u32 T",
    ),
)
