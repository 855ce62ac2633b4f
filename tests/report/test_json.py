"""JSON: equal to its schema, deterministic, read back whole, and clear about files that are not reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from golden import check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import ALL, faulted, mixed, transposes

from lanewise.errors import UsageError
from lanewise.records import RunResult
from lanewise.report.json import from_json, schema, to_json
from lanewise.report.reference import json_page, metrics_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ALL)
def test_output_is_as_the_schema_says(name: str) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    assert [error.message for error in validator.iter_errors(json.loads(to_json(ALL[name]())))] == []


@pytest.mark.parametrize("name", ALL)
def test_a_report_is_read_back_whole(name: str) -> None:
    assert from_json(to_json(ALL[name]())) == ALL[name]()


def test_the_same_result_gives_the_same_bytes() -> None:
    first = mixed()
    shuffled = replace(first, sources=dict(reversed(first.sources.items())))
    slower = replace(shuffled, launches=tuple(replace(launch, seconds=9.5) for launch in first.launches))
    assert to_json(slower) == to_json(first)
    assert to_json(first).endswith("}\n")
    assert "seconds" not in to_json(slower)


def test_a_launch_has_the_documented_fields() -> None:
    document = json.loads(to_json(transposes()))
    assert list(document) == [
        "schema", "lanewise", "program", "device", "arch", "exit_code",
        "launches", "sources", "findings", "unsupported", "notes", "check", "has_host", "code",
    ]  # fmt: skip
    launch = document["launches"][1]
    assert {
        "kernel", "grid", "block", "registers", "static_shared_bytes", "dynamic_shared_bytes", "local_bytes",
        "ptx_instructions", "ptx_thread_instructions", "occupancy", "accesses", "lines", "findings",
    } <= set(launch)  # fmt: skip
    assert (launch["registers"], launch["static_shared_bytes"], launch["grid"]) == (16, 4096, [64, 64, 1])
    load = launch["accesses"][2]
    assert (load["space"], load["kind"], load["wavefronts"], load["wavefronts_ideal"]) == (
        "shared", "load", 32 * 131_072, 131_072,
    )  # fmt: skip
    assert (load["sectors"], load["inlined_at"], load["pattern"]) == (None, None, "strided")


def test_accesses_stand_on_a_line_each() -> None:
    lines = to_json(transposes()).splitlines()
    assert sum(line.strip().startswith('{"basis": "ptx"') for line in lines) == 10


def test_a_launch_without_ptxas_has_null_resources() -> None:
    launch = replace(transposes().launches[0], resources=None, occupancy=None)
    result = replace(transposes(), launches=(launch,))
    document = json.loads(to_json(result))
    jsonschema.validate(document, schema())
    assert document["launches"][0]["registers"] is None
    assert from_json(to_json(result)) == result


def _changed(path: list[str | int], value: object) -> str:
    document = json.loads(to_json(faulted()))
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "r.json is not JSON"),
        ("{", "r.json is not JSON"),
        ("[" * 100_000, "r.json is not JSON"),
        ("[]", "r.json is not a report of Lanewise"),
        ('{"schema": "1", "lanewise": "x"}', "r.json is not a report of Lanewise"),
        (_changed(["schema"], 2), "has schema 2, written by Lanewise"),
        (_changed(["launches"], {}), "launches must be a list"),
        (_changed(["launches", 0, "grid"], [1, 2]), r"launches\[0\].grid must be a list of 3"),
        (_changed(["launches", 0, "registers"], "many"), r"launches\[0\].resources.registers must be an integer"),
        (_changed(["launches", 0, "accesses", 1, "requests"], 1.5), r"accesses\[1\].requests must be an integer"),
        (_changed(["launches", 0, "accesses", 1, "requests"], True), r"accesses\[1\].requests must be an integer"),
        (_changed(["launches", 0, "accesses", 1, "space"], "moon"), r"accesses\[1\].space must be .*, not 'moon'"),
        (_changed(["launches", 0, "kernel"], ...), r"launches\[0\].kernel is missing"),
        (_changed(["sources"], {"a.cu": 1}), "sources must be an object of texts"),
        (_changed(["notes"], None), "notes must be a list"),
    ],
)
def test_broken_files_are_named_with_the_place(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        from_json(text, name="r.json")
    assert caught.value.next_step


def test_fields_of_a_later_version_are_skipped() -> None:
    text = _changed(["launches", 0, "modelled_microseconds"], 12)
    assert from_json(text) == faulted()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure
@given(
    st.sampled_from(["launches", "findings", "sources", "notes", "exit_code", "device"]),
    _JSON,
)
def test_any_value_anywhere_is_read_or_refused_clearly(key: str, value: object) -> None:
    try:
        outcome: RunResult | str = from_json(_changed([key], value))
    except UsageError as error:
        outcome = error.message
    assert isinstance(outcome, RunResult) or key in outcome


def test_pages_are_made_from_the_schema() -> None:
    check(DOCS / "json.md", json_page())
    check(DOCS / "metrics.md", metrics_page())


def test_every_count_of_an_access_has_a_unit() -> None:
    access = schema()["$defs"]["access"]["properties"]
    unitless = {
        "line", "ptx_line",
    }  # fmt: skip
    numbers = {name for name, field in access.items() if "integer" in str(field.get("type"))}
    assert {name for name in numbers if "unit" not in access[name]} == unitless
