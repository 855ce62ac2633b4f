"""All checks together (bounds, races, uninitialised reads, barriers) find nothing wrong with a rung: no false errors.

One rung of each kind of order runs here (barriers, shuffles, atomics, a barrier between blocks, tickets);
LANEWISE_FULL_TRUTH=1 (`make truth`) runs every rung with every type at every awkward size.
"""

from dataclasses import replace

import pytest
from test_emulated import AWKWARD, FULL

from lanewise.errors import UsageError
from lanewise.ladder import load, reference, resolve, subjects
from lanewise.ladder.emulate import run

SAMPLE = (
    ("banks", "shuffle"),
    ("gemm", "coalesced"),
    ("histogram", "shared"),
    ("launch", "persistent"),
    ("overlap", "streams"),
    ("reduce", "in_flight"),
    ("transpose", "padded"),
)
EVERY = tuple((name, rung.name) for name in subjects() for rung in load(name).rungs)


@pytest.mark.parametrize(("name", "rung"), EVERY if FULL else SAMPLE)
def test_nothing_is_found(name: str, rung: str) -> None:
    subject = load(name)
    launched = 0
    for element in subject.rung(rung).types if FULL else subject.rung(rung).types[:1]:
        for problem in AWKWARD[name] if FULL else AWKWARD[name][2:3]:
            try:
                plan = resolve(subject, subject.rung(rung), element, problem)
            except UsageError:
                continue
            outcome = run(plan, reference.inputs(subject, plan, problem), check=True)
            assert outcome.findings == (), (element, problem)
            launched += len(plan.launches)
    assert launched


def test_what_is_wrong_would_be_found() -> None:
    """A size that says more than the buffers hold: the checks are on."""
    access = load("access")
    plan = resolve(access, access.rungs[0], "f32", {"n": 100})
    lies = [(kind, 101 if kind == "i64" else value) for kind, value in plan.launches[0].arguments]
    wrong = replace(plan, launches=(replace(plan.launches[0], arguments=tuple(lies)),))
    found = run(wrong, reference.inputs(access, plan, {"n": 100}), check=True).findings
    assert {finding.check for finding in found} == {"bounds"}


def test_a_flag_that_is_set_while_it_is_read_orders() -> None:
    """Blocks on several threads: what is published between an access and the news of it is not missed."""
    launch, problem = load("launch"), {"n": 997, "steps": 4}
    plan = resolve(launch, launch.rung("persistent"), "f32", problem)
    made = reference.inputs(launch, plan, problem)
    assert [run(plan, made, check=True).findings for _ in range(20)] == [()] * 20
