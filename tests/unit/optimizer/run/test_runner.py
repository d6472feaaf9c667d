"""A run goes from a configuration to a certified front and on; searches are repeated and begun."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.metrics import Span
from optimizer.config.run_config import RunConfig, make_config
from optimizer.errors import StoppedError, StoreError
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.run import trust
from optimizer.run.compared import compare_runs
from optimizer.run.points import build_grid, importance
from optimizer.run.problem import Answer, EngineProblem, Judge, Question, judge_together
from optimizer.run.purposes import JUDGE, restore_task
from optimizer.run.runner import Observer, on_other_bars, resume_run, search, start_run
from optimizer.run.tables import hash_genomes, load_warm_start, newest_front
from optimizer.search.evolution import front_hash
from optimizer.store import RunStore, list_runs
from strategy import STRATEGIES
from tests.support.commands import write_market
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, make_task, write_bars
from tests.support.searches import Zdt1, evolve, float_layout, settings

GENERATIONS = 3


class Witness(Observer):
    """Remembers what happened, and ends the run when it should.

    Args:
        stop_after: Generation after which it asks to stop.
        interrupt_at: Event at which a person stops everything at once.
    """

    def __init__(self, *, stop_after=None, interrupt_at=None):
        super().__init__(self.note)
        self.events, self._stop_after, self._interrupt_at = [], stop_after, interrupt_at

    def should_stop(self):
        """Whether to stop."""
        return self._stop_after is not None and self.events[-1] == self._stop_after

    def note(self, progress):
        """A phase has begun, or a generation was found."""
        event = progress.done if progress.planned else progress.phase.partition(" ")[0]
        self.events.append(event)
        if event == self._interrupt_at:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A market of 3,000 bars in a file."""
    return write_market(tmp_path_factory.mktemp("market") / "bars.csv")


@pytest.fixture
def config(market, tmp_path):
    """A small search on that market."""
    return RunConfig(
        data=market,
        population=12,
        generations=GENERATIONS,
        min_trades=3,
        runs=str(tmp_path / "runs"),
    )


@pytest.fixture(scope="module")
def unbroken(market, tmp_path_factory):
    """The result of that search undisturbed."""
    runs = str(tmp_path_factory.mktemp("unbroken"))
    config = RunConfig(data=market, population=12, generations=GENERATIONS, min_trades=3, runs=runs)
    return begin(config, Witness())


def begin(config, witness):
    """Start a run under the eyes of a witness."""
    return start_run(config, witness)


def finish_run(path, witness=None, **flags):
    """Resume a run."""
    witness = witness or Witness()
    return resume_run(path, flags, witness)


def only_run(config):
    """Directory of the only run that there is."""
    (run,) = list_runs(Path(config.runs))
    return run.path


def without_timing(result):
    """All of a result that must repeat."""
    return {k: v for k, v in result.payload().items() if k not in ("run", "path", "timing")}


def test_those_that_polished_the_front_were_tried_too(unbroken):
    """They count as any other candidate; the record knows the seed of all."""
    assert unbroken.polished > 0
    assert unbroken.evaluated == unbroken.timing.evaluated
    with RunStore.open(Path(unbroken.path)) as store:
        assert store.header["seed"] == RunConfig().seed


@pytest.mark.parametrize("event", ["generation:", 2, "replaying:"])
def test_a_run_interrupted_at_once_goes_on_to_the_same_front(config, unbroken, event):
    """A second Ctrl-C may come at any time; the store stays whole."""
    with pytest.raises(StoppedError, match="go on with: python -m optimizer evolve --resume"):
        begin(config, Witness(interrupt_at=event))
    path = only_run(config)
    with RunStore.open(path) as store:
        assert store.verify() == []
        assert store.status == "interrupted"
    assert without_timing(finish_run(path)) == without_timing(unbroken)


def test_a_run_that_is_killed_as_soon_as_it_is_seen_was_begun_here(config, monkeypatch):
    """Its bars are read again without any trust that a person would have to give."""

    def kill(*_, **__):
        raise SystemExit

    monkeypatch.setattr(RunStore, "_open_with_lock", kill)
    with pytest.raises(SystemExit):
        begin(config, Witness())
    monkeypatch.undo()
    # As another process: what this one remembers is forgotten.
    monkeypatch.setattr(trust, "_SESSION", {})
    path = only_run(config)
    with RunStore.open(path) as store:
        assert trust.is_begun_here(store)


