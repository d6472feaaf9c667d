"""The oracle: one individual at a time, each part as the law states it.

It shares no code with the batch engine: every backend must equal it, bit for bit.
Read it beside engine/README.md, which is the same law in prose. Rows and conditions are those of
`strategy`, trades those of `engine.positions.reference`, sums those of `engine.accounts.reference`.
Their loops run as plain Python reads them, or compiled in the same words (`engine.replay`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger, Trade
from engine.accounts.limits import build_limits, check_limits, parse_rank, refuse_limits
from engine.accounts.reference import fold_ledger, merge_ledgers, take_turns
from engine.accounts.stake import Stake
from engine.accounts.strategy_stakes import build_stake, list_shares
from engine.accounts.valuation import TradeTerms, plain_terms
from engine.positions.evaluate import build_world, evaluate_limits, find_scales
from engine.positions.exit_spec import BASIS_POINTS, NO_SLIPPAGE, TICKS, Bools, Floats, Limits
from engine.positions.reference import (
    begin_trades,
    build_ledger,
    find_free_bars,
    find_signal_range,
    list_signals,
    take_signals,
)
from engine.positions.reference_exits import find_target
from engine.positions.reference_orders import (
    BORROW_PART,
    ENTRIES,
    FORM,
    FUNDING_PART,
    NEVER,
    NOWHERE,
    NUMBER,
    ROW,
    SLIP_PART,
    TICK_SLACK,
    SignalSpan,
    World,
    begin_book,
    both_rest,
    count_targets,
    find_sign,
    on_tick,
)
from engine.reference_account import AskingWindow, take_account
from engine.runtime.lru_cache import ArrayCache
from strategy.conditions import Condition, settle_switches, split_conjunction
from strategy.expressions import holds_row
from strategy.forms import count_legs
from strategy.model import Strategy
from strategy.pretty_print import format_tree
from strategy.rows import DecodedGenes, Genes, LoopRunner, Rows, as_it_reads, resolve_value, truth
from strategy.series import Series

KEPT_BYTES = 2**29
"""Rows that are kept for the next individual; the least recently read is let go first."""

MOST_GENES = 4096
"""Individuals with kept genes."""

Result = TypeVar("Result")


class Reference:
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
        spec: Strategy,
        series: Sequence[Bars],
        windows: Sequence[Window],
        costs: Costs | None = None,
        *,
        form: LoopRunner = as_it_reads,
    ) -> None:
        self.spec = spec
        self.series = tuple(series)
        self.windows = tuple(windows)
        self.costs = costs or Costs()
        self.form = form
        check_limits(spec, self.costs)
        self._rank = parse_rank(self.costs)
        multiplier = 1.0 if spec.market is None else resolve_value(spec.market.multiplier, {})
        self.n_legs = count_legs(spec.targets)
        self._unit_fee = self.costs.fee_unit / multiplier
        # In the order of `reference_orders.OPEN` to `CLOSE`.
        self._prices = [np.array([b.open, b.high, b.low, b.close]) for b in self.series]
        self._kept = ArrayCache(KEPT_BYTES)
        self._genes: dict[bytes, DecodedGenes] = {}
        self._rows = [
            Rows(Series.of(bars), form, self._kept, (number,))
            for number, bars in enumerate(self.series)
        ]

    def trades(self, genome: Floats) -> tuple[Ledger, ...]:
        """All trades of one individual [G]: one ledger a window, [W]."""
        return tuple(self._backtests(genome, range(len(self.windows))))

    def accumulators(self, genome: Floats) -> Floats:
        """The sums of one individual [G] that metrics are made of, [W, A] as `ACCUMULATORS`."""
        return np.array([self.fold(ledger, genome) for ledger in self.trades(genome)])

    def fold(self, ledger: Ledger, genome: Floats) -> Floats:
        """Fold the trades of an individual's [G] ledger, in their order, into accumulators [A]."""
        return fold_ledger(self.form, ledger, take_turns(len(ledger)), self._build_stake(genome))

    def account(self, ledgers: Sequence[Ledger], windows: Sequence[int], genome: Floats) -> Floats:
        """Fold some windows of an individual [G], by number, as one account: accumulators [A].

        `ledgers` are those of all windows [W].
        """
        some = [ledgers[number] for number in windows]
        spans, stake = [self.windows[number] for number in windows], self._build_stake(genome)
        return fold_ledger(self.form, *merge_ledgers(some, spans, self.series, stake), stake)

    def replay(self, genome: Floats, windows: Iterable[int]) -> list[tuple[Ledger, Floats]]:
        """An individual's [G] ledger and accumulators [A] in each window, by number."""
        ledgers = self._backtests(genome, windows)
        return [(ledger, self.fold(ledger, genome)) for ledger in ledgers]

    def continue_trades(
        self, genome: Floats, window: Window, stop: int, before: Trade | None = None
    ) -> Ledger:
        """Trades of an individual [G] in any window, where others may have traded before it.

        Args:
            genome: Of the individual.
            window: Its trades end with it.
            stop: Bar from which on no signal counts.
            before: The trade before, of whomever; None where the account is flat.
        """
        refuse_limits(self.costs)
        genes, warm_up, limits = self._settle(genome)
        bars = find_signal_range(window.start, window.end, warm_up, limits)
        start, free = bars.start, (0, 0)
        if before is not None:
            free = find_free_bars(before.exit_bar, before.reason, before.side, limits.cooldown)
            start = max(start, min(free))
        bars = slice(start, max(start, min(bars.stop, stop)))
        world = self.find_world(genes, window.series)
        scales = self.find_scales(genes, window.series)
        return self._take(world, SignalSpan(start, bars.stop, window.end), scales, free)

    def signals(self, genome: Floats) -> tuple[list[int], ...]:
        """Bars [S] of each window [W] at which one side of an individual [G] asks, and not both."""
        genes, warm_up, limits = self._settle(genome)
        listed = []
        for window in self.windows:
            bars = find_signal_range(window.start, window.end, warm_up, limits)
            listed.append(list_signals(self.find_world(genes, window.series), bars).tolist())
        return tuple(listed)

    def contradictions(self, genome: Floats) -> int:
        """How many bars of all windows have both sides of an individual [G] contradict another."""
        genes, warm_up, limits = self._settle(genome)
        count = 0
        for window in self.windows:
            world = self.find_world(genes, window.series)
            bars = find_signal_range(window.start, window.end, warm_up, limits)
            if not both_rest(world):
                count += int(world.marks[ENTRIES : ENTRIES + 2, bars].all(axis=0).sum())
        return count

    def rows(self, genes: Genes, series: int) -> dict[str, Floats]:
        """All rows [T] of one series that conditions and exits read, as they are written."""
        read = [expression for expression in self.spec.expressions if holds_row(expression)]
        return {
            format_tree(expression): self._rows[series].values(expression, genes)
            for expression in read
        }

    def conditions(self, genes: Genes, series: int) -> dict[str, Bools]:
        """Conditions of entries and exits: whether each holds, [T], also in the warm-up.

        Before each of them stand its parts that must all hold, as switches leave them.
        """
        holds: dict[str, Bools] = {}
        for name in ("long", "short", "exit_long", "exit_short"):
            condition = getattr(self.spec, name)
            if condition is None:
                continue
            parts = split_conjunction(settle_switches(condition, genes))
            holds |= {format_tree(part): self.truth(part, genes, series) for part in parts}
            holds[name] = self.truth(condition, genes, series)
        return holds

    def truth(self, condition: Condition, genes: Genes, series: int) -> Bools:
        """Truth of a condition, [T], also in the warm-up."""
        return truth(condition, self._rows[series], genes)

    def _backtests(self, genome: Floats, windows: Iterable[int]) -> Iterator[Ledger]:
        """The ledgers of an individual [G] in some windows, by number."""
        genes, warm_up, limits = self._settle(genome)
        if self.costs.has_limits:
            ledgers = take_account(self.list_asks(genome), build_limits(self.costs))
            yield from (ledgers[number] for number in windows)
            return
        chosen = (self.windows[number] for number in windows)
        for series, of_series in groupby(chosen, lambda window: window.series):
            world, scales = self.find_world(genes, series), self.find_scales(genes, series)
            for window in of_series:
                bars = find_signal_range(window.start, window.end, warm_up, limits)
                yield self._take(world, SignalSpan(bars.start, bars.stop, window.end), scales)

    def list_asks(self, genome: Floats) -> list[AskingWindow]:
        """Signals of an individual [G] in all windows [W]; series are strands, by number."""
        return [self.ask_until(genome, window, window.end) for window in self.windows]

    def ask_until(self, genome: Floats, window: Window, stop: int) -> AskingWindow:
        """The same in any window; from bar `stop` on no signal counts."""
        (genes, warm_up, limits), series = self._settle(genome), window.series
        stake = self._build_stake(genome)
        known = find_signal_range(window.start, window.end, warm_up, limits)
        bars = slice(known.start, max(known.start, min(known.stop, stop)))
        world, scales = self.find_world(genes, series), self.find_scales(genes, series)
        signals = list_signals(world, bars)
        ranks = None if self._rank is None else self._rows[series].values(self._rank, {})

        def find_trade(t: int, end: int = window.end) -> Ledger:
            return self._take(world, SignalSpan(t, t + 1, end), scales)

        signs = np.where(world.marks[ENTRIES, signals], 1, -1)
        return AskingWindow(
            window, series, self.series[series], signals, signs, ranks, limits.cooldown,
            limits.delay, stake, find_trade, scales,
        )  # fmt: skip

    def _take(
        self, world: World, span: SignalSpan, scales: Floats | None, free: tuple[int, int] = (0, 0)
    ) -> Ledger:
        """The ledger of one window; `free`: first bars at which signals of each side count."""
        book, trades = begin_book(world, free), begin_trades(world, span, self.n_legs)
        self._run(take_signals, world, span, book, trades, NEVER)
        return build_ledger(trades, book.counts, scales)

    def _build_stake(self, genome: Floats) -> Stake:
        """How trades of an individual [G] are sized."""
        return build_stake(self.spec, self.costs, self.decode(genome))

    def decode(self, genome: Floats) -> DecodedGenes:
        """Genes of an individual [G], the same ones while it is replayed in other windows."""
        name = genome.tobytes()
        genes = self._genes.get(name)
        if genes is None:
            if len(self._genes) == MOST_GENES:
                self._genes.clear()
            genes = self._genes[name] = DecodedGenes(self.spec.layout.decode(genome))
        return genes

    def _settle(self, genome: Floats) -> tuple[DecodedGenes, int, Limits]:
        """Genes of an individual [G], its warm-up and its limits."""
        genes = self.decode(genome)
        warm_up = genes.keep("warm-up", self.spec, lambda: self.spec.warm_up(genes))
        return genes, warm_up, self.find_limits(genes)

    def find_world(self, genes: DecodedGenes, series: int) -> World:
        """A series and an individual's plan on it."""
        bars, prices, rows = self.series[series], self._prices[series], self._rows[series]
        limits = self.find_limits(genes)
        return build_world(self.spec, bars, prices, rows, genes, limits, self.form)

    def find_limits(self, genes: DecodedGenes) -> Limits:
        """Limits of an individual, the same for both sides."""
        known = self.spec, self.costs, genes, self._unit_fee
        return genes.keep("limits", self.costs, lambda: evaluate_limits(*known))

    def find_scales(self, genes: Genes, series: int) -> Floats | None:
        """Row that sizes are measured by, [T]; None where they hang on cash alone."""
        return find_scales(self.spec, self._rows[series], genes)

    def _run(self, loop: Callable[..., Result], *arguments: object) -> Result:
        return self.form(loop)(*arguments)


