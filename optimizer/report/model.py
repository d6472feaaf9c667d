"""Model of a page: the words of its static part, and the data that its script draws."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from data.checks import Ints
from data.shell import write_command
from engine.accounts.ledger import REASONS
from optimizer.formatting import (
    HELD_OUT,
    MEANINGS,
    choose_columns,
    evenly,
    format_gene,
    metric,
    number,
    words,
)
from optimizer.report.account import describe_drawdowns, find_hold_scale
from optimizer.report.charts import price, results
from optimizer.report.charts.account import build_holding, draw_equity_frame
from optimizer.report.charts.chart import OF_ROWS, Chart, milliseconds
from optimizer.report.charts.front import collect_front_columns, metric_axis
from optimizer.report.charts.price import find_rows
from optimizer.report.charts.progress import list_convergence, main_heat_map
from optimizer.report.gallery import Charts
from optimizer.report.regimes import CELLS, Regimes, find_regimes
from optimizer.report.schedule import find_schedule, stitched_curve
from optimizer.report.tables import Tables
from optimizer.report.trades import Plain, Trades, pack_trades, summarize_sides
from optimizer.run.backtest import list_legs
from optimizer.store.result import Member, choose_noun

MOST_MEMBERS = 1_000
"""Members that a page names."""

MOST_DETAILED = 250
"""Members whose trades a page carries; of more an even choice, those that matter most first."""

MOST_TRADES = 250_000
"""Trades that a page carries, over all its members; the first member's in any case."""

MOST_BARS = 150_000
"""Bars that a page carries, to show trades bar by bar."""

MOST_ROW_VALUES = 100_000
"""Values of rows of the first member's strategy that a page carries."""

MOST_SERIES = 24
"""Series whose prices a page shows whole."""

MOST_LEDGERS = 3_000
"""Ledgers that are listed for a page, one a member and window; the first member's in any case."""

HELD_BESIDE = ("trades", "mean_r")
"""Metrics that the table of the front shows held out too, beside the objectives."""


@dataclass(frozen=True)
class Chosen:
    """Members that a page shows in full."""

    first: int
    named: tuple[int, ...]  # all members that it names, in order
    roles: Mapping[int, str]  # member to what distinguishes it, such as ``"best sharpe trade"``
    order: tuple[int, ...]  # all members that may have details, the most wanted first


def choose_members(run: Tables, member: int | None) -> Chosen:
    """Decide which members matter: the named one, the pick, the knee, the best of each."""
    roles: dict[int, list[str]] = {run.knee(): ["the knee: closest to the best of everything"]}
    for o, objective in enumerate(run.objectives):
        roles.setdefault(int(run.minimised[:, o].argmin()), []).append(f"best {words(objective)}")
    first = run.knee()
    if run.pick is not None:
        first = run.pick.member
        about = "the pick, which the verdict is about"
        if find_schedule(run) is not None:
            about = "the strongest of one search over all bars, which the verdict is not about"
        roles.setdefault(first, []).insert(0, about)
    first = first if member is None else run.check_member(member)
    shown = min(len(run.members), MOST_MEMBERS)
    detailed = evenly(shown, MOST_DETAILED).tolist()
    order = dict.fromkeys([first, *roles, *detailed, *range(shown)])
    texts = {number: ", ".join(names) for number, names in roles.items()}
    return Chosen(first, tuple(sorted(order)), texts, tuple(order))


def build_page_data(run: Tables, chosen: Chosen | None) -> Plain:
    """Everything that the script of a page draws."""
    shared: Plain = {}
    charts = Charts(run)
    if run.is_search:
        shared["convergence"] = [charts.convergence(n) for n in list_convergence(run)]
        shared["genes"] = [charts.gene(name) for name in run.genes]
        shared["heatmap"] = main_heat_map(run)
        shared |= _build_evidence_charts(run)
    data: Plain = {
        "members": {},
        "count": len(run.members),
        "columns": {},
        "details": {},
        "shared": shared,
        "meanings": {
            words(name): meaning for name, meaning in {**MEANINGS, **run.header.formulas}.items()
        },
        "called": "" if run.is_search else run.name_member(0),
        "reasons": [words(reason) for reason in REASONS],
        "command": f"{write_command('report', run.path)} --member ",
        "hasBars": not run.bars_problem,
        "bars": {},
        "rows": {},
        "shownSeries": [],
        "windows": [],
        "noun": "symbol",
        "hasHeldOut": False,
        "hasShorts": False,
        "extras": [],
        "around": price.BARS_AROUND,
    }
    if chosen is None:
        return data
    data["members"] = _build_members(run, chosen)
    data["first"] = chosen.first
    data |= _list_front_columns(run)
    shared |= _build_front_charts(run)
    if not run.bars_problem:
        trades = dict(_load_within_room(run, chosen))
        shared |= _build_answer_charts(run, Charts(run, trades))
        data |= _build_details(run, trades)
        shared |= _build_detail_charts(run, list(trades.values()))
    return data


