"""Video instructions (PTX ISA 9.7.18): scalar, and SIMD on half-words and bytes.

A result or source may be a `SubWord` (`d.h1`, `a.b3`); without one the whole register is meant. With a result of that
kind, or a SIMD mask, the last operand supplies the other bytes.
"""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_scalar = partial(group("Video, scalar"), elementwise=True)
_simd = partial(group("Video, SIMD"), elementwise=True)

_COMPARE = "eq|ne|lt|le|gt|ge"

SPECS: tuple[InstructionSpec, ...] = (
    *(
        _scalar(
            name,
            "9.7.18.1.1",
            title,
            f"video.{name}",
            "INT32 INT32 INT32 sat? : T0 T1 T2 b32?",
            "INT32 INT32 INT32 sat? add|min|max : T0 T1 T2 b32",
        )
        for name, title in (
            ("vadd", "Add"),
            ("vsub", "Subtract"),
            ("vabsdiff", "Absolute difference"),
            ("vmin", "Minimum"),
            ("vmax", "Maximum"),
        )
    ),
    *(
        _scalar(
            name,
            "9.7.18.1.2",
            title,
            f"video.{name}",
            "INT32 INT32 u32 sat? MODE : T0 T1 T2 b32?",
            "INT32 INT32 u32 sat? MODE add|min|max : T0 T1 T2 b32",
        )
        for name, title in (("vshl", "Shift left"), ("vshr", "Shift right"))
    ),
    _scalar(
        "vmad",
        "9.7.18.1.3",
        "Multiply and add",
        "video.vmad",
        "INT32 INT32 INT32 po? sat? shr7|shr15? : T0 T1 T2 b32",
    ),
    _scalar(
        "vset",
        "9.7.18.1.4",
        "Compare",
        "video.vset",
        f"INT32 INT32 {_COMPARE} : u32 T0 T1 b32?",
        f"INT32 INT32 {_COMPARE} add|min|max : u32 T0 T1 b32",
    ),
    *(
        _simd(
            f"{name}{parts}",
            f"9.7.18.2.{section}",
            f"{title}, {words}",
            f"video.{name}{parts}",
            "INT32 INT32 INT32 sat? : T0 T1 T2 b32",
            "INT32 INT32 INT32 add : T0 T1 T2 b32",
        )
        for parts, section, words in ((2, 1, "half-words"), (4, 3, "bytes"))
        for name, title in (
            ("vadd", "Add"),
            ("vsub", "Subtract"),
            ("vavrg", "Average"),
            ("vabsdiff", "Absolute difference"),
            ("vmin", "Minimum"),
            ("vmax", "Maximum"),
        )
    ),
    *(
        _simd(
            f"vset{parts}",
            f"9.7.18.2.{section}",
            f"Compare, {words}",
            f"video.vset{parts}",
            f"INT32 INT32 {_COMPARE} add? : u32 T0 T1 b32",
        )
        for parts, section, words in ((2, 2, "half-words"), (4, 4, "bytes"))
    ),
)
