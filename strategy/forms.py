"""Forms of a strategy's parts as plain data: stops, targets, orders, ladders, charges, sizes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from data.plain import quote_value
from data.timeframe import MINUTE_NS
from strategy.clock import Offset, check_offset, local_time
from strategy.errors import StrategyError
from strategy.expressions import (
    DAY_MINUTES,
    WEEK_MINUTES,
    Arithmetic,
    Expression,
    GeneValue,
    Number,
    Setting,
    check_column_name,
    check_settings,
    holds_row,
    is_whole,
)
from strategy.genes import Ints
from strategy.nodes import ABOVE_ZERO, ANY, Node, declare, later, real, walk, whole

MOST_LEGS = 8
"""Targets of a ladder, at most."""

SUM_SLACK = 1e-9
"""Shares of a ladder may pass 1 by so much, which is rounding."""

LARGEST_PART = 2**53
"""Numerator and denominator of a step are exact in float64 up to this."""


class PriceForm(Node):
    """A rule for a price, a charge or a size."""

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def reads(self) -> Expression | None:
        """The expression that it reads; None for constants and genes alone."""
        values = (getattr(self, one.name) for one in fields(self) if one.name not in self.numbers)
        return next((value for value in values if isinstance(value, Expression)), None)


@declare("beyond_bar")
class BeyondBar(PriceForm):
    """A stop so far below the signal bar's low, or above its high for a short."""

    distance: Expression


@declare("from_entry")
class FromEntry(PriceForm):
    """A price so far from the entry."""

    distance: Expression


@declare("share")
class Share(PriceForm):
    """A price at this fraction of the entry from it."""

    fraction: Setting = real()


@declare("level")
class Level(PriceForm):
    """The price in a row at the signal bar."""

    price: Expression


@declare("r_multiple")
class RMultiple(PriceForm):
    """A target at so many times the risk from the entry."""

    multiple: Setting = real()


@declare("trail")
class Trail(Node):
    """A stop that follows once the best price is `after` times the risk from the entry.

    It stays behind that price, or with `level` at the value of a row at each close.
    """

    # `FromEntry` or `Share`: how far behind the best price; `Level`: the row that it follows.
    form: FromEntry | Share | Level
    # It begins once the best price is so many times the risk from the entry.
    after: Setting = real(least=0, default=Number(0.0))

    def __post_init__(self) -> None:
        check_side("trail", self.form, TRAILS)
        check_settings(self)


@declare("by_side")
class BySide(Node):
    """One form for longs, another one for shorts."""

    long: Node | None
    short: Node | None


@declare("in_trade")
class PositionBounds(Node):
    """Bounds of a position between which its exit condition counts; None: no bound."""

    # Bars in the trade, its entry's being the first.
    bars_from: Setting | None = whole(default=None)
    bars_to: Setting | None = whole(default=None)
    # Open profit at the close, in units of risk, without costs.
    profit_from: Setting | None = real(least=ANY, default=None)
    profit_to: Setting | None = real(least=ANY, default=None)

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.settings:
            raise StrategyError(
                "in_trade needs a bound: bars_from, bars_to, profit_from, profit_to"
            )


@declare("session_exit")
class SessionExit(Node):
    """Out at a minute of the local day, and whenever another session has begun."""

    # 1 to 1,440; the bar that reaches it is the last.
    minute: Setting = whole(most=DAY_MINUTES, default=Number(1440.0))
    offset: Offset = 0  # minutes added to UTC, or a zone's name
    # Minute of the local day at which a session begins; it may end the day after.
    begins: int = later(default=0)

    def __post_init__(self) -> None:
        check_settings(self)
        check_offset(self.offset)
        if not is_whole(self.begins, 0, DAY_MINUTES - 1):
            raise StrategyError(
                f"session_exit begins at a whole minute from 0 to {DAY_MINUTES - 1:,}, such as "
                f"begins=1080 for 18:00, got {quote_value(self.begins)}"
            )

    def local_time(self, timestamp: Ints) -> Ints:
        """Nanoseconds [T] of the session's clock, by whose days sessions are counted."""
        return local_time(timestamp, self.offset) - self.begins * MINUTE_NS

    def last_minute(self, minute: float) -> int:
        """Minute of a session, from 1 on, at which it ends by a minute of the local day."""
        return (int(minute) - self.begins - 1) % DAY_MINUTES + 1


