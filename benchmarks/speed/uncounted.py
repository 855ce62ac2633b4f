"""The emulator without its counting functions: what they cost. Counts of such launches mean nothing."""

from __future__ import annotations

import re

from lanewise.emulator import counting

_HEADER = re.compile(r"define internal (?P<returns>i\d+) @(?P<name>lw_\w+)\([^)]*\)[^{]*{")


def stop_counting() -> None:
    """From now on each counting function returns 0 at once, in code that this process compiles."""
    stubs = {}
    for name, text in counting.definitions().items():
        header = _HEADER.match(text)
        stubs[name] = text if header is None else f"{header[0]}\n  ret {header['returns']} 0\n}}"
    counting.definitions = lambda: stubs
