"""Names that other programs have for words and parts: a mistake ends with what to write."""

import inspect
import re
from collections.abc import Mapping

from data.errors import near_match
from strategy.indicator_registry import COLUMNS
from strategy.language import WORDS

OURS: Mapping[str, str] = {
    "bollinger_upper(close, 20, 2), bollinger_lower(close, 20, 2) and sma(close, 20)": (
        "bb bbands bollinger bollingerbands bbupper bblower upperband lowerband"
    ),
    "bollinger_percent(close, 20, 2)": "bbp percentb pctb percb",
    "bollinger_width(close, 20, 2)": "bbw bandwidth",
    "keltner_upper(close, 20, 2), keltner_lower(close, 20, 2) and ema_mean(close, 20)": (
        "kc keltner keltnerchannel keltnerchannels"
    ),
    "donchian_upper(20), donchian_lower(20) and donchian_middle(20)": (
        "dc donchian donchianchannel donchianchannels"
    ),
    "macd_signal(close, 12, 26, 9)": "macdsignal signalline",
    "macd_histogram(close, 12, 26, 9)": "macdhist macdhistogram macdh histogram",
    "crosses_above(a, b)": "crossover crossabove crossedabove crossup",
    "crosses_below(a, b)": "crossunder crossbelow crossedbelow crossdown",
    "momentum(close, 10)": "mom change diff",
    "roc(close, 10), a fraction": "rocp pctchange",
    "williams_r(14)": "willr wpr williamsr williams",
    "sar(2, 2, 20), in percent": "psar parabolicsar parabolic",
    "lsma(close, 14), or linreg(close, 14, 1) a bar before its end": "linearreg linearregression",
    "rma(close, 14)": "smma wilder wilders",
    "std(close, 20)": "stdev stddev",
    "highest(close, 20) over bars, maximum(a, b) of two rows": "max hhv",
    "lowest(close, 20) over bars, minimum(a, b) of two rows": "min llv",
    "stoch(14), smoothed by sma(stoch(14), 3)": "stochf stochastic stochs slowk fastk fastd",
    "stoch_rsi(close, 14)": "stochrsif srsi",
    "lag(close, 1)": "shift ref prev previous",
    "hlc3": "typprice typicalprice",
    "hl2": "medprice medianprice",
    "true_range": "tr trange",
    "100 * (atr_wilder(14) / close)": "natr atrp",
    "plus_di(14), minus_di(14) and adx(14)": "dmi dx plusdm minusdm",
    "awesome_oscillator()": "ao awesome",
    "heikin_open(), heikin_high(), heikin_low() and heikin_close()": "heikinashi heikin ha haopen",
    "donchian_middle(9), donchian_middle(26) and more, as the page of recipes has it": (
        "ichimoku tenkan kijun senkou chikou"
    ),
    "pivot_high(high, 5, 5), pivot_low(low, 5, 5), or higher(1440, hlc3) of a day": (
        "pivot pivots pivothigh pivotlow pivotpoints"
    ),
    "value_when of a condition and a row": "valuewhen",
    "bars_since of a condition": "barssince barslast",
    "last_known(close)": "fixnan ffill",
    "filled(close, 0), or known_or(close, open) of two rows": "nz fillna coalesce",
    "total(volume)": "cum cumsum",
    "rank_correlation(close, 14)": "rci",
    "percent_rank(close, 100)": "percentrank",
    "percentile(close, 20, 50)": "quantile",
    "accumulation()": "accdist ad adl",
    "price_volume_trend()": "pvt",
    "gravity(close, 10)": "cog",
    "bar_number()": "barindex",
    "modulo(bar_number(), 10)": "mod remainder",
    "a word of its own, as in rsi(close, 14); a library's function stands in an @indicator": (
        "ta talib pandasta pta qtpylib"
    ),
    "a column such as close: rows are words, not frames": "dataframe df data",
    "a word of its own, such as close: a strategy is no class": "self",
}
"""Words of this language, by names without case and `_` that stand for them elsewhere."""

