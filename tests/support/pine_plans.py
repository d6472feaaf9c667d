"""TradingView scripts whose trades PineForge published, in words.

Bars are 15 minutes of ETH/USDT, the clock UTC. A script without a stop has one here that nothing
meets.
"""
# ruff: noqa: F403, F405

from strategy.words import *

TICK = 0.01
PLAIN = {"stop": share(0.9), "market": market(tick="0.01")}

PLANS = {}
"""Strategies by the names of their lists; several scripts may be one strategy."""


def record(names, **parts):
    """Enter a strategy under the names of its lists."""
    plan = strategy(names, **(PLAIN | parts))
    PLANS.update(dict.fromkeys(names.split(), plan))


def turn(names, over, under, **parts):
    """A strategy whose signals turn the position."""
    record(names, long=over, short=under, reverse=True, **parts)


def cross(names, a, b, **parts):
    """A strategy that turns where two rows cross."""
    turn(names, crosses_above(a, b), crosses_below(a, b), **parts)


def hold(names, enter, leave, **parts):
    """A strategy that is long or out."""
    record(names, long=enter, exit_long=leave, **parts)


def at(hour, minute=0):
    """True at the bar that opens at a time of day."""
    return equals(minute_of_day(), 60 * hour + minute)


def during(hour):
    """True at the four bars of an hour."""
    return (minute_of_day() >= 60 * hour) & (minute_of_day() < 60 * hour + 60)


def begins(condition, *rows):
    """A condition of rows that holds now, and did not a bar ago."""
    return condition(*rows) & ~condition(*(lag(row, 1) for row in rows))


def at_least_two(a, b, c):
    """True where two of three conditions are."""
    return (a & b) | (a & c) | (b & c)


before, strength = lag(close, 1), rsi(close, 14)
line, signal = macd(close, 12, 26), macd_signal(close, 12, 26, 9)
middle, upper, lower = sma(close, 20), bollinger_upper(close, 20, 2), bollinger_lower(close, 20, 2)
fast, slow, trend = ema_mean(close, 9), ema_mean(close, 21), ema_mean(close, 50)
centre, span = ema_mean(close, 20), atr_wilder(14)

# Crosses and turns.

cross(
    "composite-scalping-fast-ma-cross-trigger-01 composite-wunderscalper-alert-templates-01 "
    "composite-wunderscalper-integration-01",
    ema_mean(close, 5),
    ema_mean(close, 13),
)
cross("input-source-runtime-override-high-01", sma(high, 10), sma(high, 30))
cross("timeframe-main-period-self-adaptive-01", sma(close, 10), sma(close, 30))
cross("input-source-subscript-hl2-01", hl2 - lag(hl2, 1), 0)
cross("ta-cmo-9-zero-cross-01", cmo(close, 9), 0)
cross("ta-dmi-adx-di-cross-01", plus_di(14), minus_di(14))
cross("ta-hma-fast-slow-cross-01", hma(close, 9), hma(close, 21))
cross("ta-macd-12-26-9-line-signal-cross-01", line, signal)
cross("ta-sma-152-close-cross-01", close, sma(close, 152))
cross("ta-obv-ema-cross-01", obv(), ema_mean(obv(), 21))
cross("ta-vwma-vs-sma-divergence-01", vwma(close, 20) - sma(close, 20), 0)

strong = tsi(close, 25, 13)
cross("ta-tsi-25-13-signal-cross-01", strong, ema_mean(strong, 13))

pull = gravity(close, 10)
cross("ta-cog-10-signal-cross-01", pull, ema_mean(pull, 5))
cross("ta-accdist-ema-cross-01", accumulation(), ema_mean(accumulation(), 21))
cross("ta-pvt-ema-cross-01", price_volume_trend(), ema_mean(price_volume_trend(), 21))
cross("ta-rci-14-zero-cross-01", rank_correlation(close, 14), 0)

