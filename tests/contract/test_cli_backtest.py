"""backtest: genes from files and flags, a ledger that reads back exactly, and what it must say."""

import numpy as np
import pytest

from engine.accounts.ledger import ACCUMULATORS, REASONS, Trade
from optimizer import load_run
from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from optimizer.store.result import FIGURES
from tests.support.commands import read_csv
from tests.support.series import csv_text, draw_waves, join_closes

LOOSE = ("--set", "vol_z_min=0.5", "--set", "tr_z_min=0.3", "--set", "z_window=96")
GENES = {"vol_z_min": 0.5, "tr_z_min": 0.3, "z_window": 96}
FREE = ("--fee-bp", "0", "--slippage-bp", "0")


@pytest.fixture
def backtested(command, market, tmp_path):
    """A function that backtests loose genes: the JSON and the rows of the ledger."""

    def run(*more):
        given = command("backtest", "--data", market, *LOOSE, *more, "--trades", "o.csv", "--json")
        return given.json, read_csv(tmp_path / "o.csv")

    return run


def test_the_ledger_reads_back_exactly_and_engines_agree(backtested, market, tmp_path):
    """Every float of the file is, bit for bit, the engine's; what was there is gone."""
    (tmp_path / "o.csv").write_text("signal_bar,old " * 10_000)
    by_reference, _ = backtested("--engine", "reference")
    content = (tmp_path / "o.csv").read_bytes()
    result, rows = backtested("--engine", "cpu")
    assert (tmp_path / "o.csv").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]
    assert by_reference["windows"] == result["windows"]
    assert by_reference["metrics"] == result["metrics"]
    assert list(result["windows"][0]["accumulators"]) == list(ACCUMULATORS)
    assert list(result["metrics"]) == list(FIGURES)
    unknown = {name for name, value in result["metrics"].items() if value is None}
    assert unknown == set(result["undefined"])
    task = prepare(RunConfig(data=market))
    (ledger,) = task.engine().trades(task.spec.layout.encode(GENES))
    assert len(rows) == len(ledger) > 5
    assert tuple(rows[0]) == (*Trade._fields, "entry_time", "exit_time")
    for k, row in enumerate(rows):
        trade = ledger.trade(k)
        assert [int(row[name]) for name in Trade._fields[:3]] == list(trade[:3])
        assert row["reason"] == REASONS[trade.reason]
        assert [float(row[name]) for name in Trade._fields[4:]] == list(trade[4:])
        opened = [
            np.datetime64(row[name].removesuffix("Z"), "ns") for name in rows[0] if "time" in name
        ]
        bars = task.markets.series[0].timestamp[[trade.entry_bar, trade.exit_bar]]
        assert [int(time.astype(np.int64)) for time in opened] == bars.tolist()


def test_genes_come_from_defaults_then_the_file_then_flags(backtested, tmp_path):
    """Each gene has the value of the nearest place that names it."""
    (tmp_path / "genes.json").write_text('{"reward_r": 3.0, "max_hold": 7, "z_window": 50}')
    genes = backtested("--genes", "genes.json", "--set", "max_hold=9")[0]["genes"]
    names = ("reward_r", "max_hold", "ema_slow", "z_window")
    assert [genes[name] for name in names] == [3.0, 9, 672, 96]


def test_flags_move_trades_as_they_say(backtested, command, market):
    """One bar held, the end of the data, the least risk, a window with its history, and costs.

    Held-out bars have figures of their own, and none where no bar is held out.
    """
    dear, _ = backtested()
    assert "held_out" not in dear
    parts = command("backtest", "--data", market, *LOOSE, "--holdout", "50%", "--json").json
    searched, held_out = (window["metrics"] for window in parts["windows"])
    assert (parts["metrics"], parts["held_out"]["metrics"]) == (searched, held_out)
    assert 0 < held_out["trades"] < dear["metrics"]["trades"]
    _, rows = backtested("--set", "max_hold=1")
    assert "time" in {row["reason"] for row in rows}
    assert all(row["entry_bar"] == row["exit_bar"] for row in rows)
    far = ("--set", "max_hold=1000000", "--set", "reward_r=1e6", "--set", "atr_stop_mult=1e4")
    _, (row,) = backtested(*far)
    assert (row["reason"], row["exit_bar"]) == ("end", "2999")
    counted = backtested("--min-risk", "0.9")[0]["windows"][0]["accumulators"]
    assert counted["trades"] == 0
    assert counted["rejected"] > 5
    result, rows = backtested("--start", "1970-01-21", "--end", "1970-01-26")
    start, end = (result["windows"][0][edge] for edge in ("start", "end"))
    assert rows
    assert all(start <= int(row["signal_bar"]) < int(row["exit_bar"]) + 1 <= end for row in rows)
    assert result["data"]["bars"] == end - start == 5 * 96
    before, after = (
        result["windows"][0]["accumulators"] for result in (dear, backtested(*FREE)[0])
    )
    assert after["trades"] == before["trades"]
    assert after["sum_r"] > before["sum_r"]


