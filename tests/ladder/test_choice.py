"""The rung that `lanewise.kernels` takes, by shape, type, alignment and card: from Turing to Blackwell."""

from contextlib import suppress
from typing import NamedTuple

import pytest

from lanewise.errors import UsageError
from lanewise.ladder import load, resolve
from lanewise.ladder.plan import Plan, choose

KIB = 1024


class Card(NamedTuple):
    """Shared memory a block as the CUDA C++ Programming Guide has it (Compute Capabilities), a KiB left to statics."""

    arch: int
    sms: int
    shared_bytes: int


TURING, A100, ADA = Card(75, 40, 63 * KIB), Card(80, 108, 162 * KIB), Card(89, 128, 98 * KIB)
H200, B200, RTX_5090 = Card(90, 132, 226 * KIB), Card(100, 148, 226 * KIB), Card(120, 170, 98 * KIB)
CARDS = {"turing": TURING, "a100": A100, "ada": ADA, "h200": H200, "b200": B200, "rtx_5090": RTX_5090}


def taken(subject: str, card: Card, element: str = "f32", alignment: int = 256, **problem: int) -> Plan:
    return choose(load(subject), element, problem, **card._asdict(), alignment=alignment)


def name(subject: str, card: Card, element: str = "f32", alignment: int = 256, **problem: int) -> str:
    return taken(subject, card, element, alignment, **problem).rung.name


#: What each card takes for large, aligned problems, and for small or odd ones.
LARGE = {
    ("gemm", "f32", "m=4096 n=4096 k=4096"): ["register_blocks"] + ["last_tiles"] * 5,
    ("gemm", "f32", "m=1024 n=1024 k=1024"): ["register_blocks"] + ["register_banks"] * 5,
    ("gemm", "bf16", "m=4096 n=4096 k=4096"): [None, "mma_sync", "mma_sync", "persistent", "mma_sync", "mma_sync"],
    ("gemm", "f32", "m=37 n=5 k=3"): ["register_blocks"] + ["padded_b"] * 5,
    ("gemm", "bf16", "m=1024 n=1024 k=1024"): [None, "mma_sync", "mma_sync", "small_tiles", "mma_sync", "mma_sync"],
    ("gemm", "i32", "m=64 n=64 k=64"): ["register_blocks"] * 6,
    ("gemm", "bf16", "m=67 n=131 k=37"): [None] + ["mma_sync"] * 5,
    ("gemm", "bf16", "m=4095 n=4097 k=4099"): [None] + ["mma_sync"] * 2 + ["padded_rows"] + ["mma_sync"] * 2,
    ("transpose", "u8", "rows=4096 columns=4096"): ["coarsened"] + ["vectorised"] * 2 + ["bulk_tiles"] * 3,
    ("transpose", "u8", "rows=67 columns=131"): ["coarsened"] + ["aligned_pieces"] * 5,
    ("transpose", "f32", "rows=67 columns=131"): ["any_pitch"] + ["aligned_pieces"] * 5,
    ("transpose", "f64", "rows=67 columns=131"): ["coarsened"] + ["aligned_pieces"] * 5,
    ("reduce", "f32", "n=1"): ["double_sums"] * 6,
    ("scan", "f32", "n=268435456"): ["look_back"] * 3 + ["bulk_copy"] * 2 + ["look_back"],
    ("scan", "f32", "n=997"): ["look_back"] * 6,
    ("histogram", "i32", "n=1000 bins=256"): ["lane_columns"] * 6,
    ("softmax", "f32", "rows=64 columns=1024"): ["registers"] * 6,
    ("softmax", "f32", "rows=64 columns=1023"): ["fused"] * 6,
    ("layernorm", "bf16", "rows=64 columns=8192"): ["registers"] * 6,
    ("layernorm", "f32", "rows=64 columns=65536"): ["fused"] * 3 + ["long_rows"] * 2 + ["fused"],
}


@pytest.mark.parametrize(("case", "expected"), LARGE.items(), ids=[" ".join(case) for case in LARGE])
def test_the_rung_for_a_problem_on_each_card(case: tuple[str, str, str], expected: list[str | None]) -> None:
    subject, element, sizes = case
    problem = {key: int(value) for key, value in (size.split("=") for size in sizes.split())}
    got: list[str | None] = []
    for card in CARDS.values():
        got.append(None)
        with suppress(UsageError):
            got[-1] = name(subject, card, element, **problem)
    assert got == expected


@pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)
@pytest.mark.parametrize("subject", ["gemm", "histogram", "layernorm", "reduce", "scan", "softmax", "transpose"])
def test_what_is_taken_runs_on_the_card(subject: str, card: Card) -> None:
    """Sizes of one, odd ones and large ones, at any alignment: the rung's architecture and shared memory are there."""
    there = load(subject)
    for scale in (1, 3, 24, 997, 4096):
        problem = dict.fromkeys(there.scales, scale)
        for element in there.types:
            for alignment in (1, 4, 256):
                with suppress(UsageError):
                    plan = choose(there, element, {**there.problem, **problem}, **card._asdict(), alignment=alignment)
                    assert not plan.rung.barred(card.arch)
                    assert plan.shared_bytes <= card.shared_bytes
                    assert not alignment % (plan.rung.alignment or 1)


def test_addresses_that_are_not_aligned_take_a_lower_rung() -> None:
    assert name("reduce", H200, alignment=4, n=1000) == "unrolled"
    assert name("transpose", H200, alignment=4, rows=64, columns=64) == "any_pitch"
    assert name("softmax", H200, alignment=4, rows=4, columns=1024) == "fused"
    assert name("gemm", H200, alignment=4, m=64, n=64, k=64) == "register_blocks"


def test_a_later_card_without_the_instructions_is_named() -> None:
    persistent = load("gemm").rung("persistent")
    assert not persistent.barred(90)
    assert "9.0" in persistent.barred(80)
    assert "after compute capability 9.0" in persistent.barred(100)
    with pytest.raises(UsageError) as caught:
        name("gemm", TURING, "bf16", m=64, n=64, k=64)
    assert "persistent needs compute capability 9.0" in str(caught.value.next_step)


def test_tiles_follow_the_size() -> None:
    """Small: a tile a multiprocessor, two slices. Large: three blocks a multiprocessor, the last tiles cut."""
    small = taken("gemm", H200, m=1024, n=1024, k=1024)
    large = taken("gemm", H200, m=4096, n=4096, k=4096)
    assert small.launches[0].grid[0] <= H200.sms < large.launches[0].grid[0]
    assert int(small.defines["SLICES"]) == 2
    assert int(large.defines["BLOCKS_PER_SM"]) == 3
    tiles = (4096 // 64) * (4096 // 128)
    in_a_round = 3 * H200.sms
    assert large.launches[0].grid[0] == tiles // in_a_round * in_a_round + tiles % in_a_round * int(
        large.defines["SPLIT"]
    )
    assert resolve(load("gemm"), small.rung, "f32", {"m": 4, "n": 4, "k": 4}).launches[0].grid == (1, 1, 1)
