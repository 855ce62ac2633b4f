"""Searches a rung's parameters on this machine's card, over the values its `search` field names.

    python benchmarks/card/tune.py reduce in_flight '{"n": 268435456}' [--type f32 ...] [--show 8]

Every point that compiles and gives the right result is timed beside the subject's peers; the best points come first.
What is chosen goes into the subject's ladder.toml, as a define or a choice.
"""

from __future__ import annotations

import argparse
import itertools
import json

import torch
from card import Kernels, time_together
from measure import check
from subjects import WORKS, poison

from lanewise.errors import UsageError
from lanewise.ladder import Plan, Rung, Subject, load, resolve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject")
    parser.add_argument("rung")
    parser.add_argument("problem", type=json.loads, nargs="+")
    parser.add_argument("--type", nargs="+", default=None)
    parser.add_argument("--set", type=json.loads, default={}, help="values instead of the rung's search field")
    parser.add_argument("--show", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    subject = load(options.subject)
    for element in options.type or subject.types[:1]:
        for problem in options.problem:
            search(subject, subject.rung(options.rung), element, {**subject.problem, **problem}, options)
            torch.cuda.empty_cache()


def points(subject: Subject, rung: Rung, element: str, problem: dict, space: dict) -> dict[str, Plan]:
    """The points of the search that a multiprocessor can hold."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    plans = {}
    for values in itertools.product(*space.values()):
        tried = dict(zip(space, values, strict=True))
        try:
            plan = resolve(subject, rung, element, problem, sms=sms, tried=tried)
        except UsageError:
            continue
        threads = max(launch.block[0] * launch.block[1] for launch in plan.launches)
        resident = int(plan.defines.get("BLOCKS_PER_SM", 1))
        shared = max(launch.shared_bytes for launch in plan.launches)
        if threads <= 1024 and threads * resident <= 2048 and resident * (shared + 2048) <= 228 * 1024:
            plans[" ".join(f"{name}={plan.defines[name]}" for name in tried)] = plan
    return plans


def search(subject: Subject, rung: Rung, element: str, problem: dict, options: argparse.Namespace) -> None:
    work = WORKS[subject.name]
    plans = points(subject, rung, element, problem, {**rung.search, **options.set})
    kernels = Kernels(list(plans.values()), workers=16, skip_failing=True)
    plans = {name: plan for name, plan in plans.items() if kernels.has(plan)}
    tensors = work.inputs(element, problem)
    some = next(iter(plans.values()))
    outputs = {b.name: poison(b.type, b.count) for b in some.buffers if b.role == "output"}
    calls = dict(work.peers(element, problem, {**tensors, **outputs}))
    peers = set(calls)
    wrong = 0
    for name, plan in plans.items():
        try:
            check(kernels, work, plan, problem, tensors)
        except (AssertionError, RuntimeError):
            wrong += 1  # a row that does not fit its registers, a launch that the card refuses
            continue
        calls[name] = kernels.prepare(plan, {**tensors, **outputs})
    samples = time_together(calls, options.repeats)
    moved = work.moved(element, problem)
    print(f"{subject.name}/{rung.name} {element} {problem}: {len(calls) - len(peers)} points, {wrong} refused")
    ranked = sorted(samples, key=lambda name: samples[name].median)
    shown = [name for name in ranked if name not in peers][: options.show]
    for name in [name for name in ranked if name in peers] + shown:
        print(
            f"  {samples[name].median:10.1f} us {moved / samples[name].median / 1e6:6.3f} {work.unit}  {name}",
            flush=True,
        )


if __name__ == "__main__":
    main()
