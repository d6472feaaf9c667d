"""Columns and markets with known numbers of evidence, and markets with a planted edge."""

import numpy as np

from data.bars import Bars
from engine.accounts.ledger import Ledger

HOUR_NS = 3600 * 10**9
START_NS = 1_577_836_800 * 10**9
"""2020-01-01T00:00 UTC, a Wednesday."""


def daily_noise(days=960, trials=50):
    """A fixed table [D, N] of whole numbers over 100,000, without an edge."""
    t, n = np.arange(days)[:, None], np.arange(trials)[None]
    mixed = t * 7919 + n * 104729 + (t * t % 1013) * (31 + n) + (t * n % 997) * 17
    return (mixed % 2003 - 1001) / 100000


def daily_edge():
    """The same with 0.001 a day added to column 7."""
    columns = daily_noise()
    columns[:, 7] += 0.001
    return columns


def counted_bars(length, gaps=(), symbol="COUNTED", start_ns=0):
    """Hourly bars whose prices follow from their numbers; 49 hours before those in `gaps`."""
    last, rows = 10000, []
    for t in range(length):
        opening = last + (t * 104729 % 21) - 10
        close = opening + ((t * 7919 + (t * t % 1013) * 31) % 401) - 200
        high = max(opening, close) + t * 13 % 17
        low = min(opening, close) - t * 29 % 19
        rows.append((opening, high, low, close))
        last = close
    hours = np.cumsum([0 if t == 0 else 49 if t in gaps else 1 for t in range(length)])
    opening, high, low, close = np.array(rows).T / 100
    volume = 100.0 + np.arange(length) * 7919 % 97
    times = start_ns + hours * HOUR_NS
    return Bars(times, opening, high, low, close, volume, symbol, HOUR_NS)


def make_planted_market(seed, n, edge):
    """A market of clustered volatility and a daily rhythm whose climaxes are worth `edge`.

    With an edge of 0 it is a fair game; with 5 a climax is worth a standard deviation of the next
    day, spread over its 24 bars.
    """
    z, e, w, u = _draw_noise(seed, n)
    s, r, climaxes, drift = _first_pass(z, e, w, u, edge)
    up, down = 0.6 * s * u[:, 0], 0.6 * s * u[:, 1]
    volume = 1000 * (s / SIGMA) * np.exp(0.4 * w)
    up[climaxes] = 0.1 * s[climaxes] * u[climaxes, 0]
    down[climaxes] = s[climaxes] * (2.5 + 1.5 * u[climaxes, 1])
    volume[climaxes] *= 4
    prices = np.multiply.accumulate(np.concatenate([[100.0], 1 + (r - drift.mean())]))
    opening, close = prices[:-1], prices[1:]
    high = np.maximum(opening, close) * (1 + up)
    low = np.minimum(opening, close) * (1 - down)
    times = START_NS + HOUR_NS * np.arange(n, dtype=np.int64)
    return Bars(times, opening, high, low, close, volume, "PLANTED", HOUR_NS, is_simulated=True)


SIGMA = 0.006
DAY = 24
"""Bars."""


def _draw_noise(seed, n):
    rng = np.random.Generator(np.random.PCG64(seed))
    z, e, w = (rng.standard_normal(n) for _ in range(3))
    return z, e, w, rng.random((n, 3))


def _first_pass(z, e, w, u, edge):
    """Volatility, returns and drift [n] of each bar, and the climaxes between the latter two."""
    n = len(z)
    level, last, climaxes = 0.0, -DAY, []
    s, r, drift = np.empty(n), np.empty(n), np.zeros(n)
    for t in range(n):
        level = 0.98 * level + 0.1 * e[t]
        s[t] = SIGMA * np.exp(level) * (1 + 0.5 * np.sin(2 * np.pi * (t % DAY) / DAY))
        r[t] = drift[t] + s[t] * z[t]
        is_ready = u[t, 2] < 0.15 and t > DAY and t - last >= DAY
        if is_ready and r[t - DAY : t].sum() < -SIGMA * np.sqrt(DAY):
            climaxes.append(t)
            last = t
            drift[t + 1 : t + 1 + DAY] = edge * s[t] / DAY
    return s, r, climaxes, drift


def make_ledger(r, exit_bar=None, reason=None, **prices):
    """A ledger of trades with these r; prices and bars as given, else plain ones."""
    r = np.asarray(r, np.float64)
    bars = np.arange(len(r), dtype=np.int64)
    columns = {"entry": 100.0, "stop": 99.0, "target": 102.0, "exit": 100.0, **prices}
    columns = {"last_stop": columns["stop"], **columns}
    filled = {name: np.full(len(r), 1.0) * value for name, value in columns.items()}
    leave = bars + 1 if exit_bar is None else np.asarray(exit_bar, np.int64)
    return Ledger(
        signal_bar=bars,
        entry_bar=bars + 1,
        exit_bar=leave,
        held=leave - bars,
        reason=np.asarray(np.full(len(r), 3) if reason is None else reason, np.int8),
        r=r,
        side=np.where(filled["stop"] < filled["entry"], 1, -1).astype(np.int8),
        **filled,
    )


def compute_plain_strength(ledgers):
    """Sum of R over the root of the sum of squares, trade after trade; NaN where none moved."""
    r = [gain for ledger in ledgers for gain in ledger.r.tolist()]
    squares = sum(gain * gain for gain in r)
    return sum(r) / squares**0.5 if squares > 0 else float("nan")
