"""The oracle: one individual, one bar at a time, every rule in a sentence.

It shares no code with the batch engine: what it says, every backend must say too, bit for bit.
Read it beside engine/README.md, which is the same law in prose. Its loops are functions over arrays
and numbers. They run as plain Python reads them, or compiled in the same words (`engine.replay`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.costs import Costs
from engine.folding import accumulators_of, fold_results
from engine.kept import Kept
from engine.ledger import Ledger
from engine.trades import Prices
from strategy.genes import Floats
from strategy.indicators import SOURCES
from strategy.spec import Row, StrategySpec

STOP_GAP, STOP, TARGET, TIME, END = range(5)

KEPT_BYTES = 2**29
"""Rows that are kept for the next individual; what was read longest ago is let go first."""

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Genes = Mapping[str, int | float]

Loop = TypeVar("Loop", bound=Callable[..., object])
Result = TypeVar("Result")


class Form(Protocol):
    """How loops are run: given one, it returns what is called in its place."""

    def __call__(self, loop: Loop) -> Loop:
        """The loop in this form."""


def as_it_reads(loop: Loop) -> Loop:
    """The form of plain Python: the loop itself, silent where IEEE 754 defines a result."""
    return np.errstate(all="ignore")(loop)


class Bracket(NamedTuple):
    """One individual's exits: a multiple, a reward in units of risk, a time limit in bars."""

    stop_mult: float
    reward: float
    max_hold: int


class Rules(NamedTuple):
    """The same for all: cost of a side, smallest risk, both fractions of a price; bars of delay."""

    per_side: float
    min_risk: float
    delay: int


class BaseReference(ABC):
    """What every reference does: individuals one at a time, window by window.

    Args:
        series: Bars that windows refer to by number.
        windows: Each an independent backtest.
        costs: Costs and risk rules.
        form: How its loops are run.
    """

    def __init__(
        self,
        series: Sequence[Bars],
        windows: Sequence[Window],
        costs: Costs | None,
        form: Form,
    ) -> None:
        self.series = tuple(series)
        self.windows = tuple(windows)
        self.costs = costs or Costs()
        self.form = form
        self._prices = [Prices(bars.open, bars.high, bars.low, bars.close) for bars in self.series]
        self._kept = Kept(KEPT_BYTES)

    def trades(self, genome: Floats) -> tuple[Ledger, ...]:
        """All trades of one individual [G]: one ledger a window, [W]."""
        return tuple(self._backtests(genome, range(len(self.windows))))

    def accumulators(self, genome: Floats) -> Floats:
        """The sums of one individual [G] that metrics are made of, [W, A] as `ACCUMULATORS`."""
        return np.array([self.fold(ledger) for ledger in self.trades(genome)])

    def fold(self, ledger: Ledger) -> Floats:
        """Fold a ledger's trades, in their order, into accumulators [A]."""
        sums = self._run(fold_results, ledger.r, ledger.side, float(self.costs.risk_fraction))
        return accumulators_of(ledger, sums)

    def replay(self, genome: Floats, windows: Iterable[int]) -> list[tuple[Ledger, Floats]]:
        """An individual's [G] ledger and accumulators [A] in each window, by number."""
        return [(ledger, self.fold(ledger)) for ledger in self._backtests(genome, windows)]

    def _of_series(self, windows: Iterable[int]) -> Iterator[tuple[int, Iterator[Window]]]:
        """The windows of some numbers, those of one series that follow each other together."""
        chosen = (self.windows[number] for number in windows)
        yield from groupby(chosen, lambda window: window.series)

    @abstractmethod
    def signals(self, genome: Floats) -> tuple[list[int], ...]:
        """Bars at which an individual [G] asks for an entry, whatever the position.

        Ascending bar numbers, one list a window, [W].
        """

    @abstractmethod
    def rows(self, genes: Genes, series: int) -> dict[str, Floats]:
        """All rows [T] of one series by their names."""

    @abstractmethod
    def conditions(self, genes: Genes, series: int) -> dict[str, Bools]:
        """Conditions by their text: whether each holds, [T], also in the warm-up."""

    @abstractmethod
    def _backtests(self, genome: Floats, windows: Iterable[int]) -> Iterator[Ledger]:
        """The ledgers of an individual [G] in some windows, by number."""

    def _run(self, loop: Callable[..., Result], *arguments: object) -> Result:
        return self.form(loop)(*arguments)


