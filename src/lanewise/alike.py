"""What makes two launches of a kernel alike: the patterns of the accesses that the hardware is charged."""

from __future__ import annotations

from lanewise.records import Access, LaunchRecord, Space


def shown_accesses(launch: LaunchRecord) -> tuple[Access, ...]:
    """The accesses that the hardware is charged, where they are known: those of machine instructions, and of PTX what
    machine instructions leave no count for (constant memory and parameters; textures, whose machine instructions may
    not tell what they carry)."""
    if launch.instructions is None:
        return launch.accesses
    told = {access.ptx_line for access in launch.accesses if access.basis == "sass"}

    def uncounted(access: Access) -> bool:
        untold = access.space in (Space.TEXTURE, Space.SURFACE) and access.ptx_line not in told
        return untold or access.space in (Space.CONST, Space.PARAM)

    return tuple(access for access in launch.accesses if access.basis == "sass" or uncounted(access))


def patterns(launch: LaunchRecord) -> object:
    """What makes accesses alike from launch to launch: counts per request, to whole sectors and wavefronts."""

    def whole(total: int | None, requests: int) -> int | None:
        return None if total is None or not requests else round(total / requests)

    return frozenset(
        (
            (access.ptx_line, access.opcode, access.inlined_at, access.space),
            (access.pattern, access.stride_bytes),
            (whole(access.sectors, access.requests), whole(access.wavefronts, access.requests)),
        )
        for access in shown_accesses(launch)
        if access.requests
    )
