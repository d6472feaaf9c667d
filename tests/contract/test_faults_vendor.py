"""A vendor that fails, lies or changes its mind, and a cache that was damaged (faults, B)."""

import os

import pytest

from data.files import name_draft
from tests.support.vendor import (
    KEY,
    bomb,
    cut,
    edit_page,
    flood,
    hanging,
    refused_connection,
    reset,
    send_content,
    status,
)

pytestmark = pytest.mark.slow

SYMBOL = "polygon:X:ADAUSD"
SPAN = ("--from", "2024-01-01", "--to", "2024-03-01")
FETCH = ("data", "fetch", SYMBOL, *SPAN)
TRIES = 8


def list_parts(vendor):
    """Names of the parts in the cache, oldest first."""
    return sorted(path.name for path in vendor.cache.rglob("*.parquet") if is_live(path))


def is_live(path):
    """Whether a part may still be read."""
    return path.parent.name not in ("quarantine", "superseded")


def list_months(names):
    """Starts of parts, in seconds."""
    return [int(name.split("_")[0]) for name in names]


def set_field(name, value):
    """A page in which one field has another value."""
    return edit_page(lambda page: page.__setitem__(name, value))


def change_bars(change):
    """A page whose list of bars is another, the count with it."""

    def apply(page):
        page["results"] = change(page["results"])
        page["resultsCount"] = len(page["results"])

    return edit_page(apply)


def twice_in_a_row(bars):
    """The fifth bar stands there twice."""
    return [*bars[:5], bars[4], *bars[5:]]


def fails(command, vendor, *, calls, arguments=FETCH):
    """A fetch that ends with code 3 after so many calls and keeps nothing; its line."""
    outcome = command(*arguments)
    assert outcome.code == 3, outcome.err
    assert outcome.out == ""
    assert len(vendor.calls) == calls
    assert list_parts(vendor) == []
    return outcome.error


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504, 408])
@pytest.mark.parametrize("retry_after", [None, 3, "soon"])
def test_a_vendor_that_stays_down_ends_the_fetch(command, vendor, code, retry_after):
    """Eight tries with growing waits, or those that are asked for, each on a line; then code 3."""
    vendor.always = status(code, retry_after)
    line = fails(command, vendor, calls=TRIES)
    assert f"status {code} after 8 tries" in line
    assert len(vendor.clock.slept) == TRIES - 1
    if retry_after == 3:
        assert vendor.clock.slept == [3.0] * 7
    else:
        assert 60 <= sum(vendor.clock.slept) <= 123
        assert vendor.clock.slept[-1] > 20 * vendor.clock.slept[0]
    waits = [line for line in command.outcomes[-1].err.splitlines() if "waiting" in line]
    assert len(waits) == sum(seconds >= 1 for seconds in vendor.clock.slept)


def test_a_wait_that_is_too_long_is_not_waited(command, vendor):
    """A vendor's wait of an hour is an error at once, whose line names it."""
    vendor.always = status(429, 3600)
    assert "it asks to wait 3600 s" in fails(command, vendor, calls=1)
    assert vendor.clock.slept == []


def test_a_date_to_come_back_at_is_kept(command, vendor):
    """Retry-After may be a date; one that has passed costs no wait."""
    vendor.fail(status(503, "Wed, 21 Oct 2015 07:28:00 GMT"))
    assert command(*FETCH).code == 0
    assert vendor.clock.slept == []


@pytest.mark.parametrize("fault", [reset, refused_connection], ids=["mid_body", "before"])
def test_a_broken_connection_is_tried_again(command, vendor, fault):
    """One break costs one more call; a line that breaks every time ends with code 3."""
    vendor.fail(fault)
    assert command(*FETCH).code == 0
    calls = len(vendor.calls)
    vendor.always = fault
    outcome = command(*FETCH[:3], "--from", "2024-01-01", "--to", "2024-04-01")
    assert outcome.code == 3
    assert len(vendor.calls) == calls + TRIES
    assert len(list_parts(vendor)) == 2