class Reference(BaseReference):
    """Backtests single individuals by the letter of the law; threads may share it.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        windows: Each an independent backtest.
        costs: Costs and risk rules.
        form: How its loops are run.

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
        *,
        form: Form = as_it_reads,
    ) -> None:
        super().__init__(series, windows, costs, form)
        self.spec = spec
        delay = int(self.costs.entry_delay)
        self._rules = Rules(float(self.costs.per_side), float(self.costs.min_risk), delay)

    def signals(self, genome: Floats) -> tuple[list[int], ...]:
        """Bars at which the entry conjunction of an individual [G] holds, whatever the position."""
        genes = self.spec.layout.decode(genome)
        return tuple(
            self._inside(self._signal_bars(genes, window.series), window).tolist()
            for window in self.windows
        )

    def rows(self, genes: Genes, series: int) -> dict[str, Floats]:
        """All rows [T] of one series by their names."""
        return {row.name: self.row(row, genes, series) for row in self.spec.rows}

    def conditions(self, genes: Genes, series: int) -> dict[str, Bools]:
        """Each comparison of the entry by its text: whether it holds, [T], also in the warm-up."""
        rows = self.rows(genes, series)
        found = {}
        for one in self.spec.entry:
            left = rows[one.left]
            right = rows[one.right] if one.right in rows else np.float64(genes[one.right])
            text = f"{one.left} {one.relation} {one.right}"
            found[text] = left > right if one.relation == ">" else left < right
        return found

    def row(self, row: Row, genes: Genes, series: int = 0) -> Floats:
        """One indicator row [T] of one series, read-only; NaN where it is not known.

        Raises:
            IndicatorError: When a parameter is not legal, or the loop returns anything else.
        """
        parameters = row.values(genes)

        def computed() -> Floats:
            return row.kind.row(self._source(series, row.reads), parameters, self.form)

        return self._kept.get((series, row.kind, row.reads, parameters), computed)

    def _source(self, series: int, name: str) -> Floats:
        bars, function = self.series[series], SOURCES[name]
        if function is None:
            column: Floats = getattr(bars, name)
            return column
        return self._kept.get(
            (series, name), lambda: self._run(function, bars.high, bars.low, bars.close)
        )

    def _backtests(self, genome: Floats, windows: Iterable[int]) -> Iterator[Ledger]:
        genes = self.spec.layout.decode(genome)
        for series, windows_ in self._of_series(windows):
            bars = self._signal_bars(genes, series)
            for window in windows_:
                yield self._backtest(genes, window, self._inside(bars, window))

    def _signal_bars(self, genes: Genes, series: int) -> Ints:
        rows = {row.name: row for row in self.spec.rows}
        # No signal before every indicator is known.
        first = self.spec.warm_up(genes)
        holds = self._run(all_hold, max(len(self.series[series]) - first, 0))
        # Every comparison must hold.
        for comparison in self.spec.entry:
            left = self.row(rows[comparison.left], genes, series)[first:]
            is_greater = comparison.relation == ">"
            if comparison.right in rows:
                right = self.row(rows[comparison.right], genes, series)[first:]
                self._run(compare_rows, holds, left, is_greater, right)
            else:
                level = float(genes[comparison.right])
                self._run(compare_with_gene, holds, left, is_greater, level)
        return self._run(bars_that_hold, holds, first)

    def _backtest(self, genes: Genes, window: Window, signals: Ints) -> Ledger:
        bracket = self.spec.bracket
        stop_row = self.spec.rows[self.spec.row_index[bracket.stop_row]]
        whole, numbers, trades, rejected = self._run(
            take_trades,
            self._prices[window.series],
            self.row(stop_row, genes, window.series),
            signals,
            Bracket(
                float(genes[bracket.stop_mult]),
                float(genes[bracket.reward]),
                int(genes[bracket.max_hold]),
            ),
            self._rules,
            window.end,
        )
        signal_bar, entry_bar, exit_bar, reason = whole[:, :trades].copy()
        entry, stop, target, exit_price, r = numbers[:, :trades].copy()
        reasons, sides = reason.astype(np.int8), np.ones(trades, np.int8)
        return Ledger(
            signal_bar, entry_bar, exit_bar, reasons, entry, stop, target, exit_price, r,
            sides, stop, rejected,
        )  # fmt: skip

    def _inside(self, bars: Ints, window: Window) -> Ints:
        """Those of the ascending bars that may signal inside a window."""
        # None before the window starts, and none without a later bar in it to be entered on.
        last = window.end - 1 - self._rules.delay
        return bars[slice(*np.searchsorted(bars, (window.start, last)))]


def all_hold(bars: int) -> Bools:
    """Truths [bars] before anything was asked."""
    return np.ones(bars, np.bool_)


def bars_that_hold(holds: Bools, first: int) -> Ints:
    """The bars [S] of truths [n], ascending; the first truth is that of bar `first`."""
    return first + np.flatnonzero(holds)


def compare_with_gene(holds: Bools, row: Floats, is_greater: bool, level: float) -> None:
    """Keep the bars [n] at which a row lies above a gene, or below it."""
    for k in range(len(holds)):
        # Strictly; NaN lies on neither side.
        holds[k] &= row[k] > level if is_greater else row[k] < level


def compare_rows(holds: Bools, row: Floats, is_greater: bool, other: Floats) -> None:
    """Keep the bars [n] at which a row lies above another one, or below it."""
    for k in range(len(holds)):
        # Strictly; NaN lies on neither side.
        holds[k] &= row[k] > other[k] if is_greater else row[k] < other[k]


def take_trades(
    prices: Prices, stops: Floats, signals: Ints, bracket: Bracket, rules: Rules, end: int
) -> tuple[Ints, Floats, int, int]:
    """Take signals one position at a time.

    Args:
        prices: Of the series.
        stops: [T], what the stop's distance is a multiple of, price.
        signals: [S], ascending bars.
        bracket: The individual's.
        rules: Costs and smallest risk.
        end: One past the last bar of the window.

    Returns:
        [4, S] signal bar, entry bar, exit bar and reason; [5, S] entry, stop, target, exit and r;
        how many trades these hold, K; and how many signals were rejected.
    """
    whole = np.empty((4, len(signals)), np.int64)
    numbers = np.empty((5, len(signals)))
    trades = rejected = flat_from = 0
    for t in signals:
        # One position at a time; a signal on the exit bar is known at its close and counts.
        if t < flat_from:
            continue
        # Entry at the open of the bar after the signal, or so many bars later.
        entry_bar = t + 1 + rules.delay
        entry = prices.open[entry_bar]
        # The stop stands a multiple of the row's distance below the signal bar's low.
        stop = prices.low[t] - bracket.stop_mult * stops[t]
        risk = entry - stop
        # Rejected unless the risk is more than a small fraction of the price; NaN is rejected too.
        # The account stays flat, and the next bar may signal again.
        if not risk > entry * rules.min_risk:
            rejected += 1
            continue
        target = entry + bracket.reward * risk
        last_bar = entry_bar + bracket.max_hold - 1
        exit_bar, reason, exit_price = find_exit(prices, entry_bar, stop, target, last_bar, end)
        # Both sides pay on traded notional.
        net = (exit_price - entry) - rules.per_side * (entry + exit_price)
        whole[0, trades], whole[1, trades], whole[2, trades] = t, entry_bar, exit_bar
        whole[3, trades] = reason
        numbers[0, trades], numbers[1, trades], numbers[2, trades] = entry, stop, target
        numbers[3, trades], numbers[4, trades] = exit_price, net / risk
        trades += 1
        flat_from = exit_bar
    return whole, numbers, trades, rejected


def find_exit(
    prices: Prices, entry_bar: int, stop: float, target: float, last_bar: int, end: int
) -> tuple[int, int, float]:
    """The bar, the reason and the price of an exit: the first rule that applies."""
    for j in range(entry_bar, end):
        # An open at or beyond the stop fills at that open.
        if prices.open[j] <= stop:
            return j, STOP_GAP, prices.open[j]
        # The stop comes before the target: within a bar the worse of the two is assumed.
        if prices.low[j] <= stop:
            return j, STOP, stop
        # An open beyond the target still fills at the target, the cautious choice.
        if prices.high[j] >= target:
            return j, TARGET, target
        # Held for as long as allowed: out at the close.
        if j == last_bar:
            return j, TIME, prices.close[j]
    # The window ends: out at its last close.
    return end - 1, END, prices.close[end - 1]
