"""Textures and surfaces (PTX ISA 9.7.10, 9.7.11): known, not run yet."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_texture = partial(group("Textures"), reason="textures are not run yet")
_surface = partial(group("Surfaces"), reason="surfaces are not run yet")

_GEOMETRY = "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms"
_CLAMP = "trap|clamp|zero?"

SPECS: tuple[InstructionSpec, ...] = (
    _texture(
        "tex",
        "9.7.10.3",
        "Read a texture",
        None,
        f"base|level|grad? {_GEOMETRY} v4 u32|s32|f16|f32 s32|f32 : ...",
        f"base|level|grad? {_GEOMETRY} v2 f16x2 s32|f32 : ...",
    ),
    _texture("tld4", "9.7.10.4", "Read four texels", None, "r|g|b|a 2d|a2d|cube|acube v4 u32|s32|f16|f32 f32 : ..."),
    _texture(
        "txq",
        "9.7.10.5",
        "Ask for a property of a texture",
        None,
        "level? width|height|depth b32 : b32 [] ...",
        "channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples b32 : b32 []",
        "force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2 b32 : b32 []",
    ),
    _texture("istypep", "9.7.10.6", "Ask for the kind of a handle", None, "texref|samplerref|surfref : pred u64"),
    _surface(
        "suld",
        "9.7.11.1",
        "Read a surface",
        None,
        f"b 1d|2d|3d|a1d|a2d ca|cg|cs|cv? v2|v4? b8|b16|b32|b64 {_CLAMP} : ...",
    ),
    _surface(
        "sust",
        "9.7.11.2",
        "Write a surface",
        None,
        f"b 1d|2d|3d|a1d|a2d wb|cg|cs|wt? v2|v4? b8|b16|b32|b64 {_CLAMP} : ...",
        f"p 1d|2d|3d v2|v4? b32 {_CLAMP} : ...",
        destinations=0,
    ),
    _surface(
        "sured",
        "9.7.11.3",
        "Reduce on a surface",
        None,
        "b add|min|max|and|or 1d|2d|3d u32|u64|s32|b32|s64 trap|clamp|zero : ...",
        "p add|min|max|and|or 1d|2d|3d u32|s32|u64|s64|b32|b64 trap|clamp|zero : ...",
        destinations=0,
    ),
    _surface(
        "suq",
        "9.7.11.4",
        "Ask for a property of a surface",
        None,
        "width|height|depth|channel_data_type|channel_order|array_size|memory_layout b32 : b32 []",
    ),
)