def build_member_rows(
    run: Tables, named: Sequence[int]
) -> tuple[list[str], list[list[tuple[str, float]]]]:
    """Columns of the table of the front, and for each of some members its cells: text, number."""
    frame = run.front
    columns: list[str] = []
    for row in choose_columns(run.objectives, frame.columns):
        columns.append(row)
        if row in {*run.objectives, *HELD_BESIDE} and f"{HELD_OUT}{row}" in frame:
            columns.append(f"{HELD_OUT}{row}")
    columns += run.genes
    metrics = [name for name in columns if name not in run.genes]
    numbers = frame[metrics].iloc[list(named)].to_numpy(float).tolist()
    chosen, genomes = [run.members[number] for number in named], run.genomes[list(named)]
    members = zip(chosen, genomes.tolist(), numbers, strict=True)
    rows = [
        [(metric(n, v), v) for n, v in zip(metrics, row, strict=True)]
        + [(format_gene(m.genes[n]), v) for n, v in zip(run.genes, genome, strict=True)]
        for m, genome, row in members
    ]
    return columns, rows


def _list_front_columns(run: Tables) -> Plain:
    """Numbers for the axes of the front, and the first two."""
    others = run.objectives[1:]
    return {
        "axes": {"x": others[-1] if others else "trades", "y": run.objectives[0]},
        "columns": {
            name: {"title": words(name), "values": values, "axis": metric_axis(name)}
            for name, values in collect_front_columns(run).items()
        },
    }


def _build_evidence_charts(run: Tables) -> Plain:
    """Charts of evidence, as far as there is some."""
    judgement, charts = run.judgement, Charts(run)
    if judgement is None:
        return {}
    schedule = judgement.schedule
    drawn = {
        "null": judgement.null or (schedule and schedule.null),
        "power": judgement.power,
        "at_costs": judgement.robust,
    }
    return {name: getattr(charts, name)() for name, part in drawn.items() if part is not None}


def _build_answer_charts(run: Tables, charts: Charts) -> Plain:
    """Equity of the pick, of the picks of folds, and of a schedule, as far as there are such."""
    drawn: Plain = {"answer": charts.answer()} if run.is_search else {}
    if run.judgement is not None and run.judgement.folds is not None:
        drawn["stitched"] = None if stitched_curve(run) is None else charts.folds()
    if find_schedule(run) is not None:
        drawn["step_genes"] = charts.step_genes()
    return drawn


def _build_front_charts(run: Tables) -> Plain:
    charts = Charts(run)
    drawn: Plain = {"front": charts.front(), "parallel": charts.parallel()}
    if len(run.objectives) > 2:
        drawn["front3d"] = charts.front_3d()
    return drawn


def _build_members(run: Tables, chosen: Chosen) -> dict[int, Plain]:
    """The numbers of members as they are shown, by member."""
    # A frame is slow to ask for one number.
    values = {str(name): column.tolist() for name, column in run.front.items()}
    names = [name for name in values if name not in run.genes and not name.startswith(HELD_OUT)]
    low_high, genomes = run.bounds.tolist(), run.genomes.tolist()
    members = {}
    for i in chosen.named:
        member = run.members[i]
        metrics = [[words(name), *_format_figures(member, i, name, values)] for name in names]
        genes = []
        for name, value, (low, high) in zip(run.genes, genomes[i], low_high, strict=True):
            share = (value - low) / (high - low) if high > low else None
            text, options = format_gene(member.genes[name]), run.header.options.get(name)
            among = f"of {', '.join(options)}" if options else f"{number(low)} to {number(high)}"
            genes.append([words(name), f"{text}  ({among})", None if options else share])
        members[i] = {"metrics": metrics, "genes": genes, "role": chosen.roles.get(i, "")}
    return members


