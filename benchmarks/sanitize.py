"""Every rung once at a small awkward problem, for compute-sanitizer:

    compute-sanitizer --tool memcheck --error-exitcode 9 python benchmarks/sanitize.py [SUBJECT | SUBJECT/RUNG]...

and the same with racecheck, synccheck and initcheck. Prints what it ran; the tool says what is wrong.
"""

from __future__ import annotations

import sys

import torch

from lanewise.bench.fit import fitting
from lanewise.bench.prepare import prepare
from lanewise.bench.work import poison
from lanewise.bench.works import WORKS
from lanewise.gpu.card import find
from lanewise.gpu.launcher import Launcher
from lanewise.ladder import load

MOST = 200_000  # elements of all buffers: the tools slow a kernel down by up to a hundred times


def main() -> None:
    launcher = Launcher(find(), 16)
    for argument in sys.argv[1:] or list(WORKS):
        name, _, only = argument.partition("/")
        subject, work = load(name), WORKS[name]
        seen: set[tuple[str, str]] = set()
        largest_first = sorted(work.awkward, key=lambda problem: -sum(problem.values()))
        for problem in ({**subject.problem, **problem} for problem in largest_first):
            for element in subject.types:
                plans = fitting(subject, element, problem, launcher.card, [only] if only else ())
                new = {
                    rung: plan
                    for rung, plan in plans.items()
                    if (rung, element) not in seen and plan.launches and sum(b.count for b in plan.buffers) <= MOST
                }
                if not new:
                    continue
                tensors = work.inputs(element, problem)
                for rung, plan in new.items():
                    outputs = {
                        b.name: poison(b.type, b.count, host=plan.pieces > 0)
                        for b in plan.buffers
                        if b.role == "output"
                    }
                    prepare(launcher, plan, {**tensors, **outputs})()
                    torch.cuda.synchronize()
                    seen.add((rung, element))
                    print(f"{name}/{rung} {element} {problem}", flush=True)


main()
