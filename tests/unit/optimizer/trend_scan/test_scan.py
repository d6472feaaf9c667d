"""The scan: classes of symbols, their order, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from data import LoadOptions, load_bars
from engine.trends import Trend
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, ParityError
from optimizer.trend_scan import scan as scan_module
from optimizer.trend_scan.params import ScanParams
from optimizer.trend_scan.scan import Ways, draw_sample, scan_sources
from tests.support.commands import write_market
from tests.support.scanning import list_bits, pieces, real_series, scan_markets, symbol

LAW_HASH = "38b2b5ec8db8172173447a08b056ce40550e370e054f3d37f0f6f26cfc1453f2"

NOW = {
    "aapl_1h": ("long", 0.4311347683448017, 40824, "long", 40824, (100, -59, 100, 100, 16, 100)),
    "bifiusdt_5m": (
        "short",
        -0.33371940832629665,
        71757,
        "short",
        71757,
        (-100, 100, -100, -100, -11, 100),
    ),
    "btcusdt_1h": (
        "short",
        -0.43017415084602156,
        58417,
        "short",
        58417,
        (100, -100, -62, -100, -100, 100),
    ),
    "gbpjpy_1h": (
        "short",
        -0.3491643222382141,
        57565,
        "short",
        57565,
        (-100, 100, -100, -78, 100, -100),
    ),
    "spy_1m": ("long", 1.0, 102235, "long", 102235, (100,) * 6),
    "uniusdt_15m": (
        "short",
        -0.6850216200639656,
        87534,
        "short",
        87531,
        (-100, -78, -100, -56, 33, -100),
    ),
}
"""The law: class, trend, first bar of its run, direction, its first bar, votes."""


def test_the_99_symbols_of_the_law(real_folder):
    """Their rows have the law's hash; all are replayed by the readable definition."""
    scan = scan_markets(*pieces(real_folder), is_all_replayed=True)
    assert scan.counts == {"long": 51, "short": 35, "neutral": 13}
    assert (scan.rows_hash, scan.replayed, scan.bars) == (LAW_HASH, 99, 148_500)


def test_where_the_real_series_stand_now(real_folder):
    """The law's table of the last bar of each file, in the order of a scan."""
    scan = scan_markets(*real_series(real_folder).values())
    fields = {
        one.symbol: (
            one.class_,
            one.trend,
            one.since_bar,
            one.direction,
            one.direction_since_bar,
            tuple(one.votes.values()),
        )
        for one in scan.symbols
    }
    assert fields == NOW
    order = ["spy_1m", "aapl_1h", "uniusdt_15m", "btcusdt_1h", "gbpjpy_1h", "bifiusdt_5m"]
    assert [one.symbol for one in scan.symbols] == order


def test_longs_come_first_then_shorts_then_neutral_ones():
    """The strongest first, equal ones by name."""
    series = [symbol(f"S{seed:02d}", seed=seed) for seed in range(12)]
    question = ScanParams({}, 0.5, -0.5)
    scan = scan_markets(*series, replace(series[0], symbol="A"), question=question)
    messages = [(one.class_, one.trend, one.symbol) for one in scan.symbols]
    assert len({what for what, _, _ in messages}) == 3
    expected = [
        *sorted((one for one in messages if one[0] == "long"), key=lambda one: (-one[1], one[2])),
        *sorted((one for one in messages if one[0] == "short"), key=lambda one: (one[1], one[2])),
        *sorted(
            (one for one in messages if one[0] == "neutral"), key=lambda one: (-one[1], one[2])
        ),
    ]
    assert messages == expected
    assert {one.trend for one in scan.symbols if one.symbol in ("A", "S00")} == {
        float(scan.rows["A"].trend[-1])
    }


