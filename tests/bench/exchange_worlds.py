"""Drawn exchanges, read page by page: ``python -m tests.bench.exchange_worlds 10000``."""

import sys

import numpy as np

from data.vendor.paging import PageReader
from tests.support.worlds_of_exchanges import DAY_MS, STEP_MS, draw_world, make_rows


def read_world(world, start_ms, end_ms):
    """Bars that a reader gets of a world, and those that it has."""
    days = PageReader(world.ask_days, DAY_MS, world.stated) if world.has_days else None
    reader = PageReader(world.ask, STEP_MS, world.stated, days)
    got = np.concatenate([make_rows(world.times[:0]), *reader.pages(start_ms, end_ms)])
    times = world.times[(world.times >= start_ms) & (world.times < end_ms)]
    return got, make_rows(times)


def main(count, seed=0):
    """Read so many worlds, and print what was lost or doubled."""
    lost = doubled = bars = calls = 0
    for number in range(count):
        world, start_ms, end_ms = draw_world(np.random.default_rng([seed, number]))
        got, expected = read_world(world, start_ms, end_ms)
        bars, calls = bars + len(expected), calls + world.calls
        missing = len(np.setdiff1d(expected[:, 0], got[:, 0]))
        lost += missing
        doubled += len(got) - len(np.unique(got[:, 0]))
        if not np.array_equal(got, expected):
            world.times = len(world.times)
            print(f"world {number}: {missing} of {len(expected)} lost, {len(got)} came: {world}")
    print(f"{count:,} worlds, {bars:,} bars, {calls:,} calls: {lost} lost, {doubled} doubled")
    return 1 if lost or doubled else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *map(int, sys.argv[2:])))
