"""The report as one file that opens without a network: facts, packed charts, the glossary."""

import base64
import gzip
import hashlib
import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from data.plain import takes_plain
from engine.runtime.collector import pause_collector
from optimizer.atomic_write import write_output, write_whole
from optimizer.errors import ConfigError
from optimizer.formatting import HELD_OUT, MEANINGS, format_count, number, words
from optimizer.report.account import SHARPE_DAYS
from optimizer.report.charts.chart import Chart
from optimizer.report.facts import describe_figures, summarize
from optimizer.report.model import (
    MOST_MEMBERS,
    Chosen,
    build_member_rows,
    build_page_data,
    choose_members,
)
from optimizer.report.schedule import (
    FOLD_COLUMNS,
    STEP_COLUMNS,
    find_schedule,
    list_fold_cells,
    list_step_cells,
)
from optimizer.report.summary import Kind, select, shorten_verdict
from optimizer.report.tables import Tables
from optimizer.run.tables import find_differing
from optimizer.store.files import REPORT

PARTS = ("verdict", "evidence", "front", "candidate", "trades", "search", "glossary")
PARTS_OF_A_SEARCH = ("evidence", "front", "search")

FIRST_ROWS = 10
"""Members that the table of a front begins with."""

LONGEST_TEXT = 400
"""Longer texts are cut, and say how long they were."""

Array = npt.NDArray[np.generic]

DTYPES = {"f": "<f8", "i": "<i4", "u": "<i4", "b": "<i4"}
"""Kind of an array to the form in which it travels."""

ALIGNMENT = 8
"""Arrays begin at multiples of this, as a browser's typed arrays must."""

PLAIN = {str, int, bool, type(None)}
"""Types of values that JSON takes as they are."""

LEVEL = 6
"""Of compression: 9 takes five times as long and saves one hundredth."""


@takes_plain(ConfigError)
def write_report(run: Tables, path: Path | None = None, member: int | None = None) -> Path:
    """Write a run's report, by default into the run's own directory.

    It opens at the pick, or at the knee of a run that is not finished, unless a member is named.

    Raises:
        ConfigError: When there is no such member, or a backtest is to be written to no place.
        OptimizerError: When the file cannot be written; one that was there is left as it was.
    """
    if path is None and not run.is_search:
        raise ConfigError(
            "a backtest has no folder of its own: say where its report goes, as in "
            "write_report(run, Path('report.html'))"
        )
    page = page_html(run, member)
    if path is not None:
        write_output(path, page)
        return path
    # A folder of a run may have come from anywhere: what is there is not followed.
    write_whole(run.path / REPORT, page, may_follow=False)
    return run.path / REPORT


def renew_report(run: Tables) -> Path | None:
    """Write a run's report anew: an older one shows an older judgement."""
    return write_report(run) if (run.path / REPORT).is_file() else None


@takes_plain(ConfigError)
@pause_collector()
def page_html(run: Tables, member: int | None = None) -> str:
    """The report of a run as one page; see `write_report`."""
    if member is not None:
        run.check_member(member)
    _begin_packing_library()
    chosen = choose_members(run, member) if run.members else None
    data = build_page_data(run, chosen)
    return render_page(
        "report", data, page_policy(), read_script("report"), page=_render_static(run, chosen)
    )


def render_charts(name: str, charts: Mapping[str, Chart], page: Mapping[str, object]) -> str:
    """A page from the template of a name, with a script that only draws charts."""
    script = read_script("charts")
    rules = policy(script.encode(), load_plotly())
    return render_page(name, charts, rules, script, page=page)


def render_page(name: str, data: object, policy: str, script: str, **values: object) -> str:
    """A page from the template of a name, with data and the library of charts packed in it."""
    page = _read_template(name).render(
        **values,
        policy=policy,
        style=read_asset("report.css"),
        script=script,
        data=pack(data),
        library=_begin_packing_library().result(),
    )
    # A path may hold bytes that are no character.
    return page.encode(errors="replace").decode()


