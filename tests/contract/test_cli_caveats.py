"""A return that was never made, that hangs on one trade, or of trades too small, from outside."""

import numpy as np
import pytest

from tests.support.series import csv_text, draw_waves, join_closes

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
FREE = ("--fee-bp", "0", "--slippage-bp", "0")


@pytest.fixture
def ask(command, tmp_path):
    """Run a command with a strategy of the file on columns of bars."""
    (tmp_path / "s.py").write_text(FILE)

    def run(name, idea, columns, *more):
        (tmp_path / "bars.csv").write_text(csv_text(columns))
        return command(name, "--data", "bars.csv", "--strategy", f"s.py:{idea}", *more)

    return run


def test_a_backtest_says_what_its_return_does_not_tell(ask):
    """200 units at 100 stood at -600 at a close of 92, whatever they gain by 103.

    A hundredth of 10 buys no unit at 100. And one of 1,000 bars has a high of ten times its
    neighbours, and makes the return.
    """
    columns = join_closes([100, 100, 92, 103], volume=[1, 0, 0, 0])
    told = "the account stood at nothing on 2024-01-01 03:00 UTC, before that trade ended"
    said = ask("backtest", "L20", columns, *FREE).out
    assert f"return 60.00% was never made: {told}." in said
    assert "hangs on one trade" not in said
    shown = ask("backtest", "L20", columns, *FREE, "--json").json
    assert shown["gone"] == "2024-01-01 03:00"
    assert shown["metrics"]["total_return"] == pytest.approx(0.6)
    later = join_closes([*[100] * 9, 100, 92, 103], volume=[1, *[0] * 7, 1, 0, 0, 0])
    held_out = ask("backtest", "L20", later, *FREE, "--holdout", "2024-01-01T08:00").out
    told = "the account stood at nothing on 2024-01-01 11:00 UTC"
    assert f"Held-out bars: total_return 60.00% was never made: {told}" in held_out
    small = "1 of 1 trade was too small for the account: nothing was bought."
    assert small in ask("backtest", "TINY", columns, *FREE).out
    close = 100 * np.exp(np.cumsum(np.random.default_rng(4).normal(0, 0.002, 1000)))
    columns = join_closes(close)
    columns["high"] *= 1.0005
    columns["high"][600] = 1000.0
    lines = ask("backtest", "SPIKE", columns).out.splitlines()
    (hangs,) = [line for line in lines if "hangs on one trade" in line]
    assert "bars, 2024-01-" in hangs
    (wick,) = [line for line in lines if "stands alone in its week" in line]
    assert wick.startswith("It was filled in the bar of 2024-01-26 00:00 UTC, whose high 1,000 ")


def test_a_member_that_was_gone_is_never_the_pick(ask, command):
    """The front shows the marked fall; where all were gone, the verdict is invalid with that."""
    small = ("--population", "24", "--generations", "4", "--min-trades", "5", "--no-report")
    search = ("evolve", "SIZES", draw_waves(1500), *small, "--json")
    result = ask(*search, "--no-judge").json
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
    judged = ask(*search, "--bound", "size=35000:40000", "--null", "0").json["judgement"]
    assert judged["verdict"]["grade"] == "invalid"
    why = "Do not use this result: the account stood at nothing on"
    assert why in judged["verdict"]["sentence"]
    assert judged.get("pick") is None
    next_step = "Next: do not trade it: stake less in account(...)"
    assert next_step in command("runs", "show", "latest").out
