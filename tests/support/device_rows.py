"""Rows of the CUDA backend against the readable loops, on series that segments find hard.

    python -m tests.support.device_rows [cpu | cuda]

On the host under Triton's interpreter, with TRITON_INTERPRET=1. Segments are short, so that a few
hundred bars have several; rows are computed over all bars, and part by part. Prints
what it compared; ends with an assertion where bits differ.
"""

import contextlib
import sys

import numpy as np
import torch

from data.bars import Bars
from engine.backend import RowForm, RowRequest
from engine.fast_case import find_fast_case
from engine.indicators.coders import choose_coders
from engine.indicators.cpu.trends import build_series_rows
from engine.indicators.cuda import row_launches
from engine.indicators.cuda.device_rows import SeriesRows
from engine.indicators.cuda.market import INDEX_BARS, DeviceMarket, Stretch
from engine.indicators.cuda.row_scheduler import DeviceRowFiller
from engine.runtime.cpu.threads import Threads
from strategy.expressions import Arithmetic, Call, Clock, Column, Higher, Number
from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS
from tests.support.interpreter import repeat_nothing
from tests.support.parity import assert_same_bits
from tests.support.slot_rows import count_lengths, readable_row, readable_source
from tests.support.worlds import FIFTEEN_MINUTES_NS, SHORT_SPECS, make_bars

SPEC = SHORT_SPECS["seller_exhaustion"]
HIGHEST = 126
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


def expected_row(form, bars, length):
    """A row as the readable loops compute it."""
    lengths = (length,) * count_lengths(form)
    # A zero has no sign there.
    return readable_row(form, readable_source(bars, form.source), *lengths) + 0.0


def expected_codes(row, low, scale):
    """Codes of a row, each operation rounded once."""
    steps = np.clip((np.nan_to_num(row, nan=0.0, posinf=np.inf) - low) * scale, 0, HIGHEST - 1)
    return np.where(np.isnan(row), 0, 1 + steps.astype(np.int64)).astype(np.uint8)


def request_rows(forms):
    """Requests for lengths by form, slot after slot."""
    requests, slot = [], 0
    for form, lengths in forms.items():
        n_parameters = count_lengths(form)
        table = np.array(lengths, np.float64)[:, None][:, :n_parameters]
        requests.append(RowRequest(form, table, np.arange(slot, slot + len(lengths))))
        slot += len(lengths)
    return requests


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


class World:
    """Series on a device, and rows that are computed of them."""

    def __init__(self, series, device):
        self.series, self.coders = series, choose_coders(find_fast_case(SPEC), HIGHEST)
        coders = set(self.coders.values())
        self.market = DeviceMarket(list(series.values()), coders, torch.device(device))
        self.filler = DeviceRowFiller(self.market, self.coders)

    def filled(self, forms, part=None):
        """Values and codes [slots, B], in one go or in parts of so many bars."""
        requests = request_rows(forms)
        shape = (sum(len(request.slots) for request in requests), self.market.n_bars)
        arrays = [np.full(shape, -12345.0), np.full(shape, 99, np.uint8)]
        step = part or self.market.n_bars
        stretches = [
            Stretch(first, min(step, self.market.n_bars - first), is_part=part is not None)
            for first in range(0, self.market.n_bars, step)
        ]
        plan = self.filler.plan(requests)
        state = self.filler.allocate_state(plan)
        for stretch in stretches:
            cut = slice(stretch.first, stretch.first + stretch.n_bars)
            memory = [torch.tensor(array[:, cut]).to(self.market.device) for array in arrays]
            self.filler.run(plan, *memory, stretch, state if part else None)
            for array, tensor in zip(arrays, memory, strict=True):
                array[:, cut] = tensor.cpu().numpy()
        return arrays

    def differing(self, forms, values, codes=None):
        """Name of each series to how many bars of all rows differ from the readable loops."""
        counts = dict.fromkeys(self.series, 0)
        edges = zip(self.market.starts.tolist(), self.market.ends.tolist(), strict=True)
        parts = {name: slice(*edge) for name, edge in zip(self.series, edges, strict=True)}
        maps = self.market.maps.cpu().numpy()
        for form, _, slots in request_rows(forms):
            for length, slot in zip(forms[form], slots.tolist(), strict=True):
                for name, bars in self.series.items():
                    row = values[slot, parts[name]]
                    expected = expected_row(form, bars, length)
                    is_same = (row == expected) & (np.signbit(row) == np.signbit(expected))
                    is_same |= np.isnan(row) & np.isnan(expected)
                    counts[name] += int((~is_same).sum())
                    if codes is not None and form in self.coders:
                        number = self.market.coder_numbers[self.coders[form]]
                        wanted = expected_codes(expected, *maps[number, :, parts[name]])
                        assert_same_bits(
                            wanted, codes[slot, parts[name]], f"{form} {length} {name}"
                        )
        return counts


