"""Fetching from a vendor on loopback through its real client: well, failing, lying, changing."""

import gzip
import os

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.table import FetchOptions
from tests.support.vendor import (
    KEY,
    bomb,
    cut,
    edit_page,
    hanging,
    list_vendor_times,
    make_vendor_bars,
    refused_connection,
    reset,
    send_content,
    status,
)

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
    return command.succeed("data", "fetch", symbol, *arguments, "--json").json


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
    outcome = command.succeed("backtest", "--data", SYMBOL, *span, "--json")
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


FETCH = ("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-03-01")
LONGER = (*FETCH[:-1], "2024-04-01")
TRIES = 8


def list_parts(vendor):
    """Parts in the cache that may still be read, oldest first."""
    parts = sorted(vendor.cache.rglob("*.parquet"))
    return [path for path in parts if path.parent.name not in ("quarantine", "superseded")]


def set_field(name, value):
    """A page in which one field has another value."""
    return edit_page(lambda page: page.__setitem__(name, value))


def change_bars(change):
    """A page whose list of bars is another, the count with it."""

    def apply(page):
        page["results"] = change(page["results"])
        page["resultsCount"] = len(page["results"])

    return edit_page(apply)


def first_bar(**fields):
    """A page of its first bar alone, some fields changed."""
    return change_bars(lambda bars: [{**bars[0], **fields}])


def fails(command, vendor, *, calls):
    """A fetch that ends with code 3 after so many calls and keeps nothing; its line."""
    outcome = command(*FETCH)
    assert (outcome.code, outcome.out) == (3, ""), outcome.err
    assert len(vendor.calls) == calls
    assert list_parts(vendor) == []
    return outcome.error


@pytest.mark.parametrize(("code", "retry_after"), [(429, None), (500, "soon"), (503, 3)])
def test_a_vendor_that_stays_down_ends_the_fetch(command, vendor, code, retry_after):
    """Eight tries with growing waits, or those that are asked for, each on a line; then code 3."""
    vendor.always = status(code, retry_after)
    assert f"{code}" in fails(command, vendor, calls=TRIES)
    assert len(vendor.clock.slept) == TRIES - 1
    if retry_after == 3:
        assert vendor.clock.slept == [3.0] * 7
    else:
        assert 60 <= sum(vendor.clock.slept) <= 123
        assert vendor.clock.slept[-1] > 20 * vendor.clock.slept[0]
    waits = [line for line in command.outcomes[-1].err.splitlines() if "waiting" in line]
    assert len(waits) == sum(seconds >= 1 for seconds in vendor.clock.slept)


def test_failures_that_pass_cost_waits_and_no_bar(command, vendor, monkeypatch):
    """A status, a date that has passed, a broken line, silence, a packed page that was cut."""
    monkeypatch.setattr("data.vendor.client.READ_S", 0.5)
    half = send_content(gzip.compress(b"{}" * 1000)[:-10], "gzip")
    passed = status(503, "Wed, 21 Oct 2015 07:28:00 GMT")
    vendor.fail(passed, half, reset, None, refused_connection, hanging, status(429, retry_after=7))
    outcome = command.succeed(*FETCH, "--json")
    assert "waiting 7 s" in outcome.err
    assert outcome.json["bars"] == 60 * 96
    assert len(vendor.calls) == 2 + 6
    # A date that has passed costs no wait.
    assert len(vendor.clock.slept) == 5


ERROR = {"status": "ERROR", "error": f"no access for {KEY}, sorry"}
FINAL = {
    "unknown key": (status(401, body=ERROR), "no access for (key), sorry"),
    "an hour": (status(429, 3600), "3600 s"),
    **{f"redirect {code}": (status(code, place="http://127.0.0.1:9/elsewhere"), f"{code}")
       for code in (301, 307)},
    "cut json": (cut, "whole JSON"),
    "nested": (send_content(b"[" * 100_000), "whole JSON"),
    "bomb": (bomb, "32,000,000"),
    "coding": (send_content(b"x", "br"), "'br'"),
    "no gzip": (send_content(b"plain", "gzip"), "unpacked"),
    "status": (set_field("status", "ERROR"), "'ERROR'"),
    "other market": (set_field("ticker", "X:BTCUSD"), "'X:BTCUSD'"),
    "count": (set_field("resultsCount", 7), "7 bars and holds 2976"),
    "reversed": (change_bars(lambda bars: bars[::-1]), "rise"),
    "seconds": (first_bar(t=1), "outside"),
    "null": (first_bar(c=None), "c = None"),
    "nan": (first_bar(h=float("nan")), "whole JSON"),
    "elsewhere": (
        change_bars(lambda bars: [{**bar, "t": bar["t"] + 10**10} for bar in bars]), "outside"),
    "whole day": (change_bars(lambda bars: [*bars[:96], *bars[192:]]), "--accept-missing"),
    "no bar, and more": (
        edit_page(lambda page: page.update(results=[], resultsCount=0, next_url="x")), "time"),
}  # fmt: skip
"""Answers that are no bars, and a word of the line that says why."""


