"""CUDA C++ in colour: the text of a source file as lines of HTML, whose colours are classes of the style sheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.c_cpp import CppLexer
from pygments.lexers.c_like import CudaLexer
from pygments.token import Keyword, Name

from lanewise.report import text

LONGEST = 400_000  # characters; a longer file is shown without colours

_KEYWORDS = CudaLexer.function_qualifiers | CudaLexer.variable_qualifiers
_NAMES = CudaLexer.variables | CudaLexer.vector_types | CudaLexer.functions | CudaLexer.execution_confs


class CudaCppLexer(CppLexer):
    """C++ with CUDA's words. The lexer of Pygments for CUDA is one of C: it knows no templates, classes or lambdas."""

    name = "CUDA C++"

    def __init__(self) -> None:
        CppLexer.__init__(self, stripnl=False)

    def get_tokens_unprocessed(self, text: str, stack: tuple[str, ...] = ("root",)) -> Iterator[tuple[int, Any, str]]:
        for index, token, value in CppLexer.get_tokens_unprocessed(self, text, stack):
            if token in Name or token is Keyword.Type:
                if value in _KEYWORDS:
                    token = Keyword
                elif value in _NAMES:
                    token = Name.Builtin
            yield index, token, value


def highlighted(source: str) -> list[Markup]:
    """The lines of a source file, as compilers number them, each safe to be put into a page."""
    lines = [text.clean(line.removesuffix("\r")) for line in source.split("\n")]
    if len(source) > LONGEST:
        return [escape(line) for line in lines]
    whole = highlight("\n".join(lines), CudaCppLexer(), HtmlFormatter(nowrap=True))
    made = [Markup(line) for line in whole.split("\n")]  # escaped by Pygments, spans are closed at the ends of lines
    return [made[at] if at < len(made) else Markup() for at in range(len(lines))]
