"""The verdict is the first grade that applies to a pick that stands; looks are counted."""

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.errors import ConfigError, StoreError
from optimizer.evidence import holdout
from optimizer.evidence.betting import Tally, tally
from optimizer.evidence.holdout import LOOKS, list_bar_ranges, record_looks
from optimizer.evidence.jobs.executor import PartPick
from optimizer.evidence.judgement import read_judgement
from optimizer.evidence.ledger import LedgerRecord
from optimizer.evidence.out_of_sample import measure_out_of_sample
from optimizer.evidence.pick import ask_pick, choose_member, compute_strength, replay_gone
from optimizer.evidence.robust import CHECKS
from optimizer.evidence.schedule import StepSettings, TradedSteps
from optimizer.evidence.schedule_searches import StepSetup, choose_picks
from optimizer.evidence.statistic import Around
from optimizer.evidence.verdict import Facts, ScheduleFacts, decide
from optimizer.formatting import GRADES
from optimizer.run.problem import run_alone
from optimizer.run.purposes import JUDGE, restore_task
from optimizer.schedule import Schedule, plan_steps
from optimizer.store import RunStore
from optimizer.store.result import WindowDescription, load_result
from optimizer.verify import check_run
from strategy import words as w
from tests.support.evidence import make_planted_market
from tests.support.judged import make_unseen
from tests.support.judging import judge_briefly, make_task, recorded_run, trade_recorded_steps
from tests.support.series import draw_waves, make_bars


@pytest.fixture
def path(recordings, tmp_path, monkeypatch):
    """A run with a fifth held out, in a folder of its own."""
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    recordings.copy("held out")
    (path,) = Path("runs").resolve().glob("*-*-*")
    return path


def count(path, **plan):
    """Looks after one more."""
    return judge_briefly(path, is_open=True, **plan).held_out.looks


def read_result(path):
    """The result of a run."""
    with RunStore.open(path) as store:
        return load_result(store)


def test_fronts_that_saw_a_bar_are_counted(path):
    """The same front is no new look; neither is one of another symbol or of later bars."""
    assert count(path) == 1
    looks = path.parent / LOOKS
    (look,) = json.loads(looks.read_text())
    elsewhere = [{**bars, "symbol": "OTHER"} for bars in look["bars"]]
    later = [{**bars, "first": "2999", "last": "3000"} for bars in look["bars"]]
    looks.write_text(json.dumps([{"front": "x", "bars": elsewhere}, {"front": "y", "bars": later}]))
    assert count(path) == 1
    looks.write_text(json.dumps([look, {**look, "front": "another"}]))
    assert count(path) == 2


@pytest.mark.parametrize("is_first", [True, False], ids=["first look", "another one since"])
def test_a_copy_counts_the_looks_that_it_knows(path, tmp_path, is_first):
    """Into a folder without a list of looks, a run brings those that were counted before."""
    looks = path.parent / LOOKS
    if not is_first:
        count(path)
    bars = list_bar_ranges(part for part in read_result(path).data.windows if part.is_held_out)
    bars = [part.payload() for part in bars]
    looks.write_text(json.dumps([{"content": "", "bars": bars, "front": "another"}]))
    assert count(path) == 2
    copy = shutil.copytree(path, tmp_path / "elsewhere" / "copy")
    assert count(copy) == 2
    listed = json.loads((copy.parent / LOOKS).read_text())
    assert {part["front"] for part in listed} == {"another", read_result(path).front_hash}
    looks.unlink()
    assert count(path) == 2


@pytest.mark.parametrize("text", ["[", '[{"front": "a", "bars": 5}]', "{}", "[]" + 1000 * " "])
def test_a_list_that_is_none_of_looks_is_refused(path, text, monkeypatch):
    """A folder of runs from elsewhere brings its list as well, of any size."""
    monkeypatch.setattr(holdout, "LARGEST_BYTES", 1000)
    (path.parent / LOOKS).write_text(text)
    with pytest.raises(StoreError, match=r"looks\.json"):
        count(path)


def test_who_is_named_after_a_look_is_not_confirmed_by_it(path):
    """Of the same front on the same bars, whichever copy was looked at first."""
    copy = shutil.copytree(path, path.parent / "copy")
    first = judge_briefly(copy, is_open=True)
    other = (first.pick.member + 1) % len(read_result(path).front)
    assert other != first.pick.member
    for gone in (False, True):
        if gone:
            shutil.rmtree(copy)
        with pytest.raises(ConfigError, match=f"member {first.pick.member} as the pick"):
            count(path, pick=other)
    assert judge_briefly(path, pick=other).held_out is None
    assert judge_briefly(path, is_open=True).held_out == first.held_out


