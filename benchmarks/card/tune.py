"""Searches a rung's parameters on this machine's card, over the values its `search` field names.

    python benchmarks/card/tune.py reduce in_flight '{"n": 268435456}' [--type f32] [--show 8]

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
from lanewise.ladder import load, resolve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject")
    parser.add_argument("rung")
    parser.add_argument("problem", type=json.loads)
    parser.add_argument("--type", default=None)
    parser.add_argument("--set", type=json.loads, default={}, help="values instead of the rung's search field")
    parser.add_argument("--show", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    subject, work = load(options.subject), WORKS[options.subject]
    rung = subject.rung(options.rung)
    element = options.type or subject.types[0]
    options.problem = {**subject.problem, **options.problem}
    properties = torch.cuda.get_device_properties(0)
    space = {**rung.search, **options.set}
    plans = {}
    for values in itertools.product(*space.values()):
        tried = dict(zip(space, values, strict=True))
        try:
            plan = resolve(subject, rung, element, options.problem, sms=properties.multi_processor_count, tried=tried)
        except UsageError:
            continue
        threads = max(launch.block[0] * launch.block[1] for launch in plan.launches)
        resident = tried.get("BLOCKS_PER_SM", 1)
        shared = max(launch.shared_bytes for launch in plan.launches)
        if threads <= 1024 and threads * resident <= 2048 and resident * (shared + 2048) <= 228 * 1024:
            plans[" ".join(f"{name}={value}" for name, value in tried.items())] = plan
    kernels = Kernels(list(plans.values()), workers=16, skip_failing=True)
    plans = {name: plan for name, plan in plans.items() if kernels.has(plan)}
    tensors = work.inputs(element, options.problem)
    some = next(iter(plans.values()))
    outputs = {b.name: poison(b.type, b.count) for b in some.buffers if b.role == "output"}
    calls = dict(work.peers(element, options.problem, {**tensors, **outputs}))
    peers = set(calls)
    for name, plan in plans.items():
        try:
            check(kernels, work, plan, options.problem, tensors)
        except (AssertionError, RuntimeError) as error:
            print(f"  {name}: {error}")
            continue
        calls[name] = kernels.prepare(plan, {**tensors, **outputs})
    samples = time_together(calls, options.repeats)
    moved = work.moved(element, options.problem)
    print(f"{options.subject}/{options.rung} {element} {options.problem}: {len(calls) - len(peers)} points")
    ranked = sorted(samples, key=lambda name: samples[name].median)
    for name in [name for name in ranked if name in peers] + [name for name in ranked if name not in peers][
        : options.show
    ]:
        print(f"  {samples[name].median:10.1f} us {moved / samples[name].median / 1e6:6.3f} TB/s  {name}")


if __name__ == "__main__":
    main()
