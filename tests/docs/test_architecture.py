"""The table of rooms in `docs/architecture.md` says which room may import which; the code keeps to it."""

from __future__ import annotations

import ast
import re

import pytest
from pages import ROOT

PACKAGE = ROOT / "src/lanewise"
_ROW = re.compile(r"^\| `(\w+)/` \|.*\| ([^|]*) \|$", re.M)
_NAMES = {"demangle", "version", "alike"}  # for every room


def rooms() -> dict[str, str]:
    """Room -> what it may import, as the table says."""
    return dict(_ROW.findall((ROOT / "docs/architecture.md").read_text()))


def imported(room: str) -> set[tuple[str, str]]:
    """(file, room it imports) of all modules of a room, imports within functions included."""
    found = set()
    for path in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "lanewise":
                parts = node.module.split(".")[1:] or [alias.name for alias in node.names]
                found.add((path.name, parts[0]))
    return found


def test_the_table_names_every_room() -> None:
    assert set(rooms()) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@pytest.mark.parametrize("room", sorted(rooms()))
def test_a_room_imports_what_the_table_allows(room: str) -> None:
    allowed = rooms()[room]
    if allowed == "everything":
        return
    known = {room, *_NAMES, *(re.sub(r" \(.*?\)", "", allowed).split(", "))}
    assert {(file, other) for file, other in imported(room) if other not in known} == set()