@declare("stop_at")
class StopAt(PriceForm):
    """An order that buys once prices rise to a level, or sells short once they fall to it.

    `price` is read at the signal bar, `expires` counts the bars in which the order stands.
    """

    price: Expression  # level, read at the signal bar
    expires: Setting | None = whole(default=None)  # bars in which it stands; None: without end


@declare("limit_at")
class LimitAt(PriceForm):
    """An order that buys once prices fall to a level, or sells short once they rise to it.

    With `through` prices must pass the level by so many ticks before it counts as touched.
    """

    price: Expression  # level, read at the signal bar
    expires: Setting | None = whole(default=None)  # bars in which it stands; None: without end
    through: Setting = whole(least=0, default=Number(0.0))


@declare("leg")
class Leg(Node):
    """One target of several, and the share of the position that leaves there."""

    target: Node  # `RMultiple`, `FromEntry`, `Share` or `Level`
    share: Setting = real(most=1.0)  # above 0, of the position at its entry

    def __post_init__(self) -> None:
        check_side("a target", self.target, TARGETS)
        check_settings(self)


@declare("targets")
class Ladder(Node):
    """Several targets, each of a share of the position; the rest goes on."""

    legs: tuple[Leg, ...]  # 1 to `MOST_LEGS`, in the order in which their results are added

    def __post_init__(self) -> None:
        if not 1 <= len(self.legs) <= MOST_LEGS:
            raise StrategyError(f"targets are 1 to {MOST_LEGS}, got {len(self.legs)}")
        most = sum(_largest(leg.share) for leg in self.legs)
        if most > 1.0 + SUM_SLACK:
            raise StrategyError(
                f"the shares of targets may sum to {most:g}, and the position is 1; "
                "genes count by their upper bounds"
            )


@declare("after_leg")
class AfterLeg(Node):
    """For `break_even`: the stop moves to the entry once the target of this number was reached."""

    leg: int  # the first is 1

    def __post_init__(self) -> None:
        if not is_whole(self.leg, 1, MOST_LEGS):
            raise StrategyError(
                f"after_leg takes the number of a target from 1, got {quote_value(self.leg)}"
            )


class StepSize(NamedTuple):
    """A decimal as a fraction: prices and sizes are whole multiples of it."""

    numerator: float
    denominator: float


@declare("market")
class MarketFacts(Node):
    """Fixed terms of a symbol: tick and lot as decimals in quotes, and the worth of a point."""

    tick: str | None = None  # a decimal, as in "0.025"; None: prices are as they come
    # Money that one unit gains when the price rises by 1.
    multiplier: Setting = real(default=Number(1.0))
    lot: str | None = None  # a decimal: sizes are whole multiples of it; None: any size

    def __post_init__(self) -> None:
        check_settings(self)
        _check_constant("market", "multiplier", self.multiplier)
        for name in ("tick", "lot"):
            value = getattr(self, name)
            if value is not None:
                parse_step(name, value)


@declare("ticks")
class Ticks(PriceForm):
    """Slippage of so many ticks."""

    count: Setting = real(least=0)


@declare("bp")
class BasisPoints(PriceForm):
    """Slippage of so many basis points of the price."""

    points: Setting = real(least=0)


@declare("price")
class PriceOf(PriceForm):
    """Slippage by a row in price, read at the bar before the fill."""

    row: Expression  # its newest known value


@declare("payments")
class PaymentsOf(Node):
    """Payments of a column file, each charged at its own time."""

    name: str  # of the column

    def __post_init__(self) -> None:
        check_column_name("payments", self.name)


@dataclass(frozen=True)
class Payment(PriceForm):
    """A row times the open, every so many minutes of UTC."""

    rate: Expression | PaymentsOf  # fraction of the price
    every: int | None = None  # minutes; None: at each bar

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every is not None and not is_whole(self.every, 1, WEEK_MINUTES):
            raise StrategyError(
                f"{self.written} is due every 1 to {WEEK_MINUTES:,} whole minutes, "
                f"got {quote_value(self.every)}"
            )

    @property
    def repeats(self) -> bool:
        """True if a bar is charged for each time since the one before, not once."""
        return False


