"""A strategy that reads a later bar is caught and named; the shipped ones never do."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from optimizer.judging.lookahead import build_causal_record, cut_windows
from strategy import find_strategy, words
from strategy.custom_indicator import OwnIndicator
from strategy.expressions import Call
from strategy.language import Term, as_setting
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.worlds import random_genomes

BARS = make_planted_market(7, 500, 8)
FEW = BARS.until(250)


def peeking(bars, ahead):
    """The close of so many bars later; at the end the last one."""
    later = np.minimum(np.arange(len(bars)) + ahead, len(bars) - 1)
    return bars.close[later]


def own_row(function, *settings):
    """A row of one's own."""
    names = tuple(f"setting_{place}" for place in range(len(settings)))
    own = OwnIndicator("own", names, "0" * 64, function=function, warm_up=lambda *_: 0)
    return Term(Call(own, None, tuple(map(as_setting, settings))))


def make_strategy(row, above=words.close):
    """A strategy whose entry reads a row of one's own."""
    return words.strategy(
        "Reads a row of one's own.",
        long=(words.zscore(words.true_range, 24) > words.gene("z", 1.2, 0.3, 3.0)) & (row > above),
        stop=words.beyond_bar(0.7 * words.atr(24)), target=words.r_multiple(2), max_hold=24,
    )  # fmt: skip


def make_record(spec, count=6, bars=BARS, **given):
    """What is found of random individuals."""
    task = make_task(bars, spec=spec, **given)
    engine = task.engine()
    return build_causal_record(task, engine, random_genomes(spec, count, seed=5)), task, engine


RESTING = words.strategy(
    "Waits at the channel's ends, and turns round.",
    name="resting",
    long=words.close > words.sma(words.close, words.length("n", 20, 5, 60)),
    short=words.close < words.sma(words.close, words.length("n", 20, 5, 60)),
    entry=words.by_side(
        words.stop_at(words.highest(words.high, 5), 8), words.limit_at(words.close * 1.002, 3)
    ),
    reverse=True,
    stop=words.from_entry(words.gene("k", 2.0, 0.5, 4.0) * words.atr(20)),
    target=words.r_multiple(2),
)


@pytest.mark.parametrize("ahead", [0, 1])
def test_orders_that_the_next_bar_fills_are_no_look_ahead(ahead):
    """Whether a bar behind the cut fills one hangs on that bar; whether there is one does not."""
    spec = RESTING
    if ahead:
        seen = {"long": own_row(peeking, ahead) > words.close}
        spec = replace(spec, long=words.strategy("x", **seen, stop=words.share(0.01)).long)
    record, _, engine = make_record(spec, bars=FEW)
    genomes = random_genomes(spec, 6, seed=5)
    assert record.members == 6
    assert record.trades == int(engine.evaluate(genomes)[:, :, 0].sum()) > 0
    assert bool(record.mismatches) == bool(ahead)


def test_own_code_runs_where_a_signal_can_end_it():
    """In the main thread, however many cores there are."""
    ran_in = set()

    def note_thread(bars):
        ran_in.add(threading.current_thread())
        return bars.close

    make_record(make_strategy(own_row(note_thread)), bars=FEW)
    assert ran_in == {threading.main_thread()}


def test_one_member_that_looks_ahead_is_found_among_others():
    """By its number, whether its own trades were listed or not."""
    later = own_row(peeking, words.whole("ahead", 0, 0, 3))
    spec = make_strategy(later, words.sma(words.close, 5))
    genomes = random_genomes(spec, 24, seed=5)
    genomes[:, spec.layout.index("ahead")] = 0
    genomes[17, spec.layout.index("ahead")] = 2
    task = make_task(BARS, spec=spec)
    record = build_causal_record(task, task.engine(), genomes)
    assert record.first.endswith("in row 'own(ahead)' of member 17")
    assert 0 < record.mismatches <= record.cuts


def test_many_windows_share_cuts():
    """As many as four have; a record says so, and one that does not is of all."""
    shipped = find_strategy("mean_reversion").for_timeframe(3600.0)
    windows = [Window(0, start, start + 40) for start in range(50, 450, 40)]
    task, genomes = make_task(BARS, spec=shipped, windows=windows), random_genomes(shipped, 6, 5)
    shared = build_causal_record(task, task.engine(), genomes)
    alone = build_causal_record(task, task.engine(), genomes, is_shared=False)
    assert (shared.is_shared, alone.is_shared) == (True, False)
    assert alone.cuts >= 10 * 16
    assert 10 * 4 <= shared.cuts < alone.cuts / 2
    assert replace(alone, cuts=shared.cuts, is_shared=True) == shared
    few = make_task(BARS, spec=shipped, windows=windows[:4])
    assert not build_causal_record(few, few.engine(), genomes).is_shared


def test_moments_cut_all_symbols_of_an_account_with_limits():
    """Bars that are over by then; a window that has none is left out. The record counts them."""
    other = replace(make_planted_market(8, 420, 8), symbol="OTHER")
    other = replace(other, timestamp=other.timestamp + other.timeframe_ns // 2)
    windows = [Window(0, 0, 200), Window(0, 200, 420), Window(1, 0, 420)]
    moment = int(BARS.over_ns[99])
    task = make_task(BARS, other, spec=RESTING, windows=windows)
    cut = cut_windows(task, moment)
    assert cut.places == (0, 2)
    assert cut.windows[0] == Window(0, 0, 100)
    assert cut.windows[1].end == 99
    assert cut_windows(task, int(BARS.timestamp[0])) is None
    shipped = find_strategy("mean_reversion").for_timeframe(3600.0)
    limited = make_task(BARS, other, spec=shipped, costs=Costs(max_positions=1, rank="close"))
    genomes = random_genomes(shipped, 6, seed=5)
    record, plain = (
        build_causal_record(each, each.engine(device="cpu"), genomes)
        for each in (limited, replace(limited, costs=Costs()))
    )
    assert record.mismatches == plain.mismatches == 0
    assert record.cuts > plain.cuts
