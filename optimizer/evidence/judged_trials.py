"""Statistics over all trials of a search: their number, and the best of them."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from data import joined
from data.checks import Ints
from engine.batch import Engine
from engine.replay.threads import sharing_order
from optimizer.evidence.bootstrap import BootstrapRecord, choose_block_length, compare_with_nothing
from optimizer.evidence.cscv import CscvRecord, compare_halves
from optimizer.evidence.figures import Figure, encode_figures
from optimizer.evidence.pick import SUMS, Pick
from optimizer.evidence.returns import add_results, list_days
from optimizer.evidence.splits import combinatorial
from optimizer.evidence.trials import TrialsRecord, choose_trials
from optimizer.run.problem import Trials
from optimizer.run.task import Task
from optimizer.search.generation import Floats

MOST_IN_BLOCKS = 50_000
"""Trials whose halves of blocks are compared at most."""

EVALUATED_PAIRS = 2**20
"""Pairs of individual and window whose accumulators, 270 MB, are held at a time."""

LISTED_PAIRS, ADDED_AT_ONCE = 2048, 3
"""Pairs of individual and window whose trades are listed at a time, and how often they are held."""

TOO_MANY = "the trials do not fit memory"


class DailyColumns(NamedTuple):
    """R of each day [D], of several trials."""

    used: Floats  # [D, M] judged trials, evenly chosen, and the front
    front: Floats  # [D, F]
    first: Floats  # [D, K] judged trials of generation 0
    pick: Floats  # [D]


@dataclass(frozen=True, eq=False)
class JudgedTrials:
    """The trials of a search that traded often enough to be judged."""

    genomes: Floats  # [N, G], in the order of their first evaluation
    first: int  # how many of them were judged in generation 0
    evaluated: int  # all trials

    @classmethod
    def of(cls, task: Task, trials: Trials) -> "JudgedTrials":
        """Trials that have as many trades as the run asks for."""
        is_judged = trials.trades >= task.config.min_trades
        first = int(is_judged[: trials.first].sum())
        return cls(trials.genomes[is_judged], first, len(trials))


def build_daily_columns(
    task: Task, engine: Engine, judged: JudgedTrials, front: Floats, pick: Pick, most: int
) -> DailyColumns:
    """Daily R of the trials that statistics over days use; `engine` has the searched windows."""
    markets = task.markets
    days = list_days(markets.series, markets.windows)
    chosen = judged.genomes[choose_trials(len(judged.genomes), most)]
    used = _add_missing(chosen, front)
    first = judged.genomes[: judged.first][choose_trials(judged.first, most)]
    whole = _add_missing(used, first)
    # Memory may hold fewer rows than all of them read.
    whole = whole[sharing_order(task.spec, whole)]
    daily = np.zeros((len(whole), len(days)))
    for _, share in engine.shares():
        _add_days(share, whole, days, daily)
        # Memory may not hold it beside the next one.
        del share
    columns = {genome.tobytes(): index for index, genome in enumerate(whole)}
    each, members, begun = (
        daily.T[:, [columns[genome.tobytes()] for genome in some]] for some in (used, front, first)
    )
    return DailyColumns(each, members, begun, members[:, pick.member])


def _add_days(engine: Engine, genomes: Floats, days: Ints, daily: Floats) -> None:
    """Add the trades of genomes [N, G] to their days [N, D], while the next ones are listed."""
    step, adding = max(1, LISTED_PAIRS // len(engine.windows)), deque[Future[None]]()
    # The caller's own thread lists.
    at_once = min(ADDED_AT_ONCE, engine.threads - 1)
    with ThreadPoolExecutor(max(at_once, 1), "days") as pool:
        for begin in range(0, len(genomes), step):
            part = slice(begin, begin + step)
            _, results = engine.list_results(genomes[part])
            adding.append(pool.submit(add_results, results, days, daily[part]))
            if len(adding) > at_once:
                adding.popleft().result()
        for added in adding:
            added.result()


def build_trials_record(
    judged: JudgedTrials, columns: DailyColumns, effective: Figure
) -> TrialsRecord:
    """Number of trials, and of independent ones that they count as."""
    counts = (judged.evaluated, len(judged.genomes), columns.used.shape[1])
    return TrialsRecord(*counts, **encode_figures(effective=effective))


def build_cscv_record(engine: Engine, judged: JudgedTrials, blocks: int) -> CscvRecord:
    """The best of one half of the blocks in the other half, over all halves."""
    splits = combinatorial(engine.series, joined(engine.windows), count=blocks, tests=1)
    windows = [window for split in splits for window in split.test]
    of_block = [number for number, split in enumerate(splits) for _ in split.test]
    genomes = judged.genomes[choose_trials(len(judged.genomes), MOST_IN_BLOCKS)]
    trades, sum_r, sum_r2 = totals = np.zeros((3, len(genomes), blocks))
    for some, sums in _sum_windows(engine.on(windows), genomes):
        for index, block in enumerate(of_block):
            totals[:, some, block] += sums[:, index].T
    return compare_halves(trades, sum_r, sum_r2, engine.threads)


def build_bootstrap_record(
    columns: DailyColumns, seed: int, resamples: int, threads: int | None = None
) -> BootstrapRecord:
    """All trials against an account that does nothing, with blocks as the front wants them."""
    block = choose_block_length(columns.front)
    return compare_with_nothing(columns.used, block, seed, resamples, threads=threads)


def _sum_windows(engine: Engine, genomes: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Trades, sum of R and sum of R squared of some genomes in each window, and their places.

    Those of [N, G] that read the same rows come together, so that few are computed anew: places
    [n], sums [n, W, 3].
    """
    order = sharing_order(engine.spec, genomes)
    step = max(1, EVALUATED_PAIRS // len(engine.windows))
    for begin in range(0, len(genomes), step):
        some = order[begin : begin + step]
        yield some, engine.evaluate(genomes[some])[:, :, SUMS]


def _add_missing(genomes: Floats, others: Floats) -> Floats:
    """Genomes [M, G] and those of others [N, G], each once, that are not among them."""
    known = {genome.tobytes() for genome in genomes}
    missing = [genome for genome in others if genome.tobytes() not in known]
    return np.concatenate([genomes, np.array(missing).reshape(len(missing), others.shape[1])])
