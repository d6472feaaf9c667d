"""From accumulators to metrics: one function for every engine, on the host.

A metric that is undefined is NaN and carries the reason; it never reaches a search as a number.
Only + - * / and square roots are used, so that every processor gives the same bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from data.checks import Flags, Floats
from data.timeframe import UNITS_NS
from engine.accounts.ledger import ACCUMULATOR_INDEX

Need = tuple[Flags, int]
"""Truths [P, W], and the reason to give if false."""

Formula = tuple[Floats, Sequence[Need]]
"""Values [P, W], and the needs for their definition."""

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
"""Below so many days with bars no figure of a year is given, and no ratio of days is formed."""

LEAST_VARIATION = 1e-10
"""A sum of squares that is no larger than this share of `sum_r2` may be nothing but rounding."""

NS_PER_DAY = UNITS_NS["d"]

NS_PER_YEAR = 365.25 * 24 * 3600 * 1e9

FRACTION_BITS = 53
"""Bits of a float64 below 1, as far as a power needs them."""


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
        if not fraction:
            break
        root, fraction = np.sqrt(root), fraction + fraction
        if fraction >= 1.0:
            result, fraction = result * root, fraction - 1.0
    return result


class Derived:
    """Accumulators [P, W, A] by name, and parts of several metrics, formed at first use."""

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
        """Its root, 1 without one."""
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


SIDES = ("long", "short")

METRICS = (
    "trades",
    "win_rate",
    "mean_r",
    "expectancy",
    "std_r",
    "sum_r",
    "strength",
    "profit_factor",
    "sharpe_trade",
    "sharpe",
    "sortino",
    "total_return",
    "cagr",
    "max_drawdown",
    "max_drawdown_r",
    "calmar",
    "calmar_simple",
    "exposure",
    "mean_hold_bars",
    "trades_per_year",
)
"""Names of the last axis of metrics [P, W, M], in order."""


@dataclass(frozen=True, eq=False)
class MetricTable:
    """Metrics of a population."""

    values: Floats  # [P, W, M], named by `names`; NaN where undefined
    reasons: npt.NDArray[np.int8]  # [P, W, M] int8, place in `UNDEFINED`
    ruined: Flags  # [P, W], whether equity was lost
    names: tuple[str, ...] = METRICS  # [M]; asking for another metric is a `ValueError`
    # The metrics of all windows as one account, [P, 1, M]; None without a request,
    # or with one window.
    whole: "MetricTable | None" = None

    @property
    def pooled(self) -> "MetricTable":
        """The metrics of all windows as one account, [P, 1, M]."""
        if self.whole is None and self.values.shape[1] != 1:
            raise ValueError("windows were not pooled")
        return self.whole or self

    def column(self, name: str) -> Floats:
        """One metric [P, W]."""
        return self.values[:, :, self.names.index(name)]

    def why(self, name: str) -> npt.NDArray[np.int8]:
        """Why one metric is undefined, [P, W], place in `UNDEFINED`."""
        return self.reasons[:, :, self.names.index(name)]

    def name_metrics(self, individual: int, window: int = 0) -> dict[str, float]:
        """All metrics of one individual in one window by name; NaN where undefined."""
        return dict(zip(self.names, self.values[individual, window].tolist(), strict=True))


def measure_span(bars: Bars, window: Window) -> Span:
    """The span of a window on the series that it refers to."""
    first, last = int(bars.timestamp[window.start]), int(bars.over_ns[window.end - 1])
    times = bars.timestamp[window.start : window.end]
    years = (last - first) / NS_PER_YEAR
    return Span(len(times), years, first, last, list_first_dates(times))


def list_first_dates(times: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """The first `FEWEST_DAYS` UTC dates at most of ascending times [T], days since 1970."""
    dates: list[int] = []
    place = 0
    while place < len(times) and len(dates) < FEWEST_DAYS:
        dates.append(int(times[place]) // NS_PER_DAY)
        place = int(np.searchsorted(times, (dates[-1] + 1) * NS_PER_DAY))
    return tuple(dates)


def compute_metrics(
    accumulators: Floats,
    spans: Sequence[Span],
    names: Sequence[str] = METRICS,
    account: Floats | None = None,
) -> MetricTable:
    """Derive metrics from accumulators.

    Args:
        accumulators: [P, W, A], named by `ACCUMULATORS`.
        spans: [W] span of each window.
        names: [M] of `METRICS`, those that are wanted; the others cost nothing.
        account: [P, A] of all windows as one account, where its metrics are wanted.

    Returns:
        The metrics, of each window and of the account, with reasons of those that are undefined:

        - win_rate, mean_r, mean_hold_bars: per trade. expectancy: another name of mean_r.
        - std_r: sample standard deviation of r; needs two trades, and variation: a variance above
          `LEAST_VARIATION` of the mean square. Below, sums have cancelled and rounding is left.
        - sharpe_trade: mean_r / std_r; sharpe: times the root of trades_per_year.
        - sortino: mean_r over the root of the mean of squared losses, each trade counted, a gain
          as 0; needs the variation of std_r. Squared losses do not cancel, yet a loss may be an
          error of a price: those up to `LEAST_VARIATION` of all squares count as none.
        - strength: sum_r / sqrt(sum_r2), at most the root of the trades; undefined where all r
          are 0.
        - profit_factor: gains over losses, in R; undefined without a loss.
        - total_return: final equity minus 1, a fraction; -1 once ruined.
        - max_drawdown: deepest fall of equity as a fraction of its peak; 1 once ruined.
        - cagr: what equity gained a year, compounded; -1 once ruined.
        - calmar: cagr over max_drawdown; undefined once ruined. calmar_simple: total_return per
          year over it, not compounded, which was calmar before. They, cagr and trades_per_year
          are undefined below `FEWEST_DAYS` days with bars: a week says nothing of a year.
        - exposure: fraction of the window's bars with an open position.

        What is too large for a float64, as equity may become, is undefined: ``overflow``.

    Source: sharpe after William F. Sharpe (1994), on trades in place of periods; sortino
    after Frank A. Sortino and Lee N. Price (1994), likewise, with a target of 0; calmar after
    Terry W. Young (1991), over the whole span; strength after
    de la Pena, Lai and Shao, Self-Normalized Processes (2009); R after Van K. Tharp, Trade Your Way
    to Financial Freedom (1998); the rest house rules.
    """
    derived = Derived(accumulators, spans)
    shape = (len(names), *accumulators.shape[:2])
    values, reasons = np.empty(shape), np.zeros(shape, np.int8)
    # What overflows, or is infinity less infinity, is found by what comes of it.
    with np.errstate(over="ignore", invalid="ignore"):
        formulas = [FORMULAS[name](derived) for name in names]
    for (numbers, needs), column, why in zip(formulas, values, reasons, strict=True):
        column[...] = numbers
        # Of the needs that are not met the last one names the reason.
        for is_met, reason in ((np.isfinite(column), OVERFLOW), *needs):
            if not is_met.all():
                np.copyto(column, np.nan, where=~is_met)
                np.copyto(why, reason, where=~is_met)
    in_order = values.transpose(1, 2, 0), reasons.transpose(1, 2, 0)
    whole = None
    if account is not None and len(spans) > 1:
        whole = compute_metrics(account[:, None], [pool_spans(spans)], names)
    return MetricTable(*in_order, derived.ruined, tuple(names), whole)


def pool_spans(spans: Sequence[Span]) -> Span:
    """The span of windows that are one account: all bars, and the union of their times."""
    total, reached = 0, -(2**63)
    for span in sorted(spans, key=lambda one: one.first_ns):
        total += max(span.last_ns - max(span.first_ns, reached), 0)
        reached = max(reached, span.last_ns)
    first = min(span.first_ns for span in spans)
    bars, dates = sum(span.bars for span in spans), [span.dates for span in spans]
    union = None if None in dates else sorted({day for some in dates for day in some or ()})
    first_dates = None if union is None else tuple(union[:FEWEST_DAYS])
    return Span(bars, total / NS_PER_YEAR, first, reached, first_dates)


def _sortino(derived: Derived) -> Formula:
    squares = np.where(derived.hurt[0], derived.total("loss_r2"), 1.0)
    needs = (derived.varied, derived.repeated, derived.hurt, derived.moved, derived.traded)
    return derived.mean / np.sqrt(squares / derived.n), needs


def _strength(derived: Derived) -> Formula:
    root = np.sqrt(np.where(derived.moved[0], derived.total("sum_r2"), 1.0))
    return derived.total("sum_r") / root, (derived.moved, derived.traded)


def _profit_factor(derived: Derived) -> Formula:
    losses = np.where(derived.losing[0], derived.total("loss_r"), 1.0)
    return derived.total("gain_r") / losses, (derived.losing, derived.moved, derived.traded)


def _over_fall(derived: Derived, gain: Floats) -> Formula:
    fall = np.where(derived.falling[0], derived.total("max_drawdown"), 1.0)
    needs = (
        derived.falling,
        derived.changed,
        derived.measured,
        derived.lasting,
        derived.standing,
        derived.traded,
    )
    return gain / fall, needs


def _of(accumulator: str) -> Callable[[Derived], Formula]:
    return lambda derived: (derived.total(accumulator), ())


OF_SIDES: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "trades": lambda trades, wins, sum_r: trades,
    "sum_r": lambda trades, wins, sum_r: sum_r,
    "win_rate": lambda trades, wins, sum_r: wins / np.maximum(trades, 1.0),
    "mean_r": lambda trades, wins, sum_r: sum_r / np.maximum(trades, 1.0),
}
"""Metrics of longs or of shorts alone, from their trades, gaining trades and sum of R."""

COUNTED_OF_SIDES = ("trades", "sum_r")


def _of_side(name: str, side: str) -> Callable[[Derived], Formula]:
    """A metric of longs or of shorts alone; a mean needs a trade of that side."""

    def measure(derived: Derived) -> Formula:
        names = ("trades", "wins", "sum_r"), ("shorts", "wins_short", "sum_r_short")
        of_both, of_shorts = ([derived.total(one) for one in few] for few in names)
        longs = [both - short for both, short in zip(of_both, of_shorts, strict=True)]
        sums = longs if side == "long" else of_shorts
        needs = () if name in COUNTED_OF_SIDES else ((sums[0] > 0, NO_TRADES),)
        return OF_SIDES[name](*sums), needs

    return measure


FORMULAS: dict[str, Callable[[Derived], Formula]] = {
    "trades": _of("trades"),
    "win_rate": lambda d: (d.total("wins") / d.n, (d.traded,)),
    "mean_r": lambda d: (d.mean, (d.traded,)),
    "expectancy": lambda d: (d.mean, (d.traded,)),
    "std_r": lambda d: (d.std, d.spread),
    "sum_r": _of("sum_r"),
    "strength": _strength,
    "profit_factor": _profit_factor,
    "sharpe_trade": lambda d: (d.sharpe_trade, d.spread),
    "sharpe": lambda d: (d.sharpe_trade * np.sqrt(d.per_year), d.spread),
    "sortino": _sortino,
    "total_return": lambda d: (d.total("equity") - 1.0, ()),
    "cagr": lambda d: (d.growth - 1.0, (d.lasting,)),
    "max_drawdown": lambda d: (np.where(d.ruined, 1.0, d.total("max_drawdown")), (d.measured,)),
    "max_drawdown_r": _of("max_drawdown_r"),
    "calmar": lambda d: _over_fall(d, d.growth - 1.0),
    "calmar_simple": lambda d: _over_fall(d, (d.total("equity") - 1.0) / d.years),
    "exposure": lambda d: (d.total("bars_in_market") / d.bars, ()),
    "mean_hold_bars": lambda d: (d.total("bars_in_market") / d.n, (d.traded,)),
    "trades_per_year": lambda d: (d.per_year, (d.lasting,)),
    "gain_r": _of("gain_r"),
    "loss_r": _of("loss_r"),
    "rejected": _of("rejected"),
    **{f"{name}_{side}": _of_side(name, side) for name in OF_SIDES for side in SIDES},
}
"""Each metric's values [P, W], and the needs for its definition; behind `METRICS` more that only
a formula of a goal reads."""
