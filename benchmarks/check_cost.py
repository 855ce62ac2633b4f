"""What checks cost: processor time of launches with each check, times that with counters alone.

    python benchmarks/check_cost.py

Writes the table in docs/checks.md.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lanewise
from lanewise.emulator import engine

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "checks.md"
CHECKS = ("bounds", "race", "uninitialised", "barrier", "all")
SOURCE = (
    (ROOT / "benchmarks" / "speed" / "kernels" / "gemm.cu").read_text()
    + """
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void transpose(const float* in, float* out, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  t[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  int ox = blockIdx.y * 32 + threadIdx.x, oy = blockIdx.x * 32 + threadIdx.y;
  out[oy * h + ox] = t[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void reduce(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  for (int d = 128; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) s[t] += s[t + d];
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void histogram(const int* in, int* bins, int n) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[in[i] & 255], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
extern "C" __global__ void scan(const float* in, float* out) {
  __shared__ float s[2][256];
  int t = threadIdx.x, p = 0;
  s[0][t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    p ^= 1;
    s[p][t] = t >= d ? s[p ^ 1][t] + s[p ^ 1][t - d] : s[p ^ 1][t];
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[p][t];
}
"""
)
Timed = Callable[[], float]


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).random(shape, np.float32)


def _cases() -> list[tuple[str, Any, tuple[Any, ...]]]:
    module = lanewise.compile(SOURCE)
    n, many = 256, 1 << 20
    square = (_floats(n, n), _floats(n, n), _floats(n, n), n)
    ints = np.random.default_rng(1).integers(0, 256, many, np.int32)
    return [
        ("gemm_naive", module["gemm_naive"][(8, 8), (32, 32)], square),
        ("gemm_tiled", module["gemm_tiled"][(8, 8), (32, 32)], square),
        ("vector_add", module["vector_add"][many // 256, 256], (*(_floats(many) for _ in range(3)), many)),
        ("transpose", module["transpose"][(32, 32), (32, 32)], (_floats(1024, 1024), _floats(1024, 1024), 1024, 1024)),
        ("reduce", module["reduce"][many // 256, 256], (_floats(many), _floats(many // 256), many)),
        ("histogram", module["histogram"][64, 256], (ints, np.zeros(256, np.int32), many)),
        ("scan", module["scan"][many // 1024, 256], (_floats(many // 4), _floats(many // 4))),
    ]


def main() -> None:
    spent = [0.0]
    run = engine.run

    def timed(*arguments: Any, **named: Any) -> Any:
        start = time.process_time()
        outcome = run(*arguments, **named)
        spent[0] = time.process_time() - start
        return outcome

    engine.run = timed  # type: ignore[assignment]

    def best(launch: Callable[[], object]) -> float:
        times = []
        for _ in range(4):
            launch()
            times.append(spent[0])
        return min(times)

    rows = []
    totals = dict.fromkeys(("counted", *CHECKS), 0.0)
    for name, launcher, arguments in _cases():
        base = best(lambda launcher=launcher, arguments=arguments: launcher(*arguments))  # type: ignore[misc]
        totals["counted"] += base
        cells = []
        for checks in CHECKS:
            cost = best(
                lambda launcher=launcher, arguments=arguments, checks=checks: launcher.check(  # type: ignore[misc]
                    *arguments, checks=checks
                )
            )
            totals[checks] += cost
            cells.append(f"{cost / base:.1f}")
        rows.append(f"| {name} | {base * 1e3:.1f} | {' | '.join(cells)} |")
    together = " | ".join(f"{totals[checks] / totals['counted']:.1f}" for checks in CHECKS)
    rows.append(f"| together | {totals['counted'] * 1e3:.1f} | {together} |")
    head = f"| kernel | counted, ms | {' | '.join(CHECKS)} |"
    table = "\n".join([head, "| --- |" + " ---: |" * (len(CHECKS) + 1), *rows])
    page = PAGE.read_text()
    PAGE.write_text(re.sub(r"COSTS|\| kernel \| counted, ms .*?(?=\n\n)", table, page, flags=re.S))
    print(table)


if __name__ == "__main__":
    main()
