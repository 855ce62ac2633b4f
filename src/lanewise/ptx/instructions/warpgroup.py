"""Matrix instructions of a warp group (PTX ISA 9.7.15): wgmma."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = partial(group("Matrices of a warp group"), convergence="warp", destinations=0)

_N = range(8, 257, 8)
_INTEGER_N = (8, 16, 24, *range(32, 257, 16))


def _shapes(depth: int, columns: Iterable[int] = _N) -> str:
    return "|".join(f"m64n{n}k{depth}" for n in columns)


def _forms(words: str, result: str, immediates: int, transposes: int = 0) -> tuple[str, str]:
    """Matrix a by a descriptor, and from registers (which cannot be transposed)."""
    start = f"sync aligned {words} : {{{result}}}"
    scales = " imm" * immediates
    return (
        f"{start} b64 b64 pred{scales}{' imm' * transposes}",
        f"{start} {{b32*4}} b64 pred{scales}{' imm' * (transposes // 2)}",
    )


SPECS: tuple[InstructionSpec, ...] = (
    _entry(
        "wgmma.mma_async",
        "9.7.15.5.2",
        "Multiply and add matrices",
        "wgmma.mma_async",
        *_forms(f"{_shapes(16)} f32 f16 f16", "f32*n/2", 2, 2),
        *_forms(f"{_shapes(16)} f16 f16 f16", "b32*n/4", 2, 2),
        *_forms(f"{_shapes(16)} f32 bf16 bf16", "f32*n/2", 2, 2),
        *_forms(f"{_shapes(8)} f32 tf32 tf32", "f32*n/2", 2),
        *_forms(f"{_shapes(32)} f32 e4m3|e5m2 e4m3|e5m2", "f32*n/2", 2),
        *_forms(f"{_shapes(32)} f16 e4m3|e5m2 e4m3|e5m2", "b32*n/4", 2),
        *_forms(f"{_shapes(32, _INTEGER_N)} satfinite? s32 s8|u8 s8|u8", "s32*n/2", 0),
        *_forms(f"{_shapes(256, _INTEGER_N)} s32 b1 b1 and popc", "s32*n/2", 0),
        destinations=1,
        accumulates=True,
    ),
    _entry(
        "wgmma.mma_async.sp",
        "9.7.15.6.4",
        "Multiply and add, sparse matrix a",
        None,
        *(
            f"sync aligned {shapes} {types} : ..."
            for shapes, types in (
                (_shapes(32), "f16|f32 f16 f16"),
                (_shapes(32), "f32 bf16 bf16"),
                (_shapes(16), "f32 tf32 tf32"),
                (_shapes(64), "f16|f32 e4m3|e5m2 e4m3|e5m2"),
                (_shapes(64), "satfinite? s32 s8|u8 s8|u8"),
            )
        ),
        reason="sparse matrices are not run",
    ),
    _entry("wgmma.fence", "9.7.15.7.1", "Order register accesses", "wgmma.order", "sync aligned :"),
    _entry("wgmma.commit_group", "9.7.15.7.2", "Close a group", "wgmma.order", "sync aligned :"),
    _entry("wgmma.wait_group", "9.7.15.7.3", "Wait for groups", "wgmma.order", "sync aligned : imm"),
)
