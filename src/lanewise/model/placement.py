"""Where the blocks of a launch go: how many on an SM at once, in how many rounds, and what is left of the L1."""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.hardware.capability import WARP_SIZE
from lanewise.hardware.clusters import active_clusters
from lanewise.hardware.device import DeviceSpec
from lanewise.records import LaunchRecord

PARTITIONS = 4  # schedulers of an SM


@dataclass(frozen=True, slots=True)
class Placement:
    """`busy_sms` have blocks; the SM with the most runs `most_blocks`, `blocks_per_sm` of them at once. Clusters leave
    SMs idle that are too few for one more. `shared_bytes` are a block's, `constant_bytes` those of the module's
    variables in constant memory."""

    blocks: int
    warps_per_block: int
    blocks_per_sm: int
    busy_sms: int
    most_blocks: int
    l1_bytes: int
    shared_bytes: int
    constant_bytes: int

    @property
    def warps(self) -> int:
        return self.blocks * self.warps_per_block

    @staticmethod
    def of(spec: DeviceSpec, record: LaunchRecord) -> Placement | None:
        """None where the occupancy is not known, or is zero, or no cluster of the launch fits."""
        occupancy, resources = record.occupancy, record.resources
        if occupancy is None or resources is None or not occupancy.active_blocks:
            return None
        x, y, z = record.grid
        blocks = x * y * z
        threads = record.block[0] * record.block[1] * record.block[2]
        shared = resources.static_shared_bytes + record.dynamic_shared_bytes
        sms = spec.values.sm_count
        if record.cluster is not None:
            size = record.cluster[0] * record.cluster[1] * record.cluster[2]
            together = active_clusters(spec, occupancy.active_blocks, size) * size
            if not together:
                return None
            sms = max(1, together // occupancy.active_blocks)
        return Placement(
            blocks,
            -(-threads // WARP_SIZE),
            occupancy.active_blocks,
            min(sms, blocks),
            -(-blocks // sms),
            l1_bytes(spec, shared, occupancy.active_blocks),
            shared,
            resources.constant_bytes,
        )


def l1_bytes(spec: DeviceSpec, shared: int, blocks: int) -> int:
    """What is left beside the smallest carve-out that holds `blocks` blocks of `shared` bytes: the driver takes it
    where a program does not say otherwise (tests/truth/h200_carveouts.json)."""
    limits = spec.limits
    whole = limits.l1_array_bytes
    unit = limits.shared_unit
    needed = blocks * (-(-(shared + limits.shared_reserved) // unit) * unit)
    fitting = [size for size in limits.shared_carveouts if size >= needed]
    return whole - min(fitting, default=max(limits.shared_carveouts))
