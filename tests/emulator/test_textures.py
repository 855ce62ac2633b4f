"""Textures and surfaces: every geometry, format, filter and address mode against a model of the card; boundaries,
faults, counts."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from texture_model import expected
from texture_records import (
    AXES,
    BORDER,
    CLAMP,
    COORDINATES,
    MIRROR,
    TYPES,
    WRAP,
    Setting,
    memory,
    place,
    rows,
    run,
)

from lanewise.emulator.textures.record import SURFACE_MAGIC, Decode
from lanewise.errors import KernelFault
from lanewise.records import Space

PLAIN = [g for g in COORDINATES if "cube" not in g]
FRACTIONS = (Decode.UNORM8, Decode.UNORM16, Decode.SNORM8, Decode.SNORM16, Decode.F16, Decode.WORD)
EDGES = (0.0, -0.0, 0.5, 1.0, 1.5, -0.5, -1.0, 2.0, 2.5, -3.0, 1e6, -1e9, 1e20, np.inf, -np.inf, np.nan, 1e-30, -1e-30,
         1e-42, 0.49999997, 0.99999994, 1.0000001, 65536.0)  # fmt: skip


def texels(choose: np.random.Generator, decode: Decode, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
    if decode in (Decode.WORD, Decode.F16):
        kind = np.float32 if decode == Decode.WORD else np.float16
        return (choose.uniform(-1, 1, shape) * 2.0 ** choose.integers(-3, 3, shape)).astype(kind)
    kind = np.iinfo(TYPES[decode])
    return choose.integers(kind.min, kind.max, shape, endpoint=True).astype(TYPES[decode])


def shape_of(geometry: str, channels: int) -> tuple[int, int, int, int]:
    depth = 5 if geometry == "3d" or geometry[0] == "a" else 1
    return depth, 1 if geometry in ("1d", "a1d") else 6, 13, channels


def coordinates(choose: np.random.Generator, size: int, normalized: bool, count: int) -> npt.NDArray[np.float32]:
    scale = 1 if normalized else size
    wild = choose.uniform(-2, 3, count) * scale
    wild[::3] = choose.uniform(0, 1, len(wild[::3])) * scale
    wild[::5] = choose.choice(EDGES, len(wild[::5]))
    whole = choose.integers(-2 * size, 3 * size, len(wild[::7])) / 2
    wild[::7] = whole / size if normalized else whole
    return wild.astype(np.float32)


def check(setting: Setting, choose: np.random.Generator, count: int = 96) -> None:
    depth, height, width, _ = setting.texels.shape
    axes = [
        coordinates(choose, size, setting.normalized, count)
        for size in (width, height, depth)[: AXES[setting.geometry]]
    ]
    layer = choose.integers(-2, 8, count)
    found, _ = run(f"tex_{setting.geometry}", place(memory(), setting), rows(layer, *axes))
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = expected(setting, layer, *axes)
    wrong = np.nonzero((found != wanted).any(axis=1))[0]
    assert not len(wrong), (setting.geometry, [a[wrong[0]] for a in axes], found[wrong[0]], wanted[wrong[0]])


@pytest.mark.parametrize("geometry", PLAIN)
def test_texels_as_they_are(geometry: str) -> None:
    choose = np.random.default_rng(1)
    for decode, channels in itertools.product(Decode, (1, 2, 4)):
        if decode != Decode.SRGB8:
            check(Setting(geometry, decode, texels(choose, decode, shape_of(geometry, channels))), choose, 64)


@pytest.mark.parametrize("geometry", PLAIN)
@pytest.mark.parametrize("linear", [False, True])
def test_address_modes(geometry: str, linear: bool) -> None:
    choose = np.random.default_rng(2)
    data = texels(choose, Decode.WORD, shape_of(geometry, 1))
    border = (int(np.float32(0.25).view(np.uint32)), 0, 0, 0)
    for modes in (
        (WRAP,) * 3,
        (CLAMP,) * 3,
        (MIRROR,) * 3,
        (BORDER,) * 3,
        (MIRROR, WRAP, CLAMP),
        (CLAMP, BORDER, WRAP),
    ):
        check(Setting(geometry, Decode.WORD, data, linear, True, modes, border), choose, 160)
    for mode in (CLAMP, BORDER):
        check(Setting(geometry, Decode.WORD, data, linear, False, (mode,) * 3, border), choose, 160)


@pytest.mark.parametrize("geometry", ["1d", "2d", "3d"])
def test_filtering_of_every_format(geometry: str) -> None:
    choose = np.random.default_rng(3)
    for decode in FRACTIONS:
        for channels in (1, 4):
            data = texels(choose, decode, shape_of(geometry, channels))
            check(Setting(geometry, decode, data, linear=True), choose, 320 if channels == 1 else 64)


@pytest.mark.parametrize("width", [1, 2, 7, 333, 1024, 20000, 100000])
def test_normalized_coordinates_of_many_widths(width: int) -> None:
    data = np.arange(width, dtype=np.float32).reshape(1, 1, width, 1)
    for linear, mode in itertools.product((False, True), (WRAP, CLAMP)):
        check(Setting("1d", Decode.WORD, data, linear, True, (mode,) * 3), np.random.default_rng(width), 256)


def test_numbers_that_are_none_and_too_large() -> None:
    """An infinite texel counts if it has a weight; two of different sign, and NaN, give the card's NaN."""
    for decode, nan in ((Decode.WORD, 0x7FFFFFFF), (Decode.F16, 0x7FFFE000)):
        kind = np.float32 if decode == Decode.WORD else np.float16
        data = np.array([np.inf, 1, -np.inf, np.nan], kind).reshape(1, 1, 4, 1)
        handle = place(memory(), Setting("1d", decode, data, linear=True))
        x = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5], np.float32)
        found, _ = run("tex_1d", handle, rows(np.zeros(7, np.int64), x))
        assert [hex(v) for v in found[:, 0]] == [
            hex(v) for v in (0x7F800000, 0x7F800000, 0x3F800000, 0xFF800000, 0xFF800000, nan, nan)
        ]


