"""How many clusters of blocks a device runs at one time."""

from __future__ import annotations

from lanewise.hardware.device import DeviceSpec
from lanewise.hardware.launch import MAX_CLUSTER, PORTABLE_CLUSTER


def active_clusters(spec: DeviceSpec, blocks_per_sm: int, size: int) -> int:
    """Clusters of `size` blocks, with `blocks_per_sm` resident on one multiprocessor.

    A cluster of one or two blocks runs anywhere; a larger one within a group of at least as many multiprocessors. A
    device file that names no groups is taken as one.
    """
    sms = spec.values.sm_count
    groups = spec.values.cluster_sms or (sms,)
    if size <= 2:
        return sms * blocks_per_sm // size
    return sum(count * blocks_per_sm // size for count in groups if count >= size)


def largest_cluster(spec: DeviceSpec, blocks_per_sm: int, *, non_portable: bool) -> int:
    """The most blocks that a cluster can have so that one runs; 0 where not even a block does."""
    most = MAX_CLUSTER if non_portable else PORTABLE_CLUSTER
    return next((size for size in range(most, 0, -1) if active_clusters(spec, blocks_per_sm, size)), 0)
