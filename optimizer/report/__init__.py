"""Results of a run, to look at: tables, charts, one page."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.report.apart import Apart
    from optimizer.report.page import page_html, renew_report, write_report
    from optimizer.report.run import Run, check_strategy, compare_runs

__all__ = [
    "Apart",
    "Run",
    "check_strategy",
    "compare_runs",
    "page_html",
    "renew_report",
    "write_report",
]

FILES = {
    **dict.fromkeys(("page_html", "renew_report", "write_report"), "page"),
    **dict.fromkeys(("Run", "check_strategy", "compare_runs"), "run"),
    "Apart": "apart",
}
"""File of each name, which is imported when one asks for it: a search draws no page."""


def __getattr__(name: str) -> object:
    """A name of one of the files."""
    if name in FILES:
        return getattr(import_module(f"optimizer.report.{FILES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
