"""Jumps between a close and the next open: splits that prices are not adjusted for, and bad rows.

A trade across one has a result that no trader had. An open that differs by more than a quarter from
the close before is a jump. A smaller one is where bars around it do not move like it: it is ten
times as wide as an hour usually is, and the hour after it is as calm as any, as after a split, a
spin-off or a change of contract; news moves prices on. It also is where opens of that kind, after a
pause or without one, hardly ever leave the close before.
"""

from fractions import Fraction

import numpy as np

from data.bars import Bars
from data.checks import Flags, Floats, Ints, format_time
from data.timeframe import UNITS_NS

JUMP_FRAC = 0.25
"""Opens that differ more from the close before are jumps, whatever bars around them do."""

LEAST_JUMP_FRAC = 0.15
"""Opens that differ less are none."""

MOST_SMALL_SHARE = 0.01
"""Share of bars that may open as far off as a small jump; beyond, such opens are usual."""

USUAL_TIMES, CALM_SHARE = 10, 0.15
"""A small jump is so many times an hour's usual range, and the hour after it has at most this share
of the jump as its range."""

RARE_QUANTILE, RARE_TIMES = 0.99, 20
"""So many times what 99 in 100 opens of its kind differ at most, an open is a jump."""

HOURS_AROUND = 30
"""Hours before and after a jump whose ranges are the usual ones; longer bars count as hours."""

WHOLE = (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 30, 40, 50, 100, 200, 500, 1000)
PLAIN_SPLITS = {Fraction(whole): 0.05 for whole in WHOLE}
ODD_SPLITS = {
    Fraction(*ratio): 0.01 for ratio in ((3, 2), (4, 3), (5, 4), (6, 5), (5, 2), (5, 3), (7, 2))
}
"""Shares that become of one, and how far the price of a night may lie beside it."""

SPIKE_TIMES = 10
SPIKE_BARS = 3
"""Bars as far off, for so few bars, are no prices of the market."""

LEAST_PERCENT, MOST_PERCENT = 0.01, 1000
"""Times beyond which a change is not written in percent."""

MOST_NAMED = 5


def jumps_of(bars: Bars) -> tuple[str, ...]:
    """A line for each of the first jumps of a series, and one that counts the rest."""
    with np.errstate(over="ignore", under="ignore"):
        ratio: Floats = np.maximum(bars.open[1:] / bars.close[:-1], np.finfo(np.float64).tiny)
    wide = np.maximum(ratio, 1 / ratio)
    jumps = np.flatnonzero(wide > 1 + JUMP_FRAC)
    small = np.flatnonzero((wide > 1 + LEAST_JUMP_FRAC) & (wide <= 1 + JUMP_FRAC))
    if len(small) <= max(1, MOST_SMALL_SHARE * len(bars)):
        is_rare = _find_rare(bars, wide, small)
        calm = [bar for bar in small[~is_rare].tolist() if _is_unlike(bars, bar, ratio)]
        jumps = np.sort(np.concatenate((jumps, small[is_rare], np.array(calm, jumps.dtype))))
    return _describe(bars, ratio, jumps)


def _describe(bars: Bars, ratio: Floats, jumps: Ints) -> tuple[str, ...]:
    lines: list[str] = []
    left = jumps.tolist()
    while left and len(lines) < MOST_NAMED:
        bar = left.pop(0)
        if left and _is_spike(ratio, bar, left[0]):
            lines.append(_describe_spike(bars, ratio, bar, left.pop(0)))
            continue
        is_back = bool(left) and _is_return(ratio, bar, left[0])
        lines.append(_describe_jump(bars, ratio, bar, is_back=is_back))
    return (*lines, *([f"{len(left)} more such opens"] if left else []))


