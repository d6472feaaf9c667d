"""backtest: genes from files and flags, and a ledger that reads back exactly."""

import csv
import re

import numpy as np
import pytest

from engine.accounts.ledger import REASONS, Trade
from optimizer import backtest, load_run
from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from tests.support.commands import market_columns, write_market
from tests.support.series import csv_text

LOOSE = ("--set", "vol_z_min=0.5", "--set", "tr_z_min=0.3", "--set", "z_window=96")
GENES = {"vol_z_min": 0.5, "tr_z_min": 0.3, "z_window": 96}


def read_rows(path):
    """A ledger as it was written: names, then one dict a trade."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_the_ledger_reads_back_exactly(command, market, tmp_path, engine):
    """Every float of the file is, bit for bit, the engine's."""
    command("backtest", "--data", market, *LOOSE, "--engine", engine, "--trades", "out.csv")
    task = prepare(RunConfig(data=market))
    (ledger,) = task.engine().trades(task.spec.layout.encode(GENES))
    rows = read_rows(tmp_path / "out.csv")
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


def test_engines_give_the_same_numbers(command, market, tmp_path):
    """The reference and the CPU print equal accumulators and write equal files."""
    by_engine = {}
    for engine in ("reference", "cpu"):
        arguments = ("--engine", engine, "--trades", f"{engine}.csv", "--json")
        by_engine[engine] = command("backtest", "--data", market, *LOOSE, *arguments).json
    assert by_engine["reference"]["windows"] == by_engine["cpu"]["windows"]
    assert by_engine["reference"]["metrics"] == by_engine["cpu"]["metrics"]
    first, second = ((tmp_path / f"{engine}.csv").read_bytes() for engine in by_engine)
    assert first == second


def test_a_market_without_trades_has_a_ledger_of_names(command, tmp_path):
    """The file holds the columns it would have."""
    spec = write_market(tmp_path / "flat.csv", flat=1.0)
    assert command("backtest", "--data", spec, "--trades", "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text() == ",".join(Trade._fields) + ",entry_time,exit_time\n"


def test_an_existing_ledger_is_replaced_whole(command, market, tmp_path):
    """What was there is gone, and no draft is left beside it."""
    (tmp_path / "out.csv").write_text("signal_bar,old " * 10_000)
    command("backtest", "--data", market, *LOOSE, "--trades", "out.csv")
    assert "old" not in (tmp_path / "out.csv").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_genes_come_from_defaults_then_the_file_then_flags(command, market, tmp_path):
    """Each gene has the value of the nearest place that names it."""
    (tmp_path / "genes.json").write_text('{"reward_r": 3.0, "max_hold": 7}')
    arguments = ("--genes", "genes.json", "--set", "max_hold=9", "--json")
    genes = command("backtest", "--data", market, *arguments).json["genes"]
    assert (genes["reward_r"], genes["max_hold"], genes["ema_slow"]) == (3.0, 9, 672)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "holds no genes that can be read"),
        ("[1]", "must hold a JSON object of genes"),
        ("3", "must hold a JSON object of genes"),
        ('{"reward_r": 1, "reward_r": 2}', "'reward_r' is given twice"),
        ('{"reward_r": "2"}', "gene 'reward_r': value must be a finite number, got '2'"),
        ('{"reward_r": NaN}', "gene 'reward_r': value must be a finite number, got nan"),
        ('{"reward_r": 1e400}', "gene 'reward_r': value must be a finite number, got inf"),
        ('{"reward_r": true}', "gene 'reward_r': value must be a finite number, got True"),
        ('{"reward_r": null}', "gene 'reward_r': value must be a finite number, got None"),
        ('{"reward_r": 0}', "gene 'reward_r': value must be above 0, got 0"),
        ('{"reward_r": -1}', "gene 'reward_r': value must be above 0, got -1"),
        ('{"max_hold": 0}', "gene 'max_hold': value must be at least 1 bar, got 0"),
        ('{"max_hold": 2.5}', "gene 'max_hold': value must be whole, got 2.5"),
        ('{"z_window": 1}', "gene 'z_window' is 1, what reads it needs at least 2"),
        ('{"z_window": 3000}', "3,000 bars, need at least 3001 (longest window 3000)"),
        ('{"rewardr": 1}', "did you mean 'reward_r'?"),
        ("[" * 100_000, "holds no genes that can be read"),
    ],
    ids=lambda value: value[:24],
)
def test_genes_that_make_no_individual_are_refused(command, market, tmp_path, content, expected):
    """One line names the gene, its value, and its bounds."""
    (tmp_path / "genes.json").write_text(content)
    outcome = command("backtest", "--data", market, "--genes", "genes.json")
    assert outcome.code == 2
    assert expected in outcome.error


