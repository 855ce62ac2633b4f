"""compute-sanitizer on the tiny programs of tests/checks, beside Lanewise.

    python benchmarks/check_programs.py write FOLDER     programs with a main, and run.sh for a machine with a card
    python benchmarks/check_programs.py table FOLDER     docs/checks-compared.md from the logs that run.sh left there

Each kernel runs in a process of its own under the tool that should see what is wrong with it, and its clean twin under
the same tool; what has a log in FOLDER/out is not run again. Under the other three tools a file's kernels run one after
the other in one process, except those that may leave the card in no state to go on: out of bounds, each has a process
of its own; with a barrier that is wrong, they are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "checks"))

from checked_programs import FOLDER, Case, all_cases, cases, check, disagreements  # noqa: E402

TOOLS = {
    "bounds.cu": "memcheck",
    "shared_races.cu": "racecheck",
    "global_races.cu": "racecheck",
    "barriers.cu": "synccheck",
    "uninitialised.cu": "initcheck",
    "pipelines.cu": "racecheck",
    "kernels.cu": "racecheck",
}
_OF_CHECK = {"bounds": "memcheck", "uninitialised": "initcheck", "barrier": "synccheck"}
PAGE = ROOT / "docs" / "checks-compared.md"
_TYPES = {"unset": "int", "int": "int", "iota": "int", "float": "float", "char": "char"}


def _argument(word: str, number: int) -> tuple[str, str]:
    """(what prepares an argument, the argument)."""
    if word == "null":
        return "", "nullptr"
    if "[" not in word:
        return "", word
    kind, count = word.rstrip("]").split("[")
    name = f"p{number}"
    lines = f"{_TYPES[kind]}* {name}; cudaMalloc(&{name}, {count} * sizeof *{name});"
    if kind != "unset":
        lines += f" cudaMemset({name}, 0, {count} * sizeof *{name});"
    if kind == "iota":
        lines += (
            f" {{ std::vector<int> v({count}); for (int i = 0; i < {count}; i++) v[i] = i; "
            f"cudaMemcpy({name}, v.data(), {count} * 4, cudaMemcpyHostToDevice); }}"
        )
    return lines, name


def _launch(case: Case) -> str:
    prepared = [_argument(word, number) for number, word in enumerate(case.arguments)]
    given = ", ".join(f"any({argument})" for _, argument in prepared)
    configuration = ", ".join(map(str, case.configuration))
    body = " ".join(lines for lines, _ in prepared)
    safe = "all" if _may_go_on(case) else "false"
    return (
        f'  if ({safe} || name == "{case.kernel}") {{ {body} {case.kernel}<<<{configuration}>>>({given}); '
        "cudaDeviceSynchronize(); }"
    )


def _may_go_on(case: Case) -> bool:
    return not any(expected.check in ("bounds", "barrier") for expected in case.expected)


_MAIN = """
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>
struct any_pointer { void* p; template <class T> operator T*() const { return (T*)p; } };
template <class T> any_pointer any(T* p) { return {(void*)p}; }
inline any_pointer any(std::nullptr_t) { return {nullptr}; }
inline int any(int n) { return n; }
int main(int, char** argv) {
  std::string name = argv[1];
  const bool all = name == "all";
"""
_END = """
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\\n", cudaGetErrorString(e));
}
"""


def standalone(file: str) -> str:
    """The file with a main that runs the kernel it is told."""
    return (FOLDER / file).read_text() + _MAIN + "\n".join(map(_launch, cases(file))) + _END


def write(folder: Path) -> None:
    """Sources, the list of what to run, and run.sh, which leaves a log a program in $OUT."""
    files = sorted({case.file for case in all_cases()})
    for file in files:
        (folder / file).write_text(standalone(file))
    work = [(_tool(case), file, case.kernel) for file in files for case in cases(file)]
    for file in files:
        others = [tool for tool in sorted(set(TOOLS.values())) if tool != TOOLS[file]]
        work += [(tool, file, "all") for tool in others]
        alone = [case.kernel for case in cases(file) if any(e.check == "bounds" for e in case.expected)]
        work += [(tool, file, kernel) for tool in others for kernel in alone]
    missing = [item for item in work if not _log(folder / "out", *item).is_file()]
    lines = [f"{tool} {Path(file).stem} {kernel}" for tool, file, kernel in missing]
    (folder / "work.txt").write_text("\n".join(lines) + "\n")
    builds = " & ".join(f"nvcc -arch=sm_90 -lineinfo -O3 -o {Path(f).stem} {f}" for f in files)
    (folder / "run.sh").write_text(
        f"""export PATH=/usr/local/cuda/bin:$PATH
{builds} & wait
one() {{
  log=$OUT/$1.$3.log
  if [ $3 = all ]; then log=$OUT/$1.all.$2.log; fi
  timeout -k 1 20 compute-sanitizer --tool $1 --print-limit 2000 ./$2 $3 > $log 2>&1
  echo "rc $?" >> $log
}}
export -f one
timeout 75 xargs -P 12 -L 1 bash -c 'one "$@"' _ < work.txt
ls $OUT | wc -l
"""
    )


def _tool(case: Case) -> str:
    """The tool that should see what is wrong with a kernel."""
    return next((_OF_CHECK[e.check] for e in case.expected if e.check in _OF_CHECK), TOOLS[case.file])


def _log(folder: Path, tool: str, file: str, kernel: str) -> Path:
    """Where run.sh leaves what a tool says of one kernel, or of all of a file."""
    return folder / (f"{tool}.all.{Path(file).stem}.log" if kernel == "all" else f"{tool}.{kernel}.log")


def _said(log: str) -> str:
    """What a tool found, in a few words."""
    summary = re.search(r"ERROR SUMMARY: (\d+) error", log)
    hazards = re.search(r"RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?", log)
    code = re.search(r"^rc (\d+)$", log, re.M)
    if code is not None and code[1] in ("124", "137"):
        return "no answer in time"
    if hazards is not None:
        return f"{hazards[2]} errors, {hazards[3]} warnings" if hazards[1] != "0" else "clean"
    if summary is not None:
        return f"{summary[1]} errors" if summary[1] != "0" else "clean"
    return "no summary"


_NOTHING = ("not run", "no summary", "no answer in time")  # of a tool that did not come to its verdict


def table(folder: Path) -> None:
    """The page with both verdicts of each program."""
    rows: list[str] = []
    totals: dict[str, list[int]] = {}
    for case in all_cases():
        tool = _tool(case)
        log = folder / f"{tool}.{case.kernel}.log"
        theirs = _said(log.read_text(errors="replace")) if log.is_file() else "not run"
        ours = "as expected" if not disagreements(case, check(case)) else "**differs**"
        wanted = "clean" if case.clean else ", ".join(dict.fromkeys(f"{e.check} {e.severity}" for e in case.expected))
        told = theirs not in ("clean", *_NOTHING)
        total = totals.setdefault(tool, [0, 0, 0, 0])
        total[0 if not case.clean else 2] += theirs != "not run"
        total[1 if not case.clean else 3] += told
        right = "" if theirs in _NOTHING else ("yes" if told == (not case.clean) else "**no**")
        rows.append(f"| `{case.kernel}` | {wanted} | {ours} | {tool} | {theirs} | {right} |")
    lines = [f"| {tool} | {' | '.join(map(str, counts))} |" for tool, counts in totals.items()]
    PAGE.write_text(_PAGE.format(totals="\n".join(lines), rows="\n".join(rows), others=_others(folder)))


def _others(folder: Path) -> str:
    """What the three tools said that a program was not made for."""
    logs = [
        (tool, file, log)
        for file in sorted(TOOLS)
        for tool in sorted(set(TOOLS.values()) - {TOOLS[file]})
        if (log := _log(folder, tool, file, "all")).is_file()
    ]
    told = [f"{tool} on {file}" for tool, file, log in logs if _said(log.read_text(errors="replace")) != "clean"]
    return f"report on {', '.join(told)}" if told else f"report nothing ({len(logs)} runs)"


_PAGE = """\
# Checks beside compute-sanitizer

