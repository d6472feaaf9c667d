"""Pages as HTML and JSON, and their few files."""

import gzip
import hashlib
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FunctionLoader, StrictUndefined

from optimizer.printable import clean_text
from optimizer.report import Run, page_html
from optimizer.report.page import LEVEL, load_plotly, page_policy, read_asset, to_plain
from optimizer.report.run import Single
from optimizer.run.purposes import SHOW, restore_task
from optimizer.search.generation import Floats
from optimizer.store import RunStore

REPORT_HEADERS = {
    "content-security-policy": f"{page_policy()}; frame-ancestors 'self'",
}
"""Of a report: its own policy, and it stands in a page of this server alone."""

SCRIPTS, STYLES = "text/javascript; charset=utf-8", "text/css; charset=utf-8"


OWN_SCRIPTS = ("base.js", "index.js", "run.js", "beside.js", "today.js")

ASSETS = (*OWN_SCRIPTS, "look.js", "plotly.js", "report.css", "pages.css")
"""Files that are served beside pages."""


class Asset(NamedTuple):
    """A file of pages, packed."""

    content: bytes  # gzip
    media_type: str


def _read_own(name: str) -> str:
    return (files("optimizer.viewing") / "assets" / name).read_text(encoding="utf-8")


def _read_content(name: str) -> bytes:
    if name == "plotly.js":
        return load_plotly()
    return (_read_own if name in (*OWN_SCRIPTS, "pages.css") else read_asset)(name).encode()


@cache
def load_asset(name: str) -> Asset:
    """One of `ASSETS`; packed once, which takes a moment for the library of charts."""
    content = gzip.compress(_read_content(name), LEVEL, mtime=0)
    return Asset(content, SCRIPTS if name.endswith(".js") else STYLES)


@cache
def _address_asset(name: str) -> str:
    """Address of a file, another one whenever it changes."""
    return f"/assets/{name}?{hashlib.sha256(_read_content(name)).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_read_own),
        finalize=lambda value: clean_text(value) if isinstance(value, str) else value,
    )
    environment.globals["asset"] = _address_asset
    return environment


def render_page(template: str, **values: object) -> str:
    """A page; every value is escaped."""
    return _environment().get_template(template).render(**values)


def make_report(path: Path, member: int | None) -> bytes:
    """The report of a run, opened at a member; computed from the record, never read as a file."""
    return page_html(Run(path), member).encode()


def make_candidate_page(path: Path, genome: Floats, generation: int) -> bytes:
    """A genome [G] of an unfinished run, traded on its searched bars."""
    with RunStore.open(path) as store:
        task = restore_task(store, SHOW, {})
    source = f"a candidate of run {path.name}, generation {generation:,}"
    return page_html(Single(task, genome, source)).encode()


def encode_json(value: object) -> bytes:
    """One line of JSON; numbers that are not finite are null, no sign turns the direction."""
    plain = to_plain(value, _list_numbers)
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return clean_text(text, kept="").encode()


def _list_numbers(array: npt.NDArray[np.generic]) -> object:
    if array.dtype.kind == "f":
        array = np.where(np.isfinite(array.astype(np.float64)), array, None)  # type: ignore[call-overload]
    return array.tolist()
