"""The examples, and what runs `lanewise` on them as a user does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

EXAMPLES = Path(__file__).parents[2] / "examples"
Command = Callable[..., CompletedProcess[str]]
