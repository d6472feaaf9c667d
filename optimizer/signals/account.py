"""The account of all chains of trades: what a run makes of the bars that there are now."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from data.bars import Bars, Window
from data.checks import Flags, Floats
from engine.accounts.account import Account
from engine.accounts.ledger import REASONS, Ledger
from engine.accounts.limits import build_limits
from engine.accounts.reference import Sized, find_over, find_size, size_trades
from engine.accounts.stake import SHARE_OF_R, Stake, build_stake
from engine.accounts.valuation import OpenParts, find_open_parts
from engine.positions.entry_plans import PendingEntry, RestingOrder
from engine.positions.standing import Standing
from engine.reference import Reference
from engine.reference_standing import find_standing
from engine.reference_terms import find_targets, find_terms
from engine.runtime.compiling.forms import CompiledForm
from engine.standing_room import StandingStrand, find_holders, quote_trade
from optimizer.run.task import Task

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


class EnteredTrades(NamedTuple):
    """Trades of one window by the genes that entered them."""

    window: Window
    genome: Floats  # [G]
    ledger: Ledger


class TradeSize(NamedTuple):
    """Size of a fill."""

    units: float  # NaN where the account has no cash of its own
    cash: float  # of the account, from which units are sized; NaN likewise
    risk_share: float  # of the account, down to the first stop
    leverage: float  # worth of the position over the account
    # Whether price or cash are not known yet: as if it were filled at the newest close, and what
    # leaves before it left there.
    is_guess: bool


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

        Args:
            genome: [G], whose signals count now; None where no entry does.
            traded: [C].
        """
        standings: list[Standing | None] = []
        for window, made in zip(self.windows, traded, strict=True):
            signals_of = made.entered_by if genome is None else genome
            if signals_of is None:
                standings.append(None)
                continue
            standing = find_standing(
                self.reference, signals_of, window, made.ledger, made.entered_by
            )
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
        """Places of chains that hold the room which each one's entry needs; None where it has room.

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

    def find_sizes(
        self,
        genome: Floats | None,
        traded: Sequence[TradedChain],
        standings: Sequence[Standing | None],
    ) -> list[tuple[TradeSize | None, ...]]:
        """Sizes of each chain's open trade, pending entry and orders, as far as there are [C].

        Arguments are those of `find_standings`.
        """
        sizes: list[tuple[TradeSize | None, ...]] = []
        for number, standing in enumerate(standings):
            listed: list[TradeSize | None] = []
            if standing is not None and standing.trade is not None:
                listed.append(self._size_open(traded, number))
            if standing is not None and genome is not None:
                entries = [standing.pending] if standing.pending is not None else []
                listed += self._size_entries(
                    genome, traded, number, [*entries, *standing.orders], standing
                )
            sizes.append(tuple(listed))
        return sizes

    def _size_open(self, traded: Sequence[TradedChain], number: int) -> TradeSize | None:
        """Size of a chain's open trade, given the cash at its fill."""
        ledger, entered_by = traded[number].ledger, traded[number].entered_by
        assert entered_by is not None, "a trade has genes that entered it"
        bars, stake = self.reference.series[self.windows[number].series], self._stake(entered_by)
        moment_ns = int(bars.timestamp[ledger.entry_bar[-1]])
        cash = self._find_cash(traded, number, moment_ns, stake, is_closed=False)
        return _measure_size(size_trades(ledger), len(ledger) - 1, stake, cash, is_guess=False)

    def _size_entries(
        self,
        genome: Floats,
        traded: Sequence[TradedChain],
        number: int,
        entries: Sequence[PendingEntry | RestingOrder],
        standing: Standing,
    ) -> list[TradeSize | None]:
        """Sizes of entries of a chain; what it holds is closed before at the newest close."""
        if not entries:
            return []
        window, stake = self.windows[number], self._stake(genome)
        scales = self.reference.find_scales(genome, window.series)
        is_open = standing.trade is not None
        now_ns = max(map(self._find_close, range(len(self.windows))))
        cash = self._find_cash(traded, number, now_ns, stake, is_closed=is_open)
        return [
            _measure_size(
                quote_trade(entry.side, entry.signal_bar, entry.plan, scales),
                0,
                stake,
                cash,
                is_guess=isinstance(entry, PendingEntry) or (is_open and not math.isnan(cash)),
            )
            for entry in entries
        ]

    def _find_close(self, number: int) -> int:
        """When the newest bar of a chain closed, nanoseconds UTC."""
        return int(self.reference.series[self.windows[number].series].over_ns[-1])

    def _find_cash(
        self,
        traded: Sequence[TradedChain],
        number: int,
        moment_ns: int,
        stake: Stake,
        *,
        is_closed: bool,
    ) -> float:
        """Cash of the account after the trades that are over by a moment; NaN without an account.

        Args:
            traded: Of all chains.
            number: Of the chain that asks: of its own trades all but the open one are over.
            moment_ns: Nanoseconds UTC.
            stake: Of the genes that ask.
            is_closed: Whether its open trade counts as if it were closed at the newest close.
        """
        if stake.form == SHARE_OF_R:
            return math.nan
        parts: list[EnteredTrades] = []
        for place, chain in enumerate(traded):
            for entered in chain.entered:
                is_over = self._list_over(entered, place, moment_ns)
                if place == number:
                    is_over = is_closed | ~self._list_open(entered, place)
                if is_over.any():
                    parts.append(entered._replace(ledger=entered.ledger.keep(is_over)))
        if not parts:
            return stake.cash
        account = Account(
            self.reference.series,
            tuple(part.window for part in parts),
            tuple(str(part.window.series) for part in parts),
            self.reference.costs,
            stakes=tuple(self._stake(part.genome) for part in parts),
        )
        return float(account.fold([part.ledger for part in parts]).worth[-1])

    def _list_open(self, entered: EnteredTrades, place: int) -> Flags:
        """Which trades of a part are open after its newest bar [K]."""
        is_last = entered.window.series == self.windows[place].series
        is_open: Flags = is_last & (entered.ledger.reason == END)
        return is_open

    def _list_over(self, entered: EnteredTrades, place: int, moment_ns: int) -> Flags:
        """Which trades of a part are known to be over by a moment [K]."""
        bars, ledger = self.reference.series[entered.window.series], entered.ledger
        over_ns = find_over(ledger, bars, self._stake(entered.genome))
        is_over: Flags = (over_ns <= moment_ns) & ~self._list_open(entered, place)
        return is_over

    def _stake(self, genome: Floats) -> Stake:
        spec = self.reference.spec
        return build_stake(spec, self.reference.costs, spec.layout.decode(genome))


def _measure_size(
    trades: Sized, k: int, stake: Stake, cash: float, *, is_guess: bool
) -> TradeSize | None:
    """Size of a trade, given the cash before it or NaN; None of one that has no risk."""
    entry, risk = float(trades.entry[k]), float(trades.risk[k])
    if not risk > 0.0:
        return None
    if stake.form == SHARE_OF_R:
        return TradeSize(cash, cash, stake.number, stake.number * entry / risk, is_guess=is_guess)
    units = max(float(find_size(trades, stake, cash, k)), 0.0) if cash > 0.0 else 0.0
    money = units * stake.worth / cash if cash > 0.0 else 0.0
    return TradeSize(units, cash, money * risk, money * entry, is_guess=is_guess)


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
