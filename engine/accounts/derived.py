"""Parts of several metrics: reasons why one is undefined, spans, means, powers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine.accounts.ledger import ACCUMULATOR_INDEX

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Need = tuple[Flags, int]
"""Where something holds [P, W], and the reason to give where it does not."""

UNDEFINED = (
    "",
    "no_trades",
    "one_trade",
    "no_variation",
    "no_losses",
    "no_drawdown",
    "ruined",
    "overflow",
    "few_days",
)
"""Why a metric is undefined; place 0 stands for a defined one."""

NO_TRADES, ONE_TRADE, NO_VARIATION, NO_LOSSES, NO_DRAWDOWN, RUINED, OVERFLOW, FEW_DAYS = range(
    1, len(UNDEFINED)
)

FEWEST_DAYS = 20
"""Below so many days with bars nothing is told of a year, and no ratio of days is formed."""

LEAST_VARIATION = 1e-10
"""A sum of squares that is no larger than this share of `sum_r2` may be nothing but rounding."""

NS_PER_YEAR = 365.25 * 24 * 3600 * 1e9

FRACTION_BITS = 53
"""Of a float64 below 1, as far as a power asks for them."""


@dataclass(frozen=True)
class Span:
    """How long a window is."""

    bars: int  # bars in it
    years: float  # time from its first bar's open to its last bar's close, in years of 365.25 days
    first_ns: int = 0  # when its first bar opens, nanoseconds UTC
    last_ns: int = 0  # when its last bar closes
    # The first `FEWEST_DAYS` UTC dates with a bar at most, ascending; None where there are enough.
    dates: tuple[int, ...] | None = None


def power(base: Floats, exponent: float) -> Floats:
    """Powers of bases [P] with the same bits on every machine, as no library's `pow` has.

    Args:
        base: [P], at least 0.
        exponent: Above 0. Its whole part is multiplied out, its fraction taken bit by bit: the
            n-th bit behind the point is the n-th square root.
    """
    whole = int(exponent)
    result = np.ones_like(base)
    for _ in range(whole):
        product = result * base
        if np.array_equal(product, result, equal_nan=True):
            break
        result = product
    root, fraction = base, exponent - whole
    for _ in range(FRACTION_BITS):
        root, fraction = np.sqrt(root), fraction + fraction
        if fraction >= 1.0:
            result, fraction = result * root, fraction - 1.0
    return result


class Derived:
    """Accumulators by name, and what several metrics are made of, formed when first asked for.

    Args:
        accumulators: [P, W, A].
        spans: [W].
    """

    def __init__(self, accumulators: Floats, spans: Sequence[Span]) -> None:
        self._accumulators = accumulators
        self._totals: dict[str, Floats] = {}
        self.bars = np.array([span.bars for span in spans], np.float64)
        self.years = np.array([span.years for span in spans], np.float64)
        dates = (span.dates for span in spans)
        self._has_days = np.array([some is None or len(some) >= FEWEST_DAYS for some in dates])

    def total(self, name: str) -> Floats:
        """An accumulator [P, W]."""
        if name not in self._totals:
            # Formulas read it more than once, and want its numbers side by side.
            column = self._accumulators[:, :, ACCUMULATOR_INDEX[name]]
            self._totals[name] = np.ascontiguousarray(column)
        return self._totals[name]

    @cached_property
    def n(self) -> Floats:
        """Trades, at least one, to divide by."""
        return np.maximum(self.total("trades"), 1.0)

    @cached_property
    def mean(self) -> Floats:
        """Mean R."""
        return self.total("sum_r") / self.n

    @cached_property
    def variance(self) -> Floats:
        """Sample variance of R."""
        square = self.total("sum_r") * self.total("sum_r") / self.n
        return (self.total("sum_r2") - square) / np.maximum(self.n - 1.0, 1.0)

    @cached_property
    def std(self) -> Floats:
        """Its root, 1 where it has none."""
        return np.sqrt(np.where(self.varied[0], self.variance, 1.0))

    @cached_property
    def sharpe_trade(self) -> Floats:
        """Mean R over its standard deviation."""
        return self.mean / self.std

    @cached_property
    def growth(self) -> Floats:
        """Equity after a year of the same growth, from 1."""
        columns = [
            power(equity, 1.0 / years)
            for equity, years in zip(self.total("equity").T, self.years.tolist(), strict=True)
        ]
        return np.stack(columns, axis=1)

    @cached_property
    def per_year(self) -> Floats:
        """Trades a year."""
        return self.total("trades") / self.years

    @cached_property
    def traded(self) -> Need:
        """There is a trade."""
        return self.total("trades") > 0, NO_TRADES

    @cached_property
    def repeated(self) -> Need:
        """There are two trades."""
        return self.total("trades") > 1, ONE_TRADE

    @cached_property
    def varied(self) -> Need:
        """Their R differ by more than rounding."""
        least = LEAST_VARIATION * (self.total("sum_r2") / self.n)
        return self.repeated[0] & (self.variance > least), NO_VARIATION

    @cached_property
    def moved(self) -> Need:
        """A trade gained or lost."""
        return self.total("sum_r2") > 0, NO_VARIATION

    @cached_property
    def lasting(self) -> Need:
        """There are days enough to tell of a year."""
        return np.broadcast_to(self._has_days, self.total("trades").shape), FEW_DAYS

    @cached_property
    def losing(self) -> Need:
        """There is a loss."""
        return self.total("loss_r") > 0, NO_LOSSES

    @cached_property
    def hurt(self) -> Need:
        """There is a loss that is more than rounding."""
        return self.total("loss_r2") > LEAST_VARIATION * self.total("sum_r2"), NO_LOSSES

    @cached_property
    def falling(self) -> Need:
        """Equity fell once."""
        return self.total("max_drawdown") > 0, NO_DRAWDOWN

    @cached_property
    def changed(self) -> Need:
        """Equity fell or rose."""
        return self.falling[0] | (self.total("equity") != 1.0), NO_VARIATION

    @cached_property
    def ruined(self) -> Flags:
        """Equity was lost."""
        return ~(self.total("equity") > 0)

    @cached_property
    def standing(self) -> Need:
        """It was not."""
        return ~self.ruined, RUINED

    @cached_property
    def measured(self) -> Need:
        """The peak that equity fell from is a number."""
        return self.ruined | np.isfinite(self.total("peak_equity")), OVERFLOW

    @property
    def spread(self) -> tuple[Need, ...]:
        """Needs of anything over the standard deviation."""
        return self.varied, self.repeated, self.traded
