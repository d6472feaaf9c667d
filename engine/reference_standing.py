"""How an individual and its account stand after the last close, by the reference."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from data.bars import Window
from engine.accounts.ledger import Ledger
from engine.accounts.limits import AccountLimits
from engine.accounts.reference import Sized, find_leverage, size_trades
from engine.accounts.stake import Stake
from engine.positions.exit_spec import Floats
from engine.positions.reference import find_signal_range, list_signals
from engine.positions.reference_orders import SignalSpan
from engine.positions.standing import (
    AskedWorld,
    PendingEntry,
    Standing,
    add_orders,
    describe_trade,
    find_open,
    find_pending,
    has_resting,
    walk_signals,
)
from engine.reference import Reference
from engine.reference_account import (
    Ask,
    Asking,
    AskingWindow,
    HeldRoom,
    Permit,
    admit_in_turn,
    find_turn,
)
from strategy.rows import as_it_reads

NEVER_NS = 2**63 - 1


class StandingStrand(NamedTuple):
    """A strand after its last close."""

    asking: AskingWindow  # by the genes with signals that count now
    ledger: Ledger  # until then
    stake: Stake  # of the genes that entered its last trade
    standing: Standing


def find_holders(
    strands: Sequence[StandingStrand], limits: AccountLimits
) -> list[tuple[int, ...] | None]:
    """Places of strands that hold the room which the pending entry of each [S] needs.

    None where there is room, or nothing is pending. No entry comes before the newest close of all;
    each asks as if it came at its own newest close, since limits of leverage hang on its price.

    Args:
        strands: Those that the account trades, in their order.
        limits: Of the account.
    """
    asked = [strand.asking for strand in strands]
    now_ns = max(int(asking.bars.over_ns[asking.window.end - 1]) for asking in asked)
    permits: dict[int, Permit] = {}
    asking = [_ask_once(number, strand, now_ns, permits) for number, strand in enumerate(strands)]
    admit_in_turn(asking, limits, _list_held(strands, now_ns))
    return [
        None if number not in permits or permits[number].is_taken else permits[number].holders
        for number in range(len(strands))
    ]


def _ask_once(
    number: int, strand: StandingStrand, now_ns: int, permits: dict[int, Permit]
) -> Asking:
    """The pending entry of a strand; its permit stays at its place."""
    pending, asking = strand.standing.pending, strand.asking
    if pending is None:
        return
    rank = 0.0 if asking.ranks is None else float(asking.ranks[pending.signal_bar])
    asks_ns = now_ns + pending.bars_to_wait * asking.bars.timeframe_ns
    # At the newest close; of what would be void there none.
    leverage, quoted = 0.0, quote_trade(pending, asking.scales)
    if pending.is_taken:
        leverage = find_leverage(quoted, asking.stake, 0, asking.weight)
    permits[number] = yield Ask(asks_ns, NEVER_NS, leverage, rank)


def quote_trade(entry: PendingEntry, scales: Floats | None) -> Sized:
    """An entry as an account sizes it; `scales` [T] as a ledger has them."""
    scale = np.empty(0) if scales is None else scales[[entry.signal_bar]]
    unknown, sides = np.full(1, np.nan), np.array([entry.side], np.int8)
    price, risk, lost = np.array([entry.entry]), np.array([entry.risk]), np.zeros(1, np.bool_)
    return Sized(unknown, sides, price, risk, unknown, unknown[:, None], scale, lost)


def _list_held(strands: Sequence[StandingStrand], now_ns: int) -> list[HeldRoom]:
    """Open positions in the order of taking; one to leave at the next open is over there."""
    taken: list[tuple[Ask, HeldRoom]] = []
    for number, (asking, ledger, stake, standing) in enumerate(strands):
        trade = standing.trade
        if trade is None:
            continue
        leverage = find_leverage(size_trades(ledger), stake, len(ledger) - 1, asking.weight)
        over_ns = now_ns if standing.leaves else NEVER_NS
        rank = 0.0 if asking.ranks is None else float(asking.ranks[trade.signal_bar])
        entered = Ask(int(asking.bars.timestamp[trade.entry_bar]), over_ns, leverage, rank)
        taken.append((entered, HeldRoom(number, over_ns, leverage)))
    taken.sort(key=lambda pair: find_turn(pair[0], pair[1].strand))
    return [held for _, held in taken]


def find_standing(
    reference: Reference,
    genome: Floats,
    window: Window,
    ledger: Ledger,
    entered_by: Floats | None = None,
) -> Standing:
    """How an account stands after a window's last close, by its trades there.

    Args:
        reference: Of the strategy and the series.
        genome: [G] that signals are of; orders rest as if it had traded the whole window.
        window: With the trades.
        ledger: All of them.
        entered_by: [G] that entered the last of them; the same if None.
    """
    limits, end = reference.find_limits(genome), window.end
    warm_up = reference.spec.warm_up(reference.spec.layout.decode(genome))
    known = find_signal_range(window.start, end + 1 + limits.delay, warm_up, limits)
    asked, held = (
        AskedWorld(
            reference.find_world(each, window.series), reference.find_sides(each, window.series)
        )
        for each in (genome, genome if entered_by is None else entered_by)
    )
    trade, standing, walked = find_open(ledger), Standing(), None
    span = SignalSpan(known.start, known.stop, end)
    if has_resting(asked.world):
        walked = walk_signals(reference.form, asked.world, span)
    if trade is not None:
        own = SignalSpan(trade.signal_bar, trade.signal_bar + 1, end)
        standing = describe_trade(
            held, trade, walked or walk_signals(as_it_reads, held.world, own), end
        )
    if walked is not None:
        return add_orders(standing, walked, asked, span)
    if trade is not None and not standing.leaves:
        return standing
    bars = slice(max(known.start, end - 1 - limits.delay), known.stop)
    signals = list_signals(*asked.sides, bars)
    return standing._replace(pending=find_pending(asked, ledger, signals, end))
