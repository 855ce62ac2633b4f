"""The machine code and the resources of a program's kernels, as a card would run them."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.toolchain import cubin, fatbin, ptxas
from lanewise.toolchain.arch import Arch
from lanewise.toolchain.fatbin import FatbinEntry
from lanewise.toolchain.ptxas import Assembled

# Options that ptxas gets from us anyway, or that only print.
_OWN_OPTIONS = frozenset(("--compile-only", "-c", "-v", "--verbose", "-lineinfo", "--generate-line-info"))


def of_images(images: Sequence[FatbinEntry], arch: Arch) -> Assembled:
    """Machine code and resources of the images of one registration: one container, or with -rdc=true the linked one and
    those of its modules (told apart by `FatbinEntry.container`).

    The program's own machine code is taken where a card of `arch` would take it; else its PTX is assembled with the
    options it was compiled with (and linked, where it is in several modules). Raises what `ptxas.assemble` and
    `ptxas.link` raise, and UsageError where there is neither machine code nor PTX for `arch`.
    """
    containers = [[image for image in images if image.container == number] for number in _numbers(images)]
    modules = [ptx for container in containers if (ptx := fatbin.choose_ptx(container, arch)) is not None]
    relocatable = any("--compile-only" in ptx.options for ptx in modules)
    # Of a linked program the modules' own machine code is not the final one.
    final = [image for image in images if not relocatable or image.container not in {ptx.container for ptx in modules}]
    own = fatbin.choose_machine_code(final, arch)
    if own is None:
        if not modules:
            raise fatbin.no_ptx(images, arch)
        return _from_ptx(modules, arch, relocatable)
    found = cubin.resources(own.data)
    # Only ptxas's text states the spills.
    spills = _from_ptx(modules, arch, relocatable).resources if modules else {}
    return Assembled(own.data, {symbol: ptxas.with_spills(item, spills.get(symbol)) for symbol, item in found.items()})


def _numbers(images: Sequence[FatbinEntry]) -> list[int]:
    return list(dict.fromkeys(image.container for image in images))


def _options(ptx: FatbinEntry) -> list[str]:
    return [option for option in ptx.options.split() if option not in _OWN_OPTIONS]


def _from_ptx(modules: Sequence[FatbinEntry], arch: Arch, relocatable: bool) -> Assembled:
    options = _options(modules[0])
    if not relocatable and len(modules) == 1:
        return ptxas.assemble(modules[0].text, arch=arch.real, options=options)
    return ptxas.link([ptx.text for ptx in modules], arch=arch.real, options=options)
