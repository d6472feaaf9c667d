"""How fast strategies with resting orders and ladders run on a CPU, beside the plain ones.

    python -m tests.bench.orders [--individuals 512] [--turns 15]

Three strategies of both sides, of few, more and very many signals, on the sample, one thread, rows
there: as they are, with entries at limits or stops, and with two targets. Processor time of a call,
the least of all turns in which each is called once, and how many times as fast the plain one is;
the law asks for at least 0.7 with resting entries and 0.8 with ladders.
"""

import argparse
import time

from data import Window, load_bars
from engine.batch import Engine
from strategy import words as w
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
"""What is said beside signals, the stop and the longest hold."""


def main():
    """Print a line for each strategy and form."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--individuals", type=int, default=512)
    parser.add_argument("--turns", type=int, default=15)
    asked, bars = parser.parse_args(), load_bars("sample")
    stop = w.from_entry(w.gene("far", 2, 0.5, 4) * WILD)
    print(f"{'signals':>14} {'form':>18} {'trades':>9} {'call, ms':>8} speed")
    for signals, (longs, shorts) in SIDES.items():
        calls, seconds = {}, {form: [] for form in FORMS}
        for form, said in FORMS.items():
            spec = w.strategy("", long=longs, short=shorts, stop=stop, max_hold=192, **said)
            engine = Engine(spec, [bars], [Window.whole(bars)], device="cpu", threads=1)
            calls[form] = engine, random_genomes(spec, asked.individuals, seed=1)
        trades = {form: engine.evaluate(of)[:, 0, 0].sum() for form, (engine, of) in calls.items()}
        for _ in range(asked.turns):
            for form, (engine, genomes) in calls.items():
                began = time.process_time()
                engine.evaluate(genomes)
                seconds[form].append(time.process_time() - began)
        for form, times in seconds.items():
            speed = min(seconds["plain"]) / min(times)
            print(
                f"{signals:>14} {form:>18} {trades[form]:>9,.0f} {min(times) * 1e3:>8.1f} "
                f"{speed:>5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
