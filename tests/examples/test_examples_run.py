"""Every example, run whole: it finds its own results right, and numpy agrees with what it dumps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import references
from example_runs import EXAMPLES, Command
from references import Sizes, read_dump

# Awkward sizes, small; the tolerance is |got - want| <= tolerance * (1 + |want|), 0 where the result is exact.
RUNS: list[tuple[str, Sizes, float]] = [
    ("vector_add", (1009,), 0),
    ("gemm", (68,), 1e-5),
    ("gemm", (37,), 1e-5),
    ("transpose", (67, 37), 0),
    ("copies", (1009, 3, 5), 0),
    ("banks", (601,), 0),
    ("reduce", (5003,), 1e-4),
    ("scan", (5003,), 0),
    ("histogram", (5003, 200), 0),
    ("divergence", (1009,), 0),
    ("layernorm", (3, 129), 1e-4),
    ("softmax", (3, 129), 1e-6),
    ("tensor_cores", (128,), 1e-4),
]


@pytest.mark.parametrize(("name", "sizes", "tolerance"), RUNS, ids=lambda value: str(value))
def test_results(lanewise_command: Command, name: str, sizes: Sizes, tolerance: float, tmp_path: Path) -> None:
    dump, report = tmp_path / "dump", tmp_path / "report.json"
    source = EXAMPLES / f"{name}.cu"
    done = lanewise_command("run", "--json", report, source, "--", *map(str, sizes), "--dump", dump)
    assert done.returncode == 0, done.stdout + done.stderr
    arrays = read_dump(dump)
    expected = getattr(references, name)(arrays, sizes)
    for kernel, want in expected.items():
        assert f"{kernel} OK" in done.stdout
        np.testing.assert_allclose(arrays[kernel], want, rtol=tolerance, atol=tolerance, err_msg=kernel)
    launched = {launch["kernel"].split("(")[0] for launch in json.loads(report.read_text())["launches"]}
    assert launched == set(expected)


def test_warp_groups_run_in_code_for_sm_90a(lanewise_command: Command, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    done = lanewise_command("run", "-arch=sm_90a", EXAMPLES / "tensor_cores.cu", "--", "64", "--dump", dump)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gemm_wgmma OK" in done.stdout
    arrays = read_dump(dump)
    want = references.tensor_cores(arrays, (64,))["gemm_mma"]
    np.testing.assert_allclose(arrays["gemm_wgmma"], want, rtol=1e-4, atol=1e-4)
