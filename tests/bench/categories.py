"""One search over a choice of averages beside a search of each: who finds the one that is right.

    python -m tests.bench.categories [--seeds 0:20]

Each seed makes a market of one average, in turn the plain, the exponential and the weighted one:
after a close crosses it upwards, the next bars drift up. A strategy buys such crosses of a choice
of the three, or of one of them with the same other genes. The search with the choice judges as
many candidates as one of the three others does; then again as many as the three do together.

It ends with 1 where the choice is right for fewer than `LEAST` of 20 seeds, or where its searches
judge more than the three together.
"""

import argparse
import sys
import time

import numpy as np

from data import Bars
from optimizer.judging.pick import select_pick
from optimizer.run.search import search
from strategy.indicators.ema import ema as ema_values
from strategy.indicators.rolling import sma as sma_values
from strategy.indicators.wma import wma as wma_values
from strategy.words import (
    choice,
    close,
    crosses_above,
    ema,
    from_entry,
    gene,
    length,
    rma,
    sma,
    strategy,
    true_range,
    whole,
    wma,
)
from tests.support.judging import make_task

AVERAGES = {"sma": (sma, sma_values), "ema": (ema, ema_values), "wma": (wma, wma_values)}

BARS, HOUR_NS, START_NS = 4000, 3_600_000_000_000, 1_577_836_800_000_000_000
SIGMA, EDGE, DRIFTING = 0.004, 0.5, 6
"""Deviation of a bar, drift in units of it, and the bars for which it lasts."""

POPULATION, GENERATIONS, LEAST = 32, 20, 18


def make_market(seed, name):
    """Bars on which crosses of one average are worth something, and the length of it."""
    rng = np.random.default_rng([seed, 7])
    span, noise = int(rng.integers(12, 50)), rng.standard_normal(BARS)
    prices, left = np.full(BARS, 100.0), 0
    average, was_above = AVERAGES[name][1], True
    begin = 8 * span
    for t in range(1, BARS):
        prices[t] = prices[t - 1] * np.exp(SIGMA * (noise[t] + EDGE * (left > 0)))
        left -= 1
        window = prices[max(t + 1 - begin, 0) : t + 1]
        if len(window) < span:
            continue
        is_above = prices[t] > average(window, span)[-1]
        left = DRIFTING if is_above and not was_above else left
        was_above = is_above
    opens = np.concatenate([prices[:1], prices[:-1]])
    wick = 1 + SIGMA * rng.random((2, BARS))
    high, low = np.maximum(opens, prices) * wick[0], np.minimum(opens, prices) / wick[1]
    times = START_NS + HOUR_NS * np.arange(BARS, dtype=np.int64)
    volume = np.full(BARS, 1000.0)
    return Bars(times, opens, high, low, prices, volume, "PLANTED", HOUR_NS, is_simulated=True)


def make_strategy(average):
    """Buys crosses of an average."""
    crossed = crosses_above(close, average(close, length("n", 30, 5, 60)))
    far = gene("far", 4.0, 1.0, 8.0, step=0.5)
    return strategy(
        "Buys crosses of an average.",
        long=crossed,
        stop=from_entry(far * rma(true_range, 20)),
        max_hold=whole("hold", 10, 2, 24, "bars"),
    )


def find_best(bars, average, generations, seed):
    """Genes and strength of the strongest that a search finds, and how many it judged."""
    spec = make_strategy(average)
    task = make_task(
        bars, spec=spec, population=POPULATION, generations=generations, seed=seed + 1,
        objectives="strength", min_trades=30, polish=0, memory=2**28,
    )  # fmt: skip
    engine = task.engine()
    outcome = search(task, engine)
    pick = select_pick(engine, outcome.front.genomes)
    return spec.layout.show(pick.genome), pick.strength.value, outcome.evaluated


def compare_searches(seed):
    """Whether a choice finds the right average with a third of the evaluations, and with all."""
    right = list(AVERAGES)[seed % 3]
    bars = make_market(seed, right)
    alone = {name: find_best(bars, word, GENERATIONS, seed) for name, (word, _) in AVERAGES.items()}
    best = max(alone, key=lambda name: alone[name][1])
    budget = sum(evaluated for _, _, evaluated in alone.values())
    row = {"right": right, "best_alone": best, "strength_alone": alone[best][1], "budget": budget}
    words = [word for word, _ in AVERAGES.values()]
    for part, generations in (("third", GENERATIONS), ("whole", 3 * GENERATIONS)):
        genes, strength, evaluated = find_best(bars, choice("average", *words), generations, seed)
        row[part] = (genes["average"], strength, evaluated)
    return row


def main():
    """Print a line a seed, and what is right of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:20", metavar="FROM:TO", help="TO is left out")
    seeds = range(*map(int, parser.parse_args().seeds.split(":")))
    began, right, is_dearer, counts = time.perf_counter(), {"third": 0, "whole": 0}, False, []
    for seed in seeds:
        row = compare_searches(seed)
        for part in right:
            right[part] += row[part][0] == row["right"]
            is_dearer |= row[part][2] > row["budget"]
        counts.append((row["budget"], row["third"][2], row["whole"][2]))
        print(seed, row, flush=True)
    means = [f"{mean:,.0f}" for mean in np.mean(counts, axis=0)]
    print(
        f"right in {right['third']} of {len(seeds)} seeds with {means[1]} evaluations, in "
        f"{right['whole']} with {means[2]}; three searches take {means[0]} "
        f"({time.perf_counter() - began:.0f} s)"
    )
    sys.exit(int(is_dearer or right["whole"] < LEAST * len(seeds) / 20))


if __name__ == "__main__":
    main()
