"""Payments, sizes and sessions on the command line: charged as said, or refused in one line."""

from pathlib import Path

import pandas as pd
import pytest

from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

IDEAS = """from strategy.words import *
BOTH = {"long": close > ema(close, length("n", 20, 5, 60)), "short": close < lag(low, 2)}
LATE = {"long": minute_of_day() > 1080, "stop": share(0.5)}
PAYS = strategy("Pays.", **BOTH, stop=share(0.02), funding=funding(payments("fund")))
LARGE = strategy("Large.", **BOTH, stop=share(0.02), account=account(1000, equity_share(20)))
SMALL = strategy("Small.", **BOTH, stop=share(0.02), account=account(1000, risk(0.01)))
DAYS = strategy("Days.", **LATE, session=session_exit(1015))
EVENINGS = strategy("Evenings.", **LATE, session=session_exit(1015, begins=1080))
"""


@pytest.fixture
def ask(command, market, tmp_path):
    """Run a command with an idea, with a file of payments every eight hours."""
    (tmp_path / "ideas.py").write_text(IDEAS)
    times = pd.date_range("1970-01-01 08:00:00.011", periods=90, freq="8h", tz="UTC")
    rows = [f"{time.isoformat()},{0.0001 * (k % 7)}" for k, time in enumerate(times)]
    (tmp_path / "fund.csv").write_text("\n".join(["known_at,value", *rows, ""]))

    def run(name, idea, *more):
        file = ("--column-file", "fund=fund.csv") if idea == "PAYS" else ()
        return command(name, "--data", market, "--strategy", f"ideas.py:{idea}", *file, *more)

    return run


def test_a_search_by_payments_is_certified_verified_and_sees_no_later_one(ask, command, tmp_path):
    """A payment that changes within a bar, where no close shows it, is another run's data."""
    found = ask("evolve", "PAYS", *SMALL, "--json")
    assert found.json["certificate"]["mismatches"] == 0, found.err
    assert "0 mismatches" in command("runs", "verify", "latest").out
    judged = command("judge", "latest", "--json", "--folds", "0", "--null", "1")
    assert judged.json["judgement"]["causal"]["mismatches"] == 0
    (copy,) = tmp_path.glob("runs/*/columns/fund.csv")
    (tmp_path / "fund.csv").unlink()
    text = copy.read_text().replace("T08:00:00.011", "T08:05:00.011")
    copy.write_text(text)
    assert command("evolve", "--resume", "latest", "--generations", "9").code == 4


@pytest.mark.parametrize(
    ("idea", "change", "more", "word", "trust"),
    [
        ("PAYS", ("0.0006", "0.6"), (), "0.6 at 1970-01-03T", "--trust-rates"),
        ("LARGE", None, (), "20 times", "--trust-leverage"),
        ("SMALL", None, ("--risk-fraction", "0.01"), "--risk-fraction 0.01", ""),
    ],
)
def test_money_that_is_likely_a_slip_is_refused(ask, tmp_path, idea, change, more, word, trust):
    """Before a search and a backtest, unless a flag says that it is meant; nothing is written."""
    if change:
        file = tmp_path / "fund.csv"
        assert change[0] in file.read_text()
        file.write_text(file.read_text().replace(*change))
    for name, flags in (("evolve", SMALL), ("backtest", ())):
        refused = ask(name, idea, *flags, *more)
        assert refused.code == 2, refused.err
        assert word in refused.error
        assert trust in refused.error
        assert not Path("runs").exists()
    assert not trust or ask("backtest", idea, trust).code == 0


@pytest.mark.parametrize(("idea", "is_said"), [("DAYS", True), ("EVENINGS", False)])
def test_trades_that_leave_at_once_are_said_with_the_way_to_begin_a_session(ask, idea, is_said):
    """Where they are more than one in ten."""
    shown = ask("backtest", idea)
    assert shown.code == 0, shown.err
    assert ("begins=1080" in shown.out) == is_said