@declare("funding")
class Funding(Payment):
    """Funding that longs pay shorts: a fraction of the open, every so many minutes or as dated."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every is not None and isinstance(self.rate, PaymentsOf):
            raise StrategyError("payments have times of their own: leave every= out of funding")

    @property
    def repeats(self) -> bool:
        """True if its rate is the same at all bars."""
        return not holds_row(self.rate)


@declare("borrow")
class Borrow(Payment):
    """Fee of a held position: a fraction of the open, every so many minutes."""

    rate: Expression

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.rate
        least = rate.gene.low if isinstance(rate, GeneValue) else getattr(rate, "value", 0.0)
        if least < 0.0:
            raise StrategyError(
                f"borrow needs a rate of at least 0, got {least:g}: a position pays to be held; "
                "what longs pay shorts, or receive, is funding(...)"
            )


@declare("risk")
class RiskOf(PriceForm):
    """A size that loses this fraction of the cash at the stop."""

    fraction: Setting = real(most=1.0)


@declare("notional")
class Notional(PriceForm):
    """A size that is worth so much money."""

    money: Setting = real()


@declare("equity_share")
class EquityShare(PriceForm):
    """A size that is worth this fraction of the cash."""

    fraction: Setting = real()


@declare("units")
class Units(PriceForm):
    """A size of so many units."""

    count: Setting = real()


@declare("volatility")
class Volatility(PriceForm):
    """A size at which a move as large as the row is this fraction of the cash."""

    fraction: Setting = real()
    row: Expression  # read at the signal bar; none is taken unless it is above 0


@declare("account")
class AccountOf(Node):
    """Money that trades are sized from."""

    cash: Setting = real()  # at the beginning
    stake: Node  # one of `SIZES`
    # Worth of a position over the cash, at most; None: any.
    leverage: Setting | None = real(default=None)

    def __post_init__(self) -> None:
        check_side("account", self.stake, SIZES)
        check_settings(self)
        _check_constant("account", "cash", self.cash)


PRICES = (BeyondBar, FromEntry, Share, Level, RMultiple)
STOPS = (BeyondBar, FromEntry, Share, Level)
TARGETS = (RMultiple, FromEntry, Share, Level)
TRAILS = (FromEntry, Share, Level)
OFFSETS = (RMultiple, Share)
ENTRIES = (StopAt, LimitAt)
SIZES = (RiskOf, Notional, EquityShare, Units, Volatility)

MARGINAL = (EquityShare, Volatility)
"""Sizes whose signal tells where a trade has cost the whole account, before its stop."""

SLIPPAGES = (Ticks, BasisPoints, PriceOf)

FROM_ROW: Mapping[str, str] = {
    "from_entry": "a row is a price: write level({0}); one that is a distance is from_entry({0})",
    "stop_at": "a row is a price: write stop_at({0}) or limit_at({0})",
    "trail": "a row is a price: write trail(level({0})); a distance is trail(from_entry({0}))",
    "price": "a row of prices is price({0})",
    "funding": "a row of rates is funding({0}, every=480)",
    "borrow": "a row of rates is borrow({0})",
}
"""Words for a row, by a word that is legal in its place."""

FROM_NUMBER: Mapping[str, str] = {
    "r_multiple": "write r_multiple(2) for twice the risk, share(0.02) for 2 % of the price",
    "share": "write share(0.02) for 2 % of the price, level(...) for a price",
    "trail": "write trail(share(0.02)) for 2 % of the price",
    "stop_at": "write stop_at({0}) or limit_at({0}) for a price",
    "ticks": "write ticks({0}) or bp({0})",
    "risk": "write risk(0.01) for 1 % of the cash, units({0}) for so many",
    "session_exit": "write session_exit({0}), a minute of the day",
    "market": 'write market(tick="0.01")',
    "funding": "write funding({0}, every=480)",
    "borrow": "write borrow({0})",
}
"""Words for a number, by a word that is legal in its place."""

TRAILED = ("from_entry", "share", "level")
"""Forms of which `trail` makes a stop that follows."""


def check_side(name: str, form: object, legal: tuple[type[Node], ...], *more: str) -> None:
    """Refuse all but the legal forms; `more` are others that a person may write."""
    if not isinstance(form, legal):
        words = [*(kind.written for kind in legal), *more]
        forms = " or ".join(", ".join(f"{word}(...)" for word in words).rsplit(", ", 1))
        got = quote_value(form)
        hint = _suggest_form(got, _find_kind(form), words)
        raise StrategyError(f"{name} takes {forms}, got {got}{hint}")


def _suggest_form(text: str, kind: str, legal: Collection[str]) -> str:
    """End of a message about a value that is none of the legal forms; empty without an idea.

    Args:
        text: The value as a person wrote it.
        kind: ``row``, ``number``, or the word of a form.
        legal: Words of what is legal there.

    >>> _suggest_form("1", "number", ["ticks", "bp"])
    '; write ticks(1) or bp(1)'
    """
    if kind in TRAILED and "trail" in legal:
        return f"; write trail({text})"
    hints = FROM_ROW if kind == "row" else FROM_NUMBER if kind == "number" else {}
    known = next((hint for word, hint in hints.items() if word in legal), None)
    return "" if known is None else f"; {known.format(text)}"


def _find_kind(form: object) -> str:
    """A row, a number, or the word of a form."""
    if isinstance(form, Node):
        return form.label
    if isinstance(getattr(form, "tree", None), Expression):
        return "row"
    return "number" if isinstance(form, int | float) and not isinstance(form, bool) else ""


def split_sides(form: object) -> tuple[object, object]:
    """The form for longs, and that for shorts."""
    return (form.long, form.short) if isinstance(form, BySide) else (form, form)


def follows_level(trail: object) -> bool:
    """True if the stop of a side follows a row."""
    sides = split_sides(trail)
    return any(isinstance(side, Trail) and isinstance(side.form, Level) for side in sides)


def positive_genes(strategy: Node) -> set[str]:
    """Genes that must be above 0: multiples and fractions, and factors of a distance."""
    names = set()
    for node in walk(strategy):
        for parameter, setting in node.settings:
            if parameter.least == ABOVE_ZERO and isinstance(setting, GeneValue):
                names.add(setting.gene.name)
        distance = getattr(node, "distance", None)
        if isinstance(distance, Arithmetic) and distance.operation == "*":
            sides = distance.left, distance.right
            names |= {side.gene.name for side in sides if _is_above_zero(side)}  # type: ignore[union-attr]
    return names


def _is_above_zero(side: Node | None) -> bool:
    return isinstance(side, GeneValue) and side.gene.low > 0


def count_legs(targets: Node | None) -> int:
    """Targets of the longer of two ladders; 0 without one."""
    sides = split_sides(targets)
    return max(len(side.legs) if isinstance(side, Ladder) else 0 for side in sides)


def find_rest(shares: Iterable[Any]) -> Any:  # noqa: ANN401 - numbers, or arrays of any library
    """Share that no target takes, given those of all targets in their order.

    >>> find_rest([0.5, 0.25]), find_rest([0.5, 0.5])
    (0.25, 0.0)
    """
    rest: Any = 1.0
    for share in shares:
        rest = rest - share
    return rest * (rest > SUM_SLACK) + 0.0


def _largest(share: Setting) -> float:
    return share.gene.high if isinstance(share, GeneValue) else share.value


def parse_step(name: str, text: object) -> StepSize:
    """A decimal as numerator and denominator.

    Raises:
        StrategyError: When it is no decimal above 0 that float64 can count in.

    >>> parse_step("tick", "0.025")
    StepSize(numerator=1.0, denominator=40.0)
    """
    try:
        value = Decimal(str(text)) if isinstance(text, str | int) else Decimal("NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if value.is_finite() and value > 0:
        numerator, denominator = value.as_integer_ratio()
        if max(numerator, denominator) <= LARGEST_PART:
            return StepSize(float(numerator), float(denominator))
    raise StrategyError(
        f"{name} is a decimal above 0 in quotes, such as '0.025', got {quote_value(text)}"
    )


def find_step(market: MarketFacts | None, name: str) -> StepSize:
    """The tick or the lot of a symbol; 0 without one."""
    text = None if market is None else getattr(market, name)
    return StepSize(0.0, 1.0) if text is None else parse_step(name, text)


def _check_constant(where: str, name: str, setting: Setting) -> None:
    if not isinstance(setting, Number):
        raise StrategyError(f"{where} takes {name} as a number, not a gene")
