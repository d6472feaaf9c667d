"""One chain of trades over the picks of a schedule: the law's check values, and equal genes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data import LoadOptions, load_bars
from data.bars import Bars, Window
from data.timeframe import parse_timeframe
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.ledger import COUNTS, REASONS
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.evidence.pick import compute_strength
from optimizer.schedule.dates import Schedule, plan_steps
from optimizer.schedule.stitched import stitch
from strategy import STRATEGIES
from strategy import words as w
from tests.support.finer import make_coarse
from tests.support.worlds import make_bars

SPEC = STRATEGIES["seller_exhaustion"]
FORM = CompiledForm()
G1 = {
    "ema_fast": 24, "ema_slow": 168, "z_window": 168, "atr_window": 24, "vol_z_min": 0.5,
    "tr_z_min": 0.3, "close_location_min": 0.5, "atr_stop_mult": 1.0, "reward_r": 3.0,
    "max_hold": 72,
}  # fmt: skip
G2 = {**G1, "reward_r": 2.0, "max_hold": 240, "atr_stop_mult": 2.0}

FAST, SLOW = (
    w.ema(w.close, w.length(*bounds)) for bounds in (("fast", 3, 2, 10), ("slow", 8, 5, 30))
)
SIDES = {"long": FAST > SLOW, "short": FAST < SLOW, "less_than": [("fast", "slow")]}
SIDES["stop"] = w.share(w.gene("stop", 0.02, 0.01, 0.2))
REVERSING = w.strategy(
    "Long above an average, short below it, out as the other side begins.",
    **SIDES, exit_long=FAST < SLOW, exit_short=FAST > SLOW, name="reversing",
)  # fmt: skip
"""It stops and reverses: a side ends at the open at which the other one is entered."""

RESTING = w.strategy(
    "Waits at the channel's ends, one side at a stop, the other at a limit, and turns round.",
    **SIDES, reverse=True, name="resting",
    entry=w.by_side(w.stop_at(w.highest(w.high, 5), 8), w.limit_at(w.close * 1.002, 4)),
)  # fmt: skip
"""Its orders stand on over borders."""

CASES = {
    "btcusdt_1h": (
        ("30d", "180d", 96, ({}, G2, None)), 76,
        [(0, 4184, 4280, 5000), (53872, 58096, 58192, 58419)],
        (242, 16, -28.88820590116856, -1.4311897217370637, 0.7340583328429687, 0.3828914727715749),
    ),
    "uniusdt_15m": (
        ("14d", "120d", 0, (G2, G1)), 70,
        [(0, 11497, 11497, 12841), (84532, 87490, 87490, 87539)],
        (696, 34, -69.60053330616753, -1.8489143423119547, 0.4646963220121126, 0.6390177649773706),
    ),
}  # fmt: skip
"""Every, train, purge and picks; steps; training and traded bars of the first and the last;
trades, those over a border, sum of R, strength, equity, deepest fall."""


def plan(bars, every, train, purge=0, *, is_anchored=False):
    """Windows of a whole series, and the steps of a schedule on it."""
    schedule = Schedule(parse_timeframe(every), parse_timeframe(train), purge, is_anchored)
    windows = [Window.whole(bars)]
    return windows, plan_steps([bars], windows, schedule)


def repeat(picks, count):
    """So many genomes of seller exhaustion, from genes that repeat."""
    genomes = [None if genes is None else SPEC.layout.encode(genes) for genes in picks]
    return [genomes[k % len(genomes)] for k in range(count)]


@pytest.mark.parametrize("name", CASES)
def test_check_values_of_the_law(name, real_folder):
    """Dates, trades and account on real series, to the last digit."""
    (every, train, purge, genes), count, ends, expected = CASES[name]
    bars = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    windows, steps = plan(bars, every, train, purge)
    assert len(steps) == count
    cuts = [*(step.borders[0] for step in steps), len(bars)]
    for index, end in zip((0, count - 1), ends, strict=True):
        (trained,) = steps[index].train
        assert (trained.start, trained.end, cuts[index], cuts[index + 1]) == end
    reference = Reference(SPEC, [bars], windows, form=FORM)
    stitched = stitch(reference, windows, steps, repeat(genes, count))
    (ledger,) = stitched.ledgers
    trades, over, sum_r, strength, equity, fall = expected
    assert (len(ledger), stitched.n_over_border) == (trades, over)
    sums = reference.fold(ledger, SPEC.layout.defaults)
    named = [sums[index].item() for index in (2, 8, 10)]
    assert named == [sum_r, equity, fall]
    assert compute_strength([ledger.r]).value == strength
    account = Account(stitched.series, stitched.windows, (bars.symbol,), Costs())
    assert account.fold(stitched.ledgers).equity[-1] == equity
    if name == "btcusdt_1h":
        k = int(np.argmax(ledger.exit_bar >= np.array(cuts)[stitched.steps[0] + 1]))
        first = ledger.trade(k)
        assert int(stitched.steps[0][k]) == 4
        assert first[:4] == (7842, 7843, 7939, 2)
        assert first.r == 1.9133355275895454


@pytest.mark.parametrize("spec", [REVERSING, RESTING], ids=lambda spec: spec.name)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), every=st.integers(3, 400))
@example(seed=1, every=3)
def test_equal_genes_are_one_window(spec, seed, every):
    """The ledger is that of one window from the first date on, in every bit, reverses included."""
    bars, rng = make_bars(seed, 1200, jump=0.05), np.random.default_rng(seed)
    low, high = spec.layout.low, spec.layout.high
    (genome,), _ = spec.layout.repair(rng.uniform(low, high, (1, len(spec.layout))))
    stitched, reference = stitch_equal(spec, bars, every, genome)
    assert_one_window(stitched, reference, genome)
    if every == 3 and spec is REVERSING:
        # Many a trade ends at a border where the other side begins.
        (ledger,) = stitched.ledgers
        turned = ledger.signal_bar[1:] == ledger.exit_bar[:-1] - 1
        assert (turned & np.isin(ledger.exit_bar[:-1] - 1, stitched.borders[0])).sum() > 5


def stitch_equal(spec, bars, every, genome):
    """The chain of a genome that each step picks, and the reference of the whole window."""
    windows, step_ns = [Window.whole(bars)], bars.timeframe_ns
    steps = plan_steps([bars], windows, Schedule(every * step_ns, 300 * step_ns))
    reference = Reference(spec, [bars], windows, form=FORM)
    return stitch(reference, windows, steps, [genome] * len(steps)), reference


def assert_one_window(stitched, reference, genome):
    """Every column and count of the ledger is that of one window from the first date on."""
    whole = replace(reference.windows[0], start=stitched.borders[0][0])
    (expected,) = Reference(reference.spec, reference.series, [whole], form=FORM).trades(genome)
    (ledger,) = stitched.ledgers
    for name, column in expected.columns().items():
        np.testing.assert_array_equal(ledger.columns()[name], column, strict=True)
    for name in COUNTS:
        assert getattr(ledger, name) == getattr(expected, name)
    n_steps = len(stitched.borders[0]) - 1
    assert sum(len(stitched.list_entered(k)[0]) for k in range(n_steps)) == len(expected)


def test_finer_bars_are_read_in_every_step():
    """The ledger of equal genes is that of one window there too, and another one without them."""
    hours = make_coarse(make_bars(3, 4800, jump=0.05))
    parts = {"stop": w.share(0.02), "target": w.r_multiple(1), "max_hold": 20}
    spec = w.strategy("Rises.", long=w.close > w.ema(w.close, 5), name="rises", **parts)
    sums = []
    for bars in (hours, replace(hours, finer=None)):
        stitched, reference = stitch_equal(spec, bars, 50, spec.layout.defaults)
        assert_one_window(stitched, reference, spec.layout.defaults)
        assert stitched.n_over_border > 0
        sums.append(stitched.ledgers[0].r.sum())
    assert sums[0] != sums[1]


TURNING = replace(REVERSING, exit_long=None, exit_short=None, reverse=True, name="turning")
"""Nothing but the other side, and a far stop, ends its trades."""

WAITING = w.strategy(
    "Waits at a channel's high for as long as it takes.", long=w.close > 0, name="waiting",
    entry=w.stop_at(w.close * w.gene("beyond", 1.001, 0.9, 2.0)), stop=w.share(0.02), max_hold=5,
)  # fmt: skip


def test_orders_of_an_earlier_search_do_not_know_what_comes():
    """What waits in vain until the last bars takes nothing from the searches after its own."""
    hours, genomes = 3_600_000_000_000, [[1.5], [1.001], [1.001], [1.001]]
    entered = []
    for last in (100.0, 200.0):
        closes = np.where(np.arange(240) % 2, 101.0, 100.0)
        closes[-20:] = last
        opens = np.concatenate(([100.0], closes[:-1]))
        ends = np.maximum(opens, closes) + 0.5, np.minimum(opens, closes) - 0.5
        columns = np.arange(240) * hours, opens, *ends, closes, np.ones(240)
        bars = Bars(*columns, symbol="UP", timeframe_ns=hours)
        windows = [Window.whole(bars)]
        steps = plan_steps([bars], windows, Schedule(48 * hours, 48 * hours))
        reference = Reference(WAITING, [bars], windows, form=FORM)
        (ledger,) = stitch(reference, windows, steps, list(map(np.array, genomes))).ledgers
        entered.append(ledger.entry_bar[ledger.entry_bar < 220].tolist())
    assert len(entered[0]) > 20
    assert entered[0] == entered[1]


@pytest.mark.parametrize("spec", [RESTING, TURNING], ids=lambda spec: spec.name)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), every=st.integers(10, 200))
def test_a_ledger_of_many_genes_is_the_beginning_of_a_longer_one(spec, seed, every):
    """Nothing of what rests or reverses over a border depends on bars that had not come."""
    bars, rng = make_bars(seed, 700, jump=0.05), np.random.default_rng(seed)
    drawn = rng.uniform(spec.layout.low, spec.layout.high, (3, len(spec.layout)))
    (genomes, _), step_ns = spec.layout.repair(drawn), bars.timeframe_ns
    schedule = Schedule(every * step_ns, 200 * step_ns)
    listed = []
    for known in (bars, bars.cut(0, int(rng.integers(300, 700)), finer=None)):
        windows = [Window.whole(known)]
        steps = plan_steps([known], windows, schedule)
        picks = [genomes[k % 3] for k in range(len(steps))]
        (ledger,) = stitch(
            Reference(spec, [known], windows, form=FORM), windows, steps, picks
        ).ledgers
        rows = zip(*ledger.columns().values(), strict=True)
        listed.append([[np.asarray(cell).tobytes() for cell in row] for row in rows])
    ended = ledger.reason != REASONS.index("end")
    assert [row for row, is_over in zip(listed[1], ended, strict=True) if is_over] == (
        listed[0][: int(ended.sum())]
    )


def test_what_reverses_by_its_genes_is_left_by_them_over_a_border():
    """A side that nothing else ends is not held to the last bar because a search came."""
    bars = make_bars(3, 2000)
    spec = TURNING
    windows, step_ns = [Window.whole(bars)], bars.timeframe_ns
    steps = plan_steps([bars], windows, Schedule(100 * step_ns, 300 * step_ns))
    genomes = [np.array([float(3 + k % 2), 8.0, 0.2]) for k in range(len(steps))]
    stitched = stitch(Reference(spec, [bars], windows, form=FORM), windows, steps, genomes)
    (ledger,), (entered,), (cuts,) = stitched.ledgers, stitched.steps, stitched.borders
    over = np.flatnonzero(ledger.exit_bar >= np.array(cuts)[entered + 1])
    assert len(over) > 3
    for k in over.tolist():
        window = replace(windows[0], start=int(ledger.signal_bar[k]))
        (alone,) = Reference(spec, [bars], [window], form=FORM).trades(genomes[entered[k]])
        assert alone.trade(0) == ledger.trade(k)
    assert REASONS.index("reverse") in ledger.reason[over]
