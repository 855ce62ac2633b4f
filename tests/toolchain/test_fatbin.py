from __future__ import annotations

import contextlib
import random
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.errors import UsageError
from lanewise.toolchain import fatbin, lz4, wheels
from lanewise.toolchain.arch import Arch
from lanewise.toolchain.elf import Elf
from lanewise.toolchain.fatbin import BadFatbin, Kind

PTX = ".version 8.0\n.target sm_80\n.address_size 64\n" + "".join(
    f".global .u32 variable{number};\n" for number in range(40)
)


@pytest.fixture(scope="module")
def ptx_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fatbin") / "module.ptx"
    path.write_text(PTX)
    return path


def pack(ptx: Path, *options: str, image: str = "--image3=kind=ptx,sm=80,file=") -> bytes:
    output = ptx.with_suffix(".fatbin")
    command = [str(wheels.locate("fatbinary")), "-64", f"--create={output}", f"{image}{ptx}", *options]
    subprocess.run(command, check=True)
    return output.read_bytes()


@pytest.mark.parametrize(
    ("mode", "compression"), [("none", "none"), ("speed", "lz4"), ("size", "zstd"), ("balance", "zstd")]
)
def test_ptx_is_unpacked_however_it_was_packed(ptx_file: Path, mode: str, compression: str) -> None:
    (entry,) = fatbin.entries(pack(ptx_file, f"--compress-mode={mode}", "--ident=module.cu"))
    assert entry.compression == compression
    assert (entry.kind, entry.arch, entry.name, entry.version) == (Kind.PTX, Arch(80), "module.cu", (8, 0))
    assert entry.text == PTX


def test_a_plain_program_has_ptx_and_machine_code(saxpy: Path) -> None:
    elf = Elf(saxpy.read_bytes())
    section = elf.section(".nv_fatbin")
    assert section is not None
    images = fatbin.entries(elf.content(section))
    assert [(image.kind, image.arch, image.compression) for image in images] == [
        (Kind.MACHINE_CODE, Arch(90), "none"),
        (Kind.PTX, Arch(90), "none"),
    ]
    assert images[1].options == "--generate-line-info"
    assert "saxpy.cu" in images[1].text
    assert fatbin.choose_machine_code(images, Arch(90)) is images[0]
    wrappers = elf.section(".nvFatBinSegment")
    assert wrappers is not None
    wrapper = fatbin.read_wrapper(elf.content(wrappers))
    assert wrapper == fatbin.Wrapper(1, section.address, 0)


def test_a_linked_program_has_its_ptx_apart(linked: Path) -> None:
    elf = Elf(linked.read_bytes())
    sections = [elf.section(name) for name in (".nv_fatbin", "__nv_relfatbin", ".nvFatBinSegment")]
    assert None not in sections
    machine, modules, wrappers = (elf.content(section) for section in sections if section is not None)
    assert [image.kind for image in fatbin.entries(machine)] == [Kind.MACHINE_CODE]
    images = fatbin.entries(modules)
    assert {image.container for image in images} == {0, 1}
    assert [Path(image.name).name for image in images if image.kind is Kind.PTX] == ["caller.cu", "twice.cu"]
    assert fatbin.read_wrapper(wrappers).version == 2
    with pytest.raises(UsageError, match="machine code only"):
        raise fatbin.no_ptx(fatbin.entries(machine), Arch(90))


def test_the_newest_ptx_that_runs_is_chosen(ptx_file: Path) -> None:
    images = [
        fatbin.entries(pack(ptx_file, image=f"--image3=kind=ptx,sm={sm},file="))[0] for sm in ("75", "80", "90", "90a")
    ]
    assert [image.arch for image in images] == [Arch(75), Arch(80), Arch(90), Arch(90, "a")]

    def chosen(arch: Arch) -> Arch | None:
        image = fatbin.choose_ptx(images, arch)
        return image.arch if image is not None else None

    assert chosen(Arch(70)) is None
    assert chosen(Arch(86)) == Arch(80)
    assert chosen(Arch(90)) == Arch(90)
    assert chosen(Arch(90, "a")) == Arch(90, "a")
    assert chosen(Arch(100)) == Arch(90)
    error = fatbin.no_ptx(images, Arch(70))
    assert "compute_75" in error.message
    assert "--arch sm_75" in (error.next_step or "")


def test_the_size_of_a_container_is_in_its_first_bytes(ptx_file: Path) -> None:
    data = pack(ptx_file)
    assert fatbin.size_of(data[:16]) == len(data)
    assert len(fatbin.entries(data + bytes(8) + data)) == 2


@pytest.mark.parametrize("data", [b"garbage, and more of it", struct.pack("<IHHQ", fatbin.MAGIC, 1, 16, 1000)])
def test_bytes_that_are_no_fat_binary(data: bytes) -> None:
    with pytest.raises(BadFatbin):
        fatbin.entries(data)
    with pytest.raises(BadFatbin):
        fatbin.read_wrapper(data)


def test_any_damage_is_reported_as_such(ptx_file: Path) -> None:
    random_bytes = random.Random(1)
    for mode in ("speed", "size"):
        good = pack(ptx_file, f"--compress-mode={mode}")
        for _ in range(300):
            bad = bytearray(good)
            for _ in range(random_bytes.randint(1, 4)):
                bad[random_bytes.randrange(len(bad))] = random_bytes.randrange(256)
            try:
                for entry in fatbin.entries(bytes(bad[: random_bytes.randint(1, len(bad))])):
                    assert len(entry.data) == entry.unpacked_size
            except BadFatbin:
                continue


@given(st.binary(max_size=300), st.integers(0, 1000))
def test_lz4_takes_any_bytes(data: bytes, size: int) -> None:
    with contextlib.suppress(ValueError):
        assert len(lz4.decompress(data, size)) == size


def test_lz4_matches_that_overlap_themselves() -> None:
    # Three literals "abc", then 4 + 15 + 3 = 22 bytes from 3 back, then the last literals "zz".
    block = bytes([0x3F]) + b"abc" + bytes([3, 0, 3]) + bytes([0x20]) + b"zz"
    assert lz4.decompress(block, 27) == (b"abc" * 9)[:25] + b"zz"