def test_gather_takes_the_texels_that_filtering_would() -> None:
    choose = np.random.default_rng(5)
    data = texels(choose, Decode.UNORM8, (1, 6, 13, 4))
    handle = place(memory(), Setting("2d", Decode.UNORM8, data))
    x, y = choose.uniform(0, 13, 64).astype(np.float32), choose.uniform(0, 6, 64).astype(np.float32)
    left, above = np.floor(x * 256 - 127.5).astype(int) >> 8, np.floor(y * 256 - 127.5).astype(int) >> 8
    for channel, name in enumerate("rgba"):
        found, record = run(f"tld4_{name}", handle, rows(np.zeros(64, np.int64), x, y))
        for number, (right, below) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
            wanted = data[0, np.clip(above + below, 0, 5), np.clip(left + right, 0, 12), channel]
            assert (found[:, number].view(np.float32) == wanted.astype(np.float32) / np.float32(255)).all()
        assert record.accesses[0].space == Space.GLOBAL


def test_cubemaps_choose_the_face_of_the_largest_coordinate() -> None:
    """Faces +x, -x, +y, -y, +z, -z; in each texel the number of its face, row and column."""
    data = np.arange(2 * 6 * 16 * 16, dtype=np.float32).reshape(12, 16, 16, 1)
    choose = np.random.default_rng(6)
    direction = choose.uniform(-1, 1, (3, 96)).astype(np.float32)
    layer = choose.integers(0, 2, 96)
    major = np.abs(direction).argmax(axis=0)
    sign = np.take_along_axis(direction, major[None], axis=0)[0] < 0
    x, y, z = direction / np.abs(direction).max(axis=0)
    across = np.select([major == 2, major == 1], [np.where(sign, -x, x), x], np.where(sign, z, -z))
    down = np.select([major == 2, major == 1], [-y, np.where(sign, -z, z)], -y)
    place_of = [np.floor((v * 0.5 + 0.5) * 16).astype(int) for v in (across, down)]
    face = 2 * major + sign
    for geometry, faces in (("cube", face), ("acube", 6 * layer + face)):
        data_of = data[:6] if geometry == "cube" else data
        handle = place(memory(), Setting(geometry, Decode.WORD, data_of, normalized=True))
        found, _ = run(f"tex_{geometry}", handle, rows(layer, *direction))
        assert (found[:, 0].view(np.float32) == faces * 256 + place_of[1] * 16 + place_of[0]).all()


def test_fetches_outside_of_linear_memory_are_zero() -> None:
    data = np.arange(1, 9, dtype=np.uint8).reshape(1, 1, 8, 1)
    given = np.zeros((32, 4), np.uint32)
    given[:, 1] = np.arange(-8, 24, dtype=np.int32).view(np.uint32)
    found, _ = run("fetch_1d", place(memory(), Setting("1d", Decode.U8, data), tiled=False), given)
    assert found[:, 0].tolist() == [0] * 8 + list(range(1, 9)) + [0] * 16


def surface(choose: np.random.Generator) -> tuple[npt.NDArray[np.uint32], int]:
    data = choose.integers(0, 1 << 32, (1, 6, 16, 1), dtype=np.uint32)
    return data, place(memory(), Setting("2d", Decode.WORD, data), magic=SURFACE_MAGIC)


