"""The oracle: one individual, one bar at a time, plain floats, every rule in a sentence.

It is not fast, and it shares no code with the batch engine: what it says, every backend must say
too, bit for bit. Read it beside engine/README.md, which is the same law in prose. All it keeps is
the rows and the signals that it has already found, because many individuals ask for the same ones.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.costs import Costs
from engine.ledger import ACCUMULATORS, REASONS, Ledger, Trade
from strategy.genes import Floats
from strategy.indicators import INDICATORS, SOURCES
from strategy.spec import Row, StrategySpec

STOP_GAP, STOP, TARGET, TIME, END = range(len(REASONS))

KEPT_BYTES = 2**30
"""Kept for the next individual; the oldest is let go first."""

Number = TypeVar("Number", int, float)
Genes = Mapping[str, int | float]
Columns = Mapping[str, Sequence[float]]
Replayed = list[tuple[Ledger, list[float]]]
"""One individual's ledger and accumulators in each window, [W]."""


class Reference:
    """Backtests single individuals by the letter of the law.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        windows: Each an independent backtest.
        costs: Costs and risk rules.

    >>> from data import load_bars
    >>> from strategy import find_strategy
    >>> bars, spec = load_bars("sample"), find_strategy("seller_exhaustion")
    >>> reference = Reference(spec, [bars], [Window.whole(bars)])
    >>> (ledger,) = reference.trades(spec.layout.defaults)
    >>> bool((ledger.entry_bar == ledger.signal_bar + 1).all())
    True
    """

    def __init__(
        self,
        spec: StrategySpec,
        series: Sequence[Bars],
        windows: Sequence[Window],
        costs: Costs | None = None,
    ) -> None:
        self.spec = spec
        self.series = tuple(series)
        self.windows = tuple(windows)
        self.costs = costs or Costs()
        self._columns = [_columns_of(bars) for bars in self.series]
        self._rows = _Kept[float]("d", KEPT_BYTES)
        self._signals = _Kept[int]("q", KEPT_BYTES // 8)
        self._entry_genes = _genes_of_entry(spec)

    def trades(self, genome: Floats) -> tuple[Ledger, ...]:
        """All trades of one individual.

        Args:
            genome: [G].

        Returns:
            One ledger a window, [W].
        """
        genes = self.spec.layout.decode(genome)
        return tuple(self._backtest(genes, window) for window in self.windows)

    def accumulators(self, genome: Floats) -> Floats:
        """The sums that metrics are made of.

        Args:
            genome: [G].

        Returns:
            [W, A], named by `ACCUMULATORS`.
        """
        return np.array([self.fold(ledger) for ledger in self.trades(genome)])

    def signals(self, genome: Floats) -> tuple[list[int], ...]:
        """Bars at which the entry conjunction holds, whatever the position.

        Args:
            genome: [G].

        Returns:
            Ascending bar numbers, one list a window, [W].
        """
        genes = self.spec.layout.decode(genome)
        return tuple(self._signals_of(genes, window).tolist() for window in self.windows)

    def fold(self, ledger: Ledger) -> list[float]:
        """Fold a ledger's trades, in their order, into accumulators [A]."""
        return _fold(ledger, self.costs.risk_fraction)

    def replay(self, genomes: Floats) -> Iterator[Replayed]:
        """What certificates compare.

        Args:
            genomes: [N, G].

        Yields:
            For each individual, window by window, the ledger and its accumulators.
        """
        for genome in genomes:
            yield [(ledger, self.fold(ledger)) for ledger in self.trades(genome)]

    def row(self, row: Row, genes: Genes, series: int = 0) -> list[float]:
        """One indicator row [T] of one series; NaN where it is not known."""
        return self._row(row, genes, series).tolist()

    def _row(self, row: Row, genes: Genes, series: int) -> "array[float]":
        lengths = tuple(int(genes[name]) for name in row.lengths)
        source = self._columns[series][row.reads]
        return self._rows.get(
            (series, row.indicator, row.reads, lengths),
            lambda: INDICATORS[row.indicator].loop(source, *lengths),
        )

    def _backtest(self, genes: Genes, window: Window) -> Ledger:
        bars = self._columns[window.series]
        rows = self._rows_of(genes, window.series)
        trades: list[Trade] = []
        rejected = flat_from = 0
        for t in self._signals_of(genes, window):
            # One position at a time; a signal on the exit bar is known at its close and counts.
            if t < flat_from:
                continue
            trade = self._open(bars, rows, genes, t, window.end)
            if trade is None:
                # A trade that risks too little is not taken; the next bar may signal again.
                rejected += 1
                continue
            trades.append(trade)
            flat_from = trade.exit_bar
        return Ledger.of(trades, rejected)

    def _rows_of(self, genes: Genes, series: int) -> Columns:
        return {row.name: self._row(row, genes, series) for row in self.spec.rows}

    def _signals_of(self, genes: Genes, window: Window) -> "array[int]":
        # No signal before every indicator is known, none before the window starts, and none
        # without a next bar inside the window to be entered on.
        first = max(self.spec.warm_up(genes), window.start)
        # Individuals that differ only in how they leave a trade have the same signals.
        read = tuple(genes[name] for name in self._entry_genes)
        return self._signals.get(
            (window.series, first, window.end, *read),
            lambda: self._find_signals(genes, window.series, range(first, window.end - 1)),
        )

    def _find_signals(self, genes: Genes, series: int, bars: Sequence[int]) -> Sequence[int]:
        rows = self._rows_of(genes, series)
        # Every comparison must hold, strictly; NaN holds in none. Those with a gene leave few bars
        # for the others.
        for comparison in sorted(self.spec.entry, key=lambda comparison: comparison.right in rows):
            left, right = rows[comparison.left], rows.get(comparison.right)
            if right is None:
                level = genes[comparison.right]
                if comparison.relation == ">":
                    bars = [t for t in bars if left[t] > level]
                else:
                    bars = [t for t in bars if left[t] < level]
            elif comparison.relation == ">":
                bars = [t for t in bars if left[t] > right[t]]
            else:
                bars = [t for t in bars if left[t] < right[t]]
        return bars

    def _open(self, bars: Columns, rows: Columns, genes: Genes, t: int, end: int) -> Trade | None:
        bracket = self.spec.bracket
        # Entry at the open of the bar after the signal.
        entry_bar = t + 1
        entry = bars["open"][entry_bar]
        # The stop stands a multiple of the row's distance below the signal bar's low.
        stop = bars["low"][t] - genes[bracket.stop_mult] * rows[bracket.stop_row][t]
        risk = entry - stop
        # Rejected unless the risk is more than a small fraction of the price; NaN is rejected too.
        if not risk > entry * self.costs.min_risk:
            return None
        target = entry + genes[bracket.reward] * risk
        last_bar = entry_bar + int(genes[bracket.max_hold]) - 1
        exit_bar, reason, exit_price = _exit(bars, entry_bar, stop, target, last_bar, end)
        # Both sides pay on traded notional.
        cost = self.costs.per_side
        net = (exit_price - entry) - cost * (entry + exit_price)
        return Trade(t, entry_bar, exit_bar, reason, entry, stop, target, exit_price, net / risk)


class _Kept(Generic[Number]):
    """What was computed before, by name, up to an amount of memory; the oldest is let go first.

    Args:
        kind: Of numbers, as in `array`.
        most_bytes: Kept at most; the newest always is.
    """

    def __init__(self, kind: Literal["d", "q"], most_bytes: int) -> None:
        self._kind, self._left = kind, most_bytes
        self._found: dict[tuple[object, ...], array[Number]] = {}

    def get(
        self, name: tuple[object, ...], compute: Callable[[], Sequence[Number]]
    ) -> "array[Number]":
        """What is kept under a name, computed if it is not there."""
        if name not in self._found:
            numbers: array[Number] = array(self._kind, compute())
            self._left -= 8 * len(numbers)
            while self._found and self._left < 0:
                self._left += 8 * len(self._found.pop(next(iter(self._found))))
            self._found[name] = numbers
        return self._found[name]


def _exit(
    bars: Columns, entry_bar: int, stop: float, target: float, last_bar: int, end: int
) -> tuple[int, int, float]:
    for j in range(entry_bar, end):
        # An open at or beyond the stop fills at that open.
        if bars["open"][j] <= stop:
            return j, STOP_GAP, bars["open"][j]
        # The stop comes before the target: within a bar the worse of the two is assumed.
        if bars["low"][j] <= stop:
            return j, STOP, stop
        # An open beyond the target still fills at the target, the cautious choice.
        if bars["high"][j] >= target:
            return j, TARGET, target
        # Held for as long as allowed: out at the close.
        if j == last_bar:
            return j, TIME, bars["close"][j]
    # The window ends: out at its last close.
    return end - 1, END, bars["close"][end - 1]


def _fold(ledger: Ledger, risk_fraction: float) -> list[float]:
    total = dict.fromkeys(ACCUMULATORS, 0.0)
    # Equity starts at 1 and so does its peak; the peak of the sum of R starts at 0.
    total["equity"] = total["peak_equity"] = 1.0
    total["rejected"] = float(ledger.rejected)
    for trade in _each(ledger):
        total["trades"] += 1.0
        total["sum_r"] += trade.r
        total["sum_r2"] += trade.r * trade.r
        # A result of exactly 0 is a loss of 0.
        if trade.r > 0.0:
            total["wins"] += 1.0
            total["gain_r"] += trade.r
        else:
            total["loss_r"] += -trade.r
            total["loss_r2"] += trade.r * trade.r
        total["peak_r"] = max(total["peak_r"], total["sum_r"])
        total["max_drawdown_r"] = max(total["max_drawdown_r"], total["peak_r"] - total["sum_r"])
        total["equity"] = total["equity"] * (1.0 + risk_fraction * trade.r)
        # Ruin: an account that is not above 0 is 0, and 0 times anything stays there.
        if not total["equity"] > 0.0:
            total["equity"] = 0.0
        total["peak_equity"] = max(total["peak_equity"], total["equity"])
        drawdown = (total["peak_equity"] - total["equity"]) / total["peak_equity"]
        total["max_drawdown"] = max(total["max_drawdown"], drawdown)
        total["bars_in_market"] += float(trade.exit_bar - trade.entry_bar + 1)
        total[f"exits_{REASONS[trade.reason]}"] += 1.0
    return [total[name] for name in ACCUMULATORS]


def _each(ledger: Ledger) -> Iterator[Trade]:
    return map(Trade, *(getattr(ledger, name).tolist() for name in Trade._fields))


def _genes_of_entry(spec: StrategySpec) -> list[str]:
    """Names of the genes that decide at which bars the entry conjunction holds."""
    lengths = {row.name: row.lengths for row in spec.rows}
    sides = [side for comparison in spec.entry for side in (comparison.left, comparison.right)]
    return sorted({name for side in sides for name in lengths.get(side, (side,))})


def _columns_of(bars: Bars) -> dict[str, list[float]]:
    columns: dict[str, list[float]] = {}
    for name, function in SOURCES.items():
        if function is None:
            column: npt.NDArray[np.float64] = getattr(bars, name)
            columns[name] = column.tolist()
        else:
            columns[name] = function(columns["high"], columns["low"], columns["close"])
    return columns
