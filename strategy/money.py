"""Charges of a market and stakes of an account, as plain data."""

from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from data.plain import quote_value
from strategy.errors import StrategyError
from strategy.exits import PriceForm, check_side
from strategy.expressions import (
    Expression,
    GeneValue,
    Number,
    Setting,
    check_column_name,
    check_settings,
    holds_row,
)
from strategy.nodes import Node, declare, real

LARGEST_PART = 2**53
"""Numerator and denominator of a step are exact in float64 up to this."""

LONGEST_EVERY = 10_080
"""Minutes between two payments, at most: a week."""


class StepSize(NamedTuple):
    """A decimal as a fraction: prices and sizes are whole multiples of it."""

    numerator: float
    denominator: float


class Charge(PriceForm):
    """Something that is paid, once it is known how much."""


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
class Ticks(Charge):
    """Slippage of so many ticks."""

    count: Setting = real(least=0)


@declare("bp")
class BasisPoints(Charge):
    """Slippage of so many basis points of the price."""

    points: Setting = real(least=0)


@declare("price")
class PriceOf(Charge):
    """Slippage by a row in price, read at the bar before the fill."""

    row: Expression  # its newest known value


@declare("payments")
class PaymentsOf(Node):
    """Payments of a column file, each charged at its own time."""

    name: str  # of the column

    def __post_init__(self) -> None:
        check_column_name("payments", self.name)


class Payment(Charge):
    """A row times the open, every so many minutes of UTC."""

    rate: Expression | PaymentsOf  # fraction of the price
    every: int | None  # minutes; None: at each bar

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_every(self.written, self.every)

    @property
    def repeats(self) -> bool:
        """Whether a bar is charged for each time that has come since the one before, not once."""
        return False


@declare("funding")
class Funding(Payment):
    """Funding that longs pay shorts: a fraction of the open, every so many minutes or as dated."""

    rate: Expression | PaymentsOf
    every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every is not None and isinstance(self.rate, PaymentsOf):
            raise StrategyError("payments have times of their own: leave every= out of funding")

    @property
    def repeats(self) -> bool:
        """Whether its rate is the same at all bars."""
        return not holds_row(self.rate)


@declare("borrow")
class Borrow(Payment):
    """Fee of a held position: a fraction of the open, every so many minutes."""

    rate: Expression
    every: int | None = None

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
class RiskOf(Charge):
    """A size that loses this fraction of the cash at the stop."""

    fraction: Setting = real(most=1.0)


@declare("notional")
class Notional(Charge):
    """A size that is worth so much money."""

    money: Setting = real()


@declare("equity_share")
class EquityShare(Charge):
    """A size that is worth this fraction of the cash."""

    fraction: Setting = real()


@declare("units")
class Units(Charge):
    """A size of so many units."""

    count: Setting = real()


@declare("volatility")
class Volatility(Charge):
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


SIZES = (RiskOf, Notional, EquityShare, Units, Volatility)

MARGINAL = (EquityShare, Volatility)
"""Sizes whose signal tells where a trade has cost the whole account, before its stop."""

SLIPPAGES = (Ticks, BasisPoints, PriceOf)


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
    """The tick or the lot of a symbol; 0 where it has none."""
    text = None if market is None else getattr(market, name)
    return StepSize(0.0, 1.0) if text is None else parse_step(name, text)


def _check_constant(where: str, name: str, setting: Setting) -> None:
    if not isinstance(setting, Number):
        raise StrategyError(f"{where} takes {name} as a number, not a gene")


def _check_every(name: str, every: object) -> None:
    if every is None:
        return
    is_whole = isinstance(every, int) and not isinstance(every, bool)
    if not is_whole or not 1 <= int(every) <= LONGEST_EVERY:  # type: ignore[call-overload]
        raise StrategyError(
            f"{name} is due every 1 to {LONGEST_EVERY:,} whole minutes, got {quote_value(every)}"
        )
