"""Arrays as arguments: overlapping ones stay one piece of memory on the device."""

import numpy as np
import pytest

import lanewise
from lanewise.api import Kernel
from lanewise.arguments import place
from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import LimitReached

SHIFT = """
extern "C" __global__ void add(float *a, const float *b, int n) {
    int i = threadIdx.x;
    if (i < n) a[i] = b[i] + 1;
    if (i < n) a[i] = b[i] + 1;  // sees the first store where a is b
}
"""


@pytest.fixture(scope="module")
def add() -> Kernel:
    return lanewise.compile(SHIFT, options=("-DNDEBUG",))["add"]


def test_an_array_given_twice_is_one_buffer(add: Kernel) -> None:
    a = np.zeros(8, np.float32)
    add[1, 32](a, a, 8)
    assert a.tolist() == [2.0] * 8


def test_views_of_one_array_overlap_on_the_device(add: Kernel) -> None:
    whole = np.arange(9, dtype=np.float32)
    add[1, 32](whole[1:], whole[:-1], 1)
    assert whole[:3].tolist() == [0.0, 1.0, 2.0]


def test_a_strided_view_is_copied_and_written_back(add: Kernel) -> None:
    whole = np.zeros(8, np.float32)
    add[1, 32](whole[::2], np.arange(4, dtype=np.float32), 4)
    assert whole.tolist() == [1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0]


def test_a_launch_from_python_has_no_exit_code(add: Kernel) -> None:
    a = np.zeros(8, np.float32)
    record = add[1, 32](a, a, 8)
    assert "the program exited" not in record.report()
    assert "1 个核函数，1 次启动。" in record.report(language="zh")
    assert '<html lang="zh">' in record.html(language="zh")


def test_nothing_stays_allocated_when_memory_runs_out() -> None:
    memory = DeviceMemory(1 << 20)
    small, large = np.zeros(1024), np.zeros(1 << 18)
    with pytest.raises(LimitReached):
        place(memory, [small, large])
    assert memory.bounds()[1] == 0