def test_two_who_look_at_once_are_both_counted(tmp_path, monkeypatch):
    """A look that comes while another is written down waits, and none takes the other's place."""
    window = WindowDescription(
        symbol="X", sample="held_out", start=0, end=9, first="2020", last="2021", bars=9
    )
    counts, read = [], holdout._read_looks

    def look(front):
        counts.append(record_looks(tmp_path, [window], "content", {front: set()}))

    second = Thread(target=look, args=["second"])

    def read_while_another_looks(path):
        noted = read(path)
        if not second.ident:
            second.start()
            second.join(0.2)
        return noted

    monkeypatch.setattr(holdout, "_read_looks", read_while_another_looks)
    look("first")
    second.join()
    assert sorted(map(sorted, counts), key=len) == [["first"], ["first", "second"]]
    noted = json.loads((tmp_path / LOOKS).read_text())
    assert sorted(entry["front"] for entry in noted) == ["first", "second"]


def test_a_schedule_goes_on_over_held_out_bars(tmp_path):
    """The trades there are those of one ledger over all steps, in one look that is verified."""
    plan = {"every": "10d", "train": "30d", "purge": 0, "resamples": 19, "causal": False}
    path = recorded_run(tmp_path, make_planted_market(7, 2400, 8), polish=8, holdout="30%")
    before = judge_briefly(path, **plan)
    assert before.held_out is None
    opened = judge_briefly(path, is_open=True, **plan)
    with RunStore.open(path) as store:
        rows = [row for name, row in store.evidence if name == "schedule"]
        task = restore_task(store, JUDGE, {})
        assert read_judgement(store).held_out == opened.held_out
        assert check_run(store, {}, 2).problems == ()
    ledger, borders = trade_recorded_steps(path, task, task.markets.series[0], "10d", "30d")
    assert len(rows) == len(borders) > len(before.schedule.rows)
    (held_out,) = task.markets.held_out
    inside = ledger.keep(ledger.signal_bar >= held_out.start)
    expected = measure_out_of_sample([inside], task.markets.series, [held_out])
    record = opened.held_out
    assert (record.by_steps, record.looks) == (True, 1)
    assert (record.trades, record.mean_r) == (expected.trades, expected.mean_r)
    assert record.trades > 3
    assert opened.schedule == before.schedule
    assert judge_briefly(path, is_open=True, **plan).held_out == record
    with RunStore.open(path) as store:
        # All steps were recorded: to open them again searched nothing.
        assert [row for name, row in store.evidence if name == "schedule"] == rows
    (row,) = record.list_rows(Around())
    assert row.sentence.startswith("The schedule goes on")


RARE, LUCKY = Tally(142, 0, 100.2, is_stopped=True), Tally(17, 2, 2.5, is_stopped=True)
GAIN = make_unseen(40, 25, 0.123, 0.99)
LOSS = make_unseen(40, 25, -0.05, 0.3)
UNSURE = make_unseen(40, 25, 0.02, 0.6)
NOUGHT = make_unseen(393, 200, -0.004, 0.47, -0.08)
"""Four thousandths of R below zero: 0.08 standard errors."""

HEAVY = make_unseen(400, 200, -0.1, 0.02, -2.0)
"""Sum -40 R, root of squares 20 R."""

OPENED = make_unseen(100, 60, 0.1, 0.77, 0.8)
"""Held-out bars that are not sure of a gain: sum 10 R, root of squares 12.5 R."""

NONE = make_unseen(0, 0, None, None)
ALL = dict.fromkeys(CHECKS, True)

BEST = Facts(
    is_certified=True, differences=0, members=12, trades=130, command="judge latest --null 299",
    seconds=41.2, strength=2.9, mean_r=0.31, nulls={"shuffled": RARE, "mirrored": RARE},
    held_out=GAIN, folds=GAIN, checks=ALL,
)  # fmt: skip
"""Everything confirms."""

UNTESTED = {"shuffled": None, "mirrored": None}


BELIEVED = LedgerRecord(11, 0, 2, 100.2, is_believed=True)
DOUBTED = LedgerRecord(11, 3, 0, 100.2, is_believed=False)
"""Folders of eleven searches; in the second no e-value is at least 110."""


def null(searches, at_least=0):
    """Null searches that were all made, by the usual plan."""
    return tally(0.5, [*[0.0] * (searches - at_least), *[1.0] * at_least], 299)


