"""The HTML report: what stands in it, that it loads nothing, and that other people's text stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from html_samples import advised
from samples import ALL

import lanewise.report.html
from lanewise.catalogue import catalogue
from lanewise.records import RunResult
from lanewise.report.html import to_html

VOID = {"meta", "link", "br", "input", "img", "hr"}
EVERY = {**ALL, "advised": advised}


class Page(HTMLParser):
    """Elements in order as (tag, attributes, text inside, kinds of the elements around)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str], tuple[str, ...]]] = []
        self.open: list[int] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"<{tag}> has an attribute twice"
        around = tuple(self.elements[at][0] for at in self.open)
        self.elements.append((tag, dict(attrs), [], around))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for at in self.open:
            self.elements[at][2].append(data)

    def all(self, *tags: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, "".join(text).strip()) for tag, attributes, text, _ in self.elements if tag in tags]


@pytest.fixture(scope="module", params=EVERY)
def page(request: pytest.FixtureRequest) -> Page:
    parsed = Page(to_html(EVERY[request.param]()))
    assert parsed.open == []
    return parsed


def test_the_same_result_gives_the_same_bytes() -> None:
    assert to_html(advised()) == to_html(advised())


def test_ids_are_unique_and_every_reference_has_its_target(page: Page) -> None:
    ids = [attributes["id"] for _, attributes, _, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes, _, _ in page.elements:
        wanted = [(attributes.get(key) or "").removeprefix("#") for key in ("href", "aria-labelledby", "for")]
        assert {reference for reference in wanted if reference} <= set(ids)


def test_nothing_is_loaded_from_anywhere(page: Page) -> None:
    for tag, attributes, _, _ in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "foreignobject")
        assert not {"src", "srcset", "data", "action", "style", "xlink:href"} & set(attributes)
        assert not [key for key in attributes if key.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    ((_, style),) = page.all("style")
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_of_the_page_allows_its_own_script_and_style_alone() -> None:
    text = to_html(advised())
    policy = next(a["content"] for a, _ in Page(text).all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        content = text.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_landmarks_and_headings_are_in_order(page: Page) -> None:
    assert page.all("html")[0][0]["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.all(landmark)) == 1
    levels = [int(tag[1]) for tag, _, _, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    first_link = page.all("a")[0]
    assert first_link[0]["href"] == "#report"


def test_tables_have_names_and_heads(page: Page) -> None:
    tables = len(page.all("table"))
    assert tables == len(page.all("thead"))
    assert tables == len(page.all("caption")) + sum(
        "aria-labelledby" in attributes for attributes, _ in page.all("table")
    )
    for attributes, _ in page.all("th"):
        assert attributes.get("scope") in ("row", "col")
    for attributes, _ in page.all("svg"):
        assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-label"])


def test_the_page_says_what_the_terminal_says() -> None:
    page = Page(to_html(advised()))
    articles = {attributes.get("id"): text for attributes, text in page.all("article")}
    assert "transpose.cu:4 Strided store: neighbouring lanes are 8,192 bytes apart." in articles["a1.1"]
    assert "a tile in shared memory: 74.0 -> 17.0 us (tried: re-run)" in articles["a1.1"]
    assert "4,224 bytes of shared memory a block, and a barrier" in articles["a1.1"]
    assert "lanewise ladder transpose --show padded" in articles["a1.1"]
    rows = [re.sub(r"\s+", " ", text) for _, text in page.all("tr")]
    assert "!! twice its ideal or morestore global out f32131,07232 sectors4strided by 8,192 bytes" in rows
    assert "Registers and L116 MB16 MB128 MB16 MB–" in rows
    assert "L2 and DRAM16 MB–15 MB–50%" in rows
    assert any("STG.E desc[UR4][R4.64], R3" in text for _, text in page.all("pre"))
    summaries = [re.sub(r"\s+", " ", text) for _, text in page.all("summary")]
    assert "transpose.cu:4, store global out, 32 bits: !! 32 lanes take part, 32 sectors, ideal 4" in summaries
    assert "transpose.cu:12, load shared t, 32 bits: !! 32 lanes take part, 32 wavefronts, ideal 1" in summaries
    assert "code without a source line" in summaries
    names = [attributes["aria-label"] or "" for attributes, _ in page.all("svg") if "aria-label" in attributes]
    assert sum(name.startswith("Threads a block: 1024, 64 of 64 warps") for name in names) == 3
    assert sum(name.startswith("Roofline") for name in names) == 1


def test_copies_of_an_access_are_drawn_once() -> None:
    result = advised()
    second = result.launches[1]
    samples = tuple(
        replace(sample, ptx_line=60 + copy, base=4096 * copy + shift)
        for sample in second.samples
        for shift in (0, 4)
        for copy in range(8)
    )
    page = Page(to_html(replace(result, launches=(replace(second, samples=samples),))))
    assert sum(attributes.get("class") == "map" for attributes, _ in page.all("details")) == 2


BAD = "</script></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}{% x %}\u202e\x1b\ud800"


def _with_bad_texts(record: Any) -> Any:
    """The record with every text that a program brings replaced."""
    if isinstance(record, tuple):
        return tuple(_with_bad_texts(item) for item in record)
    if isinstance(record, dict):
        return dict.fromkeys(record, f"int x; // {BAD}\n\r\n" * 40)
    if not is_dataclass(record) or isinstance(record, type):
        return record
    mine = {"symbol", "opcode", "key", "part", "rung", "file", "basis", "device"}  # what texts are looked up by
    changed = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if type(value) is str and field.name not in mine:
            changed[field.name] = BAD
        elif field.name == "values" or type(value) is str:
            continue
        elif isinstance(value, tuple) and value and type(value[0]) is str:
            changed[field.name] = (BAD,) * len(value)
        else:
            changed[field.name] = _with_bad_texts(value)
    return replace(record, **changed)


@pytest.mark.parametrize("name", EVERY)
def test_hostile_text_stays_text(name: str) -> None:
    result: RunResult = EVERY[name]()
    text = to_html(_with_bad_texts(result))
    text.encode()  # no lone surrogates
    assert re.findall("[\u202e\x1b\ud800]", text) == []
    page, clean = Page(text), Page(to_html(result))
    assert "49}" not in text
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.all("img") == []
    assert {tag for tag, *_ in page.elements} <= {tag for tag, *_ in clean.elements} | {"span", "br", "p", "code"}


def test_every_label_of_the_page_is_used_and_known() -> None:
    folder = Path(lanewise.report.html.__file__).parent
    sources = "".join(path.read_text() for path in [*folder.rglob("*.j2"), *folder.rglob("*.py")])
    used = set(re.findall(r'"html\.([a-z0-9_]+)"', sources))
    used |= {f"{start}{key}" for start, keys in _COMPOSED.items() for key in keys}
    known = {key.removeprefix("html.") for key in catalogue().sentences if key.startswith("html.")}
    assert sorted(used - set(_COMPOSED)) == sorted(known)


_COMPOSED = {
    "level_": ("registers", "shared", "l1", "l2", "dram"),
    "flow_": ("shared", "l1", "l2", "dram"),
    "curve_": ("block", "registers", "shared"),
}


def test_many_kernels_make_a_page_of_a_sane_size() -> None:
    one = advised().launches[0]
    many = tuple(
        replace(one, id=n, kernel=f"kernel_{n}(float*)", symbol=f"_Z{n}", samples=one.samples * 4) for n in range(50)
    )
    text = to_html(replace(advised(), launches=many))
    assert len(text) < 2_000_000
    opened = [attributes for attributes, _ in Page(text).all("details") if attributes.get("class") == "kernel"]
    assert len(opened) == 50
    assert not any("open" in attributes for attributes in opened)


def test_python_gives_the_same_page() -> None:
    import numpy as np

    import lanewise as package

    kernel = package.compile("__global__ void twice(int* a) { a[threadIdx.x] *= 2; }")["twice"]
    record = kernel[1, 32](np.arange(32, dtype=np.int32))
    page = Page(record.html())
    assert any("a[threadIdx.x] *= 2" in text for _, text in page.all("summary"))
    assert any("STG.E" in text for _, text in page.all("pre"))
