"""Fetching from a vendor on loopback through its real client: what goes well, and the key."""

import os

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.table import FetchOptions
from tests.support.vendor import KEY, list_vendor_times, make_vendor_bars, status

pytestmark = pytest.mark.slow

SYMBOL = "polygon:X:ADAUSD"
SPAN = ("--from", "2024-01-01", "--to", "2024-03-11")
MONTH = ("--from", "2024-01-01", "--to", "2024-02-01")


def load_cached():
    """Bars of the range, which the cache has."""
    fetch = FetchOptions("2024-01-01", "2024-03-11")
    return load_bars(SYMBOL, LoadOptions("15m", fetch=fetch))


def fetch(command, *arguments, symbol=SYMBOL):
    """What a fetch that goes well prints as JSON."""
    outcome = command("data", "fetch", symbol, *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json


@pytest.mark.parametrize("client", ["polygon", "massive"])
def test_fetch_brings_what_the_vendor_has_once(command, vendor, monkeypatch, client):
    """Every bar to the last bit, month by month from a day back; then only what is missing."""
    monkeypatch.setattr("data.vendor.client.CLIENTS", (client,))
    first = fetch(command, *SPAN)
    times = list_vendor_times("X:ADAUSD", 1_704_067_200_000, 1_710_115_199_999, 900_000)
    assert first["bars"] == len(times) == 70 * 96
    bars = load_cached()
    np.testing.assert_array_equal(times * 10**6, bars.timestamp)
    names = ("open", "high", "low", "close", "volume")
    for column, name in zip(make_vendor_bars(times), names, strict=True):
        np.testing.assert_array_equal(column, getattr(bars, name))
    assert all("limit=50000" in call.path and "sort=asc" in call.path for call in vendor.calls)
    starts = [int(call.path.split("/")[8]) for call in vendor.calls]
    assert starts == [1_704_067_200_000, 1_706_659_200_000, 1_709_164_800_000]
    monkeypatch.delenv("POLYGON_API_KEY")
    assert fetch(command, *SPAN)["hash"] == first["hash"]
    assert command("data", "show", SYMBOL, "--json").json["hash"] == first["hash"]
    assert len(vendor.calls) == 3
    monkeypatch.setenv("POLYGON_API_KEY", vendor.key)
    fetch(command, "--from", "2023-12-20", "--to", "2024-03-20")
    assert len(vendor.calls) == 5
    # However the vendor cuts its pages.
    vendor.page_bases = 7_000
    assert fetch(command, *SPAN, "--cache", "other")["hash"] == first["hash"]


@pytest.mark.parametrize(
    ("timeframe", "end", "asked"),
    [("45m", "04", "15/minute"), ("1w", "15", "1/day"), ("30s", "02", "30/second")],
)  # fmt: skip
def test_any_timeframe_is_fetched_or_merged(command, vendor, timeframe, end, asked):
    """What has the vendor's edges is fetched as it is, anything longer is merged from that."""
    shown = fetch(command, "--from", "2024-01-01", "--to", f"2024-01-{end}", "--timeframe",
                  timeframe)  # fmt: skip
    assert shown["timeframe"] == timeframe
    assert f"/range/{asked}/" in vendor.calls[0].path


def test_a_command_fetches_at_the_pace_of_the_plan_and_says_so(command, vendor):
    """Five calls a minute: the sixth waits, with its reason; the second command makes no call."""
    vendor.settings.write_text(f'[polygon]\nurl = "{vendor.url}"\n')
    span = ("--from", "2024-01-01", "--to", "2024-08-01", "--timeframe", "1h")
    outcome = command("backtest", "--data", SYMBOL, *span, "--json")
    assert outcome.code == 0, outcome.err
    assert len(vendor.calls) == 7
    assert vendor.clock.slept == [pytest.approx(60, abs=1)]
    notes = [line for line in outcome.err.splitlines() if "X:ADAUSD 1h" in line]
    assert [("0 of 213" in line, "waiting 60 s" in line) for line in notes] == [
        (True, False), (False, True),
    ]  # fmt: skip
    again = command("backtest", "--data", SYMBOL, *span, "--json")
    assert again.json["metrics"] == outcome.json["metrics"]
    assert (len(vendor.calls), "days" in again.err) == (7, False)


REFUSED = {
    "no range": ((), "--from"),
    "reversed": (("--from", "2024-02-01", "--to", "2024-01-01"), "no day"),
    "future": (("--from", "2100-01-01"), "no day"),
    "timeframe": ((*MONTH, "--timeframe", "1y"), "duration"),
    **{f"symbol {symbol!a}": ((*MONTH, symbol), "symbol")
       for symbol in ("", "../../x", "Z:X", "é", "A" * 50)},
}  # fmt: skip
"""Flags, the last of them a symbol where it holds no dash, and a word of the refusal."""


@pytest.mark.parametrize(("flags", "word"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_asked_for_is_refused(command, vendor, flags, word):
    """Code 2; no call is made, and neither address nor path is made of a symbol."""
    has_symbol = word == "symbol"
    symbol = f"polygon:{flags[-1]}" if has_symbol else SYMBOL
    outcome = command("data", "fetch" if flags else "show", symbol, *flags[: -has_symbol or None])
    assert (outcome.code, vendor.calls, os.listdir()) == (2, [], [])
    assert word in outcome.error


def test_the_key_travels_in_one_header_only(command, vendor):
    """Every call has it there; neither address, another header nor a traceback holds it."""
    fetch(command, *MONTH)
    vendor.always = status(401, body={"error": f"bad {KEY}"})
    outcome = command("data", "fetch", "polygon:X:BTCUSD", *MONTH, "--debug")
    assert outcome.code == 3
    assert "Traceback" in outcome.err
    assert vendor.url not in outcome.err
    for call in vendor.calls:
        assert call.headers.pop("authorization") == f"Bearer {KEY}"
        assert KEY not in f"{call.path} {call.headers}"


@pytest.mark.parametrize("key", ["short", "new\nline-in-it", "kéy-kéy-kéy"])
def test_what_is_no_key_is_refused_unseen(command, vendor, monkeypatch, key):
    """It is neither sent nor shown."""
    monkeypatch.setenv("POLYGON_API_KEY", key)
    outcome = command("data", "fetch", SYMBOL, *MONTH)
    assert (outcome.code, vendor.calls) == (2, [])
    assert key not in outcome.err


def test_adjustment_is_asked_for_and_recorded(command, vendor):
    """Adjusted and raw prices are two series in the cache, and the notes say which."""
    adjusted = fetch(command, *MONTH, symbol="polygon:AAPL")
    vendor.factor = 3.0
    raw = fetch(command, *MONTH, "--no-adjusted", symbol="polygon:AAPL")
    for shown, call, value, words in (
        (adjusted, 0, "true", "prices adjusted"), (raw, -1, "false", "prices not adjusted"),
    ):  # fmt: skip
        assert f"adjusted={value}" in vendor.calls[call].path
        assert any(words in note for note in shown["notes"])
    assert adjusted["hash"] != raw["hash"]
