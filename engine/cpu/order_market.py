"""One series on CPU cores, and what individuals ask of it whose strategy has orders or money."""

from collections.abc import Callable, Sequence

import numpy as np

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.cpu.money import build_purse
from engine.accounts.ledger import Ledger
from engine.accounts.stake import build_stake
from engine.cpu.market import AskedParts, FormulaMarket
from engine.positions.carried import CarriedRows
from engine.positions.cpu.listing import Work
from engine.positions.cpu.order_batch import begin_orders, collect_orders
from engine.positions.cpu.orders import BEYOND, REST, OrderedPopulation, OrderRules
from engine.positions.encode import (
    Lowered,
    form_of_exit,
    form_of_order,
    form_of_slippage,
    list_bounds,
    lower_exits,
    lower_targets,
)
from engine.positions.exit_spec import DAY_NS, MARKET, NONE
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints, Listed
from strategy.exits import split_sides
from strategy.model import Strategy
from strategy.money import Volatility, find_step
from strategy.nodes import Node
from strategy.orders import SUM_SLACK, LimitAt, StopAt, count_legs
from strategy.rows import Rows


class OrderMarket(FormulaMarket):
    """One series, and what individuals ask of it."""

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: Rows,
        workers: Threads,
        costs: Costs,
        capacity: int,
    ) -> None:
        self._orders = [form_of_order(order) for order in split_sides(spec.entry)]
        self._targets = lower_targets(spec)
        super().__init__(spec, bars, rows, workers, costs, capacity)
        self._carried = CarriedRows(rows, bars, spec.layout)
        self.both_rest = all(order.form != MARKET for order in self._orders)
        self._day_ends = self._find_day_ends()

    def _begin(
        self, genomes: Floats, ranges: Ints, *, lists_all: bool = False
    ) -> tuple[Work, Floats]:
        """As `begin_orders`."""
        spec, orders = self._spec, self._ask(genomes)
        is_plain = self._is_plain and not orders.delay.any()
        rules = self._rules()._replace(lists_all=lists_all, is_plain=is_plain)
        stake = build_stake(spec, self._costs, spec.layout.decode(spec.layout.defaults))
        return begin_orders(self.prices, orders, rules, build_purse(stake), ranges)

    def _collect(self, listed: Listed) -> tuple[Ledger, Ints]:
        """As `collect_orders`."""
        account = self._spec.account
        has_scale = account is not None and isinstance(account.stake, Volatility)
        return collect_orders(listed, count_legs(self._spec.targets), has_scale=has_scale)

    def _rules(self) -> OrderRules:
        """Rules that all individuals share."""
        spec, costs, market = self._spec, self._costs, self._spec.market
        multiplier = 1.0 if market is None else market.multiplier.value  # type: ignore[union-attr]
        slippages = [form_of_slippage(slippage).form for slippage in split_sides(spec.slippage)]
        return OrderRules(
            float(costs.per_side),
            float(costs.min_risk),
            float(costs.fee_unit) / multiplier,
            *find_step(market, "tick"),
            0 if spec.after_leg is None else spec.after_leg.leg,
            form_of_exit(spec.even_offset).form,
            bool(spec.named_stops),
            bool(spec.reverse),
            count_legs(spec.targets),
            np.array([len(side) for side in self._targets], np.int64),
            np.array(slippages, np.int64),
        )

    @property
    def _is_plain(self) -> bool:
        """Whether no part is set that `OrderRules.is_plain` rules out, but for delays."""
        spec = self._spec
        settings = spec.reverse, spec.trail, spec.slippage, spec.borrow, spec.funding, spec.account
        return all(setting is None for setting in settings)

    def _ask(self, genomes: Floats) -> OrderedPopulation:
        """Orders of individuals [P, G] on the series, valid until the next call."""
        spec, read, count = self._spec, self._readings, len(genomes)
        read.begin(genomes)
        inputs = AskedParts(read, count)
        entries = inputs.conditions(*self._conditions[:2])
        exits = inputs.conditions(*self._conditions[2:4])
        cancels = inputs.conditions(*self._conditions[4:6])
        parts = self._parts()
        formula, spans, leaves = inputs.formulas(parts)
        sessions, session_of = self._clock(count)
        shares = self._by_side(lambda side: [share for _, share in self._targets[side]], count)
        further = self._by_side(self._list_further, count)
        _write_further(further, shares, self._targets, self._spec.market)
        sides = range(2)
        slips, borrows = split_sides(spec.slippage), split_sides(spec.borrow)
        worse, worse_of = self._carried.find(list(slips), genomes)
        paid, paid_of = self._carried.find([*borrows, spec.funding], genomes)
        return OrderedPopulation(
            inputs.words(),
            formula.steps,
            spans,
            leaves.rows,
            leaves.numbers,
            sessions,
            self._day_ends,
            np.array([[side.form for side in pair] for pair in parts], np.int64),
            entries,
            exits,
            cancels,
            self._by_side(lambda side: [pair[side].number for pair in parts], count),
            further,
            shares,
            self._values(spec.break_even, np.nan, count),
            self._values(spec.max_hold, 0, count).astype(np.int64),
            self._delays(),
            np.broadcast_to(self._warm_ups.of(read.individuals), count).copy(),
            session_of,
            worse,
            np.ascontiguousarray(worse_of[:, sides].reshape(-1)),
            paid,
            np.ascontiguousarray(paid_of[:, sides].reshape(-1)),
            np.ascontiguousarray(paid_of[:, 2]),
            self._list_terms(count),
            *self.finer,
        )

    def _parts(self) -> list[list[Lowered]]:
        """Stop, trail, order, size and targets of both sides."""
        (stops, _, trails), _ = lower_exits(self._spec)
        account, none = self._spec.account, Lowered(NONE)
        size = none
        if account is not None and isinstance(account.stake, Volatility):
            size = Lowered(NONE, account.stake.row)
        legs = max(map(len, self._targets))
        targets = [
            [side[leg][0] if leg < len(side) else none for side in self._targets]
            for leg in range(legs)
        ]
        return [stops, trails, self._orders, [size, size], *targets]

    def _list_further(self, side: int) -> list[Node | None]:
        """Further numbers of a side, but for the share that no target takes."""
        order = split_sides(self._spec.entry)[side]
        slippage = split_sides(self._spec.slippage)[side]
        expires = order.expires if isinstance(order, StopAt | LimitAt) else None
        through = order.through if isinstance(order, LimitAt) else None
        return [self._after[side], expires, through, None, form_of_slippage(slippage).number]

    def _by_side(self, list_settings: Callable[[int], Sequence[Node | None]], count: int) -> Floats:
        """Numbers [2 P, n] of each side's settings, longs and shorts in turn; 0 for none."""
        sides = [list_settings(side) for side in range(2)]
        out = np.zeros((count, 2, max(map(len, sides))))
        for side, settings in enumerate(sides):
            for column, setting in enumerate(settings):
                if setting is not None:
                    out[:, side, column] = self._readings.values(setting)
        return out.reshape(2 * count, -1)

    def _list_terms(self, count: int) -> Floats:
        """Numbers [P, 4] that both sides share, [P, 12] where exits have bounds."""
        spec, account = self._spec, self._spec.account
        settings: list[tuple[Node | None, float]] = [
            (None if account is None else account.stake.settings[0][1], np.inf),
            (None if account is None else account.leverage, np.inf),
            (spec.cooldown, 0.0),
            (form_of_exit(spec.even_offset).number, 0.0),
        ]
        if spec.exit_bounds is not None:
            settings += list_bounds(spec)
        columns = [self._values(setting, otherwise, count) for setting, otherwise in settings]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def _find_day_ends(self) -> Ints:
        """The last bar of each bar's session, [T]; [0] where orders do not end with it."""
        session = self._spec.session
        if session is None:
            return np.empty(0, np.int64)
        days = session.local_time(self._bars.timestamp) // DAY_NS
        ends = np.append(np.flatnonzero(days[1:] != days[:-1]), len(days) - 1)
        ends_of: Ints = ends[np.searchsorted(ends, np.arange(len(days)))]
        return ends_of


def _write_further(
    further: Floats, shares: Floats, targets: Sequence[Sequence[object]], market: object
) -> None:
    """The share that no target takes into [2 P, 5], and ticks that must be passed as a price."""
    tick = find_step(market, "tick")  # type: ignore[arg-type]
    further[:, BEYOND] = further[:, BEYOND] * tick.numerator / tick.denominator
    rests = np.ones(len(further))
    for leg in range(shares.shape[1]):
        rests = rests - shares[:, leg]
    has_targets = np.array([len(side) > 0 for side in targets])
    is_left = np.tile(has_targets, len(further) // 2) & (rests > SUM_SLACK)
    further[:, REST] = np.where(is_left, rests, 0.0)