turn("ta-rsi14-bands-30-70-01", crosses_above(strength, 30), crosses_below(strength, 70))
turn("ta-wpr-14-bands-01", crosses_above(williams_r(14), -80), crosses_below(williams_r(14), -20))
turn(
    "ta-rsi-ema-signal-cross-01",
    crosses_above(strength, ema_mean(strength, 9)) & (strength < 50),
    crosses_below(strength, ema_mean(strength, 9)) & (strength > 50),
)
turn(
    "ta-sar-flip-entry-01",
    begins(lambda stop, price: stop < price, sar(2, 2, 20), close),
    begins(lambda stop, price: stop >= price, sar(2, 2, 20), close),
)
turn("ta-stdev-sma-expansion-break-01", close > upper, close < lower)
turn(
    "composite-kkb-ema-atr-breakout-band-01",
    crosses_above(close, centre + 1.5 * span),
    crosses_below(close, centre - 1.5 * span),
)

is_inside = (high < lag(high, 1)) & (low > lag(low, 1))
turn("ta-inside-bar-engulfing-01", is_inside & (close > open), is_inside & (close < open))

end = lsma(close, 50)
bend = 5 * (end - linreg(close, 50, 1))
turn(
    "composite-boscurv-linreg-slope-channel-01",
    crosses_above(close, end + 2 * span + bend),
    crosses_below(close, end - 2 * span + bend),
)

is_old_enough = sma(close, 400) > 0
turn(
    "composite-kanuck-max-bars-back-500-01",
    (close > lag(close, 450)) & is_old_enough,
    (close < lag(close, 450)) & is_old_enough,
)

slower = ema_mean(close, 55)
turn(
    "composite-trendmaster-trend-momentum-structure-gate-01",
    (slow > slower) & (strength > 55) & (close > lag(highest(high, 20), 1)),
    (slow < slower) & (strength < 45) & (close < lag(lowest(low, 20), 1)),
)

averages = (close, slow, slower, ema_mean(close, 200))
turn(
    "composite-ies-three-ema-bias-score-01",
    begins(lambda p, a, b, c: ((a > b) & (b > c)) | ((p > a) & (p > b) & (p > c)), *averages),
    begins(lambda p, a, b, c: ((a < b) & (b < c)) | ((p < a) & (p < b) & (p < c)), *averages),
)

momenta = (strength, lag(strength, 3), line - signal, lag(line - signal, 1))
turn(
    "composite-ies-rsi-macd-momentum-01",
    begins(lambda r, r3, h, h1: at_least_two(r > 55, r > r3, (h > 0) & (h > h1)), *momenta),
    begins(lambda r, r3, h, h1: at_least_two(r < 45, r < r3, (h < 0) & (h < h1)), *momenta),
)

# Turns that also leave.

turn(
    "ta-bb-rsi-mean-reversion-01",
    (close < lower) & (strength < 30),
    (close > upper) & (strength > 70),
    exit_long=close > middle,
    exit_short=close < middle,
)

ranges = highest(high, 4) - lowest(close, 4), highest(close, 4) - lowest(low, 4)
over, under = close > open + 0.5 * maximum(*ranges), close < open - 0.5 * maximum(*ranges)
turn("ta-dual-thrust-open-anchored-range-01", over, under, exit_long=under, exit_short=over)

bulls, bears = high - ema_mean(close, 13), low - ema_mean(close, 13)
turn(
    "ta-elder-ray-bull-bear-power-01",
    (close > trend) & (bears < 0) & (bears > lag(bears, 1)),
    (close < trend) & (bulls > 0) & (bulls < lag(bulls, 1)),
    exit_long=(bears > 0) & (bears < lag(bears, 1)),
    exit_short=(bulls < 0) & (bulls > lag(bulls, 1)),
)