def test_silence_is_a_failure_that_may_pass(command, vendor, monkeypatch):
    """A silent vendor is left after the read limit, and asked again."""
    monkeypatch.setattr("data.vendor.client.READ_S", 2.0)
    vendor.fail(hanging)
    outcome = command(*FETCH)
    assert outcome.code == 0, outcome.err
    assert len(vendor.calls) == 3


def test_a_body_that_drips_is_cut_off(command, vendor, monkeypatch):
    """The limit of one call counts from end to end, whatever trickles in between."""
    monkeypatch.setattr("data.vendor.client.CALL_S", 0.0)
    assert "the answer took more than 0 s" in fails(command, vendor, calls=TRIES)


@pytest.mark.parametrize(("code", "words"), [(401, "does not know this key"), (403, "plan")])
def test_a_refusal_is_final(command, vendor, code, words):
    """No second call, and the vendor's own words without the key that they repeat."""
    vendor.always = status(code, body={"status": "ERROR", "error": f"no access for {KEY}, sorry"})
    line = fails(command, vendor, calls=1)
    assert words in line
    assert "no access for (key), sorry" in line


def test_a_wrong_key_is_not_shown(command, vendor, monkeypatch):
    """The vendor repeats the key that it refuses; the line does not."""
    monkeypatch.setenv("POLYGON_API_KEY", "not-the-canary-key")
    line = fails(command, vendor, calls=1)
    assert "not-the-canary-key" not in command.outcomes[-1].err
    assert "Bearer (key)" in line


def test_a_bad_request_is_not_repeated(command, vendor):
    """What was refused as wrong stays wrong."""
    vendor.always = status(400)
    assert "failed with 400" in fails(command, vendor, calls=1)


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_no_redirect_is_followed(command, vendor, code):
    """Whatever it leads to, the key does not go there."""

    def redirect(handler, reply):
        handler.send_json(code, {}, {"Location": "http://127.0.0.1:9/elsewhere"})

    vendor.always = redirect
    assert f"status {code}" in fails(command, vendor, calls=1)


WRONG_PAGES = {
    "cut json": (cut, "no whole JSON"),
    "html": (send_content(b"<html>Bad gateway</html>"), "no whole JSON, it begins '<html>"),
    "empty": (send_content(b""), "no whole JSON"),
    "list": (send_content(b"[]"), "no JSON object"),
    "nested": (send_content(b"[" * 100_000), "no whole JSON"),
    "no text": (send_content(b"\xff\xfe{}"), "no whole JSON"),
    "bomb": (bomb, "more than 32,000,000 bytes"),
    "flood": (flood, "more than 32,000,000 bytes"),
    "coding": (send_content(b"x", "br"), "packed as 'br'"),
    "no gzip": (send_content(b"plain", "gzip"), "cannot be unpacked"),
    "status": (set_field("status", "ERROR"), "status 'ERROR'"),
    "no status": (set_field("status", None), "status None"),
    "other market": (set_field("ticker", "X:BTCUSD"), "ticker is 'X:BTCUSD'"),
    "not adjusted": (set_field("adjusted", False), "adjusted is False"),
    "count": (set_field("resultsCount", 7), "says 7 bars and holds 2976"),
    "no count": (set_field("resultsCount", None), "says None bars"),
    "no results": (edit_page(lambda page: page.pop("results")), "says 2976 bars and holds 0"),
    "no list": (set_field("results", {}), "is cut"),
    "one short": (edit_page(lambda page: page["results"].pop()), "says 2976 bars and holds 2975"),
    "twice": (change_bars(twice_in_a_row), "do not rise"),
    "reversed": (change_bars(lambda bars: bars[::-1]), "do not rise"),
    "no time": (change_bars(lambda bars: [{**bars[0], "t": None}]), "has the time None"),
    "text time": (change_bars(lambda bars: [{**bars[0], "t": "1"}]), "has the time '1'"),
    "seconds": (change_bars(lambda bars: [{**bars[0], "t": 1}]), "outside of the range"),
    "null": (change_bars(lambda bars: [{**bars[0], "c": None}]), "has c = None"),
    "text": (change_bars(lambda bars: [{**bars[0], "o": "1.5"}]), "has o = '1.5'"),
    "true": (change_bars(lambda bars: [{**bars[0], "v": True}]), "has v = True"),
    "no bar": (change_bars(lambda bars: [3]), "has the time None"),
    "huge": (change_bars(lambda bars: [{**bars[0], "h": 10**400}]), "beyond all measure"),
    "nan": (change_bars(lambda bars: [{**bars[0], "h": float("nan")}]), "no whole JSON"),
    "elsewhere": (
        change_bars(lambda bars: [{**bar, "t": bar["t"] + 10**10} for bar in bars]),
        "outside of the range",
    ),
    "whole day": (change_bars(lambda bars: [*bars[:96], *bars[192:]]), "1 trading day (2024-01"),
    "nothing": (change_bars(lambda bars: []), "31 trading days (2024-01-01, "),
    "no bar, and more": (
        edit_page(lambda page: page.update(results=[], resultsCount=0, next_url="x")),
        "does not go on in time",
    ),
}


