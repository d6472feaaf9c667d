"""The scan: classes of symbols, their order, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.errors import ParityError
from optimizer.trend_scan import scan as scan_module
from optimizer.trend_scan.params import ScanParams
from tests.support.scanning import list_bits, pieces, scan_markets, symbol

LAW_HASH = "38b2b5ec8db8172173447a08b056ce40550e370e054f3d37f0f6f26cfc1453f2"


def test_the_99_symbols_of_the_law(real_folder):
    """Their rows have the law's hash; all are replayed by the readable definition."""
    scan = scan_markets(*pieces(real_folder), is_all_replayed=True)
    assert scan.counts == {"long": 51, "short": 35, "neutral": 13}
    assert (scan.rows_hash, scan.replayed, scan.bars) == (LAW_HASH, 99, 148_500)


def test_longs_come_first_then_shorts_then_neutral_ones():
    """The strongest first, equal ones by name; no symbol depends on others or on threads."""
    series = [symbol(f"S{seed:02d}", 200 + 20 * seed, seed) for seed in range(12)]
    series += [replace(series[0], symbol="A")]
    question = ScanParams({}, 0.5, -0.5)
    scan = scan_markets(*series, question=question, threads=1)
    told = [(one.class_, one.trend, one.symbol) for one in scan.symbols]
    assert len({class_ for class_, _, _ in told}) == 3
    rank, sign = {"long": 0, "short": 1, "neutral": 2}, {"long": -1, "short": 1, "neutral": -1}
    assert told == sorted(told, key=lambda one: (rank[one[0]], sign[one[0]] * one[1], one[2]))
    together = list_bits(scan)
    assert together["A"] == together["S00"]
    assert together == list_bits(scan_markets(*reversed(series), question=question, threads=2))
    alone = [list_bits(scan_markets(one, question=question)) for one in series]
    assert together == {name: bits for one in alone for name, bits in one.items()}


@pytest.mark.parametrize("missing", [0, 1])
def test_short_series_are_listed_and_have_no_class(missing):
    """Warm-up and two bars are needed, the longest length being 34; below nothing is guessed."""
    bars = 34 - 1 + 5 + 2 - missing
    scan = scan_markets(symbol("SHORT", bars), symbol("LONG"))
    short = [(one.symbol, one.bars, one.needed) for one in scan.too_short]
    assert short == ([("SHORT", bars, 40)] if missing else [])
    assert ("SHORT" in scan.rows) == (not missing)
    assert sum(scan.counts.values()) == 2 - missing


def test_bars_that_count_are_closed_and_between_start_and_end():
    """A bar counts from its end on, and a scan notes one that does not."""
    bars = symbol()
    end_ns = int(bars.timestamp[-1]) + bars.timeframe_ns
    closed, early = scan_markets(bars, now_ns=end_ns), scan_markets(bars, now_ns=end_ns - 1)
    assert (closed.bars, early.bars) == (400, 399)
    assert list_bits(early) == list_bits(scan_markets(bars.until(399)))
    assert (len(early.notes), len(closed.notes)) == (1, 0)
    begin, end = (f"{np.datetime64(int(bars.timestamp[t]), 'ns')}"[:26] for t in (100, 300))
    assert list_bits(scan_markets(bars, end=end)) == list_bits(scan_markets(bars.until(300)))
    later = scan_markets(bars, start=begin, end=end)
    assert list_bits(later) == list_bits(scan_markets(bars.cut(100, 300)))
    assert [one.bars for one in scan_markets(bars, start="2100-01-01").too_short] == [0]


def turn_row(found):
    """The same trends with one bit of one value turned."""
    row = found.row.copy()
    row[-1] = np.nextafter(row[-1], 2.0)
    return found._replace(row=row)


def turn_vote(found):
    """The same trends with one vote turned."""
    votes = found.votes.copy()
    votes[2, 7] += 1
    return found._replace(votes=votes)


@pytest.mark.parametrize("turn", [turn_row, turn_vote])
def test_a_single_wrong_bit_shows_nothing_and_keeps_nothing(turn, monkeypatch, tmp_path):
    """The readable definition decides, and the error names the symbol."""
    right = scan_module.trends
    monkeypatch.setattr(
        scan_module, "trends", lambda *args, **kwargs: [turn(t) for t in right(*args, **kwargs)]
    )
    with pytest.raises(ParityError, match="AAA"):
        scan_markets(symbol(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
