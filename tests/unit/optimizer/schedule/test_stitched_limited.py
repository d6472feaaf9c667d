"""Schedules of an account with limits: one account over all steps of all symbols."""

from data import LoadOptions, load_bars
from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.replay.parity import compare_ledgers
from optimizer.schedule.dates import Schedule, plan_steps
from optimizer.schedule.stitched import stitch
from strategy import STRATEGIES
from tests.support.averages import REVERSING
from tests.support.references import compiled_reference
from tests.support.worlds import make_bars
from tests.unit.optimizer.schedule.test_stitched import G1, G2

SELLER = STRATEGIES["seller_exhaustion"]
SERIES = [make_bars(seed, 450, jump=0.05, gaps=0.02) for seed in (3, 4, 5, 6)]
SERIES[3] = SERIES[3].cut(100, 400)
WINDOWS = [Window.whole(bars, number) for number, bars in enumerate(SERIES)]


def plan(series, windows, every, train, purge=0):
    """Steps of so many bars."""
    step_ns = series[0].timeframe_ns
    return plan_steps(series, windows, Schedule(every * step_ns, train * step_ns, purge))


def test_equal_genes_are_one_window():
    """The account is that of one window from the first date on, in every bit."""
    costs = Costs(max_positions=3, max_leverage=0.8, rank="close")
    genome = REVERSING.layout.defaults
    steps = plan(SERIES, WINDOWS, 7, 150)
    reference = compiled_reference(REVERSING, SERIES, WINDOWS, costs)
    stitched = stitch(reference, WINDOWS, steps, [genome] * len(steps))
    expected = compiled_reference(REVERSING, SERIES, stitched.windows, costs).trades(genome)
    for ledger, whole in zip(stitched.ledgers, expected, strict=True):
        assert compare_ledgers(ledger, whole) == ""
        assert (ledger.skipped, ledger.rejected) == (whole.skipped, whole.rejected)


def test_three_real_series(real_folder):
    """Schedules of btc, gbpjpy and aapl 1h: trades, skipped, those over a border, equity."""
    assert trade_three(real_folder, Costs(max_positions=1)) == (802, 869, 87, 0.2930346507807445)
    expected = (976, 190, 107, 0.25991661400128624)
    assert trade_three(real_folder, Costs(max_leverage=3.0)) == expected


def trade_three(folder, costs):
    """Trades, skipped, those over a border, equity."""
    names = ("btcusdt_1h", "gbpjpy_1h", "aapl_1h")
    options = LoadOptions(dedupe=True)
    series = [load_bars(f"parquet:{folder / name}.parquet", options) for name in names]
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    steps = plan(series, windows, 720, 4320, 96)
    genomes = [SELLER.layout.encode(G1), SELLER.layout.encode(G2), None]
    picks = [genomes[k % 3] for k in range(len(steps))]
    stitched = stitch(compiled_reference(SELLER, series, windows, costs), windows, steps, picks)
    account = Account(stitched.series, stitched.windows, names, costs)
    counts = sum(map(len, stitched.ledgers)), sum(ledger.skipped for ledger in stitched.ledgers)
    return *counts, stitched.n_over_border, float(account.fold(stitched.ledgers).equity[-1])
