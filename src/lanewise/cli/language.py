"""The language of reports, as every command that shows one takes it."""

from __future__ import annotations

from typing import Annotated

import typer

from lanewise.catalogue import ENGLISH

LanguageOption = Annotated[
    str, typer.Option("--lang", metavar="LANGUAGE", help="Headings and advice in this language: en or zh (Chinese).")
]
DEFAULT_LANGUAGE = ENGLISH
