"""How numbers and grades are written for people: the same everywhere."""

import math
from collections.abc import Container, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from data.bars import Role

HELD_OUT = "held_out_"
"""Stands before the name of what was measured on bars that were held out."""

SAMPLES: Mapping[Role, str] = {
    "search": "in",
    "held_out": "held out",
    "train": "train",
    "test": "test",
}
"""Labels of windows in results, by role."""

MEANINGS = {
    "best_r": "the best trade, in R",
    "buy_and_hold": "gain of buying at the first close and holding, no stop, no strategy",
    "cagr": "gain of equity a year, compounded",
    "calmar": "cagr over the deepest drawdown",
    "calmar_simple": "return a year over the deepest drawdown, not compounded",
    "expectancy": "the same as mean_r",
    "expected_r": "expected mean_r on other bars of the same kind, after selection",
    "exposure": "share of bars with an open position",
    "fewest_a_month": "fewest trades of a calendar month with bars",
    "gain_r": "sum of gains, in R",
    "hold_at_equal_volatility": "gain of holding with the part of the account at which its days "
    "vary as much as the account's",
    "loss_r": "sum of losses, in R, as a number above 0",
    "losing_streak": "most trades in a row that did not gain",
    "max_drawdown": "deepest fall of equity between closed trades, as a share of its peak",
    "max_drawdown_marked": "the same at closes of bars, as if all were closed there",
    "max_drawdown_r": "deepest fall of the sum of R, in R",
    "max_leverage": "largest worth of open positions over the account, at an entry",
    "mean_hold_bars": "mean duration of a trade, in bars",
    "mean_r": "mean result of a trade, in R, after costs",
    "mean_r_long": "mean result of a long, in R, after costs",
    "mean_r_short": "mean result of a short, in R, after costs",
    "mean_trade": "mean result of a trade as a share of its worth, after costs",
    "median_r": "the middle trade, in R",
    "median_leverage": "worth of the middle position over the account, at its entry",
    "profit_factor": "sum of gains over sum of losses",
    "rejected": "signals that were not traded because the stop was too near or on the wrong side",
    "sharpe": "sharpe_trade times the root of the trades a year",
    "sharpe_daily": "mean over standard deviation of the account's days, a year",
    "sharpe_trade": "mean R over its standard deviation, per trade",
    "skipped": "signals without room in an account with limits",
    "sortino": "mean R over the root mean square of losses, per trade",
    "sortino_daily": "mean over the root mean square of losing days, a year",
    "std_r": "standard deviation of R",
    "strength": "sum_r over the root of the sum of squared R: standard errors above 0",
    "sum_r": "all results together, in R",
    "sum_r_long": "results of longs together, in R",
    "sum_r_short": "results of shorts together, in R",
    "tail_r": "one trade in twenty is worse, in R",
    "total_return": "gain of equity, each R worth --risk-fraction of it",
    "trades": "number of trades",
    "trades_long": "number of longs",
    "trades_per_year": "number of trades in 365.25 days",
    "trades_short": "number of shorts",
    "ulcer": "root mean square of the account's falls, at ends of days",
    "under_water_days": "longest time below the highest end of a day, in calendar days",
    "unsized": "trades that were too small for the account: nothing was bought",
    "win_rate": "share of trades that gain after costs",
    "win_rate_long": "share of longs that gain after costs",
    "win_rate_short": "share of shorts that gain after costs",
    "worst_r": "the worst trade, in R",
}
"""Metrics and objectives in a few words; R is what a trade puts at risk.

Source: `engine.accounts.metrics.compute_metrics`, where it is exact.
"""

FRACTIONS = frozenset(
    {
        "buy_and_hold",
        "cagr",
        "exposure",
        "hold_at_equal_volatility",
        "max_drawdown",
        "max_drawdown_marked",
        "mean_trade",
        "total_return",
        "ulcer",
        "win_rate",
        "win_rate_long",
        "win_rate_short",
    }
)
"""Metrics that people read in percent."""

MARKED = "max_drawdown_marked"

EXPECTED = "expected_r"
"""Name of the mean R that is expected of a member, beside its metrics."""

BESIDE_OBJECTIVES = ("trades", "win_rate", "mean_r", EXPECTED, "exposure", "max_leverage")
"""Metrics that stand beside the objectives in the table of a front, as far as there is room."""

NEVER_LOST = 2.0**30
"""An objective from here on is of a candidate without losses: this, and its trades on top."""

WITHOUT_LOSSES = {
    "calmar": "no drawdown",
    "calmar_simple": "no drawdown",
    "profit_factor": "no losses",
    "sortino": "no losses",
}
"""Metrics that are undefined for want of losses, and how such an objective is written."""

LONG = 1e9
"""From here on a number is written with its power of ten."""

Grade = Literal["invalid", "too_little", "luck", "lost", "not_judged", "weak", "holds", "robust"]
"""The first that applies counts, as `optimizer.evidence.verdict.decide` takes them."""

