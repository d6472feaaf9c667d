"""A return that was never made, that hangs on one trade, or of trades too small, from outside."""

import numpy as np
import pytest

from tests.support.series import csv_text

pytestmark = pytest.mark.slow

FILE = """from strategy.words import *

SMALL = dict(stop=share(0.5), long=volume >= 1)
L20 = strategy("Twenty times.", account=account(1000, notional(20000)), **SMALL)
TINY = strategy("No lot.", market=market(lot="1"), account=account(10, risk(0.01)), **SMALL)
SIZES = strategy(
    "Buys a dip.", long=crosses_below(rsi(close, 14), gene("level", 40, 36, 44)), stop=share(0.4),
    max_hold=whole("hold", 30, 26, 34),
    account=account(1000, notional(gene("size", 2e3, 1e3, 4e4))),
)
SPIKE = strategy(
    "Hopes.", long=close > 0, stop=share(0.01), target=r_multiple(gene("r", 800, 500, 900)),
    max_hold=3,
)
"""
COSTLESS = ("--fee-bp", "0", "--slippage-bp", "0")


@pytest.fixture
def strategies(tmp_path):
    """A file of strategies."""
    (tmp_path / "s.py").write_text(FILE)
    return tmp_path / "s.py"


def write_bars(path, close, high=None, volume=None):
    """Hours whose open is the close before."""
    close, n = np.array(close, np.float64), len(close)
    opened = np.concatenate([close[:1], close[:-1]])
    columns = {
        "timestamp": np.arange(n) * 3_600_000_000_000 + 1_704_067_200_000_000_000,
        "open": opened,
        "high": np.maximum(opened, close) if high is None else high,
        "low": np.minimum(opened, close),
        "close": close,
        "volume": np.ones(n) if volume is None else volume,
    }
    path.write_text(csv_text(columns))
    return path


def test_a_backtest_says_that_its_account_was_gone(command, tmp_path, strategies):
    """200 units at 100: at a close of 92 the account stood at -600, whatever it gains by 103."""
    bars = write_bars(tmp_path / "lev.csv", [100, 100, 92, 103], volume=[1, 0, 0, 0])
    flags = ("backtest", "--data", bars, "--strategy", f"{strategies}:L20", *COSTLESS)
    told = "the account stood at nothing on 2024-01-01 03:00 UTC, before that trade ended"
    assert f"total_return 60.00% was never made: {told}." in command(*flags).out
    shown = command(*flags, "--json").json
    assert (shown["gone"], shown["metrics"]["total_return"]) == (
        "2024-01-01 03:00",
        pytest.approx(0.6),
    )


def test_trades_that_are_too_small_are_told(command, tmp_path, strategies):
    """A hundredth of 10 buys no unit at 100."""
    bars = write_bars(tmp_path / "lev.csv", [100, 100, 92, 103], volume=[1, 0, 0, 0])
    shown = command("backtest", "--data", bars, "--strategy", f"{strategies}:TINY", *COSTLESS)
    assert "1 of 1 trade was too small for the account: nothing was bought." in shown.out


def test_a_member_that_was_gone_is_never_the_pick(command, tmp_path, strategies):
    """The front shows the marked fall; where all were gone, the verdict is invalid with that."""
    t = np.arange(1500)
    bars = write_bars(tmp_path / "wave.csv", 100 + 12 * np.sin(t / 9) + 4 * np.sin(t / 2.3))
    small = ("--population", "24", "--generations", "4", "--min-trades", "5", "--no-report")
    search = ("evolve", "--data", bars, "--strategy", f"{strategies}:SIZES", *small, "--json")
    result = command(*search, "--no-judge").json
    gone = {number for number, member in enumerate(result["front"]) if "gone" in member}
    falls = [member["metrics"]["max_drawdown_marked"] for member in result["front"]]
    assert gone == {number for number, fall in enumerate(falls) if fall == 1.0}
    assert 0 < len(gone) < len(falls)
    assert result["judgement"]["pick"]["member"] not in gone
    shown = command("runs", "show", "latest").out.split("Their genes")[0]
    assert "marked" in shown
    assert "is no result: the account stood at nothing on" in shown
    named = command("judge", "latest", "--pick", min(gone))
    assert "the account stood at nothing on" in named.error
    judged = command(*search, "--bound", "size=35000:40000", "--null", "0").json["judgement"]
    assert judged["verdict"]["grade"] == "invalid"
    assert (
        "Do not use this result: the account stood at nothing on" in judged["verdict"]["sentence"]
    )
    assert judged.get("pick") is None
    assert (
        "Next: do not trade it: stake less in account(...)" in command("runs", "show", "latest").out
    )


def test_a_return_of_one_bad_price_is_told(command, tmp_path, strategies):
    """One of 1,000 bars has a high of ten times its neighbours, and makes the return."""
    close = 100 * np.exp(np.cumsum(np.random.default_rng(4).normal(0, 0.002, 1000)))
    high = np.maximum(close, np.concatenate([close[:1], close[:-1]])) * 1.0005
    high[600] = 1000.0
    bars = write_bars(tmp_path / "spike.csv", close, high)
    shown = command("backtest", "--data", bars, "--strategy", f"{strategies}:SPIKE")
    (hangs,) = [line for line in shown.out.splitlines() if "hangs on one trade" in line]
    assert "spike, 2024-01-" in hangs
    (wick,) = [line for line in shown.out.splitlines() if "stands alone in its week" in line]
    assert wick.startswith("It was filled in the bar of 2024-01-26 00:00 UTC, whose high 1,000 ")
