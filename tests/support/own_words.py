"""Indicators of a person's own, in words: one that is causal, and some that are not."""

import numpy as np

from strategy.words import indicator


@indicator(warm_up=lambda n: n)
def efficiency(bars, n):
    """How straight the way of so many bars was."""
    move = np.abs(bars.close[n:] - bars.close[:-n])
    path = np.cumsum(np.abs(np.diff(bars.close, prepend=bars.close[0])))
    return np.concatenate([np.full(n, np.nan), move / (path[n:] - path[:-n])])


@indicator(warm_up=lambda n: n)
def reversed_sum(bars, n):
    """Sums from the end: every value hangs on all later ones."""
    return np.cumsum(bars.close[::-1])[::-1] + n


@indicator(warm_up=0)
def whole_mean(bars):
    """Distance from the mean of all bars, later ones too."""
    return bars.close - bars.close.mean()


@indicator(warm_up=lambda n: n)
def centred(bars, n):
    """The middle of a window that reaches as far ahead as back."""
    window = np.ones(2 * n + 1) / (2 * n + 1)
    return np.convolve(bars.close, window, mode="same")


@indicator(warm_up=40)
def repaints(bars):
    """The highest high so far; that of the last forty bars is changed afterwards."""
    found = np.maximum.accumulate(bars.high)
    found[-40:] = found[-1]
    return found


NOT_CAUSAL = (reversed_sum, whole_mean, centred, repaints)
