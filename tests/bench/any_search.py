"""Searches of other programs on exported null markets: how often luck is called more than luck.

    python -m tests.bench.any_search --worlds 60 --edges 100 --kept FILE

For each world a market is exported with 19 shuffled copies, every market of the folder is searched
in the same way, and `null judge` judges the results: at most 5 of 100 worlds without an edge are
called more than luck at 0.05. Worlds are those of `tests.support.null_worlds` with one series, a
seed of each after the other; an edge is "edge of 8". Searches: ours; Optuna's TPE over the same
genes; `optimize` of backtesting.py; and a script that tries a list of ideas and keeps the best, as
an agent does through its tools.

A line of JSON a market goes to the file as it ends; what stands there is not made again.
"""

import argparse
import io
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from itertools import count, islice, product, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import optimizer
from data import Bars, load_bars
from data.table import LoadOptions
from engine.runtime.machine import available_cores
from optimizer.evidence.pick import TRADES, compute_strengths
from optimizer.run.search import search
from strategy.files import build_strategy
from tests.bench.error_rates import SETTINGS, compute_interval, judge_jobs, read_rows
from tests.support.judging import make_task
from tests.support.null_worlds import WORLDS, make_world

LENGTH, COPIES = 4380, 19

SEVERAL = ("correlated", "independent", "common_crashes")
"""Worlds of several series."""

EDGE = "edge of 8"

FEWEST_TRADES = 15

NOTHING = 0.0
"""Result of a search that finds nothing."""

TRIALS = 30
"""Of Optuna."""

SHORT = 1_000
"""Bars for backtesting.py, which takes a bar at a time."""

IDEAS = [
    f"from strategy.words import *\nIDEA = strategy('', {rule}, stop=beyond_bar({stop} * "
    f"rma(true_range, 14)), target=r_multiple({reward}), max_hold=48)"
    for rule, stop, reward in product(
        (
            "long=rsi(close, 14) < 30",
            "long=crosses_above(sma(close, 10), sma(close, 50))",
            "long=close > lag(highest(high, 48), 1)",
            "long=zscore(volume, 48) > 2",
            "short=rsi(close, 14) > 70",
            "short=close < lag(lowest(low, 48), 1)",
        ),
        (1, 2),
        (1, 3),
    )
]
"""Texts that the script tries."""


def search_ours(bars: Bars) -> float:
    """Strength of the pick of a search of ours."""
    task = make_task(bars, **{**SETTINGS, "min_trades": FEWEST_TRADES})
    engine = task.engine()
    front = search(task, engine).front.genomes
    return max(_measure(engine, front), default=NOTHING) if len(front) else NOTHING


