"""Words made of other words: each is the tree that one would write, and trades on every engine."""
# ruff: noqa: F403, F405

import numpy as np
import pytest

from strategy.rows import row_values
from strategy.words import *
from tests.support.worlds import make_bars

n, k = length("n", 20, 5, 50), gene("k", 2, 1, 4)
line = ema_mean(close, 12) - ema_mean(close, 26)

strength = rsi(close, 9)
band = bollinger_upper(close) - bollinger_lower(close)

WRITTEN = [
    (macd(close), line),
    (macd_signal(close), ema_mean(line, 9)),
    (macd_histogram(close), line - ema_mean(line, 9)),
    (bollinger_upper(hlc3, n, k), sma(hlc3, n) + k * std(hlc3, n)),
    (bollinger_lower(close), sma(close, 20) - 2 * std(close, 20)),
    (bollinger_percent(close), (close - bollinger_lower(close)) / band),
    (keltner_upper(close, n), ema_mean(close, n) + 2 * ema_mean(true_range, n)),
    (keltner_lower(close, 20, k), ema_mean(close, 20) - k * ema_mean(true_range, 20)),
    (donchian_upper(n), highest(high, n)),
    (donchian_lower(55), lowest(low, 55)),
    (donchian_middle(9), (highest(high, 9) + lowest(low, 9)) / 2),
    (atr_wilder(14), rma(true_range, 14)),
    (williams_r(n=14), stoch(14) - 100),
    (momentum(close, n), close - lag(close, n)),
    (vwma(close, 20), sma(close * volume, 20) / sma(volume, 20)),
    (heikin_close(), ohlc4),
    (awesome_oscillator(), sma(hl2, 5) - sma(hl2, 34)),
    (stoch_rsi(close, 9), 100 * ((strength - lowest(strength, 9))
                                 / (highest(strength, 9) - lowest(strength, 9)))),
]  # fmt: skip


@pytest.mark.parametrize(("word", "written"), WRITTEN, ids=range(len(WRITTEN)))
def test_a_word_is_what_one_would_write(word, written):
    """The same tree, so the same digest and the same row."""
    assert word.tree == written.tree


def test_heikin_ashi_bars_follow_their_recurrence():
    """An open half way through the bar before; how it began shows no more after sixty bars."""
    bars = make_bars(5, 300)
    closes = (bars.open + bars.high + bars.low + bars.close) / 4
    opens = [(bars.open[0] + bars.close[0]) / 2]
    for before in closes[:-1].tolist():
        opens.append((opens[-1] + before) / 2)
    tops = np.maximum(bars.high, np.maximum(opens, closes))
    bottoms = np.minimum(bars.low, np.minimum(opens, closes))
    words = (heikin_open(), heikin_high(), heikin_low(), heikin_close())
    for row, expected in zip(words, (opens, tops, bottoms, closes), strict=True):
        values = row_values(row.tree, bars)
        np.testing.assert_allclose(values[60:], expected[60:], rtol=1e-14)
