"""`lanewise check` on whole programs: exit codes, JSON, SARIF, suppressions, builds and schedules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from lanewise.errors import ExitCode

PROGRAM = """
#include <cstdio>
__global__ void past(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) a[i] = i;
}
__global__ void racy(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void hidden(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = 0 * s[63 - threadIdx.x];
}
__global__ void order(int* a) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    a[0] = 1;
    __threadfence();
    atomicExch(a + 1, 1);
  } else if (blockIdx.x == 3 && threadIdx.x == 0) {
    if (atomicAdd(a + 1, 0) == 1) {
      __threadfence();
    }
    a[2] = a[0];
  }
}
__global__ void half(int* a, int n) {
  if (threadIdx.x < n / 2) a[threadIdx.x] = threadIdx.x;
}
__global__ void add(int* out, const int* in) {
  out[threadIdx.x] = in[threadIdx.x] + 1;
}
int host_side(char what) {
  int *a, *b, h[65] = {};
  cudaMalloc(&a, 256);
  cudaMalloc(&b, 256);
  if (what != 'U') half<<<1, 64>>>(a, what == 'H' ? 64 : 128);
  if (what == 'D') cudaMemcpy(b, a, 256, cudaMemcpyDeviceToDevice);
  else if (what != 'U') add<<<1, 64>>>(b, a);
  if (what == 'R') cudaMemcpy(h, b, 260, cudaMemcpyDeviceToHost);
  else if (what == 'C') cudaMemcpy(h, b, 256, cudaMemcpyHostToDevice);
  else cudaMemcpy(h, b, 256, cudaMemcpyDeviceToHost);
  cudaFree(b);
  if (what == 'F') return cudaFree(b) == cudaSuccess;
  cudaFree(a);
  return 0;
}
int main(int argc, char** argv) {
  if (argv[1][0] < 'a') return host_side(argv[1][0]);
  int* a;
  cudaMalloc(&a, 400);
  cudaMemset(a, 0, 400);
  switch (argv[1][0]) {
    case 'p': past<<<2, 64>>>((float*)a, 100); break;
    case 'r': racy<<<1, 64>>>(a); racy<<<1, 64>>>(a); break;
    case 'h': hidden<<<1, 64>>>(a); break;
    case 'o': order<<<4, 32>>>(a); break;
    case 'n': break;
  }
  cudaDeviceSynchronize();
  printf("%s\\n", cudaGetErrorString(cudaGetLastError()));
  if (argc < 3) cudaFree(a);
}
"""


def line_of(text: str) -> int:
    return PROGRAM[: PROGRAM.index(text)].count("\n") + 1


ALLOCATES = line_of("cudaMalloc(&a, 400)")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "program.cu"
    path.write_text(PROGRAM)
    return path


Check = Callable[..., tuple[int, dict[str, object], str]]


@pytest.fixture
def check(source: Path, tmp_path: Path, lanewise_command: Callable[..., CompletedProcess[str]]) -> Check:
    """check("OPTIONS --- ARGUMENTS"): the exit code, the JSON document, and what was printed."""

    def run(words: str, command: str = "check") -> tuple[int, dict[str, object], str]:
        out = tmp_path / "out.json"
        options, _, arguments = words.partition("--- ")
        line = [command, "--force", "--json", out, *options.split(), source, "--", *arguments.split()]
        done = lanewise_command(*line)
        return done.returncode, json.loads(out.read_text()) if out.exists() else {}, done.stdout + done.stderr

    return run


def found(document: dict[str, object]) -> list[tuple[str, str, int]]:
    return [(f["check"], f["severity"], f["line"]) for f in document["findings"]]  # type: ignore[attr-defined]


def test_a_program_with_a_write_past_the_end(check: Check, source: Path, tmp_path: Path) -> None:
    sarif = tmp_path / "out.sarif"
    status, document, text = check(f"--sarif {sarif} --- p")
    assert status == ExitCode.FINDINGS
    assert found(document) == [("bounds", "error", 5)]
    finding = document["findings"][0]  # type: ignore[index]
    assert finding["file"] == str(source)
    assert finding["thread"] == [36, 0, 0]
    assert any("made at" in sentence and sentence.endswith(f":{ALLOCATES}") for sentence in finding["evidence"])
    assert text.startswith("no error\n")  # it went on
    assert "1 error in 1 launch" in text
    run = json.loads(sarif.read_text())["runs"][0]
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [("bounds", "error")]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5


def test_a_race_has_two_sides(check: Check) -> None:
    status, document, _ = check("--- r")
    assert status == ExitCode.FINDINGS
    (finding,) = document["findings"]  # type: ignore[misc]
    assert {side["line"] for side in finding["sides"]} == {9, 10}
    assert {side["did"] for side in finding["sides"]} == {"read", "write"}


def test_nothing_checked_is_not_clean(check: Check) -> None:
    status, document, text = check("--- n")
    assert status == ExitCode.UNCHECKED
    assert document["check"]["launches"] == 0  # type: ignore[index]
    assert "nothing found in 0 launches" in text


def test_memory_that_is_never_freed(check: Check) -> None:
    status, document, _ = check("--checks leak --- h keep")
    assert status == ExitCode.FINDINGS
    assert found(document) == [("leak", "warning", ALLOCATES)]


@pytest.mark.parametrize(
    ("what", "name", "line"),
    [
        ("D", None, ""),
        ("H", "uninitialised", "out[threadIdx.x] = in"),
        ("U", "uninitialised", "else cudaMemcpy(h, b, 256, cudaMemcpyDeviceToHost)"),
        ("R", "bounds", "if (what == 'R')"),
        ("C", "bounds", "else if (what == 'C')"),
        ("F", "bounds", "if (what == 'F')"),
    ],
)
def test_what_the_host_does(check: Check, what: str, name: str | None, line: str) -> None:
    _, document, _ = check(f"--- {what}")
    errors = [finding for finding in found(document) if finding[1] == "error"]
    assert errors == ([] if name is None else [(name, "error", line_of(line))])


def test_builds(check: Check) -> None:
    assert check("--- h")[0] == ExitCode.OK
    status, document, text = check("--build both --- h")
    assert status == ExitCode.FINDINGS
    assert "seen in the build without optimisation" in document["findings"][0]["evidence"]  # type: ignore[index]
    assert text.count("no error") == 1  # the output of the program is shown once


def test_schedules(check: Check) -> None:
    """Block 3 reads what block 0 published, or what it is about to write: only other orders show that."""
    one_order = check("--check=race --deterministic --- o", command="run")
    assert one_order[0] == ExitCode.OK
    status, document, _ = check("--checks race --schedules 2 --- o")
    assert status == ExitCode.FINDINGS
    assert document["check"]["launches"] == 2  # type: ignore[index]


def test_run_with_checks_keeps_its_report(check: Check) -> None:
    options = "--check=race --build both --schedules 2 --- r"
    status, document, text = check(options, command="run")
    assert status == ExitCode.FINDINGS
    assert document["check"]["checks"] == ["race"]  # type: ignore[index]
    assert document["check"]["launches"] == 2 * 2 * 2  # type: ignore[index]
    assert "requests" in text or "req." in text


def test_options_of_checks_need_a_check(check: Check) -> None:
    status, _, text = check("--schedules 2 --- r", command="run")
    assert status == ExitCode.USAGE
    assert "add --check" in text


def test_suppressions_of_a_file(check: Check, tmp_path: Path) -> None:
    config = tmp_path / "lanewise.toml"
    config.write_text('[[suppress]]\ncheck = "race"\nkernel = "racy*"\nreason = "known"\n')
    status, document, text = check(f"--config {config} --- r")
    assert status == ExitCode.OK
    assert document["check"]["suppressed"] == 1  # type: ignore[index]
    assert "1 finding suppressed" in text