body, opened = abs(close - open), lag(open, 1)
top_wick, bottom_wick = high - maximum(open, close), minimum(open, close) - low
engulfs = (close > open) & (before < opened) & (close > opened) & (open < before)
is_engulfed = (close < open) & (before > opened) & (close < opened) & (open > before)
is_hammer = (bottom_wick > 2 * body) & (top_wick < 0.5 * body) & (body > 0)
is_shooting = (top_wick > 2 * body) & (bottom_wick < 0.5 * body) & (body > 0)
is_small_between = (lag(close, 2) < lag(open, 2)) & (lag(body, 1) < 0.3 * lag(body, 2))
is_morning = is_small_between & (close > open) & (close > (lag(open, 2) + lag(close, 2)) / 2)
good = (engulfs | is_hammer | is_morning) & (close < middle)
bad = (is_engulfed | is_shooting) & (close > middle)
turn("ta-engulfing-candle-pattern-01", good, bad, exit_long=bad, exit_short=good)

turn(
    "ta-highestbars-lowestbars-breakout-01",
    (high > lag(highest(high, 19), 1)) & (close > trend),
    (low < lag(lowest(low, 19), 1)) & (close < trend),
    exit_long=close < donchian_middle(20),
    exit_short=close > donchian_middle(20),
)

move = momentum(close, 10)
turn(
    "ta-momentum-roc-zero-cross-01",
    crosses_above(move, 0),
    crosses_below(move, 0),
    exit_long=move < 0,
    exit_short=move > 0,
)

points = (strength, close, centre, middle)
turn(
    "ta-multi-indicator-score-composite-01",
    begins(lambda r, p, a, b: (r >= 50) & (p > a) & (p > b), *points),
    begins(lambda r, p, a, b: (r <= 50) & (p <= a) & (p <= b), *points),
    exit_long=at_least_two(strength < 50, close <= centre, close <= middle),
    exit_short=at_least_two(strength > 50, close > centre, close > middle),
)

mean, room = sma(strength, 50), 2 * std(strength, 50)
turn(
    "ta-rsi-bb-self-bands-01",
    (strength < mean - room) & (strength > lag(strength, 1)),
    (strength > mean + room) & (strength < lag(strength, 1)),
    exit_long=strength > mean,
    exit_short=strength < mean,
)

usual = sma(volume, 20)
turn(
    "ta-volume-spike-atr-breakout-01",
    (close > before + span) & (volume > 1.5 * usual),
    (close < before - span) & (volume > 1.5 * usual),
    exit_long=(close < before) & (volume < usual),
    exit_short=(close > before) & (volume < usual),
)

quick_k = sma(stoch_rsi(close, 14), 3)
ups, downs = crosses_above(quick_k, sma(quick_k, 3)), crosses_below(quick_k, sma(quick_k, 3))
turn(
    "ta-stochastic-rsi-cross-01",
    ups & (quick_k < 20),
    downs & (quick_k > 80),
    exit_long=lazily(quick_k > 80, downs),
    exit_short=lazily(quick_k < 20, ups),
)

# Long or out.

hold("ta-macd-line-gt-signal-continuous-state-01", line > signal, line <= signal)
hold("ta-rsi14-gt-50-continuous-state-01", strength > 50, strength <= 50)
hold("ta-rsi14-gt60-lt45-no-matrix-01", strength > 55, strength < 45)
hold(
    "ta-rsi-macd-and-continuous-state-01 ta-str-match-regex-filter-01",
    (strength > 50) & (line > signal),
    (strength <= 50) | (line <= signal),
)
hold(
    "order-process-on-close-false-01",
    crosses_above(fast, slow) & (strength < 70),
    crosses_below(fast, slow),
)


def is_squeezed(upper, lower, centre, span):
    """Bands that lie inside of a channel."""
    return (lower > centre - 1.5 * span) & (upper < centre + 1.5 * span)


squeeze = (upper, lower, centre, atr_wilder(20))
hold(
    "composite-ies-bb-kc-squeeze-release-01",
    is_squeezed(*(lag(row, 1) for row in squeeze)) & ~is_squeezed(*squeeze),
    crosses_below(close, centre),
)

is_loud = abs((volume - usual) / std(volume, 20)) > 2
hold("composite-vcp-vol-zscore-anomaly-01", is_loud & (close > open), is_loud & (close < open))

hold("composite-vcp-pivot-strength-5-01", pivot_low(low, 5, 5) > 0, pivot_high(high, 5, 5) > 0)

