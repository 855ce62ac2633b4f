"""The instruction table and the lowerings agree: every key exists, every tried instruction is in the table."""

from __future__ import annotations

import pytest
from harness import instruction_of
from instructions import Case, all_cases, width_of

from lanewise.emulator.lowering import resolve
from lanewise.ptx.instructions import TABLE, lookup
from lanewise.ptx.syntax import TYPE_BITS


@pytest.mark.parametrize("key", sorted({spec.lowering for spec in TABLE if spec.lowering and spec.elementwise}))
def test_key(key: str) -> None:
    assert callable(resolve(key))


def test_unknown_key() -> None:
    for key in ("integer.nothing", "nothing.add", "integer"):
        with pytest.raises(LookupError, match=key):
            resolve(key)


@pytest.mark.parametrize("case", list(all_cases()), ids=lambda case: case.id)
def test_same_types(case: Case) -> None:
    """Operands arrive as wide as the table says."""
    instruction = instruction_of(case)
    spec = lookup(instruction)
    assert spec is not None, f"{case.id} is not in the table"
    assert spec.lowering == case.key
    widths = [TYPE_BITS[kind] for kind in spec.operand_types(instruction)]
    operands = [width_of(spec) for spec in case.operands if isinstance(spec, str)]
    results = [width_of(spec) for spec in case.results]
    if case.key.startswith("carry."):  # the carry flag is no operand
        operands, results = [width for width in operands if width != 1], results[:1]
    assert widths[-len(operands) :] == operands or isinstance(case.operands[-1], int)
    assert widths[0] == results[0]
