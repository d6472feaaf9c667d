"""Rows and conditions that stay from one population to the next."""

from pathlib import Path

import numpy as np
import pytest

from data import Window
from engine.batch import Engine
from strategy.files import build_strategies
from tests.support.worlds import make_bars, random_genomes

EXAMPLES = Path(__file__).parents[4] / "support" / "examples.py"
EXAMPLE = build_strategies(EXAMPLES.read_text(), str(EXAMPLES))
BARS = [make_bars(11, 1500), make_bars(12, 700)]
WINDOWS = [Window.whole(BARS[0]), Window.whole(BARS[1], 1)]


def populations(strategy):
    """Four that share some individuals and their genes, the first one twice."""
    first, second = (random_genomes(strategy, 30, seed) for seed in (1, 2))
    mixed = np.concatenate([first[:5], second[20:], first[:5]])
    return [first, second, mixed, first]


@pytest.mark.parametrize(
    ("name", "memory_bytes"),
    [("donchian_trail", 2**18), ("ma_cross", 2**21), ("rsi_pullback", 2**18),
     ("bollinger_reversion", 2**25)],
)  # fmt: skip
def test_what_stays_changes_nothing(name, memory_bytes):
    """Whatever memory lets go in between, each population has the bits that it has alone."""
    strategy = EXAMPLE[name.upper()]
    engine = Engine(strategy, BARS, WINDOWS, device="cpu", memory_bytes=memory_bytes)
    for genomes in populations(strategy):
        alone = Engine(strategy, BARS, WINDOWS, device="cpu").evaluate(genomes)
        assert engine.evaluate(genomes).tobytes() == alone.tobytes()
        assert alone[:, :, 0].sum() > 0
