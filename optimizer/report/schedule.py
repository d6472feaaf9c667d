"""Schedule and folds of a run: one account over all steps, genes of each, cells of tables."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from data.bars import Window
from engine.accounts.account import Account, Folded
from engine.accounts.ledger import Ledger
from optimizer.errors import ConfigError
from optimizer.evidence.figures import Number
from optimizer.evidence.folds import FoldRow, Range
from optimizer.evidence.schedule import ScheduleRecord, ScheduleStep
from optimizer.formatting import number, words
from optimizer.report.account import Curve
from optimizer.report.tables import Tables
from optimizer.run.individuals import build_picks_account
from optimizer.run.markets import Markets
from optimizer.run.runner import on_searched_bars
from optimizer.search.generation import Floats

FOLD_COLUMNS = ("fold", "searched on", "tested on", "trades", "mean R", "efficiency")
STEP_COLUMNS = ("step", "date", "strength in training", "trades", "mean R", "efficiency")


class StitchedAccount(NamedTuple):
    """The account of all steps of a schedule."""

    curve: Curve  # from 1 at the first date
    holding: Account  # its bars, to be bought and held
    dates_ns: list[int]  # when each step began, nanoseconds UTC
    ledgers: tuple[Ledger, ...]  # [W] of the windows of `holding`


def find_schedule(run: Tables) -> ScheduleRecord | None:
    """The schedule that the verdict of a run is about; None without one."""
    return None if run.judgement is None else run.judgement.schedule


def require_schedule(run: Tables) -> ScheduleRecord:
    """The schedule of a run; refused without one."""
    made = find_schedule(run)
    if made is None:
        raise ConfigError(
            f"run '{run.id}' was not searched again through time: judge it with --every 30d "
            "--train 180d"
        )
    return made


@lru_cache(maxsize=1)
def build_schedule_account(run: Tables) -> StitchedAccount:
    """The account of all steps, by the trades of their recorded picks."""
    made = require_schedule(run)
    task = on_searched_bars(run.task)
    traded, dates = made.trade(task), [row.date_ns for row in made.rows]
    stitched = traded.stitched
    names = tuple(task.markets.names[window.series] for window in stitched.windows)
    holding = Account(stitched.series, stitched.windows, names, task.costs)
    curve = _draw_account(traded.folded, dates[0])
    return StitchedAccount(curve, holding, dates, stitched.ledgers)


def collect_step_genes(run: Tables) -> tuple[tuple[str, ...], Floats]:
    """Genes with a span, as people read them [G], and those of all steps as shares of it [K, G].

    From 0 at the lower bound to 1 at the upper; NaN without a pick.
    """
    rows, (low, high) = require_schedule(run).rows, run.bounds.T
    free = np.flatnonzero(high > low)
    shares = np.full((len(rows), len(free)), np.nan)
    for k, row in enumerate(rows):
        if row.genes:
            values = run.task.spec.layout.encode(row.genes)
            shares[k] = ((values - low) / np.where(high > low, high - low, 1.0))[free]
    return tuple(words(run.genes[g]) for g in free), shares


def list_step_cells(made: ScheduleRecord) -> tuple[tuple[str, ...], ...]:
    """Cells of a row a step, in `STEP_COLUMNS`."""
    return tuple(
        (
            str(step),
            row.date[:10],
            number(row.strength),
            number(row.trades),
            format_figure(row, "mean_r"),
            format_figure(row, "efficiency"),
        )
        for step, row in enumerate(made.rows, start=1)
    )


def list_fold_cells(rows: Sequence[FoldRow]) -> tuple[tuple[str, ...], ...]:
    """Cells of a row a fold, in `FOLD_COLUMNS`."""
    return tuple(
        (
            str(fold),
            _format_days(row.train),
            _format_days(row.test)
            + (f", without {', '.join(row.untested)}" if row.untested else ""),
            number(row.trades),
            format_figure(row, "mean_r"),
            format_figure(row, "efficiency"),
        )
        for fold, row in enumerate(rows, start=1)
    )


def _format_days(ranges: Sequence[Range]) -> str:
    first, last = min(part.first for part in ranges), max(part.last for part in ranges)
    return f"{first[:10]} to {last[:10]}"


def _draw_account(folded: Folded | None, start_ns: int) -> Curve:
    """Equity of an account after each of its trades, from 1; None of one without trades."""
    if folded is None:
        return Curve(np.array([start_ns]), np.ones(1))
    return Curve(np.append(start_ns, folded.changed_ns), np.append(1.0, folded.equity))


def format_figure(row: ScheduleStep | FoldRow, name: str) -> str:
    """A number of a step or a fold, or why there is none."""
    value: Number = getattr(row, name)
    return f"{value:.3g}" if value is not None else f"undefined: {row.why.get(name, 'unknown')}"


def stitched_curve(run: Tables) -> Curve | None:
    """Equity of one account that trades each fold's pick in its test, fold after fold, from 1.

    None where no fold traded on bars that are here; refused where there are no folds.
    """
    if run.judgement is None or run.judgement.folds is None:
        raise ConfigError(
            f"run '{run.id}' was not searched again in folds: judge it with --folds 6"
        )
    markets, rows = run.task.markets, run.judgement.folds.rows
    tested = [(row, list_windows(markets, row.test)) for row in rows if row.trades]
    windows = [window for _, fold_windows in tested for window in fold_windows]
    if not windows:
        return None
    genomes = np.array([run.task.spec.layout.encode(row.genes) for row, _ in tested])
    # All folds at once: an engine whose series memory does not hold together reads them anew.
    every = list(run.engine.on(windows).ledgers(genomes))
    ledgers: list[Ledger] = []
    for (_, fold_windows), traded in zip(tested, every, strict=True):
        ledgers += traded[len(ledgers) : len(ledgers) + len(fold_windows)]
    start_ns = min(parse_ns(span.first) for row in rows for span in row.test)
    owners = np.repeat(np.arange(len(tested)), [len(some) for _, some in tested])
    owned = list(zip(windows, genomes[owners], strict=True))
    account = build_picks_account(run.task, markets.series, owned)
    return _draw_account(account.fold(ledgers), start_ns)


def list_windows(markets: Markets, ranges: Sequence[Range]) -> list[Window]:
    """Windows of recorded ranges; ranges without bars are left out."""
    return [window for span in ranges for window in _find_windows(markets, span)]


def parse_ns(text: str) -> int:
    """Nanoseconds UTC of a recorded time."""
    return int(np.datetime64(text.removesuffix("Z"), "ns").astype(np.int64))


def _find_windows(markets: Markets, wanted: Range) -> Iterator[Window]:
    first, last = parse_ns(wanted.first), parse_ns(wanted.last)
    for series, (name, bars) in enumerate(zip(markets.names, markets.series, strict=True)):
        start = int(np.searchsorted(bars.timestamp, first))
        end = int(np.searchsorted(bars.timestamp, last, side="right"))
        if name == wanted.symbol and start < end and bars.timestamp[start] == first:
            yield Window(series, start, end, "test")
