"""Pages of the documentation whose blocks are executed: what they show is what really comes out.

Blocks of a page share one Python namespace. They are executed in the root of the checkout, so that programs which were
built before are known; files that they leave there are deleted.

- a `python` block is executed, and so are the tests that it defines; a `text` block under the comment
  `<!-- printed -->` is what it printed;
- a `pycon` block is a session, checked as doctest does;
- a `text` block under `<!-- from: COMMAND | FIRST | END -->` is cut from the output of `lanewise COMMAND`: from the
  line that starts with FIRST to the line before the next one that starts with END (`(blank)`: an empty line; without
  END: to the end);
- the lines of an `sh` block that start with `lanewise` are run; `# exit code N` ends a line that does not end with 0.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "README.zh.md",
    *(f"docs/{name}.md" for name in ("getting-started", "how-it-counts", "python", "departures", "ladder/refuted")),
)
_BLOCK = re.compile(r"(?:^<!-- (?P<comment>[^\n]*) -->\n\n?)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
_EXIT_CODE = re.compile(r"# exit code (\d+)$")
BLANK = "(blank)"
_LONGEST = 300  # seconds for one command, on a machine that has nothing in its cache


@dataclass(frozen=True)
class Block:
    """A fenced block; `start` and `end` are the places of its body in the page."""

    kind: str
    comment: str
    body: str
    start: int
    end: int


def blocks(page: str) -> list[Block]:
    return [
        Block(match["kind"], match["comment"] or "", match["body"], match.start("body"), match.end("body"))
        for match in _BLOCK.finditer(page)
    ]


def executed(page: str) -> str:
    """The page with every block as it comes out when it is executed."""
    before, files = Path.cwd(), set(ROOT.iterdir())
    os.chdir(ROOT)
    try:
        return _executed(page)
    finally:
        os.chdir(before)
        for left in set(ROOT.glob("*.json")) - files:
            left.unlink()


def _executed(page: str) -> str:
    names: dict[str, object] = {}
    printed, parts, last = "", [], 0
    for block in blocks(page):
        body = block.body
        if block.kind == "python":
            printed = run_python(body, names)
        elif block.kind == "pycon":
            body = session(body, names)
        elif block.comment == "printed":
            body = printed
        elif block.comment.startswith("from: "):
            command, *cut = block.comment.removeprefix("from: ").split(" | ")
            body = excerpt(lanewise(command)[1], *cut)
        elif block.kind == "sh":
            body = "".join(command_line(line) for line in body.splitlines(keepends=True))
        parts += [page[last : block.start], body]
        last = block.end
    return "".join([*parts, page[last:]])


def run_python(code: str, names: dict[str, object]) -> str:
    """Execute a block; what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "block of the page", "exec"), names)
        for name in re.findall(r"^def (test_\w+)\(\)", code, re.M):
            names[name]()  # type: ignore[operator]
    return tidy(out.getvalue())


def session(text: str, names: dict[str, object]) -> str:
    """A session with the answers that really come."""
    test = doctest.DocTestParser().get_doctest(text, names, "page", None, 0)
    lines: list[str] = []
    for example in test.examples:
        source = example.source.splitlines()
        lines += [f"{'>>>' if number == 0 else '...'} {line}".rstrip() for number, line in enumerate(source)]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(example.source, "session of the page", "single"), names)
        lines += tidy(out.getvalue()).splitlines()
    return "".join(f"{line}\n" for line in lines)


def command_line(line: str) -> str:
    """A line of a shell block; with its true exit code where it is one of ours."""
    if not line.startswith("lanewise"):
        return line
    command = _EXIT_CODE.sub("", line.rstrip("\n"))
    status, _ = lanewise(command.partition("  #")[0].removeprefix("lanewise"))
    named = _EXIT_CODE.search(line.rstrip("\n"))
    if status == (int(named[1]) if named else 0):
        return line
    return f"{command.rstrip()}  # exit code {status}\n"


@functools.cache
def lanewise(command: str) -> tuple[int, str]:
    """Exit status and standard output of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "lanewise", *shlex.split(command)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
    return done.returncode, done.stdout


def excerpt(output: str, first: str = "", end: str | None = None) -> str:
    """The lines from the one that starts with `first` to the one before `end`, without blank lines around them."""
    lines = output.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(first))
    stop = len(lines)
    if end is not None:
        ends = str.startswith if end != BLANK else str.__eq__
        stop = next(n for n in range(start + 1, stop) if ends(lines[n], "" if end == BLANK else end))
    return tidy("\n".join(lines[start:stop]))


def tidy(text: str) -> str:
    """Without blank lines at the ends and blanks at the ends of lines."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"
