"""Device memory: allocations that never touch, lookups, the table for kernels, and memory that comes back."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise.emulator.arena import DEFAULT_BASE, PAGE
from lanewise.emulator.memory import GUARD, DeviceMemory, OutOfDeviceMemory

MIB = 1 << 20
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memfd is of Linux")


@pytest.fixture
def memory() -> DeviceMemory:
    return DeviceMemory(64 * MIB, arena_size=256 * MIB)


def test_write_then_read(memory: DeviceMemory) -> None:
    data = np.arange(1000, dtype=np.float32)
    allocation = memory.allocate(data.nbytes)
    memory.write(allocation.base, data)
    assert memory.read(allocation.base, data.nbytes) == data.tobytes()
    assert memory.array(allocation, np.float32)[999] == 999


def test_the_address_is_the_address_of_the_bytes(memory: DeviceMemory) -> None:
    allocation = memory.allocate(8)
    memory.write(allocation.base, b"12345678")
    assert ctypes.string_at(allocation.base, 8) == b"12345678"


def test_arrays_that_are_not_contiguous_are_written_in_c_order(memory: DeviceMemory) -> None:
    data = np.arange(12, dtype=np.int32).reshape(3, 4).T
    allocation = memory.allocate(data.nbytes)
    memory.write(allocation.base, data)
    assert memory.array(allocation, np.int32).tolist() == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]


def test_find_knows_first_and_last_byte(memory: DeviceMemory) -> None:
    a = memory.allocate(100)
    assert memory.find(a.base) == a
    assert memory.find(a.base + 99) == a
    assert memory.find(a.base + 100) is None
    assert memory.find(a.base - 1) is None


def test_nearest(memory: DeviceMemory) -> None:
    a, b = memory.allocate(100), memory.allocate(100)
    assert memory.nearest(a.end) == a
    assert memory.nearest(b.base - 1) == b
    assert memory.nearest(0) == a
    assert DeviceMemory(MIB).nearest(0) is None


def test_view_refuses_what_is_not_in_one_allocation(memory: DeviceMemory) -> None:
    a = memory.allocate(100)
    assert len(memory.view(a.base + 50, 50)) == 50
    for address, size in ((a.base, 101), (a.base - 1, 2), (a.end, 1), (0, 1), (a.base, -1)):
        with pytest.raises(ValueError, match="not within one live allocation"):
            memory.view(address, size)


def test_freed_is_remembered_and_not_found(memory: DeviceMemory) -> None:
    a = memory.allocate(1000, name="table")
    memory.free(a.base)
    assert memory.find(a.base) is None
    gone = memory.freed(a.base + 999)
    assert gone is not None
    assert (gone.id, gone.freed, gone.name) == (a.id, True, "table")
    assert memory.freed(a.base + 1000) is None


def test_double_free_and_free_of_an_inner_address(memory: DeviceMemory) -> None:
    a = memory.allocate(1000)
    with pytest.raises(KeyError):
        memory.free(a.base + 8)
    memory.free(a.base)
    with pytest.raises(KeyError):
        memory.free(a.base)


def test_freed_addresses_rest_before_they_are_used_again(memory: DeviceMemory) -> None:
    a = memory.allocate(1000)
    memory.free(a.base)
    assert memory.allocate(1000).base > a.end


def test_capacity_is_a_limit(memory: DeviceMemory) -> None:
    a = memory.allocate(48 * MIB)
    with pytest.raises(OutOfDeviceMemory) as caught:
        memory.allocate(32 * MIB)
    assert (caught.value.requested, caught.value.free) == (32 * MIB, 16 * MIB)
    memory.free(a.base)
    memory.allocate(64 * MIB)


def test_managed_and_pinned_memory_do_not_count_but_end_with_the_arena() -> None:
    memory = DeviceMemory(MIB, arena_size=16 * MIB)
    memory.allocate(8 * MIB, kind="managed")
    assert memory.used == 0
    memory.allocate(MIB)
    with pytest.raises(OutOfDeviceMemory):
        memory.allocate(12 * MIB, kind="host")


def test_host_visible_allocations_have_pages_of_their_own(memory: DeviceMemory) -> None:
    before, managed, after = memory.allocate(8), memory.allocate(8, kind="managed"), memory.allocate(8)
    pages = {a.base // PAGE for a in (before, managed, after)}
    assert managed.base % PAGE == 0
    assert pages - {managed.base // PAGE} == {before.base // PAGE, after.base // PAGE}
    assert managed.base // PAGE not in {before.base // PAGE, after.base // PAGE}


@pytest.mark.parametrize(("size", "alignment"), [(0, 256), (-1, 256), (8, 0), (8, 48)])
def test_bad_requests(memory: DeviceMemory, size: int, alignment: int) -> None:
    with pytest.raises(ValueError, match="not"):
        memory.allocate(size, alignment=alignment)


def test_the_table_is_sorted_readable_and_made_only_after_a_change(memory: DeviceMemory) -> None:
    assert memory.bounds()[1] == 0
    a, b = memory.allocate(10), memory.allocate(20)
    address, count = memory.bounds()
    assert memory.bounds() == (address, count)
    pairs = np.frombuffer(ctypes.string_at(address, 16 * count), np.uint64).tolist()
    assert pairs == [a.base, a.end, b.base, b.end]
    held, generation = memory.table(), memory.generation
    memory.free(a.base)
    assert memory.generation != generation
    assert memory.table().tolist() == [[b.base, b.end]]
    assert len(held) == 2


def test_memory_is_zero_when_it_is_used_again() -> None:
    memory = DeviceMemory(MIB, arena_size=64 * PAGE)
    seen = set()
    for _ in range(200):
        a = memory.allocate(3 * PAGE + 100)
        seen.add(a.base)
        assert not any(memory.read(a.base, a.size))
        memory.write(a.base, b"\xff" * a.size)
        memory.free(a.base)
    assert len(seen) < 200  # addresses did come again


def test_reused_addresses_are_not_called_freed() -> None:
    memory = DeviceMemory(MIB, arena_size=16 * PAGE)
    first = memory.allocate(8 * PAGE)
    memory.free(first.base)
    second = memory.allocate(9 * PAGE)
    assert second.base <= first.base < second.end
    assert memory.freed(first.base) is None
    memory.free(second.base)
    gone = memory.freed(first.base)
    assert gone is not None
    assert gone.id == second.id


@linux
def test_pages_come_back_even_from_small_allocations(memory: DeviceMemory) -> None:
    assert memory.fd is not None
    many = [memory.allocate(300) for _ in range(2000)]
    for a in many:
        memory.write(a.base, b"x" * 300)
    big = memory.allocate(8 * MIB)
    memory.write(big.base, bytes(8 * MIB))
    assert os.fstat(memory.fd).st_blocks * 512 > 8 * MIB
    random.Random(1).shuffle(many)
    for a in [*many, big]:
        memory.free(a.base)
    assert os.fstat(memory.fd).st_blocks == 0


@linux
def test_arenas_do_not_collide_and_are_unmapped() -> None:
    first, second = DeviceMemory(MIB), DeviceMemory(MIB)
    assert first.base != second.base
    assert first.base >= DEFAULT_BASE
    base = second.base
    view = second.view(second.allocate(8).base, 8)
    del second
    gc.collect()
    view[0] = 1  # the view keeps its arena
    del view
    gc.collect()
    assert DeviceMemory(MIB, base=base).fd is not None  # the addresses are free again


@linux
def test_a_taken_address_leads_to_a_private_arena() -> None:
    first = DeviceMemory(MIB, arena_size=4 * MIB)
    second = DeviceMemory(MIB, arena_size=4 * MIB, base=first.base)
    assert second.fd is None
    a = second.allocate(5000)
    second.write(a.base, b"z" * 5000)
    second.free(a.base)
    assert not any(ctypes.string_at(a.base, 5000))


@linux
def test_a_large_device_costs_nothing_until_touched() -> None:
    memory = DeviceMemory(141_000_000_000)
    a = memory.allocate(100_000_000_000)
    memory.write(a.end - 4, b"last")
    assert os.fstat(memory.fd or -1).st_blocks * 512 <= 2 * PAGE


@linux
def test_a_limit_on_addresses_gives_a_smaller_arena() -> None:
    script = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
from lanewise.emulator.memory import DeviceMemory
memory = DeviceMemory(100 << 30)
print(memory.size, memory.fd is not None)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{4 << 30} True\n"


def test_threads_may_allocate_and_free_at_once(memory: DeviceMemory) -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        mine = random.Random(seed)
        held = []
        for _ in range(300):
            held.append(memory.allocate(mine.randint(1, 5000)))
            memory.write(held[-1].base, bytes([seed]) * held[-1].size)
            if len(held) > 20:
                a = held.pop(mine.randrange(len(held)))
                if memory.read(a.base, a.size) != bytes([seed]) * a.size:
                    failures.append(f"{a} was overwritten")
                memory.free(a.base)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(memory.allocations()) == 80


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40_000), st.sampled_from(["malloc", "managed", "free"])), max_size=60))
def test_allocations_keep_their_distance(steps: list[tuple[int, str]]) -> None:
    memory = DeviceMemory(MIB, arena_size=MIB // 2)
    for size, what in steps:
        if what == "free":
            if live := memory.allocations():
                memory.free(live[size % len(live)].base)
            continue
        try:
            memory.allocate(size, kind=what)
        except OutOfDeviceMemory:
            continue
    live = memory.allocations()
    for left, right in pairwise(live):
        assert right.base - left.end >= GUARD
        assert (left.end - 1) // PAGE < right.base // PAGE or "managed" not in (left.kind, right.kind)
    assert all(memory.base < a.base and a.end + GUARD <= memory.base + memory.size for a in live)


def test_many_devices_at_once_can_all_be_shared() -> None:
    # In a process of its own: other tests' devices are alive in this one.
    code = "from lanewise.emulator.memory import DeviceMemory\n"
    code += "print(sum(device.fd is not None for device in [DeviceMemory(1 << 37) for _ in range(200)]))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "200\n"


def test_small_devices_leave_room_for_large_ones() -> None:
    small = [DeviceMemory(1 << 28) for _ in range(150)]
    assert all(device.fd is not None for device in [*small, DeviceMemory(1 << 37)])
