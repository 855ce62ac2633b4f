"""Sentences that rooms without a language write in English are found again and said in Chinese."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import lanewise
from lanewise.catalogue import catalogue, places
from lanewise.hardware import capability
from lanewise.hardware.occupancy import occupancy

SENTENCES = {key: text for key, text in catalogue().sentences.items() if key.startswith("retold.")}
# Put together of several parts where they are written.
COMPOSED = {
    f"retold.{name}"
    for name in (
        "next_both", "blocks_of_one", "allocation_made", "allocation_named_made", "offset_launch", "warp_waits",
        "at_cluster", "not_in_mask", "leak_many", "leak_many_named", "unchecked_values",
    )
}  # fmt: skip


@cache
def _source() -> str:
    """All code but the catalogue, strings in pieces joined."""
    root = Path(lanewise.__file__).parent
    texts = [p.read_text() for p in sorted(root.rglob("*.py")) if p.parent.name != "catalogue"]
    texts += [p.read_text() for p in sorted(root.rglob("*.c"))]
    return re.sub(r'"\s*\+?\s*\(?\s*f?"', "", "\n".join(texts))


def test_each_is_still_written_so() -> None:
    lost = []
    for key in SENTENCES.keys() - COMPOSED:
        own = max(re.split(r"\{\w+\}", SENTENCES[key]), key=len)
        if len(own) >= 12 and own not in _source():
            lost.append((key, own))
    assert lost == []


def test_each_is_found_again_by_its_own_form() -> None:
    chinese = catalogue("zh")
    thread = "(1, 2, 3)"
    shapes = {"address": "0x10", "base": "0x20", "mask": "0x0f", "did": "read", "other": "write", "list": "1, 2",
              "place": "a.cu:7", "who": f"thread {thread}", "thread": thread, "threads": f"{thread}, {thread}",
              "block": thread}  # fmt: skip
    for key, sentence in SENTENCES.items():
        names = places(sentence)
        for value in ("7", "x_y"):
            filled = sentence.format_map({name: shapes.get(name, value) for name in names})
            said = chinese.retell(filled)
            if said != filled:
                break
        assert said != filled, key


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("out-of-bounds read of 4 bytes in global memory", "越界访问全局内存：读 4 字节"),
        ("out-of-bounds write of 1 byte in shared memory 'tile'", "越界访问共享内存 'tile'：写 1 字节"),
        (
            "address 0x30a1a0, nearest allocation: allocation 2 'values' of 4,000 bytes (malloc) at 0x309200",
            "地址 0x30a1a0；最近的分配：分配 2 'values'（4,000 字节，malloc），起始于 0x309200",
        ),
        (
            "threads (232, 0, 0), (233, 0, 0) and 20 more; the first are of block (3, 0, 0)",
            "线程 (232, 0, 0), (233, 0, 0) 以及另外 20 个；前几个属于线程块 (3, 0, 0)",
        ),
        (
            "8 warps wait at the mbarrier at byte 1024 of shared memory for the end of a phase of parity 0 (arrivals "
            "missing: 0 of 1, bytes missing: -512), missing_bytes.cu:35: 0, 1, 2, 3",
            "8 个线程束等在共享内存第 1024 字节的 mbarrier 处，等奇偶为 0 的阶段结束（缺少到达 0 / 1，缺少字节 -512），"
            "missing_bytes.cu:35：0, 1, 2, 3",
        ),
        (
            "race: read and write of shared memory by threads of one block (the other at line 12)",
            "竞争：同一线程块的线程对共享内存的读与写（另一处在第 12 行）",
        ),
        (
            "write before it by thread (1, 0, 0) of block (0, 0, 0), line 9",
            "此前线程块 (0, 0, 0) 的线程 (1, 0, 0)的写，第 9 行",
        ),
        ("byte 4 of allocation 3 'out' of 1,024 bytes", "分配 3 'out'（1,024 字节）的第 4 字节"),
        (
            "4,096 bytes of device memory in 2 allocations for 'a' are never freed",
            "'a' 的 2 次分配共 4,096 字节设备内存从未释放",
        ),
        (
            "threads of one warp wait at different barriers: line 8 and line 11",
            "同一线程束的线程等在不同的屏障：第 8 行和第 11 行",
        ),
        ("registers and occupancy are not known: nvcc and ptxas are missing", None),
        ("a.cu(3): warning: variable read and write of it", None),
    ],
)  # fmt: skip
def test_whole_sentences_and_their_parts(english: str, chinese: str | None) -> None:
    assert catalogue("zh").retell(english) == (chinese or english)
    assert catalogue().retell(english) == english


@pytest.mark.parametrize(
    ("threads", "registers", "shared"), [(256, 40, 0), (256, 32, 60_000), (32, 32, 0), (1024, 48, 0)]
)
def test_the_next_step_of_an_occupancy(threads: int, registers: int, shared: int) -> None:
    limits = capability.limits(9, 0)
    found = occupancy(limits, threads_per_block=threads, registers_per_thread=registers, dynamic_shared=shared)
    assert found.next_step is not None
    said = catalogue("zh").retell(found.next_step)
    assert set(re.findall(r"[A-Za-z]+", said)) <= {"SM"}
    assert sorted(re.findall(r"\d+", said)) == sorted(re.findall(r"\d+", found.next_step))
