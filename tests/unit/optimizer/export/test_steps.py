"""Schedules as programs: each pick trades from its date on, as the stitched ledger has it."""

from dataclasses import replace

import pandas as pd
import pytest

from data.checks import format_time
from engine.accounts.ledger import Trade
from optimizer.errors import ConfigError
from optimizer.evidence.schedule import ScheduleStep
from optimizer.export.member import PLATFORM_PARTS
from optimizer.export.programs import build_schedule_program
from optimizer.run.task import ledger_rows
from optimizer.schedule import Schedule, plan_steps, stitch
from strategy import words as w
from tests.support.exports import build_task

PARTS = {
    "long": w.close > w.lag(w.highest(w.high, w.length("span", 10, 3, 30)), 1),
    "exit_long": w.close < w.ema(w.close, w.length("slow", 20, 5, 60)),
    "stop": w.share(w.gene("stop", 0.03, 0.01, 0.2)),
    "target": w.r_multiple(w.gene("reward", 2.0, 0.5, 5.0)),
    "break_even": w.gene("even", 1.0, 0.2, 3.0),
    "max_hold": w.length("hold", 30, 5, 90),
}
FOUND = (
    {},
    {"span": 5, "slow": 50, "stop": 0.06, "reward": 1.0, "even": 0.5, "hold": 60},
    None,
    {"span": 20, "slow": 40, "stop": 0.1, "reward": 4.0, "even": 2.5, "hold": 90},
)
"""Genes of each search that differ from their defaults; the third found none."""


WHOLE = ["signal_bar", "entry_bar", "exit_bar", "side"]
PRICES = ["entry", "stop", "target", "exit", "r"]


def make_schedule(market, found=FOUND, **parts):
    """A task, its stitched ledger, and the rows of its schedule."""
    spec = w.strategy("Breaks out.", name="steps", **{**PARTS, **parts})
    task = replace(build_task("seller_exhaustion", market), spec=spec)
    windows, layout = task.markets.windows, spec.layout
    steps = plan_steps(task.markets.series, windows, Schedule("3d", "4d", 0, anchored=False))
    genes = [found[number % len(found)] for number in range(len(steps))]
    picks = [None if values is None else layout.encode(values) for values in genes]
    figures = {"strength": None, "mean_r": None, "efficiency": None}
    rows = [
        ScheduleStep(
            date=format_time(step.date_ns),
            train=(),
            genes={} if pick is None else layout.show(pick),
            trades=0,
            **figures,
        )
        for step, pick in zip(steps, picks, strict=True)
    ]
    return task, stitch(task.build_reference(windows), windows, steps, picks), rows


def execute(task, rows, platform):
    """The names of a schedule's program, but for its main part."""
    names = {"__name__": "program"}
    exec(compile(build_schedule_program(task, rows, "A try.", platform), "program", "exec"), names)
    return names


def list_trades(stitched):
    """Trades of the only window as a frame."""
    (ledger,) = stitched.ledgers
    return pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))


@pytest.mark.filterwarnings("ignore:DatetimeIndex.dayofweek")
def test_backtesting_py_trades_a_schedule_as_the_run(market):
    """Entries, stops, targets and exits of the genes that entered; time is one bar later there."""
    pytest.importorskip("backtesting", reason="the library is not installed")
    task, stitched, rows = make_schedule(market)
    ours, names = list_trades(stitched), execute(task, rows, "backtesting.py")
    *_, theirs = names["backtest"](names["read_bars"](str(market)))
    assert stitched.n_over_border > 0
    assert set(ours["reason"]) >= {"signal", "stop", "target", "time"}
    for name in ("signal_bar", "entry_bar", "entry", "stop", "target", "reason"):
        assert theirs[name].tolist() == ours[name].tolist()
    later = ours["reason"].isin(["time", "end"])
    same = ["exit_bar", "exit", "r"]
    assert (ours.loc[~later, same].to_numpy() == theirs.loc[~later, same].to_numpy()).all()
    is_time = (ours["reason"] == "time").to_numpy()
    assert theirs["exit_bar"][is_time].tolist() == (ours["exit_bar"][is_time] + 1).tolist()


@pytest.mark.usefixtures("vectorbt_library")
def test_vectorbt_trades_a_schedule_as_the_run(gapped_bars):
    """Every trade, in every bit."""
    ours, theirs = trade_schedule(gapped_bars, "vectorbt")
    columns = [*WHOLE, *PRICES, "reason"]
    assert ours[columns].to_numpy().tolist() == theirs[columns].to_numpy().tolist()


def trade_schedule(path, platform):
    """Trades of a schedule and those of its program."""
    task, stitched, rows = make_schedule(path)
    ours, names = list_trades(stitched), execute(task, rows, platform)
    _, theirs = names["backtest"](names["read_bars"](str(path)))
    assert len(ours) > 30
    return ours, theirs


@pytest.mark.parametrize("platform", sorted(set(PLATFORM_PARTS) - {"pine"}))
def test_a_program_has_the_table_of_searches(market, platform):
    """A row a date with its genes; the longest warm-up of all is that of the program."""
    task, _, rows = make_schedule(market)
    text = build_schedule_program(task, rows, "A try.", platform)
    compile(text, "program", "exec")
    assert text.count("    Step(") == len(rows)
    assert [f"  # {row.date}" in text for row in rows] == [True] * len(rows)
    assert text.count(", None, 0, 0, math.inf)") == sum(not row.genes for row in rows) > 0
    layout = task.spec.layout
    known = [layout.decode(layout.encode(row.genes)) for row in rows if row.genes]
    needs = {task.spec.warm_up(values) for values in known}
    assert len(needs) > 1
    assert f"\nWARM_UP = {max(needs)} " in text


LATE = w.switch("late", w.close > w.open)


@pytest.mark.parametrize(
    ("message", "found", "platform", "words"),
    [
        ({}, FOUND, "pine", "pine"),
        ({}, (None,), "vectorbt", "nobody|found anybody"),
        ({"delay": w.length("wait", 1, 1, 3)}, ({}, {"wait": 2}), "vectorbt", "^delay is not"),
        (
            {"session": w.session_exit(w.length("minute", 600, 60, 1200))},
            ({}, {"minute": 900}),
            "vectorbt",
            "^session is not",
        ),
        ({"long": LATE | PARTS["long"]}, ({}, {"late": "off"}), "vectorbt", "^late is not"),
        ({"entry": w.stop_at(w.high, 3)}, FOUND, "backtesting.py", "^entry: a program knows it"),
    ],
)
def test_what_a_program_cannot_say_of_a_schedule_is_refused(
    market, message, found, platform, words
):
    """By its name."""
    task, _, rows = make_schedule(market, found, **message)
    with pytest.raises(ConfigError, match=words):
        build_schedule_program(task, rows, "A try.", platform)
