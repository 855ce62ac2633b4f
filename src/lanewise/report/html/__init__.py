"""The report as one page of HTML."""

from lanewise.report.html.page import to_html

__all__ = ["to_html"]
