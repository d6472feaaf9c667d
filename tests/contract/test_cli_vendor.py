"""Fetching from a vendor on loopback through its real client: what goes well (faults, B)."""

import json
import os
import threading

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.providers import polygon_api
from data.table import FetchOptions
from tests.support.commands import SMALL
from tests.support.vendor import list_vendor_times, make_vendor_bars, status

pytestmark = pytest.mark.slow

SYMBOL = "polygon:X:ADAUSD"
SPAN = ("--from", "2024-01-01", "--to", "2024-03-11")
DAY_NS = 86_400 * 10**9


@pytest.fixture(params=["polygon", "massive"])
def client(request, monkeypatch):
    """Each of the vendor's clients that is installed."""
    pytest.importorskip(request.param)
    monkeypatch.setattr("data.vendor.client.CLIENTS", (request.param,))


def load_cached(spec=SYMBOL, timeframe="15m", **fetch):
    """Bars of a range of 2024 that is in the cache."""
    start, end = fetch.pop("start", "2024-01-01"), fetch.pop("end", "2024-03-11")
    return load_bars(spec, LoadOptions(timeframe, fetch=FetchOptions(start, end, **fetch)))


def test_fetch_brings_what_the_vendor_has(command, vendor):
    """Every bar of the range arrives, to the last bit, and what is printed counts them."""
    outcome = command("data", "fetch", SYMBOL, *SPAN, "--json")
    assert outcome.code == 0, outcome.err
    times = list_vendor_times("X:ADAUSD", 1_704_067_200_000, 1_710_115_199_999, 900_000)
    assert outcome.json["bars"] == len(times) == 70 * 96
    bars = load_cached()
    expected = make_vendor_bars(times)
    np.testing.assert_array_equal(times * 10**6, bars.timestamp)
    for column, name in zip(expected, ("open", "high", "low", "close", "volume"), strict=True):
        np.testing.assert_array_equal(column, getattr(bars, name))


def test_a_range_is_asked_for_month_by_month(command, vendor):
    """Three months are three calls, each with the largest limit and from a day back."""
    command("data", "fetch", SYMBOL, *SPAN)
    assert len(vendor.calls) == 3
    assert all("limit=50000" in call.path and "sort=asc" in call.path for call in vendor.calls)
    starts = [int(call.path.split("/")[8]) for call in vendor.calls]
    assert starts == [1_704_067_200_000, 1_706_659_200_000, 1_709_164_800_000]


def test_what_is_cached_is_not_fetched_again(command, vendor, monkeypatch):
    """A second fetch makes no call and needs no key; a longer one fetches only the rest."""
    first = command("data", "fetch", SYMBOL, *SPAN, "--json").json
    calls = len(vendor.calls)
    monkeypatch.delenv("POLYGON_API_KEY")
    assert command("data", "fetch", SYMBOL, *SPAN, "--json").json["hash"] == first["hash"]
    assert len(vendor.calls) == calls
    monkeypatch.setenv("POLYGON_API_KEY", vendor.key)
    longer = ("--from", "2023-12-20", "--to", "2024-03-20")
    assert command("data", "fetch", SYMBOL, *longer).code == 0
    assert len(vendor.calls) == calls + 2


@pytest.mark.parametrize("page_bases", [50_000, 7_000, 1_441])
def test_pages_make_the_same_bars(command, vendor, page_bases):
    """However the vendor cuts its pages, the content hash is one."""
    vendor.page_bases = page_bases
    result = command("data", "fetch", SYMBOL, *SPAN, "--json").json
    vendor.page_bases = 50_000
    again = command("data", "fetch", SYMBOL, *SPAN, "--cache", "other", "--json").json
    assert result["hash"] == again["hash"]


