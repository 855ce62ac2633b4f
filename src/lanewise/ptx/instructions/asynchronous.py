"""Asynchronous copies and tensor maps (PTX ISA 9.7.9.25 to 9.7.9.28, 9.7.13.16): known, not run yet."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = partial(group("Asynchronous copies"), destinations=0)
_bulk = partial(_entry, reason="multimem addresses (several GPUs at once) are not run yet")

_REDUCE = "and|or|xor|add|inc|dec|min|max"
_SM_100 = "gathers, scatters and im2col::w (sm_100) are not run yet"
_LOAD_MODE = "tile|tile::gather4|im2col|im2col::w|im2col::w::128?"

SPECS: tuple[InstructionSpec, ...] = (
    _entry(
        "cp.async",
        "9.7.9.25.3.1",
        "Copy from global to shared memory",
        "asynchronous.copy",
        "ca|cg shared|shared::cta global HINT? PREFETCH? : [] [] u32 POLICY",
        "ca|cg shared|shared::cta global HINT? PREFETCH? : [] [] u32 u32/pred POLICY",
    ),
    _entry("cp.async.commit_group", "9.7.9.25.3.2", "Close a group of copies", "asynchronous.commit", ":"),
    _entry("cp.async.wait_group", "9.7.9.25.3.3", "Wait for groups of copies", "asynchronous.wait", ": u32"),
    _entry("cp.async.wait_all", "9.7.9.25.3.3", "Wait for all copies", "asynchronous.wait", ":"),
    _entry(
        "cp.async.mbarrier.arrive",
        "9.7.13.15.14",
        "Arrive when the copies are done",
        "asynchronous.arrive",
        "noinc? shared|shared::cta? b64 : []",
    ),
    _entry(
        "cp.async.bulk",
        "9.7.9.25.4.1",
        "Copy a block of bytes",
        "bulk.copy",
        "shared::cta|shared::cluster global TX HINT? : [] [] u32 [] POLICY",
        "shared::cluster global TX multicast::cluster HINT? : [] [] u32 [] b16 POLICY",
        "shared::cluster shared::cta TX : [] [] u32 []",
        "global shared::cta bulk_group HINT? : [] [] u32 POLICY",
        "global shared::cta bulk_group cp_mask : [] [] u32 b16",
        "global shared::cta bulk_group HINT cp_mask : [] [] u32 b64 b16",
    ),
    _bulk(
        "cp.async.bulk",
        "9.7.9.25.4.1",
        "Copy a block of bytes, but for some at its ends",
        None,
        "shared::cta|shared::cluster global TX ignore_oob HINT? : [] [] u32 u32 u32 [] POLICY",
        reason="copies that leave out bytes at their ends are not run yet",
    ),
    _entry(
        "cp.reduce.async.bulk",
        "9.7.9.25.4.2",
        "Reduce a block of values",
        "bulk.reduce",
        *(
            f"shared::cluster shared::cta TX {reduction} : [] [] u32 []"
            for reduction in ("and|or|xor b32", "add|min|max u32|s32", "inc|dec u32", "add u64")
        ),
        *(
            f"global shared::cta bulk_group HINT? {reduction} : [] [] u32 POLICY"
            for reduction in (
                "and|or|xor b32|b64",
                "add u32|s32|u64|f32|f64",
                "min|max u32|s32|u64|s64|f16|bf16",
                "inc|dec u32",
                "add noftz f16|bf16",
            )
        ),
    ),
    _entry(
        "cp.async.bulk.prefetch",
        "9.7.9.25.4.3",
        "Prefetch a block of bytes",
        "bulk.prefetch",
        "L2 global HINT? : [] u32 POLICY",
    ),
    _entry(
        "cp.async.bulk.tensor",
        "9.7.9.25.5.2",
        "Copy a box of a tensor",
        "tensor.copy",
        "DIM shared::cta|shared::cluster global tile? TX HINT? : [] [] [] POLICY",
        "DIM shared::cluster global tile? TX multicast::cluster HINT? : [] [] [] u16 POLICY",
        "DIM shared::cta|shared::cluster global im2col TX HINT? : [] [] [] {u16} POLICY",
        "DIM shared::cluster global im2col TX multicast::cluster HINT? : [] [] [] {u16} u16 POLICY",
        "DIM global shared::cta tile|im2col_no_offs? bulk_group HINT? : [] [] POLICY",
    ),
    _entry(
        "cp.async.bulk.tensor",
        "9.7.9.25.5.2",
        "Copy rows of a tensor, or a box for two blocks",
        None,
        f"DIM shared::cta|shared::cluster global {_LOAD_MODE} TX multicast::cluster? GROUP? HINT? : [] [] [] ...",
        "DIM global shared::cta tile::scatter4 bulk_group HINT? : [] [] b64?",
        reason=_SM_100,
    ),
    _entry(
        "cp.reduce.async.bulk.tensor",
        "9.7.9.25.5.3",
        "Reduce a box of a tensor",
        "tensor.reduce",
        f"DIM global shared::cta {_REDUCE} tile|im2col_no_offs? bulk_group HINT? : [] [] POLICY",
    ),
    _entry(
        "cp.async.bulk.prefetch.tensor",
        "9.7.9.25.5.4",
        "Prefetch a box of a tensor",
        "tensor.prefetch",
        "DIM L2 global tile? HINT? : [] POLICY",
        "DIM L2 global im2col HINT? : [] {u16} POLICY",
    ),
    _entry(
        "cp.async.bulk.prefetch.tensor",
        "9.7.9.25.5.4",
        "Prefetch rows of a tensor",
        None,
        f"DIM L2 global {_LOAD_MODE} HINT? : [] ...",
        reason=_SM_100,
    ),
    _entry("cp.async.bulk.commit_group", "9.7.9.25.6.1", "Close a group of bulk copies", "bulk.commit", ":"),
    _entry("cp.async.bulk.wait_group", "9.7.9.25.6.2", "Wait for groups of bulk copies", "bulk.wait", "read? : u32"),
    _bulk(
        "multimem.cp.async.bulk",
        "9.7.9.26",
        "Copy a block of bytes to several GPUs",
        None,
        "global shared::cta bulk_group cp_mask? : [] [] u32 b64?",
    ),
    _bulk(
        "multimem.cp.reduce.async.bulk",
        "9.7.9.27",
        "Reduce a block of values on several GPUs",
        None,
        f"global shared::cta bulk_group {_REDUCE} HALF|b32|u32|s32|b64|u64|s64|f32|f64 : [] [] u32",
        "global shared::cta bulk_group add noftz HALF : [] [] u32",
    ),
    _entry(
        "tensormap.replace",
        "9.7.9.28",
        "Change a tensor map",
        "tensor_map.replace",
        "tile global_address global|shared::cta? b1024 b64 : [] b64",
        "tile rank|elemtype|swizzle_mode|fill_mode global|shared::cta? b1024 b32 : [] b32",
        "tile box_dim|global_dim|element_stride global|shared::cta? b1024 b32 : [] u32 b32",
        "tile global_stride global|shared::cta? b1024 b64 : [] u32 b64",
    ),
    _entry(
        "tensormap.replace",
        "9.7.9.28",
        "Change the layout of a tensor map",
        None,
        "tile interleave_layout|swizzle_atomicity global|shared::cta? b1024 b32 : [] b32",
        reason="interleaves and atoms of swizzles are not changed in memory yet",
    ),
    _entry(
        "tensormap.cp_fenceproxy",
        "9.7.13.16",
        "Copy a tensor map with a fence",
        "tensor_map.copy",
        "global shared::cta tensormap::generic release SCOPE sync aligned : [] [] u32",
    ),
)