The tiny programs of `tests/checks/programs`, on an H200 (CUDA 13.0), each under the tool of compute-sanitizer that
should see what is wrong with it, and under `lanewise check`. Made by `benchmarks/check_programs.py`.

| tool | programs with a bug | of them it reports | clean programs | of them it reports |
| --- | --- | --- | --- | --- |
{totals}

What is expected is what the program's own comments say; a note does not count as a bug. "right" is whether the tool
reports a program with a bug, and nothing of a clean one. Programs that wait for ever had 20 seconds. Lanewise agrees
with all of these comments, which its tests ask for, so the table says more of the tool than of Lanewise. racecheck
looks at shared memory only, initcheck at global memory only.

The other three tools, on all kernels of a file in one process (those out of bounds and with wrong barriers left out),
{others}.

There is no program here of which a tool is right and Lanewise is not. Where a reader may side with the tool:
`early_return` (cards since Volta let the other threads go on, and synccheck is silent; Lanewise warns), and
`unset_value_is_not_used` (initcheck reports each read of memory that was never written, Lanewise only those that decide
something). racecheck is wrong of `two_named_barriers`, `specialised` and `warps_take_turns_by_flag`: it does not follow
a `bar.arrive` after a read (a producer and a consumer are the example of the PTX ISA), nor flags.

| program | expected | Lanewise | tool | it says | right |
| --- | --- | --- | --- | --- | --- |
{rows}
"""


if __name__ == "__main__":
    {"write": write, "table": table}[sys.argv[1]](Path(sys.argv[2]))
