"""How an individual stands after a window's last close, by the reference."""

from data.bars import Window
from engine.accounts.ledger import Ledger
from engine.positions.reference import find_signal_range, list_signals
from engine.positions.reference_orders import SignalSpan
from engine.positions.standing import (
    AskedWorld,
    Standing,
    add_orders,
    describe_trade,
    find_open,
    find_pending,
    has_resting,
    walk_signals,
)
from engine.reference import Reference
from strategy.genes import Floats
from strategy.rows import as_it_reads


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
