"""The adaptive trend in the manner of its originals: library sums, exp, bare comparisons.

It is no law: it shows what rounding alone decides there, and what a tie rule changes.
"""

import numpy as np
from numba import njit

OFFSETS = ((1, 2, 3, 4), (1, 2, 4, 6), (1, 3, 5, 7))


def plain_trend(close, parameters, *, order="running", has_ties=False, is_script=False):
    """The row [T].

    Args:
        close: [T].
        parameters: As the law has them.
        order: "running" for sums that go along, "window" for a sum a window.
        has_ties: Whether price and average are level within a share of 1e-12.
        is_script: Whether to take the script's form.
    """
    bases, weights = parameters[:6], np.array(parameters[12:]) / 10.0
    robustness, growth, decay, cutout, vote_long, vote_short = parameters[6:12]
    bars = np.arange(len(close))
    grown = np.exp(np.minimum(growth * (bars - cutout) / 1e6, 1.0))
    change = np.zeros(len(close))
    change[1:] = close[1:] / close[:-1] - 1.0
    r, flat = change * grown, 1.0 - decay / 10000.0
    offsets = OFFSETS[robustness]
    layer1 = []
    for family, base in enumerate(bases):
        lengths = [base, *(base + k for k in offsets), *(base - k for k in offsets)]
        signals = [
            _signal(close, _average(close, family, n, order, is_script), 1e-12 if has_ties else 0.0)
            for n in lengths
        ]
        equities = [_equity(s.astype(float), 1.0, r, flat, cutout, False) for s in signals]
        votes = sum(s * e for s, e in zip(signals, equities, strict=True)) / sum(equities)
        layer1.append(np.trunc(100 * votes + np.where(votes >= 0, 0.5, -0.5)) / 100)
    equities = [
        _equity(v, w, r, flat, cutout, is_script) for v, w in zip(layer1, weights, strict=True)
    ]
    cuts = [
        np.where(v * 100 > vote_long + 0.5, 1, 0) - (v * 100 < vote_short - 0.5) for v in layer1
    ]
    row = sum(c * e for c, e in zip(cuts, equities, strict=True)) / sum(equities)
    row[:cutout] = np.nan
    return row


def _average(close, family, n, order, is_script):
    if family in (0, 3):
        y = _smooth(close, n, _mean(close, n, order))
        return y if family == 0 else 2 * y - _smooth(y, n, y)
    if family == 1 and is_script:
        return _mean(close, n, order)
    if family == 1:
        raw = 2 * _weight(close, n // 2, order) - _weight(close, n, order)
        average = np.full(len(close), np.nan)
        average[n - 1 :] = _weight(raw[n - 1 :], int(np.sqrt(n)), order)
        return average
    if family == 2:
        return _weight(close, n, order)
    if family == 4:
        return 3 * _weight(close, n, order) - 2 * _mean(close, n, order)
    return _kaufman(close, n, is_script)


def _windows(values, n):
    return np.lib.stride_tricks.sliding_window_view(values, n)


def _mean(values, n, order):
    means = np.full(len(values), np.nan)
    if len(values) >= n:
        means[n - 1 :] = (
            _windows(values, n).mean(axis=1) if order == "window" else _running(values, n) / n
        )
    return means


def _running(values, n):
    sums = np.cumsum(values)
    return sums[n - 1 :] - np.concatenate(([0.0], sums[:-n]))


def _weight(values, n, order):
    means = np.full(len(values), np.nan)
    if len(values) < n:
        return means
    weights = np.arange(1, n + 1)
    if order == "window":
        means[n - 1 :] = _windows(values, n) @ weights / weights.sum()
    else:
        means[n - 1 :] = np.convolve(values, weights[::-1], "valid") / weights.sum()
    return means


@njit
def _smooth(values, n, seeds):
    means = np.full(len(values), np.nan)
    y = np.nan
    for t in range(len(values)):
        y = seeds[t] if np.isnan(y) else y + (2.0 / (n + 1)) * (values[t] - y)
        means[t] = y
    return means


@njit
def _kaufman(close, n, is_script):
    averages = np.empty(len(close))
    k = 0.0 if is_script else close[0]
    for t in range(len(close)):
        q = 0.0
        if t >= n:
            path = 0.0
            for i in range(t - n + 1, t + 1):
                path += abs(close[i] - close[i - 1])
            q = abs(close[t] - close[t - n]) / path if path > 0 else 0.0
        if is_script or t >= n:
            k += (q * 0.602 + 0.064) ** 2 * (close[t] - k)
        averages[t] = k
    return averages


@njit
def _signal(close, average, band):
    """1 where price crosses over its average, -1 where it crosses under, else as before."""
    signals = np.zeros(len(close), np.int64)
    s = 0
    for t in range(1, len(close)):
        here, before = close[t] - average[t], close[t - 1] - average[t - 1]
        width, width_before = close[t] * band, close[t - 1] * band
        if here > width and before <= width_before:
            s = 1
        elif here < -width and before >= -width_before:
            s = -1
        signals[t] = s
    return signals


@njit
def _equity(signal, start, r, flat, cutout, repeats):
    equity = np.full(len(signal), np.nan)
    e = max(start, 0.25)
    step = flat
    for t in range(cutout, len(signal)):
        if t > cutout:
            if signal[t - 1] > 0:
                step = flat * (1 + r[t])
            elif signal[t - 1] < 0:
                step = flat * (1 - r[t])
            elif not repeats:
                step = flat
            e = max(e * step, 0.25)
        equity[t] = e
    return equity