def test_a_file_that_is_larger_than_any_front_is_refused(command, market, tmp_path):
    """It is not read to its end."""
    with open(tmp_path / "genes.json", "wb") as file:
        file.truncate(10**11)
    error = command("backtest", "--data", market, "--genes", "genes.json").error
    assert "genes.json: larger than 64,000,000 bytes; not genes" in error


def test_all_wrong_genes_are_told_at_once(command, market, tmp_path):
    """A person corrects a file once."""
    (tmp_path / "genes.json").write_text('{"reward_r": "x", "max_hold": 0, "nothing": 1}')
    error = command("backtest", "--data", market, "--genes", "genes.json").error
    assert all(name in error for name in ("'reward_r'", "'max_hold'", "'nothing'"))


def test_holding_one_bar_exits_at_its_close(command, market, tmp_path):
    """With a limit of one bar no trade outlives the bar that it was entered in."""
    command("backtest", "--data", market, *LOOSE, "--set", "max_hold=1", "--trades", "out.csv")
    rows = read_rows(tmp_path / "out.csv")
    assert "time" in {row["reason"] for row in rows}
    assert all(row["entry_bar"] == row["exit_bar"] for row in rows)


def test_holding_longer_than_the_data_ends_with_it(command, market, tmp_path):
    """A trade that is still open at the last bar ends there, with a note."""
    far = ("--set", "max_hold=1000000", "--set", "reward_r=1e6", "--set", "atr_stop_mult=1e4")
    command("backtest", "--data", market, *LOOSE, *far, "--trades", "out.csv")
    (row,) = read_rows(tmp_path / "out.csv")
    assert (row["reason"], row["exit_bar"]) == ("end", "2999")


def test_trades_that_risk_too_little_are_rejected_and_counted(command, market):
    """With a least risk that no trade has, every signal is rejected."""
    result = command("backtest", "--data", market, *LOOSE, "--min-risk", "0.9", "--json").json
    (window,) = result["windows"]
    assert window["accumulators"]["trades"] == 0
    assert window["accumulators"]["rejected"] > 5


def test_a_window_keeps_its_history(command, market, tmp_path):
    """Trades of a part of the bars signal inside it, from its first bar on."""
    window = ("--start", "1970-01-21", "--end", "1970-01-26")
    outcome = command("backtest", "--data", market, *LOOSE, *window, "--trades", "o.csv", "--json")
    start, end = (outcome.json["windows"][0][edge] for edge in ("start", "end"))
    rows = read_rows(tmp_path / "o.csv")
    assert rows
    assert all(start <= int(row["signal_bar"]) < int(row["exit_bar"]) + 1 <= end for row in rows)
    assert outcome.json["data"]["bars"] == end - start == 5 * 96


def test_fees_are_flags_too(command, market):
    """Without costs the same trades win more."""
    dear = command("backtest", "--data", market, *LOOSE, "--json").json
    free = ("--fee-bp", "0", "--slippage-bp", "0")
    cheap = command("backtest", "--data", market, *LOOSE, *free, "--json").json
    assert (
        cheap["windows"][0]["accumulators"]["trades"]
        == dear["windows"][0]["accumulators"]["trades"]
    )
    assert (
        cheap["windows"][0]["accumulators"]["sum_r"] > dear["windows"][0]["accumulators"]["sum_r"]
    )


