"""Lanewise: what a CUDA program does to the GPU memory system, line by line, with no GPU.

`compile` gives kernels that run on numpy arrays; `lanewise run` (the command) runs whole programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanewise.version import __version__

if TYPE_CHECKING:
    from lanewise.api import Kernel, Module, Record, compile
    from lanewise.arguments import unset
    from lanewise.emulator.launch import Limits
    from lanewise.tensor_map import TensorMap

__all__ = ["Kernel", "Limits", "Module", "Record", "TensorMap", "__version__", "compile", "unset"]


def __getattr__(name: str) -> Any:
    """Loaded when first used: the command line starts without the compiler."""
    if name == "Limits":
        from lanewise.emulator.launch import Limits

        return Limits
    if name == "TensorMap":
        from lanewise.tensor_map import TensorMap

        return TensorMap
    if name == "unset":
        from lanewise.arguments import unset

        return unset
    if name in __all__:
        from lanewise import api

        return getattr(api, name)
    raise AttributeError(f"module 'lanewise' has no attribute {name!r}")
