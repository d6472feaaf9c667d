"""Rows of adaptive trends on a device, against those of the host.

``python -m tests.support.interpreted_trends cpu`` interprets the kernels, ``... cuda`` runs them.
Triton decides which when it is imported. Prints what it compared; ends with an assertion where
anything differs.
"""

import sys

import numpy as np
import torch

from data import load_bars
from engine.cuda.trends import Trends
from engine.trends import trends
from strategy.rules.adaptive_trend import ADAPTIVE_TREND
from tests.support.interpreter import repeat_nothing
from tests.support.trend import A, B
from tests.support.worlds import make_bars, random_genomes

SHORT = (9, 10, 9, 9, 10, 9, 0, 900, 25, 3, 40, -20, 10, 0, 5, 1000, 10, 15)
"""Short lengths, a cutout, and weights of all kinds."""


def compare(close, parameters, device, work_bytes=2**30):
    """Every bit of rows of both forms."""
    rows = Trends(close, work_bytes, device)
    for is_script in (False, True):
        found = rows.rows(parameters, is_script=is_script).cpu().numpy()
        for one, row in zip(parameters, found, strict=True):
            (expected,) = trends([close], one, is_script=is_script)
            assert np.ascontiguousarray(row).tobytes() == expected.row.tobytes(), one


def drawn(count, seed):
    """Random tuples inside the bounds of the rule."""
    genomes = random_genomes(ADAPTIVE_TREND, count, seed)
    return [(*map(int, genome[:9]), *A[9:]) for genome in genomes]


def main(device):
    """Compare few bars where kernels are interpreted, many where they run."""
    if device.type == "cpu":
        repeat_nothing()
        compare(make_bars(3, 27, tick=0.5, flat=0.1).close, [SHORT], device)
    else:
        bars = load_bars("sample")
        compare(bars.close, [A, B, SHORT, *drawn(200, 1)], device)
        compare(bars.close[:3000], [A, *drawn(40, 2)], device, work_bytes=2**22)
        for count in (1, 2, 27, 28, 29, 100, 1024, 1025):
            compare(bars.close[:count], [A, B, SHORT], device)
    print("rows: every bit equal")


if __name__ == "__main__":
    main(torch.device(sys.argv[1]))