def change(facts, *, shuffled=RARE, mirrored=RARE, **changes):
    """Facts with some changed, and null searches of both kinds."""
    made = {"shuffled": shuffled, "mirrored": mirrored}
    nulls = {kind: tally for kind, tally in made.items() if tally is not None}
    return replace(facts, nulls=nulls, **changes)


def check(facts, grade, words):
    """The grade, and what stands in its sentence."""
    verdict = decide(facts)
    assert verdict.grade == grade, verdict
    for word in words:
        assert word in verdict.sentence


@pytest.mark.parametrize(
    ("changes", "grade", "words"),
    [
        ({}, "robust", ["0.12 R", "40 trades"]),
        # What cannot be trusted, whatever else is known.
        ({"is_certified": False}, "invalid", ["reference"]),
        ({"differences": 2}, "invalid", ["2 differences"]),
        ({"gone": "2024-01-01 03:00"}, "invalid", ["2024-01-01 03:00"]),
        # Thirty trades are enough.
        ({"members": 0, "trades": 0}, "too_little", ["empty"]),
        ({"trades": 29, "shuffled": None}, "too_little", ["29, 30"]),
        ({"trades": 30}, "robust", []),
        # Null searches of each kind until the bet on them is decided.
        (UNTESTED, "not_judged", ["over 80 trades", "over 40", "--null 299 (about 42 s)"]),
        ({**UNTESTED, "folds": replace(LOSS, trades=12), "held_out": None}, "not_judged",
         ["lost 0.05 R", "12 trades"]),
        ({"shuffled": null(98)}, "not_judged", ["98 searches on shuffled", "142"]),
        ({"shuffled": null(9, 1)}, "not_judged", ["9 searches on shuffled", "285"]),
        ({"mirrored": None}, "not_judged", ["0 searches on mirrored"]),
        ({"mirrored": Tally(285, 1, 100.1, is_stopped=True)}, "robust", []),
        # Luck stands before a loss, and says how many would tell it from an edge.
        ({"shuffled": LUCKY, "mirrored": None}, "luck",
         ["As good on 2 of 17 shuffled markets: probably luck. (A market", "--null 999.)"]),
        ({"mirrored": null(99, 2)}, "luck", ["2 of 99 mirrored markets"]),
        ({"shuffled": Tally(999, 6, 30.0, is_stopped=True)}, "luck", ["6 of 999"]),
        ({"shuffled": LUCKY, "folds": NOUGHT, "held_out": HEAVY}, "luck",
         ["lost in held-out bars", "nothing in folds"]),
        # A pick that loses on the bars that it was chosen on needs no null searches.
        ({"strength": -5.87, "mean_r": -0.61, "trades": 1159}, "lost", ["1,159", "-0.61 R"]),
        ({**UNTESTED, "strength": -5.87, "mean_r": -0.61}, "lost", ["loses", "-0.61 R"]),
        ({"strength": -0.99, "mean_r": -0.004}, "lost", ["gains nothing", "-0.004 R"]),
        # More than luck, and no more than that.
        ({"folds": None, "held_out": None}, "weak", ["p = 0.00998", "neither folds nor held-out"]),
        ({"folds": UNSURE, "held_out": None}, "weak", ["neither folds nor held-out bars are sure"]),
        ({"folds": LOSS}, "weak", ["folds lost: -0.05 R", "40 trades"]),
        ({"ledger": DOUBTED}, "weak", ["of 11 searches", "0 may be believed", "110 is needed"]),
        ({"ledger": BELIEVED}, "robust", []),
        ({"is_warm_started": True}, "weak", ["began from a run"]),
        ({"is_approximate": True, "held_out": None}, "weak", ["approximate"]),
        ({"untested": ("AAPL",), "held_out": None}, "weak", ["AAPL"]),
        ({"untested": ("AAPL",)}, "robust", []),
        ({"folds": replace(OPENED, trades=80), "held_out": OPENED}, "weak",
         ["0.10 R a trade over 180", "over 80", "over 100"]),
        # What confirms needs trades, closing days and a ratio that is sure enough.
        ({"held_out": replace(GAIN, trades=29), "folds": None}, "weak", []),
        ({"held_out": replace(GAIN, closing_days=19), "folds": None}, "weak", []),
        ({"held_out": replace(GAIN, psr=0.949), "folds": None}, "weak", []),
        ({"held_out": make_unseen(30, 20, 1e-9, 0.95), "folds": None}, "robust", []),
        # Looks make held-out bars harder, searches folds.
        ({"looks": 4, "folds": None}, "robust", []),
        ({"looks": 6, "folds": None}, "weak", []),
        ({"looks": 6}, "robust", []),
        ({"searches": 6, "held_out": None}, "weak", []),
        # No trades neither confirm nor contradict.
        ({"held_out": NONE}, "robust", []),
        ({"held_out": NONE, "folds": None}, "weak", []),
        # The pick held, or this way of searching; a check that was not made does not pass.
        ({"checks": {}}, "holds", ["Held", "0.12 R"]),
        ({"held_out": UNSURE}, "robust", ["Searching this way held"]),
        *(({"checks": ALL | {name: False}}, "holds", []) for name in CHECKS),
        ({"is_simulated": True}, "robust", ["simulated market"]),
    ],
)  # fmt: skip
def test_the_first_grade_that_applies(changes, grade, words):
    """Of one change to the best case, or few."""
    check(change(BEST, **changes), grade, words)


