"""Worlds: kinds of markets without an edge, and some with an edge of known size.

A bar is made of `STEPS` steps of a walk, so that its extremes lie on the path that its close ends.
In a world without an edge no step's mean depends on what was before it; drifts, volatility, volume
and gaps may.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from data.bars import Bars
from tests.support.evidence import HOUR_NS, START_NS, make_planted_market

STEPS = 8
SIGMA = 0.006
"""Deviation of an hour's return, about."""

DAY = 24
"""Bars of a day that never closes."""

SESSION = 7
"""Bars of a day with a session."""

BURN = 200
"""Bars that recurrences run before the first that is kept."""

Floats = np.ndarray
Draw = np.random.Generator
World = Callable[[Draw, int], list[Bars]]


def make_world(name: str, seed: int, n: int) -> list[Bars]:
    """Series of one market of a world."""
    worlds = WORLDS | EDGES
    number = list(worlds).index(name)
    return worlds[name](np.random.Generator(np.random.PCG64([seed, number])), n)


def make_bars(
    draw: Draw,
    scale: Floats,
    *,
    steps: Floats | None = None,
    drift: Floats | float = 0.0,
    gaps: Floats | None = None,
    times: Floats | None = None,
    volume: Floats | None = None,
) -> Bars:
    """Bars whose returns have a deviation `scale` [T]; `steps` [T, `STEPS`] of deviation 1."""
    n = len(scale)
    if steps is None:
        steps = draw.standard_normal((n, STEPS))
    moves = steps * (scale / np.sqrt(STEPS))[:, None] + (np.zeros(n) + drift)[:, None] / STEPS
    if gaps is not None:
        moves = np.concatenate([gaps[:, None], moves], axis=1)
    # A step never loses all.
    path = np.cumsum(np.log1p(np.maximum(moves, -0.9)).ravel()).reshape(moves.shape)
    last = np.concatenate([[0.0], path[:-1, -1]])
    path = 100 * np.exp(np.concatenate([last[:, None], path], axis=1))
    # Behind a gap the bar opens where the gap led.
    path = path if gaps is None else path[:, 1:]
    if volume is None:
        volume = 1000 * scale / SIGMA * np.exp(0.4 * draw.standard_normal(n))
    times = START_NS + HOUR_NS * np.arange(n, dtype=np.int64) if times is None else times
    return Bars(
        times, path[:, 0], path.max(axis=1), path.min(axis=1), path[:, -1], volume, "WORLD",
        HOUR_NS, is_simulated=True,
    )  # fmt: skip


def run_recurrence(shocks: Floats, keep: float) -> Floats:
    """Levels [T] that keep a part of themselves from bar to bar."""
    levels = np.empty(len(shocks))
    level = 0.0
    for t, shock in enumerate(shocks):
        level = levels[t] = keep * level + shock
    return levels


def draw_clustered(draw: Draw, n: int, keep: float = 0.98, size: float = 0.1) -> Floats:
    """Deviations [n] of a stochastic volatility."""
    return SIGMA * np.exp(run_recurrence(size * draw.standard_normal(n + BURN), keep)[BURN:])


def flat(n: int) -> Floats:
    """The same deviation at each bar."""
    return np.full(n, SIGMA)


def hour_of_day(n: int) -> Floats:
    """Place of each bar in its day."""
    return np.arange(n) % DAY


def list_session_times(n: int) -> Floats:
    """Times [n] of bars of a session on working days, from 14:00 on."""
    days = np.arange(n) // SESSION
    calendar = days // 5 * 7 + days % 5
    first = START_NS - 2 * DAY * HOUR_NS  # A Monday.
    return first + (calendar * DAY + 14 + np.arange(n) % SESSION).astype(np.int64) * HOUR_NS


def stable(draw: Draw, n: int) -> list[Bars]:
    """Steps with an infinite variance, cut at thirty deviations."""
    steps = np.clip(draw.standard_t(1.7, (n, STEPS)) / 2, -30, 30)
    return [make_bars(draw, flat(n) / 2, steps=steps)]


def make_garch(draw: Draw, n: int, news: float, bad_news: float) -> Bars:
    """Bars whose variance follows squared returns."""
    steps = draw.standard_normal((n + BURN, STEPS))
    shocks = steps.sum(axis=1) / np.sqrt(STEPS)
    base, keep = SIGMA**2, 0.9
    variance = np.empty(n + BURN)
    now = base
    for t, shock in enumerate(shocks):
        variance[t] = now
        weight = news + bad_news * (shock < 0)
        left = 1 - keep - news - bad_news / 2
        now = base * left + (keep + weight * shock**2) * now
    return make_bars(draw, np.sqrt(variance[BURN:]), steps=steps[BURN:])