def _describe_jump(bars: Bars, ratio: Floats, bar: int, *, is_back: bool) -> str:
    value = float(ratio[bar])
    at = format_time(bars.timestamp[bar + 1])
    if value >= MOST_PERCENT or value < LEAST_PERCENT:
        change = f"{value:.3g} times"
    else:
        change = f"{value - 1:+.0%} from"
    what = "" if is_back else _name_split(value, is_calm=_is_calm(bars, bar, ratio))
    return f"the open of {at} is {change} the close before{what}"


def _describe_spike(bars: Bars, ratio: Floats, bar: int, end: int) -> str:
    later = "the next" if end == bar + 1 else f"that {end - bar} bars later"
    return (
        f"the open of {format_time(bars.timestamp[bar + 1])} is {float(ratio[bar]):.3g} times "
        f"the close before and {later} is back: no price, take it out"
    )


def _is_return(ratio: Floats, bar: int, other: int) -> bool:
    """Whether a jump leads back, within a few bars, to where prices were before another."""
    both = float(ratio[bar]) * float(ratio[other])
    return other - bar <= SPIKE_BARS and 1 / (1 + JUMP_FRAC) < both < 1 + JUMP_FRAC


def _is_spike(ratio: Floats, bar: int, other: int) -> bool:
    times = max(float(ratio[bar]), 1 / float(ratio[bar]))
    return times >= SPIKE_TIMES and _is_return(ratio, bar, other)


def _find_rare(bars: Bars, wide: Floats, small: Ints) -> Flags:
    """Flags [N] of small jumps far wider than opens of their kind, after a pause or without."""
    if not len(small):
        return np.zeros(0, dtype=np.bool_)
    is_pause = np.diff(bars.timestamp) > bars.timeframe_ns
    usual = [
        float(np.quantile(np.log(wide[kind]), RARE_QUANTILE)) if kind.any() else 0.0
        for kind in (~is_pause, is_pause)
    ]
    limits = RARE_TIMES * np.array(usual)[is_pause[small].astype(int)]
    rare: Flags = np.log(wide[small]) > limits
    return rare


def _is_unlike(bars: Bars, bar: int, ratio: Floats) -> bool:
    """Whether a jump is far wider than hours around it, and followed by a calm one."""
    per_hour = _bars_an_hour(bars)
    edges = [
        *range(bar + 1 - per_hour, max(bar - HOURS_AROUND * per_hour, -1), -per_hour),
        *range(bar + 1, min(bar + HOURS_AROUND * per_hour, len(bars)), per_hour),
    ]
    ranges = [_log_range(bars, max(edge, 0), edge + per_hour) for edge in edges]
    usual = float(np.median(ranges))
    is_wide = abs(np.log(ratio[bar])) >= USUAL_TIMES * usual
    return bool(is_wide) and _is_calm(bars, bar, ratio)


def _is_calm(bars: Bars, bar: int, ratio: Floats) -> bool:
    """Whether the hour after a jump has a small part of its width as range."""
    after = _log_range(bars, bar + 1, bar + 1 + _bars_an_hour(bars))
    return bool(after <= CALM_SHARE * abs(np.log(ratio[bar])))


def _log_range(bars: Bars, start: int, end: int) -> float:
    high, low = bars.high[start:end].max(), bars.low[start:end].min()
    return float(np.log(high) - np.log(low))


def _bars_an_hour(bars: Bars) -> int:
    return max(UNITS_NS["h"] // bars.timeframe_ns, 1)


def _name_split(ratio: float, *, is_calm: bool) -> str:
    """A remark on what a jump looks like; what is no plain split must be followed by calm bars."""
    splits = PLAIN_SPLITS | (ODD_SPLITS if is_calm else {})
    for split, tolerance in splits.items():
        old, new = split.denominator, split.numerator
        if abs(ratio * float(split) - 1) < tolerance:
            return f", as a {new}:{old} split makes that is not adjusted for"
        if abs(ratio / float(split) - 1) < tolerance:
            return f", as a {old}:{new} split makes that is not adjusted for"
    return ", as a split or a spin-off makes that is not adjusted for" if is_calm else ""