OPEN = None
"""Neither lost nor confirmed."""


@pytest.mark.parametrize(
    ("folds", "held_out", "words"),
    [
        (LOSS, None, ["Lost", "-0.05 R", "40 trades (folds)"]),
        (None, LOSS, ["Lost", "(held-out bars)"]),
        (replace(LOSS, trades=29), replace(LOSS, trades=1), ["Lost", "30 trades", "29", "over 1)"]),
        # Within a standard error of zero it is no loss.
        (NOUGHT, None, ["Nothing gained", "-0.004 R", "393"]),
        (replace(NOUGHT, strength=-1.0), None, ["Lost", "-0.004 R"]),
        # Evidence adds up: -40 R and 10 R, 1.27 standard errors below zero.
        (HEAVY, None, ["Lost", "-0.10 R", "400"]),
        (HEAVY, OPENED, ["Lost", "-0.06 R a trade over 500"]),
        # Of -10 R with a root of squares of 20 R nothing is left.
        (replace(HEAVY, trades=100, strength=-0.5), replace(OPENED, trades=110),
         ["Nothing gained", "0.005 R a trade over 210"]),
        # 100 R of 45 R: all together 60 R lie 1.2 standard errors above zero.
        (HEAVY, make_unseen(1000, 200, 0.1, 0.94, 100 / 45), OPEN),
        # Trades elsewhere that confirm, too few that lost, and a gain.
        (LOSS, GAIN, OPEN),
        (replace(LOSS, trades=29), None, OPEN),
    ],
)  # fmt: skip
def test_unseen_bars_on_which_it_does_not_gain_are_lost(folds, held_out, words):
    """Of thirty trades together that nothing makes up for, with null searches or without."""
    for made, other in ((None, "not_judged"), (RARE, "weak")):
        facts = change(BEST, shuffled=made, mirrored=made, folds=folds, held_out=held_out)
        check(facts, other if words is OPEN else "lost", words or [])


THROUGH_TIME = replace(
    BEST, held_out=None, checks={}, trades=40, schedule=ScheduleFacts("30 days", 24)
)
"""A schedule of 24 steps whose stitched trades confirm."""


@pytest.mark.parametrize(
    ("changes", "grade", "words"),
    [
        # At most held, whatever else is known.
        ({}, "holds", ["every 30 days", "0.12 R", "24 steps", "As good on 0 of 142"]),
        ({"trades": 12}, "too_little", ["12, 30"]),
        ({"folds": replace(GAIN, closing_days=19)}, "too_little", ["days", "19, 20"]),
        ({"shuffled": LUCKY}, "luck", ["2 of 17 shuffled markets"]),
        ({"strength": -1.5, "mean_r": -0.1}, "lost", ["40 trades", "-0.10 R"]),
        (UNTESTED, "not_judged", ["steps gained 0.12 R"]),
        ({"shuffled": null(3)}, "not_judged", ["3 schedules on shuffled", "142"]),
        ({"ledger": DOUBTED}, "weak", ["11 searches"]),
    ],
)  # fmt: skip
def test_grades_of_a_schedule(changes, grade, words):
    """The first that applies, by stitched trades and null schedules."""
    check(change(THROUGH_TIME, **changes), grade, words)


tallies = st.sampled_from([None, RARE, LUCKY, null(50), null(141, 1)])
unseen = st.sampled_from([None, GAIN, LOSS, UNSURE, NOUGHT, HEAVY, OPENED])
cases = st.builds(
    change, st.just(BEST), is_certified=st.booleans(), differences=st.sampled_from([0, 3]),
    trades=st.sampled_from([12, 300]), shuffled=tallies, mirrored=tallies, folds=unseen,
    held_out=unseen, strength=st.sampled_from([2.9, 0.0, -3.0]), looks=st.integers(1, 9),
    searches=st.integers(1, 30), ledger=st.sampled_from([None, BELIEVED, DOUBTED]),
    is_warm_started=st.booleans(), is_approximate=st.booleans(),
    is_simulated=st.booleans(), checks=st.sampled_from([ALL, {}, ALL | {"costs": False}]),
)  # fmt: skip