@pytest.mark.parametrize(
    ("timeframe", "multiplier", "timespan"),
    [("1m", 1, "minute"), ("15m", 15, "minute"), ("1h", 1, "hour"), ("4h", 1, "hour"),
     ("45m", 15, "minute"), ("1d", 1, "day"), ("1w", 1, "day"), ("30s", 30, "second")],
)  # fmt: skip
def test_any_timeframe_is_fetched_or_merged(command, vendor, timeframe, multiplier, timespan):
    """What has the vendor's edges is fetched as it is, anything longer is merged from that."""
    span = ("--from", "2024-01-01", "--to", "2024-01-15")
    outcome = command("data", "fetch", SYMBOL, *span, "--timeframe", timeframe, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["timeframe"] == timeframe
    assert f"/range/{multiplier}/{timespan}/" in vendor.calls[0].path


def test_adjustment_is_asked_for_and_recorded(command, vendor):
    """Adjusted and raw prices are two series in the cache, and the notes say which."""
    vendor.factor = 1.0
    adjusted = command("data", "fetch", "polygon:AAPL", *SPAN, "--json").json
    vendor.factor = 3.0
    raw = command("data", "fetch", "polygon:AAPL", *SPAN, "--no-adjusted", "--json").json
    assert "adjusted=true" in vendor.calls[0].path
    assert "adjusted=false" in vendor.calls[-1].path
    assert adjusted["hash"] != raw["hash"]
    assert any("prices adjusted for splits" in note for note in adjusted["notes"])
    assert any("prices not adjusted for splits" in note for note in raw["notes"])


def test_an_index_has_no_volume(command, vendor):
    """Its pages name none, which is an error for anything that is traded."""

    def without_volume(handler, reply):
        bars = [{name: bar[name] for name in "tohlc"} for bar in reply["results"]]
        handler.send_json(200, {**reply, "results": bars})

    vendor.always = without_volume
    result = command("data", "fetch", "polygon:I:SPX", *SPAN, "--json").json
    assert result["bars without volume"] == result["bars"] > 0
    outcome = command("data", "fetch", "polygon:SPY", *SPAN)
    assert outcome.code == 3
    assert "has v = None" in outcome.error


def test_bars_are_checked_and_kept_like_those_of_a_file(command, vendor):
    """The other commands that take sources take this one."""
    command("data", "fetch", SYMBOL, *SPAN)
    assert command("data", "check", SYMBOL).code == 0
    assert command("data", "import", SYMBOL, "--into", "kept").code == 0
    kept = command("data", "show", "kept", "--json").json
    assert kept["hash"] == load_cached().content_hash


def test_stocks_keep_the_days_of_new_york(command, vendor):
    """Weekends and holidays are no missing sessions: the first quarter of 2024 has 61 days."""
    span = ("--from", "2024-01-01", "--to", "2024-04-01")
    outcome = command("data", "fetch", "polygon:SPY", *span, "--json", "--timeframe", "1h")
    assert outcome.code == 0, outcome.err
    bars = load_cached("polygon:SPY", "1h", end="2024-04-01")
    assert len(np.unique(bars.timestamp // DAY_NS)) == 61


@pytest.mark.parametrize("form", ["environment", "other", "file"])
def test_the_key_comes_from_where_it_is_kept(command, vendor, monkeypatch, form):
    """Either variable serves, and so does a file that only its owner can read."""
    monkeypatch.delenv("POLYGON_API_KEY")
    if form == "environment":
        monkeypatch.setenv("POLYGON_API_KEY", vendor.key)
    elif form == "other":
        monkeypatch.setenv("MASSIVE_API_KEY", vendor.key)
    else:
        vendor.settings.write_text(
            vendor.settings.read_text() + f"api_key = {json.dumps(vendor.key)}\n"
        )
        vendor.settings.chmod(0o600)
    assert command("data", "fetch", SYMBOL, *SPAN).code == 0
    vendor.settings.unlink()


def test_a_missing_key_is_explained(command, vendor, monkeypatch):
    """The line names both variables and the file, and no call is made."""
    monkeypatch.delenv("POLYGON_API_KEY")
    outcome = command("data", "fetch", SYMBOL, *SPAN)
    assert outcome.code == 2
    assert "POLYGON_API_KEY or MASSIVE_API_KEY" in outcome.error
    assert str(vendor.settings) in outcome.error
    assert vendor.calls == []


def test_the_plan_is_kept_and_the_wait_is_seen(command, vendor):
    """Five calls a minute: the sixth waits, and a line has the seconds and the reason."""
    vendor.settings.write_text(f'[polygon]\nurl = "{vendor.url}"\n')
    span = ("--from", "2024-01-01", "--to", "2024-08-01")
    outcome = command("data", "fetch", SYMBOL, *span)
    assert outcome.code == 0, outcome.err
    assert len(vendor.calls) == 7
    assert vendor.clock.slept == [pytest.approx(60, abs=1)]
    assert "waiting 60 s: the plan allows 5 calls a minute" in outcome.err


def test_the_time_left_knows_the_plan(command, vendor):
    """Before the first of seven calls it is a minute and some seconds, and at the end nothing."""
    vendor.settings.write_text(f'[polygon]\nurl = "{vendor.url}"\n')
    steps = []
    fetch = FetchOptions("2024-01-01", "2024-08-01")
    polygon_api.fetch("X:ADAUSD", LoadOptions("15m", fetch=fetch), steps.append)
    assert [step.done for step in steps if not step.note] == list(range(8))
    assert steps[0].left_s == pytest.approx(62, abs=1)
    assert steps[-1].left_s == 0
    (waiting,) = (step for step in steps if step.note)
    assert waiting.left_s == pytest.approx(60, abs=1)


def test_evolve_fetches_and_then_reads_the_cache(command, vendor):
    """A search on a vendor's bars is one command; the second one makes no call."""
    span = ("--from", "2024-01-01", "--to", "2024-02-15")
    arguments = ("--data", SYMBOL, *span, *SMALL, "--json", "--quiet")
    first = command("evolve", *arguments)
    assert first.code == 0, first.err
    assert first.json["data"]["symbol"] == "X:ADAUSD"
    calls = len(vendor.calls)
    again = command("evolve", *arguments)
    assert again.json["front_hash"] == first.json["front_hash"]
    assert len(vendor.calls) == calls


def test_a_search_that_fetches_names_its_waits(command, vendor):
    """How much is fetched, how long it takes, and the wait for the plan, on stderr."""
    vendor.settings.write_text(f'[polygon]\nurl = "{vendor.url}"\n')
    span = ("--from", "2024-01-01", "--to", "2024-08-01", "--timeframe", "1h")
    outcome = command("backtest", "--data", SYMBOL, *span)
    assert outcome.code == 0, outcome.err
    assert "note: X:ADAUSD 1h: fetching 7 pieces, 1:02 left\n" in outcome.err
    assert "note: X:ADAUSD 1h: waiting 60 s: the plan allows 5 calls a minute\n" in outcome.err
    again = command("backtest", "--data", SYMBOL, *span)
    assert "fetching" not in again.err


def test_without_a_range_nothing_is_guessed(command, vendor):
    """An empty cache and no --from is refused with the flag; a filled one is read as it is."""
    outcome = command("evolve", "--data", SYMBOL, *SMALL)
    assert (outcome.code, vendor.calls) == (2, [])
    assert "nothing is cached; --from" in outcome.error
    fetched = command("data", "fetch", SYMBOL, *SPAN, "--json").json
    calls = len(vendor.calls)
    shown = command("data", "show", SYMBOL, "--json").json
    assert shown["hash"] == fetched["hash"]
    assert len(vendor.calls) == calls


def test_two_who_fetch_one_series_share_one_fetch(command, vendor):
    """One asks the vendor, the other waits and finds the parts; both have the same bars."""
    hashes, barrier = [], threading.Barrier(2)

    def fetch():
        barrier.wait()
        hashes.append(load_cached().content_hash)

    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hashes) == 2
    assert len(set(hashes)) == 1
    assert len(vendor.calls) == 3


def test_doctor_says_where_the_key_is_and_what_is_cached(command, vendor, monkeypatch):
    """The place of the key, never the key; the folder of the cache with its series."""
    command("data", "fetch", SYMBOL, *SPAN)
    result = command("doctor", "--json").json
    assert result["key of polygon"] == "in POLYGON_API_KEY"
    assert result["rows of own indicators"] == f"{vendor.cache}/own_rows, 0.0 MB"
    assert result["cache of bars"].startswith(f"{vendor.cache}, 1 series, 0.")
    monkeypatch.delenv("POLYGON_API_KEY")
    assert "polygon needs a key" in command("doctor", "--json").json["key of polygon"]


def test_without_a_client_it_is_said_what_to_install(command, vendor, monkeypatch):
    """The line names the package."""
    monkeypatch.setattr("data.vendor.client.CLIENTS", ("no_such_client",))
    outcome = command("data", "fetch", SYMBOL, *SPAN)
    assert outcome.code == 2
    assert "pip install polygon-api-client" in outcome.error


@pytest.mark.parametrize(
    ("span", "words"),
    [(("--from", "yesterday"), "--from 'yesterday' is no time"),
     (("--from", "2024-02-01", "--to", "2024-01-01"), "no day lies from"),
     (("--from", "2100-01-01"), "no day lies from"),
     (("--from", "2024-01-01", "--timeframe", "1y"), "is not a duration"),
     (("--from", "2024-01-01", "--to", "2024-02-01", "--max-bytes", "1000"), "--max-bytes 1000")],
    ids=["no_time", "reversed", "future", "timeframe", "bytes"],
)  # fmt: skip
def test_a_range_that_makes_no_sense_is_refused(command, vendor, span, words):
    """Code 2 and the reason."""
    outcome = command("data", "fetch", SYMBOL, *span)
    assert outcome.code == 2
    assert words in outcome.error


def test_many_symbols_and_held_out_bars_come_from_the_vendor_too(command, vendor):
    """Two series, one search, a result on bars that it never saw."""
    symbols = ("--data", SYMBOL, "--data", "polygon:X:BTCUSD")
    span = ("--from", "2024-01-01", "--to", "2024-03-01", "--holdout", "20%")
    outcome = command("evolve", *symbols, *span, *SMALL, "--json", "--quiet")
    assert outcome.code == 0, outcome.err
    assert outcome.json["certificate"]["mismatches"] == 0
    assert outcome.json["data"]["held_out_bars"] > 2000


def test_only_vendors_are_fetched(command, vendor):
    """A file needs no fetching, with an error."""
    assert command("data", "fetch", "sample").code == 2


@pytest.mark.parametrize("symbol", ["", "../../x", "X:BTC/USD", "a b", "Z:X", "é", "A" * 50, "X:"])
def test_what_is_no_symbol_is_refused(command, vendor, symbol):
    """No address and no path is made of it."""
    outcome = command("data", "fetch", f"polygon:{symbol}", *SPAN)
    assert outcome.code == 2
    assert "is no symbol" in outcome.error
    assert vendor.calls == []
    assert os.listdir() == []


def test_progress_goes_on_after_a_failure_that_passes(command, vendor):
    """A wait is one line with its reason, and the bars are the same."""
    vendor.fail(status(503), None, status(429, retry_after=7))
    outcome = command("data", "fetch", SYMBOL, *SPAN, "--json")
    assert outcome.code == 0, outcome.err
    assert "waiting 7 s: status 429, try 1 of 8" in outcome.err
    assert outcome.json["bars"] == 6720