def search_optuna(bars: Bars) -> float:
    """The greatest strength that Optuna's TPE finds over the same genes."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    task = make_task(bars, **SETTINGS)
    engine, layout = task.engine(), task.spec.layout

    def judge(trial: optuna.Trial) -> float:
        spans = zip(layout.names, layout.low, layout.high, layout.is_int, strict=True)
        values = [
            trial.suggest_int(name, int(low), int(high))
            if is_int
            else trial.suggest_float(name, low, high)
            for name, low, high, is_int in spans
        ]
        genomes, _ = layout.repair(np.array([values], np.float64))
        return _measure(engine, genomes)[0]

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), direction="maximize")
    study.optimize(judge, TRIALS)
    return study.best_value


def search_ideas(bars: Bars) -> float:
    """The greatest strength of a list of ideas, each of which is backtested."""
    found = [NOTHING]
    for text in IDEAS:
        task = make_task(bars, spec=build_strategy(text, "idea.py"), **SETTINGS)
        found += _measure(task.engine(), task.spec.layout.defaults[None])
    return max(found)


def search_backtesting(bars: Bars) -> float:
    """The greatest SQN of a crossing of two means, by backtesting.py."""
    from backtesting import Backtest, Strategy
    from backtesting.lib import crossover

    class Crossing(Strategy):
        fast, slow = 10, 40

        def init(self) -> None:
            def mean(span: int) -> pd.Series:
                return pd.Series(self.data.Close).rolling(span).mean()

            self.first, self.second = self.I(mean, self.fast), self.I(mean, self.slow)

        def next(self) -> None:
            if crossover(self.first, self.second):
                self.position.close()
                self.buy()
            elif crossover(self.second, self.first):
                self.position.close()
                self.sell()

    columns = {n.capitalize(): getattr(bars, n) for n in ("open", "high", "low", "close", "volume")}
    frame = pd.DataFrame(columns, index=pd.to_datetime(bars.timestamp))[:SHORT]
    test = Backtest(frame, Crossing, cash=10**9, commission=0.0005, finalize_trades=True)
    # Its lines of progress would fill a log.
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        sqn = [test.run(fast=a, slow=b)["SQN"] for a, b in product((5, 10, 20), (40, 80))]
    return max((value for value in sqn if math.isfinite(value)), default=NOTHING)


def _measure(engine, genomes) -> list[float]:
    """Strength of each genome; of too few trades nothing."""
    _, account = engine.evaluate_account(genomes)
    strengths = np.nan_to_num(compute_strengths(account))
    return np.where(account[:, TRADES] >= FEWEST_TRADES, strengths, NOTHING).tolist()


SEARCHES: Mapping[str, Callable[[Bars], float]] = {
    "ours": search_ours,
    "optuna": search_optuna,
    "backtesting.py": search_backtesting,
    "ideas": search_ideas,
}


def judge_world(world: str, seed: int, names: Sequence[str]) -> dict[str, object]:
    """Verdicts on searches of one market and its copies."""
    os.nice(15 - os.nice(0))
    (bars,) = make_world(world, seed, LENGTH)
    columns = {n: getattr(bars, n) for n in ("open", "high", "low", "close", "volume")}
    frame = pd.DataFrame(columns, index=pd.to_datetime(bars.timestamp, utc=True))
    row: dict[str, object] = {"world": world, "seed": seed}
    with TemporaryDirectory() as path:
        folder = optimizer.null_markets(f"{path}/nulls", bars=frame, count=COPIES)
        (file,) = {fact.file for fact in folder.manifest.series}
        options = LoadOptions(source_timeframe="1h", tz="UTC")
        markets = {n: load_bars(folder.path / n / file, options) for n in folder.markets}
        for name in names:
            results = {market: SEARCHES[name](each) for market, each in markets.items()}
            # Each search has the folder for itself.
            (folder.path / "looks.json").unlink(missing_ok=True)
            row[name] = optimizer.null_judge(folder.path, results).p
    return row


def print_table(rows: Sequence[dict]) -> None:
    """How often each search is called more than luck."""
    print("| world | search | more than luck | share, 95 % |")
    print("| --- | --- | --- | --- |")
    for is_edge, name in product((False, True), SEARCHES):
        some = [row[name] for row in rows if (row["world"] == EDGE) is is_edge and name in row]
        if some:
            found = sum(p <= 0.05 for p in some)
            low, high = compute_interval(found, len(some))
            world = EDGE if is_edge else "no edge"
            print(f"| {world} | {name} | {found} of {len(some)} | {low:.0%} to {high:.0%} |")


def list_worlds() -> Iterator[tuple[str, int]]:
    """Worlds of one series with a seed, each world once before any twice."""
    names = [name for name in WORLDS if name not in SEVERAL]
    return ((name, seed) for seed in count(7000) for name in names)


def main() -> None:
    """Judge what the file lacks, and print the table."""
    parser = argparse.ArgumentParser("python -m tests.bench.any_search")
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--edges", type=int, default=100)
    parser.add_argument("--kept", type=Path, required=True, help="lines of JSON; gone on with")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--processes", type=int, default=available_cores())
    asked = parser.parse_args()
    rows = list(read_rows(asked.kept))
    done = {(row["world"], row["seed"]) for row in rows}
    worlds = [(*job, tuple(SEARCHES)) for job in islice(list_worlds(), asked.worlds)]
    edges = [(EDGE, 7000 + number, ("ours",)) for number in range(asked.edges)]
    # In turns, so that a part of the file says something of both.
    wanted = [job for pair in zip_longest(edges, worlds) for job in pair if job is not None]
    jobs = [job for job in wanted if job[:2] not in done]
    rows += judge_jobs(judge_world, jobs, asked.kept, asked.processes, asked.minutes)
    print_table(rows)


if __name__ == "__main__":
    main()
