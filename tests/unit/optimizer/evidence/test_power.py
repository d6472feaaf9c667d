"""What a search can find: its power, the mean R that is expected of it, and its trials."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.batch import Engine
from optimizer.errors import ConfigError
from optimizer.evidence import power_searches
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.cscv import build_cscv_record, compare_halves
from optimizer.evidence.expectation import AccountPart, add_year, expect, expect_year
from optimizer.evidence.null import NULL, NullJob, NullSearch, NullSetup
from optimizer.evidence.null_markets import NullMarkets
from optimizer.evidence.pick import compute_strengths, select_pick
from optimizer.evidence.power import PlantedSearch, PowerRecord, PowerRow, count_found, fit_curve
from optimizer.evidence.power_searches import (
    EDGES,
    FIRST_MARKET,
    MARKETS,
    PLANTED,
    PlantedJob,
    PowerSetup,
    _list_r,
    _move,
    _plant,
    _trade,
    build_power_record,
    plant_edge,
)
from optimizer.evidence.trials import JudgedTrials, build_daily_columns, count_effective_trials
from optimizer.run.runner import search
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.judged import make_unseen
from tests.support.judging import make_task
from tests.support.recording import HEADER, make_generation
from tests.support.series import make_coarse

BARS = make_planted_market(7, 3000, 0)


def build_record(critical, spread):
    """A record of edges of which one of 0.1 R has a strength of 1, but that of 0.8 R one of 6."""
    strengths = [10 * edge for edge in EDGES[:-1]] + [6.0]
    rows = [PowerRow(edge, at, 20, 7) for edge, at in zip(EDGES, strengths, strict=True)]
    return PowerRecord("512 x 100", 299, "none", 42.4, critical, spread, tuple(rows))


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        # Shares of 0.8 and 0.1 lie at 3 + log(4) and 3 - log(9).
        ((3.0, 1.0), ("an edge of 0.48 R a trade, 42 trades", "8 of 10", "below 0.08 R")),
        ((6.0, 1.0), ("an edge of 0.80 R", "5 of 10", "below 0.38 R")),
        ((9.0, 1.0), ("no edge up to 0.80 R",)),
    ],
)
def test_the_sentence_names_edges_of_the_curve(curve, words):
    """The edge that is found, between those measured, and below which nothing is."""
    sentence = build_record(*curve).describe()
    assert all(word in sentence for word in ("512 x 100", "blind", *words))


def test_a_rate_follows_from_strength():
    """Half of the critical strength, and by the logistic curve."""
    record = build_record(3.0, 0.5)
    rates = [record.find_rate(strength) for strength in (3.0, 3.5, 2.5)]
    assert rates == pytest.approx([0.5, 0.731059, 0.268941], abs=1e-6)
    assert record.find_rate(record.find_strength(0.3)) == pytest.approx(0.3)


def test_the_curve_is_the_likeliest():
    """That of which shares were drawn, and the steepest where all from a strength on are found."""
    nulls, strengths = [2.5] * 299, np.linspace(0, 6, 601)
    draw = np.random.Generator(np.random.PCG64(3))
    is_found = draw.random(601) < 1 / (1 + np.exp((3.2 - strengths) / 0.6))

    def fit(flags):
        return fit_curve(
            [
                PlantedSearch(1, 1, 3.0 if flag else 2.0, 30, edge_strength=strength)
                for flag, strength in zip(flags, strengths, strict=True)
            ],
            nulls,
        )

    assert fit(is_found) == pytest.approx((3.2, 0.6), abs=0.15)
    assert fit(strengths > 4) == pytest.approx((4.0, 0.3), abs=0.026)


def test_markets_of_an_edge_are_counted():
    """How many were found, and how strong their edges are."""
    searches = [PlantedSearch(1, 1, value, 30, edge_strength=2 * value) for value in (1.0, 3.0)]
    assert count_found(0.2, searches, [2.5] * 299) == PowerRow(0.2, 4.0, 2, 1)


def test_a_market_is_found_by_the_bet():
    """One of 299 null searches did as well, not two; with as many trades as a verdict needs."""
    nulls = [0.0] * 299
    found = PlantedSearch(1, 1, 1.0, trades=30)
    assert found.is_found(nulls)
    assert found.is_found([2.0, *nulls[1:]])
    assert not found.is_found([2.0, 1.0, *nulls[2:]])
    assert not replace(found, trades=29).is_found(nulls)
    assert not replace(found, strength=None).is_found(nulls)


def list_shuffled(task, *numbers):
    """The task on shuffled markets."""
    setup = NullSetup(task, "none")
    return [setup.build_task(NullJob("shuffled", number)) for number in numbers]


@pytest.mark.parametrize("edge", EDGES)
def test_a_candidate_has_the_edge_that_is_planted(edge):
    """What it earned more than on copies is chance, and stays. So do the ranges of most bars."""
    task, *copies = list_shuffled(make_task(BARS, min_trades=30), 1, 2, 3)
    genome, planted = next(
        (genome, planted)
        for genome in task.random_individuals(100)
        if (planted := _plant(task, copies, genome, edge))
    )
    before, usual, after = (
        np.concatenate([_list_r(_trade(one, genome)) for one in some])
        for some in ([task], copies, [planted])
    )
    error = before.std() / np.sqrt(len(before))
    chance = before.mean() - usual.mean()
    assert after.mean() - chance == pytest.approx(edge, abs=0.1 * error)
    assert planted.edge_trades == len(after)
    shown = edge * np.sqrt(len(after) / (edge**2 + after.var()))
    assert planted.edge_strength == pytest.approx(shown)
    (old,), (bars,) = task.markets.series, planted.markets.series
    ranges = [np.log(b.high / b.low) for b in (old, bars)]
    assert np.median(np.abs(ranges[1] - ranges[0])) < 1e-12
    # Only signals tell: no drift is added.
    assert bars.close[-1] == pytest.approx(old.close[-1])


def test_the_strongest_of_ten_candidates_comes_first(monkeypatch):
    """By what it earns on the last copy; then the second of each ten, and so on."""
    tried = []
    monkeypatch.setattr(power_searches, "_plant", lambda *given: tried.append(given[2]))
    task, *copies = list_shuffled(make_task(BARS), 1, 2, 3)
    with pytest.raises(ConfigError, match="100 random candidates"):
        plant_edge(task, copies, 0.1, 1)
    _, account = copies[-1].engine().evaluate_account(np.array(tried))
    strengths = np.nan_to_num(compute_strengths(account), nan=-np.inf).reshape(10, 10)
    assert (strengths[:-1] >= strengths[1:]).all()
    assert not (np.diff(strengths[0]) <= 0).all()


def test_each_window_has_its_own_signals():
    """Bars outside of all windows keep their returns."""
    task = make_task(BARS, windows=[Window(0, 100, 2900)], min_trades=20)
    (bars,) = plant_edge(task, [task, task], 0.4, 1).markets.series
    assert np.array_equal(bars.close[:100], BARS.close[:100])
    returns = [np.diff(np.log(b.close[2900:])) for b in (BARS, bars)]
    assert returns[1] == pytest.approx(returns[0], abs=1e-12)
    assert not np.array_equal(bars.close[100:2900], BARS.close[100:2900])


def test_finer_bars_move_with_theirs():
    """All bars that were made up of finer ones still are, and a range is spread over them."""
    hours = make_coarse(BARS, timeframe_ns=4 * BARS.timeframe_ns)
    push = np.where(np.arange(len(hours)) == 5, 0.04, 0.0)
    moved = _move(hours, push)
    assert np.array_equal(moved.finer_spans, hours.finer_spans)
    returns = [np.log(b.finer.prices[3] / b.finer.prices[0]) for b in (hours, moved)]
    first, end = hours.finer_spans[:, 5]
    assert end - first == 4
    expected = np.zeros(len(hours.finer))
    expected[first:end] = 0.01
    assert returns[1] - returns[0] == pytest.approx(expected, abs=1e-12)
    # Without finer bars too.
    plain = _move(replace(hours, finer=None), push)
    assert plain.close == pytest.approx(moved.close, rel=1e-12)


def test_finer_bars_that_are_not_whole_are_left_out():
    """Bars without finer ones are moved as bars alone are."""
    hours = make_coarse(BARS, seed=1, timeframe_ns=4 * BARS.timeframe_ns)
    moved = _move(hours, np.full(len(hours), 0.001))
    counts = [np.diff(b.finer_spans, axis=0)[0] for b in (hours, moved)]
    assert np.array_equal(*counts)
    assert len(moved.finer) == counts[0].sum() < len(hours.finer)


def test_planted_markets_are_shuffled_ones_that_no_null_search_has():
    """With the volume of a shuffled market, and its bars before the first trade."""
    task = make_task(BARS)
    (bars,) = PowerSetup(task, "none").build_task(PlantedJob(3, 0.4)).markets.series
    markets = NullMarkets([BARS], task.markets.windows, task.config.seed, "none")
    (shuffled,) = markets.shuffle_market(FIRST_MARKET + 3)
    assert np.array_equal(bars.volume, shuffled.volume)
    assert not np.array_equal(bars.close, shuffled.close)


def test_too_few_trades_are_refused():
    """With how to have more."""
    task = make_task(BARS, min_trades=2900)
    with pytest.raises(ConfigError, match="take more bars, or wider bounds"):
        plant_edge(task, [task, task], 0.1, 1)


class Crew:
    """Finds all edges from 0.2 R on, and remembers what it searched."""

    def __init__(self):
        self.begun = []

    def submit(self, setup, jobs, **hints):
        """Each job with a strength."""
        for job in jobs:
            self.begun.append(job)
            edge = getattr(job, "edge", 0.0)
            yield job, PlantedSearch(job.number, 1, float(edge >= 0.2), 30, edge_trades=60)


def test_searches_on_record_are_not_made_again(tmp_path):
    """Null searches of a judge count, and so does what an interrupted measurement left."""
    task = make_task(BARS)
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        nulls = Checkpoint(store, NULL, {"null_keep": "none", "kind": "shuffled"}, NullSearch)
        for number in range(1, 300):
            nulls.add(NullSearch(number, 1, 0.0))
        kept = Checkpoint(store, PLANTED, {"null_keep": "none", "edge": 0.1}, PlantedSearch)
        kept.add(PlantedSearch(7, 1, 0.5, 30, edge_trades=60))
        store.flush()

        def measure():
            crew = Crew()
            setup = NullSetup(task, "none")
            record = build_power_record(store, setup, crew, "cpu", lambda _: None)
            store.flush()
            return record, crew.begun

        record, begun = measure()
        assert [(row.edge, row.found) for row in record.rows] == [(0.05, 0), (0.1, 1), (0.2, 20)]
        # 60 trades in 3,000 hours.
        assert record.trades_per_year == pytest.approx(60 * 365.25 / 125)
        assert len(begun) == 3 * MARKETS - 1
        assert PlantedJob(7, 0.1) not in begun
        assert measure() == (record, [])


NULLS = (1.5, 2.0, 2.5)
FOLDS = make_unseen(40, 30, 0.2, None, 1.0)


# By hand: a chance of e^((z - 3.1) / 0.4) to 1 for an edge of z - 1.4, else -0.3.
@pytest.mark.parametrize(
    ("mean_r", "strength", "mean", "low", "high"),
    [
        (0.4, 2.0, -0.049184, -0.185462, 0.087093),
        (0.6, 3.1, 0.135484, -0.164708, 0.435676),
        (0.8, 4.0, 0.464697, 0.161478, 0.767916),
        (1.2, 6.0, 0.919305, 0.698811, 1.139798),
    ],
)
def test_null_searches_take_what_selection_reaches(mean_r, strength, mean, low, high):
    """Check values of members below, at and above the strength where an edge is likelier."""
    made = expect(mean_r, strength, NULLS)
    assert (made.mean, made.low, made.high) == pytest.approx((mean, low, high), abs=1e-6)
    assert (made.shown, made.nulls, made.fold_trades) == (mean_r, 3, 0)


def test_more_strength_is_expected_to_keep_more_and_none_more_than_is_shown():
    """By the same null searches; of a member that lost no less is shown."""
    shares = [expect(z, z, NULLS).mean for z in (0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 400.0)]
    assert shares == sorted(shares)
    for z, share in zip((0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 400.0), shares, strict=True):
        assert share < z
    assert expect(-0.5, -2.0, NULLS).mean == -0.5


@pytest.mark.parametrize(
    ("nulls", "folds", "sources"),
    [
        (NULLS, FOLDS, (3, 0)),
        ((2.0, None, 2.0), FOLDS, (2, 0)),
        ((2.0, None), FOLDS, (0, 40)),
        ((), replace(FOLDS, trades=9), None),
        ((2.0,), None, None),
        ((), None, None),
    ],
)
def test_folds_speak_where_null_searches_do_not(nulls, folds, sources):
    """With ten trades or more; a single null search is not heard."""
    made = expect(0.8, 4.0, nulls, folds)
    assert (made and (made.nulls, made.fold_trades)) == sources


def test_a_gain_of_folds_is_raised_as_their_picks_saw_fewer_bars():
    """Not beyond what is shown, and a loss is none of it."""
    made = expect(0.8, 4.0, (), FOLDS)
    assert (made.mean, made.high - made.mean) == pytest.approx((0.25, 1.2816 * 0.08**0.5))
    assert expect(0.1, 1.0, (), FOLDS).mean == 0.1
    lost = replace(FOLDS, mean_r=-0.2, strength=-1.0)
    assert expect(0.8, 4.0, (), lost).mean == -0.2


@pytest.mark.parametrize("number", [0.0, None])
def test_nothing_is_expected_without_trades_that_moved(number):
    """Of whose standard error nothing is known."""
    assert expect(number, number, NULLS) is None


KNOWN = expect(0.8, 4.0, NULLS)


# By hand: e^(40 trades * 0.01 * (mean - 0.8)) of 1.5; where nothing says how much one R is, 40
# means. Trades sized otherwise: one R is ln 1.5 of 40 * 0.8 R.
@pytest.mark.parametrize(
    ("trades", "growth", "stake", "year"),
    [
        (40.0, 0.5, 0.01, (0.311726, 0.161900, 0.480873, 0.5)),
        (40.0, -0.1, 0.01, (-0.212964, -0.302860, -0.111476, -0.1)),
        (40.0, -1.0, 0.01, (-1.0, -1.0, -1.0, -1.0)),
        (40.0, 0.5, None, (0.265571, 0.085285, 0.475806, 0.5)),
        (40.0, -0.1, None, (18.587892, 6.459132, 30.716653, 32.0)),
        (40.0, None, 0.01, (18.587892, 6.459132, 30.716653, 32.0)),
        (None, None, 0.01, None),
    ],
)
def test_a_year_follows_from_trades_and_the_stake(trades, growth, stake, year):
    """Growth of the account; R of so many trades where its share of the account is not known."""
    made = add_year(KNOWN, trades, growth, stake).year
    is_r = year is not None and year[3] == 32.0
    assert (made and (made.mean, made.low, made.high, made.shown)) == (
        year and pytest.approx(year, abs=1e-6)
    )
    assert made is None or made.is_r == is_r
    assert ("That is " in add_year(KNOWN, trades, growth, stake).describe()) == (year is not None)


@pytest.mark.parametrize(
    ("alike", "low", "high"),
    [(0.0, -0.033722, 0.361721), (0.5, -0.070263, 0.415240), (-1.0, 0.147084, 0.147084)],
)
def test_parts_of_an_account_err_together_as_far_as_they_are_alike(alike, low, high):
    """Each takes from growth what is not expected of it; equal ones against each other cancel."""
    parts = [AccountPart(KNOWN, 40.0, 0.01), AccountPart(KNOWN, 20.0, 0.02)]
    year = expect_year(0.5, parts, [[1.0, alike], [alike, 1.0]])
    assert (year.mean, year.low, year.high) == pytest.approx((0.147084, low, high), abs=1e-6)


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