bought = volume * where(close > open, 1, (close - low) / (high - low + 0.0001))
sold = volume * where(close < open, 1, (high - close) / (high - low + 0.0001))
hold(
    "composite-vcp-cumulative-volume-delta-01",
    crosses_above(sma(bought - sold, 10), 0),
    crosses_below(sma(bought - sold, 10), 0),
)

risen, fallen = maximum(high - lag(high, 1), 0), maximum(lag(low, 1) - low, 0)
plus = 100 * (rma(where(risen > fallen, risen, 0), 14) / span)
minus = 100 * (rma(where(risen > fallen, 0, fallen), 14) / span)
regime = rma(100 * (abs(plus - minus) / (plus + minus)), 14)
hold(
    "composite-ies-adx-regime-classify-01",
    begins(lambda strength: strength >= 25, regime),
    regime < 25,
)

day_mean = vwap_band(close, 0)
hold(
    "vwap-bands-breakout-1sigma-01",
    crosses_above(close, vwap_band(close, 1)),
    crosses_below(close, day_mean),
)
hold(
    "vwap-bands-mean-reversion-2sigma-01",
    crosses_below(close, vwap_band(close, -2)),
    crosses_above(close, day_mean),
)

new_york = minute_of_day("America/New_York")
for name, opens in (
    ("composite-vcp-session-tz-newyork-01", 480),
    ("session-ny-spring-forward-dst-01", 570),
):
    hold(
        name,
        begins(lambda minute, opens=opens: (minute >= opens) & (minute < 960), new_york),
        begins(lambda minute, opens=opens: (minute < opens) | (minute >= 960), new_york),
    )

is_open = (new_york >= 570) & (new_york < 960)
long_ago = lag(where(is_open, close, 0), 499)
followed = rsi(where(is_open, close, where(long_ago > 0, long_ago, close)), 14)
hold(
    "na-deep-history-int-na-01", crosses_above(followed, 30) & is_open, crosses_below(followed, 70)
)

score = sma(close - before, 8)
hold("na-nz-fixnan-history-chain-01", crosses_above(score, 0), crosses_below(score, 0))


hold(
    "recompute-alma-sar-corr-magnifier-01",
    crosses_above(close, alma(close, 14))
    & (sar(2, 2, 20) < close)
    & (correlation(close, volume, 20) > 0),
    sar(2, 2, 20) > close,
)

# By the clock.

monday = equals(day_of_week(), 0) & at(0)
hold(
    "analyzer-parity-edge-margin-50-pct-01 analyzer-parity-percent-of-equity-sizing-01 "
    "analyzer-parity-small-equity-fraction-01",
    monday,
    in_trade(close > 0, bars_from=2),
)
hold("session-hour-minute-pulse-filter-01", at(0, 15), at(0, 45))
hold("order-percent-equity-cash-commission-01", at(8, 15), at(12, 15))
hold("order-cross-exit-close-same-pass-01", at(0, 15) | at(6, 15), at(0, 45) | at(6, 45))
hold(
    "order-close-immediate-vs-next-bar-01",
    at(2, 15) | at(10, 15),
    at(3, 15),
    session=session_exit(690),
)
turn(
    "order-same-id-entry-close-same-bar-01",
    at(0, 15),
    at(12, 15),
    exit_long=at(0, 45),
    exit_short=at(12, 45),
)
turn(
    "order-same-id-market-entry-repeat-01",
    at(0, 15),
    at(12, 15),
    exit_long=at(1, 15),
    exit_short=at(13, 15),
)
turn(
    "order-cross-entry-close-same-pass-01",
    at(0, 15),
    at(12, 15),
    exit_long=at(7, 15),
    exit_short=at(19, 15),
)
turn(
    "order-deferred-flip-guaranteed-gap-stops-01",
    at(14),
    at(8),
    exit_long=at(8) | monday,
    exit_short=at(14) | monday,
)

# Orders that rest.


