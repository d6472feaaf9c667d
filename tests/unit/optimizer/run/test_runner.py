"""A run goes from a configuration to a certified front, stops when asked, and goes on the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimizer.config.run_config import RunConfig
from optimizer.errors import StoppedError, StoreError
from optimizer.run import trust
from optimizer.run.compared import compare_runs
from optimizer.run.problem import EngineProblem
from optimizer.run.runner import Observer, resume_run, start_run
from optimizer.store import RunStore, list_runs
from tests.support.commands import write_market

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


def test_the_way_to_go_on_remembers_more_generations(config):
    """A run that was made longer and then stopped names its planned generations."""
    begin(config.model_copy(update={"generations": 1}), Witness())
    with pytest.raises(StoppedError, match=r"go on with: .* --resume \S+$"):
        finish_run(only_run(config), Witness(stop_after=2), generations=GENERATIONS + 1)
    (run,) = list_runs(Path(config.runs))
    assert (run.planned, run.generations) == (GENERATIONS + 1, 3)
    assert finish_run(only_run(config)).generation == GENERATIONS + 1


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
