"""Rows of adaptive trends on a device, against those of the host.

``python -m tests.support.interpreted_trends cpu`` interprets the kernels, ``... cuda`` runs them.
Triton decides which when it is imported. Prints what it compared; ends with an assertion where
anything differs.
"""

import sys

import numpy as np
import torch

from data import load_bars
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.cuda import trends as trends_on_device
from engine.indicators.cuda.trends import Trends, compute_trend_rows
from engine.runtime.cpu.threads import Threads
from engine.runtime.lru_cache import ArrayCache
from engine.trends import rows, trends
from strategy.rules.adaptive_trend import ADAPTIVE_TREND
from tests.support.interpreter import repeat_nothing
from tests.support.trend import A, B
from tests.support.worlds import make_bars, random_genomes

SHORT = (9, 10, 9, 9, 10, 9, 0, 900, 25, 3, 40, -20, 10, 0, 5, 1000, 10, 15)
"""Short lengths, a cutout, and weights of all kinds."""


def compare(close, parameters, device, work_bytes=2**30):
    """Every bit of rows of both forms."""
    kept = Trends([close], TrendForm(ArrayCache(2**28)), work_bytes, device, Threads(2))
    for is_script in (False, True):
        actual = kept.rows(np.array(parameters), is_script=is_script)[:, 0].cpu().numpy()
        for values, row in zip(parameters, actual, strict=True):
            (expected,) = trends([close], values, is_script=is_script)
            assert np.ascontiguousarray(row).tobytes() == expected.row.tobytes(), values


def compare_many(closes, device):
    """Every bit of the rows of many series."""
    for is_script in (False, True):
        expected = rows(closes, SHORT, is_script=is_script)
        every = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        for name in every if device.type == "cuda" else ["cpu"]:
            actual = compute_trend_rows(closes, SHORT, Threads(2), is_script=is_script, device=name)
            for row_of_market, row in zip(actual, expected, strict=True):
                assert np.ascontiguousarray(row_of_market).tobytes() == row.tobytes(), (
                    name,
                    len(row),
                )


def draw_parameters(count, seed):
    """Random tuples inside the bounds of the rule."""
    genomes = random_genomes(ADAPTIVE_TREND, count, seed)
    return [(*map(int, genome[:9]), *A[9:]) for genome in genomes]


def main(device):
    """Compare few bars where kernels are interpreted, many where they run."""
    if device.type == "cpu":
        repeat_nothing()
        trends_on_device.SEGMENT, trends_on_device.UNROLL, trends_on_device.TILE = 16, 4, 8
        close = make_bars(3, 27, tick=0.5, flat=0.1).close
        compare(close, [SHORT], device)
        # Room for the sides of one form, so that the other's take their place.
        compare(close[:12], [SHORT], device, work_bytes=2**10)
        compare_many([make_bars(seed, 20 - seed).close for seed in range(2)], device)
    else:
        bars = load_bars("sample")
        compare(bars.close, [A, B, SHORT, *draw_parameters(200, 1)], device)
        compare(bars.close[:3000], [A, *draw_parameters(40, 2)], device, work_bytes=2**22)
        for count in (1, 2, 27, 28, 29, 100, 1024, 1025):
            compare(bars.close[:count], [A, B, SHORT], device)
        compare_many([bars.close[: 7 * k] for k in range(1, 500)], device)
    print("rows: every bit equal")


if __name__ == "__main__":
    main(torch.device(sys.argv[1]))
