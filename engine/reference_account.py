"""Trades of a limited account by the letter of the law: one chain over the signals of all strands.

A trade's result hangs on its signal alone, so it is known when the signal asks.
"""

import math
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from data.bars import Bars, Window
from engine.accounts.ledger import REASONS, Ledger
from engine.accounts.limits import AccountLimits
from engine.accounts.reference import find_leverage, size_trades
from engine.accounts.stake import Stake
from engine.positions.exit_spec import Floats, Ints
from engine.positions.reference import find_free_bars

SIGNAL = REASONS.index("signal")


class Ask(NamedTuple):
    """A signal that needs room, with the known result of its trade."""

    asks_ns: int  # when its entry bar opens
    over_ns: int  # from when on its position is known to be over
    leverage: float  # worth of its position over the account
    rank: float  # greatest first, NaN last


class Permit(NamedTuple):
    """True if an account has room for a signal."""

    is_taken: bool
    gross: float  # leverage of what other strands have open
    holders: tuple[int, ...]  # numbers of these strands, in the order of taking


class HeldRoom(NamedTuple):
    """An open position, which takes room of others."""

    strand: int
    over_ns: int
    leverage: float


Asking = Generator[Ask, Permit, None]
"""Signals of one strand; each counts by the admission of those before it."""


def admit_in_turn(
    strands: Sequence[Asking], limits: AccountLimits, held: Sequence[HeldRoom] = ()
) -> None:
    """Admit signals of all strands or not, one after another, until none asks any more.

    `held` are positions that are open before the first asks.
    """
    asks = {number: next(strand, None) for number, strand in enumerate(strands)}
    positions = list(held)
    while True:
        asking = {number: ask for number, ask in asks.items() if ask is not None}
        if not asking:
            return
        number = min(asking, key=lambda strand: find_turn(asking[strand], strand))
        ask = asking[number]
        positions = [each for each in positions if each.over_ns > ask.asks_ns]
        others = [each for each in positions if each.strand != number]
        gross = 0.0
        for other in others:
            gross += other.leverage
        has_room = len(others) < limits.max_positions
        is_taken = has_room and gross + ask.leverage <= limits.max_leverage
        if is_taken:
            positions.append(HeldRoom(number, ask.over_ns, ask.leverage))
        holders = tuple(other.strand for other in others)
        try:
            asks[number] = strands[number].send(Permit(is_taken, gross, holders))
        except StopIteration:
            asks[number] = None


def find_turn(ask: Ask, strand: int) -> tuple[int, bool, float, int]:
    """Order of asking: by time, by rank, by strand."""
    is_unknown = math.isnan(ask.rank)
    return ask.asks_ns, is_unknown, 0.0 if is_unknown else -ask.rank, strand


class AskingWindow(NamedTuple):
    """A window with signals that need room in one account."""

    window: Window
    strand: int  # number of its symbol, of all that the account trades
    bars: Bars  # of its series
    signals: Ints  # [S] bars that signal, ascending
    sides: Ints  # [S] 1 or -1
    ranks: Floats | None  # [T] greatest first
    cooldown: int  # bars after a stop in which no signal counts
    delay: int  # bars by which entries are late
    stake: Stake  # how its trades are sized
    # Result of a signal's bar, a trade or a rejection; with a last bar, until then.
    find_trade: Callable[..., Ledger]
    scales: Floats | None  # [T] measure of sizes; None without one
    weight: float = 1.0  # the account's share of each
    continues: bool = False  # whether a trade of the window before it may still be open

    @property
    def begins_ns(self) -> int:
        """When the window's first bar opens."""
        return int(self.bars.timestamp[self.window.start])


class Taken(NamedTuple):
    """Trades and counts of an account in a window."""

    trades: list[Ledger]  # of one trade each
    gross: list[float]  # leverage of what other strands had open at each entry
    counts: dict[str, Any]  # rejected, skipped and coarse


def take_account(windows: Sequence[AskingWindow], limits: AccountLimits) -> list[Ledger]:
    """The ledger of each window [W].

    Those of a strand are taken in the order of time; held-out windows are another account.
    """
    taken = [Taken([], [], {"rejected": 0, "skipped": 0, "coarse": 0}) for _ in windows]
    pairs = sorted(
        zip(windows, taken, strict=True),
        key=lambda pair: (pair[0].strand, pair[0].begins_ns),
    )
    for role in {asking.window.role for asking in windows}:
        strands: dict[int, list[tuple[AskingWindow, Taken]]] = {}
        for asking, book in pairs:
            if asking.window.role == role:
                strands.setdefault(asking.strand, []).append((asking, book))
        admit_in_turn([_ask(strand) for strand in strands.values()], limits)
    return [_build_ledger(asking, book) for asking, book in zip(windows, taken, strict=True)]


def _ask(
    strand: Sequence[tuple[AskingWindow, Taken]],
) -> Generator[Ask, Permit, None]:
    """Signals of a strand that find it flat and risk enough, in the order of time."""
    last: tuple[int, int, int] | None = None
    for asking, book in strand:
        last = last if asking.continues else None
        free = (0, 0) if last is None else find_free_bars(*last, asking.cooldown)
        before: tuple[int, Ledger] | None = None
        for t, side in zip(asking.signals.tolist(), asking.sides.tolist(), strict=True):
            if t < free[0 if side > 0 else 1]:
                continue
            trade = asking.find_trade(t)
            coarse = trade.coarse - _count_twice(asking, before, t + 1 + asking.delay)
            if not len(trade):
                book.counts["rejected"] += 1
                book.counts["coarse"] += coarse
                continue
            exit_bar, reason = int(trade.exit_bar[0]), int(trade.reason[0])
            permit = yield _build_ask(asking, trade, t)
            if permit.is_taken:
                book.trades.append(trade)
                book.gross.append(permit.gross)
                book.counts["coarse"] += coarse
                before = t, trade
                last = exit_bar, reason, side
                free = find_free_bars(*last, asking.cooldown)
            else:
                book.counts["skipped"] += 1


def _count_twice(asking: AskingWindow, before: tuple[int, Ledger] | None, entry_bar: int) -> int:
    """1 if a signal enters in the coarse bar that the trade before it left at its open.

    `before`: that trade and its signal's bar, if any.
    """
    if before is None or before[1].exit_bar[0] != entry_bar or before[1].reason[0] != SIGNAL:
        return 0
    t, trade = before
    return trade.coarse - int(asking.find_trade(t, entry_bar).coarse)


def _build_ask(asking: AskingWindow, trade: Ledger, t: int) -> Ask:
    opened = asking.bars.timestamp
    # That a bar ended a position is known once it is over; but for an exit by condition.
    known = opened if trade.reason[0] == SIGNAL else asking.bars.over_ns
    over_ns = int(known[trade.exit_bar[0]])
    leverage = find_leverage(size_trades(trade), asking.stake, 0, asking.weight)
    rank = 0.0 if asking.ranks is None else float(asking.ranks[t])
    return Ask(int(opened[trade.entry_bar[0]]), over_ns, leverage, rank)


def _build_ledger(asking: AskingWindow, taken: Taken) -> Ledger:
    """The ledger of a window, from those of its trades."""
    # No signal counts behind the end: what comes of one has the columns of a trade.
    parts = [asking.find_trade(asking.window.end), *taken.trades]
    columns: Any = {
        name: np.concatenate([part.columns()[name] for part in parts])
        for name in parts[0].columns()
    }
    columns["gross"] = np.array(taken.gross, np.float64).reshape(-1, 1)
    return Ledger(**columns, **taken.counts)
