"""The page: templates filled with a result. One file, nothing loaded from anywhere.

Everything that a program brings (names, source, messages) is escaped by the templates, with control characters spelled
out. The content security policy of the page allows its own script and style sheet by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from lanewise.catalogue import Catalogue, catalogue
from lanewise.records import RunResult
from lanewise.report import text
from lanewise.report.html.charts import roofline_chart
from lanewise.report.html.view import page_view
from lanewise.report.judge import MARKS
from lanewise.report.timing import microseconds
from lanewise.version import __version__


def to_html(result: RunResult, words: Catalogue | None = None) -> str:
    """The report as text of an HTML page that ends with a newline. The same result gives the same bytes."""
    words = words or catalogue()
    view = page_view(result, words)
    style, script = _static("style.css"), _static("script.js")
    page = _environment().get_template("page.html.j2")
    return (
        page.render(
            result=result,
            view=view,
            version=__version__,
            language=words.language,
            say=words.say,
            count=words.count,
            retell=words.retell,
            roofline=roofline_chart(view.roofline, words.say("html.roofline_name")) if view.roofline else None,
            style=Markup(style),
            script=Markup(script),
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
        + "\n"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("lanewise.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters["prose"] = _prose
    environment.filters["us"] = microseconds
    environment.filters["size"] = text.size
    environment.filters["count"] = text.count
    environment.filters["share"] = text.share
    environment.filters["significant"] = text.significant
    environment.globals["marks"] = MARKS
    return environment


def _prose(value: str) -> Markup:
    """A sentence with what stands between backticks as code."""
    parts = text.clean(value).split("`")
    if len(parts) % 2 == 0:
        return escape(text.clean(value))
    tags = ("{}", "<code>{}</code>")
    return Markup("").join(Markup(tags[number % 2]).format(part) for number, part in enumerate(parts))


def _clean(value: object) -> object:
    """Other people's text with control characters, those that turn its direction among them, spelled out."""
    return text.clean(value) if type(value) is str else value


@cache
def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text("utf-8").strip()


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