def test_a_symbol_does_not_depend_on_the_others():
    """Alone, among others, in any order and with any threads: the same bits."""
    series = [symbol(f"S{seed}", 150 + 60 * seed, seed) for seed in range(5)]
    together = list_bits(scan_markets(*series, threads=1))
    assert together == list_bits(scan_markets(*reversed(series), threads=2))
    assert together == {k: v for one in series for k, v in list_bits(scan_markets(one)).items()}


@pytest.mark.parametrize("missing", [0, 1])
def test_short_series_are_listed_and_have_no_class(missing):
    """Warm-up and two bars are needed, the longest length being 34; below nothing is guessed."""
    bars = 34 - 1 + 5 + 2 - missing
    scan = scan_markets(symbol("SHORT", bars), symbol("LONG"))
    messages = [(one.symbol, one.bars, one.needed) for one in scan.too_short]
    assert messages == ([("SHORT", bars, 40)] if missing else [])
    assert ("SHORT" in scan.rows) == (not missing)
    assert sum(scan.counts.values()) == 2 - missing


def test_bars_that_are_not_closed_do_not_count():
    """A bar counts from its end on, and a scan notes one that does not."""
    bars = symbol()
    end_ns = int(bars.timestamp[-1]) + bars.timeframe_ns
    closed, early = scan_markets(bars, now_ns=end_ns), scan_markets(bars, now_ns=end_ns - 1)
    assert (closed.bars, early.bars) == (400, 399)
    assert list_bits(early) == list_bits(scan_markets(bars.until(399)))
    assert "1 symbol with a bar that is not closed yet, which does not count" in early.notes
    assert not [note for note in closed.notes if "closed" in note]


def test_a_scan_may_look_back_and_begin_later():
    """`end` leaves out what opened since, `start` what came before: another row."""
    bars = load_bars("sample", LoadOptions()).until(600)
    begin, end = (f"{np.datetime64(int(bars.timestamp[t]), 'ns')}"[:26] for t in (100, 500))
    assert list_bits(scan_markets(bars, end=end)) == list_bits(scan_markets(bars.until(500)))
    later = scan_markets(bars, start=begin, end=end)
    assert list_bits(later) == list_bits(scan_markets(bars.cut(100, 500)))
    assert [one.bars for one in scan_markets(bars, start="2100-01-01").too_short] == [0]


def test_the_form_of_the_script_is_another_row():
    """Its own votes by default, its own values."""
    script = ScanParams({}, is_script=True)
    assert script.parameters[10:12] == (49, -49)
    scan, other = scan_markets(symbol()), scan_markets(symbol(), question=script)
    assert scan.payload()["indicator"] == "adaptive_trend"
    assert other.payload()["indicator"] == "adaptive_trend_script"
    assert scan.rows_hash != other.rows_hash


def test_history_lists_the_last_runs():
    """They follow each other; the last one is where the symbol stands."""
    (one,) = scan_markets(symbol(), history=5).symbols
    assert len(one.history) == 5
    last, row = one.history[-1], scan_markets(symbol()).rows["AAA"]
    assert (last.class_, last.bars, last.first) == (one.class_, one.bars, one.since)
    assert last.change == float(row.close[-1] / row.close[one.since_bar]) - 1.0
    assert last.trend == row.trend[one.since_bar]
    assert all(a.class_ != b.class_ for a, b in zip(one.history, one.history[1:], strict=False))
    assert scan_markets(symbol()).symbols[0].history == ()
    whole = (
        scan_markets(symbol(), question=ScanParams({"cutout": 50}), history=10**6)
        .symbols[0]
        .history
    )
    assert sum(run.bars for run in whole) == 400 - 50


def test_one_symbol_in_fifty_is_drawn_from_the_data():
    """At least one; the same data draw the same ones, others others."""
    names = [f"S{number}" for number in range(101)]
    drawn = draw_sample(names, "data")
    assert len(drawn) == 3
    assert set(drawn) <= set(names)
    assert drawn == draw_sample(names[::-1], "data") != draw_sample(names, "other data")
    assert len(draw_sample(names[:1], "data")) == 1
    assert draw_sample([], "data") == []