OTHER_NAMES = {name: ours for ours, names in OURS.items() for name in names.split()}

SPELLINGS: Mapping[str, str] = {
    "stop=share(0.02), or from_entry(row), beyond_bar(row), level(row)": "sl stoploss stopprice",
    "target=share(0.04), or r_multiple(2), from_entry(row), level(row)": (
        "tp takeprofit profittarget roi minimalroi"
    ),
    "targets=[(r_multiple(1), 0.5), (r_multiple(3), 0.5)]": "tp1 tp2 tps takeprofits qtypercent",
    "entry=limit_at(row, expires=5)": "limit limitprice entryprice customentryprice",
    "entry=stop_at(row, expires=5) or limit_at(row, expires=5)": (
        "order ordertype expires expire unfilledtimeout entries"
    ),
    "long=CONDITION": "buy buysignal enterlong entrylong longentry entersignal",
    "short=CONDITION to sell short, exit_long=CONDITION to leave a long": "sell sellsignal",
    "short=CONDITION": "entershort entryshort shortentry",
    "exit_long=CONDITION and exit_short=CONDITION": "exit close closeposition exitsignal leave",
    "exit_long=CONDITION": "longexit",
    "exit_short=CONDITION": "shortexit cover",
    "trail=trail(share(0.02)), or trail(from_entry(row)), trail(level(row))": (
        "trailing trailingstop trailstop tsl sltrail trailpoints trailoffset trailprice"
    ),
    "break_even=1, in units of risk": "breakeven be movetobreakeven",
    "max_hold=48, in bars": "maxbars maxholding timestop timeout timeexit holdbars",
    "account=account(10_000, risk(0.01), leverage=2)": (
        "qty size quantity amount stake stakeamount sizing capital initialcapital cash leverage "
        "risk riskpertrade"
    ),
    'market=market(tick="0.01", multiplier=50, lot="1")': "tick ticksize mintick pointvalue lot",
    "slippage=ticks(1), bp(3) or price(row)": "slip spread",
    "the flags --fee-bp and --fee-unit, in Python fee_bp and fee_unit": (
        "fee fees commission commissions"
    ),
    "reverse=True": "flip alwaysin stopandreverse",
    "nothing, for there is one position at a time": "pyramiding maxopentrades hedging",
}
"""Parts of a strategy, likewise."""

PARTS_ELSEWHERE = {name: ours for ours, names in SPELLINGS.items() for name in names.split()}

NUMBERED = re.compile(r"([a-z_]*[a-z])_?(\d+)")
"""A word with its length behind it, such as `rsi14` or `ema_200`."""


def suggest_word(name: str) -> str:
    """Words in place of an unknown name, as the end of a message; empty without an idea.

    >>> suggest_word("MACDHIST")
    '; here it is macd_histogram(close, 12, 26, 9)'
    >>> suggest_word("rsi14"), suggest_word("ATR")
    ('; write rsi(close, 14)', "; did you mean 'atr'?")
    """
    lower = name.lower()
    numbered = NUMBERED.fullmatch(lower)
    if ours := OTHER_NAMES.get(lower.replace("_", "")):
        return f"; here it is {ours}"
    if numbered and (call := _format_call(*numbered.groups())):
        return f"; write {call}"
    return near_match(name, [*COLUMNS, *WORDS])


def suggest_part(name: str) -> str:
    """Words in place of an argument of `strategy`, empty without an idea.

    >>> suggest_part("stop_loss")
    'stop=share(0.02), or from_entry(row), beyond_bar(row), level(row)'
    """
    return PARTS_ELSEWHERE.get(name.lower().replace("_", ""), "")


def _format_call(name: str, length: str) -> str:
    """Call of a word with a length, of the close for a row; empty for any other name."""
    if name == "atr":
        return f"atr_wilder({length}), or atr({length}), which is a plain mean"
    parameters = list(inspect.signature(WORDS[name]).parameters) if name in WORDS else []
    calls = {("n",): f"{name}({length})", ("x", "n"): f"{name}(close, {length})"}
    return calls.get(tuple(parameters[:2]), "")
