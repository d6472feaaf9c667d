"""Trials of a search that could be judged, their days, and as how many independent ones they count.

Source: Galwey, "A new measure of the effective number of tests", Genetic Epidemiology 33(7), 2009.
"""

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from data.checks import Floats, Ints
from data.progress import Progress
from optimizer.evidence.bootstrap import choose_block_length, compare_with_nothing
from optimizer.evidence.cscv import build_cscv_record
from optimizer.evidence.figures import Figure, Number, encode_figures, make_undefined
from optimizer.evidence.pick import Pick
from optimizer.evidence.returns import FEWEST_DAYS, add_results, is_varying, list_days
from optimizer.evidence.sharpe import measure_sharpe
from optimizer.evidence.statistic import Around, Statistic, Weighed
from optimizer.formatting import format_count

if TYPE_CHECKING:
    from engine.batch import Engine
    from optimizer.evidence.judged_run import JudgedRun
    from optimizer.run.problem import Trials
    from optimizer.run.task import Task

Values = TypeVar("Values", Floats, Ints)

MOST_IN_BLOCKS = 50_000
"""Trials whose halves of blocks are compared at most."""

LEAST_EIGENVALUE = 1e-10
"""Eigenvalues below this share of the largest are rounding."""

MOST_COMPARED = 1024
"""Trials whose correlations are compared: 162, 221 and 273 were as different as 512, 1,024 and
2,048 of one search, which moves the expected maximum by 0.07, and time grows with the cube."""

LISTED_PAIRS, ADDED_AT_ONCE = 2048, 3
"""Pairs of individual and window whose trades are listed at a time, and how often they are held."""


@dataclass(frozen=True)
class TrialsRecord(Statistic):
    """Candidates that the search evaluated, that could be judged, and that a matrix used."""

    evaluated: int
    judged: int
    used: int
    effective: Number

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Number of trials, and of independent ones that they count as."""
        if not self.evaluated:
            return
        compared = min(self.used, self.judged, MOST_COMPARED)
        tried = f"{format_count(self.evaluated, 'setting')} tried"
        if self.judged < self.evaluated:
            tried += f", {self.judged:,} with enough trades"
        if compared < self.judged:
            tried += f", {compared:,} of them compared"
        effective = self.format("effective", digits=0)
        yield Weighed("trials", f"{tried}, about as many as {effective} independent ones.")


TOO_MANY = TrialsRecord(0, 0, 0, None, why={"effective": "the trials do not fit memory"})
"""Of a search whose trials were not kept."""


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
    def of(cls, task: "Task", trials: "Trials") -> "JudgedTrials":
        """Trials with the least number of trades of the run."""
        is_judged = trials.trades >= task.config.min_trades
        first = int(is_judged[: trials.first].sum())
        return cls(trials.genomes[is_judged], first, len(trials))


def build_trials_records(run: "JudgedRun") -> dict[str, Statistic]:
    """Statistics over all trials of a search, by name; none if not planned."""
    plan, task = run.plan, run.task
    if not plan.blocks:
        return {}
    trials = run.find_trials()
    run.watch(Progress("judging: statistics over all trials"))
    if trials is None:
        return {"trials": TOO_MANY}
    judged = JudgedTrials.of(task, trials)
    columns = build_daily_columns(task, run.engine, judged, run.front, run.pick, plan.trials)
    effective, n_judged = count_effective_trials(columns.used), len(judged.genomes)
    counts = judged.evaluated, n_judged, columns.used.shape[1]
    in_blocks = choose_evenly(judged.genomes, MOST_IN_BLOCKS)
    return {
        "trials": TrialsRecord(*counts, **encode_figures(effective=effective)),
        "sharpe": measure_sharpe(columns.pick, columns.first, n_judged, effective),
        "cscv": build_cscv_record(run.engine, in_blocks, plan.blocks),
        "bootstrap": compare_with_nothing(
            columns.used,
            choose_block_length(columns.front),
            task.config.seed,
            plan.resamples,
            threads=task.config.threads,
        ),
    }


def choose_evenly(values: Values, most: int) -> Values:
    """At most so many of some values, evenly chosen, the first of them always."""
    used = min(len(values), most)
    chosen: Values = values[np.arange(used) * len(values) // max(used, 1)]
    return chosen


def build_daily_columns(
    task: "Task", engine: "Engine", judged: JudgedTrials, front: Floats, pick: Pick, most: int
) -> DailyColumns:
    """Daily R of the trials that statistics over days use; `engine` has the searched windows."""
    # A record is read without an engine.
    from engine.replay.threads import sharing_order

    markets = task.markets
    days = list_days(markets.series, markets.windows)
    used = _add_missing(choose_evenly(judged.genomes, most), front)
    first = choose_evenly(judged.genomes[: judged.first], most)
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


def count_effective_trials(columns: Floats) -> Figure:
    """Number of independent trials that would be as different as columns [D, N]: a lower bound.

    Undefined below three days, and where no column varies. Days on which no trade closed are equal
    rows: one of them, times the root of their number, leaves the correlations as they are.
    """
    columns = columns[:, choose_evenly(np.arange(columns.shape[1]), MOST_COMPARED)]
    if len(columns) < FEWEST_DAYS:
        return make_undefined(f"fewer than {FEWEST_DAYS} days")
    around = columns - columns.mean(axis=0)
    length = np.sqrt((around**2).sum(axis=0))
    is_kept = is_varying(columns) & (length > 0)
    if not is_kept.any():
        return make_undefined("no trial varies")
    around, is_quiet = around[:, is_kept] / length[is_kept], ~columns.any(axis=1)
    if is_quiet.any():
        quiet = around[is_quiet]
        around = np.concatenate([around[~is_quiet], quiet[:1] * math.sqrt(len(quiet))])
    is_tall = around.shape[0] > around.shape[1]
    with threadpool_limits(1, user_api="blas"):
        eigenvalues = np.linalg.eigvalsh(around.T @ around if is_tall else around @ around.T)
    eigenvalues = eigenvalues[eigenvalues >= LEAST_EIGENVALUE * eigenvalues.max()]
    return Figure(float(np.sqrt(eigenvalues).sum() ** 2 / eigenvalues.sum()))


def _add_days(engine: "Engine", genomes: Floats, days: Ints, daily: Floats) -> None:
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


def _add_missing(genomes: Floats, others: Floats) -> Floats:
    """Genomes [M, G] and those of others [N, G], each once, that are not among them."""
    known = {genome.tobytes() for genome in genomes}
    missing = [genome for genome in others if genome.tobytes() not in known]
    return np.concatenate([genomes, np.array(missing).reshape(len(missing), others.shape[1])])
