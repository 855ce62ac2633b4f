"""The benchmark of the emulator: python benchmarks/run.py [--program FILE [ARGUMENTS ...]]

Each measurement is a fresh process. On a shared machine rely on processor time and on ratios within one run; wall time
is shown beside them. Writes benchmarks/results/DATE.md and DATE.json, and shows the table in
docs/performance.md, which explains the figures.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from speed import machine, pocl, process, table
from speed.cases import THROUGHPUT

BENCHMARKS = Path(__file__).parent
EXAMPLE = BENCHMARKS.parent / "examples" / "vector_add.cu"
RESULTS = BENCHMARKS / "results"
DOCUMENT = BENCHMARKS.parent / "docs" / "performance.md"
LAUNCHES = BENCHMARKS / "speed" / "kernels" / "launches.cu"
GEMMS = ("gemm_naive", "gemm_tiled")
Results = dict[str, Any]


def gemms(n: int) -> Results:
    """Both products: with empty caches, then from the cache, then on PoCL if it is there."""
    results: Results = {}
    for kernel in GEMMS:
        with tempfile.TemporaryDirectory(prefix="lanewise-bench-") as caches:
            ours, theirs = {"LANEWISE_CACHE_DIR": caches}, {"POCL_CACHE_DIR": f"{caches}/pocl"}
            arguments = {"kernel": kernel, "n": n}
            # What all kernels share is compiled once per machine: not a part of any kernel's compilation.
            process.case("tiny_launches", {"count": 1}, ours)
            tell(f"{kernel}, compiled and cached")
            results[kernel] = {"empty": process.case("gemm", arguments, ours)}
            results[kernel]["cached"] = process.case("gemm", arguments, ours)
            try:
                pocl.version()
            except pocl.NoPocl:
                continue
            tell(f"{kernel} on PoCL")
            results[kernel]["pocl"] = process.case("pocl", arguments, theirs)
    return results


def throughput(scale: float) -> Results:
    results: Results = {}
    for kernel in THROUGHPUT:
        tell(kernel)
        arguments = {"kernel": kernel, "scale": scale}
        results[kernel] = process.case("throughput", arguments, {})
        uncounted = process.case("throughput", {**arguments, "counted": False}, {})
        results[kernel]["uncounted"] = uncounted["again"]
    return results


def start(caches: str) -> Results:
    """`lanewise run` of a small program, twice with the same cache, empty at first."""
    tell("start to first report")
    command = [sys.executable, "-m", "lanewise", "run", str(EXAMPLE)]
    results: Results = {}
    for name in ("empty", "cached"):
        ended = process.measure(command, {"LANEWISE_CACHE_DIR": caches})
        results[name] = {"wall": ended.wall, "cpu": ended.cpu}
    return results


def launches(count: int) -> Results:
    """The cost of a launch: of the emulator alone, and of a program's through the runtime library."""
    tell("tiny launches")
    results: Results = {"emulator": process.case("tiny_launches", {"count": count}, {})}
    command = [sys.executable, "-m", "lanewise", "run", "--no-report", str(LAUNCHES), "--"]
    # The first run builds the program.
    _, few, many = (process.measure([*command, str(n)], {}) for n in (1, 1, count + 1))
    results["program"] = {"wall": (many.wall - few.wall) / count, "cpu": (many.cpu - few.cpu) / count}
    return results


def whole_program(words: list[str]) -> Results:
    """Any program, with an empty cache and from the cache."""
    tell(" ".join(words))
    results: Results = {}
    with tempfile.TemporaryDirectory(prefix="lanewise-bench-") as caches:
        for name in ("empty", "cached"):
            arguments = {"source": words[0], "arguments": words[1:]}
            results[name] = process.case("program", arguments, {"LANEWISE_CACHE_DIR": caches})
    return results


def tell(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", nargs="+", metavar=("FILE", "ARGUMENT"), help="measure this program too")
    parser.add_argument("--toy", action="store_true", help="tiny sizes: does the benchmark itself work?")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIRECTORY", help="where to write")
    options = parser.parse_args()
    results: Results = {
        "date": datetime.date.today().isoformat(),
        "machine": machine.describe(),
        "gemm": gemms(64 if options.toy else 1024),
        "throughput": throughput(1 / 512 if options.toy else 1.0),
        "launches": launches(10 if options.toy else 2000),
        "memory": process.case("memory", {"megabytes": 1 if options.toy else 256}, {}),
    }
    with tempfile.TemporaryDirectory(prefix="lanewise-bench-") as caches:
        results["start"] = start(caches)
    if options.program:
        results["program"] = whole_program(options.program)
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / results["date"]
    text = table.markdown(results)
    path.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    path.with_suffix(".md").write_text(text)
    if options.results == RESULTS:
        DOCUMENT.write_text(table.placed(DOCUMENT.read_text(), text))
    print(text)


if __name__ == "__main__":
    main()
