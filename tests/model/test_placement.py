"""Blocks on SMs, and clusters of them."""

from __future__ import annotations

import pytest

from lanewise.hardware import device
from lanewise.model.placement import Placement
from lanewise.records import KernelResources, LaunchRecord, Occupancy

H200 = device.load("h200")


def record(blocks: int, cluster: int | None, resident: int = 1) -> LaunchRecord:
    return LaunchRecord(
        id=0, kernel="k", symbol="k", grid=(blocks, 1, 1), block=(256, 1, 1),
        cluster=None if cluster is None else (cluster, 1, 1), dynamic_shared_bytes=4096,
        resources=KernelResources(32, 1024, 0), occupancy=Occupancy(resident, 8 * resident, 64, (), ()),
        device="NVIDIA H200", stream=0, ptx_instructions=0, ptx_thread_instructions=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "busy", "most"),
    [(None, 132, 2), (2, 132, 2), (8, 120, 3), (16, 112, 3)],  # groups of 18, 18, 16, 16, 16, 16, 16 and 8 SMs
)
def test_clusters_leave_sms_idle(cluster: int | None, busy: int, most: int) -> None:
    placed = Placement.of(H200, record(264, cluster))
    assert placed is not None
    assert (placed.busy_sms, placed.most_blocks, placed.shared_bytes) == (busy, most, 5120)