@pytest.mark.parametrize(("fault", "words"), WRONG_PAGES.values(), ids=WRONG_PAGES)
def test_a_wrong_page_is_an_error_and_never_bars(command, vendor, fault, words):
    """One call, code 3, the reason, and a cache without a part."""
    vendor.fail(fault)
    assert words in fails(command, vendor, calls=1)


def test_a_gzip_that_is_cut_is_tried_again(command, vendor):
    """A packed answer whose end is missing is no answer."""
    import gzip

    vendor.fail(send_content(gzip.compress(b"{}" * 1000)[:-10], "gzip"))
    assert command(*FETCH).code == 0
    assert len(vendor.calls) == 3


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
    result = command(*FETCH, "--json").json
    assert result["bars"] == 60 * 96
    assert [call.path.split("/")[4] for call in vendor.calls] == ["X:ADAUSD"] * 4
    assert not [call for call in vendor.calls if "apikey" in call.path.lower()]


def test_parts_that_were_verified_stay(command, vendor):
    """The second month fails; the first is kept, and the next fetch asks for the second only."""
    vendor.fail(None, cut)
    assert command(*FETCH).code == 3
    assert list_months(list_parts(vendor)) == [1_704_067_200]
    assert command(*FETCH).code == 0
    assert len(vendor.calls) == 3
    assert list_months(list_parts(vendor)) == [1_704_067_200, 1_706_745_600]


def test_a_missing_minute_is_a_gap_that_is_shown(command, vendor):
    """One bar that the market does not have is no fault; it is counted."""
    vendor.fail(change_bars(lambda bars: [*bars[:7], *bars[8:]]))
    result = command(*FETCH, "--json").json
    assert (result["gaps"], result["bars missing in gaps"]) == (1, 1)


def test_missing_sessions_are_taken_only_when_asked(command, vendor):
    """They are named in the error, and in a note of every later use."""
    vendor.without = ("2024-01-17", "2024-02-03", "2024-02-04")
    line = fails(command, vendor, calls=1)
    assert "1 trading day (2024-01-17) without any bar" in line
    result = command(*FETCH, "--accept-missing", "--json").json
    (note,) = (note for note in result["notes"] if "without any bar" in note)
    assert note == "3 trading days (2024-01-17, 2024-02-03, 2024-02-04) without any bar"
    vendor.without = ()
    assert note in command("data", "show", SYMBOL, "--json").json["notes"]


def test_thin_sessions_are_told(command, vendor):
    """A day that was cut at noon has bars and is no missing session; a note names it."""
    vendor.fail(change_bars(lambda bars: [*bars[: 96 * 4 + 40], *bars[96 * 5 :]]))
    result = command(*FETCH, "--json").json
    assert "1 trading day (2024-01-05) with fewer than half of the usual bars" in result["notes"]


def test_both_neighbours_of_a_hole_are_compared(command, vendor):
    """What is fetched between two cached months has to go on from one and into the other."""
    command("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-02-01")
    vendor.factor = 2.0
    command("data", "fetch", SYMBOL, "--from", "2024-03-01", "--to", "2024-04-01")
    for vendor.factor, day in ((1.0, "2024-03-01"), (2.0, "2024-01-31")):
        outcome = command("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-04-01")
        assert outcome.code == 3
        assert f"96 of 96 bars differ, open of {day}T00:00 was" in outcome.error
    assert len(list_parts(vendor)) == 2