DOUBTFUL = """from strategy.words import *
UP = crosses_above(close, sma(close, 5))
WRONG = strategy("Stop above the entry.", long=UP, stop=level(2 * high))
BOTH = strategy("Both sides at once.", long=UP, short=UP, stop=share(0.02))
FAR = strategy("Stop below zero.", long=UP, exit_long=close < sma(close, 5), stop=share(2.0))
BUSY = strategy(
    "At every bar.", long=close > open, short=close < open, stop=share(0.01), max_hold=1
)
LOST = strategy("Stop above the entry.", long=close > low, stop=level(2 * high))
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("WRONG", "signals rejected: stop or target on the wrong side of the entry"),
        ("BOTH", "bars where both sides signal, which neither trades"),
        ("FAR", "trades had a stop at 0 or below"),
    ],
)
def test_signals_that_come_to_nothing_are_counted(command, market, tmp_path, name, words):
    """Every signal rejected, both sides at once, a stop that no price reaches: a line each."""
    (tmp_path / "doubtful.py").write_text(DOUBTFUL, encoding="utf-8")
    asked = ("backtest", "--data", market, "--strategy", f"doubtful.py:{name}")
    result, plain = command(*asked, "--json").json, command(*asked)
    assert words in plain.out
    counts = {"WRONG": result["metrics"]["rejected"], "BOTH": result["contradictions"]}
    assert counts.pop(name, 1) > 0
    assert not any(counts.values())
    assert ("below 1 with a smaller share" in plain.err) == (name == "FAR")
    checked = command("strategies", "check", f"doubtful.py:{name}", "--data", market).out
    assert ("stop at 0 or below" in checked) == (name == "FAR")


def test_counts_in_thousands_have_commas(command, market, tmp_path):
    """In the lines of `backtest` and of `strategies check`, whatever is counted."""
    (tmp_path / "doubtful.py").write_text(DOUBTFUL, encoding="utf-8")
    said = []
    for name in ("BUSY", "LOST"):
        flags = (f"doubtful.py:{name}", "--data", market)
        said += [command("strategies", "check", *flags).out]
        said += [command("backtest", "--strategy", *flags).out]
    checked, measured, lost, _ = said
    assert re.search(r"\d,\d{3} signals, \d,\d{3} trades, \d,\d{3} of them short", checked)
    assert re.search(r"undecided within a bar: 0 of \d,\d{3} trades \(0\.0%\)", measured)
    assert re.search(r" 0 trades, \d,\d{3} rejected", lost)


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
             "--fee-bp", "0", "--slippage-bp", "0", "--no-scale-lengths")  # fmt: skip
    said = command(*asked).out
    assert "1 of 1 trade (100.0%); stop or target first in 0, stop or fill first in 1." in said
    assert "these make -1 of -1 R; in the better case all trades make 2 R. These bars" in said
    assert "use --finer FILE to read shorter bars." in said
    assert "undecided within a bar: 0 of 1" in command(*asked, "--finer", "csv:b1.csv").out
    measured = command(*asked, "--json").json["intrabar"]
    assert [measured[name] for name in ("undecided", "at_target", "at_fill")] == [1, 0, 1]
    assert [measured[name] for name in ("sum_r", "sum_r_target_first")] == [-1.0, 2.0]


def test_a_member_of_a_run_is_drawn_as_what_it_is(command, market, tmp_path):
    """The page of `backtest RUN --member N` names that member, and no other one."""
    command("evolve", "--data", market, "--population", "16", "--generations", "2", "--no-judge",
            "--min-trades", "3", "--no-report")  # fmt: skip
    run = load_run(runs=tmp_path / "runs")
    last = len(run.members) - 1
    assert last > 0
    asked = ("backtest", "latest", "--member", str(last), "--set", "reward_r=2")
    assert command(*asked, "--plot", "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"member {last} of run {run.id} with reward_r=2" in page
    assert "member 0" not in page


def test_parts_are_one_account_in_table_and_chart(command, market):
    """The return of the table is where the chart ends; the marked fall is the whole account's."""
    whole, parts = (
        command("backtest", "--data", market, *LOOSE, *cut, "--json").json
        for cut in ((), ("--parts", "4"))
    )
    assert parts["metrics"]["max_drawdown_marked"] > parts["metrics"]["max_drawdown"]
    assert whole["metrics"]["max_drawdown_marked"] == pytest.approx(
        parts["metrics"]["max_drawdown_marked"], rel=0.5
    )
    run = backtest(GENES, data=[market], parts=4)
    equity = run.equity(0)
    assert equity.iloc[-1] - 1 == pytest.approx(parts["metrics"]["total_return"], rel=1e-12)
    assert run.front["max_drawdown"][0] == parts["metrics"]["max_drawdown"]
    assert run.front["max_leverage"][0] == parts["metrics"]["max_leverage"]


def test_drawdowns_of_several_symbols_last_for_bars(tmp_path):
    """A fall before the longer symbol begins has bars too: those at which any symbol has one."""
    early, late = market_columns(3, 2000, jump=0.05), market_columns(5, 3000, jump=0.05)
    late["timestamp"] = late["timestamp"] + 2 * int(np.ptp(early["timestamp"]))
    specs = []
    for name, columns in (("early", early), ("late", late)):
        (tmp_path / f"{name}.csv").write_text(csv_text(columns))
        specs.append(f"csv:{tmp_path / name}.csv")
    falls = backtest(GENES, data=specs).drawdowns(0)
    assert (falls["from"] < falls["from"].max()).any()
    assert (falls["bars"] > 0).all()
