"""Trials of a search: how many, as many as how many, and their days, against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.batch import Engine
from optimizer.evidence.cscv import build_cscv_record, compare_halves
from optimizer.evidence.pick import select_pick
from optimizer.evidence.trials import JudgedTrials, build_daily_columns, count_effective_trials
from optimizer.run.search import search
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task

SERIES = make_planted_market(7, 1500, 8), make_planted_market(9, 1200, 8)
WINDOWS = [Window(0, 100, 700), Window(0, 800, 1500), Window(1, 0, 1200)]
DAY_NS = 86_400 * 10**9


@pytest.fixture(scope="module")
def found():
    """A search on two windows of one series and one of another: its task, engine, trials."""
    task = make_task(*SERIES, windows=WINDOWS, min_trades=12)
    engine = task.engine()
    done = search(task, engine, keeps_trials=True)
    return task, engine, done.trials, done.front.genomes


@pytest.fixture(scope="module")
def judged_trials(found):
    """Trials with trades enough."""
    return JudgedTrials.of(found[0], found[2])


@pytest.fixture(scope="module")
def plain(found):
    """An engine of its own, to be asked for one individual at a time."""
    return Engine(found[0].spec, SERIES, WINDOWS, found[0].costs, device="cpu")


def column_by_hand(plain, genome):
    """R of each day on which some window has a bar, by day."""
    days = sorted(
        {
            int(time) // DAY_NS
            for w in WINDOWS
            for time in SERIES[w.series].timestamp[w.start : w.end].tolist()
        }
    )
    total = dict.fromkeys(days, 0.0)
    for window in WINDOWS:
        (ledger,) = plain.on([window]).trades(genome)
        own = dict.fromkeys(days, 0.0)
        for bar, r in zip(ledger.exit_bar.tolist(), ledger.r.tolist(), strict=True):
            own[int(SERIES[window.series].timestamp[bar]) // DAY_NS] += r
        total = {day: total[day] + own[day] for day in days}
    return list(total.values())


def test_judged_trials_are_those_that_traded_enough(found, judged_trials):
    """In the searched windows together; generation 0 counts its own."""
    _, engine, trials, _ = found
    trades = engine.evaluate(trials.genomes)[:, :, 0].sum(axis=1)
    expected = trials.genomes[trades >= 12]
    assert 0 < len(expected) < len(trials)
    assert judged_trials.genomes.tolist() == expected.tolist()
    assert judged_trials.first == int((trades[: trials.first] >= 12).sum())
    assert judged_trials.evaluated == len(trials)


def test_the_pick_has_the_trades_of_all_windows_of_a_series(found, plain):
    """By symbol, and together."""
    _, engine, _, front = found
    pick = select_pick(engine, front)
    first, second, other = map(len, plain.trades(pick.genome))
    assert min(first, second, other) > 0
    assert pick.trades_by_series == {0: first + second, 1: other}
    assert pick.trades == first + second + other


def test_columns_are_sums_of_days(found, judged_trials, plain):
    """Of evenly chosen trials and the front, to the bit."""
    task, engine, _, front = found
    pick = select_pick(engine, front)
    columns = build_daily_columns(task, engine, judged_trials, front, pick, 5)
    n = len(judged_trials.genomes)
    assert n > 5
    used = [judged_trials.genomes[place * n // 5] for place in range(5)]
    used += [member for member in front if not any((member == other).all() for other in used)]
    assert columns.used.T.tolist() == [column_by_hand(plain, genome) for genome in used]
    assert columns.front.T.tolist() == [column_by_hand(plain, genome) for genome in front]
    assert columns.pick.tolist() == column_by_hand(plain, pick.genome)
    first = judged_trials.genomes[: judged_trials.first]
    chosen_first = [first[place * len(first) // 5] for place in range(min(5, len(first)))]
    expected = [column_by_hand(plain, genome) for genome in chosen_first]
    assert columns.first.T.tolist() == expected


def test_cscv_takes_the_best_of_one_half_to_the_other(found, judged_trials):
    """Blocks are windows of every symbol, by hand."""
    task, engine, _, _ = found
    record = build_cscv_record(engine, judged_trials.genomes, 4)
    totals = np.zeros((len(judged_trials.genomes), 4, 3))
    opens = [SERIES[each.series].timestamp[each.start : each.end] for each in WINDOWS]
    opens = np.sort(np.concatenate(opens))
    inner = [opens[cut * len(opens) // 4] for cut in (1, 2, 3)]
    for window in WINDOWS:
        times = SERIES[window.series].timestamp
        cuts = [np.searchsorted(times[window.start : window.end], t) + window.start for t in inner]
        borders = [window.start, *map(int, cuts), window.end]
        for block in range(4):
            start, end = borders[block], borders[block + 1]
            if start < end:
                part = [Window(window.series, start, end)]
                on_part = Engine(task.spec, SERIES, part, task.costs, device="cpu")
                totals[:, block] += on_part.evaluate(judged_trials.genomes)[:, 0, [0, 2, 3]]
    expected = compare_halves(*totals.transpose(2, 0, 1))
    assert (record.pbo, record.loss) == (expected.pbo, expected.loss)
    assert record.median_logit == pytest.approx(expected.median_logit, rel=1e-9)


def count_by_hand(columns):
    """Effective trials, by the correlations of columns."""
    roots = np.linalg.eigvalsh(np.atleast_2d(np.corrcoef(columns.T)))
    roots = roots[roots >= 1e-10 * roots.max()]
    return np.sqrt(roots).sum() ** 2 / roots.sum()


@given(st.integers(0, 2**32), st.integers(3, 40), st.integers(1, 40))
def test_effective_trials_lie_between_one_and_all(seed, days, trials):
    """Either Gram matrix gives the same, and copies add nothing."""
    rng = np.random.Generator(np.random.PCG64(seed))
    table = rng.normal(0, 1, (days, trials))
    effective = count_effective_trials(table).value
    assert 1 - 1e-9 <= effective <= min(trials, days - 1) + 1e-6
    assert effective == pytest.approx(count_by_hand(table), rel=1e-6)
    doubled = np.concatenate([table, table, np.full((days, 1), 0.1)], axis=1)
    assert count_effective_trials(doubled).value == pytest.approx(effective, rel=1e-6)


def test_effective_trials_of_many_are_those_at_even_places():
    """At most 1,024 are compared; quiet days count as often as there are."""
    rng = np.random.Generator(np.random.PCG64(5))
    columns = rng.normal(size=(60, 12)) @ rng.normal(size=(12, 3000))
    columns[rng.random(60) < 0.4] = 0.0
    few = columns[:, np.arange(1024) * 3000 // 1024]
    assert count_effective_trials(columns).value == pytest.approx(count_by_hand(few), rel=1e-9)
