"""One series on CPU cores, and what individuals of any strategy come to on it."""

from copy import copy
from typing import Self

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.money import build_purse
from engine.accounts.ledger import Ledger
from engine.accounts.strategy_stakes import build_stake
from engine.population import PopulationEncoder, build_rules, find_part
from engine.positions.cpu.batch import begin_population, collect_trades
from engine.positions.cpu.block_minmax import build_extremes
from engine.positions.cpu.both_sides import Charges, CodedPopulation
from engine.positions.cpu.listing import Work, fold_alone, list_totals, list_trades
from engine.positions.cpu.order_batch import begin_orders, collect_orders
from engine.positions.cpu.orders import OrderInputs
from engine.positions.exit_spec import MARKET
from engine.runtime.cpu.bitset import list_set_bars
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Listed, Slots
from strategy.forms import Volatility, count_legs
from strategy.model import Strategy
from strategy.rows import Rows


class CpuMarket:
    """One series, and what individuals come to on it; arguments as of `PopulationEncoder`."""

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: Rows,
        workers: Threads,
        costs: Costs,
        capacity: int,
    ) -> None:
        self._spec, self._costs, self._workers = spec, costs, workers
        self._prices = build_extremes(bars.open, bars.high, bars.low, bars.close)
        self._encoder = PopulationEncoder(spec, bars, rows, workers, costs, capacity)

    @property
    def n_rows(self) -> int:
        """Rows that an individual reads, at most."""
        return self._encoder.n_rows

    @property
    def holds_words(self) -> bool:
        """True if conditions of an individual may be decided before they are read."""
        return self._encoder.holds_words

    def with_costs(self, costs: Costs) -> Self:
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._costs, other._encoder = costs, self._encoder.with_costs(costs)
        return other

    def fold(self, genomes: Floats, ranges: Ints) -> Floats:
        """Accumulators [P, W, A] of individuals in windows [W, 2]."""
        work, out = self._begin(genomes, ranges)
        fold_alone(work, len(out), self._workers)
        return out

    def list_results(
        self, genomes: Floats, ranges: Ints, *, lists_all: bool = False
    ) -> tuple[Floats, Listed]:
        """The same, with the trades of all ledgers, or all signals."""
        work, out = self._begin(genomes, ranges, lists_all=lists_all)
        return out, list_trades(work, out, self._workers)

    def ledgers(self, genomes: Floats, ranges: Ints) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each individual."""
        out, listed = self.list_results(genomes, ranges)
        trades, _ = self._collect(listed)
        return trades.cut(listed.counts, *list_totals(out))

    def list_signals(self, genomes: Floats, ranges: Ints) -> tuple[Ledger, Ints, Ints]:
        """All signals of individuals in windows [W, 2], whatever came before them.

        As `take_positions`; individual after individual and window after window, how many each has
        [P, W], and of each how many bars it touches that no finer ones make up, and whether the bar
        of its exit is one, [K, 2].
        """
        _, listed = self.list_results(genomes, ranges, lists_all=True)
        trades, coarse = self._collect(listed)
        return trades, listed.counts, coarse

    def signals(self, genome: Floats, window: Window) -> Slots:
        """Bars [S] of a window with an entry signal of one side, and not both at the market."""
        population, asked = self._encoder.encode(genome[None], (window.start, window.end))
        (words,) = self._encoder.list_words(asked)
        longs, shorts = (
            np.zeros_like(words[0]) if number < 0 else words[number]
            for number in population.entries[0].tolist()
        )
        both_rest = all(find_part(parts, "entry").form != MARKET for parts in self._encoder.sides)
        bars = list_set_bars(longs | shorts if both_rest else longs ^ shorts)
        first = max(window.start, int(population.warm_up[0]))
        last = window.end - 1 - int(population.delay[0])
        return bars[(bars >= first) & (bars < last)].astype(np.int32)

    def _begin(
        self, genomes: Floats, ranges: Ints, *, lists_all: bool = False
    ) -> tuple[Work, Floats]:
        """Begin by `begin_population` or `begin_orders`."""
        spec, costs = self._spec, self._costs
        span = int(ranges[:, 0].min()), int(ranges[:, 1].max())
        population, asked = self._encoder.encode(genomes, span)
        if isinstance(population, CodedPopulation):
            per_side, min_risk, fraction = costs.per_side, costs.min_risk, costs.risk_fraction
            charges = Charges(float(per_side), float(min_risk), float(fraction), lists_all)
            return begin_population(self._prices, population, asked, charges, ranges)
        rules = build_rules(spec, costs, self._encoder.sides)
        is_plain = rules.is_plain and not population.delay.any()
        rules = rules._replace(lists_all=lists_all, is_plain=is_plain)
        stake = build_stake(spec, costs, spec.layout.decode(spec.layout.defaults))
        inputs = OrderInputs(self._prices, population, rules, build_purse(stake))
        return begin_orders(inputs, asked, ranges)

    def _collect(self, listed: Listed) -> tuple[Ledger, Ints]:
        """Collect by `collect_trades` or `collect_orders`."""
        if not self._encoder.has_orders:
            return collect_trades(listed)
        account = self._spec.account
        has_scale = account is not None and isinstance(account.stake, Volatility)
        return collect_orders(listed, count_legs(self._spec.targets), has_scale=has_scale)
