"""Kernels of PTX that run one matrix instruction on registers read from memory, and write the results back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import lanewise

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
Fragment = tuple[int, int]  # registers, bits of each


def vector(prefix: str, fragment: Fragment) -> str:
    return "{" + ", ".join(f"%{prefix}_{register}" for register in range(fragment[0])) + "}"


def kernel(
    name: str, body: Sequence[str], inputs: Sequence[Fragment], outputs: Sequence[Fragment], threads: int = 32
) -> str:
    """A kernel for blocks of so many threads. Block n reads its inputs (registers %i0_0, %i1_0, ...) and writes its
    outputs (%o0_0, ...): arrays of (block, register, thread), those of several operands one after the other. %more is a
    third pointer."""
    lines = [
        f".visible .entry {name}(.param .u64 inputs, .param .u64 outputs, .param .u64 more) {{",
        " .reg .b64 %in, %out, %more, %offset, %at; .reg .b32 %thread, %block;",
    ]
    lines += [f" .reg .b{bits} %i{n}_<{count}>;" for n, (count, bits) in enumerate(inputs)]
    lines += [f" .reg .b{bits} %o{n}_<{count}>;" for n, (count, bits) in enumerate(outputs)]
    lines += [
        " ld.param.u64 %in, [inputs]; ld.param.u64 %out, [outputs]; ld.param.u64 %more, [more];",
        " mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x;",
    ]
    for pointer, fragments in (("in", inputs), ("out", outputs)):
        size = sum(count * bits // 8 * threads for count, bits in fragments)
        lines.append(f" mul.wide.u32 %offset, %block, {size}; add.u64 %{pointer}, %{pointer}, %offset;")
    lines += _move(inputs, threads, "in", "ld.global.b{bits} %i{n}_{r}, [%at];")
    lines += [f" {line}" for line in body]
    lines += _move(outputs, threads, "out", "st.global.b{bits} [%at], %o{n}_{r};")
    return "\n".join([*lines, " ret;", "}\n"])


def _move(fragments: Sequence[Fragment], threads: int, pointer: str, text: str) -> list[str]:
    lines = []
    start = 0
    for n, (count, bits) in enumerate(fragments):
        for r in range(count):
            lines.append(f" mad.wide.u32 %at, %thread, {bits // 8}, %{pointer}; add.u64 %at, %at, {start};")
            lines.append(" " + text.format(bits=bits, n=n, r=r))
            start += bits // 8 * threads
    return lines


def word(bits: int) -> type[np.unsignedinteger[npt.NBitBase]]:
    return np.uint64 if bits == 64 else np.uint32  # type: ignore[return-value]


def run(
    module: lanewise.api.Module,
    name: str,
    inputs: Sequence[npt.NDArray[np.unsignedinteger[npt.NBitBase]]],
    output: Fragment,
    more: npt.NDArray[np.uint8] | None = None,
) -> npt.NDArray[np.unsignedinteger[npt.NBitBase]]:
    """Run a kernel on inputs of (blocks, registers, threads); the outputs, likewise."""
    blocks, _, threads = inputs[0].shape
    raw = np.concatenate([i.reshape(blocks, -1).view(np.uint8) for i in inputs], axis=1).reshape(-1)
    count, bits = output
    results = np.zeros((blocks, count, threads), word(bits))
    module[name][blocks, threads](raw, results, more if more is not None else np.zeros(16, np.uint8))
    return results
