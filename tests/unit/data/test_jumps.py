"""Prices that no bar beside them supports: planted ones are named, true extremes are not."""

import numpy as np
import pytest

from data import jumps_of
from data.bars import Bars
from tests.support.series import MINUTE_NS, NAMES

DAY_NS = 1440 * MINUTE_NS


def draw(seed, count, minutes, sigma, *, tail=3.0, sessions=False):
    """Columns of a market whose range and volume come in waves, with tails as heavy as said."""
    rng = np.random.Generator(np.random.PCG64(seed))
    minute = np.arange(6 * count) * minutes
    is_open = (minute // 1440 % 7 < 5) & ((minute % 1440 < 390) | (minutes >= 1440))
    times = minute[is_open][:count] if sessions else minute[:count]
    wave = np.convolve(rng.normal(0, 0.1, count + 40), np.exp(-np.arange(40) / 20), "valid")[:count]
    steps = rng.standard_t(tail, (count, 8)) * (sigma * np.exp(wave) / 4)[:, None]
    steps[:, 0] += (
        sessions * sigma * rng.normal(0, 1, count) * (np.diff(times, prepend=0) > minutes)
    )
    path = 100 * np.exp(np.cumsum(steps.ravel())).reshape(count, 8)
    columns = {"open": path[:, 0], "close": path[:, -1], "high": path.max(1), "low": path.min(1)}
    volume = np.round(np.exp(rng.normal(5, 0.8, count) + wave)) + 1
    timestamp = DAY_NS * 19_000 + times * MINUTE_NS
    return {"timestamp": timestamp, **columns, "volume": volume}


def bars_of(columns, minutes, **changes):
    """Bars of these columns."""
    return Bars(**{**columns, **changes}, symbol="X", timeframe_ns=minutes * MINUTE_NS)


def false_prices(bars):
    """Lines about prices that are none."""
    return [line for line in jumps_of(bars) if "no price" in line or "such prices" in line]


WORLDS = {
    "coin 15m": {"count": 2000, "minutes": 15, "sigma": 0.004},
    "stock 5m": {"count": 2000, "minutes": 5, "sigma": 0.0015, "sessions": True},
    "stock 1d": {"count": 800, "minutes": 1440, "sigma": 0.015, "sessions": True},
}
FACTORS = {"high": (100, 2), "low": (0.01, 0.5), "close": (10,), "open": (0.1,)}
PLANTED = [(name, factor) for name, factors in FACTORS.items() for factor in factors]


def plant(columns, bar, name, factor):
    """The same with one price times a factor, and a high and low that hold it."""
    columns = {key: column.copy() for key, column in columns.items()}
    columns[name][bar] *= factor
    columns["high"][bar] = max(columns[key][bar] for key in NAMES[:4])
    columns["low"][bar] = min(columns[key][bar] for key in NAMES[:4])
    return columns


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("name", "factor"), PLANTED)
def test_a_planted_price_is_named_with_its_bar(world, name, factor):
    """Of 3 in each kind of market all are; those of highs and lows at both ends of a series, too.

    The last close, which nothing follows, where it is five times its open; the first open never.
    """
    for seed in range(3):
        columns, minutes = draw(seed, **WORLDS[world]), WORLDS[world]["minutes"]
        count = len(columns["open"])
        places = {"high": (0, count - 1), "low": (0, count - 1), "open": (count - 1,)}
        inside = 1 + 7 * (seed + 1) * count // 100
        for bar in (inside, *places.get(name, ())):
            # No bar of the highest volume: the next test is about these.
            columns["volume"][bar] = np.median(columns["volume"])
            lines = false_prices(bars_of(plant(columns, bar, name, factor), minutes))
            assert len(lines) == 1, (seed, bar)
            at = str(np.datetime64(int(columns["timestamp"][bar]), "ns"))[:16]
            assert lines[0].startswith(f"the {name} of {at} is ")
            assert lines[0].endswith(": no price, take it out (delete its row)")


@pytest.mark.parametrize("world", WORLDS)
def test_no_price_of_a_market_with_heavy_tails_is_named(world):
    """In 12 series of each kind."""
    for seed in range(100, 112):
        columns = draw(seed, **WORLDS[world])
        assert false_prices(bars_of(columns, WORLDS[world]["minutes"])) == []


def test_volume_says_that_a_price_was_traded():
    """Of 300 to 0.1 in a minute, as one exchange of 2017; without the volume it is no price."""
    columns = plant(draw(2, 2000, 1, 0.001), 900, "low", 0.0003)
    for volume, count in ((40 * columns["volume"].max(), 0), (0.0, 1)):
        columns["volume"][900] = volume
        assert len(false_prices(bars_of(columns, 1))) == count


DAILY = {
    # Open, high, low, close as published, rounded.
    "VIX, 5 August 2024": (
        (16.2, 16.9, 15.9, 16.4), (17.7, 18.5, 16.2, 16.4), (16.2, 19.5, 15.9, 18.6),
        (20.5, 29.7, 19.4, 23.4), (23.4, 65.7, 23.4, 38.6), (33.7, 34.8, 24.0, 27.7),
        (24.8, 28.5, 22.0, 27.9), (26.8, 28.2, 22.9, 23.8), (23.6, 24.0, 20.0, 20.4),
    ),
    "EURCHF, 15 January 2015": (
        (1.2012, 1.2020, 1.2008, 1.2011), (1.2011, 1.2016, 1.2009, 1.2012),
        (1.2012, 1.2014, 1.2008, 1.2010), (1.2010, 1.2011, 0.8500, 0.9750),
        (0.9750, 1.0200, 0.9700, 0.9950), (0.9950, 1.0250, 0.9900, 1.0120),
        (1.0120, 1.0190, 0.9950, 1.0010), (1.0010, 1.0080, 0.9860, 0.9930),
    ),
    "UNI, its first quarters of an hour": (
        (0.3, 15.0, 0.3, 3.43), (3.43, 3.45, 2.6, 2.86), (2.89, 3.57, 2.85, 2.94),
        (2.94, 3.2, 2.9, 3.1), (3.1, 3.3, 3.0, 3.2), (3.2, 3.4, 3.1, 3.3), (3.3, 3.4, 3.2, 3.3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("event", DAILY)
def test_crashes_and_listings_are_no_false_prices(event):
    """Days of known extremes, without a volume that would speak for them, among calm ones."""
    days = np.array(DAILY[event])
    is_listing = event.startswith("UNI")
    calm = [np.tile(days[at, 3] * np.array([1, 1.01, 0.99, 1]), (40, 1)) for at in (0, -1)]
    days = np.concatenate(([] if is_listing else calm[:1]) + [days, calm[1]])
    names = ("open", "high", "low", "close")
    columns = dict(zip(names, days.T.copy(), strict=True))
    columns["high"] = days.max(1)
    columns["low"] = days.min(1)
    columns["timestamp"] = DAY_NS * (15_000 + np.arange(len(days)))
    assert false_prices(bars_of({**columns, "volume": np.zeros(len(days))}, 1440)) == []