@cache
def _read_template(name: str) -> Template:
    """The template of a name, compiled once."""
    environment = Environment(
        loader=FunctionLoader(read_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["short"] = short
    environment.filters["whole_flags"] = whole_flags
    return environment.get_template(f"{name}.html")


def short(text: object, most: int = LONGEST_TEXT) -> str:
    """A text, cut when it is longer than a page can bear."""
    whole = str(text)
    if len(whole) <= most:
        return whole
    return f"{whole[:most]}… ({len(whole):,} characters)"


def whole_flags(text: str) -> Markup:
    """A text as HTML in which no line ends inside a flag of a command.

    >>> whole_flags("judge <RUN> --null 199")
    Markup('judge &lt;RUN&gt; <span class="flag">--null</span> 199')
    """
    return Markup(re.sub(r"--[a-z][a-z-]*", r'<span class="flag">\g<0></span>', str(escape(text))))


def policy(*scripts: bytes) -> str:
    """A content security policy under which only these scripts run and nothing is fetched."""
    digests = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def page_policy() -> str:
    """The content security policy of every report."""
    return policy(read_script("report").encode(), load_plotly())


@cache
def read_asset(name: str) -> str:
    """Text of a file that pages are made of."""
    return (files("optimizer.report") / "assets" / name).read_text(encoding="utf-8")


def pack(value: object) -> str:
    """Pack JSON-like data with charts, and NumPy arrays of at most two dimensions, in it.

    Single numbers that are not finite become null; arrays keep NaN. Base64 of gzip of: the
    length of the JSON (4 bytes, little-endian) and the JSON, padded to a multiple of 8 bytes,
    then all arrays, each padded likewise.
    """
    arrays = _Arrays()
    plain = to_plain(value, arrays.add)
    text = json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()
    return encode_gzip(_pad_content(struct.pack("<I", len(text)) + text) + b"".join(arrays.parts))


def encode_gzip(content: bytes) -> str:
    """Base64 of gzip, the same for the same content whenever it is made."""
    return base64.b64encode(gzip.compress(content, LEVEL, mtime=0)).decode("ascii")


@cache
def load_plotly() -> bytes:
    """The script that draws charts, as the plotting library brings it."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_bytes()


def read_script(name: str) -> str:
    """The script of a page, behind the common ones of all pages."""
    return "".join(read_asset(f"{part}.js") for part in ("look", "packed", name))


@cache
def _begin_packing_library() -> Future[str]:
    """Library of charts, packed once, in a thread: to compress holds no lock of Python's.

    It takes as long as all else of a small report.
    """
    return ThreadPoolExecutor(1, "library").submit(lambda: encode_gzip(load_plotly()))


class _Arrays:
    """Arrays one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self._known: dict[tuple[str, bytes], int] = {}

    def add(self, array: Array) -> Mapping[str, object]:
        """Append an array that is not there yet; what stands for it in the JSON."""
        dtype = "<f4" if array.dtype == np.float32 else DTYPES[array.dtype.kind]
        content = _pad_content(np.ascontiguousarray(array).astype(dtype).tobytes())
        at = self._known.setdefault((dtype, content), self.size)
        if at == self.size:
            self.parts.append(content)
            self.size += len(content)
        return {"$": dtype[1:], "at": at, "shape": list(array.shape)}


def _render_static(run: Tables, chosen: Chosen | None) -> Mapping[str, object]:
    """Static part of the page, before any script runs."""
    named = () if chosen is None else _put_differing_first(run, chosen.named)
    columns, rows = build_member_rows(run, named)
    facts = summarize(run)
    by_kind = {kind: select(facts, kind) for kind in get_args(Kind)}
    made, judgement = find_schedule(run), run.judgement
    folds = () if judgement is None or judgement.folds is None else judgement.folds.rows
    names = ("member", *columns)
    total = len(run.members)
    shown = format_count(total, "member")
    if total > MOST_MEMBERS:
        beyond = ", and who stands out" if len(named) > MOST_MEMBERS else ""
        shown = f"the first {MOST_MEMBERS:,} of {total:,} members{beyond}"
    return {
        "title": run.title,
        "is_search": run.is_search,
        "strategy": words(run.header.strategy),
        "data": run.header.data,
        "facts": by_kind,
        "headline": shorten_verdict(by_kind["verdict"][0]),
        "figures_caption": describe_figures(run),
        "folds": list_fold_cells(folds),
        "fold_columns": FOLD_COLUMNS,
        "fold_genes": [[number(row.genes.get(name)) for name in run.genes] for row in folds],
        "gene_names": [words(name) for name in run.genes],
        "steps": () if made is None else list_step_cells(made),
        "step_columns": STEP_COLUMNS,
        "columns": [{"title": words(n), "kind": _name_kind(run, n)} for n in names],
        "rows": [
            ((str(member), member), *cells) for member, cells in zip(named, rows, strict=True)
        ],
        "table_caption": shown + _describe_order(run, named),
        "glossary": [(name, anchor(name), meaning) for name, meaning in terms(run).items()],
        "anchors": {name: anchor(name) for name in terms(run)},
        "metrics_caption": "Metrics, in-sample and held out" if run.has_held_out else "Metrics",
        "search_note": _describe_search(run),
        "footer": _render_footer(run),
        "parts": [part for part in PARTS if run.is_search or part not in PARTS_OF_A_SEARCH],
    }


def _put_differing_first(run: Tables, named: Sequence[int]) -> Sequence[int]:
    """Members that a page names; neighbours on a front are nearly the same."""
    pick = None if run.pick is None else run.pick.member
    first = [n for n in find_differing(run.members, run.objectives, pick, FIRST_ROWS) if n in named]
    return list(dict.fromkeys([*first, *named]))


def _describe_order(run: Tables, named: Sequence[int]) -> str:
    """End of the caption of a front: who comes first."""
    by = f"by {words(run.objectives[0])}"
    return f", {by}" if len(named) <= FIRST_ROWS else f", those that differ most first, then {by}"


def _name_kind(run: Tables, column: str) -> str:
    if column in run.objectives:
        return "objective"
    if column.startswith(HELD_OUT):
        return "held-out"
    return "gene" if column in run.genes else "number"


def _describe_search(run: Tables) -> str:
    if not run.is_search:
        return ""
    history = run.history
    note = f"{format_count(len(run.summaries), 'generation')} of up to "
    note += format_count(int(run.generations["individuals"].max()), "candidate") + "."
    if history.left_out:
        note += f" {format_count(history.left_out, 'generation')} are not drawn."
    if history.only_fronts:
        note += " Of older generations only the front was kept, so that is what is drawn."
    return note


def _render_footer(run: Tables) -> str:
    made_from = f"run {run.id} of " if run.is_search else ""
    versions = sorted(run.header.versions.items())
    made = ", ".join(f"{name} {version}" for name, version in versions)
    return f"Made from {made_from}{run.header.created_at} with {made}. All times UTC."


def to_plain(value: object, place: Callable[[Array], object]) -> object:
    """The value as JSON, with what `place` makes of an array where there is one."""
    # Most of a page are texts, lists and mappings of Python's own.
    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return [item if type(item) in PLAIN else to_plain(item, place) for item in value]
    if type(value) is dict:
        return {str(k): v if type(v) in PLAIN else to_plain(v, place) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return place(value)
    if isinstance(value, Chart):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item, place) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item, place) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _pad_content(content: bytes) -> bytes:
    """Content with blanks up to a multiple of `ALIGNMENT`; JSON and arrays do not mind them."""
    return content + b" " * (-len(content) % ALIGNMENT)


TERMS = {
    "buy and hold": "bought at the first close of the searched bars, entry cost paid, and kept",
    "cost in R": "what fee and slippage took of a trade, in R",
    "drawdown": "how far equity lies below its peak, after each trade; its bars are those from the "
    "peak to the recovery, or else to the last bar",
    "equity": "value of an account that begins at 1 and puts --risk-fraction of it at risk a trade",
    "ended by": "why a trade ended: stop, margin (the account was lost), target, time, "
    "a signal, the session or the last bar",
    "R": "what a trade puts at risk, from entry to first stop; a result of 2 R is twice that",
    "rolling sharpe": f"the daily Sharpe ratio of the {SHARPE_DAYS} days with bars up to each day",
    "sharpe a day": "mean R of the trades closed on a day over its standard deviation, per day",
}

OF_A_SEARCH = {
    "certificate": "the front replayed by the readable reference: do the engines agree, to the bit",
    "distinct": "a candidate counts once; one that died out may come again and be evaluated anew",
    "evaluated": "backtested on the bars of the search, in a generation or in polishing",
    "front": "candidates that no other one beats in every objective",
    "gene": "a number of the strategy that the search may change, within bounds",
    "held out": "bars that the search never sees; looked at only when asked, and counted",
    "hypervolume": "volume of objectives that a front dominates; it rises while a search finds",
    "in-sample": "on the bars that were searched, where every result is chosen to look good",
    "knee": "the member that lies closest to the best of all objectives at once",
    "member": "a candidate of the front; 0 is the best in the first objective",
    "pick": "the member of greatest strength, named before any unseen bar is looked at",
    "polishing": "neighbours of the final front are evaluated, and the better ones kept",
}

OF_EVIDENCE = {
    "all trials": "Hansen's test (SPA): could the best of blindly chosen trials be luck",
    "costs": "at which fee and slippage a side nothing would be left",
    "DSR": "deflated Sharpe ratio: PSR after as many tries as were made",
    "drift": "are trades since worse than those that the run is judged by; 20 is an alarm",
    "efficiency": "mean daily R of a fold's pick on unseen bars over that on searched ones",
    "folds": "the search made anew on parts of the bars, its pick judged on the bars after them",
    "halves": "does what is best in one half of the bars stay good in the other (PBO by CSCV)",
    "late entries": "the pick with every entry one bar later",
    "left out": "the pick without one of the symbols, or without one quarter of the time",
    "look-ahead": "do trades change when later bars are cut off; they must not",
    "mirrored bars": "the real bars, by chance turned about their mean: did direction matter",
    "neighbours": "candidates whose genes differ a little from the pick's",
    "other orders": "drawdowns of the same trades in other orders",
    "p": "how often luck alone does as well in the test that is named; small is unlike luck",
    "PSR": "probabilistic Sharpe ratio: chance that it lies above 0, were it the only one tried",
    "searches": "fronts searched on the same bars; each is one more try to be lucky",
    "shuffled bars": "markets made of the real bars in another order, where no edge can be",
    "trials": "distinct candidates that the search evaluated; those with enough trades are judged",
    "within a bar": "trades whose stop lies in one bar with a target or a fill: which came first?",
}


def terms(run: Tables) -> dict[str, str]:
    """Every term of a run's page and its meaning, in the order of the alphabet."""
    names = [str(name).removeprefix(HELD_OUT) for name in run.front.columns] if run.members else []
    definitions: Mapping[str, str] = {
        **{words(name): formula for name, formula in run.header.formulas.items()},
        **{words(name): MEANINGS[name] for name in names if name in MEANINGS},
        **TERMS,
        **(OF_A_SEARCH if run.is_search else {}),
        **({} if run.judgement is None else OF_EVIDENCE),
    }
    return dict(sorted(definitions.items(), key=lambda term: term[0].lower()))


def anchor(term: str) -> str:
    """Anchor of a term on the page."""
    return "term-" + term.replace(" ", "-")
