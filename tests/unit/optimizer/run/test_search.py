"""A search repeated without a record finds what the run found, and all that it judged."""

import numpy as np
import pytest

from data.bars import Window
from optimizer.config.run_config import make_config
from optimizer.run.problem import EngineProblem
from optimizer.run.purposes import JUDGE, restore_task
from optimizer.run.runner import Observer, start_run
from optimizer.run.search import on_other_bars, search
from optimizer.run.tables import newest_front
from optimizer.search.evolution import front_hash
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, make_task, write_bars

BARS = make_planted_market(7, 1500, 8)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The market as a file."""
    return write_bars(tmp_path_factory.mktemp("data") / "planted.csv", BARS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"polish": 0, "population": 24},
        {"max_evaluations": 40},
        {"search": "lattice", "steps": {"ema_fast": 9, "reward_r": 1.0, "max_hold": 16}},
    ],
    ids=["unpolished", "evaluations", "lattice"],
)
def test_a_search_is_made_again_to_the_same_front(tmp_path, data, settings):
    """As the run did, with the same trials, whatever ended it."""
    listener = Observer()
    config = make_config({**SMALL, "data": [data], "runs": str(tmp_path), **settings}, where="test")
    result = start_run(config, listener)
    with RunStore.open(next(path for path in tmp_path.iterdir() if path.is_dir())) as store:
        task, recorded = restore_task(store, JUDGE, {}), newest_front(store)
    again = on_other_bars(task, task.markets.series, task.markets.windows)
    repeated = search(again, again.engine(), keeps_trials=True)
    assert front_hash(repeated.front.genomes, repeated.front.objectives) == result.front_hash
    assert repeated.front.genomes.tobytes() == recorded.genomes.tobytes()
    assert repeated.evaluated == result.timing.evaluated
    trials = listener.just.trials
    assert repeated.trials.genomes.tobytes() == trials.genomes.tobytes()
    assert (repeated.trials.first, len(repeated.trials)) == (trials.first, len(trials))


def test_a_lattice_that_a_clock_ended_is_searched_as_far_again(monkeypatch):
    """To the chunk that it reached, not to its last point."""
    monkeypatch.setattr("optimizer.search.lattice.CHUNK", 16)
    steps = {"ema_fast": 9, "reward_r": 1.0, "max_hold": 16}
    task = make_task(BARS, search="lattice", steps=steps, generations=1)
    assert task.lattice.chunks > 2
    repeated = search(task, task.engine())
    assert (repeated.last.number, repeated.evaluated <= 32) == (1, True)


def test_trials_are_distinct_and_numbered_by_their_first_evaluation(monkeypatch):
    """An individual judged again is not new, and generation 0 counts its own."""
    asked = []
    judged = EngineProblem.judge

    def listening(problem, genomes):
        asked.append(genomes.copy())
        return judged(problem, genomes)

    monkeypatch.setattr(EngineProblem, "judge", listening)
    task = make_task(BARS)
    engine = task.engine()
    trials = search(task, engine, keeps_trials=True).trials
    expected = list(dict.fromkeys(map(tuple, np.concatenate(asked).tolist())))
    assert list(map(tuple, trials.genomes.tolist())) == expected
    assert trials.first == len(set(map(tuple, asked[0].tolist()))) == SMALL["population"]
    assert trials.trades.tolist() == engine.evaluate(trials.genomes)[:, 0, 0].tolist()


def test_other_bars_end_with_the_last_window_and_keep_what_it_reads():
    """Several windows of one series, and a series without a window, which is left out."""
    other = make_planted_market(8, 1200, 0)
    task = make_task(BARS, other)
    windows = [Window(1, 100, 300, "train"), Window(1, 400, 700, "train")]
    moved = on_other_bars(task, task.markets.series, windows, min_trades=4)
    assert [len(bars) for bars in moved.markets.series] == [700]
    assert moved.markets.windows == (Window(0, 100, 300), Window(0, 400, 700))
    assert moved.markets.series[0].close.tolist() == other.close[:700].tolist()
    assert (moved.config.min_trades, moved.goals.min_trades) == (4, 4)
    assert (task.config.min_trades, task.goals.min_trades) == (SMALL["min_trades"],) * 2
    assert moved.config.max_seconds is None
