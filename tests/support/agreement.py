"""Comparisons with other programs: files that they published, rows, ledgers, tables of the page."""

import gzip
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data import load_bars
from data.bars import Bars, Window
from data.zones import LocalZone
from engine.accounts.costs import Costs
from optimizer.agreement.matching import place_trades
from optimizer.agreement.reading import read_trade_list
from strategy.language import Claim
from strategy.rows import Rows, truth
from strategy.series import Series
from tests.support.paths import ROOT
from tests.support.references import FORMS, create_engine

AGREE = ROOT.parent / "shared" / "data" / "agree"
"""Trade lists and values that others published; they are not part of the project."""


@dataclass(frozen=True)
class Suite:
    """Counts of one suite of another program's results, and a table of its cases."""

    name: str  # with its source
    unit: str  # of the counts: trades, columns, functions
    cases: int  # in the suite
    sayable: int  # in words of a strategy
    equal: int  # of those
    rule: str  # behind what differs
    head: tuple[str, ...] = ()  # of the table of its cases
    rows: tuple[tuple[str, ...], ...] = ()


def render_table(head, rows):
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def group_rows(rows):
    """Rows that share all cells but the first as one, their first cells joined, in their order."""
    groups = {}
    for first, *others in rows:
        groups.setdefault(tuple(others), []).append(first)
    return tuple((", ".join(names), *others) for others, names in groups.items())


def read_published_bars(path: Path, folder: Path) -> Bars:
    """Bars of a published file, of a copy in `folder` that ends its last line."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    copy = folder / path.name.removesuffix(".gz")
    copy.write_bytes(text.rstrip(b"\n") + b"\n")
    return load_bars(f"csv:{copy}")


def read_trades(path, bars, zone=None):
    """Trades of a list in bars, as `agree` reads them, and the last digit of their prices."""
    listed = read_trade_list(path, (bars.low.min(), bars.high.max()))
    return place_trades(listed, bars, None if zone is None else LocalZone(zone)), listed.unit


def run_strategy(plan, bars, engine_name, costs=None):
    """Ledger of a strategy with its default genes."""
    windows, genome = [Window.whole(bars)], plan.layout.defaults
    costs = costs or Costs(fee_bp=0, slippage_bp=0)
    (ledger,) = create_engine(engine_name, plan, [bars], windows, costs).trades(genome)
    return ledger


def list_trades(plan, bars, engine_name, costs=None):
    """Trades of a strategy with its default genes: side, entry bar, exit bar, both prices."""
    ledger = run_strategy(plan, bars, engine_name, costs)
    columns = (ledger.side, ledger.entry_bar, ledger.exit_bar, ledger.entry, ledger.exit)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def count_equal(expected, actual):
    """Trades that stand in both lists."""
    return sum((Counter(expected) & Counter(actual)).values())


def compute_row(row, bars):
    """Values [T] of a row, or 1 and 0 where a condition holds and does not."""
    rows = Rows(Series.of(bars), FORMS["compiled_reference"])
    if isinstance(row, Claim):
        return truth(row.tree, rows, {}).astype(np.float64)
    return rows.values(row.tree, {})


def measure_distance(actual, expected, start=0):
    """Largest difference, relative to values above 1; infinite where only one is known."""
    actual, expected = actual[start:], expected[start:]
    if not np.array_equal(np.isnan(actual), np.isnan(expected)):
        return np.inf
    known = ~np.isnan(actual)
    apart = np.abs(actual - expected)[known] / np.maximum(np.abs(expected[known]), 1.0)
    return float(apart.max(initial=0.0))


def describe_bound(within):
    """How near values are, for people."""
    return "every bit" if within == 0 else f"{within:.0e}".replace("e-0", "e-")
