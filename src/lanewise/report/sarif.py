"""Findings as SARIF 2.1.0 (OASIS), as code hosts and editors read it."""

from __future__ import annotations

import json
from typing import Any

from lanewise.records import Finding, RunResult, Severity, Side
from lanewise.version import __version__

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_RULES = {
    "bounds": "An access outside of what it may touch",
    "race": "Two accesses of the same bytes that nothing orders",
    "uninitialised": "A value that was never written decides what happens",
    "barrier": "Threads that wait where others do not come",
    "leak": "Device memory that is never freed",
}


def to_sarif(result: RunResult, findings: tuple[Finding, ...]) -> str:
    """One run of SARIF with a result a finding. The same result gives the same text."""
    used = sorted({finding.check for finding in findings} | _RULES.keys())
    rules = [{"id": name, "shortDescription": {"text": _RULES.get(name, name)}} for name in used]
    check = result.check
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "lanewise", "version": __version__, "rules": rules}},
        "results": [_result(finding, used) for finding in findings],
        "invocations": [{"executionSuccessful": not result.unsupported}],
    }
    if check is not None:
        run["properties"] = {
            "checks": list(check.checks),
            "launches": check.launches,
            "accesses": check.accesses,
            "threads": check.threads,
            "suppressed": check.suppressed,
        }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: Finding, rules: list[str]) -> dict[str, Any]:
    text = ". ".join([finding.message, *finding.evidence, *([finding.next_step] if finding.next_step else [])])
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rules.index(finding.check),
        "level": _LEVEL[finding.severity],
        "message": {"text": text},
    }
    if finding.file is not None and finding.line is not None:
        result["locations"] = [_location(finding.file, finding.line)]
    related = [_side(side) for side in finding.sides if side.file is not None and side.line is not None]
    if related:
        result["relatedLocations"] = related
    return result


def _location(file: str, line: int) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": max(1, line)}}}


def _side(side: Side) -> dict[str, Any]:
    assert side.file is not None
    assert side.line is not None
    who = f"{side.did} by thread {side.thread or 'unknown'} of block {side.block or 'unknown'}"
    return {**_location(side.file, side.line), "message": {"text": who}}
