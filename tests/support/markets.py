"""Hand-made markets for rules that can be worked out on paper.

Quiet bars go from 99 to 101 and open and close at 100, so that the mean range is exactly 2. A bar
with a volume of 100 signals. With the genes of `PAPER_GENES` the stop then stands at 97, the entry
at 100, the risk is 3 and the target stands at 106.
"""

import numpy as np

from data.bars import Bars
from strategy import Bracket, Comparison, Gene, GenomeLayout, Row, StrategySpec

PAPER_SPEC = StrategySpec(
    name="paper",
    summary="Long after a bar of high volume; for tests.",
    layout=GenomeLayout(
        (
            Gene("atr_window", "int", 2, 50, 2, "bars"),
            Gene("volume_min", "float", 0.0, 1e9, 50.0),
            Gene("stop_mult", "float", 0.1, 10.0, 1.0, positive=True),
            Gene("reward", "float", 0.1, 10.0, 2.0, positive=True),
            Gene("max_hold", "int", 1, 50, 5, "bars"),
        )
    ),
    rows=(Row("volume", "level", "volume"), Row("atr", "atr", lengths=("atr_window",))),
    entry=(Comparison("volume", ">", "volume_min"),),
    bracket=Bracket("atr", "stop_mult", "reward", "max_hold"),
)

QUIET = (100.0, 101.0, 99.0, 100.0, 1.0)
SIGNAL = (100.0, 101.0, 99.0, 100.0, 100.0)


def paper_market(*later, quiet=3):
    """Quiet bars, one signal, then the bars given as (open, high, low, close[, volume])."""
    rows = [QUIET] * quiet + [SIGNAL] + [(*bar, 1.0)[:5] for bar in later]
    columns = np.array(rows).T
    return Bars(
        timestamp=np.arange(len(rows), dtype=np.int64) * 900 * 10**9,
        open=columns[0],
        high=columns[1],
        low=columns[2],
        close=columns[3],
        volume=columns[4],
        symbol="PAPER",
        timeframe_ns=900 * 10**9,
    )
