"""Many symbols are many windows, and held-out bars are out of every reach of a search."""

from dataclasses import replace

import numpy as np
import pytest

from data import Bars, DataError, Window
from engine.batch import Engine
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.run.markets import Markets, load_markets
from optimizer.run.runner import Observer, start_run
from optimizer.run.task import prepare
from tests.support.commands import write_market
from tests.support.worlds import random_genomes

LENGTHS = {"long": 3000, "short": 2000, "third": 2200}
PRICES = ("open", "high", "low", "close", "volume")


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


def test_held_out_bars_decide_nothing_that_the_search_sees(folder):
    """With other prices there, every judgement has the same bits."""
    task = prepare(config(folder, holdout="30%", min_trades=1), for_search=True)
    genomes = random_genomes(task.spec, 40, seed=5)
    other = replace(
        task, markets=replace(task.markets, series=tuple(map(_redrawn, task.markets.series)))
    )
    assert other.markets.series[0].content_hash != task.markets.series[0].content_hash
    first, second = (t.problem(t.engine()).evaluate(genomes) for t in (task, other))
    for name in ("objectives", "violations", "failures"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


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


def _redrawn(bars: Bars) -> Bars:
    """The same bars with the last three tenths doubled in price."""
    cut = len(bars) - int(len(bars) * 0.3)
    columns = {name: np.array(getattr(bars, name)) for name in PRICES}
    for column in columns.values():
        column[cut:] *= 2.0
    return replace(bars, **columns)


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
