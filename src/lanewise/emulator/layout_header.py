"""`layout.h`: the offsets and sizes of the emulator's structures, for the C of instruments."""

from __future__ import annotations

from lanewise.emulator import layout
from lanewise.emulator.unit import PLACE_BASE

_STRUCTURES = (layout.Warp, layout.Block, layout.Worker, layout.Launch, layout.Hooks, layout.Status)


def text() -> str:
    lines = [
        f"#define {structure.__name__.upper()}_{name} {value}"
        for structure in _STRUCTURES
        for name, value in vars(structure).items()
        if name.isupper() and isinstance(value, int)
    ]
    lines += [
        f"#define PLACE_BASE {PLACE_BASE}u",
        f"#define SHARED_WINDOW_BASE {layout.SHARED_WINDOW}ull",
        f"#define LOCAL_WINDOW_BASE {layout.LOCAL_WINDOW}ull",
        f"#define WINDOW_BYTES_EACH {layout.WINDOW_BYTES}ull",
    ]
    return "\n".join(lines) + "\n"
