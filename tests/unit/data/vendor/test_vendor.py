"""Vendors: keys and addresses, when a call may be made, days of markets, pages to all bars."""

import base64
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import data
from data.errors import FetchError, SourceError
from data.providers.polygon_api import has_calendar, missing_sessions, session_days
from data.vendor import client
from data.vendor.client import Pace, VendorAccount, check_url, find_account
from data.vendor.paging import PageReader
from tests.support.vendor import FakeClock

KEY = "secret+KEY/1=="
STRANGERS = ("http://api.polygon.io", "https://api.polygon.io:444", "https://api.polygon.io/x",
             "https://api.polygon.io?x=1", "https://api.polygon.io.evil.org", "https://evil.org",
             "https://a:b@api.polygon.io", "http://127.0.0.1@evil.org", "http://localhost",
             "ftp://127.0.0.1", "http://0.0.0.0", "http://192.168.0.1", "127.0.0.1", "",
             "http://127.0.0.1.evil.org")  # fmt: skip


@pytest.fixture
def settings_file(monkeypatch, tmp_path):
    """The file of settings, which is not there, and a key in the older variable."""
    monkeypatch.setattr("data.vendor.client.config_file", lambda: tmp_path / "vendors.toml")
    monkeypatch.setenv("POLYGON_API_KEY", "older-key")
    monkeypatch.delenv("MASSIVE_API_KEY", raising=False)
    return tmp_path / "vendors.toml"


@pytest.mark.parametrize(
    "form", [KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()]
)
def test_a_text_is_freed_of_the_key(form):
    """Plain, as part of an address, and in base64; an account does not show it either."""
    account = VendorAccount(KEY)
    assert KEY not in f"{account!r} {account}"
    assert form.rstrip("=") not in account.redact(f"before {form} after")


def test_the_key_goes_to_the_vendor_and_this_machine_alone():
    """Whatever is not exactly one of them is a stranger."""
    for url in ("https://api.polygon.io", "https://api.massive.com/", "http://127.0.0.1:8080",
                "http://[::1]:9", "https://127.0.0.1"):  # fmt: skip
        assert check_url(url) == url.rstrip("/")
    for url in STRANGERS:
        with pytest.raises(SourceError, match="stranger"):
            check_url(url)


def test_the_key_comes_from_where_it_is_kept(monkeypatch, settings_file):
    """The older variable before the newer, an empty one counts as absent; then the file."""
    monkeypatch.setenv("MASSIVE_API_KEY", "newer-key")
    assert find_account().key == "older-key"
    monkeypatch.setenv("POLYGON_API_KEY", "")
    assert (find_account().key, find_account().calls_per_minute) == ("newer-key", 5)
    monkeypatch.delenv("MASSIVE_API_KEY")
    settings_file.write_text('[polygon]\napi_key = "key-of-a-file"\ncalls_per_minute = 7\n')
    settings_file.chmod(0o600)
    assert (find_account().key, find_account().calls_per_minute) == ("key-of-a-file", 7)
    settings_file.chmod(0o644)
    with pytest.raises(SourceError, match="chmod 600"):
        find_account()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((f'[polygon]\nurl = "{url}"\n', "stranger") for url in STRANGERS[:2]),
        ("[polygon]\nurl = 5\n", "stranger"),
        ("[polygon]\ncalls_per_minute = 0\n", "calls_per_minute"),
        ("[polygon]\ncalls_per_minute = true\n", "calls_per_minute"),
        ("[polygon]\nkey = 'x'\n", "'key'"),
        ("polygon = 3\n", "table"),
        (f"[polygon]\napi_key = '{KEY}\n", "TOML"),
        ("#" * 200_000, "larger"),
        ("a = " + "[" * 5000, "TOML"),
    ],
)
def test_a_wrong_file_of_settings_is_refused(settings_file, text, words):
    """The line names the file and never shows a key; the page that it names has the form."""
    settings_file.write_text(text)
    with pytest.raises(SourceError, match=words) as refused:
        find_account()
    message = str(refused.value)
    assert KEY not in message
    assert str(settings_file) in message or "url" in message
    if words == "TOML":
        page = re.search(r"see (\S+) for its form", message)[1]
        assert "calls_per_minute =" in (Path(data.__file__).parents[1] / page).read_text("utf-8")