def test_delayed_bars_count_long_after_their_day(command, vendor, monkeypatch):
    """A delayed plan serves history; the newest day is refused, for bars may still come."""
    vendor.status = "DELAYED"
    assert command(*FETCH).code == 0

    class Later:
        """The second of March 2024, six in the morning."""

        time_ns = staticmethod(lambda: 1_709_359_200 * 10**9)

    monkeypatch.setattr("data.vendor.aggregates.time", Later)
    monkeypatch.setattr("data.providers.polygon_api.time", Later)
    longer = ("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-03-05")
    outcome = command(*longer)
    assert outcome.code == 3
    assert "later days are not over" in outcome.err
    assert "holds back bars of the last day" in outcome.error
    assert len(list_parts(vendor)) == 2


def truncate(content):
    """Half of it."""
    return content[: len(content) // 2]


def flip(content):
    """One bit in the middle is another."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage", [truncate, flip, lambda content: b""], ids=["truncated", "flipped", "empty"]
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_damaged_part_is_set_aside_and_fetched_again(command, vendor, damage, place):
    """One call brings it back, the bars are the same, with a note, and the damage is kept."""
    span = ("--from", "2024-01-01", "--to", "2024-04-01")
    first = command("data", "fetch", SYMBOL, *span, "--json").json
    path = sorted(path for path in vendor.cache.rglob("*.parquet") if is_live(path))[place]
    path.write_bytes(damage(path.read_bytes()))
    again = command("data", "fetch", SYMBOL, *span, "--json")
    assert again.code == 0, again.err
    assert again.json["hash"] == first["hash"]
    assert "set aside: its bytes are not those that were written" in again.err
    assert len(vendor.calls) == 4
    (aside,) = path.parent.glob("quarantine/*")
    assert aside.name.endswith(path.name)
    assert command("data", "fetch", SYMBOL, *span).code == 0
    assert len(vendor.calls) == 4


def test_a_part_of_a_newer_version_is_set_aside(command, vendor, monkeypatch):
    """What a later program wrote is not guessed at."""
    monkeypatch.setattr("data.cache.VERSION", 2)
    assert command(*FETCH).code == 0
    monkeypatch.setattr("data.cache.VERSION", 1)
    outcome = command(*FETCH)
    assert outcome.code == 0, outcome.err
    assert "written by version 2 of the cache" in outcome.err
    assert len(vendor.calls) == 4


def test_rewritten_history_is_shown_and_never_merged(command, vendor):
    """After a split the next month does not fit to the last: code 3, nothing changed on disk."""
    before = command(*FETCH, "--json").json
    names = list_parts(vendor)
    vendor.factor = 1 / 3
    longer = ("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-04-01")
    outcome = command(*longer)
    assert outcome.code == 3
    assert "96 of 96 bars differ, open of 2024-02-29T00:00 was " in outcome.error
    assert "--refetch" in outcome.error
    assert list_parts(vendor) == names
    assert command(*FETCH, "--json").json["hash"] == before["hash"]
    after = command(*longer, "--refetch", "--json").json
    assert after["highest high"] < before["highest high"] / 2
    assert len(list(vendor.cache.rglob("superseded/*"))) == 2
    assert command(*longer, "--json").json["hash"] == after["hash"]


@pytest.mark.parametrize("change", ["came", "went"])
def test_bars_that_come_or_go_are_rewritten_history(command, vendor, change):
    """A bar more or less in what is cached is named with its time."""
    thinner = change_bars(lambda bars: [*bars[:9], *bars[10:]])
    vendor.fail(None, change_bars(lambda bars: bars[:-1]) if change == "came" else None)
    assert command(*FETCH).code == 0
    vendor.fail(None if change == "came" else thinner)
    outcome = command("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-04-01")
    assert outcome.code == 3
    word = {"came": "is new", "went": "is gone"}[change]
    assert (
        f"1 bars came or went, that of 2024-02-29T{'23:45' if change == 'came' else '02:15'} "
        f"{word}" in outcome.error
    )


def test_parts_that_cover_the_same_time_are_refused(command, vendor):
    """Which of them is right is not for a program to say."""
    command(*FETCH)
    path = min(vendor.cache.rglob("*.parquet"))
    other = path.with_name(path.name.replace("1704067200_", "1704153600_"))
    other.write_bytes(path.read_bytes())
    outcome = command(*FETCH)
    assert outcome.code == 4
    assert "cover the same time" in outcome.error


def test_a_cache_that_cannot_be_written_is_told(command, vendor, tmp_path):
    """Code 4, and the flag that names another folder."""
    (tmp_path / "file").write_text("")
    outcome = command(*FETCH, "--cache", "file")
    assert outcome.code == 4
    assert "--cache names another folder" in outcome.error


def test_drafts_of_the_killed_are_swept(command, vendor):
    """What a kill left half written is gone after the next fetch, and was never read."""
    command(*FETCH)
    folder = min(vendor.cache.rglob("*.parquet")).parent
    (folder / name_draft("1_2.parquet")).write_bytes(b"half")
    command("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-04-01")
    assert not list(folder.glob(".*.part"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[polygon]\nurl = "http://example.org"\n', "would go to a stranger"),
        ('[polygon]\nurl = "https://api.polygon.io.example.org"\n', "would go to a stranger"),
        ('[polygon]\nurl = "https://user@api.polygon.io"\n', "would go to a stranger"),
        ('[polygon]\nurl = "http://api.polygon.io"\n', "would go to a stranger"),
        ('[polygon]\nurl = "http://localhost.example.org"\n', "would go to a stranger"),
        ("[polygon]\nurl = 5\n", "is not the vendor's"),
        ("[polygon]\ncalls_per_minute = 0\n", "calls_per_minute must be a whole number"),
        ("[polygon]\ncalls_per_minute = true\n", "calls_per_minute must be a whole number"),
        ("[polygon]\nkey = 'x'\n", "'key' is unknown"),
        ("polygon = 3\n", "must be a table"),
        (f"[polygon]\napi_key = '{KEY}\n", "is no TOML file"),
        ("#" * 200_000, "larger than"),
        ("a = " + "[" * 5000, "is no TOML file"),
    ],
)
def test_a_wrong_file_of_settings_is_refused(command, vendor, text, words):
    """The line names the file and never shows a key; no call is made."""
    vendor.settings.write_text(text)
    outcome = command(*FETCH)
    vendor.settings.unlink()
    assert (outcome.code, vendor.calls) == (2, [])
    assert words in outcome.error


def test_a_key_that_others_can_read_is_refused(command, vendor, monkeypatch):
    """The line names the remedy."""
    monkeypatch.delenv("POLYGON_API_KEY")
    vendor.settings.write_text(f'[polygon]\napi_key = "{KEY}"\n')
    vendor.settings.chmod(0o644)
    outcome = command(*FETCH)
    vendor.settings.unlink()
    assert outcome.code == 2
    assert "chmod 600" in outcome.error


@pytest.mark.parametrize("key", ["short", "with space inside", "new\nline-in-it", "kéy-kéy-kéy"])
def test_what_is_no_key_is_refused_unseen(command, vendor, monkeypatch, key):
    """It is neither sent nor shown."""
    monkeypatch.setenv("POLYGON_API_KEY", key)
    outcome = command(*FETCH)
    assert (outcome.code, vendor.calls) == (2, [])
    assert key not in outcome.err


def test_the_key_travels_in_one_header_only(command, vendor):
    """Every call has it there, and neither address nor another header holds it."""
    command(*FETCH)
    for call in vendor.calls:
        assert call.headers.pop("authorization") == f"Bearer {KEY}"
        assert KEY not in f"{call.path} {call.headers}"


def test_debug_shows_no_key(command, vendor):
    """A traceback of a failure holds neither key nor address."""
    vendor.always = status(401, body={"error": f"bad {KEY}"})
    outcome = command(*FETCH, "--debug")
    assert outcome.code == 3
    assert "Traceback" in outcome.err
    assert vendor.url not in outcome.err


def test_nothing_is_written_elsewhere(command, vendor):
    """A failing search leaves no run behind."""
    vendor.always = status(500)
    assert command("evolve", "--data", SYMBOL, *SPAN).code == 3
    assert os.listdir() == []