def list_terms(
    reference: Reference, genome: Floats, windows: Sequence[Window]
) -> tuple[TradeTerms, ...]:
    """Terms of an individual's [G] trades in windows [W]."""
    numbers = {window.series for window in windows}
    terms = {number: find_terms(reference, genome, number) for number in numbers}
    return tuple(terms[window.series] for window in windows)


def find_terms(reference: Reference, genome: Floats, series: int) -> TradeTerms:
    """Terms of an individual's [G] trades in one series."""
    spec, closes = reference.spec, reference.series[series].close
    parts = spec.targets, spec.slippage, spec.funding, spec.borrow
    if not reference.costs.fee_unit > 0.0 and all(part is None for part in parts):
        return plain_terms(closes)
    genes = reference.decode(genome)
    world = reference.find_world(genes, series)
    paid = [_find_row(world, side, BORROW_PART) for side in range(2)]
    return TradeTerms(
        *list_shares(spec, genes),
        world.limits.unit_fee,
        (_slip_closes(world, 0, closes), _slip_closes(world, 1, closes)),
        _find_row(world, 0, FUNDING_PART),
        (paid[0], paid[1]),
    )


def find_targets(reference: Reference, genome: Floats, series: int, ledger: Ledger) -> Floats:
    """Price of each target [K, L] of the trades of a ledger, reached or not, as the law places it.

    Infinite where a side has fewer targets, and 1 column at least.
    """
    world = reference.find_world(reference.decode(genome), series)
    counts = [count_targets(world, side) for side in range(2)]
    prices = np.empty((len(ledger), max(1, reference.n_legs)))
    prices[:] = np.where(ledger.side > 0, np.inf, -np.inf)[:, None]
    for k in range(len(ledger)):
        trade = ledger.trade(k)
        side, risk = (0 if trade.side > 0 else 1), trade.side * (trade.entry - trade.stop)
        for leg in range(counts[side]):
            target = find_target(world, side, leg, trade.signal_bar, trade.entry, risk)
            prices[k, leg] = on_tick(world.limits, target, trade.side > 0)
    return prices


def _find_row(world: World, side: int, part: int) -> Floats | None:
    """Row of a side's part, [T]; None where it reads none."""
    row = int(world.parts[side, ROW, part])
    return None if row == NOWHERE else world.rows[row]


def _slip_closes(world: World, side: int, closes: Floats) -> Floats:
    """Prices [T] of a sale at each close, which a long leaves by, or of a buy-back."""
    over, under, sign = world.limits.tick_over, world.limits.tick_under, -find_sign(side)
    form, number = world.parts[side, FORM, SLIP_PART], world.parts[side, NUMBER, SLIP_PART]
    if form == NO_SLIPPAGE:
        return closes
    if form == TICKS:
        worse = np.full(len(closes), number * over / under)
    elif form == BASIS_POINTS:
        worse = closes * number / 10000.0
    else:
        known = np.concatenate([[np.nan], world.rows[int(world.parts[side, ROW, SLIP_PART]), :-1]])
        worse = np.where(known < 0.0, 0.0, known)
    moved = closes + sign * worse
    if over == 0.0:
        return moved
    steps = moved * under / over
    whole = np.ceil(steps - TICK_SLACK) if sign > 0.0 else np.floor(steps + TICK_SLACK)
    return whole * over / under