@pytest.fixture
def clock(monkeypatch):
    """The clock of the pace."""
    clock = FakeClock()
    monkeypatch.setattr(client, "time", clock)
    return clock


@pytest.mark.parametrize("most", [1, 5, 7])
@pytest.mark.parametrize("busy_s", [0.0, 3.0, 70.0])
def test_no_minute_has_more_calls_than_allowed(clock, most, busy_s):
    """In whatever 60 seconds one looks, there are at most so many; waits are told."""
    made, messages = [], []
    keeper = Pace(most, messages.append)
    for _ in range(40):
        keeper.take()
        made.append(clock.now)
        clock.now += busy_s
    for first, later in zip(made, made[most:], strict=False):
        assert later - first >= 60
    assert bool(messages) == (most * busy_s < 60)


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
@given(seed=st.integers(0, 2**32))
@example(seed=97732)  # one bar, at which a range begins that leaves its first one out
@example(seed=783623)  # an old answer holds the bar at which a range begins that leaves it out
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


def ns(day):
    """The start of a day, or a time in it."""
    return int(np.datetime64(day, "ns").astype(np.int64))


def days(symbol, start, end):
    """Sessions as text."""
    return [str(day) for day in session_days(symbol, ns(start), ns(end))]


YEARS = {2019: 252, 2020: 253, 2021: 252, 2022: 251, 2023: 250, 2024: 252, 2025: 250}
"""Trading days of the New York exchange, as it counts them."""

CLOSED = ("2024-01-01", "2024-01-15", "2024-02-19", "2024-03-29", "2024-05-27", "2024-06-19",
          "2024-07-04", "2024-09-02", "2024-11-28", "2024-12-25", "2022-06-20", "2021-07-05",
          "2021-12-24", "2018-12-05", "2012-10-29", "2025-01-09", "2023-01-02",
          "2024-06-22")  # fmt: skip
"""Full holidays as they were kept, storms and mourning, and weekends."""

OPEN = ("2021-12-31", "2021-06-18", "2024-11-29", "2024-12-24", "2020-04-13")
"""Before a New Year on a Saturday, before Juneteenth was kept, and on short days."""


@pytest.mark.parametrize("symbol", ["SPY", "I:SPX"])
def test_new_york_keeps_its_days(symbol):
    """Holidays, and days of mourning, are left out."""
    kept = days(symbol, "2012-01-01", "2026-01-01")
    counts = {year: sum(day.startswith(f"{year}") for day in kept) for year in YEARS}
    assert counts == YEARS
    assert [day for day in CLOSED if day in kept] == []
    assert [day for day in OPEN if day not in kept] == []


def test_other_markets_keep_theirs():
    """Crypto never rests, currencies on weekends and two days; options trade too rarely."""
    year = ("2024-01-01", "2025-01-01")
    assert len(days("X:BTCUSD", *year)) == 366
    currencies = days("C:EURUSD", *year)
    assert len(currencies) == 260
    assert not {"2024-01-01", "2024-12-25", "2024-01-06"} & set(currencies)
    assert not has_calendar("O:SPY251219C00650000")
    assert days("O:SPY251219C00650000", *year) == []


def test_only_whole_days_are_expected_and_one_bar_is_enough():
    """A range that begins and ends within days counts those between."""
    assert days("X:BTCUSD", "2024-01-01T12:00", "2024-01-04T12:00") == ["2024-01-02", "2024-01-03"]
    at = np.array([ns("2024-01-02T15:00"), ns("2024-01-04T20:59")])
    missing = missing_sessions("AAPL", ns("2024-01-01"), ns("2024-01-06"), at)
    assert [str(day) for day in missing] == ["2024-01-03", "2024-01-05"]
