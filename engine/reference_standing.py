"""How an individual stands after a window's last close, by the reference."""

from data.bars import Window
from engine.accounts.ledger import Ledger
from engine.positions.reference import find_signal_range, list_signals
from engine.positions.reference_orders import SignalSpan
from engine.positions.resting import add_orders
from engine.positions.standing import Standing, build_standing, has_resting, walk_window
from engine.reference import Reference
from strategy.genes import Floats


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
    limits, series, end = reference.find_limits(genome), window.series, window.end
    warm_up = reference.spec.warm_up(reference.spec.layout.decode(genome))
    known = find_signal_range(window.start, end + 1 + limits.delay, warm_up, limits)
    bars = slice(max(known.start, end - 1 - limits.delay), known.stop)
    sides, world = reference.find_sides(genome, series), reference.find_world(genome, series)
    signals, held = list_signals(*sides, bars), (world, sides)
    if entered_by is not None:
        held = reference.find_world(entered_by, series), reference.find_sides(entered_by, series)
    if not has_resting(world):
        return build_standing(world, sides, ledger, signals, end, held=held)
    span = SignalSpan(known.start, known.stop, end)
    walked = walk_window(reference.form, world, span)
    standing = build_standing(world, sides, ledger, signals, end, held=held, walked=walked)
    return add_orders(standing, walked, world, sides, span)