def wrong_row(found):
    """The same trends with one bit of one value turned."""
    row = found.row.copy()
    row[-1] = np.nextafter(row[-1], 2.0)
    return found._replace(row=row)


def wrong_votes(found):
    """The same trends with one vote turned."""
    votes = found.votes.copy()
    votes[2, 7] += 1
    return found._replace(votes=votes)


@pytest.mark.parametrize("wrong", [wrong_row, wrong_votes])
def test_a_single_wrong_bit_shows_nothing_and_keeps_nothing(wrong, monkeypatch, tmp_path):
    """The readable definition decides, and the error names the first difference."""
    right = scan_module.trends

    def lying(*args, **kwargs):
        return [wrong(trend) for trend in right(*args, **kwargs)]

    monkeypatch.setattr(scan_module, "trends", lying)
    with pytest.raises(ParityError, match=r"1 of 1 symbols differ.*AAA: .* at .* by definition"):
        scan_markets(symbol(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "thresholds", "message"),
    [
        ({"ema_length": 21}, (), "parameter 'ema_length' is unknown.*did you mean 'ema_len'"),
        ({"ema_len": 8}, (), "needs ema_len whole and at least 9 and at most 4096, got 8"),
        ({"growth": 20.5}, (), "needs growth whole .* got 20.5"),
        ({"vote_short": 11}, (), "needs vote_long whole and at least 11"),
        ({"decay": float("nan")}, (), "finite"),
        ({}, (-0.2, 0.2), "the low one at or below the high one"),
        ({}, (float("nan"), 0.0), "between -1 and 1"),
    ],
    ids=["unknown", "small", "fraction", "votes", "nan", "order", "nan_threshold"],
)
def test_wrong_questions_are_refused(settings, thresholds, message):
    """With what is legal."""
    with pytest.raises(ConfigError, match=message):
        ScanParams(settings, *thresholds)


def test_two_series_that_cannot_be_told_apart_are_refused():
    """Their rows would have one name."""
    with pytest.raises(ConfigError, match="same symbol"):
        scan_markets(symbol(), symbol(seed=2))


def test_extreme_prices_and_flat_ones_have_a_class():
    """A row of zeros is neutral and never turned; powers of two of prices change nothing."""
    flat = symbol("FLAT")
    prices = dict.fromkeys(("open", "high", "low", "close"), np.full(400, 7.0))
    scan = scan_markets(replace(flat, **prices))
    (one,) = scan.symbols
    assert (one.class_, one.trend, one.bars, one.direction) == ("neutral", 0.0, 400, "")
    assert (one.direction_since, one.direction_since_bar) == (None, None)
    tiny = {k: getattr(flat, k) * 2.0**-30 for k in ("open", "high", "low", "close")}
    assert list_bits(scan_markets(flat)) == list_bits(scan_markets(replace(flat, **tiny)))


def test_nothing_to_scan_is_said():
    """All too short: no class, no row, no error."""
    scan = scan_markets(symbol(length=5))
    assert (scan.symbols, scan.bars, scan.replayed, scan.rows) == ((), 0, 0, {})
    assert [len(column) for column in scan.columns().values()] == [0] * 12


def test_a_trend_has_rows_and_votes():
    """The interface that a scan builds on."""
    assert Trend._fields == ("row", "votes")


def test_long_loads_are_told(tmp_path, monkeypatch):
    """A line a second counts the sources that are loaded."""
    for number in range(3):
        write_market(tmp_path / f"S{number}.csv", 60, seed=number)
    monkeypatch.setattr(scan_module, "LINE_EVERY_S", 0.0)
    config, messages = RunConfig(data=f"csv:{tmp_path}"), []
    scan = scan_sources(config, ScanParams({}), Ways(), is_kept=False, say=messages.append)
    assert messages == [f"loaded {number} of 3 sources" for number in (1, 2, 3)]
    assert len(scan.symbols) == 3
