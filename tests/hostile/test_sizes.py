"""PTX of unreasonable size: it runs, or is refused with a reason; it never takes the process with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lanewise
from lanewise.emulator.engine import Engine
from lanewise.emulator.launch import Limits
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.unit import STACK_MARGIN, callees_first
from lanewise.errors import KernelFault, UnsupportedCode
from lanewise.ptx import parse
from lanewise.records import Finding

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(body: str, *, registers: int = 9, before: str = "") -> str:
    return f"""{HEADER}{before}
.visible .entry k(.param .u64 p) {{
 .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b32 %v<{registers}>;
 ld.param.u64 %d1, [p];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %d2, %r1, 4;
 add.u64 %d2, %d2, %d1;
{body}
 ret;
}}
"""


def run(text: str, block: int = 64, stack: int | None = None) -> Finding | None:
    """Without ptxas, which has limits of its own. `stack`: bytes, in place of what the kernel asks for."""
    memory = DeviceMemory(1 << 30)
    engine = Engine(memory)
    array = memory.allocate(4096)
    program = engine.load([parse(text)])
    kernel = engine.kernel(program, "k", (block, 1, 1))
    if stack is not None:
        kernel.info = replace(kernel.info, stack_bytes=stack)
    return engine.launch(program, "k", (4, 1, 1), (block, 1, 1), 0, array.base.to_bytes(8, "little")).fault


@pytest.mark.parametrize("size", [600_000, 1_000_000_000, 1 << 40])
def test_local_memory_that_no_thread_has(size: int) -> None:
    with pytest.raises(UnsupportedCode, match=f"{size:,} bytes of local memory"):
        run(kernel(f".local .align 4 .b8 l[{size}];\n st.local.u32 [l], %r1;"))


def test_local_memory_of_a_chain_of_calls() -> None:
    frames = "\n".join(
        f".func f{n}() {{ .local .b8 l[8000]; .reg .b32 %r<2>; mov.u32 %r1, 1; st.local.u32 [l], %r1; "
        f"{f'call f{n - 1};' if n else ''} ret; }}"
        for n in range(70)
    )
    with pytest.raises(UnsupportedCode, match="at most 524,288"):
        run(kernel("call f69;", before=frames))


def test_a_frame_larger_than_the_stack() -> None:
    """Registers that live across a barrier lie on the stack: 128 bytes each."""
    count = 250
    loads = "\n".join(f" ld.volatile.global.u32 %v{n}, [%d2];" for n in range(count))
    sums = "\n".join(f" xor.b32 %r2, %r2, %v{n};" for n in range(count))
    text = kernel(f"{loads}\n mov.u32 %r2, 0; bar.sync 0;\n{sums}\n st.global.u32 [%d2], %r2;", registers=count)
    assert run(text) is None
    found = run(text, stack=STACK_MARGIN + (16 << 10))
    assert found is not None
    assert (found.check, found.message) == ("stack", "the kernel needs more stack than a warp has")


def test_a_chain_of_calls_longer_than_the_stack_of_python() -> None:
    functions = ".func f0() { ret; }\n" + "\n".join(f".func f{n}() {{ call f{n - 1}; ret; }}" for n in range(1, 3000))
    program = Engine(DeviceMemory(1 << 30)).load([parse(kernel("call f2999;", before=functions))])
    order = callees_first(program, program.function("k"))
    assert order is not None
    assert [function.name for function in order] == [*(f"f{n}" for n in range(3000)), "k"]


def test_a_tree_of_calls_without_end() -> None:
    functions = ".func f0() { ret; }\n" + "\n".join(
        f".func f{n}() {{ call f{n - 1}; call f{n - 1}; ret; }}" for n in range(1, 60)
    )
    module = lanewise.compile(kernel("call f59;", before=functions), limits=Limits(instructions=10**6))
    with pytest.raises(KernelFault, match="limit of 1,000,000"):
        module["k"][1, 32](np.zeros(32, np.int32))