def _format_figures(
    member: Member, i: int, name: str, values: Mapping[str, list[float]]
) -> list[str]:
    """A metric of member i as people read it, in-sample and, where there is such, held out."""
    texts = []
    for column, figures in ((name, member), (f"{HELD_OUT}{name}", member.held_out)):
        if figures is not None and column in values:
            reason = figures.undefined.get(name)
            text = metric(name, float(values[column][i]))
            texts.append(text if reason is None else f"undefined: {words(reason)}")
    return texts


def _build_detail_charts(run: Tables, trades: Sequence[Trades]) -> Plain:
    """Series that charts of members are seen against; of the most wanted member first."""
    others = list(trades) if len(trades) > 1 else []
    return {
        "equity": draw_equity_frame(run, build_holding(run), others),
        "price": {str(s): price.draw_market(run, s) for s in _list_shown_series(run, trades[0])},
        "trade": price.trade_frame(has_legs=bool(list_legs(trades[0].details))),
        "excursions": results.excursions(np.empty(0), np.empty(0), np.empty(0)),
    }


def _build_details(run: Tables, trades: Mapping[int, Trades]) -> Plain:
    """Trades and charts of members, the most wanted first."""
    shown = _list_shown_series(run, next(iter(trades.values())))
    described = run.task.markets.describe()
    regimes = find_regimes(tuple(run.series), run.task.markets.ranges)
    holding = build_holding(run)
    return {
        "details": {
            member: {
                "charts": _build_charts(run, member, trades, shown),
                "drawdowns": describe_drawdowns(run.worst_drawdowns(member_trades)),
                "holdScale": find_hold_scale(holding, run.equity_curve(member_trades)),
                "regimes": _list_regime_cells(regimes, member_trades),
                "trades": pack_trades(member_trades, run.series),
                "sides": _list_side_cells(run, member_trades),
            }
            for member, member_trades in trades.items()
        },
        "shownSeries": [{"series": s, "name": run.task.markets.titles[s]} for s in shown],
        "windows": [
            {
                "symbol": description.symbol,
                "label": description.label,
                "series": window.series,
                "sample": description.sample,
            }
            for description, window in zip(described, run.windows, strict=True)
        ],
        "noun": choose_noun(described),
        "hasHeldOut": run.has_held_out,
        "hasShorts": any(bool((member_trades.side < 0).any()) for member_trades in trades.values()),
        "extras": list(next(iter(trades.values())).details),
        "costPerSide": run.task.costs.per_side,
        "bars": _collect_bars(run, list(trades.values())),
        "rows": _collect_rows(run, *next(iter(trades.items()))),
    }


