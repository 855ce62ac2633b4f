"""The work of each subject."""

from __future__ import annotations

from lanewise.bench import arrays, launches, matrices, rows
from lanewise.bench.work import Work

WORKS: dict[str, Work] = {
    "access": arrays.ACCESS,
    "banks": arrays.BANKS,
    "divergence": arrays.DIVERGENCE,
    "readonly": launches.READONLY,
    "registers": launches.REGISTERS,
    "launch": launches.LAUNCH,
    "overlap": launches.OVERLAP,
    "texture": matrices.TEXTURE,
    "transpose": matrices.TRANSPOSE,
    "reduce": arrays.REDUCE,
    "pointwise": arrays.POINTWISE,
    "scan": arrays.SCAN,
    "histogram": arrays.HISTOGRAM,
    "softmax": rows.SOFTMAX,
    "layernorm": rows.LAYERNORM,
    "gemm": matrices.GEMM,
}
