"""LLVM text to machine code, kept on disk: the object file and what is needed to read the kernel's counters."""

from __future__ import annotations

import ctypes
import hashlib
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from lanewise.emulator import runtime
from lanewise.emulator.instrument import SILENT, Events
from lanewise.emulator.kinds import LaneShape
from lanewise.emulator.layout import BLOCK_COUNTERS, SITE_COUNTERS
from lanewise.emulator.machine import NOTHING, CountingPlan, TripPlan
from lanewise.emulator.program import Program
from lanewise.emulator.unit import BlockInfo, Frame, SiteInfo, Unit, callees, callees_first
from lanewise.ptx.syntax import Function
from lanewise.records import SourceLine

_lock = threading.Lock()
_shared_lock = threading.Lock()
_shared_code: dict[str, bytes] = {}  # by what it depends on: what all kernels share, once a process


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What the translator knows of a kernel beside its code."""

    name: str
    sites: tuple[SiteInfo, ...]
    blocks: tuple[BlockInfo, ...]
    places: tuple[tuple[str, int, SourceLine | None], ...]
    static_shared: int
    frame: Frame
    local_bytes: int  # of one thread, calls included
    recursive: bool
    stack_bytes: int  # native stack of one warp
    spins: bool  # some loop may wait for another block
    copies: bool  # something is copied asynchronously
    shared_arrays: tuple[tuple[str, int, int], ...]  # name, offset, size
    tells: bool = False  # the code tells its accesses (`trace`)
    unseen_writes: bool = False  # instructions write memory that instruments are not told of
    trip_rows: tuple[tuple[TripPlan, int], ...] = ()  # an unrolled loop, and the number of its first stage in `blocks`
    fences: bool = False  # some instruction is a fence
    untold: tuple[str, ...] = ()  # kinds of accesses that instruments are not told of: rooms of `lowering`
    lines: int = 0  # of LLVM text: what compiling costs is about in proportion

    @property
    def counters(self) -> int:
        """Number of 64-bit counters."""
        return len(self.blocks) * BLOCK_COUNTERS + len(self.sites) * SITE_COUNTERS


@dataclass(slots=True)
class CompiledKernel:
    """A kernel ready to run: `run(worker)` is the scheduler's `@lw_run`. `quick`: its code is not optimised,
    and has `executed` so many instructions of warps."""

    info: KernelInfo
    run: Callable[[int], int]
    engine: Any
    quick: bool = False
    executed: int = 0


class CodeCache:
    """Where object files are kept between runs; this one keeps nothing."""

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, key: str, data: bytes) -> None:
        return None


@cache
def _target() -> tuple[Any, str]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    features = llvm.get_host_cpu_features()
    text = features.flatten()
    if features.get("avx512f"):
        text += ",-prefer-256-bit"
    return llvm.Target.from_default_triple(), text


@cache
def _translator_digest() -> str:
    """Hash of the translator's own text: code that an older one made is never used."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for room in ("emulator", "ptx"):
        for path in sorted((package / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def machine_key() -> str:
    """What code depends on beside the program: the host's processor, the compiler's version, the translator."""
    _, features = _target()
    return (
        f"{_translator_digest()}|{llvm.get_host_cpu_name()}|{features}|{llvmlite.__version__}|{llvm.llvm_version_info}"
    )


def kernel_key(
    program: Program, kernel: Function, shape: LaneShape, plan: CountingPlan = NOTHING, events: Events = SILENT
) -> str:
    """Content hash of everything that the code of a kernel depends on."""
    digest = hashlib.sha256(machine_key().encode())
    for module in program.modules:
        digest.update(hashlib.sha256(module.text.encode()).digest())
    for key, allocation in sorted(program.variables.items()):
        digest.update(f"{key}{allocation.base}".encode())
    digest.update(f"{program.module_of(kernel)}|{kernel.name}|{shape.row}|{plan}|{events}".encode())
    return digest.hexdigest()


def compile_kernel(
    program: Program,
    kernel: Function,
    shape: LaneShape,
    store: CodeCache,
    plan: CountingPlan = NOTHING,
    events: Events = SILENT,
    *,
    quick: bool = False,
) -> CompiledKernel:
    """Machine code for a kernel and a lane shape, from the cache where it is there. `quick`: code that is made in a
    quarter of the time and runs up to three times as long will do; both compute and count the same. A kernel whose
    blocks wait for each other is optimised all the same: its code cannot be exchanged while it runs."""
    key = kernel_key(program, kernel, shape, plan, events)
    for name, is_quick in ((key, False), (_quick_key(key), True))[: 1 + quick]:
        kept = _kept(store, name)
        if kept is not None:
            return _load(*kept, store, quick=is_quick)
    unit = Unit(program, kernel, shape, plan, events)
    text = unit.module_text()
    quick = quick and not unit.spins
    info = kernel_info(unit, text.count("\n"), quick=quick)
    code = object_code(text, quick=quick)
    store.put(_quick_key(key) if quick else key, pickle.dumps((info, code)))
    return _load(info, code, store, quick=quick)


def _quick_key(key: str) -> str:
    return hashlib.sha256(f"{key}|quick".encode()).hexdigest()


def _kept(store: CodeCache, key: str) -> tuple[KernelInfo, bytes] | None:
    kept = store.get(key)
    if kept is None:
        return None
    try:
        info, code = pickle.loads(kept)
    except Exception:  # an old or damaged entry is no reason to stop
        return None
    return (info, code) if isinstance(info, KernelInfo) else None


QUICK_FRAME = 16  # bytes of stack for each line of LLVM text: values that code without optimising has no register for


def kernel_info(unit: Unit, lines: int, *, quick: bool) -> KernelInfo:
    names = [(name, offset, unit.shared_size(name, module)) for (module, name), offset in sorted(unit.shared.items())]
    return KernelInfo(
        unit.kernel.name,
        tuple(unit.sites),
        tuple(unit.blocks),
        tuple(unit.places),
        unit.static_shared,
        unit.frames[id(unit.kernel)],
        local_bytes(unit),
        unit.recursive,
        unit.stack_bytes + (-(-QUICK_FRAME * lines // 65536) * 65536 if quick else 0),
        unit.spins,
        unit.copies,
        tuple(names),
        unit.plan.trace,
        unit.unseen_writes,
        tuple(unit.trip_rows.items()),
        unit.fences,
        unit.untold,
        lines,
    )


RECURSIVE_LOCAL_BYTES = 64 << 10


def local_bytes(unit: Unit) -> int:
    """Bytes of local memory of one thread: the deepest chain of frames, or a fixed size where calls may recurse."""
    order = None if unit.recursive else callees_first(unit.program, unit.kernel)
    if order is None:
        return RECURSIVE_LOCAL_BYTES
    sizes: dict[int, int] = {}
    for function in order:
        below = max((sizes[id(f)] for f in callees(unit.program, function)), default=0)
        sizes[id(function)] = unit.frames[id(function)].size + below
    return sizes[id(unit.kernel)]


LARGE = 40_000  # lines of LLVM text above which registers stay in memory: optimising them takes time that grows faster


def object_code(text: str, *, quick: bool = False) -> bytes:
    """Compile LLVM text for this host."""
    with _lock:
        target, features = _target()
        module = llvm.parse_assembly(text)
        large = text.count("\n") > LARGE
        level = 0 if quick else 1 if large else 2
        machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=level, jit=True)
        module.triple = llvm.get_default_triple()
        module.data_layout = str(machine.target_data)
        module.verify()
        if not large and not quick:
            optimise(module, machine)
        result: bytes = machine.emit_object(module)
        return result


def optimise(module: Any, machine: Any) -> None:
    """LLVM's -O1 pipeline without its loop transformations: the translator's code is vectors already."""
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = options.loop_interleaving = False
    llvm.create_pass_builder(machine, options).getModulePassManager().run(
        module, llvm.create_pass_builder(machine, options)
    )


def runtime_code(store: CodeCache) -> bytes:
    """Machine code of what all kernels share, from this process or the cache where it is there."""
    text = runtime.text()
    key = hashlib.sha256(f"{machine_key()}|{text}".encode()).hexdigest()
    with _shared_lock:
        if key not in _shared_code:
            code = store.get(key)
            if code is None:
                code = object_code(text)
                store.put(key, code)
            _shared_code[key] = code
        return _shared_code[key]


def _load(info: KernelInfo, code: bytes, store: CodeCache, *, quick: bool) -> CompiledKernel:
    shared_code = runtime_code(store)
    with _lock:
        target, features = _target()
        machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        for data in (shared_code, code):
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        address = engine.get_function_address("lw_run")
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
    return CompiledKernel(info, run, engine, quick)