def stochastic_leverage(draw: Draw, n: int) -> list[Bars]:
    """Stochastic volatility whose shocks are against those of the returns."""
    steps = draw.standard_normal((n + BURN, STEPS))
    returns = steps.sum(axis=1) / np.sqrt(STEPS)
    shocks = -0.7 * returns + np.sqrt(1 - 0.49) * draw.standard_normal(n + BURN)
    # The shock of a bar is known at its close.
    levels = np.concatenate([[0.0], run_recurrence(0.1 * shocks, 0.98)[:-1]])
    return [make_bars(draw, SIGMA * np.exp(levels[BURN:]), steps=steps[BURN:])]


def draw_fractional(draw: Draw, n: int, exponent: float) -> Floats:
    """Fractional Gaussian noise [n], by a circulant embedding (Davies and Harte 1987)."""
    lags = np.arange(n + 1.0)
    power = 2 * exponent
    covariance = (np.abs(lags - 1) ** power - 2 * lags**power + (lags + 1) ** power) / 2
    spectrum = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real
    size = len(spectrum)
    noise = draw.standard_normal(size) + 1j * draw.standard_normal(size)
    return np.fft.fft(np.sqrt(np.maximum(spectrum, 0) / size) * noise).real[:n]


def jumps(draw: Draw, n: int) -> list[Bars]:
    """Jumps up and down, one in two days."""
    steps = draw.standard_normal((n, STEPS))
    is_jump = draw.random((n, STEPS)) < 1 / (2 * DAY * STEPS)
    return [
        make_bars(draw, flat(n), steps=steps + 12 * is_jump * draw.standard_normal(steps.shape))
    ]


def crashes(draw: Draw, n: int) -> list[Bars]:
    """Crashes, one in ten days, whose mean the other steps make up for."""
    steps = draw.standard_normal((n, STEPS))
    chance, size = 1 / (10 * DAY * STEPS), 25.0
    return [make_bars(draw, flat(n), steps=steps - size * (draw.random(steps.shape) < chance)
                      + size * chance)]  # fmt: skip


def volatility_regimes(draw: Draw, n: int) -> list[Bars]:
    """Calm and wild times, which change about once a week."""
    is_wild = np.cumsum(draw.random(n) < 1 / (7 * DAY)) % 2 == 1
    return [make_bars(draw, np.where(is_wild, 2.0, 0.6) * SIGMA)]


def news_hours(draw: Draw, n: int) -> list[Bars]:
    """One wild hour on some days, with a large volume, that means nothing."""
    is_news = (hour_of_day(n) == 13) & (draw.random(n) < 0.4)
    return [make_bars(draw, draw_clustered(draw, n) * np.where(is_news, 4.0, 1.0))]


def sessions(draw: Draw, n: int) -> list[Bars]:
    """Seven hours on working days, and gaps over night."""
    gaps = np.where(np.arange(n) % SESSION == 0, 2 * SIGMA, 0.0) * draw.standard_normal(n)
    times = list_session_times(n)
    return [make_bars(draw, draw_clustered(draw, n), gaps=gaps, times=times)]


def session_smile(draw: Draw, n: int) -> list[Bars]:
    """Sessions that are wild at both ends, with gaps as large as a day."""
    place = np.arange(n) % SESSION
    scale = SIGMA * np.array([2.0, 1.0, 0.7, 0.5, 0.6, 0.9, 1.6])[place]
    gaps = np.where(place == 0, 4 * SIGMA, 0.0) * draw.standard_t(4, n) / np.sqrt(2)
    volume = 1000 * (scale / SIGMA) ** 2 * np.exp(0.3 * draw.standard_normal(n))
    return [make_bars(draw, scale, gaps=gaps, times=list_session_times(n), volume=volume)]


def weekend_gaps(draw: Draw, n: int) -> list[Bars]:
    """Five days around the clock, and a gap on Monday."""
    week = 5 * DAY
    hours = np.arange(n) // week * 7 * DAY + np.arange(n) % week
    gaps = np.where(np.arange(n) % week == 0, 3 * SIGMA, 0.0) * draw.standard_normal(n)
    times = START_NS + hours.astype(np.int64) * HOUR_NS
    return [make_bars(draw, draw_clustered(draw, n), gaps=gaps, times=times)]


def print_trades(draw: Draw, bars: Bars, spread: float) -> Bars:
    """Bars whose opens and closes lie half a spread off, either way."""
    sides = draw.choice([-1.0, 1.0], (2, len(bars))) * spread / 2
    opened, close = bars.open * (1 + sides[0]), bars.close * (1 + sides[1])
    high = np.maximum(bars.high * (1 + spread / 2), np.maximum(opened, close))
    low = np.minimum(bars.low * (1 - spread / 2), np.minimum(opened, close))
    return replace(bars, open=opened, high=high, low=low, close=close)


