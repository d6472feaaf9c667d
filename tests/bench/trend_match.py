"""How often the adaptive trend agrees with programs in the manner of its originals.

``python -m tests.bench.trend_match FOLDER`` takes the Parquet files of a folder and prints, for
each, the share of bars with the same value and class and of windows of 1,500 bars without any
difference, in percent: two plain programs against each other, the law against both, and the same
where a price within 1e-12 of an average counts as level in all of them.
"""

import sys
from pathlib import Path

import numpy as np

from data import LoadOptions, load_bars
from engine.trends import trends
from tests.support.plain_trend import plain_trend
from tests.support.trend import A, S

WINDOW, MOST = 1500, 33


def shares(first, second):
    """Percent of bars with one value, of bars with one class, and of windows that agree."""
    near = np.abs(first - second) <= 1e-6
    same = (classes(first) == classes(second)) | np.isnan(first)
    count = min(len(first) // WINDOW, MOST)
    whole = near[: count * WINDOW].reshape(count, WINDOW).all(axis=1) if count else np.ones(1)
    return tuple(100 * float(flags.mean()) for flags in (near, same, whole))


def classes(row):
    """Long, neutral or short."""
    return np.where(row > 0.1, 1, np.where(row < -0.1, -1, 0))


def compare(close, parameters, is_script):
    """Lines of what is compared, and its shares."""
    (law,) = trends([close], parameters, is_script=is_script)
    plain = {
        (order, ties): plain_trend(
            close, parameters, order=order, has_ties=ties, is_script=is_script
        )
        for order in ("running", "window")
        for ties in (False, True)
    }
    yield "plain, two orders", shares(plain["running", False], plain["window", False])
    for (order, ties), row in plain.items():
        yield f"law, {order} sums{', ties' if ties else ''}", shares(law.row, row)


def main(folder):
    """Print the table."""
    for path in sorted(Path(folder).glob("*.parquet")):
        close = load_bars(f"parquet:{path}", LoadOptions(dedupe=True)).close
        for name, parameters, is_script in (("law's form", A, False), ("script's form", S, True)):
            for what, (value, same, whole) in compare(close, parameters, is_script):
                row = f"value {value:9.5f}  class {same:9.5f}  windows {whole:6.1f}"
                print(f"{path.stem:14s} {name:14s} {what:28s} {row}")


if __name__ == "__main__":
    main(sys.argv[1])
