"""Bars through ccxt's own client, from a fake exchange on loopback."""

import pytest

from data import LoadOptions, load_bars
from data.errors import DataError, FetchError, LimitError, RewrittenError, SourceError
from data.providers import ccxt_exchange
from data.table import FetchOptions
from tests.support.exchange import HOUR_MS, START_MS, FakeExchange, serve_exchange
from tests.support.series import make_bars

SPEC = "ccxt:binance:BTC/USDT:1h:2024-01-01:2024-03-01"
IN_RANGE = 60 * 24


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of its own for each test."""
    monkeypatch.setattr("data.cache.user_cache_path", lambda _: tmp_path)
    return tmp_path


@pytest.fixture
def waits(monkeypatch):
    """Seconds between attempts, noted without a wait."""
    seconds = []
    monkeypatch.setattr(ccxt_exchange.time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def exchange(monkeypatch):
    """A fake exchange with more bars than are asked for."""
    fake = FakeExchange(2000)
    with serve_exchange(fake) as open_exchange:
        monkeypatch.setattr(ccxt_exchange, "open_exchange", open_exchange)
        yield fake


def test_pages_are_joined_to_the_whole_range(exchange):
    """Every bar once, from the first day up to the last, which does not count."""
    bars = load_bars(SPEC)
    assert bars.content_hash == make_bars(IN_RANGE, step_ns=HOUR_MS * 10**6).content_hash
    assert (bars.symbol, bars.timeframe, bars.source) == ("BTC/USDT", "1h", SPEC)
    assert exchange.asked == [START_MS, START_MS + HOUR_MS * 1000]
    assert bars.notes[0].startswith("fetched from binance through ccxt ")


def test_a_bar_that_has_not_closed_does_not_count(exchange, monkeypatch):
    """Half an hour into a bar, it is not there yet."""
    now_ms = START_MS + 100 * HOUR_MS + HOUR_MS // 2
    monkeypatch.setattr(ccxt_exchange.time, "time", lambda: now_ms / 1000)
    bars = load_bars("ccxt:binance:BTC/USDT:1h:2024-01-01")
    assert len(bars) == 100
    assert "the bar of 2024-01-05T04:00 is still open, and is left out" in bars.notes


@pytest.mark.parametrize("fault", [(429, b"busy"), (500, b"busy"), (200, b"[[17")])
def test_a_passing_fault_is_retried(exchange, waits, fault):
    """The bars are the same, and waits grow: half a second to one, then one to two."""
    exchange.faults = [fault] * 2
    assert len(load_bars(SPEC)) == IN_RANGE
    first, second = (wait for wait in waits if wait >= 0.5)
    assert first <= 1 <= second <= 2


def test_a_fault_that_stays_ends_it(exchange, waits):
    """After a bounded number of attempts, with the exchange's own words on one line."""
    exchange.faults = [(503, b"<html>\nmaintenance</html>")] * 20
    with pytest.raises(FetchError, match=r"ExchangeNotAvailable: .* data fetch ccxt:") as caught:
        load_bars(SPEC)
    assert "\n" not in str(caught.value)
    assert 60 <= sum(wait for wait in waits if wait >= 0.5) <= 123


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("binanse:BTC/USDT:1h:2024-01-01", "'binance'"),
        ("binance:BTC/USDT:1h:2024-02-01:2024-01-01", "empty"),
        ("binance:BTC/USTD:1h:2024-01-01:2024-02-01", "'BTC/USDT'"),
        ("binance:BTC/USDT:7h:2024-01-01:2024-02-01", "7h"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(exchange, address, words):
    """Before any bar is asked for, with the nearest name."""
    with pytest.raises(SourceError, match=words):
        load_bars(f"ccxt:{address}")
    assert exchange.asked == []


def test_a_range_without_bars_or_above_the_cap_is_refused(exchange):
    """What it may hold is known from its ends; null is not zero."""
    with pytest.raises(LimitError, match=r"1440 bars .*--max-bytes"):
        load_bars(SPEC, LoadOptions(max_bytes=69_119))
    assert exchange.asked == []
    exchange.rows[3][4] = None
    with pytest.raises(DataError, match="row 3"):
        load_bars(SPEC)
    exchange.rows = []
    with pytest.raises(SourceError, match="no bars of BTC/USDT"):
        load_bars("ccxt:binance:BTC/USDT:1h:2024-03-01:2024-04-01")


def test_the_wait_that_is_asked_for_is_kept(exchange, waits, caplog):
    """Retry-After counts, with a line; one of an hour ends the fetch and is named."""
    caplog.set_level("INFO")
    exchange.faults = [(429, b"slow down", ("Retry-After", "7"))]
    assert len(load_bars(SPEC)) == IN_RANGE
    assert 7.0 in waits
    assert "waiting 7 s: DDoSProtection" in caplog.text
    exchange.faults = [(418, b"banned", ("Retry-After", "3600"))] * 9
    with pytest.raises(FetchError, match="it asks to wait 3600 s; pages that came are kept"):
        load_bars(SPEC)
    assert len(exchange.faults) == 8


@pytest.fixture
def broken_off(exchange, waits, caplog):
    """An exchange that failed behind its ninth page, and answers again."""
    caplog.set_level("INFO")
    exchange.cap, answer = 100, exchange.answer
    exchange.answer = lambda *q: answer(*q) if len(exchange.asked) < 9 else (503, b"down")
    with pytest.raises(FetchError):
        load_bars(SPEC)
    exchange.answer, exchange.asked = answer, []
    return exchange


def test_a_fetch_that_failed_goes_on_behind_its_pages(broken_off, caplog):
    """The last page is asked for again, and the bars are those of an unbroken fetch."""
    whole = make_bars(IN_RANGE, step_ns=HOUR_MS * 10**6).content_hash
    assert load_bars(SPEC).content_hash == whole
    assert broken_off.asked[0] == START_MS + 800 * HOUR_MS
    assert "going on from 2024-02-03T08:00" in caplog.text


def test_pages_of_another_market_are_dropped(broken_off, caplog, cache):
    """Bars that changed since are all fetched anew, with a note, and nothing is mixed."""
    assert list(cache.rglob("*.pages"))
    broken_off.rows = [[row[0], "2", "3", "1", "2", "9"] for row in broken_off.rows]
    bars = load_bars(SPEC)
    assert (len(bars), set(bars.volume)) == (IN_RANGE, {9.0})
    assert "not the same any more: all are fetched anew" in caplog.text
    assert not list(cache.rglob("*.pages"))


def test_a_kept_bar_that_reaches_beyond_a_range_does_not_count(monkeypatch):
    """The week of the last of January ends in February."""
    week_ms = 7 * 24 * HOUR_MS
    with serve_exchange(FakeExchange(30, step_ms=week_ms)) as open_exchange:
        monkeypatch.setattr(ccxt_exchange, "open_exchange", open_exchange)
        assert len(load_bars("ccxt:binance:BTC/USDT:1w:2024-01-01:2024-06-03")) == 22
    offline = LoadOptions(fetch=FetchOptions(may_fetch=False))
    bars = load_bars("ccxt:binance:BTC/USDT:1w:2024-01-01:2024-02-01", offline)
    assert bars.timestamp.tolist() == [10**6 * (START_MS + k * week_ms) for k in range(4)]


def test_whole_months_are_kept(monkeypatch):
    """They are asked for once, the rest each time; what does not go on from them is refused."""
    fake = FakeExchange(70 * 96, step_ms=900_000)
    with serve_exchange(fake) as open_exchange:
        monkeypatch.setattr(ccxt_exchange, "open_exchange", open_exchange)
        spec = "ccxt:binance:BTC/USDT:15m:2024-01-15:2024-03-02"
        first = load_bars(spec)
        assert len(first) == 47 * 96
        fake.asked = []
        assert load_bars(spec).content_hash == first.content_hash
        assert len(fake.asked) < 5
        fake.rows = [[row[0], "2", "3", "1", "2", "9"] for row in fake.rows]
        with pytest.raises(RewrittenError, match="--refetch"):
            load_bars(spec)
        ccxt_exchange.fetch(spec.removeprefix("ccxt:"), LoadOptions(), print, refetch=True)
        assert set(load_bars(spec).volume) == {9.0}


NOTED = {
    "early": (slice(700), "bars end at 2024-01-30T04:00, earlier than requested"),
    "other": (slice(None, None, 4), "bars of 1h were requested, and 359 of 359 steps between bars"),
}


@pytest.mark.parametrize(("kept", "note"), NOTED.values(), ids=NOTED)
def test_what_is_not_as_it_was_asked_for_is_noted(exchange, kept, note):
    """The duration is that of the address all the same."""
    exchange.rows = exchange.rows[kept]
    bars = load_bars(SPEC)
    assert bars.timeframe == "1h"
    assert [line for line in bars.notes if line.startswith(note)]
