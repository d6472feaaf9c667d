"""Dates of a schedule, and one chain of trades over its picks: check values of the law, borders."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data import LoadOptions, load_bars
from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.replay.parity import compare_ledgers
from optimizer.evidence.pick import compute_strength
from optimizer.schedule import Schedule, format_days, plan_steps, stitch
from strategy import STRATEGIES
from strategy import words as w
from tests.support.averages import REVERSING as LIMITED
from tests.support.references import compiled_reference
from tests.support.series import MINUTE_NS, START_NS, make_coarse
from tests.support.series import make_bars as make_flat_bars
from tests.support.worlds import make_bars

HOUR_NS = 60 * MINUTE_NS

SPEC = STRATEGIES["seller_exhaustion"]
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

TURNING = replace(REVERSING, exit_long=None, exit_short=None, reverse=True, name="turning")
"""Nothing but the other side, and a far stop, ends its trades."""

WAITING = w.strategy(
    "Waits at a channel's high for as long as it takes.", long=w.close > 0, name="waiting",
    entry=w.stop_at(w.close * w.gene("beyond", 1.001, 0.9, 2.0)), stop=w.share(0.02), max_hold=5,
)  # fmt: skip


def plan(*series, every=10, train=30, purge=0, anchored=False):
    """Windows and steps of a schedule, in bars of the first, on whole series."""
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    durations = (format_days(bars * series[0].timeframe_ns) for bars in (every, train))
    return windows, plan_steps(series, windows, Schedule(*durations, purge, anchored))


def trade(spec, *series, picks, every, train=300, costs=None, **changes):
    """Trades of picks [G] that repeat from step to step, and the reference of whole series."""
    windows, steps = plan(*series, every=every, train=train, **changes)
    reference = compiled_reference(spec, series, windows, costs or Costs())
    repeated = [picks[k % len(picks)] for k in range(len(steps))]
    return stitch(reference, windows, steps, repeated), reference


def assert_one_window(stitched, reference, genome):
    """Every column and count of the ledgers is that of one window from the first date on."""
    expected = compiled_reference(
        reference.spec, reference.series, stitched.windows, reference.costs
    ).trades(genome)
    for ledger, whole in zip(stitched.ledgers, expected, strict=True):
        assert compare_ledgers(ledger, whole) == ""
        assert ledger.skipped == whole.skipped
    n_steps = len(stitched.borders[0]) - 1
    entered = sum(len(part) for k in range(n_steps) for part in stitched.list_entered(k))
    assert entered == sum(map(len, expected))


LATE = make_flat_bars(40, HOUR_NS, START_NS + 35 * HOUR_NS)
GAP = [START_NS + hour * HOUR_NS for hour in (*range(25), *range(45, 70))]

PLANS = {
    # The last close ends the dates, and the last step may be short.
    "while there are bars": ([make_flat_bars(51, HOUR_NS)], {}, [
        ([(0, 30)], (30,)), ([(10, 40)], (40,)), ([(20, 50)], (50,))]),
    "a close is no date": ([make_flat_bars(50, HOUR_NS)], {}, [
        ([(0, 30)], (30,)), ([(10, 40)], (40,))]),
    # Bars before the border are cut, and nothing else moves.
    "purged and anchored": ([make_flat_bars(51, HOUR_NS)], {"purge": 4, "anchored": True}, [
        ([(0, 26)], (30,)), ([(0, 36)], (40,)), ([(0, 46)], (50,))]),
    # A market that begins later is trained on what it has, and trades from the same moment.
    "markets share dates": ([make_flat_bars(60, HOUR_NS), LATE], {}, [
        ([(0, 30)], (30, 0)), ([(10, 40), (0, 5)], (40, 5)), ([(20, 50), (0, 15)], (50, 15)),
        ([(30, 60), (0, 25)], (60, 25)), ([(40, 60), (5, 35)], (60, 35))]),
    # A date in a gap is the first bar after it.
    "in a gap": ([make_flat_bars(50, HOUR_NS, timestamp=GAP)], {}, [
        ([(0, 25)], (25,)), ([(10, 25)], (25,)), ([(20, 30)], (30,)), ([(25, 40)], (40,))]),
}  # fmt: skip
"""Series, settings beside 10 hours on 30, and of each step its trainings and borders."""


@pytest.mark.parametrize("name", PLANS)
def test_trainings_end_at_the_border_of_their_date(name):
    """Dates follow each other from the first bar of any market on."""
    series, changes, expected = PLANS[name]
    _, steps = plan(*series, **changes)
    listed = [([(w.start, w.end) for w in step.train], step.borders) for step in steps]
    assert listed == expected
    assert steps[0].date_ns == START_NS + 30 * HOUR_NS


CASES = {
    "btcusdt_1h": (
        ("30d", "180d", 96), ({}, G2, None), 76,
        [(0, 4184, 4280, 5000), (53872, 58096, 58192, 58419)],
        (242, 16, -28.88820590116856, -1.4311897217370637, 0.7340583328429687, 0.3828914727715749),
    ),
    "uniusdt_15m": (
        ("14d", "120d", 0), (G2, G1), 70,
        [(0, 11497, 11497, 12841), (84532, 87490, 87490, 87539)],
        (696, 34, -69.60053330616753, -1.8489143423119547, 0.4646963220121126, 0.6390177649773706),
    ),
}  # fmt: skip
"""Every, train and purge; picks; steps; training and traded bars of the first and the last;
trades, those over a border, sum of R, strength, equity, deepest fall."""


def load_real(folder, name):
    """A real series."""
    return load_bars(f"parquet:{folder / name}.parquet", LoadOptions(dedupe=True))


def encode(picks):
    """Genomes of seller exhaustion."""
    return [None if genes is None else SPEC.layout.encode(genes) for genes in picks]


@pytest.mark.parametrize("name", CASES)
def test_check_values_of_the_law(name, real_folder):
    """Dates, trades and account on real series, to the last digit."""
    durations, genes, count, ends, expected = CASES[name]
    bars, schedule = load_real(real_folder, name), Schedule(*durations, anchored=False)
    windows = [Window.whole(bars)]
    steps = plan_steps([bars], windows, schedule)
    assert len(steps) == count
    cuts = [*(step.borders[0] for step in steps), len(bars)]
    for index, end in zip((0, count - 1), ends, strict=True):
        (trained,) = steps[index].train
        assert (trained.start, trained.end, cuts[index], cuts[index + 1]) == end
    reference, picks = compiled_reference(SPEC, [bars], windows, Costs()), encode(genes)
    stitched = stitch(reference, windows, steps, [picks[k % len(picks)] for k in range(count)])
    (ledger,) = stitched.ledgers
    trades, over, sum_r, strength, equity, fall = expected
    assert (len(ledger), stitched.n_over_border) == (trades, over)
    sums = reference.fold(ledger, SPEC.layout.defaults)
    assert [sums[index].item() for index in (2, 8, 10)] == [sum_r, equity, fall]
    assert compute_strength([ledger.r]).value == strength
    account = Account(stitched.series, stitched.windows, (bars.symbol,), Costs())
    assert account.fold(stitched.ledgers).equity[-1] == equity
    if name == "btcusdt_1h":
        k = int(np.argmax(ledger.exit_bar >= np.array(cuts)[stitched.steps[0] + 1]))
        first = ledger.trade(k)
        assert int(stitched.steps[0][k]) == 4
        assert first[:4] == (7842, 7843, 7939, 2)
        assert first.r == 1.9133355275895454


LIMITS = {
    "positions": (Costs(max_positions=1), (802, 869, 87, 0.2930346507807445)),
    "leverage": (Costs(max_leverage=3.0), (976, 190, 107, 0.25991661400128624)),
}
"""Trades, skipped, those over a border, and equity of btc, gbpjpy and aapl 1h."""


@pytest.mark.parametrize("name", LIMITS)
def test_an_account_with_limits_goes_on_through_all_steps(name, real_folder):
    """One account over all steps of three real series."""
    costs, expected = LIMITS[name]
    names = ("btcusdt_1h", "gbpjpy_1h", "aapl_1h")
    series = [load_real(real_folder, name) for name in names]
    picks = encode((G1, G2, None))
    stitched, _ = trade(SPEC, *series, picks=picks, every=720, train=4320, purge=96, costs=costs)
    account = Account(stitched.series, stitched.windows, names, costs)
    counts = sum(map(len, stitched.ledgers)), sum(ledger.skipped for ledger in stitched.ledgers)
    equity = float(account.fold(stitched.ledgers).equity[-1])
    assert (*counts, stitched.n_over_border, equity) == expected


@pytest.mark.parametrize("spec", [REVERSING, RESTING], ids=lambda spec: spec.name)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), every=st.integers(3, 400))
@example(seed=1, every=3)
def test_equal_genes_are_one_window(spec, seed, every):
    """The ledger is that of one window from the first date on, in every bit, reverses included."""
    bars, rng = make_bars(seed, 1200, jump=0.05), np.random.default_rng(seed)
    low, high = spec.layout.low, spec.layout.high
    (genome,), _ = spec.layout.repair(rng.uniform(low, high, (1, len(spec.layout))))
    stitched, reference = trade(spec, bars, picks=[genome], every=every)
    assert_one_window(stitched, reference, genome)
    if (seed, every) == (1, 3) and spec is REVERSING:
        # Many a trade ends at a border where the other side begins.
        (ledger,) = stitched.ledgers
        turned = ledger.signal_bar[1:] == ledger.exit_bar[:-1] - 1
        assert (turned & np.isin(ledger.exit_bar[:-1] - 1, stitched.borders[0])).sum() > 5


def test_equal_genes_of_an_account_with_limits_are_one_window():
    """Its room is that of one window from the first date on, in every bit."""
    series = [make_bars(seed, 450, jump=0.05, gaps=0.02) for seed in (3, 4, 5, 6)]
    series[3] = series[3].cut(100, 400)
    # It ends before the first date.
    series.append(series[0].cut(0, 50))
    costs, genome = Costs(max_positions=3, max_leverage=0.8, rank="close"), LIMITED.layout.defaults
    stitched, reference = trade(LIMITED, *series, picks=[genome], every=7, train=150, costs=costs)
    assert len(stitched.windows) == 4
    assert sum(ledger.skipped for ledger in stitched.ledgers) > 0
    assert_one_window(stitched, reference, genome)


def test_finer_bars_are_read_in_every_step():
    """The ledger of equal genes is that of one window there too, and another one without them."""
    hours = make_coarse(make_bars(3, 4800, jump=0.05))
    parts = {"stop": w.share(0.02), "target": w.r_multiple(1), "max_hold": 20}
    spec = w.strategy("Rises.", long=w.close > w.ema(w.close, 5), name="rises", **parts)
    sums = []
    for bars in (hours, replace(hours, finer=None)):
        stitched, reference = trade(spec, bars, picks=[spec.layout.defaults], every=50)
        assert_one_window(stitched, reference, spec.layout.defaults)
        assert stitched.n_over_border > 0
        sums.append(stitched.ledgers[0].r.sum())
    assert sums[0] != sums[1]


def test_orders_of_an_earlier_search_do_not_know_what_comes():
    """What waits in vain until the last bars takes nothing from the searches after its own."""
    genomes, entered = [np.array([beyond]) for beyond in (1.5, 1.001, 1.001, 1.001)], []
    for last in (100.0, 200.0):
        closes = np.where(np.arange(240) % 2, 101.0, 100.0)
        closes[-20:] = last
        opens = np.concatenate(([100.0], closes[:-1]))
        prices = {"high": np.maximum(opens, closes) + 0.5, "low": np.minimum(opens, closes) - 0.5}
        bars = make_flat_bars(240, HOUR_NS, open=opens, close=closes, **prices)
        stitched, _ = trade(WAITING, bars, picks=genomes, every=48, train=48)
        (ledger,) = stitched.ledgers
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
    genomes, _ = spec.layout.repair(drawn)
    listed = []
    for known in (bars, bars.cut(0, int(rng.integers(300, 700)), finer=None)):
        stitched, _ = trade(spec, known, picks=genomes, every=every, train=200)
        (ledger,) = stitched.ledgers
        rows = zip(*ledger.columns().values(), strict=True)
        listed.append([[np.asarray(cell).tobytes() for cell in row] for row in rows])
    ended = ledger.reason != REASONS.index("end")
    assert [row for row, is_over in zip(listed[1], ended, strict=True) if is_over] == (
        listed[0][: int(ended.sum())]
    )


def test_what_reverses_by_its_genes_is_left_by_them_over_a_border():
    """A side that nothing else ends is not held to the last bar because a search came."""
    bars, genomes = make_bars(3, 2000), [np.array([fast, 8.0, 0.2]) for fast in (3.0, 4.0)]
    stitched, reference = trade(TURNING, bars, picks=genomes, every=100)
    (ledger,), (entered,), (cuts,) = stitched.ledgers, stitched.steps, stitched.borders
    over = np.flatnonzero(ledger.exit_bar >= np.array(cuts)[entered + 1])
    assert len(over) > 3
    for k in over.tolist():
        window = replace(reference.windows[0], start=int(ledger.signal_bar[k]))
        alone = compiled_reference(TURNING, [bars], [window], Costs())
        assert alone.trades(genomes[entered[k] % 2])[0].trade(0) == ledger.trade(k)
    assert REASONS.index("reverse") in ledger.reason[over]
