"""The report as one file: it opens without a network and holds all that it shows."""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from optimizer.report.charts.chart import words
from optimizer.report.model import MOST_MEMBERS, Chosen, choose, member_rows, page_data
from optimizer.report.payload import compressed, pack, plotly_script
from optimizer.report.tables import Tables
from optimizer.report.verdict import cautions, data_facts, headline, samples_of, search_facts
from optimizer.shown import counted
from optimizer.written import write_whole

FILE_NAME = "report.html"
"""Name of a run's report in the run's directory."""

MOST_SIDE_BY_SIDE = 10
"""Members whose in-sample and held-out figures stand at the top."""

PARTS = ("verdict", "front", "individual", "trades", "sensitivity", "search")
PARTS_OF_A_SEARCH = ("front", "search")

LONGEST_TEXT = 400
"""Longer texts are cut, and say how long they were."""


def write_report(run: Tables, path: Path | None = None, member: int | None = None) -> Path:
    """Write a run's report.

    Args:
        run: Any run with a generation.
        path: File to write; the run's own directory when None.
        member: Member to open with; the knee of the front when None.

    Returns:
        The file.

    Raises:
        ConfigError: When there is no such member.
        OptimizerError: When the file cannot be written; one that was there is left as it was.
    """
    target = run.path / FILE_NAME if path is None else path
    write_whole(target, page_html(run, member))
    return target


def page_html(run: Tables, member: int | None = None) -> str:
    """The report of a run as one page; see `write_report`."""
    if member is not None:
        run.check_member(member)
    chosen = choose(run, member) if run.members else None
    assets = files("optimizer.report") / "assets"
    script = (assets / "report.js").read_text(encoding="utf-8")
    library = plotly_script()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["short"] = short
    template = environment.from_string((assets / "report.html").read_text(encoding="utf-8"))
    return template.render(
        page=_static(run, chosen),
        policy=policy(script.encode(), library),
        style=(assets / "report.css").read_text(encoding="utf-8"),
        script=script,
        data=pack(page_data(run, chosen)),
        library=compressed(library),
    )


def short(text: object, most: int = LONGEST_TEXT) -> str:
    """A text, cut when it is longer than a page can bear."""
    whole = str(text)
    if len(whole) <= most:
        return whole
    return f"{whole[:most]}… ({len(whole):,} characters)"


def policy(*scripts: bytes) -> str:
    """A content security policy under which only these scripts run and nothing is fetched."""
    digests = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _static(run: Tables, chosen: Chosen | None) -> Mapping[str, object]:
    """What the page says before any script runs."""
    columns, rows = member_rows(run)
    names = ("member", *columns)
    total = len(run.members)
    shown = (
        f"the first {MOST_MEMBERS:,} of {total:,} members"
        if total > MOST_MEMBERS
        else (counted(total, "member"))
    )
    return {
        "title": run.title,
        "is_search": run.is_search,
        "strategy": words(run.header.strategy),
        "data": run.header.data,
        "headline": headline(run),
        "cautions": cautions(run),
        "facts": [*data_facts(run), *search_facts(run)],
        "samples": samples_of(run, chosen.order[:MOST_SIDE_BY_SIDE] if chosen else ()),
        "columns": [{"title": words(n), "kind": _kind(run, n)} for n in names],
        "rows": [
            {
                "member": i,
                "cells": [
                    {"text": str(i), "value": i},
                    *({"text": text, "value": value} for text, value in cells),
                ],
            }
            for i, cells in enumerate(rows)
        ],
        "table_caption": f"{shown}, best {words(run.objectives[0])} first",
        "metrics_caption": "Metrics, in-sample and held out" if run.has_held_out else "Metrics",
        "search_note": _search_note(run),
        "footer": _footer(run),
        "parts": [part for part in PARTS if run.is_search or part not in PARTS_OF_A_SEARCH],
    }


def _kind(run: Tables, column: str) -> str:
    if column in run.objectives:
        return "objective"
    return "gene" if column in run.genes else "number"


def _search_note(run: Tables) -> str:
    if not run.is_search:
        return ""
    history = run.history
    note = f"{counted(len(run.summaries), 'generation')} of up to "
    note += counted(int(run.generations["individuals"].max()), "individual") + "."
    if history.left_out:
        note += f" {counted(history.left_out, 'generation')} are not drawn."
    if history.only_fronts:
        note += " Of older generations only the front was kept, so that is what is drawn."
    return note


def _footer(run: Tables) -> str:
    made_from = f"run {run.id} of " if run.is_search else ""
    versions = sorted(run.header.versions.items())
    made = ", ".join(f"{name} {version}" for name, version in versions)
    return f"Made from {made_from}{run.header.created_at} with {made}. All times UTC."
