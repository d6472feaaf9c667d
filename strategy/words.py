"""The words of a strategy's file: ``from strategy.words import *``.

Columns and indicators are numbers at every bar; comparisons of them are conditions; `strategy`
makes a strategy of conditions, a stop and what else it may have.

>>> from strategy.words import close, ema, length, rma, strategy, true_range, beyond_bar
>>> RISING = strategy("Above its average.", long=close > ema(close, length("span", 50, 10, 200)),
...     stop=beyond_bar(2 * rma(true_range, 14)))
>>> RISING.layout.names, RISING.warm_up({"span": 50})
(('span',), 49)
"""

from collections.abc import Callable, Sequence
from inspect import Parameter
from itertools import starmap

from data.errors import TimeframeError
from data.plain import quote_value
from data.timeframe import SECOND_NS, parse_timeframe
from strategy import composed_words, conditions
from strategy.clock import Offset
from strategy.composed_words import *  # noqa: F403
from strategy.conditions import AllOf, AnyOf, Condition, Held, Within
from strategy.errors import StrategyError
from strategy.exits import BySide, SessionExit, split_sides
from strategy.expressions import Clock, Column, Higher, check_column_name
from strategy.gene_words import choice, gene, length, switch, whole
from strategy.indicator_registry import CLOCK, COLUMNS, KINDS
from strategy.language import (
    Claim,
    Operand,
    Term,
    as_condition,
    as_expression,
    as_setting,
    build_word,
    check_name,
    check_pairs,
    word,
)
from strategy.model import Strategy
from strategy.money import AccountOf, Funding, MarketFacts
from strategy.nodes import Node
from strategy.orders import AfterLeg
from strategy.own_words import indicator
from strategy.part_words import (
    BreakEven,
    InTrade,
    account,
    after_leg,
    as_optional,
    beyond_bar,
    borrow,
    bp,
    break_even,
    build_ladder,
    by_side,
    equity_share,
    from_entry,
    funding,
    in_trade,
    level,
    limit_at,
    market,
    notional,
    payments,
    price,
    r_multiple,
    risk,
    session_exit,
    share,
    split_break_even,
    split_exit,
    stop_at,
    ticks,
    trail,
    units,
    volatility,
)
from strategy.row_words import *  # noqa: F403
from strategy.source_location import here


@word
def column(name: str) -> Term:
    """An extra column that stands beside the bars."""
    check_column_name("column", name)
    return Term(Column(name, is_extra=True))


@word
def higher(minutes: int, x: Term, offset: int = 0) -> Term:
    """A row on bars of so many minutes: at each bar, that of the newest one that has ended."""
    return Term(Higher(minutes, as_expression(x), offset))


def _clock_word(name: str, about: str) -> Callable[..., Term]:
    """The word of a row ruled by the clock: minutes where it takes them, then an offset."""
    taken = {**{minutes.name: Parameter.empty for minutes in CLOCK[name]}, "offset": 0}

    def make(offset: Offset, **minutes: object) -> Term:
        return Term(Clock(name, tuple(map(as_setting, minutes.values())), offset))

    return build_word(name, about, taken, make, Term)


minute_of_day, day_of_week, vwap, opening_high, opening_low = starmap(
    _clock_word,
    {
        "minute_of_day": "Whole minutes since local midnight at a bar's open.",
        "day_of_week": "Monday 0 to Sunday 6, of a bar's open.",
        "vwap": "The session's average price so far, weighted by volume.",
        "opening_high": "The largest high of a session's first minutes, once they are over.",
        "opening_low": "The smallest low of a session's first minutes, once they are over.",
    }.items(),
)


@word
def crosses_above(a: Operand, b: Operand) -> Claim:
    """True where `a` is above `b`, and was not at the bar before."""
    return Claim(conditions.crosses_above(as_expression(a), as_expression(b)))


@word
def crosses_below(a: Operand, b: Operand) -> Claim:
    """True where `a` is below `b`, and was not at the bar before."""
    return Claim(conditions.crosses_below(as_expression(a), as_expression(b)))


@word
def equals(a: Operand, k: Operand) -> Claim:
    """True where both are the same number."""
    return Claim(conditions.equals(as_expression(a), as_expression(k)))


@word
def all_of(*parts: Claim) -> Claim:
    """True where all conditions are."""
    return Claim(AllOf(tuple(as_condition(part, "each part of all_of") for part in parts)))


@word
def any_of(*parts: Claim) -> Claim:
    """True where any condition is."""
    return Claim(AnyOf(tuple(as_condition(part, "each part of any_of") for part in parts)))


@word
def held(c: Claim, n: Operand) -> Claim:
    """True where a condition was true at each of the newest `n` bars."""
    return Claim(Held(as_condition(c, "what is held"), as_setting(n)))


