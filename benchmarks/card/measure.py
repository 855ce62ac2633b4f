"""Builds, checks and times the ladder on this machine's card: one call, a dated table.

    python benchmarks/card/measure.py [subject ...] [--check-only] [--repeats 40] [--out docs/ladder]

Every rung is checked against a float64 reference on random inputs at awkward sizes and at each timed size before its
time counts. Rungs and peers (torch, CuPy, device-to-device copy) are timed in turn within one loop: median of
`--repeats` CUDA-event timings, with the 10th and 90th percentile.
Needs torch, CuPy and cuda-bindings; Lanewise is installed, or src is on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from card import Kernels, Sample, time_together
from subjects import WORKS, Case, Work, poison

from lanewise.errors import UsageError
from lanewise.ladder import Plan, Subject, load, resolve
from report import markdown, this_card


def plans_of(subject: Subject, element: str, problem: dict, names: tuple[str, ...] = ()) -> dict[str, Plan]:
    """The plans of all rungs (of the named ones) that take this problem."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    plans = {}
    for rung in subject.rungs:
        if names and rung.name not in names:
            continue
        try:
            plans[rung.name] = resolve(subject, rung, element, problem, sms=sms)
        except UsageError:
            continue
    return plans


def check(kernels: Kernels, work: Work, plan: Plan, problem: dict, tensors: dict) -> float:
    """The worst error of one run on poisoned memory. Raises AssertionError with the rung and the problem."""
    outputs = {b.name: poison(b.type, b.count) for b in plan.buffers if b.role != "input"}
    run = kernels.prepare(plan, {**tensors, **outputs})
    run()
    torch.cuda.synchronize()
    try:
        error = work.check(plan.element, problem, {**tensors, **outputs})
        run()  # once more on what the first run left: nothing may depend on fresh memory
        torch.cuda.synchronize()
        return max(error, work.check(plan.element, problem, {**tensors, **outputs}))
    except AssertionError as wrong:
        raise AssertionError(f"{plan.rung.subject}/{plan.rung.name} {plan.element} {dict(problem)}: {wrong}") from wrong


def check_awkward(kernels: Kernels, subject: Subject, work: Work) -> list[str]:
    wrong = []
    for problem in work.awkward:
        for element in subject.types:
            tensors = work.inputs(element, problem)
            for plan in plans_of(subject, element, problem).values():
                try:
                    check(kernels, work, plan, problem, tensors)
                except AssertionError as error:
                    wrong.append(str(error))
    return wrong


def time_case(kernels: Kernels, subject: Subject, work: Work, case: Case, repeats: int) -> dict:
    tensors = work.inputs(case.element, case.problem)
    plans = plans_of(subject, case.element, case.problem, case.rungs)
    outputs = {b.name: poison(b.type, b.count) for plan in plans.values() for b in plan.buffers if b.role == "output"}
    calls, errors, wrong = dict(work.peers(case.element, case.problem, {**tensors, **outputs})), {}, []
    peers = list(calls)
    for name, plan in plans.items():
        try:
            errors[name] = check(kernels, work, plan, case.problem, tensors)
        except AssertionError as error:
            wrong.append(str(error))
            continue
        calls[name] = kernels.prepare(plan, {**tensors, **outputs})
    samples: dict[str, Sample] = time_together(calls, repeats)
    moved = work.moved(case.element, case.problem)
    roof = min(samples[peer].median for peer in peers if peer.startswith(work.roof))
    rows = [
        {
            "name": name,
            "peer": name in peers,
            "microseconds": round(sample.median, 2),
            "p10": round(sample.low, 2),
            "p90": round(sample.high, 2),
            "bimodal": sample.bimodal,
            "rate": round(moved / sample.median / 1e6, 3),
            "of_roof": round(roof / sample.median, 3),
            "error": errors.get(name),
        }
        for name, sample in samples.items()
    ]
    return {
        "element": case.element,
        "problem": dict(case.problem),
        "moved": moved,
        "unit": work.unit,
        "rows": rows,
        "wrong": wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", default=list(WORKS))
    parser.add_argument("--check-only", action="store_true")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("docs/ladder"))
    options = parser.parse_args()
    torch.manual_seed(20)
    failed = 0
    results = {"card": this_card(), "repeats": options.repeats, "subjects": {}}
    for name in options.subjects:
        began = time.monotonic()
        subject, work = load(name), WORKS[name]
        problems = [(case.element, case.problem, case.rungs) for case in work.cases]
        problems += [(element, problem, ()) for problem in work.awkward for element in subject.types]
        plans = [plan for problem in problems for plan in plans_of(subject, *problem).values()]
        kernels = Kernels(plans, workers=16)
        wrong = check_awkward(kernels, subject, work)
        cases = []
        for case in () if options.check_only else work.cases:
            cases.append(time_case(kernels, subject, work, case, options.repeats))
            wrong += cases[-1].pop("wrong")
            torch.cuda.empty_cache()
        failed += len(wrong)
        results["subjects"][name] = {"wrong": wrong, "cases": cases}
        print(f"{name}: {len(plans)} plans, {len(wrong)} wrong, {time.monotonic() - began:.0f} s", flush=True)
        for message in wrong:
            print("  WRONG", message, flush=True)
    results["card"]["after"] = this_card()["now"]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "measured.json").write_text(json.dumps(results, indent=1) + "\n")
    table = markdown(results)
    (options.out / "measured.md").write_text(table)
    print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