def test_equal_fronts_beat_nothing(unbroken):
    """A run beside itself has all of the common front, and differs in nothing."""
    path, size = Path(unbroken.path), len(unbroken.front)
    with RunStore.open(path) as one, RunStore.open(path) as other:
        rows = compare_runs([one, other])
    for row in rows:
        assert (row.hypervolume, row.beaten, row.shared) == (1.0, (0.0, 0.0), (size, size))
        assert (row.differs, row.limits, row.is_comparable) == ((), (), True)
        assert row.evaluated == unbroken.evaluated


def test_a_machine_that_computes_other_bits_is_found_out(config, monkeypatch):
    """Recorded individuals are evaluated anew before anything is built on them."""
    with pytest.raises(StoppedError):
        begin(config, Witness(stop_after=1))
    honest = EngineProblem.evaluate

    def evaluate_skewed(self, genomes):
        result = honest(self, genomes)
        return replace(result, objectives=np.nextafter(result.objectives, np.inf))

    monkeypatch.setattr(EngineProblem, "evaluate", evaluate_skewed)
    with pytest.raises(StoreError, match="generation 1 cannot be gone on from: candidate 0"):
        finish_run(only_run(config))


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
    monkeypatch.setattr("optimizer.search.evolution.CHUNK", 16)
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


SELLER = STRATEGIES["seller_exhaustion"].layout
GENES = {"ema_fast": 24, "reward_r": 3.5}


