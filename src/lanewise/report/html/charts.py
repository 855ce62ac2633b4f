"""Curves and the roofline as static SVG, drawn by pygal; colours and type are the style sheet's.

What pygal adds for charts that stand alone (styles, a script, comments with the date) is taken out again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

from markupsafe import Markup
from pygal.graph.xy import XY

from lanewise.errors import UsageError
from lanewise.hardware import device
from lanewise.hardware.capability import WARP_SIZE, Limits
from lanewise.hardware.launch import refuse
from lanewise.hardware.occupancy import occupancy
from lanewise.records import LaunchRecord, Roof
from lanewise.report import text
from lanewise.report.roofline import DECADES_BEYOND

_CURVE = (330, 210)
_ROOFLINE = (760, 380)
_DROPPED = ("defs", "title", "desc")
_SHARED_STEP = 2048  # bytes
# Units of the drawing: what a number needs across and up; where a label stands from its dot, and below its middle;
# from where on it stands on the left.
_LABEL = (34, 13)
_BESIDE, _BASELINE, _LEFT_FROM = 9, 4, 600
_SHARED_TICK = 32 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Curve:
    """Warps on an SM by one quantity; `key` names it in the catalogue, `at` is where the launch stands."""

    key: str
    at: int
    warps: int
    most: int  # warps that an SM holds
    points: tuple[tuple[int, int], ...]

    def chart(self, label: str) -> Markup:
        """`label` is what the drawing is called."""
        return _curve_chart(self, label)


def limits_of(launch: LaunchRecord) -> Limits | None:
    """Of the device by its name; None for a device file that did not come with the package."""
    try:
        return None if launch.device.endswith(".toml") else device.load(launch.device).limits
    except UsageError:
        return None


def occupancy_curves(launch: LaunchRecord) -> tuple[Curve, ...]:
    """By block size, by registers, by shared memory, the other two as they are; nothing where they are not known."""
    limits, given = limits_of(launch), launch.resources
    if limits is None or given is None or launch.occupancy is None:
        return ()
    threads = math.prod(launch.block)
    shared = given.static_shared_bytes + launch.dynamic_shared_bytes
    return _curves(limits, threads, given.registers, shared)


@lru_cache(maxsize=256)
def _curves(limits: Limits, threads: int, registers: int, shared: int) -> tuple[Curve, ...]:
    def warps(size: int, count: int, memory: int) -> int:
        why = refuse(limits, (1, 1, 1), (size, 1, 1), registers_per_thread=count, static_shared=0,
                     dynamic_shared=memory, dynamic_shared_allowed=memory)  # fmt: skip
        if why is not None:
            return 0
        found = occupancy(limits, threads_per_block=size, registers_per_thread=count, dynamic_shared=memory)
        return found.active_warps

    now, most = warps(threads, registers, shared), limits.max_warps_per_sm
    sizes = range(WARP_SIZE, limits.max_threads_per_block + 1, WARP_SIZE)
    counts = range(8, limits.registers_per_thread + 1, 4)
    memories = range(0, limits.shared_per_block_optin + 1, _SHARED_STEP)
    return (
        Curve("block", threads, now, most, _corners((n, warps(n, registers, shared)) for n in sizes)),
        Curve("registers", registers, now, most, _corners((n, warps(threads, n, shared)) for n in counts)),
        Curve("shared", shared, now, most, _corners((n, warps(threads, registers, n)) for n in memories)),
    )


def _corners(points: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Only the points at which the line bends."""
    kept: list[tuple[int, int]] = []
    for point in points:
        if len(kept) > 1 and kept[-1][1] == kept[-2][1] == point[1]:
            kept.pop()
        kept.append(point)
    return tuple(kept)


