"""Tasks whose null searches are made in every way that there is."""

from data.bars import Window
from tests.support.evidence import make_planted_market
from tests.support.examples import RSI_PULLBACK
from tests.support.judging import make_task

BARS, OTHER = make_planted_market(7, 900, 8), make_planted_market(8, 700, 8)
SEVERAL = (Window(0, 100, 500), Window(0, 500, 900), Window(1, 50, 700))

TASKS = {
    "shipped": lambda: make_task(BARS, plateau=2, generations=5),
    "several": lambda: make_task(BARS, OTHER, windows=SEVERAL, over_windows="pooled"),
    "worst": lambda: make_task(BARS, OTHER, windows=SEVERAL, over_windows="worst"),
    "near": lambda: make_task(BARS, objectives="strength@near,max_drawdown", population=8),
    "words": lambda: make_task(BARS, spec=RSI_PULLBACK, min_trades=2),
    "grid": lambda: make_task(BARS, search="lattice", steps={"reward_r": 1.0}, generations=0),
}
"""A search that may end before others, windows that are one account and not, neighbours that are
asked too, a strategy in words, and a grid."""
