"""Several strategies as one account: each with bars, costs and a weight of its own."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from data.bars import Bars, Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.ledger import COUNTS, Ledger, Trade
from engine.accounts.limits import build_limits, check_limits
from engine.accounts.metrics import compute_metrics, measure_span, pool_spans
from engine.accounts.reference import compute_accumulators, fold_worths, merge_ledgers
from engine.accounts.stake import Stake, plain_stake
from engine.accounts.strategy_stakes import build_stake
from engine.accounts.valuation import TradeTerms
from engine.batch import Engine
from engine.cpu.limited import LimitedBackend, admit_together
from engine.errors import EngineError
from engine.reference import Reference, list_terms
from engine.reference_account import take_account
from engine.runtime.compiling.forms import CompiledForm
from strategy.genes import Floats
from strategy.model import Strategy
from strategy.rows import as_it_reads

KEPT_BYTES = 2**28
"""Rows of a component that are kept."""

Ledgers = tuple[tuple[Ledger, ...], ...]
"""Ledgers of each component, one a window."""


class Component(NamedTuple):
    """A strategy with its genes, bars and costs, and the account's share of its trades."""

    name: str
    spec: Strategy
    series: tuple[Bars, ...]
    windows: tuple[Window, ...]
    costs: Costs
    genome: Floats  # [G]
    weight: float


class Portfolio:
    """One account of several components, in order; their strands are numbered through.

    Args:
        components: At least one. What limits their own costs have is left out.
        costs: Share of the account that one R is where a component does not say how its trades are
            sized, limits and rank; of its costs nothing is charged.
        cash: Of the account at the beginning; if None, that of the components'
            ``account(cash, size)``.

    Raises:
        EngineError: When components begin with different cash and none is given, or one has rules
            that limits do not cover.
    """

    def __init__(
        self, components: Sequence[Component], costs: Costs, cash: float | None = None
    ) -> None:
        limits = {name: getattr(costs, name) for name in ("max_positions", "max_leverage", "rank")}
        self._costs = costs
        self.components = tuple(
            part._replace(costs=replace(part.costs, risk_fraction=costs.risk_fraction, **limits))
            for part in components
        )
        for part in self.components:
            check_limits(part.spec, part.costs)
        self.cash = _choose_cash(self.components, cash)

    def trade(self) -> Ledgers:
        """Trades of all components, on a CPU."""
        if not self._costs.has_limits:
            return tuple(
                Engine(part.spec, part.series, part.windows, part.costs, device="cpu").trades(
                    part.genome
                )
                for part in self.components
            )
        signals = [
            LimitedBackend(part.spec, part.series, part.costs, work_bytes=KEPT_BYTES).list_signals(
                part.genome[None], part.windows, part.weight
            )
            for part in self.components
        ]
        return tuple(admit_together(signals, self.account.windows, build_limits(self._costs)))

    def replay(self) -> Ledgers:
        """The same by the reference."""
        form = CompiledForm()
        ledgers: list[Ledger] = []
        asks, strand = [], 0
        for part in self.components:
            reference = Reference(part.spec, part.series, part.windows, part.costs, form=form)
            if not self._costs.has_limits:
                ledgers += reference.trades(part.genome)
            else:
                asks += [
                    asking._replace(strand=strand + asking.strand, weight=part.weight)
                    for asking in reference.list_asks(part.genome)
                ]
                strand += len(part.series)
        if self._costs.has_limits:
            ledgers = take_account(asks, build_limits(self._costs))
        return self._split(ledgers)

    def measure(self, ledgers: Ledgers) -> tuple[dict[str, float], dict[str, str]]:
        """Metrics of the account by name, as of `compute_metrics` and `Account.measure`.

        `w * r` takes the place of r everywhere. And why the others are undefined.
        """
        account, flat = self.account, [ledger for some in ledgers for ledger in some]
        plain, counted = plain_stake(self._costs.risk_fraction), list(map(_drop_targets, flat))
        merged, _ = merge_ledgers(counted, account.windows, account.series, plain)
        folded = account.fold(flat)
        sums = as_it_reads(fold_worths)(
            folded.r, folded.side.astype(np.int8), folded.worth, folded.cash, folded.unsized
        )
        spans = [measure_span(account.series[window.series], window) for window in account.windows]
        table = compute_metrics(compute_accumulators(merged, sums)[None, None], [pool_spans(spans)])
        values = {
            name: value for name, value in table.name_metrics(0).items() if not np.isnan(value)
        }
        more, why = account.measure(flat)
        return values | more, why

    @cached_property
    def account(self) -> Account:
        """The account of all windows of all components, in order."""
        series: list[Bars] = []
        windows: list[Window] = []
        names: list[str] = []
        weights: list[float] = []
        charges: list[Costs] = []
        terms: list[TradeTerms] = []
        stakes: list[Stake] = []
        for number, part in enumerate(self.components):
            first = len(series)
            windows += [replace(each, series=first + each.series) for each in part.windows]
            names += [f"{number}:{each.series}" for each in part.windows]
            weights += [part.weight] * len(part.windows)
            charges += [part.costs] * len(part.windows)
            stake = build_stake(part.spec, part.costs, part.spec.layout.decode(part.genome))
            stakes += [stake._replace(cash=self.cash)] * len(part.windows)
            reference = Reference(part.spec, part.series, [], part.costs, form=CompiledForm())
            terms += list_terms(reference, part.genome, part.windows)
            series += part.series
        joined = tuple(series), tuple(windows), tuple(names)
        sizes = tuple(stakes) if any(part.spec.account for part in self.components) else ()
        return Account(*joined, self._costs, tuple(weights), tuple(charges), tuple(terms), sizes)

    def alone(self, number: int) -> "Portfolio":
        """One component as a portfolio of its own, at its weight and with the same limits."""
        return Portfolio([self.components[number]], self._costs, self.cash)

    def _split(self, ledgers: Sequence[Ledger]) -> Ledgers:
        """Ledgers of all windows by component."""
        ends = np.cumsum([len(part.windows) for part in self.components]).tolist()
        begins = [0, *ends[:-1]]
        pairs = zip(begins, ends, strict=True)
        return tuple(tuple(ledgers[begin:end]) for begin, end in pairs)


def _choose_cash(components: Sequence[Component], cash: float | None) -> float:
    """Cash that an account of components begins with; 1 where none sizes trades from it."""
    cash_by_name = {
        part.name: build_stake(part.spec, part.costs, part.spec.layout.decode(part.genome)).cash
        for part in components
        if part.spec.account is not None
    }
    if cash is not None or not cash_by_name:
        return 1.0 if cash is None else float(cash)
    if len(set(cash_by_name.values())) > 1:
        amounts = ", ".join(f"{name} with {amount:g}" for name, amount in cash_by_name.items())
        raise EngineError(
            f"components begin with different cash, {amounts}: name the account's, cash"
        )
    return next(iter(cash_by_name.values()))


def _drop_targets(ledger: Ledger) -> Ledger:
    """A ledger without columns that others may lack, to be counted with them."""
    counts = {name: getattr(ledger, name) for name in COUNTS}
    return Ledger(*(getattr(ledger, name) for name in Trade._fields), **counts)