def _load_within_room(run: Tables, chosen: Chosen) -> Iterator[tuple[int, Trades]]:
    """Members and their trades, the most wanted first, until the page is full.

    Each step takes twice as many, as far as the page has room: an engine reads series larger
    than its memory anew at each step.
    """
    room, longest, step, at = MOST_TRADES, 1, 1, 0
    order = chosen.order[: min(MOST_DETAILED, max(MOST_LEDGERS // len(run.windows), 1))]
    while at < len(order):
        requested = order[at : at + step]
        for member, trades in zip(requested, run.trades_of(requested), strict=True):
            room -= len(trades)
            if room < 0 and member != chosen.first:
                return
            longest = max(longest, len(trades))
            yield member, trades
        at += step
        step = max(min(2 * step, room // longest), 1)


def _list_shown_series(run: Tables, trades: Trades) -> list[int]:
    """Series with the most trades of a member, in order: their prices are shown."""
    counts = np.bincount(trades.series, minlength=len(run.series))
    return sorted(np.argsort(-counts, kind="stable")[:MOST_SERIES].tolist())


def _build_charts(
    run: Tables, member: int, known: Mapping[int, Trades], shown: Sequence[int]
) -> Plain:
    """Charts of a member's results."""
    charts, trades = Charts(run, known), known[member]
    idle = {"side"} if (trades.side > 0).all() else set()
    if len(set(run.task.markets.labels)) == 1:
        idle.add("symbol")
    return {
        "equity": _lighten(charts.member_equity(member)),
        "price": {str(s): _mark_prices(run, member, known, s) for s in shown},
        "month": charts.monthly(member),
        "sharpe": _lighten(charts.rolling_sharpe(member)),
        "distribution": charts.distribution(member),
        "costs": charts.costs(member),
        **{
            by: charts.by(member, by)
            for by in ("hour", "weekday", "symbol", "reason", "side")
            if by not in idle
        },
    }


def _lighten(chart: Chart) -> Chart:
    """A chart with values in float32: they are only drawn."""
    data = [{**trace, "y": np.asarray(trace["y"], np.float32)} for trace in chart.data]
    return replace(chart, data=data)


def _mark_prices(run: Tables, member: int, known: Mapping[int, Trades], series: int) -> Chart:
    """Entries and exits in a series; of the member that a page opens with also its rows."""
    marks = price.entries_and_exits(known[member], series)
    is_first = member == next(iter(known))
    lines = price.draw_price_rows(run, member, series) if is_first else []
    return _lighten(replace(marks, data=[*lines, *marks.data]))


def _list_side_cells(run: Tables, trades: Trades) -> list[list[str]]:
    """In-sample figures of a member as people read them, a row a figure: all, long, short."""
    sides = summarize_sides(trades, run.series, ~trades.is_held_out)
    names = list(sides["all"])
    return [[words(name), *(metric(name, part[name]) for part in sides.values())] for name in names]


def _collect_rows(run: Tables, member: int, trades: Trades) -> Plain:
    """Rows of a member's strategy at the bars around its trades, as far as there is room."""
    room, by_series = MOST_ROW_VALUES, dict[str, object]()
    for series in np.unique(trades.series).tolist():
        stretches = _find_bars_around(
            trades, series, len(run.series[series]), np.empty((0, 2), np.int64)
        )
        at = np.concatenate([np.arange(begin, end) for begin, end in stretches])
        kept = find_rows(run, member, series)[: room // len(at)]
        room -= len(kept) * len(at)
        by_series[str(series)] = {
            "number": np.diff(at, prepend=0),
            "rows": [
                {
                    "name": row.name,
                    "isPrice": row.is_price,
                    "values": row.values[at].astype(np.float32),
                }
                for row in kept
            ],
        }
    return {"member": member, "colours": OF_ROWS, "of": by_series}


def _list_regime_cells(regimes: Regimes, trades: Trades) -> list[list[str]]:
    """Trades of a member by regime as people read them, a row a trend and volatility."""
    columns = [column.tolist() for column in regimes.summarize(trades).values()]
    rows = zip(CELLS, zip(*columns, strict=True), strict=True)
    return [[*names, *map(number, row)] for names, row in rows]


def _collect_bars(run: Tables, members: Sequence[Trades]) -> Plain:
    """Bars around trades, of the most wanted members first, until there is no more room.

    Numbers and times are steps, which repeat; prices are float32, because they are only drawn.
    """
    wanted = [np.empty((0, 2), np.int64) for _ in run.series]
    for trades in members:
        extended = [
            _find_bars_around(trades, series, len(run.series[series]), known)
            for series, known in enumerate(wanted)
        ]
        n_bars = sum(int((ends - begins).sum()) for begins, ends in map(np.transpose, extended))
        if n_bars > MOST_BARS and any(map(len, wanted)):
            break
        wanted = extended
    by_series: Plain = {}
    for number_of_series, (bars, stretches) in enumerate(zip(run.series, wanted, strict=True)):
        bar_numbers = [np.arange(begin, end) for begin, end in stretches]
        at = np.concatenate([np.empty(0, np.int64), *bar_numbers])[:MOST_BARS]
        by_series[str(number_of_series)] = {
            "number": np.diff(at, prepend=0),
            "time": np.diff(milliseconds(bars.timestamp[at]), prepend=0.0),
            **{
                n: getattr(bars, n)[at].astype(np.float32) for n in ("open", "high", "low", "close")
            },
        }
    return by_series


def _find_bars_around(trades: Trades, series: int, n_bars: int, known: Ints) -> Ints:
    """Known stretches [N, 2] of bars of a series, and those in and around a member's trades.

    A stretch is its first bar and the one after its last; they rise, and none touches another.
    """
    is_shown = trades.series == series
    first = np.maximum(trades.signal_bar[is_shown] - price.BARS_AROUND, 0)
    end = np.minimum(trades.exit_bar[is_shown] + price.BARS_AROUND + 1, n_bars)
    both = np.concatenate([known, np.stack([first, end], axis=1)])
    if not len(both):
        return known
    begins, ends = both[np.argsort(both[:, 0], kind="stable")].T
    ends = np.maximum.accumulate(ends)
    is_apart = begins[1:] > ends[:-1]
    return np.stack([begins[np.r_[True, is_apart]], ends[np.r_[is_apart, True]]], axis=1)
