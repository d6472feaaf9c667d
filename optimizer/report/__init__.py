"""Results of a run, to look at: tables, charts, one page."""

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
