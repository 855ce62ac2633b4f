"""Fields of structs that lie in an array: each lane has a struct, so each access is strided by its size."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.groups import footprint
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.structs import Structs, structs
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import coalesced
from lanewise.records import Finding, Tried

NAME = "array_of_structs"


def find(subject: Subject) -> Iterable[Finding]:
    every = structs(subject)
    for found in every:
        # The layout of an array is one: what is loaded from it and what is stored to it change together.
        alike = [other.group for other in every if other.group.array == found.group.array and other.size == found.size]
        if found.group is not alike[0]:
            continue
        touched = footprint(subject, found.group.sites)
        yield advice(
            NAME,
            subject.record,
            message=_message(found),
            evidence=[
                say(
                    "array_of_structs.evidence",
                    sectors=f"{found.group.sectors / found.group.requests:.3g}",
                    ideal=f"{found.group.sectors_ideal / found.group.requests:.3g}",
                    used=f"{min(found.group.bytes_asked, touched):,}",
                    moved=f"{touched:,}",
                )
            ],
            change=say("array_of_structs.change"),
            next_step=say("array_of_structs.next_step"),
            price=say("array_of_structs.price"),
            after_us=subject.retime(coalesced(subject, alike, packed=True)),
            tried=Tried.ESTIMATED,
            rung="access struct_of_arrays",
            source=found.group.source,
            ptx_line=found.group.ptx_line,
        )


def _message(found: Structs) -> Sentence:
    kind, size = f"@kind.{found.group.kind.value}", str(found.size)
    if found.group.array is None:
        return say("array_of_structs.message", kind=kind, size=size, parts=str(found.parts))
    array = found.group.array
    if not found.fields:
        return say("array_of_structs.message_array", kind=kind, size=size, parts=str(found.parts), array=array)
    fields = ", ".join(found.fields)
    return say("array_of_structs.message_fields", kind=kind, size=size, array=array, fields=fields)


RULE = Rule(
    name=NAME,
    title="Array of structs",
    what="Each lane reads or writes fields of a struct of its own, and the structs lie one behind the other.",
    why="A field of 32 neighbouring structs is spread over as many sectors as the structs fill. Fields that the kernel "
    "does not need are moved as well; those that it needs later are asked of the L1 again, request by request.",
    before="struct Particle { float x, y, z, m; };\nout[i] = p[i].x + p[i].m;  // 16 bytes from lane to lane",
    after="struct Particles { float *x, *y, *z, *m; };\nout[i] = p.x[i] + p.m[i];  // 4 bytes from lane to lane",
    rung="access struct_of_arrays",
    find=find,
)
