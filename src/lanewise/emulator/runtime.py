"""The code that all kernels share, as one LLVM module: the scheduler, the memory helpers, the counting functions.

It is compiled once and linked with each kernel's object file, so that a kernel's own module holds only its own code.
"""

from __future__ import annotations

import re
from functools import cache

from lanewise.emulator import (
    access,
    bulk,
    bulk_issue,
    copies,
    copy_costs,
    counting,
    mbarriers,
    moving,
    remote_stores,
    scheduler,
    tensor_changes,
    tensor_copies,
    tensor_issue,
    trace,
)
from lanewise.emulator.matrix import shared as matrices

_ELEMENTS = ("i8", "i16", "i32", "i64", "i128")
_HEADER = re.compile(r"^define (?:internal )?(?P<returns>[^@]*)@(?P<name>[\w.]+)\((?P<parameters>.*)\)", re.M)
_PARAMETER = re.compile(r"\s*%[\w.]+$")


@cache
def text() -> str:
    """The module's text. `@lw_kernel`, which the scheduler calls, is each kernel's own."""
    parts = [
        scheduler.definitions(),
        access.definitions(),
        mbarriers.definitions(),
        copies.definitions(),
        copy_costs.definitions(),
        bulk.definitions(),
        bulk_issue.definitions(),
        tensor_copies.definitions(),
        tensor_issue.definitions(),
        tensor_changes.definitions(),
        trace.definitions(),
        remote_stores.definitions(),
    ]
    for element in _ELEMENTS:
        parts += [moving.gather(element)[1], moving.scatter(element)[1], moving.slow_ways(element)]
    parts += counting.definitions().values()
    parts.append(matrices.definitions())
    return merge(parts, ["declare void @lw_kernel(ptr, ptr)", *_intrinsics()]).replace("define internal ", "define ")


@cache
def declarations() -> tuple[str, ...]:
    """A declaration of every function of the module, for the kernels."""
    result = []
    for match in _HEADER.finditer(text()):
        types = [_PARAMETER.sub("", parameter).strip() for parameter in _split(match["parameters"])]
        result.append(f"declare {match['returns'].strip()} @{match['name']}({', '.join(types)})")
    return tuple(result)


def _split(parameters: str) -> list[str]:
    """Parameters between commas; vector types hold none."""
    return [part for part in parameters.split(",") if part.strip()]


def _intrinsics() -> list[str]:
    names = {name for body in counting.definitions().values() for name in re.findall(r"@(llvm\.[\w.]+)", body)}
    return [counting.intrinsic_declaration(name) for name in sorted(names)]


def merge(parts: list[str], declared: list[str]) -> str:
    """One module: each declaration once, then the definitions and what the code refers to by number."""
    body = []
    once: dict[str, str] = {}
    for part in [*parts, "\n".join(declared)]:
        for line in part.split("\n"):
            if line.startswith("declare "):
                once.setdefault(line[line.index("@") : line.index("(", line.index("@"))], line)
            else:
                body.append(line)
    return "\n".join([*sorted(once.values()), *body, _TAIL])


_TAIL = """
attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 4000}
!2 = !{!"branch_weights", i32 4000, i32 1}
"""
