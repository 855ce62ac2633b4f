"""Nanoseconds per call of the counting functions (`lanewise.emulator.counting`): python benchmarks/counting.py

Each function is called in a compiled loop on one warp's lanes, the best of several rounds is printed.
"""

from __future__ import annotations

import ctypes
import random
import time

import llvmlite.binding as llvm
import numpy as np

from lanewise.emulator import counting
from lanewise.emulator.ir import Emitter

CALLS = 200_000
FULL = 0xFFFFFFFF
# name -> result, element, further arguments (constants of the call)
FUNCTIONS = {
    "lw_sectors": ("i32", "i64", ", i32 4"),
    "lw_pattern": ("i64", "i64", ", i32 4"),
    "lw_wavefronts": ("i32", "i32", ", i32 4, i1 true"),
    "lw_atomic_lanes": ("i32", "i32", ", i32 4"),
    "lw_local_sectors": ("i32", "i32", ", i32 4"),
}


def inputs() -> dict[str, list[int]]:
    rng = random.Random(1)
    return {
        "same": [512] * 32,
        "contiguous": [4 * lane for lane in range(32)],
        "stride 8": [32 * lane for lane in range(32)],
        "swizzled": [4 * (lane ^ 5) for lane in range(32)],
        "16 x 2 tile": [4 * (lane % 16) + 2048 * (lane // 16) for lane in range(32)],
        "random": [4 * rng.randrange(8192) for _ in range(32)],
    }


def loop(name: str) -> str:
    """A function that calls `name` n times; the lanes are read again each time, so that no call can be left out."""
    returns, element, extra = FUNCTIONS[name]
    return f"""define {returns} @loop_{name}(ptr %lanes, i32 %mask, i64 %n) {{
  br label %again
again:
  %i = phi i64 [ 0, %0 ], [ %i1, %again ]
  %sum = phi {returns} [ 0, %0 ], [ %sum1, %again ]
  %v = load volatile <32 x {element}>, ptr %lanes, align 64
  %r = call {returns} @{name}(<32 x {element}> %v, i32 %mask{extra})
  %sum1 = add {returns} %sum, %r
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i1, %n
  br i1 %done, label %end, label %again
end:
  ret {returns} %sum1
}}"""


def main() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    engines = []
    shapes = inputs()
    print(f"{'ns per call':18}" + "".join(f"{shape:>13}" for shape in shapes) + f"{'compile, ms':>13}")
    for name, (returns, element, _) in FUNCTIONS.items():
        out = Emitter()
        counting.require(out, name)
        began = time.perf_counter()
        module = llvm.parse_assembly("\n".join([*sorted(out.declarations), *out.definitions.values(), loop(name)]))
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
        )
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        compiling = time.perf_counter() - began
        engines.append(engine)
        result = ctypes.c_int32 if returns == "i32" else ctypes.c_int64
        function = ctypes.CFUNCTYPE(result, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64)(
            engine.get_function_address(f"loop_{name}")
        )
        for mask in (FULL, 0x0FFFFFFF, 0x5A5A5A5A):
            print(f"{name.removeprefix('lw_') if mask == FULL else f'  mask {mask:08x}':18}", end="")
            for lanes in shapes.values():
                room = np.zeros(64 * 8, dtype=np.uint8)
                start = -room.ctypes.data % 64
                width = 8 if element == "i64" else 4
                place = room[start : start + 32 * width].view(np.uint64 if width == 8 else np.uint32)
                place[:] = lanes
                best = 1e9
                for _ in range(5):
                    began = time.perf_counter()
                    function(place.ctypes.data, mask, CALLS)
                    best = min(best, time.perf_counter() - began)
                print(f"{best / (CALLS) * 1e9:13.1f}", end="")
            print(f"{compiling * 1e3:13.1f}" if mask == FULL else "")


if __name__ == "__main__":
    main()
