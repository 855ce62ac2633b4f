"""Device files: what they say, how devices are named, and what a broken file gets."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from lanewise.errors import UsageError
from lanewise.hardware import capability, device
from lanewise.hardware.properties import cuda_attributes, cuda_properties

H200_TEXT = files("lanewise.hardware").joinpath("devices/h200.toml").read_text(encoding="utf-8")
MEASURED = json.loads((Path(__file__).parents[1] / "truth" / "h200_attributes.json").read_text())["attributes"]
OF_THE_SLOT = {33, 34, 50, 140}  # PCI bus, device, domain, subsystem


def test_the_devices_of_the_package() -> None:
    arch = {name: device.load(name).arch for name in device.names()}
    assert arch == {
        **dict.fromkeys(("a100", "a100_40gb"), "sm_80"),
        **dict.fromkeys(("a10", "rtx3080ti", "rtx3090", "rtxa6000", "mtt_s4000", "mtt_s80"), "sm_86"),
        **dict.fromkeys(("l4", "rtx4090", "rtx4090d"), "sm_89"),
        **dict.fromkeys(("h100", "h200"), "sm_90"),
        "b200": "sm_100",
        "rtx5090": "sm_120",
        "t4": "sm_75",
    }


@pytest.mark.parametrize(
    ("spelling", "key"),
    [
        ("h200", "h200"),
        ("NVIDIA H200", "h200"),
        ("4090", "rtx4090"),
        ("rtx-4090", "rtx4090"),
        ("RTX 4090 D", "rtx4090d"),
        ("GeForce RTX 3080 Ti", "rtx3080ti"),
        ("a100-sxm-80gb", "a100"),
        ("Tesla T4", "t4"),
    ],
)
def test_spellings(spelling: str, key: str) -> None:
    assert device.load(spelling).key == key


def test_an_unknown_device_names_near_ones_and_all() -> None:
    with pytest.raises(UsageError) as caught:
        device.load("rtx4080")
    assert "rtx4080" in caught.value.message
    assert "rtx4090" in caught.value.message
    assert caught.value.next_step is not None
    assert all(name in caught.value.next_step for name in device.names())


@pytest.mark.parametrize("name", device.names())
def test_every_value_has_a_source_and_no_source_is_idle(name: str) -> None:
    spec = device.load(name)
    named = set(device.Values.__dataclass_fields__) | set(device.Rates.__dataclass_fields__)
    assert set(spec.origins) | {"cluster_sms"} == named
    assert ("cluster_sms" in spec.origins) == (spec.compute_capability >= (9, 0))
    assert all(len(origin.text) > 20 for origin in spec.origins.values())
    text = files("lanewise.hardware").joinpath(f"devices/{name}.toml").read_text(encoding="utf-8")
    assert text.count("[sources.") == len({origin.text for origin in spec.origins.values()})


@pytest.mark.parametrize("name", device.names())
def test_stated_peaks_follow_from_clocks_and_units(name: str) -> None:
    spec = device.load(name)
    assert spec.values.fp32_tflops == pytest.approx(spec.peak_fp32_tflops, rel=0.01)
    assert spec.values.memory_bandwidth_gb_s == pytest.approx(spec.peak_bandwidth_gb_s, rel=0.01)


def test_attributes_of_the_h200_are_those_of_the_card() -> None:
    found = cuda_attributes(device.load("h200"))
    assert {number: value for number, value in found.items() if number not in OF_THE_SLOT} == {
        number: MEASURED[str(number)] for number in found if number not in OF_THE_SLOT
    }
    # Those that we leave out are reserved by the runtime's header, or duplicates of others.
    assert {int(number) for number in MEASURED} - set(found) == {
        44, 92, 93, 94, 96, 102, 103, 104, 105, 107, 110, 122, 123, 124, 127, 128, 129, 132, 136, 137, 141, 145, 146
    }  # fmt: skip


def test_properties_follow_the_device() -> None:
    t4 = cuda_properties(device.load("t4"))
    assert (t4["name"], t4["major"], t4["minor"], t4["multiProcessorCount"]) == ("Tesla T4", 7, 5, 40)
    assert (t4["maxThreadsPerMultiProcessor"], t4["sharedMemPerBlockOptin"], t4["clusterLaunch"]) == (1024, 65536, 0)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('sm_count = [132, "attributes"]', 'sm_count = [-132, "attributes"]', "sm_count = -132: it must be positive"),
        ('sm_count = [132, "attributes"]', 'sm_count = [true, "attributes"]', "sm_count = True: int is wanted"),
        ('sm_count = [132, "attributes"]', "sm_count = 132", "sm_count = 132: [value, source] is wanted"),
        ('sm_count = [132, "attributes"]', 'sm_count = [132, "hearsay"]', "sm_count: its source 'hearsay'"),
        ('sm_count = [132, "attributes"]\n', "", "value sm_count is missing"),
        ("[values]\n", '[values]\nsm_cuont = [1, "attributes"]\n', "unknown value sm_cuont"),
        ('fp32_tflops = [67, "datasheet"]', 'fp32_tflops = [134, "datasheet"]', "fp32_tflops = 134: 2 x lanes x SMs"),
        ("[4800,", "[4800000,", "memory_bandwidth_gb_s = 4800000: 2 x memory clock x bus / 8 gives 4814"),
        ("[62914560,", "[162914560000,", "l2_bytes = 162914560000: not below memory_bytes"),
        ("[39321600,", "[139321600,", "persisting_l2_bytes = 139321600: above l2_bytes"),
        ('compute_capability = "9.0"', "compute_capability = 9.0", "compute_capability = 9.0"),
        ('compute_capability = "9.0"', 'compute_capability = "4.2"', "no limits are known for compute capability 4.2"),
        ('status = "measured"', 'status = "guessed"', "status = 'guessed'"),
        ("aliases = [", "aliases = [4, ", "a list of names is wanted"),
        ('name = "NVIDIA H200"', "name = 7", "name = 7"),
        ('name = "NVIDIA H200"', "nom = 7", "key name is missing; unknown key nom"),
        ("[values]", "[values", "Expected ']'"),
        ("dram_gb_s = [4430,", "dram_gb_s = [inf,", "dram_gb_s = inf: no device has more than 1e+15"),
        ("coalescing_sms = [2,", "coalescing_sms = [200,", "coalescing_sms = 200: above sm_count 132"),
        ("dram_access_bytes = [64,", "dram_access_bytes = [7,", "dram_access_bytes = 7: one of 32, 64 and 128"),
        ("l2_slices = [96,", "l2_slices = [1000000,", "l2_slices = 1000000: above the lines of the L2"),
        ("cluster_sms = [[18,", "cluster_sms = [[180,", "together above sm_count 132"),
    ],
)
def test_a_broken_file_gets_one_message(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in H200_TEXT
    path = tmp_path / "mine.toml"
    path.write_text(H200_TEXT.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        device.load(str(path))
    assert caught.value.message.startswith(f"device file {path}: ")
    assert message in caught.value.message


def test_a_directory_and_a_file_of_bytes_are_no_device_files(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for name in ("folder.toml", "bytes.toml"):
        with pytest.raises(UsageError, match=f"cannot read the device file {tmp_path / name}"):
            device.load(str(tmp_path / name))


def test_devices_that_are_mostly_guessed_are_coarse() -> None:
    coarse = {name for name in device.names() if device.load(name).coarse}
    assert coarse >= {"mtt_s80", "mtt_s4000", "rtx4090d", "a100"}
    assert not coarse & {"h200", "h100"}


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(H200_TEXT.replace("NVIDIA H200", "My card"), encoding="utf-8")
    spec = device.load(str(path))
    assert (spec.key, spec.name, spec.limits) == ("mine", "My card", device.load("h200").limits)
    with pytest.raises(UsageError, match="cannot read the device file"):
        device.load(str(tmp_path / "none.toml"))


def test_limits_by_compute_capability() -> None:
    assert capability.limits(8, 6).max_warps_per_sm == 48
    with pytest.raises(UsageError, match=r"compute capability 4\.0") as caught:
        capability.limits(4, 0)
    assert "5.0, 5.2" in str(caught.value.next_step)
    for spec in map(device.load, device.names()):
        assert spec.arch in capability.arch_names()
        assert spec.limits.shared_carveouts[-1] == spec.limits.shared_per_sm
        assert spec.limits.shared_per_block_optin + spec.limits.shared_reserved == spec.limits.shared_per_sm