GRADES: tuple[Grade, ...] = get_args(Grade)

GRADE_RANKS: dict[str, int] = {grade: rank for rank, grade in enumerate(GRADES)}
"""Of grades, from the worst on."""

GRADE_WORDS = {
    "invalid": "do not use",
    "too_little": "too few trades",
    "luck": "probably luck",
    "lost": "no gain",
    "not_judged": "not judged",
    "weak": "not confirmed",
    "holds": "held on unseen bars",
    "robust": "held, and robust",
}
"""Grades as people read them, the same in lists, reports and badges."""


def choose_columns(objectives: Sequence[str], known: Container[str]) -> list[str]:
    """Columns of the table of a front: objectives, then known metrics of `BESIDE_OBJECTIVES`.

    An account that sizes its trades from cash may be gone at a close: behind its fall between
    closed trades, or behind the objectives, stands that at closes.

    >>> choose_columns(["max_drawdown", "trades:min"], {"trades", "exposure", "unsized"})
    ['max_drawdown', 'max_drawdown_marked', 'trades:min', 'exposure']
    """
    named = {name.partition(":")[0] for name in objectives}
    columns = [*objectives, *(n for n in BESIDE_OBJECTIVES if n in known and n not in named)]
    if "unsized" in known:
        falls = [index for index, name in enumerate(objectives) if _base(name) == "max_drawdown"]
        columns.insert(falls[-1] + 1 if falls else len(objectives), MARKED)
    return columns


def describe_formulas(formulas: Mapping[str, str]) -> list[str]:
    """Formulas of objectives, a line each.

    >>> describe_formulas({"calm:min": "max_drawdown ^ 2"})
    ['calm:min = max_drawdown ^ 2']
    """
    return [f"{name} = {formula}" for name, formula in formulas.items()]


def words(identifier: str) -> str:
    """An identifier as words, its underscores spaces; a formula as it is."""
    is_formula = any(sign in identifier for sign in " (")
    return identifier if is_formula else identifier.replace("_", " ")


def evenly(count: int, most: int) -> npt.NDArray[np.int64]:
    """Places of at most so many of `count` things, evenly apart, the first and the last included.

    >>> evenly(10, 4).tolist(), evenly(2, 4).tolist(), evenly(0, 4).tolist()
    ([0, 3, 6, 9], [0, 1], [])
    """
    return np.linspace(0, max(count - 1, 0), min(count, most)).round().astype(np.int64)


def minute(time_ns: int) -> str:
    """When, to the minute, from nanoseconds UTC, such as ``2024-01-31 09:30``."""
    return str(np.datetime64(time_ns, "ns").astype("datetime64[m]")).replace("T", " ")


def number(value: object) -> str:
    """A number as people read it: four significant digits, or a dash where it is unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        return str(value)
    if isinstance(value, int) or (value == int(value) and abs(value) < LONG):
        return f"{int(value):,}"
    if abs(value) >= LONG:
        return f"{value:.3g}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def format_gene(value: float | str) -> str:
    """A gene as people read it: as `number`, but never rounded onto a rounder one.

    An option has its name; a value of 114.998 next to a bound of 115 is not at it.

    >>> format_gene(114.998), format_gene(0.29999), format_gene(12.3456), format_gene(96)
    ('114.998', '0.29999', '12.35', '96')
    >>> format_gene(1234.56)
    '1,234.6'
    """
    if isinstance(value, str):
        return value
    if value == int(value) or abs(value) >= LONG:
        return number(value)
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    for digits in range(4, 18):
        text = f"{value:.{digits}g}"
        if float(text) == value or len(text.lstrip("-0.").replace(".", "")) >= digits:
            return text
    return text


def format_count(count: object, noun: str) -> str:
    """A count with its noun, such as ``1 trade``, ``1,234 trades`` or ``2 searches``."""
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number(count)} {noun}{'' if count == 1 else plural}"


def fraction(value: object) -> str:
    """A fraction as percent with two digits."""
    if not (isinstance(value, float) and math.isfinite(value)):
        return "-"
    if abs(value) >= LONG / 100:
        return f"{100 * value:.3g}%"
    return f"{value:.2%}".replace("-0.00%", "0.00%")


def metric(name: str, value: object) -> str:
    """A metric, or an objective made from it such as ``max_drawdown@worst``, as people read it."""
    if isinstance(value, float) and value >= NEVER_LOST and _base(name) in WITHOUT_LOSSES:
        return WITHOUT_LOSSES[_base(name)]
    return fraction(value) if is_fraction(name) else number(value)


def is_fraction(name: str) -> bool:
    """Whether people read a metric, or an objective made from it, in percent."""
    return _base(name) in FRACTIONS


def _base(name: str) -> str:
    """The metric in the name of an objective."""
    return name.removeprefix(HELD_OUT).partition("@")[0].partition(":")[0]
