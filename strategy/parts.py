"""Parts of a strategy, and what they demand of each other."""

from typing import Any

from strategy.errors import StrategyError
from strategy.exits import (
    OFFSETS,
    STOPS,
    TARGETS,
    PositionBounds,
    Trail,
    check_form,
    check_side,
    split_sides,
)
from strategy.money import check_money, counts_ticks
from strategy.orders import check_entry, check_ladder, rests

PARTS = (
    "long",
    "short",
    "exit_long",
    "exit_short",
    "entry",
    "cancel",
    "stop",
    "target",
    "targets",
    "trail",
    "break_even",
    "after_leg",
    "max_hold",
    "session",
    "delay",
    "reverse",
    "market",
    "slippage",
    "funding",
    "borrow",
    "account",
    "cooldown",
    "even_offset",
    "named_stops",
    "exit_bounds",
)
"""Parts of a strategy, in the order in which its genes are counted."""

LATER_PARTS = (
    "entry", "cancel", "targets", "after_leg", "reverse", "market", "slippage", "funding", "borrow",
    "account", "cooldown", "even_offset", "named_stops", "exit_bounds",
)  # fmt: skip
"""Parts that a record names only where they are there, so that older digests stand."""


def check_parts(strategy: Any) -> None:  # noqa: ANN401 - `Strategy` needs this file
    """Refuse a strategy whose parts are missing, of no legal form, or do not fit each other."""
    if strategy.long is None and strategy.short is None:
        raise StrategyError("a strategy needs an entry: give it long=... or short=...")
    for side in ("long", "short"):
        asks = getattr(strategy, f"exit_{side}") is not None
        if asks and getattr(strategy, side) is None:
            raise StrategyError(f"exit_{side} ends what is never begun: give it {side}=... too")
    if strategy.stop is None:
        raise StrategyError(
            "a strategy needs a stop, which gives R its unit: give it "
            "stop=beyond_bar(...), from_entry(...), share(...) or level(...)"
        )
    check_form("stop", strategy.stop, STOPS)
    if strategy.target is not None:
        check_form("target", strategy.target, TARGETS)
    if strategy.trail is not None:
        check_form("trail", strategy.trail, (Trail,))
    _check_orders(strategy)


def _check_orders(strategy: Any) -> None:  # noqa: ANN401 - likewise
    check_entry(strategy.entry)
    if strategy.cancel is not None and not rests(strategy.entry):
        raise StrategyError("cancel ends resting orders: give it entry=stop_at(...) too")
    if strategy.target is not None and strategy.targets is not None:
        raise StrategyError("target is one, targets are several: give it one of the two")
    check_ladder(strategy.targets, strategy.after_leg)
    moves_even = strategy.break_even is not None or strategy.after_leg is not None
    if strategy.even_offset is not None:
        check_side("offset", strategy.even_offset, OFFSETS)
        if not moves_even:
            raise StrategyError(
                "an offset is one of a break-even: give it a gain or after_leg(...)"
            )
    for bounds in split_sides(strategy.exit_bounds):
        if bounds is not None:
            check_side("exit_bounds", bounds, (PositionBounds,), "by_side")
    if strategy.named_stops and strategy.trail is None and not moves_even:
        raise StrategyError("named_stops=True names stops that move: give it trail or break_even")
    if strategy.reverse and (strategy.long is None or strategy.short is None):
        raise StrategyError("reverse=True needs both sides: give it long=... and short=...")
    check_money(
        strategy.market, strategy.slippage, strategy.funding, strategy.borrow, strategy.account
    )
    has_ticks = strategy.market is not None and strategy.market.tick is not None
    if not has_ticks and counts_ticks(strategy.slippage, strategy.entry):
        raise StrategyError("ticks are those of the symbol: give it market=market(tick='0.01')")
