"""The proof that a person's own indicators do not look ahead, for individuals that are shown."""

from collections.abc import Iterable, Sequence

import numpy as np

from engine.accounts.ledger import REASONS, Bars64, Ledger
from optimizer.run.markets import Markets
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from strategy.lookahead_check import prove_individuals
from strategy.model import Strategy


def prove_front(task: Task, genomes: Floats) -> None:
    """Prove it for a front [F, G] on the bars that were searched; see `prove_shown`."""
    # Without anything to prove no ledger is asked for.
    if task.spec.own:
        ledgers = task.engine(device="cpu").ledgers(genomes)
        prove_shown(task.spec, task.closed.markets, genomes, ledgers)


def prove_one(task: Task, genome: Floats) -> None:
    """Prove it for one individual [G] on all bars of a task, before anything is computed."""
    prove_individuals(task.spec, task.markets.series, [task.spec.layout.decode(genome)])


def prove_shown(
    spec: Strategy, markets: Markets, genomes: Floats, ledgers: Iterable[Sequence[Ledger]]
) -> None:
    """Prove it for individuals, also at the bars at which their trades signal, in or out.

    Args:
        spec: The strategy; without an indicator of a person's own there is nothing to prove.
        markets: All of their series are read.
        genomes: [N, G].
        ledgers: [N] of [W], over all windows of the markets.

    Raises:
        IndicatorError: Naming function, parameters, and the first bar that differs.
    """
    if not spec.own:
        return
    by_window = [[_signals(ledger) for ledger in member] for member in ledgers]
    windows_of = [
        [index for index, window in enumerate(markets.all_windows) if window.series == number]
        for number in range(len(markets.series))
    ]
    signals = [
        [np.concatenate([bars[index] for index in indices]) for bars in by_window]
        for indices in windows_of
    ]
    individuals = [spec.layout.decode(genome) for genome in genomes]
    prove_individuals(spec, markets.series, individuals, signals)


def _signals(ledger: Ledger) -> Bars64:
    """Bars with a signal at their close, to enter or to leave at the next open."""
    by_signal = ledger.reason == REASONS.index("signal")
    return np.concatenate([ledger.signal_bar, ledger.exit_bar[by_signal] - 1])
