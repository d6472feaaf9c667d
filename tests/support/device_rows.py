"""Rows of the CUDA backend against the readable loops, on series that segments find hard.

    python -m tests.support.device_rows [cpu | cuda]

On the host under Triton's interpreter, with TRITON_INTERPRET=1. Segments are short, so that a few
hundred bars have several. Prints what it compared; ends with an assertion where bits differ.
"""

import contextlib
import sys

import numpy as np
import torch

from data.bars import Bars
from engine.indicators.cpu.trends import build_series_rows
from engine.indicators.cuda import row_launches
from engine.indicators.cuda.device_rows import SeriesRows
from engine.runtime.cpu.threads import Threads
from strategy.expressions import Arithmetic, Call, Clock, Column, Higher, Number
from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS
from tests.support.interpreter import repeat_nothing
from tests.support.parity import assert_same_bits
from tests.support.worlds import FIFTEEN_MINUTES_NS, make_bars

SEGMENT = 64


def make_series(volume, seed=1):
    """A market with the given volume."""
    length = len(volume)
    bars = make_bars(seed, length, flat=0.1, tick=0.5)
    columns = {name: getattr(bars, name) for name in ("open", "high", "low", "close")}
    timestamp = np.arange(length) * FIFTEEN_MINUTES_NS
    return Bars(timestamp=timestamp, **columns, volume=volume, symbol="HARD",
                timeframe_ns=FIFTEEN_MINUTES_NS)  # fmt: skip


def hard_series():
    """Name to series; what is hard is in the volume."""
    rng = np.random.Generator(np.random.PCG64(7))
    n = 4 * SEGMENT + 3
    volumes = {
        "noise": rng.lognormal(3.0, 1.0, n),
        "constant": np.full(n, 0.1),
        "extremes": np.where(np.arange(n) % 2, 1e300, 0.0),
        "step": np.where(np.arange(n) < 2 * SEGMENT, 1e300, 1.0),
        "range": np.exp(rng.uniform(-300.0, 300.0, n)),
        "silent": np.where(np.arange(n) < SEGMENT, rng.lognormal(3.0, 1.0, n), -0.0),
        "one bar": np.array([2.0]),
        "one more bar": rng.lognormal(0.0, 1.0, SEGMENT + 1),
    }
    return {name: make_series(volume) for name, volume in volumes.items()}


@contextlib.contextmanager
def constants(**changed):
    """Have launches use other constants."""
    kept = {name: getattr(row_launches, name) for name in changed}
    for name, value in changed.items():
        setattr(row_launches, name, value)
    yield
    for name, value in kept.items():
        setattr(row_launches, name, value)


def never_mended():
    """Leave the launch out that checks segments."""
    original = row_launches.launch

    def launch(kernel, *arguments, **options):
        if kernel is not row_launches.mend_kernel:
            original(kernel, *arguments, **options)

    return constants(launch=launch)


def list_trees():
    """A row of every indicator, of several lengths, and of rows that are not always known."""
    holed = Call("zscore", Column("close"), (Number(4),))
    close = Column("close")
    sources = [close, holed]
    trees = [*map(Column, COMPUTED_COLUMNS), close, Clock("minute_of_day"), Clock("vwap")]
    trees += [Clock("vwap", (), "America/New_York"), Call("sma", Clock("vwap"), (Number(3),))]
    for name in ("opening_high", "opening_low"):
        trees += [Clock(name, (Number(n),), offset) for n, offset in ((20, 0), (60, -300))]
    for name, kind in KINDS.items():
        lengths = [(2,), (33,)]
        if len(kind.parameters) != 1:
            lengths = [kind.defaults] if kind.defaults else [(7, 2), (30, 5), (4, 2), ()]
        for length in lengths:
            if len(length) == len(kind.parameters):
                some = [None] if kind.columns else sources
                trees += [Call(name, one, tuple(map(Number, length))) for one in some]
    quick, slow = (Call("ema", close, (Number(n),)) for n in (12, 26))
    macd = Arithmetic("-", quick, slow)
    others = (holed, Number(100.0), Arithmetic("*", Number(2.0), Number(50.0)))
    parts = [Arithmetic(name, close, one) for name in "+-*/" for one in others]
    parts += [Arithmetic(name, one, close) for name in ("minimum", "maximum") for one in others]
    parts += [Arithmetic("abs", macd, None), Arithmetic("/", Number(1.0), macd), quick]
    trees += [Call("sma", part, (Number(3),)) for part in (*parts, Higher(60, close))]
    trees += [Call("ema", macd, (Number(9),)), Higher(60, quick)]
    return [*dict.fromkeys(trees)]


def compare_steps(device):
    """Rows of trees against the host's, in short segments, a few at a time and all together."""
    every, hard, bars = list_trees(), hard_series(), 0
    chains = [tree for tree in every if tree.label in ("ema", "rma", "kama")]
    for name, trees, early, most, busy in (
        ("noise", every, 40.0, 2**16, 2**16),
        ("range", chains, 1.0, 2**28, 0),
        ("one bar", every, 40.0, 2**28, 0),
    ):
        (host,) = build_series_rows([hard[name]], 2**28)
        shape = len(trees), len(hard[name])
        expected = np.stack([np.broadcast_to(host.of(tree), shape[1]) for tree in trees])

        def make_rows():
            rows = SeriesRows([host], most, 2**28, torch.device(device), Threads(1))  # noqa: B023
            made = torch.full(shape, -12345.0, dtype=torch.float64, device=device)  # noqa: B023
            rows.make(trees, made)  # noqa: B023
            return made.cpu().numpy()

        with constants(SHORTEST_SEGMENT=SEGMENT, EARLY=early, BUSY=busy):
            assert_same_bits(expected, make_rows(), name)
            if trees is chains:
                with never_mended():
                    assert (make_rows() != expected).any(), "nothing was computed again"
        bars += expected.size
    print(f"{len(every)} rows of trees, {bars} bars: every bit equal")


def main():
    """Compare all forms on one device."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if device == "cpu":
        repeat_nothing()
    compare_steps(device)


if __name__ == "__main__":
    main()
