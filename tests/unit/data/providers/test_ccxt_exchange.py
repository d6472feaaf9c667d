"""Bars through ccxt's own client, from a fake exchange on loopback."""

import sys

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.errors import FetchError, LimitError, SourceError
from data.providers import PROVIDERS, ccxt_exchange
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
    assert len(load_bars("ccxt:binance:BTC/USDT:1h:2024-01-01")) == 100


def test_a_hole_in_the_market_is_a_gap(monkeypatch):
    """Fetching goes on behind it, however long it is."""
    fake = FakeExchange(2000, hole=(100, 1300))
    with serve_exchange(fake) as open_exchange:
        monkeypatch.setattr(ccxt_exchange, "open_exchange", open_exchange)
        bars = load_bars(SPEC)
    assert len(bars) == IN_RANGE - 1200
    assert bars.gaps().missing_bars == 1200


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_a_passing_fault_is_retried(exchange, waits, status):
    """The bars are the same, and waits grow: half a second to one, then one to two."""
    exchange.faults = [(status, b"busy")] * 2
    assert len(load_bars(SPEC)) == IN_RANGE
    first, second = (wait for wait in waits if wait >= 0.5)
    assert first <= 1 <= second <= 2


def test_a_fault_that_stays_ends_it(exchange, waits):
    """After a bounded number of attempts, with the exchange's own words on one line."""
    exchange.faults = [(503, b"<html>\nmaintenance</html>")] * 20
    with pytest.raises(
        FetchError, match=r"binance: ExchangeNotAvailable: .* after 8 tries; .* data fetch 'ccxt:bi"
    ) as caught:
        load_bars(SPEC)
    assert "\n" not in str(caught.value)
    assert 60 <= sum(wait for wait in waits if wait >= 0.5) <= 123


def test_a_refusal_is_not_repeated(exchange, waits):
    """What the exchange will not do, it will not do later."""
    exchange.faults = [(400, {"code": -1100, "msg": "Illegal characters"})]
    with pytest.raises(FetchError, match="Illegal characters"):
        load_bars(SPEC)
    assert [wait for wait in waits if wait >= 1] == []


ANSWERS = [b"", b"[[17", b"<html>hello</html>", b"[" * 100_000]


@pytest.mark.parametrize("answer", ANSWERS, ids=["empty", "cut", "page", "nested"])
def test_an_answer_that_is_none_is_refused(exchange, waits, answer):
    """A cut page and a page of another kind are no bars."""
    exchange.faults = [(200, answer)] * 20
    with pytest.raises(FetchError):
        load_bars(SPEC)


def test_an_exchange_that_gives_old_bars_only_is_not_asked_for_ever(exchange):
    """Each page is asked for once, however little comes of it."""
    exchange.rows = exchange.rows[:10]
    late = [[*row, 0, "1", 1, "1", "1", "0"] for row in exchange.rows]
    exchange.faults = [(200, late)] * 50
    assert len(load_bars(SPEC)) == 10
    assert 50 - len(exchange.faults) <= 8


def test_bars_that_begin_late_are_told(exchange):
    """A market that was listed later, or an exchange that keeps the newest bars only."""
    exchange.rows = exchange.rows[700:]
    assert "bars begin at 2024-01-30T04:00, later than was asked for" in load_bars(SPEC).notes


def test_pages_that_overlap_give_each_bar_once(exchange):
    """Bars that were given already are passed over."""
    early = [[*row, 0, "1", 1, "1", "1", "0"] for row in exchange.rows]
    exchange.faults = [(200, early[:300]), (200, early[:700])]
    assert len(load_bars(SPEC)) == IN_RANGE


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("binance", "must look like ccxt:EXCHANGE:SYMBOL"),
        ("binance:BTC/USDT:1h", "must look like"),
        ("binanse:BTC/USDT:1h:2024-01-01", "no exchange 'binanse'; did you mean 'binance'"),
        ("binance:BTC/USDT:1h:2024-02-01:2024-01-01", "the range is empty"),
        ("binance:BTC/USDT:1h:2099-01-01", "lies in the future"),
        ("binance:BTC/USDT:1h:2024-13-01", "'2024-13-01' is no day"),
        ("binance:BTC/USTD:1h:2024-01-01:2024-02-01", "no market 'BTC/USTD'; did you mean 'BTC/U"),
        ("binance:BTC/USDT:7h:2024-01-01:2024-02-01", "no bars of 7h; it has"),
        ("binance:BTC/USDT:1h:2030-01-01", "lies in the future"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(exchange, address, words):
    """Before any bar is asked for, with the nearest name."""
    with pytest.raises(SourceError, match=words):
        load_bars(f"ccxt:{address}")
    assert exchange.asked == []


def test_a_range_without_bars_is_refused(exchange):
    """Before a market began there is nothing."""
    exchange.rows = []
    with pytest.raises(SourceError, match="has no bars of BTC/USDT then"):
        load_bars(SPEC)


def test_a_range_above_the_cap_is_refused_before_it_is_fetched(exchange):
    """What it may hold is known from its ends."""
    with pytest.raises(LimitError, match=r"up to 1440 bars take 69120 bytes, .*--max-bytes"):
        load_bars(SPEC, LoadOptions(max_bytes=69_119))
    assert exchange.asked == []


def test_missing_numbers_break_the_law(exchange):
    """Null is not zero."""
    exchange.rows[3][4] = None
    with pytest.raises(Exception, match="missing or not finite: row 3"):
        load_bars(SPEC)


def test_symbols_with_a_colon_are_understood():
    """A perpetual is named after what it settles in."""
    address = "binance:BTC/USDT:USDT:1h:2024-01-01:2024-02-01"
    address_parts = ccxt_exchange.parse_address(address, 2 * START_MS)
    assert (address_parts.symbol, address_parts.timeframe, address_parts.step_ms) == (
        "BTC/USDT:USDT",
        "1h",
        HOUR_MS,
    )
    assert np.diff([address_parts.start_ms, address_parts.end_ms]).tolist() == [31 * 24 * HOUR_MS]


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    """Naming the source is free; using it needs the extra."""
    monkeypatch.setitem(sys.modules, "ccxt", None)
    monkeypatch.delitem(sys.modules, PROVIDERS["ccxt"].module)
    with pytest.raises(SourceError, match=r"needs the package ccxt.*optimizer\[exchanges\]"):
        load_bars(SPEC)
