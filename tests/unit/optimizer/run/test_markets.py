"""Many symbols are many windows, held-out bars out of all reach, and payments are meant."""

import re
from dataclasses import replace

import numpy as np
import pytest

from data import DataError, Window
from data.point_in_time import DatedNumbers
from engine.batch import Engine
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.run.markets import Markets, load_markets, with_payments
from optimizer.run.remarks import check_money, late_remarks
from optimizer.run.runner import Observer, start_run
from optimizer.run.task import prepare
from strategy import words as w
from tests.support.commands import write_market
from tests.support.series import MINUTE_NS, START_NS, make_bars
from tests.support.worlds import random_genomes

LENGTHS = {"long": 3000, "short": 2000, "third": 2200}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three markets of different lengths in one folder."""
    path = tmp_path_factory.mktemp("markets")
    for seed, (name, length) in enumerate(LENGTHS.items()):
        write_market(path / f"{name}.csv", length, seed=seed)
    return path


def config(folder, **changes):
    """A configuration of all three."""
    return RunConfig(**{"data": f"csv:{folder}", **changes})


def test_dates_and_shares_cut_each_series_by_itself(folder):
    """A fifth of each is held out, whatever its length."""
    markets = load_markets(config(folder, start="1970-01-04", holdout="20%"))
    for bars, seen, kept in zip(markets.series, markets.windows, markets.held_out, strict=True):
        assert len(kept) == (len(seen) + len(kept)) // 5
        assert (seen.end, kept.end) == (kept.start, len(bars))
        assert bars.timestamp[seen.start] == 3 * 86_400 * 10**9


def test_searched_bars_are_cut_into_parts(folder):
    """Windows that touch, of nearly equal length, and none of what is held out."""
    whole = load_markets(config(folder, holdout="20%"))
    markets = load_markets(config(folder, holdout="20%", parts=3))
    assert [window.series for window in markets.windows] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert markets.uncut == whole.windows
    assert markets.held_out == whole.held_out
    assert len(set(markets.labels[:9])) == 9
    first, *later = markets.spans(markets.windows[:3])
    assert [span.bars for span in (first, *later)] == list(map(len, markets.windows[:3]))
    assert first.last_ns <= later[0].first_ns < later[0].last_ns <= later[1].first_ns
    with pytest.raises(DataError, match="bars cannot be cut into 1000 parts"):
        load_markets(config(folder, end="1970-01-04", parts=1000))


def test_no_engine_holds_a_held_out_bar_before_the_search_ends(folder, tmp_path, monkeypatch):
    """Whatever a run evaluates, polish and certificate included, ends before those bars."""
    events = []

    class Noted(Engine):
        def __init__(self, spec, series, *rest, **named):
            super().__init__(spec, series, *rest, **named)
            events.append([len(bars) for bars in series])

    monkeypatch.setattr("engine.out_of_core.Engine", Noted)
    observer = Observer(lambda progress: events.append(progress.phase))
    small = {"population": 8, "generations": 2, "min_trades": 1, "objectives": "sum_r,max_drawdown"}
    run = start_run(config(folder, holdout="20%", runs=str(tmp_path / "runs"), **small), observer)
    starts = [window.start for window in run.data.windows if window.is_held_out]
    assert events.count("generation") == 3
    assert [event for event in events if not isinstance(event, str)] == [starts]


def test_the_full_engine_agrees_about_the_bars_that_were_searched(folder):
    """Later bars change no bit of earlier windows; held-out windows follow them."""
    task = prepare(config(folder, holdout="20%"), for_search=True)
    genomes = random_genomes(task.spec, 20, seed=6)
    seen, full = task.engine().evaluate(genomes), task.full_engine().evaluate(genomes)
    assert full.shape[1] == 6
    assert full[:, :3].tobytes() == seen.tobytes()
    assert full[:, 3:, 0].sum() > 0


@pytest.mark.parametrize(
    ("windows", "words"),
    [
        ((Window(0, 0, 100, "held_out"),), "no window"),
        ((Window(0, 0, 50), Window(0, 60, 90), Window(0, 50, 60, "held_out")), "bar 90"),
    ],
    ids=["nothing", "between"],
)
def test_windows_that_a_search_could_see_are_refused(folder, windows, words):
    """Indicators read all history: what is held out comes last."""
    (bars,) = load_markets(RunConfig(data=f"csv:{folder}/long.csv")).series
    with pytest.raises(ConfigError, match=words):
        Markets((bars,), windows)


HOUR_NS = 60 * MINUTE_NS
BARS = make_bars(48, HOUR_NS)
TIMES = START_NS // (480 * MINUTE_NS) * 480 * MINUTE_NS + np.arange(1, 6) * 8 * HOUR_NS


def pay(times, rates, *, trusts_rates=False):
    """The bars with payments."""
    numbers = DatedNumbers(np.asarray(times), np.asarray(rates, float), None)
    return with_payments(BARS, "fund", "fund.csv", numbers, trusts_rates=trusts_rates)


def test_payments_beside_the_bars_are_said():
    """Those that no bar can charge, and bars for which there are none."""
    assert pay(TIMES, np.full(5, 0.001)).notes == ()
    later = TIMES + 4 * 24 * HOUR_NS
    (note,) = pay([*TIMES, *later], np.full(10, 0.001)).notes
    assert "column 'fund': 5 of 10 payments are charged to no bar: they come before" in note
    (note,) = pay(TIMES[:2], [0.001, 0.002]).notes
    assert re.search(r"'fund': at \d+ bars before .* or after .* nothing is charged$", note)
    with pytest.raises(ConfigError, match=r"^--column-file fund: fund.csv pays from .* no bar of"):
        pay(later, np.full(5, 0.001))


@pytest.mark.parametrize("rate", [0.5, -0.11])
def test_a_rate_above_a_tenth_is_likely_in_percent(rate):
    """Of a file and in a strategy, as a number and as a bound of a gene; a flag takes it."""
    with pytest.raises(ConfigError, match=rf"pays {rate} at .*, or add --trust-rates$"):
        pay(TIMES, [rate, *[0.001] * 4])
    assert len(pay(TIMES, [rate, *[0.001] * 4], trusts_rates=True).payments["fund"].rates) == 5
    for said in (rate, w.gene("rate", 0.01, min(rate, 0.0), max(rate, 0.02))):
        strategy = build(funding=w.funding(said, 480))
        with pytest.raises(ConfigError, match=r"more than 0.1 of the price each .* --trust-rates"):
            check_money(strategy, RunConfig())
        check_money(strategy, RunConfig(trust_rates=True))
    check_money(build(funding=w.funding(0.1), borrow=w.borrow(0.1)), RunConfig())
    check_money(build(funding=w.funding(w.payments("fund"))), RunConfig())


def build(**parts):
    """A strategy with money."""
    return w.strategy("Money.", long=w.close > w.open, stop=w.share(0.1), **parts)


@pytest.mark.parametrize(("late", "is_said"), [(0, False), (11 * 10**6, True)])
def test_a_row_that_is_charged_one_late_is_told(late, is_said):
    """Numbers known milliseconds after the settlement change in the bar that is charged."""
    numbers = DatedNumbers(TIMES + late, np.arange(5.0) / 1000, None)
    bars = replace(BARS, extra={"fund": numbers.at_closes(BARS)}, dated=("fund",))
    lines = list(late_remarks(build(funding=w.funding(w.column("fund"), 480)), bars))
    assert len(lines) == is_said
    for line in lines:
        assert re.search(r"at 4 of \d payments the rate becomes known in the bar", line)
        assert 'funding(payments("NAME"))' in line
    moving = build(funding=w.funding(0.01 * w.roc(w.close, 5), 480))
    assert list(late_remarks(moving, bars)) == list(late_remarks(build(), bars)) == []


def test_bars_longer_than_a_charge_are_told():
    """A fee every 480 minutes is charged once a day; a fixed rate of funding each time."""
    days = make_bars(48, 24 * HOUR_NS)
    fee, row = w.borrow(0.0001, 480), w.funding(0.0001 + 0 * w.close, 480)
    for parts in ({"borrow": fee}, {"funding": row}):
        assert list(late_remarks(build(**parts), BARS)) == []
        (line,) = late_remarks(build(**parts), days)
        assert "a bar of 1d is charged once, though more than one payment is due in it" in line
    assert list(late_remarks(build(funding=w.funding(0.0001, 480)), days)) == []