def write_file(folder, name, content):
    """A file in a folder, by its path."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def begin_with(path, **settings):
    """Individuals of a file that a search begins with."""
    return load_warm_start(RunConfig(warm_start=path, **settings), SELLER)


@pytest.mark.parametrize(
    "content",
    [
        GENES,
        {"genes": GENES, "metrics": {}},
        {"front": [{"genes": GENES}]},
        {"header": {}, "result": {"front": [{"genes": GENES}]}},
        [{"generation": 1, "serial": 2, "genes.ema_fast": 24, "genes.reward_r": 3.5}],
    ],
    ids=["genes", "backtest", "export", "show", "table"],
)
def test_json_is_read_as_people_write_and_we_export_it(tmp_path, content):
    """Genes that are named are taken, the others keep their default."""
    (genome,) = begin_with(write_file(tmp_path, "g.json", content)).genomes
    assert genome.tolist() == SELLER.encode(GENES).tolist()


def test_csv_columns_may_be_those_of_an_export(tmp_path):
    """Columns of genes with or without their prefix; our other columns are not looked at."""
    text = "genes.ema_fast,reward_r,metrics.sharpe\n24,3.5,0.1\n30,,0.2\n"
    genomes = begin_with(write_file(tmp_path, "g.csv", text)).genomes
    assert genomes[:, SELLER.index("ema_fast")].tolist() == [24.0, 30.0]
    assert genomes[:, SELLER.index("reward_r")].tolist() == [3.5, 2.0]


OUTSIDE = [{"reward_r": 99.0}, {"reward_r": 1.0}, {"ema_fast": 150, "ema_slow": 100}]


def test_they_are_moved_inside_the_bounds_where_that_is_asked(tmp_path):
    """A note counts those moved, and those without a place."""
    path = write_file(tmp_path, "g.json", OUTSIDE)
    genomes = begin_with(path, repair=True)
    assert genomes.genomes[:, SELLER.index("reward_r")].tolist() == [5.0, 1.0, 2.0]
    assert SELLER.is_legal(genomes.genomes).all()
    moved = "2 of 3 candidates to begin with were repaired"
    assert genomes.notes(128) == (moved,)
    assert genomes.notes(3)[0] == moved
    assert "of 3 candidates to begin with the first 2 take part" in genomes.notes(3)[1]


def test_they_are_judged_in_the_first_generation():
    """They follow the published genome; a population of one has no room for them."""
    problem = Zdt1(float_layout(3))
    given = np.array([[0.1, 0.2, 0.3], [0.4, 0.0, 1.0]])
    next(evolve(problem, settings(6, 2), warm_start=given))
    assert problem.asked[0][:3].tolist() == [[0.5] * 3, *given.tolist()]
    next(evolve(problem, settings(1, 2), warm_start=given))
    assert problem.asked[1].tolist() == [[0.5] * 3]


def test_a_hash_tells_genomes_apart():
    """By the last bit of the last; nobody to begin with has none."""
    genomes = np.array([[1.0, 2.0], [3.0, 4.0]])
    other = np.array([[1.0, 2.0], [3.0, np.nextafter(4.0, 9.0)]])
    assert hash_genomes(None) is None
    assert hash_genomes(genomes) == hash_genomes(genomes.copy()) != hash_genomes(other)


def test_a_cell_holds_the_best_and_how_many_there_are():
    """More is better or less is; what is undefined leaves a cell empty."""
    genomes = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, 6.0]])
    values = np.array([3.0, 4.0, np.nan, 1.0])
    grid = build_grid(genomes, (0, 1), values, maximise=True)
    assert grid.counts.tolist() == [[2, 1], [0, 1]]
    assert np.array_equal(grid.values, [[4.0, np.nan], [np.nan, 1.0]], equal_nan=True)
    least = build_grid(genomes, (0, 1), values, maximise=False)
    assert least.values[0, 0] == 3.0


def test_searches_in_step_read_their_own_genes():
    """Each is judged as it would be alone, also where a formula reads a gene."""
    goals = Goals(parse_objectives("sum_r / gene.b,trades:min"), 1, gene_names=("a", "b"))
    judge = Judge(goals, (Span(100, 1.0),))
    genomes = [np.array([[0.0, 2.0], [0.0, 4.0]]), np.array([[0.0, 8.0]])]
    answers = []
    for part in genomes:
        accumulators = np.zeros((len(part), 1, len(ACCUMULATORS)))
        for name, value in {"trades": 9.0, "sum_r": 16.0, "equity": 1.1}.items():
            accumulators[:, :, ACCUMULATOR_INDEX[name]] = value
        answers.append(Answer(accumulators, None))
    questions = [Question(part, pools=False, judge=judge) for part in genomes]
    judged = judge_together(questions, answers)
    reached = [goals.natural(part.judged.evaluation.objectives)[:, 0].tolist() for part in judged]
    assert reached == [[8.0, 4.0], [2.0]]


@pytest.fixture
def rng():
    """Words of one seed."""
    return np.random.default_rng(5)


def test_shares_of_a_sum_are_the_variances_of_its_parts(rng):
    """Independent parts of variance 4, 1 and 5: what bins leave within them is small."""
    genomes = rng.uniform(-1, 1, size=(8000, 3))
    noise = rng.normal(size=8000) * np.sqrt(5 / 3)
    ranking = importance(genomes, 2 * genomes[:, 0] + genomes[:, 1] + noise)
    assert ranking.alone == pytest.approx([0.4, 0.1, 0.0], abs=0.02)
    assert ranking.beyond == pytest.approx([0.4, 0.1, 0.0], abs=0.02)
    assert ranking.together == pytest.approx(0.5, abs=0.03)


def test_a_gene_that_came_along_explains_nothing_beyond(rng):
    """A copy with errors looks good alone, and adds nothing to the one that decides."""
    first = rng.integers(0, 8, size=2000).astype(float)
    genomes = np.stack([first, first + rng.normal(size=2000)], axis=1)
    ranking = importance(genomes, first)
    assert ranking.alone[1] > 0.5
    assert ranking.beyond[1] <= ranking.noise[1]
    assert ranking.beyond[0] > 10 * ranking.noise[1]


def test_each_option_of_a_gene_without_order_is_a_bin(rng):
    """However rare: bins by quantiles hide an option between two that are frequent."""
    option = rng.choice(3, size=1000, p=(0.49, 0.02, 0.49)).astype(float)
    genomes = np.stack([option, rng.uniform(size=1000)], axis=1)
    ordered = importance(genomes, option == 1.0)
    ranking = importance(genomes, option == 1.0, [True, False])
    assert ranking.alone[0] > 0.99
    assert ordered.alone[0] < 0.5
