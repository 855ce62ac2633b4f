"""Files that tests compare with, and that `make golden` (LANEWISE_UPDATE_GOLDEN=1) writes anew."""

from __future__ import annotations

import os
from pathlib import Path


def check(path: Path, text: str) -> None:
    """`text` equals the file at `path`; with LANEWISE_UPDATE_GOLDEN=1 the file is written instead."""
    if os.environ.get("LANEWISE_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.is_file(), f"{path} is missing; `make golden` writes it"
    assert text == path.read_text(encoding="utf-8"), f"{path} is out of date; look at the change, then `make golden`"
