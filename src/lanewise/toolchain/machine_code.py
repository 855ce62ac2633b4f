"""The machine code and the resources of a program's kernels, from its PTX, as nvcc made them of it."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.toolchain import ptxas
from lanewise.toolchain.ptxas import Assembled

# Options that ptxas gets from us anyway, or that only print.
_OWN_OPTIONS = frozenset(("--compile-only", "-c", "-v", "--verbose", "-lineinfo", "--generate-line-info"))


def assemble(modules: Sequence[tuple[str, str]], *, arch: str) -> Assembled:
    """Machine code for `arch` ("sm_90") of the modules of one program: each its PTX and the options of the assembler
    that it was compiled with, as a fatbin holds them (`-maxrregcount=32`; modules of -rdc=true programs say
    `--compile-only` and are linked). Raises what `ptxas.assemble` and `ptxas.link` raise.
    """
    texts = [text for text, _ in modules]
    options = [[word for word in given.split() if word not in _OWN_OPTIONS] for _, given in modules]
    if len(modules) == 1 and not {"--compile-only", "-c"} & set(modules[0][1].split()):
        return ptxas.assemble(texts[0], arch=arch, options=options[0])
    return ptxas.link(texts, arch=arch, options=options)
