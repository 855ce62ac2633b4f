"""Kernels that must and must not be told of strided accesses."""

from __future__ import annotations

import pytest
from kernels import kernels, of_rule

SOURCE = """
extern "C" __global__ void transpose(const float* in, float* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
extern "C" __global__ void every_eighth(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[8 * i];
}
extern "C" __global__ void copy(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
"""
NAME = "strided_access"


def test_a_transposing_store_is_to_be_staged_in_a_tile() -> None:
    n = 1024
    record = kernels(SOURCE).launch(
        "transpose", (n // 32, n // 32, 1), (32, 32, 1), 4 * n * n, 4 * n * n, n.to_bytes(4, "little")
    )
    (found,) = of_rule(record, NAME)
    assert found.line == 4
    assert found.message == ("Strided store: neighbouring lanes differ in `x`, and `x` steps 4,096 bytes in `out`.")
    assert found.rung == "transpose padded"
    assert found.gain is not None
    assert found.gain.before_us == record.time_us
    assert found.gain.after_us < found.gain.before_us / 2


def test_elements_that_nobody_uses_are_not_to_lie_between() -> None:
    record = kernels(SOURCE).launch("every_eighth", (4096, 1, 1), (256, 1, 1), 32 << 20, 4 << 20)
    (found,) = of_rule(record, NAME)
    assert "28 bytes between" in (found.next_step or "")
    assert found.evidence[1:] == ("4,194,304 bytes are used of the 33,554,432 in the sectors that are moved.",)


@pytest.mark.parametrize("blocks", [1, 512])
def test_side_by_side_is_left_alone(blocks: int) -> None:
    record = kernels(SOURCE).launch("copy", (blocks, 1, 1), (256, 1, 1), 1024 * blocks, 1024 * blocks)
    assert record.advised
    assert record.advice == ()
