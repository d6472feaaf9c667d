"""The account of all chains of trades, on the present bars."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.bars import Bars, Window
from data.checks import Floats
from engine.accounts.account import Account, Folded
from engine.accounts.ledger import REASONS, Ledger
from engine.accounts.limits import build_limits
from engine.accounts.reference import find_size
from engine.accounts.stake import SHARE_OF_R, Stake
from engine.accounts.strategy_stakes import build_stake
from engine.accounts.valuation import OpenParts, find_open_parts
from engine.reference import Reference, find_targets, find_terms
from engine.reference_standing import (
    PendingEntry,
    RestingOrder,
    Standing,
    StandingStrand,
    find_holders,
    find_open,
    find_standing,
    quote_trade,
)
from engine.runtime.compiling.forms import CompiledForm
from optimizer.run.task import Task
from optimizer.schedule import EnteredTrades
from optimizer.signals.records import SignalSize
from strategy.rows import resolve_value

END = REASONS.index("end")


@dataclass(frozen=True)
class TradeChain:
    """Closed bars of a symbol, and where its chain of trades begins."""

    symbol: str
    series: int  # its number
    bars: Bars
    start: int  # number of the first bar that may signal
    begins_with_run: bool
    left_out: int  # bars that have not closed by the clock
    # Parts before the last long gap, each with its first bar that may signal: nothing reaches over
    # a gap but the room and the cash of an account.
    earlier: tuple[tuple[Bars, int], ...] = ()
    is_searched: bool = True  # whether the run searched on its symbol
    is_stale: bool = False  # whether bars have come since that are not here


@dataclass(frozen=True, eq=False)
class TradedChain:
    """Trades on the bars of a chain."""

    ledger: Ledger
    entered_by: Floats | None  # [G] that entered the last trade; None without one of a schedule
    entered: tuple[EnteredTrades, ...]  # the same trades, after those of parts before a long gap


@dataclass(frozen=True, eq=False)
class ChainAccount:
    """One account of all chains."""

    reference: Reference  # its windows are those of the chains, and of the parts before them
    windows: tuple[Window, ...]  # [C] of the chains
    parts: tuple[tuple[Window, ...], ...]  # [C] the same, after those before long gaps

    def trade(self, genome: Floats) -> list[TradedChain]:
        """Trades of an individual [G] on each chain."""
        ledgers = self.reference.trades(genome)
        return [
            TradedChain(
                ledgers[windows[-1].series],
                genome,
                tuple(EnteredTrades(part, genome, ledgers[part.series]) for part in windows),
            )
            for windows in self.parts
        ]

    def find_standings(
        self, genome: Floats | None, traded: Sequence[TradedChain]
    ) -> list[Standing | None]:
        """How each chain stands [C]; None without trades and without genes that signal.

        Signals of `genome` [G] count now; None where no entry does.
        """
        standings: list[Standing | None] = []
        for window, made in zip(self.windows, traded, strict=True):
            signals_of, standing = made.entered_by if genome is None else genome, None
            if signals_of is not None:
                known = window, made.ledger, made.entered_by
                standing = find_standing(self.reference, signals_of, *known)
                if genome is None:
                    standing = standing._replace(pending=None, orders=())
            standings.append(standing)
        return standings

    def find_holders(
        self,
        genome: Floats | None,
        traded: Sequence[TradedChain],
        standings: Sequence[Standing | None],
    ) -> list[tuple[int, ...] | None]:
        """Places of chains that hold the room of each one's entry; None with room.

        Arguments and result are those of `find_standings`.
        """
        if genome is None or not self.reference.costs.has_limits:
            return [None] * len(self.windows)
        strands = []
        for window, made, standing in zip(self.windows, traded, standings, strict=True):
            assert standing is not None, "genes that signal have a standing"
            asking = self.reference.ask_until(genome, window, window.end)
            entered_by = genome if made.entered_by is None else made.entered_by
            strands.append(StandingStrand(asking, made.ledger, self._stake(entered_by), standing))
        return find_holders(strands, build_limits(self.reference.costs))

    def find_parts(self, traded: TradedChain, number: int) -> OpenParts:
        """Parts of the open trade with which a chain's ledger ends, at its newest close."""
        genome, series = traded.entered_by, self.windows[number].series
        assert genome is not None, "a trade has genes that entered it"
        last = traded.ledger.keep(np.arange(len(traded.ledger)) == len(traded.ledger) - 1)
        targets = find_targets(self.reference, genome, series, last)
        terms, per_side = find_terms(self.reference, genome, series), self.reference.costs.per_side
        return find_open_parts(last, np.zeros(1, np.int64), last.exit_bar, targets, per_side, terms)

    def size_trade(self, traded: Sequence[TradedChain], number: int) -> SignalSize | None:
        """Size of the open trade of a chain, by its number, given the cash at its fill."""
        ledger, genome = traded[number].ledger, traded[number].entered_by
        assert genome is not None, "a trade has genes that entered it"
        stake, cash, units = self._stake(genome), None, 0.0
        if stake.form != SHARE_OF_R:
            folded, last = self._fold(traded, number)
            cash = float(folded.by_place(folded.filled_at)[last] * folded.cash)
            units = float(folded.by_place(folded.units)[last])
        known = float(ledger.entry[-1]), float(abs(ledger.entry[-1] - ledger.stop[-1]))
        return self._measure_size(genome, *known, cash, units, is_guess=False)

    def size_entry(
        self, genome: Floats, traded: Sequence[TradedChain], number: int, entry: PendingEntry
    ) -> SignalSize | None:
        """Size of an entry of a chain, at the market or an order, by the genome [G] that signals.

        An open trade of it is closed before at the newest close.
        """
        stake, cash, units = self._stake(genome), None, 0.0
        if stake.form != SHARE_OF_R:
            folded, _ = self._fold(traded, number)
            cash = float(folded.worth[-1]) if len(folded.worth) else stake.cash
            scales = self.reference.find_scales(
                self.reference.decode(genome), self.windows[number].series
            )
            if cash > 0.0:
                units = max(float(find_size(quote_trade(entry, scales), stake, cash, 0)), 0.0)
        is_held = cash is not None and find_open(traded[number].ledger) is not None
        is_guess = is_held or not isinstance(entry, RestingOrder)
        return self._measure_size(genome, entry.entry, entry.risk, cash, units, is_guess=is_guess)

    def _fold(self, traded: Sequence[TradedChain], number: int) -> tuple[Folded, int]:
        """All trades but the open ones of other chains, and the place of a chain's last one."""
        parts: list[EnteredTrades] = []
        last = -1
        for place, (chain, window) in enumerate(zip(traded, self.windows, strict=True)):
            for entered in chain.entered:
                is_open = (entered.ledger.reason == END) & (entered.window.series == window.series)
                kept = entered.ledger.keep(~is_open | (place == number))
                parts.append(entered._replace(ledger=kept))
                last += len(kept) if place <= number else 0
        account = Account(
            self.reference.series,
            tuple(part.window for part in parts),
            tuple(str(part.window.series) for part in parts),
            self.reference.costs,
            stakes=tuple(self._stake(part.genome) for part in parts),
        )
        return account.fold([part.ledger for part in parts]), last

    def _measure_size(
        self,
        genome: Floats,
        entry: float,
        risk: float,
        cash: float | None,
        units: float,
        *,
        is_guess: bool,
    ) -> SignalSize | None:
        """Size of so many units, or without cash of an R; None without a risk."""
        market, share = self.reference.spec.market, self._stake(genome).number
        if not risk > 0.0:
            return None
        genes = self.reference.spec.layout.decode(genome)
        worth = 1.0 if market is None else resolve_value(market.multiplier, genes)
        if cash is not None:
            share = units * worth / cash * risk if cash > 0.0 else 0.0
        per_account, leverage = share / (risk * worth), share * entry / risk
        known = None if cash is None else units
        return SignalSize(known, cash, per_account, share, leverage, is_guess)

    def _stake(self, genome: Floats) -> Stake:
        spec = self.reference.spec
        return build_stake(spec, self.reference.costs, spec.layout.decode(genome))


def build_account(task: Task, chains: Sequence[TradeChain]) -> ChainAccount:
    """The account of the chains of a task's symbols; each part of a series is one by itself."""
    series: list[Bars] = []
    parts: list[tuple[Window, ...]] = []
    has_one = task.costs.has_limits or task.spec.account is not None
    for chain in chains:
        earlier = chain.earlier if has_one else ()
        windows = []
        for bars, start in (*earlier, (chain.bars, chain.start)):
            windows.append(Window(len(series), start, len(bars)))
            series.append(bars)
        parts.append(tuple(windows))
    all_windows = [window for windows in parts for window in windows]
    reference = Reference(task.spec, series, all_windows, task.costs, form=CompiledForm())
    return ChainAccount(reference, tuple(windows[-1] for windows in parts), tuple(parts))
