"""The indicators that an expression may name: loop, inputs, parameters, warm-up."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from data.checks import VALUES
from strategy.indicators import Loop, one_less
from strategy.indicators.adaptive_trend import (
    FAMILIES,
    adaptive_trend,
    adaptive_trend_script,
    average_sides,
    find_longest_length,
)
from strategy.indicators.averages import dema, ema, ema_mean, hma, kama, lsma, rma, whole_root, wma
from strategy.indicators.bars import close_location, hl2, hlc3, obv, ohlc4, true_range
from strategy.indicators.direction import (
    adx,
    minus_di,
    plus_di,
    sar,
    supertrend,
    supertrend_side,
    swing_high,
    swing_low,
)
from strategy.indicators.oscillators import cci, mfi, rsi, stoch
from strategy.indicators.values import (
    bars_unknown,
    filled,
    floor,
    lag,
    last_known,
    roc,
    sign,
    square_root,
    total,
)
from strategy.indicators.windows import (
    bars_since_highest,
    bars_since_lowest,
    highest,
    lowest,
    percent_rank,
    percentile,
    rank_correlation,
    sma,
    std,
    zscore,
)
from strategy.nodes import ANY, Parameter


@dataclass(frozen=True)
class Kind:
    """An indicator as expressions name it."""

    name: str  # key in `KINDS`
    loop: Loop  # the readable definition: (inputs [T] each, *whole parameters) to [T]
    parameters: tuple[Parameter, ...]  # its parameters beside its inputs
    warm_up: Callable[..., int]  # parameters to the bars that it adds to the warm-up of its source
    # Columns that it always reads; empty with a source of one's choice.
    columns: tuple[str, ...] = ()
    # Values of all parameters, for omitted ones; or none.
    defaults: tuple[int, ...] = ()
    # Places of parameters, the first of each pair so far above the second at least.
    above: tuple[tuple[int, int, int], ...] = ()
    summary: str = ""  # in a line for people; the first line of the loop's docstring where empty
    # A gene, a column or an indicator that a person named so before stays theirs.
    is_later: bool = False


_Later = partial(Kind, is_later=True)


def _all(n: int) -> int:
    return n


def _band(bars: int, _: int) -> int:
    return bars - 1


def _none() -> int:
    return 0


def _add(back: int, ahead: int) -> int:
    return back + ahead


_ATR = "Plain mean of the true range; others' ATR is Wilder's average, rma(true_range, n)."

_BARS, _WINDOW = (Parameter("n"),), (Parameter("n", least=2),)
_PERCENT = Parameter("percent", least=0, most=100)
_SWING = (Parameter("lookback", least=2), Parameter("lookahead"))
_SUPERTREND = (*_WINDOW, Parameter("factor_tenths", least=5))
_SAR = (
    Parameter("start_percent"),
    Parameter("step_percent", least=0),
    Parameter("most_percent"),
)
_TREND = (
    *(Parameter(f"{family}_len", least=9, most=4096) for family in FAMILIES),
    Parameter("robustness", least=0, most=2),
    Parameter("growth", least=0, most=1000),
    Parameter("decay", least=0, most=9999),
    Parameter("cutout", least=0),
    Parameter("vote_long", least=-100, most=100),
    Parameter("vote_short", least=-100, most=100),
    *(Parameter(f"{family}_weight", least=0, most=1000) for family in FAMILIES),
)


def _trend_defaults(vote: int) -> tuple[int, ...]:
    return (*(28,) * 6, 1, 20, 3, 0, vote, -vote, *(10,) * 6)


def _trend_warm_up(*parameters: int) -> int:
    """One bar less than all averages and their predecessors need: a cross adds one."""
    longest = find_longest_length(parameters[:6], parameters[6])
    return max(parameters[9], longest - 1 + whole_root(longest)) - 1


def _trend(name: str, loop: Loop, vote: int) -> Kind:
    votes = (10, 11, 0)
    return Kind(name, loop, _TREND, _trend_warm_up, ("close",), _trend_defaults(vote), (votes,))


_BAR, _MOVED = ("high", "low", "close"), ("high", "low", "true_range")
_BANDS = ("hl2", "close", "true_range")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("ema", ema, _BARS, one_less),
        Kind("rma", rma, _WINDOW, one_less),
        Kind("sma", sma, _WINDOW, one_less),
        Kind("ema_mean", ema_mean, _WINDOW, one_less),
        Kind("dema", dema, _WINDOW, lambda n: 2 * n - 2),
        Kind("hma", hma, _WINDOW, lambda n: n - 2 + whole_root(n)),
        Kind("lsma", lsma, _WINDOW, one_less),
        Kind("kama", kama, _WINDOW, _all),
        Kind("wma", wma, _WINDOW, one_less),
        Kind("std", std, _WINDOW, one_less),
        Kind("zscore", zscore, _WINDOW, one_less),
        Kind("highest", highest, _BARS, one_less),
        Kind("lowest", lowest, _BARS, one_less),
        Kind("lag", lag, _BARS, _all),
        Kind("roc", roc, _BARS, _all),
        Kind("rsi", rsi, _WINDOW, _all),
        Kind("stoch", stoch, _BARS, one_less, _BAR),
        Kind("atr", sma, _WINDOW, one_less, ("true_range",), summary=_ATR),
        Kind("plus_di", plus_di, _WINDOW, _all, _MOVED),
        Kind("minus_di", minus_di, _WINDOW, _all, _MOVED),
        Kind("adx", adx, _WINDOW, lambda n: 2 * n - 1, _MOVED),
        Kind("obv", obv, (), _none, ("close", "volume")),
        Kind("swing_high", swing_high, _SWING, _add, ("high",), above=((0, 1, 1),)),
        Kind("swing_low", swing_low, _SWING, _add, ("low",), above=((0, 1, 1),)),
        _Later("cci", cci, _WINDOW, one_less),
        _Later("mfi", mfi, _WINDOW, _all, ("hlc3", "volume")),
        _Later("sar", sar, _SAR, lambda *_: 1, _BAR, (2, 2, 20)),
        _Later("supertrend", supertrend, _SUPERTREND, _band, _BANDS, (10, 30)),
        _Later("supertrend_side", supertrend_side, _SUPERTREND, _band, _BANDS, (10, 30)),
        _Later("sign", sign, (), _none),
        _Later("square_root", square_root, (), _none),
        _Later("floor", floor, (), _none),
        _Later("last_known", last_known, (), _none),
        _Later("bars_unknown", bars_unknown, (), _none),
        _Later("filled", filled, (Parameter("number", least=ANY),), lambda _: 0),
        _Later("total", total, (), _none),
        _Later("percentile", percentile, (*_WINDOW, _PERCENT), _band),
        _Later("percent_rank", percent_rank, _BARS, _all),
        _Later("rank_correlation", rank_correlation, _WINDOW, one_less),
        _Later("bars_since_highest", bars_since_highest, _BARS, one_less),
        _Later("bars_since_lowest", bars_since_lowest, _BARS, one_less),
        _trend("adaptive_trend", adaptive_trend, 10),
        _trend("adaptive_trend_script", adaptive_trend_script, 49),
    )
}
"""Every indicator that reads the bars alone, by name."""

TREND_SIDES = average_sides
"""What adaptive trends of many parameters share: sides of an average."""

COMPUTED_COLUMNS: dict[str, tuple[Loop, tuple[str, ...]]] = {
    "true_range": (true_range, _BAR),
    "close_location": (close_location, _BAR),
    "hl2": (hl2, ("high", "low")),
    "hlc3": (hlc3, _BAR),
    "ohlc4": (ohlc4, ("open", *_BAR)),
}
"""Columns that follow from others bar by bar: loop and what it reads."""

COLUMNS = (*VALUES, *COMPUTED_COLUMNS)

CLOCK: dict[str, tuple[Parameter, ...]] = {
    "minute_of_day": (),
    "day_of_week": (),
    "vwap": (),
    # A session is one day.
    "opening_high": (Parameter("minutes", most=1440),),
    "opening_low": (Parameter("minutes", most=1440),),
}
"""Rows ruled by the clock, each with what it takes beside its offset."""

_FIRST_KINDS = (name for name, kind in KINDS.items() if not kind.is_later)

ROW_NAMES = (*COLUMNS, *_FIRST_KINDS, *CLOCK, "higher")
"""Names that stand for a row alone, so that no gene may have them."""
