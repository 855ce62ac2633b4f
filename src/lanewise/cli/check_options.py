"""Options of checks, for `lanewise check` and `lanewise run --check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.errors import UsageError
from lanewise.request import Build

BuildOption = Annotated[
    Build,
    typer.Option("--build", help="Which build of sources to check: optimised, plain (without optimisation), or both."),
]
SchedulesOption = Annotated[
    int,
    typer.Option("--schedules", metavar="N", min=1, help="Check N runs, blocks and warps in another order each time."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Suppressions; else lanewise.toml or pyproject.toml near the program."
    ),
]


def refuse(config: Path | None, build: Build, schedules: int, *, checks: bool) -> None:
    """Raises UsageError for a configuration that is no file, and for options of checks where nothing is checked."""
    if config is not None and not config.is_file():
        raise UsageError(f"{config} is no file")
    if not checks and (config is not None or build is not Build.OPTIMISED or schedules != 1):
        raise UsageError("--build, --schedules and --config are options of checks", next_step="add --check")
