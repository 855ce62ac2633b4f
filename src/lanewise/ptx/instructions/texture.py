"""Textures and surfaces (PTX ISA 9.7.10, 9.7.11)."""

from __future__ import annotations

from lanewise.ptx.instructions.spec import InstructionSpec, group

_texture = group("Textures")
_surface = group("Surfaces")

_GEOMETRY = "1d|2d|3d|a1d|a2d|cube|acube"
_TEXELS = "1d|2d|3d|a1d|a2d"  # by whole coordinates
_SAMPLES = "2dms|a2dms"
_CLAMP = "trap|clamp|zero"

SPECS: tuple[InstructionSpec, ...] = (
    _texture(
        "tex",
        "9.7.10.3",
        "Read a texture",
        "texture.tex",
        f"{_GEOMETRY} v4 u32|s32|f32 f32 : {{T0*4}} [{{}}]",
        f"{_TEXELS} v4 u32|s32|f32 s32 : {{T0*4}} [{{}}]",
        f"level {_GEOMETRY} v4 u32|s32|f32 f32 : {{T0*4}} [{{}}] T1",
        f"level {_TEXELS} v4 u32|s32|f32 s32 : {{T0*4}} [{{}}] T1",
        f"grad {_GEOMETRY} v4 u32|s32|f32 f32 : {{T0*4}} [{{}}] {{T1}} {{T1}}",
    ),
    _texture(
        "tex",
        "9.7.10.3",
        "Read a texture: offsets, depth comparison, residency, samples, halves",
        None,
        f"base|level|grad? {_GEOMETRY}|{_SAMPLES} v4 u32|s32|f16|f32 s32|f32 : ...",
        f"base|level|grad? {_GEOMETRY}|{_SAMPLES} v2 f16x2 s32|f32 : ...",
        reason="offsets, depth comparison, residency, multi-sample textures and results in halves are not run yet",
    ),
    _texture(
        "tld4",
        "9.7.10.4",
        "Read four texels",
        "texture.tld4",
        "r|g|b|a 2d|a2d|cube|acube v4 u32|s32|f32 f32 : {T0*4} [{}]",
    ),
    _texture(
        "tld4",
        "9.7.10.4",
        "Read four texels: offsets, depth comparison, residency, halves",
        None,
        "r|g|b|a 2d|a2d|cube|acube v4 u32|s32|f16|f32 f32 : ...",
        reason="offsets, depth comparison, residency and results in halves are not run yet",
    ),
    _texture(
        "txq",
        "9.7.10.5",
        "Ask for a property of a texture",
        "texture.txq",
        "width|height|depth|channel_data_type|channel_order|normalized_coords|array_size b32 : b32 []",
    ),
    _texture(
        "txq",
        "9.7.10.5",
        "Ask for a property of a texture: levels, samples, samplers",
        None,
        "level width|height|depth b32 : b32 [] ...",
        "num_mipmap_levels|num_samples b32 : b32 []",
        "force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2 b32 : b32 []",
        reason="mipmaps, samples and separate samplers are not run yet",
    ),
    _texture(
        "istypep",
        "9.7.10.6",
        "Ask for the kind of a handle",
        None,
        "texref|samplerref|surfref : pred u64",
        reason="kinds of handles are not known yet",
    ),
    _surface(
        "suld",
        "9.7.11.1",
        "Read a surface",
        "surface.suld",
        f"b {_TEXELS} ca|cg|cs|cv? v2|v4? b8|b16|b32|b64 {_CLAMP} : V [{{}}]",
    ),
    _surface(
        "sust",
        "9.7.11.2",
        "Write a surface",
        "surface.sust",
        f"b {_TEXELS} wb|cg|cs|wt? v2|v4? b8|b16|b32|b64 {_CLAMP} : [{{}}] V",
        destinations=0,
    ),
    _surface(
        "sust.p",
        "9.7.11.2",
        "Write a surface in its format",
        "surface.sust_formatted",
        f"{_TEXELS} wb|cg|cs|wt? v2|v4? b32 {_CLAMP} : [{{}}] V",
        destinations=0,
    ),
    _surface(
        "sured",
        "9.7.11.3",
        "Reduce on a surface",
        "surface.sured",
        f"b add 1d|2d|3d u32|u64|s32 {_CLAMP} : [{{}}] T",
        f"b min|max 1d|2d|3d u32|s32 {_CLAMP} : [{{}}] T",
        f"b and|or 1d|2d|3d b32 {_CLAMP} : [{{}}] T",
        destinations=0,
    ),
    _surface(
        "sured",
        "9.7.11.3",
        "Reduce on a surface: texels, 64-bit minimum and maximum",
        None,
        f"p add|min|max|and|or 1d|2d|3d b32|b64 {_CLAMP} : ...",
        f"b min|max 1d|2d|3d u64|s64 {_CLAMP} : ...",
        destinations=0,
        reason="these reductions on surfaces are not run yet",
    ),
    _surface(
        "suq",
        "9.7.11.4",
        "Ask for a property of a surface",
        "surface.suq",
        "width|height|depth|channel_data_type|channel_order|array_size b32 : b32 []",
    ),
    _surface(
        "suq.memory_layout",
        "9.7.11.4",
        "Ask for the layout of a surface",
        None,
        "b32 : b32 []",
        reason="layouts have no meaning here",
    ),
)