@word
def within(c: Claim, n: Operand) -> Claim:
    """True where a condition was true at any of the newest `n` bars."""
    return Claim(Within(as_condition(c, "what is within"), as_setting(n)))


@word
def strategy(  # noqa: PLR0913 - each is a part of a strategy, given by its name
    summary: str,
    *,
    long: Claim | None = None,
    short: Claim | None = None,
    exit_long: Claim | InTrade | None = None,
    exit_short: Claim | InTrade | None = None,
    entry: Node | None = None,
    cancel: Claim | BySide | None = None,
    stop: Node | None = None,
    target: Node | None = None,
    targets: Node | Sequence[tuple[Node, Operand]] | None = None,
    trail: Node | None = None,
    break_even: Operand | AfterLeg | BreakEven | None = None,
    max_hold: Operand | None = None,
    session: SessionExit | None = None,
    delay: Operand = 0,
    reverse: bool = False,
    market: MarketFacts | None = None,
    slippage: Node | None = None,
    funding: Funding | None = None,
    borrow: Node | None = None,
    account: AccountOf | None = None,
    cooldown: Operand | None = None,
    named_stops: bool = False,
    less_than: Sequence[tuple[str, str]] = (),
    timeframe: str | None = None,
    name: str = "",
    order: Sequence[str] = (),
    version: int = 1,
) -> Strategy:
    """A strategy; see `Strategy` for its arguments.

    `timeframe`, such as "15m", is that of the bars for which lengths were chosen; `name` is that
    of the variable where the strategy is read from a file.
    """
    if not isinstance(summary, str):
        raise StrategyError(
            f"a strategy begins with a sentence about it, got {quote_value(summary)}"
        )
    leave_long, long_bounds = split_exit(exit_long)
    leave_short, short_bounds = split_exit(exit_short)
    has_bounds = long_bounds is not None or short_bounds is not None
    gain, even_offset = split_break_even(break_even)
    after_leg = gain if isinstance(gain, AfterLeg) else None
    return Strategy(
        check_name(name),
        summary,
        long=_optional(long, "long"),
        short=_optional(short, "short"),
        exit_long=_optional(leave_long, "exit_long"),
        exit_short=_optional(leave_short, "exit_short"),
        entry=entry,
        cancel=_by_side(cancel, "cancel"),
        stop=stop,
        target=target,
        targets=build_ladder(targets),
        trail=trail,
        break_even=None if gain is after_leg else as_setting(gain),
        after_leg=after_leg,
        max_hold=as_optional(max_hold),
        session=session,
        delay=as_setting(delay),
        reverse=True if reverse else None,
        market=market,
        slippage=slippage,
        funding=funding,
        borrow=borrow,
        account=account,
        cooldown=as_optional(cooldown),
        even_offset=even_offset,
        named_stops=True if named_stops else None,
        exit_bounds=BySide(long_bounds, short_bounds) if has_bounds else None,
        less_than=check_pairs(less_than),
        timeframe_s=None if timeframe is None else _seconds(timeframe),
        order=tuple(order),
        version=version,
        place=here(),
    )


def _seconds(timeframe: str) -> float:
    try:
        return parse_timeframe(str(timeframe), "timeframe") / SECOND_NS
    except TimeframeError as error:
        raise StrategyError(str(error)) from None


def _by_side(claim: Claim | BySide | None, what: str) -> Node | None:
    """A condition, or those of both sides."""
    if isinstance(claim, BySide):
        return BySide(*(_optional(side, what) for side in split_sides(claim)))  # type: ignore[arg-type]
    return _optional(claim, what)


def _optional(claim: Claim | None, what: str) -> Condition | None:
    return None if claim is None else as_condition(claim, what)


__all__ = [
    *COLUMNS,
    *KINDS,
    *composed_words.__all__,
    "account",
    "after_leg",
    "all_of",
    "any_of",
    "beyond_bar",
    "borrow",
    "bp",
    "break_even",
    "by_side",
    "choice",
    "column",
    "crosses_above",
    "crosses_below",
    "day_of_week",
    "equals",
    "equity_share",
    "from_entry",
    "funding",
    "gene",
    "held",
    "higher",
    "in_trade",
    "indicator",
    "length",
    "level",
    "limit_at",
    "market",
    "maximum",  # noqa: F405
    "minimum",  # noqa: F405
    "minute_of_day",
    "notional",
    "opening_high",
    "opening_low",
    "payments",
    "price",
    "r_multiple",
    "risk",
    "session_exit",
    "share",
    "stop_at",
    "strategy",
    "switch",
    "ticks",
    "trail",
    "units",
    "volatility",
    "vwap",
    "whole",
    "within",
]
