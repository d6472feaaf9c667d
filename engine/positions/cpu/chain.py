"""Stage 4, chain: take signals one position at a time and fold the trades."""

from engine.accounts.cpu.folding import BARS_IN_MARKET, FIRST_REASON, REJECTED, TRADES, fold
from engine.backend import Exits
from engine.positions.cpu.bracket_exits import find_bracket_exit
from engine.positions.cpu.exits import (
    STOP_GAP,
    TARGET,
    Position,
    count_coarse,
    read_finer_exit,
)
from engine.runtime.compiling.loops import compiled_part
from engine.runtime.cpu.bitset import NEVER
from engine.runtime.cpu.types import Floats, Ints, Market, Slots


@compiled_part
def stop_distances(
    market: Market, exits: Exits, slots: Slots, signal_bars: Slots, out: Floats
) -> None:
    """The row that measures the stop's distance, at signal bars [S], into out [S].

    Rows hardly ever lie in a cache. Read here, one after another without anything in between, the
    loads are in flight together; the chain would wait for each.
    """
    slot = slots[exits.stop_row]
    for s in range(signal_bars.size):
        out[s] = market.rows[slot, signal_bars[s]]


@compiled_part
def chain(
    market: Market,
    exits: Exits,
    genome: Floats,
    signal_bars: Slots,
    distances: Floats,
    end: int,
    flat_from: int,
    out: Floats,
    whole: Ints,
    prices: Floats,
) -> int:
    """Fold one individual's trades in one window, or in a part of it.

    Exits are looked for only where a position is taken: on one core an exit of an entry that is
    not taken is work lost.

    Args:
        market: The series and its rows.
        exits: Bracket and costs.
        genome: [G].
        signal_bars: [S] ascending.
        distances: [S] the row that measures the stop's distance, at these bars.
        end: One past the last bar of the window.
        flat_from: Bar from which on there is no position.
        out: [A] accumulators so far; `begin` sets them up.
        whole: [S, 5] receives signal bar, entry bar, exit bar, reason and bars held of each trade;
            or [0, 5] where no ledger is wanted.
        prices: [S, 5] receives entry, stop, target, exit, r; or [0, 5].

    Returns:
        Bar from which on there is no position any more.
    """
    stop_mult, reward = genome[exits.stop_mult], genome[exits.reward]
    max_hold = int(genome[exits.max_hold])
    keeps_ledger = whole.shape[0] > 0
    trades, has_finer, counted = 0, market.finer_of.shape[1] > 0, -1
    for s in range(signal_bars.size):
        t = signal_bars[s]
        entry_bar = t + 1 + exits.delay
        if entry_bar >= end:
            break
        if t < flat_from:
            continue
        entry = market.open[entry_bar]
        stop = market.low[t] - stop_mult * distances[s]
        risk = entry - stop
        if has_finer:
            # Its order at the market touches the entry bar.
            counted = count_coarse(market.finer_of, entry_bar, counted, out)
        if not risk > entry * exits.min_risk:
            out[REJECTED] += 1.0
            continue
        target = entry + reward * risk
        exit_bar, reason, price = find_bracket_exit(market, entry_bar, stop, target, max_hold, end)
        opens = reason == STOP_GAP
        if has_finer:
            if reason <= TARGET:
                counted = count_coarse(market.finer_of, exit_bar, counted, out)
            at = Position(0, entry_bar, entry, stop, target, -1, NEVER, exit_bar, reason)
            reason, price, opens = read_finer_exit(
                market.finer, market.finer_of, at, stop, exit_bar, reason, price, opens
            )
        net = (price - entry) - exits.per_side * (entry + price)
        r = net / risk
        fold(out, r, exits.risk_fraction)
        held = bars_held(entry_bar, exit_bar, opens)
        out[BARS_IN_MARKET] += held
        out[FIRST_REASON + reason] += 1.0
        if keeps_ledger:
            whole[trades, 0], whole[trades, 1] = t, entry_bar
            whole[trades, 2], whole[trades, 3], whole[trades, 4] = exit_bar, reason, held
            prices[trades, 0], prices[trades, 1], prices[trades, 2] = entry, stop, target
            prices[trades, 3], prices[trades, 4] = price, r
        trades += 1
        flat_from = exit_bar
    out[TRADES] += trades
    return flat_from


@compiled_part
def bars_held(entry_bar: int, exit_bar: int, is_at_open: bool) -> int:
    """Bars in the market, without a bar that is left at its open."""
    return exit_bar - entry_bar + 1 - int(is_at_open)