def surface_rows(
    x: npt.NDArray[np.int64], y: npt.NDArray[np.int64], value: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    given = np.zeros((len(x), 4), np.uint32)
    given[:, 1], given[:, 2] = x.astype(np.int32).view(np.uint32), y.astype(np.int32).view(np.uint32)
    given[:, 3] = value
    return given


@pytest.mark.parametrize("mode", ["zero", "clamp"])
def test_surfaces_at_their_boundaries(mode: str) -> None:
    choose = np.random.default_rng(7)
    data, handle = surface(choose)
    x, y = choose.integers(-5, 20, 96) * 4, choose.integers(-3, 9, 96)
    inside = (x >= 0) & (x < 64) & (y >= 0) & (y < 6)
    wanted = data[0, np.clip(y, 0, 5), np.clip(x // 4, 0, 15), 0]
    found, _ = run(f"suld_{mode}", handle, surface_rows(x, y, np.zeros(96, np.uint32)))
    wanted = wanted if mode == "clamp" else np.where(inside, wanted, 0)
    assert (found[:, 2] == wanted).all()
    assert (found[:, 0] == wanted & 0xFFFF).all()
    assert (found[:, 1] == wanted >> 16).all()


def test_surface_stores_and_reductions() -> None:
    choose = np.random.default_rng(8)
    data, handle = surface(choose)
    x, y = choose.permutation(96) % 16, np.arange(96) // 16
    places = choose.permutation(96)
    x, y = places % 16, places // 16
    value = choose.integers(0, 1 << 32, 96, dtype=np.uint32)
    run("sust_zero", handle, surface_rows(4 * x, y, value))
    run("sust_zero", handle, surface_rows(4 * x + 64, y, ~value))  # outside: nothing
    run("sured", handle, surface_rows(4 * x, y, value))
    found, _ = run("suld_zero", handle, surface_rows(4 * x, y, value))
    total = value + value
    assert (found[:, 2] == np.maximum(total.view(np.int32), value.view(np.int32)).view(np.uint32)).all()
    assert data.shape == (1, 6, 16, 1)


def test_misuse_is_a_fault_that_says_what_it_is() -> None:
    choose = np.random.default_rng(9)
    _, handle = surface(choose)
    nothing = np.zeros(32, np.uint32)
    with pytest.raises(
        KernelFault, match=r"out-of-bounds surface access of 4 bytes, which traps \(PTX ISA 9\.7\.11\.1"
    ):
        run("suld_trap", handle, surface_rows(np.full(32, 64), np.zeros(32, np.int64), nothing))
    with pytest.raises(KernelFault, match="surface access of 4 bytes whose x is no multiple of 4"):
        run("suld_zero", handle, surface_rows(np.full(32, 6), np.zeros(32, np.int64), nothing))
    with pytest.raises(KernelFault, match="handle of a texture or surface is none"):
        run("tex_2d", handle, rows(np.zeros(32, np.int64), np.zeros(32, np.float32), np.zeros(32, np.float32)))
    texture = place(memory(), Setting("2d", Decode.U8, np.zeros((1, 4, 4, 1), np.uint8)))
    with pytest.raises(KernelFault, match="another geometry"):
        run("tex_3d", texture, rows(np.zeros(32, np.int64)))
    memory().free(texture)
    with pytest.raises(KernelFault, match="was destroyed"):
        run("tex_2d", texture, rows(np.zeros(32, np.int64)))


def sectors(name: str, handle: int, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> int:
    """Of one request of a warp (as basis PTX)."""
    _, record = run(name, handle, rows(np.zeros(32, np.int64), x.astype(np.float32), y.astype(np.float32)))
    return sum(a.sectors or 0 for a in record.accesses if a.space == Space.TEXTURE and a.basis == "ptx")


def test_sectors_are_those_of_groups_of_lanes() -> None:
    """As the profiler counted them on an H200: l1tex__t_sectors_pipe_tex_mem_texture."""
    lane = np.arange(32)
    none = 0 * lane
    patterns = [(lane, none), (lane % 8, lane // 8), (lane % 4, lane // 4), (none, lane), (none + 5, none + 5),
                (2 * lane, none), (4 * lane, none), (3 + lane, none + 1)]  # fmt: skip
    data = np.zeros((1, 64, 256, 1), np.float32)
    plain = place(memory(), Setting("2d", Decode.WORD, data))
    filtered = place(memory(), Setting("2d", Decode.WORD, data, linear=True))
    wide = place(memory(), Setting("2d", Decode.WORD, np.zeros((1, 64, 256, 4), np.float32)))
    counted = [
        [sectors("tex_2d", handle, x + offset, y + offset) for x, y in patterns]
        for handle, offset in ((plain, 0.5), (wide, 0.5), (filtered, 0.75))
    ]
    assert counted == [
        [8, 8, 8, 16, 8, 16, 32, 16],
        [32, 32, 32, 16, 8, 32, 32, 32],
        [16, 24, 24, 24, 16, 16, 32, 32],
    ]