@lru_cache(maxsize=512)
def _curve_chart(curve: Curve, label: str) -> Markup:
    kilobytes = curve.key == "shared"
    labels = [curve.most * quarter // 4 for quarter in range(5)]
    chart = _chart(_CURVE, range=(0, curve.most), y_labels=labels, margin_right=22)
    last = curve.points[-1][0]
    step = last / 4
    if kilobytes:
        chart.x_labels = list(range(0, last + 1, _SHARED_TICK * (2 if last > 4 * _SHARED_TICK else 1)))
        chart.x_value_formatter = lambda value: text.size(round(value))
    else:
        chart.x_labels = [round(n * step / 32) * 32 for n in range(5)]
        chart.x_value_formatter = lambda value: f"{value:.0f}"
    chart.value_formatter = lambda value: f"{value:.0f}"
    chart.add("", list(curve.points), show_dots=False)
    chart.add("", [(curve.at, curve.warps)], stroke=False, dots_size=5)
    return _svg(chart, label)


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel in the roofline; `number` is that of its block."""

    number: int
    name: str
    roof: Roof

    @property
    def share(self) -> float:
        """Speed reached of what is possible at these operations a byte."""
        roof = self.roof
        return roof.gflops / min(roof.gflops_roof, (roof.flops_per_byte or 0) * roof.dram_roof_gb_s)


def roofline_points(kernels: Sequence[tuple[int, str, Roof | None]]) -> tuple[Point, ...]:
    """Those with operations and bytes of DRAM."""
    return tuple(
        Point(number, name, roof)
        for number, name, roof in kernels
        if roof is not None and roof.flops_per_byte and roof.gflops > 0
    )


def roofline_chart(points: Sequence[Point], label: str) -> Markup:
    """Speed over operations a byte, both logarithmic, under the roofs of DRAM and arithmetic. Kernels that hardly touch
    DRAM stand at the right edge."""
    roof = max((point.roof for point in points), key=lambda roof: roof.gflops_roof)
    ridge, slope, ceiling = (
        math.log10(roof.gflops_roof / roof.dram_roof_gb_s),
        math.log10(roof.dram_roof_gb_s),
        math.log10(roof.gflops_roof),
    )
    right = math.ceil(ridge) + DECADES_BEYOND
    at = [(min(math.log10(p.roof.flops_per_byte or 1), right), math.log10(p.roof.gflops)) for p in points]
    left = math.floor(min(*(x for x, _ in at), ridge - 1))
    top = math.ceil(ceiling + 0.1)
    bottom = math.floor(min(*(y for _, y in at), top - 3))
    chart = _chart(_ROOFLINE, range=(bottom, top), xrange=(left, right), margin_right=60)
    chart.x_labels = list(range(left, right + 1))
    chart.y_labels = list(range(bottom, top + 1))
    chart.x_value_formatter = _power
    chart.value_formatter = _power
    begin = max(left, bottom - slope)
    chart.add("", [(begin, begin + slope), (ridge, ceiling), (right, ceiling)], show_dots=False)
    decade = (_ROOFLINE[0] / (right - left), _ROOFLINE[1] / (top - bottom))
    labels = _together(at, [point.number for point in points], decade)
    chart.add(
        "",
        [{"value": place} for place in at],
        stroke=False,
        dots_size=5,
    )
    return _svg(chart, label, {number: words for number, words in enumerate(labels) if words})


def _together(at: Sequence[tuple[float, float]], numbers: Sequence[int], decade: tuple[float, float]) -> list[str]:
    """Labels of points: those of neighbours that would lie on each other stand together, beside the rightmost of
    them; the others' are empty."""
    groups: list[list[int]] = []
    for point, place in enumerate(at):
        near = (
            group
            for group in groups
            if any(all(abs(p - q) * d < room for p, q, d, room in zip(place, at[other], decade, _LABEL, strict=True))
                   for other in group)
        )  # fmt: skip
        group = next(near, None)
        if group is None:
            groups.append([point])
        else:
            group.append(point)
    labels = [""] * len(at)
    for group in groups:
        rightmost = max(group, key=lambda point: at[point][0])
        labels[rightmost] = ", ".join(str(numbers[point]) for point in group)
    return labels


def _power(exponent: float) -> str:
    return f"{10.0**exponent:,.{max(0, -round(exponent))}f}"


def _chart(size: tuple[int, int], **options: object) -> XY:
    return XY(
        width=size[0],
        height=size[1],
        js=(),
        css=(),
        margin=8,
        no_prefix=True,
        disable_xml_declaration=True,
        show_legend=False,
        show_x_guides=True,
        **options,
    )


def _svg(chart: XY, label: str, beside: Mapping[int, str] | None = None) -> Markup:
    """The drawing as one image with a name, without what only a file of its own needs. `beside`: what stands beside
    dots, by their places among all; pygal's own labels lie some way off."""
    root = ElementTree.fromstring(chart.render(is_unicode=True))
    groups = [group for group in root.iter() if group.get("class") == "dots"]
    for number, words in (beside or {}).items():
        _label_dot(groups[number], words)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in _DROPPED:
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib.pop("style", None)
        if not element.get("class"):
            element.attrib.pop("class", None)
    root.attrib = {"class": "chart", "viewBox": root.get("viewBox", ""), "role": "img", "aria-label": label}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _label_dot(group: ElementTree.Element, words: str) -> None:
    """Right of the dot, or left of it near the right edge."""
    dot = next(child for child in group if child.tag.endswith("circle"))
    x, y = float(dot.get("cx", 0)), float(dot.get("cy", 0))
    left = x > _LEFT_FROM
    place = {"class": "left" if left else "right", "x": f"{x - _BESIDE if left else x + _BESIDE:.1f}"}
    ElementTree.SubElement(group, "text", {**place, "y": f"{y + _BASELINE:.1f}"}).text = words
