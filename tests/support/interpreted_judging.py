"""A judged run on the CUDA backend under Triton's interpreter: whose memory is there, and when.

    python -m tests.support.interpreted_judging cpu

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported. Prints what it judged; ends with an assertion where an engine stays.
"""

import gc
import tempfile
import weakref
from contextlib import contextmanager
from pathlib import Path

from data import Window
from engine.batch import Engine
from optimizer.judging import executors
from optimizer.report.run import evolve
from tests.support.evidence import make_planted_market
from tests.support.interpreted import interpret
from tests.support.interpreted_words import EXAMPLE, INTERPRETED
from tests.support.interpreter import repeat_nothing
from tests.support.judging import write_bars
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

FEW = {"population": 6, "generations": 0, "polish": 0, "min_trades": 1, "threads": 1}

ASKED = {"null": 2, "folds": 2, "train": 1, "purge": 8, "blocks": 0}


@contextmanager
def one_at_a_time():
    """Refuse engines on the device beside others; gives all that are made."""
    begin, made = Engine.__init__, []

    def note(self, *arguments, **options):
        begin(self, *arguments, **options)
        if self.device != "cpu":
            made.append(weakref.ref(self._backend))
            # What is compiled for the first time leaves cycles.
            gc.collect()
            assert sum(one() is not None for one in made) == 1, "two engines at once"

    Engine.__init__ = note
    yield made
    Engine.__init__ = begin


LITTLE_MEMORY = 270_000
"""Bytes of eighteen rows and their lists, of 36 rows that six individuals can read."""


def judge_run(bars, **limits):
    """Search, two folds, and null searches one after the other; gives all that it judged."""
    settings = {**FEW, **ASKED, "device": "cuda", **limits}
    with tempfile.TemporaryDirectory() as folder:
        data = write_bars(Path(folder) / "planted.csv", bars)
        return evolve({**settings, "data": data, "runs": folder}).judgement


def ask(strategy, device):
    """Ask an engine whatever there is; a weak reference to it, which nothing else refers to."""
    bars = make_bars(17, 300)
    engine = Engine(strategy, [bars], [Window.whole(bars), Window(0, 9, 200)], device=device)
    genomes = random_genomes(strategy, 2, seed=1)
    for _ in range(2):
        engine.evaluate(genomes)
    engine.evaluate_account(genomes)
    engine.list_results(genomes)
    assert len(list(engine.ledgers(genomes))) == 2
    engine.signals(genomes[0])
    return weakref.ref(engine._backend)


def let_go(strategy, device):
    """An engine goes with its last name; all that is compiled is there by the second time."""
    ask(strategy, device)
    gc.collect()
    gc.disable()
    gone = ask(strategy, device)
    assert gone() is None, strategy.name
    gc.enable()


def main():
    """Judge a run on the device, and let engines go."""
    repeat_nothing()
    interpret()
    # Nothing is done sooner by cores, and a wave is one market.
    executors.GPU_START_S, executors.PROCESS_S = -1e9, 1e9
    executors.MOST_PAIRS = FEW["population"]
    bars = make_planted_market(7, 600, 8)
    with one_at_a_time() as made:
        judged = judge_run(bars)
    folds, searches = len(judged.folds.rows), judged.null.shuffled.run
    assert len(made) == 1 + searches, "an engine of the run and one of each market"
    with one_at_a_time() as made:
        apart = judge_run(bars, memory=LITTLE_MEMORY, null=0)
    assert len(made) == 1 + folds, "an engine of the run and one of each fold"
    assert apart.folds == judged.folds
    let_go(SHORT_SPECS["seller_exhaustion"], "cuda")
    let_go(EXAMPLE["macd_cross"], INTERPRETED)
    print(f"{folds} folds, {searches} null searches, no two engines at once")


if __name__ == "__main__":
    main()