BREAKOUT = """\
from strategy.words import *
B = strategy("Breakout.", long=volume >= 1, entry=stop_at(close * 0 + 102, 3),
             stop=level(close * 0 + 100), target=r_multiple(2))
"""
MINUTES = [
    *[(100.0,) * 4] * 5, (100, 100.2, 99.4, 99.6), (99.6, 101, 99.6, 101), (101, 102.5, 101, 102.4),
    (102.4, 103, 102.2, 103), (103, 103, 102.8, 103), (103, 106.5, 103, 106), *[(106.0,) * 4] * 4,
]  # fmt: skip


def test_a_stop_that_may_be_older_than_the_fill_is_said(command, tmp_path):
    """-1 R by the five minutes, +2 R the other way round, and +2 R by the minutes."""
    (tmp_path / "brk.py").write_text(BREAKOUT, encoding="utf-8")
    names = "timestamp,open,high,low,close,volume"
    lines = [
        f"2024-01-01T09:{45 + k}:00Z,{','.join(map(str, row))},{int(k == 0)}"
        for k, row in enumerate(MINUTES)
    ]
    (tmp_path / "b1.csv").write_text("\n".join([names, *lines, ""]), encoding="utf-8")
    asked = ("backtest", "--strategy", "brk.py:B", "--data", "csv:b1.csv", "--timeframe", "5m",
             *FREE, "--no-scale-lengths")  # fmt: skip
    said = command(*asked).out
    assert "1 of 1 trade (100.0%)" in said
    assert "-1 of -1 R; in the better case all trades make 2 R" in said
    assert "--finer" in said
    assert "undecided within a bar: 0 of 1" in command(*asked, "--finer", "csv:b1.csv").out
    measured = command(*asked, "--json").json["intrabar"]
    assert [measured[name] for name in ("undecided", "at_target", "at_fill")] == [1, 0, 1]
    assert [measured[name] for name in ("sum_r", "sum_r_target_first")] == [-1.0, 2.0]


def test_a_member_of_a_run_is_drawn_as_itself(command, noise, tmp_path):
    """The page of `backtest RUN --member N` names that member, and no other one."""
    last = len(noise["front"]) - 1
    asked = ("backtest", "latest", "--member", str(last), "--set", "reward_r=2")
    assert command(*asked, "--plot", "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"member {last} of run {noise['run']} with reward_r=2" in page
    assert "member 0" not in page
    genes = command(*asked, "--json").json["genes"]
    assert genes == {**noise["front"][last]["genes"], "reward_r": 2}
    assert load_run(runs=tmp_path / "runs").id == noise["run"]


CAVEATS = """from strategy.words import *

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


@pytest.fixture
def ask(command, tmp_path):
    """Run a command with a strategy of the file on columns of bars."""
    (tmp_path / "s.py").write_text(CAVEATS)

    def run(name, idea, columns, *more):
        (tmp_path / "bars.csv").write_text(csv_text(columns))
        return command(name, "--data", "bars.csv", "--strategy", f"s.py:{idea}", *more)

    return run


@pytest.mark.slow
def test_a_backtest_says_what_its_return_does_not_tell(ask):
    """200 units at 100 stood at -600 at a close of 92, whatever they gain by 103.

    A hundredth of 10 buys no unit at 100. And one of 1,000 bars has a high of ten times its
    neighbours, and makes the return.
    """
    columns = join_closes([100, 100, 92, 103], volume=[1, 0, 0, 0])
    said = ask("backtest", "L20", columns, *FREE).out
    (gone,) = [line for line in said.splitlines() if "never made" in line]
    assert "60.00%" in gone
    assert "2024-01-01 03:00 UTC" in gone
    assert "hangs on one trade" not in said
    shown = ask("backtest", "L20", columns, *FREE, "--json").json
    assert shown["gone"] == "2024-01-01 03:00"
    assert shown["metrics"]["total_return"] == pytest.approx(0.6)
    later = join_closes([*[100] * 9, 100, 92, 103], volume=[1, *[0] * 7, 1, 0, 0, 0])
    said = ask("backtest", "L20", later, *FREE, "--holdout", "2024-01-01T08:00").out
    (held_out,) = [line for line in said.splitlines() if "never made" in line]
    assert held_out.startswith("Held-out bars: total_return 60.00%")
    assert "2024-01-01 11:00 UTC" in held_out
    assert "1 of 1 trade was too small" in ask("backtest", "TINY", columns, *FREE).out
    close = 100 * np.exp(np.cumsum(np.random.default_rng(4).normal(0, 0.002, 1000)))
    columns = join_closes(close)
    columns["high"] *= 1.0005
    columns["high"][600] = 1000.0
    lines = ask("backtest", "SPIKE", columns).out.splitlines()
    (hangs,) = [line for line in lines if "hangs on one trade" in line]
    assert "2024-01-26" in hangs
    (wick,) = [line for line in lines if "alone in its week" in line]
    assert "2024-01-26 00:00 UTC" in wick
    assert " 1,000 " in wick


@pytest.mark.slow
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
    assert "is no result" in command("runs", "show", "latest").out.split("Their genes")[0]
    assert command("judge", "latest", "--pick", min(gone)).code == 2
    cheap = ("--null", "0", "--folds", "0", "--blocks", "0")
    judged = ask(*search, "--bound", "size=35000:40000", *cheap).json["judgement"]
    assert judged["verdict"]["grade"] == "invalid"
    assert "account" in judged["verdict"]["sentence"]
    assert judged.get("pick") is None
    assert "stake less" in command("runs", "show", "latest").out
