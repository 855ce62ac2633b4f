"""Tiny kernels with the expected finding on its line, and their clean twins."""

from __future__ import annotations

import numpy as np
import pytest
from checked_programs import FOLDER, Case, all_cases, argument, check, disagreements, lines_of, module

import lanewise

CASES = all_cases()


def test_there_are_enough_of_both_kinds() -> None:
    clean = sum(case.clean for case in CASES)
    assert len(CASES) >= 120
    assert 0.45 < clean / len(CASES) < 0.65


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kernel)
def test_finds_what_is_wrong_and_nothing_else(case: Case) -> None:
    assert disagreements(case, check(case)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_verdicts_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    source = (FOLDER / "global_races.cu").read_text()
    module = lanewise.compile(source, limits=lanewise.Limits(threads=threads))
    for case in CASES:
        if case.file == "global_races.cu":
            kernel = module[case.kernel][case.configuration]
            assert disagreements(case, kernel.check(*map(argument, case.arguments)).findings) == [], case.kernel


def test_what_is_not_looked_at_is_said() -> None:
    copies = module("kernels.cu")["pipeline_double_buffer"][1, 64].check(
        np.zeros(256, np.int32), np.zeros(64, np.int32)
    )
    assert copies.result.check is not None
    (sentence,) = copies.result.check.unchecked
    assert sentence.startswith("uninitialised values (asynchronous copies")
    assert sentence.endswith("in pipeline_double_buffer")
    plain = module("kernels.cu")["blelloch"][1, 128].check(np.zeros(256, np.int32), np.zeros(256, np.int32))
    assert plain.result.check is not None
    assert plain.result.check.unchecked == ()


def test_bytes_of_no_allocation_are_not_raced_for() -> None:
    source = "__global__ void past(int* a) { a[8 + threadIdx.x % 4] = blockIdx.x; }"
    findings = lanewise.compile(source)["past"][2, 32].check(np.zeros(8, np.int32)).findings
    assert [finding.check for finding in findings] == ["bounds"]


def test_a_build_without_optimisation_shows_what_the_optimiser_hides() -> None:
    source = """
    __global__ void hidden(int* a) {
      __shared__ int s[64];
      s[threadIdx.x] = a[threadIdx.x];
      a[threadIdx.x] = 0 * s[63 - threadIdx.x];
    }
    """
    found = []
    for options in ((), ("-G",)):
        record = lanewise.compile(source, options=options)["hidden"][1, 64].check(np.zeros(64, np.int32))
        found.append({line for finding in record.findings if finding.severity == "error" for line in lines_of(finding)})
    assert found == [set(), {4, 5}]