def put_on_tick(bars: Bars, tick: float) -> Bars:
    """Bars whose prices are rounded."""
    return change_prices(bars, lambda price: np.maximum(np.round(price / tick), 1.0) * tick)


def change_prices(bars: Bars, change: Callable[[Floats], Floats]) -> Bars:
    """Bars with other prices."""
    names = "open", "high", "low", "close"
    return replace(bars, **{name: change(getattr(bars, name)) for name in names})


def idle(draw: Draw, n: int) -> list[Bars]:
    """Half of the bars without a trade."""
    is_idle = draw.random(n) < 0.5
    scale = np.where(is_idle, 0.0, draw_clustered(draw, n))
    volume = np.where(is_idle, 0.0, 1000 * np.exp(0.5 * draw.standard_normal(n)))
    return [make_bars(draw, scale, volume=volume)]


def growing_volume(draw: Draw, n: int) -> list[Bars]:
    """Volume that grows to the tenfold."""
    scale = draw_clustered(draw, n)
    volume = 1000 * scale / SIGMA * np.exp(np.linspace(0, np.log(10), n))
    return [make_bars(draw, scale, volume=volume * np.exp(0.4 * draw.standard_normal(n)))]


def volume_of_signs(draw: Draw, n: int) -> list[Bars]:
    """Volume that is larger in bars that fall."""
    bars = make_bars(draw, draw_clustered(draw, n))
    return [replace(bars, volume=bars.volume * np.where(bars.close < bars.open, 3.0, 1.0))]


def correlated(draw: Draw, n: int) -> list[Bars]:
    """Three symbols of one market."""
    common = np.sqrt(0.7) * draw.standard_normal((n, STEPS))
    own = [np.sqrt(0.3) * draw.standard_normal((n, STEPS)) for _ in range(3)]
    return name_series(make_bars(draw, draw_clustered(draw, n), steps=common + of) for of in own)


def common_crashes(draw: Draw, n: int) -> list[Bars]:
    """Three symbols that jump together, up or down."""
    is_jump = draw.random((n, STEPS)) < 1 / (5 * DAY * STEPS)
    jump = 15 * is_jump * draw.standard_normal((n, STEPS))
    own = [draw.standard_normal((n, STEPS)) for _ in range(3)]
    return name_series(make_bars(draw, flat(n), steps=jump + of) for of in own)


def name_series(series: Iterable[Bars]) -> list[Bars]:
    """Series with a symbol each."""
    return [replace(bars, symbol=f"W{number}") for number, bars in enumerate(series)]


