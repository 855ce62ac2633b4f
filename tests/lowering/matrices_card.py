"""Runs the list of `matrices.py` on this machine's GPU and writes digests of what it gave. Needs ptxas and a driver.

python tests/lowering/matrices_card.py tests/lowering/h200_matrices.json
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from matrices import HEADER, Bytes, Case, all_cases, kernel, make, without_payloads

ROOM = 64 << 20


def digest(case: Case, output: Bytes) -> str:
    return hashlib.sha256(without_payloads(case, output).tobytes()).hexdigest()[:16]


class Card:
    """The driver's calls that are needed."""

    def __init__(self, cubin: Path) -> None:
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context, self.module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoad", ctypes.byref(self.module), str(cubin).encode())
        self.places = [self.allocate() for _ in range(3)]

    def call(self, name: str, *arguments: object) -> None:
        code = getattr(self.driver, name)(*arguments)
        if code:
            raise SystemExit(f"{name} failed with {code}")

    def allocate(self) -> ctypes.c_uint64:
        place = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(ROOM))
        return place

    def run(self, case: Case) -> Bytes:
        """The registers that a case wrote, or the memory."""
        registers, memory = make(case)
        for place, data in ((self.places[0], registers), (self.places[2], memory)):
            self.call("cuMemcpyHtoD_v2", place, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, case.name.encode())
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(place) for place in self.places))
        self.call("cuLaunchKernel", function, case.blocks, 1, 1, case.threads, 1, 1, 0, None, pointers, None)
        self.call("cuCtxSynchronize")
        count, bits = case.output
        size = memory.nbytes if case.kind == "store" else case.blocks * count * bits // 8 * case.threads
        output = np.zeros(size, np.uint8)
        place = self.places[2 if case.kind == "store" else 1]
        self.call("cuMemcpyDtoH_v2", output.ctypes.data_as(ctypes.c_void_p), place, ctypes.c_size_t(size))
        return output


def main() -> None:
    target = Path(sys.argv[1])
    source, cubin = target.with_suffix(".ptx"), target.with_suffix(".cubin")
    source.write_text(HEADER + "".join(map(kernel, all_cases())))
    subprocess.run(["ptxas", "-arch=sm_90a", str(source), "-o", str(cubin)], check=True)
    card = Card(cubin)
    found = {case.name: digest(case, card.run(case)) for case in all_cases()}
    target.write_text(json.dumps(found, indent=1) + "\n")
    source.unlink()
    cubin.unlink()


if __name__ == "__main__":
    main()
