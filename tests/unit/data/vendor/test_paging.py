"""Pages to all bars of a range, of exchanges that answer in any way."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import FetchError
from data.vendor.paging import PageReader

STEP_MS = 60_000
DAY_MS = 86_400_000
START_MS = 1_704_067_200_000


@dataclass
class World:
    """An exchange, as its answers show it.

    Args:
        times: When its bars open, [N] milliseconds.
        cap: Bars of an answer at most.
        stated: Bars that it says it gives.
        anchor: Whether an answer is cut to the ``front`` of a range or to its ``end``; ``now``
            ends it with the newest bars.
        end: How a range ends: ``limit`` bars on, a bar ``short`` of that, ``open``, or so many
            bars on whatever is asked.
        has_first, has_last: Whether the bars at the bounds of a range belong to it.
        takes_limit, takes_until: Whether a limit or a last time that is asked for counts.
        order: 1 oldest first, -1 newest first, 0 in none.
        flaw: What happens to one call of `every`: ``empty``, ``stale``, ``twice``, or none.
        has_days: Whether days are kept too.
    """

    times: np.ndarray
    cap: int = 500
    stated: int = 500
    anchor: str = "front"
    end: object = "open"
    has_first: bool = True
    has_last: bool = False
    takes_limit: bool = True
    takes_until: bool = False
    order: int = 1
    flaw: str = ""
    every: int = 12
    has_days: bool = False
    calls: int = 0
    last: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    def ask(self, since_ms, limit, until_ms=None):
        """A page of minutes."""
        self.calls += 1
        is_flawed = self.flaw and self.calls % self.every == 0
        if is_flawed and self.flaw == "empty":
            return make_rows(self.last[:0])
        if not (is_flawed and self.flaw == "stale"):
            self.last = self._answer(self.times, STEP_MS, since_ms, limit, until_ms)
        times = np.repeat(self.last, 2) if is_flawed and self.flaw == "twice" else self.last
        if self.order == 0:
            times = np.random.default_rng(self.calls).permutation(times)
        return make_rows(times[:: self.order or 1])

    def ask_days(self, since_ms, limit, until_ms=None):
        """A page of days."""
        days = np.unique(self.times // DAY_MS) * DAY_MS
        self.calls += 1
        return make_rows(self._answer(days, DAY_MS, since_ms, limit, until_ms))

    def _answer(self, times, step_ms, since_ms, limit, until_ms):
        n = min(limit, self.cap) if self.takes_limit else self.cap
        bars = {"limit": limit, "short": limit - 1, "open": 10**6}.get(self.end, self.end)
        end_ms = since_ms + bars * step_ms
        if self.takes_until and until_ms is not None:
            end_ms = min(end_ms, until_ms)
        is_early = times <= end_ms if self.has_last else times < end_ms
        is_late = times >= since_ms if self.has_first else times > since_ms
        if self.anchor == "now":
            within = times[is_early][-n:]
            return within[within >= since_ms]
        within = times[is_early & is_late]
        return within[:n] if self.anchor == "front" else within[-n:]


def make_rows(times):
    """Bars [N, 6] of times [N]: any part is the same whenever it is asked for."""
    noise = [(times // STEP_MS * factor) % 97 / 7 for factor in (31, 37, 41, 43, 47)]
    return np.column_stack([times, *noise]).astype(np.float64)


def draw_world(rng, most_bars=2000):
    """A world of a day or less, and the range that is asked for: first and last time."""
    cap = int(rng.choice([1, 2, 3, 5, 10, 50, 100, 200, 300, 500, 720, 1000, 1500]))
    cap = int(rng.integers(1, cap + 1)) if rng.random() < 0.3 else cap
    bars = int(rng.integers(1, min(most_bars, 40 * cap + 20)))
    kept = np.ones(bars, bool)
    for _ in range(rng.integers(0, 5)):
        start = rng.integers(0, bars)
        kept[start : start + int(rng.integers(1, max(2, bars // 2)))] = False
    if rng.random() < 0.3:
        kept &= rng.random(bars) < rng.choice([0.02, 0.2, 0.5, 0.9])
    before, after = rng.integers(0, 1000, 2)
    at = np.flatnonzero(np.r_[rng.random(before) < 0.9, kept, rng.random(after) < 0.9]) - before
    start_ms, end_ms = START_MS, START_MS + bars * STEP_MS
    listed, gone = at.min(initial=0), at.max(initial=0)
    if rng.random() < 0.3:
        at = at[at >= int(rng.integers(listed, gone + 1))]
    if rng.random() < 0.3:
        at = at[at <= int(rng.integers(listed, gone + 1))]
    anchor = str(rng.choice(["front", "end", "now"]))
    end = rng.choice(["limit", "short", "open", "fixed"])
    takes_until = bool(rng.random() < 0.5)
    if anchor == "now" or (anchor == "end" and end == "open"):
        # Where neither bound ends the range, older bars cannot be had.
        takes_until, end = True, "open" if rng.random() < 0.5 else "limit"
    stated = int(rng.choice([cap, cap, cap, max(1, cap // 2), 2 * cap, 500]))
    fixed = int(max(3, stated // 2) + rng.integers(3 * cap))
    if anchor == "end" and end == "fixed":
        # The end of a range whose length nothing that is asked changes has to be found by trying:
        # such ranges are at most twice as long as an answer.
        cap, stated = (max(most, 2, -(-fixed // 2)) for most in (cap, stated))
    world = World(
        times=START_MS + at.astype(np.int64) * STEP_MS,
        cap=cap,
        stated=stated,
        anchor=anchor,
        end=fixed if end == "fixed" else str(end),
        has_first=bool(rng.random() < 0.7) or anchor == "now",
        has_last=bool(rng.random() < 0.4),
        takes_limit=bool(rng.random() < 0.8),
        takes_until=takes_until,
        order=int(rng.choice([1, -1, 0])),
        flaw=str(rng.choice(["", "", "empty", "stale", "twice"])),
        every=int(rng.integers(12, 40)),
        has_days=bool(rng.random() < 0.5),
    )
    return world, start_ms, end_ms


def read_world(world, start_ms, end_ms):
    """Bars that a reader gets of a world, and those that it has."""
    days = PageReader(world.ask_days, DAY_MS, world.stated) if world.has_days else None
    reader = PageReader(world.ask, STEP_MS, world.stated, days)
    got = np.concatenate([make_rows(world.times[:0]), *reader.pages(start_ms, end_ms)])
    times = world.times[(world.times >= start_ms) & (world.times < end_ms)]
    return got, make_rows(times)


YEARS_MS = 4 * 365 * DAY_MS


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_every_bar_comes_once(seed):
    """From the front or the end, inclusive or not, with holes, in any order, with flawed pages."""
    got, expected = read_world(*draw_world(np.random.default_rng(seed)))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("limit", [50, 200, 1000])
def test_years_before_a_listing_cost_few_calls(limit):
    """Days show where minutes are, where a page is bounded by the limit that was asked for."""
    times = START_MS + YEARS_MS + STEP_MS * np.arange(777)
    world = World(times, limit, limit, "end", "limit", has_days=True)
    got, expected = read_world(world, START_MS, int(times[-1]) + 1)
    np.testing.assert_array_equal(got, expected)
    assert world.calls < 400


def test_days_that_are_none_are_not_believed():
    """An exchange that answers minutes whatever it is asked for is read to its last bar."""
    times = START_MS + STEP_MS * np.r_[np.arange(90), np.arange(5000, 5100)]
    world = World(times, 30, 30, "end", "limit")

    def ask_days(since_ms, limit, until_ms):
        within = times[(times >= since_ms) & (times < since_ms + limit * DAY_MS)]
        return make_rows(within[-30:])

    days = PageReader(ask_days, DAY_MS, 30)
    reader = PageReader(world.ask, STEP_MS, 30, days)
    got = np.concatenate(list(reader.pages(START_MS, int(times[-1]) + 1)))
    np.testing.assert_array_equal(got, make_rows(times))


def test_two_bars_of_one_time_that_differ_are_refused():
    """Either may be the later one, and nothing says which."""

    def ask(since_ms, limit, until_ms):
        return np.array([[START_MS, 1, 1, 1, 1, volume] for volume in (5.0, 6.0)])

    with pytest.raises(FetchError, match="two bars of 2024-01-01T00:00 differ"):
        list(PageReader(ask, STEP_MS, 500).pages(START_MS, START_MS + DAY_MS))