@pytest.mark.parametrize(("fault", "word"), FINAL.values(), ids=FINAL)
def test_a_wrong_answer_is_an_error_and_never_bars(command, vendor, fault, word):
    """One call, code 3, the reason, and a cache without a part."""
    vendor.fail(fault)
    assert word in fails(command, vendor, calls=1)
    assert vendor.clock.slept == []


@pytest.mark.parametrize(
    "place", ["http://example.org", "{}/v2/aggs/ticker/X:BTCUSD/range/15/minute/5/9?apiKey=abc", 5]
)
def test_the_address_of_a_next_page_is_not_followed(command, vendor, place):
    """Wherever it leads, the rest is asked for by its time; the key goes to no other host."""
    vendor.page_bases = 30_000

    def mislead(page):
        if "next_url" in page:
            page["next_url"] = place.format(vendor.url) if isinstance(place, str) else place

    vendor.always = edit_page(mislead)
    assert command(*FETCH, "--json").json["bars"] == 60 * 96
    assert [call.path.split("/")[4] for call in vendor.calls] == ["X:ADAUSD"] * 4
    assert not [call for call in vendor.calls if "apikey" in call.path.lower()]


def test_what_a_market_lacks_is_told(command, vendor):
    """A missing bar is a gap, a thin day is noted; a day without any is taken only when asked."""
    vendor.fail(change_bars(lambda bars: [*bars[:7], *bars[8 : 96 * 4 + 40], *bars[96 * 5 :]]))
    vendor.without = ("2024-02-03", "2024-02-04")
    assert "2024-02-03, 2024-02-04" in command.refuse(3, *FETCH)
    result = command(*FETCH, "--accept-missing", "--json").json
    assert (result["gaps"], result["bars missing in gaps"]) == (3, 1 + 56 + 2 * 96)
    lacking, thin = (note for note in result["notes"] if "trading day" in note)
    assert "2024-02-03, 2024-02-04" in lacking
    assert "2024-01-05" in thin
    vendor.without = ()
    assert lacking in command("data", "show", SYMBOL, "--json").json["notes"]


@pytest.mark.parametrize(
    ("place", "damage"),
    [(0, lambda content: content[: len(content) // 2]), (2, lambda content: b""),
     (1, lambda content: content[:900] + bytes([content[900] ^ 1]) + content[901:])],
    ids=["truncated", "empty", "flipped"],
)  # fmt: skip
def test_a_damaged_part_is_set_aside_and_fetched_again(command, vendor, damage, place):
    """One call brings it back, the bars are the same, with a note, and the damage is kept."""
    first = command(*LONGER, "--json").json
    path = list_parts(vendor)[place]
    path.write_bytes(damage(path.read_bytes()))
    again = command.succeed(*LONGER, "--json")
    assert again.json["hash"] == first["hash"]
    assert "set aside" in again.err
    (aside,) = path.parent.glob("quarantine/*")
    assert aside.name.endswith(path.name)
    assert command(*LONGER).code == 0
    assert len(vendor.calls) == 4


def test_rewritten_history_is_shown_and_never_merged(command, vendor):
    """After a split the next month does not fit to the last: code 3, nothing changed on disk."""
    before = command(*FETCH, "--json").json
    parts = list_parts(vendor)
    vendor.factor = 1 / 3
    error = command.refuse(3, *LONGER)
    for words in ("96 of 96", "open of 2024-02-29T00:00", "--refetch"):
        assert words in error
    assert list_parts(vendor) == parts
    assert command(*FETCH, "--json").json["hash"] == before["hash"]
    after = command(*LONGER, "--refetch", "--json").json
    assert after["highest high"] < before["highest high"] / 2
    assert len(list(vendor.cache.rglob("superseded/*"))) == 2
    assert command(*LONGER, "--json").json["hash"] == after["hash"]


def test_delayed_bars_count_long_after_their_day(command, vendor, monkeypatch):
    """A delayed plan serves history; the newest day is refused, for bars may still come."""
    vendor.status = "DELAYED"
    assert command(*FETCH).code == 0

    class Later:
        """The second of March 2024, six in the morning."""

        time_ns = staticmethod(lambda: 1_709_359_200 * 10**9)

    monkeypatch.setattr("data.providers.polygon_api.time", Later)
    assert "--to" in command.refuse(3, *FETCH[:-1], "2024-03-05")
    assert len(list_parts(vendor)) == 2


def test_both_neighbours_of_a_hole_are_compared(command, vendor):
    """What is fetched between two cached months has to go on from one and into the other."""
    command(*FETCH[:-1], "2024-02-01")
    vendor.factor = 2.0
    command(*FETCH[:3], "--from", "2024-03-01", "--to", "2024-04-01")
    for vendor.factor, day in ((1.0, "2024-03-01"), (2.0, "2024-01-31")):
        assert f"open of {day}T00:00" in command.refuse(3, *LONGER)
    assert len(list_parts(vendor)) == 2
