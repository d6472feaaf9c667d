"""What a run found, to look at: tables, charts, one page."""

from optimizer.report.page import page_html, write_report
from optimizer.report.run import Run, load_run

__all__ = ["Run", "load_run", "page_html", "write_report"]
