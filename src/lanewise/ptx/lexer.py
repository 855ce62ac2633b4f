"""Text of PTX to tokens (PTX ISA chapter 4). One regular expression per region; no loop over characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from lanewise.errors import PtxSyntaxError

_COMMENT_OR_STRING = re.compile(
    r'"(?:[^"\\\n]|\\[^\n])*"|(?P<comment>//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*)|(?P<open>/\*)',
    re.ASCII | re.DOTALL | re.MULTILINE,
)
_NOT_NEWLINE = re.compile(r"[^\n]")

_TOKEN = re.compile(
    r"""[ \t\r\n\f\v]*(?:
      (?P<float>0[fF][0-9A-Fa-f]{8}(?![\w$]) | 0[dD][0-9A-Fa-f]{16}(?![\w$])
              | (?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w$]) | \d+[eE][+-]?\d+(?![\w$]))
    | (?P<int>0[xX][0-9A-Fa-f]+U?(?![\w$]) | 0[bB][01]+U?(?![\w$]) | \d+U?(?![\w$]))
    | (?P<dot>\.[A-Za-z0-9_]+(?:::\w+)*)
    | (?P<id>[A-Za-z][\w$]*|[_$%][\w$]+|_)
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<op><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:,\[\]{}()=;@])
    | (?P<end>\Z)
    | (?P<bad>.)
    )""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)


PRAGMA = re.compile(r'\.pragma\s+"[^"\n]*"(?:\s*,\s*"[^"\n]*")*\s*;', re.ASCII)
MAX_GENERATED = 1 << 20


class Token(NamedTuple):
    """`kind` is float, int, dot (`.f32`), id, string, op or end; `offset` counts characters from the text's start."""

    kind: str
    text: str
    offset: int


def shorten(text: str, limit: int = 40) -> str:
    """One line of `text` for a message."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


class Source:
    """The text of a module with comments blanked (offsets kept), and its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._newlines = [match.start() for match in re.finditer("\n", text)]

        def blank(match: re.Match[str]) -> str:
            if match["comment"] is not None:
                return _NOT_NEWLINE.sub(" ", match[0])
            if match["open"] is not None:
                raise self.error("this '/*' comment is never closed", match.start())
            return match[0]

        self.code = _COMMENT_OR_STRING.sub(blank, text.rstrip("\0"))
        self._budget = MAX_GENERATED

    def spend(self, count: int, offset: int) -> None:
        """Account for things that short text makes many of; a bound on memory for hostile input."""
        self._budget -= count
        if self._budget < 0:
            raise self.error(f"families and unfilled array elements exceed {MAX_GENERATED} in this module", offset)

    def line(self, offset: int) -> int:
        """The 1-based line of a position."""
        return bisect_right(self._newlines, offset - 1) + 1

    def error(self, message: str, offset: int, *, next_step: str | None = None) -> PtxSyntaxError:
        """The error to raise for a position in the text."""
        line = self.line(offset)
        start = self._newlines[line - 2] + 1 if line > 1 else 0
        return PtxSyntaxError(message, line, offset - start + 1, next_step=next_step)

    def statement_end(self, position: int) -> int:
        """Where the `;` of a statement is."""
        end = self.code.find(";", position)
        if end < 0:
            raise self.error("this statement is not closed by ';'", position)
        return end

    def tokens(self, start: int, end: int) -> list[Token]:
        """All tokens of a region, closed by one of kind `end`."""
        tokens: list[Token] = []
        for match in _TOKEN.finditer(self.code, start, end):
            kind = match.lastgroup or "end"
            text = match[kind]
            tokens.append(Token(kind, text, match.end() - len(text)))
            if kind == "bad":
                raise self._bad_token(text, match.start("bad"), end)
        if not tokens or tokens[-1].kind != "end":
            tokens.append(Token("end", "", end))
        return tokens

    def _bad_token(self, text: str, offset: int, end: int) -> PtxSyntaxError:
        if text == '"':
            return self.error("this string is not closed on its line", offset)
        word = re.compile(r"[\w$.]+").match(self.code, offset, end)
        if text.isdigit() and word is not None:
            return self.error(f"'{shorten(word[0])}' is not a number that PTX knows", offset)
        return self.error(f"unexpected character {text!r}", offset)


class Cursor:
    """Walks the tokens of one region."""

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.tokens = source.tokens(start, end)
        self.index = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def next(self) -> Token:
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these operators, words or dotted words."""
        token = self.tokens[self.index]
        return token.kind != "string" and token.text in texts

    def accept(self, text: str) -> bool:
        if self.at(text) and self.token.kind != "end":
            self.index += 1
            return True
        return False

    def expect(self, text: str, where: str) -> Token:
        if not self.at(text):
            raise self.unexpected(f"expected '{text}' {where}")
        return self.next()

    def identifier(self, what: str) -> str:
        if self.token.kind != "id":
            raise self.unexpected(f"expected {what}")
        return self.next().text

    def done(self) -> None:
        if self.token.kind != "end":
            raise self.unexpected("expected ',' or ';'")

    def unexpected(self, wanted: str) -> PtxSyntaxError:
        token = self.token
        found = "the statement ends here" if token.kind == "end" else f"found '{shorten(token.text)}'"
        return self.source.error(f"{wanted}, but {found}", token.offset)

    def error(self, message: str, token: Token | None = None, *, next_step: str | None = None) -> PtxSyntaxError:
        return self.source.error(message, (token or self.token).offset, next_step=next_step)
