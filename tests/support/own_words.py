"""Indicators of a person's own, in words: one that is causal, and some that are not."""

from types import SimpleNamespace

import numpy as np

from strategy.words import close, ema, indicator, low


@indicator(warm_up=lambda n: n)
def efficiency(bars, n):
    """How straight the way of so many bars was."""
    move = np.abs(bars.close[n:] - bars.close[:-n])
    path = np.cumsum(np.abs(np.diff(bars.close, prepend=bars.close[0])))
    return np.concatenate([np.full(n, np.nan), move / (path[n:] - path[:-n])])


CALLS: list[tuple[int, int]] = []
OUTSIDE = [0.0]


@indicator(warm_up=lambda n: n)
def counted(bars, n):
    """Hangs on a number beside the bars, and counts how often it is asked."""
    CALLS.append((len(bars), n))
    return bars.close * n + OUTSIDE[0]


@indicator(warm_up=lambda n: n)
def reversed_sum(bars, n):
    """Sums from the end: every value hangs on all later ones."""
    return np.cumsum(bars.close[::-1])[::-1] + n


@indicator(warm_up=0)
def whole_mean(bars):
    """Distance from the mean of all bars, later ones too."""
    return bars.close - bars.close.mean()


@indicator(warm_up=lambda n: 2 * n)
def centred(bars, n):
    """The middle of a window that reaches as far ahead as back."""
    window = np.ones(2 * n + 1) / (2 * n + 1)
    return np.convolve(bars.close, window, mode="same")


@indicator(warm_up=40)
def repaints(bars):
    """The highest high so far; that of the last forty bars is changed afterwards."""
    highest = np.maximum.accumulate(bars.high)
    highest[-40:] = highest[-1]
    return highest


@indicator(warm_up=0)
def reads_what_it_was_cut_from(bars):
    """The next close, from the array that this one is a part of."""
    every = bars.close
    while isinstance(every.base, np.ndarray):
        every = every.base
    return np.append(every[1:], every[-1])[: len(bars)].copy()


NOT_CAUSAL = (reversed_sum, whole_mean, centred, repaints, reads_what_it_was_cut_from)


@indicator(warm_up=0)
def peeks_once(bars):
    """The close, but at one bar the next one."""
    values = bars.close.copy()
    values[777:778] = bars.close[778:779] if len(values) > 778 else values[777:778]
    return values


@indicator(warm_up=0)
def flags_once(bars):
    """Nothing, but once it warns of a bar that is still to come."""
    flags = np.full(len(bars), np.nan)
    flags[:776] = 0.0
    flags[777:778] = 1.0 if len(flags) > 780 else 0.0
    return flags


LONGEST = []


@indicator(warm_up=0)
def remembers_the_longest(bars):
    """The next close, from the most bars that it was ever given."""
    if not LONGEST or len(LONGEST[0]) < len(bars):
        LONGEST[:] = [bars.close.copy()]
    return np.append(LONGEST[0][1:], LONGEST[0][-1])[: len(bars)].copy()


BY_LENGTH = {}


@indicator(warm_up=0)
def remembers_by_length(bars):
    """Its values on other bars, where these were as many."""
    return BY_LENGTH.setdefault(len(bars), np.maximum.accumulate(bars.close)).copy()


KEEP_BETWEEN_CALLS = (remembers_the_longest, remembers_by_length)

CALLS = []


@indicator(warm_up=0)
def with_state(bars):
    """Something else every time."""
    CALLS.append(1)
    return bars.close + len(CALLS)


@indicator(warm_up=0)
def writes(bars):
    """Changes what it reads."""
    bars.close[0] = 1.0
    return bars.close


@indicator(warm_up=0)
def leaves(bars):
    """Ends the program, as a library's panic would."""
    raise SystemExit(3)


@indicator(warm_up=0)
def endless(bars):
    """Never comes to an end, and holds back what it can."""
    while True:
        try:
            bars.close.sum()
        except Exception:
            continue


@indicator(warm_up=0)
def held_back(bars):
    """Never comes to an end, and holds the first interruption back."""
    try:
        while True:
            bars.close.sum()
    except:  # noqa: E722
        while True:
            bars.high.sum()


@indicator(warm_up=3)
def zeros(bars):
    """Zeros with a sign."""
    return np.full(len(bars), -0.0)


@indicator(warm_up=0)
def silent(bars):
    """Fails without a word."""
    raise KeyError


@indicator(warm_up=lambda fast, slow: slow)
def of_two_lengths(bars, fast, slow):
    """Refuses lengths that no search would ask for."""
    assert fast < slow
    return shift_values(bars.close, slow) - shift_values(bars.close, fast)


def shift_values(values, bars):
    """Values so many bars before."""
    return np.concatenate([np.full(bars, np.nan), values[:-bars]])


NO_ROWS = {
    "writes": writes, "leaves": leaves, "shape": indicator(warm_up=0)(lambda bars: bars.close[1:]),
    "table": indicator(warm_up=0)(lambda bars: bars.close[:, None]),
    "masked": indicator(warm_up=0)(lambda bars: np.ma.masked_less(bars.close, 100)),
    "row": indicator(warm_up=0)(lambda bars: close - low),
    "word": indicator(warm_up=0)(lambda bars: ema(bars.close, 3)), "silent": silent,
    "series": indicator(warm_up=0)(lambda bars: SimpleNamespace(to_numpy=None)),
    "type": indicator(warm_up=0)(lambda bars: bars.close.astype(np.float32)),
}  # fmt: skip
