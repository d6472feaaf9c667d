"""Pages as HTML, and the few files that they are made of."""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined

from optimizer.report import Run, page_html
from optimizer.report.page import load_plotly, page_policy, read_asset
from optimizer.report.run import Single
from optimizer.run.header import shown_task
from optimizer.search.generation import Floats
from optimizer.store import RunStore

REPORT_HEADERS = {
    "content-security-policy": f"{page_policy()}; frame-ancestors 'self'",
}
"""Of a report: its own policy, and it stands in a page of this server alone."""

SCRIPTS, STYLES = "text/javascript; charset=utf-8", "text/css; charset=utf-8"


class Asset(NamedTuple):
    """A file of pages, packed."""

    content: bytes  # gzip
    media_type: str
    version: str  # changes whenever the file does


def _read_own(name: str) -> str:
    return (files("optimizer.viewing") / "assets" / name).read_text(encoding="utf-8")


@cache
def load_assets() -> Mapping[str, Asset]:
    """All files that are served beside pages, by name."""
    own = ("base.js", "index.js", "run.js", "beside.js")
    texts = {name: (_read_own(name).encode(), SCRIPTS) for name in own} | {
        "look.js": (read_asset("look.js").encode(), SCRIPTS),
        "plotly.js": (load_plotly(), SCRIPTS),
        "report.css": (read_asset("report.css").encode(), STYLES),
        "pages.css": (_read_own("pages.css").encode(), STYLES),
    }
    return {
        name: Asset(gzip.compress(text, mtime=0), kind, hashlib.sha256(text).hexdigest()[:12])
        for name, (text, kind) in texts.items()
    }


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_read_own)
    )
    environment.globals["asset"] = lambda name: f"/assets/{name}?{load_assets()[name].version}"
    return environment


def render_page(template: str, **values: object) -> str:
    """A page; every value is escaped."""
    return _environment().get_template(template).render(**values)


def make_report(path: Path, member: int | None) -> bytes:
    """The report of a run, opened at a member; computed from the record, never read as a file.

    Raises:
        OptimizerError: When there is no such member, or the run cannot be read.
    """
    return page_html(Run(path), member).encode()


def make_candidate_page(path: Path, genome: Floats, generation: int) -> bytes:
    """A genome [G] of a run that is not finished, traded on the bars that it is searched on.

    Raises:
        OptimizerError, DataError: When its bars, or its strategy, cannot be had here.
    """
    with RunStore.open(path) as store:
        task = shown_task(store, {})
    source = f"a candidate of run {path.name}, generation {generation:,}"
    return page_html(Single(task, genome, source)).encode()
