"""Trades of folds: what each fold's pick did in its test, stitched to one account."""

from collections.abc import Iterator, Sequence

import numpy as np

from data.bars import Window
from engine.accounts.ledger import Ledger
from optimizer.errors import ConfigError
from optimizer.evidence.folds import Range
from optimizer.report.account import Curve, equity_curve
from optimizer.report.tables import Tables
from optimizer.report.trades import collect_trades
from optimizer.run.markets import Markets


def stitched_curve(run: Tables) -> Curve | None:
    """Equity of one account that trades each fold's pick in its test, fold after fold, from 1.

    Returns:
        None where no fold traded on bars that are here.

    Raises:
        ConfigError: When the run was not searched again in folds.
    """
    if run.judgement is None or run.judgement.folds is None:
        raise ConfigError(
            f"run '{run.id}' was not searched again in folds: judge it with --folds 6"
        )
    markets, costs = run.task.markets, run.task.costs
    rows = run.judgement.folds.rows
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
    accounts = [markets.names[window.series] for window in windows]
    start_ns = min(parse_ns(span.first) for row in rows for span in row.test)
    trades = collect_trades(ledgers, windows, markets.series, costs)
    return equity_curve(trades, accounts, costs.risk_fraction, start_ns)


def list_windows(markets: Markets, ranges: Sequence[Range]) -> list[Window]:
    """Windows of recorded ranges; those whose bars are not there are left out."""
    return [window for span in ranges for window in _find_windows(markets, span)]


def parse_ns(text: str) -> int:
    """Nanoseconds UTC of a recorded time."""
    return int(np.datetime64(text.removesuffix("Z"), "ns").astype(np.int64))


def _find_windows(markets: Markets, wanted: Range) -> Iterator[Window]:
    first, last = parse_ns(wanted.first), parse_ns(wanted.last)
    for number, (name, bars) in enumerate(zip(markets.names, markets.series, strict=True)):
        start = int(np.searchsorted(bars.timestamp, first))
        end = int(np.searchsorted(bars.timestamp, last, side="right"))
        if name == wanted.symbol and start < end and bars.timestamp[start] == first:
            yield Window(number, start, end, "test")