NEVER = (
    r"\b(profitabl\w*|proven?|proof|safe\w*|will|significan\w*|probabilit\w*|chance|guarant\w*"
    r"|PBO|overfit\w*)\b"
)


@given(cases)
def test_more_than_weak_needs_bars_that_the_search_had_not_seen(facts):
    """No more than weak where something contradicts, and no word ever promises."""
    verdict = decide(facts)
    if verdict.grade in ("holds", "robust"):
        seen = [fact for fact in (facts.folds, facts.held_out) if fact is not None]
        assert GAIN in seen
        assert not any(part.contradicts for part in seen)
        assert not facts.is_warm_started
        assert facts.ledger is not DOUBTED
    for text in (verdict.sentence, *verdict.reasons):
        assert not re.search(NEVER, text, re.IGNORECASE), text


@given(cases, st.sampled_from(["folds", "held_out"]), st.sampled_from([LOSS, UNSURE, NOUGHT]))
def test_evidence_that_is_not_for_it_never_improves_the_grade(facts, name, more):
    """Bars that are opened, or folds that are made, and show no gain beyond a standard error."""
    nothing, shown, lost, as_it_is = (
        GRADES.index(decide(replace(facts, **{name: known})).grade)
        for known in (None, more, LOSS, getattr(facts, name))
    )
    assert shown <= nothing
    assert lost <= as_it_is


DIPS = w.strategy(
    "Buys a dip, before the trough and a tenth above it.",
    long=w.crosses_below(w.rsi(w.close, 14), w.gene("level", 40, 36, 44)), stop=w.share(0.4),
    max_hold=w.whole("hold", 30, 26, 34), timeframe="1h",
    account=w.account(1000, w.notional(w.gene("size", 2000, 500, 40000))),
)  # fmt: skip
TASK = make_task(make_bars(1500, 3600 * 10**9, **draw_waves(1500)), spec=DIPS, min_trades=1)


def genomes(*sizes):
    """Members that trade alike, in money of other sizes."""
    encode = TASK.spec.layout.encode
    return np.stack([encode({"level": 37.0, "hold": 34, "size": float(n)}) for n in sizes])


def test_strength_of_the_law():
    """A sum of 6 over squares that sum to 74; without a trade that moved there is none."""
    windows = (np.array([3.0, -4.0]), np.empty(0), np.array([7.0, 0.0]))
    assert compute_strength(windows).value == pytest.approx(6 / math.sqrt(74))
    assert compute_strength([]).why == compute_strength([np.zeros(1)]).why == "no trade moved"


def test_the_strongest_that_stands_is_asked_for():
    """Of equal strength the least size comes first by genome, and the largest were gone."""
    front, engine = genomes(35000, 30000, 1000), TASK.engine()
    is_gone = replay_gone(TASK, front)
    assert [is_gone(member) for member in range(3)] == [True, True, False]
    assert run_alone(ask_pick(TASK, engine.windows, front), engine).member == 2
    assert run_alone(ask_pick(TASK, engine.windows, front[:2]), engine) is None
    assert choose_member(np.array([3.0, np.nan, np.nan]), front, is_gone) == 2


def test_a_pick_that_would_be_gone_does_not_stay():
    """By the rule `keep`, which keeps one that is as strong where its account stands."""
    setup = StepSetup(TASK, StepSettings("10d", "20d", 0, anchored=False, pick_by="keep"))
    last = len(setup.steps) - 1
    for size, is_kept in ((1000, True), (35000, False)):
        (before, strongest), number = genomes(size, 1200).tolist(), last
        found = [
            *(PartPick(step, None, None) for step in range(last - 1)),
            PartPick(last - 1, tuple(before), 4.0),
            PartPick(number, tuple(strongest), setup.measure_strength(number, genomes(1200)[0])),
        ]
        assert (choose_picks(setup, found)[-1].genome == tuple(before)) == is_kept


def test_the_account_of_a_schedule_may_be_gone_as_well():
    """Its steps trade one account, which stood at nothing where one of them took too much."""
    markets, schedule = TASK.markets, Schedule("10d", "20d", 0, anchored=False)
    steps = plan_steps(markets.series, markets.uncut, schedule)
    for size, is_gone in ((1000, False), (35000, True)):
        traded = TradedSteps(TASK, steps, [genomes(size)[0]] * len(steps))
        assert bool(traded.gone) == is_gone
        assert (traded.growth[0] > 1.0) or is_gone
