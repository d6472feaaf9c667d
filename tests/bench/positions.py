"""What conditions and positions of strategies in words cost on the CPU.

    python -m tests.bench.positions [--individuals 512] [--repeats 7]

Random individuals of each of the nine strategies of the examples, on the sample, one thread, rows
there. Processor time, the least of all calls: milliseconds from genomes to words of bars, then
nanoseconds a trade for entries, exits and sums. The law allows 40 on two cores, 80 where stops
move; that is 80 and 160 of one.
"""

import argparse
import time

from data import Window, load_bars
from engine.batch import Engine
from engine.cpu import market
from tests.bench.language_cuda import EXAMPLE, population

ALLOWED_NS, ALLOWED_MOVING_NS = 80, 160


class Spent:
    """Counts the processor time of positions, in seconds."""

    def __init__(self):
        self.seconds, self._fold = 0.0, market.fold_alone

    def fold(self, *arguments):
        """Fold a population."""
        began = time.process_time()
        folded = self._fold(*arguments)
        self.seconds += time.process_time() - began
        return folded


def main():
    """Print a line for each strategy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--individuals", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    spent, bars = Spent(), load_bars("sample")
    market.fold_alone = spent.fold
    print(f"{'strategy':>20} {'trades':>10} {'conditions, ms':>15} {'ns a trade':>11} allowed")
    for name, strategy in sorted(EXAMPLE.items()):
        genomes = population(strategy, asked.individuals)
        engine = Engine(strategy, [bars], [Window.whole(bars)], device="cpu", threads=1)
        trades = engine.evaluate(genomes)[:, 0, 0].sum()
        seconds = []
        for _ in range(asked.repeats):
            spent.seconds, began = 0.0, time.process_time()
            engine.evaluate(genomes)
            whole = time.process_time() - began
            seconds.append((whole - spent.seconds, spent.seconds))
        before, after = (min(times) for times in zip(*seconds, strict=True))
        moves = strategy.trail is not None or strategy.break_even is not None
        print(
            f"{name:>20} {trades:>10,.0f} {before * 1e3:>15.1f} {after / trades * 1e9:>11.0f} "
            f"{ALLOWED_MOVING_NS if moves else ALLOWED_NS:>7}",
            flush=True,
        )


if __name__ == "__main__":
    main()