def compare_averages(device):
    """EMAs in short segments, begun early enough and not, checked and not."""
    world = World(hard_series(), device)
    volume, close = (RowForm("ema", name) for name in ("volume", "close"))
    for early, forms in (
        (2.0, {volume: (1, 5, 30), close: (3,)}),
        (40.0, {volume: (2, 5)}),
    ):
        with constants(SHORTEST_SEGMENT=SEGMENT, EARLY=early):
            assert_none(world.differing(forms, *world.filled(forms)))
            with never_mended():
                unchecked = world.differing(forms, world.filled(forms)[0])
        print(f"averages begun {early:g} weights early: every bit equal; unchecked {unchecked}")
        for name in ("noise", "extremes", "step", "range"):
            assert unchecked[name] or early > 2, f"{name}: nothing was computed again"
        assert not unchecked["one bar"], "the first segment needs no check"
    assert not unchecked["noise"], "so many suffice for noise"


def compare_rolling(device):
    """Rolling rows whose blocks are finished by one program and by several."""
    forms = {
        RowForm("zscore", "volume"): (2, 9, 17, 100),
        RowForm("sma", "true_range"): (65,),
        RowForm("zscore", "close_location"): (5,),
        RowForm("level", "close_location"): (0,),
    }
    names = ("range", "silent", "one more bar")
    hard = hard_series()
    world = World({name: hard[name] for name in names}, device)
    for busy in (0, row_launches.BUSY):
        with constants(BUSY=busy):
            shares = row_launches.share_blocks(np.array([100]), world.market.longest)[0]
            assert_none(world.differing(forms, *world.filled(forms)))
        print(f"windows in {shares} shares: every bit equal")


def compare_parts(device):
    """All forms, one part of the bars after the other."""
    forms = {
        RowForm("ema", "close"): (3, 64),
        RowForm("ema", "volume"): (30,),
        RowForm("zscore", "volume"): (9, 100),
        RowForm("sma", "true_range"): (65,),
        RowForm("level", "close_location"): (0,),
    }
    world = World(hard_series(), device)
    with constants(SHORTEST_SEGMENT=SEGMENT):
        assert_none(world.differing(forms, *world.filled(forms, part=INDEX_BARS)))
    print(f"rows in parts of {INDEX_BARS} of {world.market.n_bars} bars: every bit equal")


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
    for name, trees, early, most in (
        ("noise", every, 40.0, 2**16),
        ("range", chains, 1.0, 2**28),
        ("one bar", every, 40.0, 2**28),
    ):
        (host,) = build_series_rows([hard[name]], 2**28)
        shape = len(trees), len(hard[name])
        expected = np.stack([np.broadcast_to(host.of(tree), shape[1]) for tree in trees])
        with constants(SHORTEST_SEGMENT=SEGMENT, EARLY=early):
            rows = SeriesRows([host], most, 2**28, torch.device(device), Threads(1))
            made = torch.full(shape, -12345.0, dtype=torch.float64, device=device)
            rows.make(trees, made)
        assert_same_bits(expected, made.cpu().numpy(), name)
        bars += made.numel()
    print(f"{len(every)} rows of trees, {bars} bars: every bit equal")


def assert_none(differing):
    """No bar of any series differs."""
    assert not any(differing.values()), f"bars that differ: {differing}"


def main():
    """Compare all forms on one device."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if device == "cpu":
        repeat_nothing()
    compare_averages(device)
    compare_rolling(device)
    compare_steps(device)
    compare_parts(device)


if __name__ == "__main__":
    main()