WORLDS: dict[str, World] = {
    # Independent normal returns.
    "gaussian": lambda draw, n: [make_bars(draw, flat(n))],
    # Steps with three degrees of freedom.
    "student": lambda draw, n: [
        make_bars(draw, flat(n), steps=draw.standard_t(3, (n, STEPS)) / np.sqrt(3))
    ],
    # Steps of a Laplace distribution.
    "laplace": lambda draw, n: [
        make_bars(draw, flat(n), steps=draw.laplace(size=(n, STEPS)) / np.sqrt(2))
    ],
    "stable": stable,
    # Many small gains and few large losses, none in the mean.
    "skewed": lambda draw, n: [
        make_bars(draw, flat(n), steps=1 - draw.exponential(size=(n, STEPS)))
    ],
    # GARCH(1, 1), persistent.
    "garch": lambda draw, n: [make_garch(draw, n, 0.09, 0.0)],
    # GJR-GARCH: losses raise volatility.
    "leverage": lambda draw, n: [make_garch(draw, n, 0.02, 0.14)],
    # Stochastic volatility.
    "stochastic": lambda draw, n: [make_bars(draw, draw_clustered(draw, n))],
    "stochastic_leverage": stochastic_leverage,
    # Rough volatility: increments with an exponent of 0.1.
    "rough": lambda draw, n: [make_bars(draw, SIGMA * np.exp(0.5 * draw_fractional(draw, n, 0.1)))],
    # Volatility that remembers: fractional noise with an exponent of 0.85.
    "long_memory": lambda draw, n: [
        make_bars(draw, SIGMA * np.exp(0.5 * draw_fractional(draw, n, 0.85)))
    ],
    "jumps": jumps,
    "crashes": crashes,
    # Prices that rise by a half in a year.
    "rising": lambda draw, n: [make_bars(draw, flat(n), drift=0.4 / 8760)],
    # Prices that rise by the factor of seven in a year.
    "soaring": lambda draw, n: [make_bars(draw, flat(n), drift=2.0 / 8760)],
    # Prices that fall by two thirds in a year.
    "falling": lambda draw, n: [make_bars(draw, flat(n), drift=-1.0 / 8760)],
    "volatility_regimes": volatility_regimes,
    # Volatility that is three times as high from the middle on.
    "volatility_break": lambda draw, n: [
        make_bars(draw, np.where(np.arange(n) < n // 2, 0.5, 1.5) * SIGMA)
    ],
    # Volatility by the hour of the day.
    "daily_rhythm": lambda draw, n: [
        make_bars(draw, SIGMA * (1 + 0.7 * np.sin(2 * np.pi * hour_of_day(n) / DAY)))
    ],
    # Volatility by the day of the week.
    "weekly_rhythm": lambda draw, n: [
        make_bars(draw, SIGMA * np.where(np.arange(n) // DAY % 7 >= 5, 0.3, 1.2))
    ],
    "news_hours": news_hours,
    # Long bars with a large volume, after which nothing follows.
    "climaxes": lambda draw, n: [make_planted_market(int(draw.integers(2**40)), n, 0)],
    "sessions": sessions,
    "session_smile": session_smile,
    "weekend_gaps": weekend_gaps,
    # Trades at the bid or at the ask, whatever comes next (Roll 1984).
    "bounce": lambda draw, n: [print_trades(draw, make_bars(draw, flat(n) / 2), SIGMA / 2)],
    # The same with a spread of an hour's deviation, and quiet prices.
    "wide_bounce": lambda draw, n: [print_trades(draw, make_bars(draw, flat(n) / 4), SIGMA)],
    # Prices on a tick of half a deviation.
    "rounded": lambda draw, n: [put_on_tick(make_bars(draw, draw_clustered(draw, n)), 0.3)],
    # Prices on a tick of three deviations, most of whose bars do not move.
    "coarse": lambda draw, n: [put_on_tick(make_bars(draw, flat(n)), 1.8)],
    "idle": idle,
    "growing_volume": growing_volume,
    # Volume of heavy tails that has nothing to do with prices.
    "unrelated_volume": lambda draw, n: [
        make_bars(draw, draw_clustered(draw, n), volume=1000 * np.exp(draw.standard_normal(n)))
    ],
    "volume_of_signs": volume_of_signs,
    # Prices about a millionth.
    "cheap": lambda draw, n: [
        change_prices(make_bars(draw, draw_clustered(draw, n)), lambda price: price * 1e-8)
    ],
    "correlated": correlated,
    # Three symbols that have nothing to do with each other.
    "independent": lambda draw, n: name_series(
        make_bars(draw, draw_clustered(draw, n)) for _ in range(3)
    ),
    "common_crashes": common_crashes,
}
"""Without an edge."""


def plant(edge: float) -> World:
    """A world whose climaxes are worth so many deviations, spread over a day."""
    return lambda draw, n: [make_planted_market(int(draw.integers(2**40)), n, edge)]


def join_worlds(*worlds: World) -> World:
    """A world that is one world after the other, each for an equal share of its bars."""

    def make(draw: Draw, n: int) -> list[Bars]:
        ends = [n * number // len(worlds) for number in range(len(worlds) + 1)]
        parts = [
            world(draw, end - start)[0]
            for world, start, end in zip(worlds, ends, ends[1:], strict=False)
        ]
        for number, part in enumerate(parts[1:], 1):
            scale = parts[number - 1].close[-1] / part.open[0]
            parts[number] = change_prices(part, lambda price, scale=scale: price * scale)
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("open", "high", "low", "close", "volume")
        }
        times = START_NS + HOUR_NS * np.arange(n, dtype=np.int64)
        return [replace(parts[0], timestamp=times, **columns)]

    return make


def plant_symbols(*edges: float) -> World:
    """A world of several symbols, each with an edge of its own."""
    return lambda draw, n: name_series(plant(edge)(draw, n)[0] for edge in edges)


def print_planted(edge: float, spread: float) -> World:
    """A world with an edge whose trades are printed at the bid or at the ask."""
    return lambda draw, n: [print_trades(draw, plant(edge)(draw, n)[0], spread)]


EDGES: dict[str, World] = {
    "edge of 4": plant(4),
    "edge of 6": plant(6),
    "edge of 8": plant(8),
    "edge of 12": plant(12),
    "edge of 8 in the first half": join_worlds(plant(8), plant(0)),
    "edge of 8 in the second half": join_worlds(plant(0), plant(8)),
    "edge of 12, then against it": join_worlds(plant(12), plant(-12)),
    "edge of 8 in one of three symbols": plant_symbols(8, 0, 0),
    "edge of 8 in three symbols": plant_symbols(8, 8, 8),
    "edge of 8, printed at bid and ask": print_planted(8, SIGMA / 2),
}
"""With an edge; its number is what a climax is worth in deviations of an hour, over a day."""
