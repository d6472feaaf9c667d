"""Populations of several markets in one engine, beside engines of their own."""

from data.bars import Window
from engine.out_of_core import Group, PartedEngine, create_engine, evaluate_groups
from strategy import words as w
from tests.support.parity import assert_same_bits
from tests.support.worlds import make_bars, random_genomes


def write_codes():
    """Rows against genes and against each other, now and a bar ago, and stops that move."""
    span, other = w.length("span", 4, 2, 9), w.length("other", 12, 10, 30)
    quick, slow = w.ema(w.close, span), w.sma(w.close, other)
    loud = w.zscore(w.volume, w.length("loud", 9, 5, 20))
    return w.strategy(
        "Compares in every way.",
        long=w.crosses_above(quick, slow)
        | ((loud > w.gene("least", 0.5, 0.2, 2)) & (quick >= slow)),
        short=w.crosses_below(quick, slow) & (w.gene("most", 0.6, 0.3, 0.9) > w.close_location),
        exit_long=loud <= w.gene("quiet", -0.5, -2, 0),
        stop=w.from_entry(w.gene("far", 2, 0.5, 4) * w.rma(w.true_range, 9)),
        trail=w.trail(w.share(0.03)), break_even=0.5, max_hold=20,
    )  # fmt: skip


def compare_markets(device):
    """Populations in three markets of two series with the same times; returns their trades."""
    trades = 0
    fair = w.vwap(0)
    early = w.strategy(
        "Rows of sessions and of higher bars, arithmetic with a gene, and an exit by the clock.",
        long=(w.close < fair - w.gene("far", 0.1, 0, 1) * w.std(w.close, 5))
        & (w.higher(60, w.close) > w.higher(60, w.ema(w.close, 3))),
        short=w.within(w.close > fair, w.length("span", 2, 1, 4)),
        stop=w.share(0.02), target=w.level(fair), session=w.session_exit(),
    )  # fmt: skip
    for strategy in (write_codes(), early):
        series = [bars for seed in range(3) for bars in (make_bars(seed, 150), make_bars(seed, 90))]
        windows = [Window(number, 10 * (number % 2), len(series[number])) for number in range(6)]
        genomes = random_genomes(strategy, 8, 2)
        groups = [
            Group(genomes[:5], (2, 3), is_account=True), Group(genomes[3:], (0, 1)),
            Group(genomes[2:4], (4, 5), is_account=True), Group(genomes[:3], (1,)),
        ]  # fmt: skip
        asked = strategy, series, windows
        host, together = (create_engine(*asked, device=one, apart=2) for one in ("cpu", device))
        assert not isinstance(together, PartedEngine)
        expected, actual = (evaluate_groups(engine, groups) for engine in (host, together))
        for (sums, account), (of_one, account_of_one) in zip(actual, expected, strict=True):
            assert_same_bits(of_one, sums, "markets")
            if account is not None:
                assert_same_bits(account_of_one, account, "an account of a market")
        trades += sum(int(sums[:, :, 0].sum()) for sums, _ in actual)
    return trades