def wait(names, over, under, **parts):
    """A strategy whose stop orders stand a tick beyond the bar; out in the morning and evening."""
    entry = by_side(stop_at(high + TICK), None if under is None else stop_at(low - TICK))
    leave = {"exit_long": at(6, 15), "exit_short": None if under is None else at(18, 15)}
    record(names, **({"long": over, "short": under, "entry": entry} | leave | parts))


wait("order-same-id-stop-minute-zero-01", at(2), at(14))
wait("order-stale-stop-after-close-no-cancel-01", at(2, 15), at(14, 15))
wait("order-cross-entry-cancel-same-pass-01", at(4, 15), at(16, 15))
wait(
    "order-same-id-stop-modification-01 order-dual-side-same-id-stop-no-cancel-01",
    during(2),
    during(14),
)
wait(
    "order-dual-four-bar-stop-no-close-01",
    during(2),
    during(14),
    exit_long=at(23, 45),
    exit_short=at(23, 45),
)
wait("order-same-id-stop-raise-only-01", during(2) & ~at(2), during(14) & ~at(14))
wait("order-one-side-four-bar-far-opposite-01", during(2), None)
wait(
    "order-same-id-stop-after-flat-01",
    during(2) | during(8),
    None,
    exit_long=at(6, 15) | at(12, 15),
)
wait(
    "order-same-id-stop-cross-before-modify-01",
    at(3, 15),
    at(15, 15),
    entry=by_side(stop_at(close), stop_at(close)),
)
wait(
    "order-stop-entry-touch-boundary-01",
    at(2, 15),
    at(14, 15),
    entry=by_side(stop_at(lag(high, 1) + TICK), stop_at(lag(low, 1) - TICK)),
    cancel=by_side(at(14, 15), at(2, 15)),
)

is_early, is_late = minute_of_day() < 720, minute_of_day() >= 720
wait(
    "order-dual-stop-cancel-rotation-01",
    is_early,
    is_late,
    exit_long=is_late,
    exit_short=is_early,
    cancel=by_side(is_late, is_early),
)

rises, falls = ema_mean(close, 8) > slow, ema_mean(close, 8) <= slow
extremes = by_side(stop_at(lag(high, 1)), stop_at(lag(low, 1)))
wait(
    "order-stop-entry-cancel-opposite-01",
    rises,
    falls,
    entry=extremes,
    cancel=by_side(falls, rises),
    exit_long=ema_mean(close, 8) < slow,
    exit_short=rises,
)
turn(
    "order-stop-cancel-no-regime-close-01",
    rises,
    falls,
    entry=extremes,
    cancel=by_side(falls, rises),
)

was_wide = lag(high, 1) - lag(low, 1) > lag(span, 1)
turn(
    "order-range-expansion-pending-stop-01",
    was_wide & (before > opened),
    was_wide & (before < opened),
    entry=by_side(stop_at(lag(high, 1), 1), stop_at(lag(low, 1), 1)),
)
turn(
    "order-flip-stop-no-paired-close-01",
    at(0, 15),
    at(0, 45),
    entry=by_side(None, stop_at(low - TICK)),
    exit_long=at(12),
    exit_short=at(12),
)

# Stops and targets.


def bracket(names, over, under, distance, **parts):
    """A strategy with a stop so far from the close of its signal."""
    stop = by_side(level(close - distance), level(close + distance))
    record(names, **({"long": over, "short": under, "stop": stop} | parts))


bracket(
    "bracket-entry-exit-same-pass-attach-01",
    at(8, 15),
    at(16, 15),
    0.005 * close,
    target=by_side(level(close * 1.005), level(close * 0.995)),
    exit_long=at(23, 45),
    exit_short=at(23, 45),
)
bracket(
    "bracket-exit-three-way-set-once-entry-01",
    at(8),
    at(20),
    0.01 * close,
    target=from_entry(20 * TICK),
)
bracket("bracket-narrow-stop-limit-with-trail8-01", at(8), at(20), 10, target=from_entry(8 * TICK))
bracket(
    "bracket-atr-trail-series-int-points-01",
    at(8),
    at(20),
    1.2 * span,
    target=from_entry(span * TICK),
)
