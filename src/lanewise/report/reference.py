"""The pages `docs/json.md` and `docs/metrics.md`, made from the JSON schema, where units and metrics stand.

`make golden` writes the pages; a test fails where they are out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanewise.report.json import schema

_JSON_INTRODUCTION = """\
# The JSON report

`lanewise run --json FILE program.cu` writes one JSON object (ASCII, ended by a newline). The same program, input and
options give the same bytes; no field depends on the time or on the number of threads. Counts are of one launch:
launches are never folded here, as they are on the terminal.

The same program means the same PTX and machine code. NVRTC 13.0 does not always make the same PTX of one source (8 of
153 compilations of one of the ladder's kernels had a load more); what was compiled once is kept, see
[architecture](architecture.md).

The JSON Schema is `lanewise/report/schema-1.json` in the installed package, and this page is made from it. Within
schema 1 a later version may add fields; it removes and redefines none. `lanewise.report.json.from_json` reads the file
back, skips fields that it does not know, and says what is wrong with a broken file or one of a newer schema.
Units and the profiler's metrics are on the page [metrics](metrics.md).
"""

_METRICS_INTRODUCTION = """\
# Units and metrics

Every number of a report with its unit, and the metric of Nsight Compute that it stands for. Metrics without a prefix
(`inst_executed`, `memory_...`) are those of its source page, per instruction; a number of Lanewise is the sum that the
source page shows beside a line.

**Basis.** Counts with `basis` `ptx` are of PTX instructions. ptxas merges, widens, unrolls and deletes instructions on
the way to machine code, which is what a profiler counts: those have the `basis` `sass`, one entry a machine
instruction, and the terminal shows them where the machine code is known. Both stand in the JSON. Counts of PTX
instructions (`ptx_instructions`, `ptx_thread_instructions`) have no counterpart in a profiler, and the table says so.

**Warp level and thread level.** A *request* is one instruction of one warp, whatever the number of its active lanes.
`threads` counts lanes. Threads over requests is lanes per request; sectors are divided by requests, never by threads.

**Ideal.** For `n` lanes of `w` bytes: at least `n * w / 32` sectors, or `n * w / 128` wavefronts, rounded up for each
request; and never more than the request took, so a broadcast of one word has the ideal 1. An *n-way conflict* is
wavefronts over ideal wavefronts: contiguous 128-bit accesses take 4 wavefronts, all ideal, and are no conflict.

**Pattern.** *broadcast*: all lanes at one address. *contiguous*: neighbouring lanes at neighbouring addresses, or in
any order one run without holes, or runs of at least a sector each; where its runs start inside a sector it takes more
than its ideal. *strided*: a constant distance apart that is wider than an element (`stride_bytes`, negative where
addresses fall as lanes rise). *scattered*: anything else.

**On the terminal** launches of one kernel with the same grid, block and shared memory are folded where their accesses
have the same patterns and, to the nearest whole number, the same sectors and wavefronts per request. Where all of them
counted the same the numbers are of one launch, else they are summed; the block says which. Accesses of one line are
joined only where every number per request is the same (as copies of an unrolled loop are).
"""

_NO_TWIN = "none: PTX has no counterpart in a profiler"


def json_page() -> str:
    document = schema()
    return "\n".join([_JSON_INTRODUCTION, *_sections(document, _field_rows, "| field | type | meaning |")])


def metrics_page() -> str:
    document = schema()
    return "\n".join([_METRICS_INTRODUCTION, *_sections(document, _metric_rows, "| field | unit | Nsight Compute |")])


def _sections(document: dict[str, Any], rows: Any, head: str) -> Iterator[str]:
    for title, entry in (("The report", document), *((d["title"], d) for d in document["$defs"].values())):
        lines = list(rows(entry))
        if lines:
            yield f"## {title}\n\n{entry['description']}\n\n{head}\n| --- | --- | --- |"
            yield from lines
            yield ""


def _field_rows(entry: dict[str, Any]) -> Iterator[str]:
    for name, field in entry["properties"].items():
        yield f"| `{name}` | {_type(field)} | {field['description']} |"


def _metric_rows(entry: dict[str, Any]) -> Iterator[str]:
    for name, field in entry["properties"].items():
        if "unit" in field:
            twin = field.get("metric", _NO_TWIN if "PTX" in field["unit"] else "-")
            yield f"| `{name}` | {field['unit']} | {twin} |"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return f"[{_anchor(field)}](#{_anchor(field).replace(' ', '-')})"
    if "anyOf" in field:
        return " or ".join(_type(option) for option in field["anyOf"])
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join("null" if value is None else f"`{value}`" for value in field["enum"])
    kinds = [field["type"]] if isinstance(field["type"], str) else field["type"]
    words = {"string": "text", "boolean": "true or false", "array": "list", "number": "number"}
    names = [words.get(kind, kind) for kind in kinds]
    if "items" in field:
        size = f"{field['minItems']} " if "minItems" in field else ""
        names[0] = f"list of {size}{_type(field['items'])}"
    return " or ".join(names)


def _anchor(field: dict[str, Any]) -> str:
    return str(field["$ref"]).rsplit("/", 1)[-1].replace("_", " ")
