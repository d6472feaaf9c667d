"""How fast strategies with resting orders and ladders run, beside the plain ones.

    python -m tests.bench.orders [--individuals 512] [--turns 15] [--device cuda] [--finer 4]
        [--signals pullback ...] [--forms plain limits ...]

Three strategies, or some of them, of both sides, of few, more and very many signals, on the sample,
rows there: as they are, with entries at limits or stops, and with two targets. The least time of
all turns in which each is called once, and how many times as fast the plain one is; the law asks
for at least 0.7 with resting entries and 0.8 with ladders. On a CPU it is processor time of one
thread, on a GPU wall time, once it equals the CPU in every bit. With --finer bars are made of so
many, and each is timed again with these as finer bars; the last column is how many times as long
that takes, for which the law allows 1.1.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from data import Window, load_bars
from engine.batch import Engine
from strategy import words as w
from tests.support.finer import make_coarse
from tests.support.parity import assert_same_bits
from tests.support.worlds import random_genomes

WILD = w.rma(w.true_range, 14)
QUICK, SLOW = (
    w.ema(w.close, w.length(name, *bounds))
    for name, bounds in {"quick": (10, 5, 60), "slow": (100, 61, 400)}.items()
)
STRENGTH = w.rsi(w.close, w.length("n", 7, 3, 20))

SIDES = {
    "averages cross": (w.crosses_above(QUICK, SLOW), w.crosses_below(QUICK, SLOW)),
    "pullback": (
        (w.close > SLOW) & w.crosses_above(STRENGTH, w.gene("dip", 30, 20, 45)),
        (w.close < SLOW) & w.crosses_below(STRENGTH, w.gene("peak", 70, 55, 80)),
    ),
    "every bar": (w.close > SLOW, w.close < SLOW),
}
"""Signals of longs and shorts."""

LIMITS = w.by_side(w.limit_at(w.close - 0.5 * WILD, 5), w.limit_at(w.close + 0.5 * WILD, 5))
STOPS = w.by_side(w.stop_at(w.highest(w.high, 20), 5), w.stop_at(w.lowest(w.low, 20), 5))
HALVES = [(w.r_multiple(1), 0.5), (w.r_multiple(3), 0.5)]

PLAIN = {"target": w.r_multiple(2)}
FORMS = {
    "plain": PLAIN,
    "limits": {"entry": LIMITS, **PLAIN},
    "stops": {"entry": STOPS, **PLAIN},
    "ladder": {"targets": HALVES},
    "ladder, break-even": {"targets": HALVES, "break_even": w.after_leg(1)},
    "limits, ladder": {"entry": LIMITS, "targets": HALVES},
}
"""Orders beside signals, the stop and the longest hold."""


def load_series(n_finer):
    """The sample, and the same with finer bars; longer bars where they are made of several."""
    bars = load_bars("sample")
    if n_finer < 2:
        return {"whole": bars}
    finer = make_coarse(bars, timeframe_ns=n_finer * bars.timeframe_ns)
    return {"whole": replace(finer, finer=None), "finer": finer}


def make_calls(form_orders, series, asked):
    """Engine and individuals for each series, and trades of the first; equal to the CPU's."""
    spec = w.strategy(
        "", stop=w.from_entry(w.gene("far", 2, 0.5, 4) * WILD), max_hold=192, **form_orders
    )
    genomes, calls = random_genomes(spec, asked.individuals, seed=1), {}
    for name, bars in series.items():
        windows = [Window.whole(bars)]
        engine = Engine(spec, [bars], windows, device=asked.device, threads=1)
        calls[name] = engine, genomes
        if asked.device != "cpu":
            expected = Engine(spec, [bars], windows, device="cpu").evaluate(genomes)
            assert_same_bits(expected, engine.evaluate(genomes), f"{form_orders}, {name}")
    return calls


def time_calls(calls, turns, clock):
    """Least seconds of each call, all of them in turns."""
    seconds = dict.fromkeys(calls, np.inf)
    for _ in range(turns):
        for name, (engine, genomes) in calls.items():
            began = clock()
            engine.evaluate(genomes)
            seconds[name] = min(seconds[name], clock() - began)
    return seconds


def main():
    """Print a line for each strategy and form."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--individuals", type=int, default=512)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--finer", type=int, default=0, help="finer bars of a bar")
    parser.add_argument("--signals", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    asked = parser.parse_args()
    forms = list(dict.fromkeys(["plain", *asked.forms]))
    series = load_series(asked.finer)
    clock = time.process_time if asked.device == "cpu" else time.perf_counter
    print(f"{'signals':>14} {'form':>18} {'trades':>9} {'call, ms':>8} speed finer")
    for signals in asked.signals:
        calls, (longs, shorts) = {}, SIDES[signals]
        for form in forms:
            form_orders = FORMS[form]
            made = make_calls({"long": longs, "short": shorts, **form_orders}, series, asked)
            calls |= {(form, name): call for name, call in made.items()}
        seconds = time_calls(calls, asked.turns, clock)
        for form in forms:
            engine, genomes = calls[form, "whole"]
            trades, took = engine.evaluate(genomes)[:, 0, 0].sum(), seconds[form, "whole"]
            finer = seconds.get((form, "finer"), np.nan) / took
            print(
                f"{signals:>14} {form:>18} {trades:>9,.0f} {took * 1e3:>8.1f} "
                f"{seconds['plain', 'whole'] / took:>5.2f} {finer:>5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
