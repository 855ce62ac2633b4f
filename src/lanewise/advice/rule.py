"""What a rule is, and how it says what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lanewise.advice.history import History
from lanewise.advice.subject import Subject
from lanewise.catalogue import catalogue
from lanewise.records import Finding, Gain, LaneSample, LaunchRecord, Said, Severity, SourceLine, Tried


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that costs time, with its page of the documentation. `name` is the name of its file.

    `find` looks at one launch, `find_in_run` at all launches of a program when it has ended: (number of the record,
    finding). `instead_of` are rules that say less of the same place: where both find something, they are silent.
    """

    name: str
    title: str
    what: str
    why: str
    before: str  # CUDA C++
    after: str
    rung: str | None = None  # of the ladder: "transpose padded"
    find: Callable[[Subject], Iterable[Finding]] | None = None
    find_in_run: Callable[[History], Iterable[tuple[int, Finding]]] | None = None
    instead_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """One of the catalogue's, by key, with what fills its places."""

    key: str
    values: tuple[tuple[str, str], ...]

    def as_part(self, part: str) -> Said:
        return Said(part, self.key, self.values)


def say(key: str, **values: str) -> Sentence:
    """`key` is "rule.sentence"; a value that starts with `@` is a key ("@kind.load")."""
    return Sentence(key, tuple(values.items()))


def advice(
    rule: str,
    record: LaunchRecord,
    *,
    message: Sentence,
    change: Sentence | None = None,
    after_us: float | None = None,
    tried: Tried = Tried.ESTIMATED,
    evidence: Sequence[Sentence] = (),
    next_step: Sentence,
    price: Sentence | None = None,
    rung: str | None = None,
    source: SourceLine | None = None,
    ptx_line: int | None = None,
    samples: tuple[LaneSample, ...] = (),
) -> Finding:
    """A finding of a rule, its sentences in English and by their keys. `change`: in a few words; `next_step`: what to
    do, a whole sentence; `after_us`: of the launch with the change. Without `change` and `after_us` it is a remark:
    something that costs time, and that no change that was tried makes better."""
    named = [("message", message), ("next_step", next_step), *(("evidence", e) for e in evidence)]
    named += [(part, s) for part, s in (("change", change), ("price", price)) if s is not None]
    if record.time_us is None:
        raise ValueError("a launch without a modelled time has nothing to gain from")
    said = tuple(sentence.as_part(part) for part, sentence in named)
    words = catalogue()
    texts: dict[str, list[str]] = {}
    for entry in said:
        texts.setdefault(entry.part, []).append(words.said(entry))
    gain = None
    if change is not None and after_us is not None:
        gain = Gain(record.time_us, round(after_us, 3), tried, texts["change"][0])
    return Finding(
        check=rule,
        severity=Severity.NOTE,
        message=texts["message"][0],
        kernel=record.kernel,
        source=source,
        ptx_line=ptx_line,
        evidence=tuple(texts.get("evidence", ())),
        next_step=texts["next_step"][0],
        gain=gain,
        price=texts["price"][0] if price is not None else None,
        rung=rung,
        samples=samples,
        said=said,
    )
