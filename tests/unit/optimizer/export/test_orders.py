"""Orders, ladders, ticks and schedules in programs: traded as the run has them, or refused."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from data.bars import Window
from data.checks import format_time
from optimizer.errors import ConfigError
from optimizer.evidence.schedule import ScheduleStep
from optimizer.export.member import PLATFORM_PARTS
from optimizer.export.programs import build_schedule_program
from optimizer.run.markets import Markets
from optimizer.schedule import Schedule, plan_steps, stitch
from strategy import words as w
from strategy.forms import split_sides
from tests.support.exports import (
    build_frame,
    build_task,
    compare_in_pine,
    compare_trades,
    run_program,
    run_text,
    write_bars,
)
from tests.support.random_strategies import Drawn, drawn_exits, drawn_orders
from tests.support.worlds import make_bars

RANGE = w.rma(w.true_range, 14)
UP, DOWN = w.close > w.ema(w.close, 50), w.close < w.ema(w.close, 50)
WEAK, STRONG = w.crosses_above(w.rsi(w.close, 7), 30), w.crosses_below(w.rsi(w.close, 7), 70)
BOTH, DIPS, CENT = (
    {"long": UP, "short": DOWN},
    {"long": UP & WEAK, "short": DOWN & STRONG},
    {"market": w.market(tick="0.01")},
)
BREAKOUT = w.by_side(w.stop_at(w.highest(w.high, 20), 5), w.stop_at(w.lowest(w.low, 20), 5))
QUICK, LATE = w.ema(w.close, 10), w.ema(w.close, 30)

ORDERED = {
    "limit": {"long": UP & WEAK, "cancel": DOWN, "entry": w.limit_at(w.close - 0.5 * RANGE, 3),
              "stop": w.beyond_bar(1.5 * RANGE), "target": w.r_multiple(1), "max_hold": 12},
    "straddle": {**BOTH, "entry": BREAKOUT, "stop": w.from_entry(1.5 * RANGE),
                 "target": w.r_multiple(2), "delay": 1, "session": w.session_exit(1200)},
    "ladder": {**DIPS, "stop": w.beyond_bar(1 * RANGE), "break_even": w.after_leg(1),
               "targets": [(w.r_multiple(1), 0.5), (w.r_multiple(3), 0.25)], "max_hold": 96},
    "ladder of orders": {
        **BOTH, **CENT, "entry": BREAKOUT, "stop": w.from_entry(4 * RANGE), "cooldown": 5,
        "targets": w.by_side([(w.share(0.03), 0.4), (w.r_multiple(1), 0.6)],
                             [(w.from_entry(2 * RANGE), 0.25)]),
        "trail": w.trail(w.from_entry(3 * RANGE), 1)},
    "reverse": {"long": w.crosses_above(QUICK, LATE), "short": w.crosses_below(QUICK, LATE),
                "reverse": True, "stop": w.share(0.05), "target": w.share(0.1), **CENT},
    "later exits": {
        **DIPS, "exit_long": w.in_trade(DOWN, bars_from=3, profit_to=0.5),
        "exit_short": w.in_trade(UP, bars_to=30, profit_from=-0.5),
        "stop": w.from_entry(3 * RANGE), "break_even": w.break_even(1, offset=w.r_multiple(0.2)),
        "trail": w.by_side(w.trail(w.level(w.sma(w.close, 10)), 0.5), w.trail(w.share(0.05)))},
    "stop that follows": {
        **BOTH, **CENT, "entry": BREAKOUT, "stop": w.from_entry(5 * RANGE),
        "target": w.share(0.2), "trail": w.trail(w.level(w.supertrend(10, 30)), 0),
        "break_even": w.break_even(0.5, offset=w.share(0.002))},
}  # fmt: skip
"""What programs of backtesting.py and of TradingView can say of orders, ladders and later exits."""

SAID_IN_FULL = {
    **ORDERED,
    "straddle that reverses": {
        "long": UP, "short": w.close > 0, "reverse": True, "stop": w.share(0.04), **CENT,
        "entry": w.by_side(w.stop_at(w.highest(w.high, 5), 4), w.stop_at(w.low, 2)),
        "targets": [(w.r_multiple(1), 0.3), (w.r_multiple(2), 0.3)], "break_even": w.after_leg(1),
        "slippage": w.by_side(w.ticks(2), w.bp(3)), "named_stops": True,
        "trail": w.trail(w.share(0.05), 1)},
    "limits that reverse": {
        **DIPS, **CENT, "reverse": True, "exit_long": DOWN & STRONG, "stop": w.share(0.06),
        "entry": w.by_side(w.limit_at(w.close - 0.2 * RANGE, 9, through=1),
                           w.limit_at(w.close + 0.2 * RANGE, through=3)),
        "cancel": w.crosses_above(w.close, w.sma(w.close, 30)), "cooldown": 4, "delay": 1,
        "targets": [(w.share(0.02), 0.5), (w.share(0.3), 0.5)], "slippage": w.price(0.1 * RANGE)},
    "one side rests": {
        "long": w.close > w.open, "short": DOWN & STRONG, "reverse": True,
        "entry": w.by_side(w.limit_at(w.low, 2), None), "exit_short": UP & WEAK,
        "stop": w.from_entry(3 * RANGE), "target": w.r_multiple(2),
        "session": w.session_exit(1200), "max_hold": 40},
}  # fmt: skip
"""The same, and what a program of vectorbt can say beside."""

IN_PINE = {
    **ORDERED,
    "slipped": {**ORDERED["ladder of orders"], "slippage": w.ticks(2)},
    "slipped reverse": {**ORDERED["reverse"], "slippage": w.ticks(2), "max_hold": 20,
                        "exit_long": w.close < w.sma(w.close, 20)},
    "limits": {
        **BOTH, "entry": w.by_side(w.limit_at(w.close - RANGE, 4), w.limit_at(w.close + RANGE, 4)),
        "cancel": WEAK, "stop": w.beyond_bar(2 * RANGE), "break_even": 1, "delay": 1,
        "targets": [(w.level(w.highest(w.high, 10)), 0.3), (w.r_multiple(2), 0.3)],
        "exit_long": DOWN},
    "one side follows": {
        **BOTH, **CENT, "entry": BREAKOUT, "stop": w.from_entry(3 * RANGE),
        "target": w.r_multiple(3),
        "trail": w.by_side(w.trail(w.from_entry(2 * RANGE), 1), w.trail(w.share(0.02), 1))},
}  # fmt: skip


def trade(spec, path, **costs):
    """A task of a strategy, and its trades with those of each target."""
    task = build_task("seller_exhaustion", path)
    task = replace(task, spec=spec, costs=replace(task.costs, **costs))
    (ledger,) = task.build_reference(task.markets.windows).trades(spec.layout.defaults)
    return task, build_frame(ledger)


@lru_cache
def trade_named(name, path):
    """The same of one of `SAID_IN_FULL`."""
    return trade(w.strategy("Ordered.", name=name, **SAID_IN_FULL[name]), path)


@pytest.mark.filterwarnings("ignore:DatetimeIndex.dayofweek")
@pytest.mark.parametrize("name", ORDERED)
def test_backtesting_py_fills_orders_as_the_run(name, market):
    """Every trade begins at the same bar and price; each that ends elsewhere does by a named rule.

    Bars of the market are far wider than real ones, so that many trades end in the bar that fills
    their order.
    """
    pytest.importorskip("backtesting", reason="the library is not installed")
    task, ours = trade_named(name, market)
    program = run_program(task, "backtesting.py")
    *_, theirs = program["backtest"](program["read_bars"](str(market)))
    pairs = ours.merge(theirs, on=["signal_bar", "side"], how="left", suffixes=("", "_theirs"))
    assert pairs["entry_bar_theirs"].notna().mean() > 0.99
    pairs = pairs[pairs["entry_bar_theirs"].notna()]
    assert len(ours) > 3
    assert len(theirs) - len(pairs) <= 0.01 * len(ours)
    shared = set(theirs.columns.intersection(ours.columns)) - {"signal_bar", "side", "r", "stop"}
    left, right = pairs[[*shared]], pairs[[f"{column}_theirs" for column in shared]]
    right.columns = left.columns
    is_same = ((left == right) | (left.isna() & right.isna())).all(axis=1)
    for column in ("entry_bar", "entry", "stop"):
        assert pairs[column].tolist() == pairs[f"{column}_theirs"].tolist()
    same, other = pairs[is_same], pairs[~is_same]
    np.testing.assert_allclose(same["r"], same["r_theirs"], rtol=0, atol=1e-12)
    assert len(same) > 3
    legs = [column for column in ours if column.startswith("leg") and column.endswith("_bar")]
    in_entry_bar = (other[["exit_bar", *legs]].eq(other["entry_bar"], axis=0)).any(axis=1)
    by_entry_bar = in_entry_bar & ("entry" in ORDERED[name])
    by_close = other["reason"].isin(["time", "session", "end"])
    assert (by_entry_bar | by_close | (other["reason_theirs"] == "reverse")).all()


@pytest.mark.usefixtures("vectorbt_library")
@pytest.mark.parametrize("name", [*SAID_IN_FULL, "late"])
def test_vectorbt_trades_orders_as_the_run(name, market):
    """Every trade and every target in every bit, and what its account comes to.

    No stop lies so near that a hundredth of the account at risk would have to be borrowed. The run
    may enter a bar later than the strategy.
    """
    if name == "late":
        spec = w.strategy("Late.", name=name, **SAID_IN_FULL["reverse"] | {"reverse": None})
        task, ours = trade(spec, market, entry_delay=1)
    else:
        task, ours = trade_named(name, market)
    program = run_program(task, "vectorbt")
    assert len(ours) > 3
    portfolio = compare_trades(program, ours, market)
    equity = np.prod(1 + task.costs.risk_fraction * ours["r"])
    assert portfolio.final_value() / program["CASH"] == pytest.approx(equity, rel=1e-12)


@pytest.mark.usefixtures("stand_in")
def test_vectorbt_trades_drawn_orders_as_the_run(tmp_path, monkeypatch):
    """The script's walk is a law of its own: for any strategy its trades are those of the run."""

    def with_slippage(drawn, arguments):
        if drawn.chance(0.4):
            arguments["slippage"] = w.by_side(drawn.slippage(), drawn.slippage())
        return arguments

    monkeypatch.setattr(Drawn, "with_money", with_slippage)
    count = 0
    for seed in range(0, 20, 2):
        spec = (drawn_orders, drawn_exits)[seed % 4 // 2](seed)
        # Orders that end by side are refused.
        spec = replace(spec, cancel=split_sides(spec.cancel)[0])
        path = tmp_path / f"{seed}.csv"
        write_bars(make_bars(seed, 400, gaps=0.02, jump=0.05), path)
        task, ours = trade(spec, path)
        if len(ours) and spec.has_orders:
            compare_trades(run_program(task, "vectorbt"), ours, path)
            count += len(ours)
    assert count > 300


@pytest.mark.parametrize("name", IN_PINE)
def test_pine_keeps_the_ledger_of_orders(name, market):
    """On fewer bars, since the script is read in Python, bar by bar."""
    task = build_task("seller_exhaustion", market)
    bars = task.markets.series[0].until(2500)
    spec = w.strategy("Ordered.", name=name, **IN_PINE[name])
    compare_in_pine(replace(task, spec=spec, markets=Markets((bars,), (Window.whole(bars),))), 0.05)


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


def make_schedule(market, found=FOUND, **parts):
    """A task, its stitched trades, and the rows of its schedule."""
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


def trade_schedule(path, platform):
    """Trades of a schedule, and its program."""
    task, stitched, rows = make_schedule(path)
    assert stitched.n_over_border > 0
    program = run_text(build_schedule_program(task, rows, "A try.", platform))
    return build_frame(stitched.ledgers[0]), program


@pytest.mark.filterwarnings("ignore:DatetimeIndex.dayofweek")
def test_backtesting_py_trades_a_schedule_as_the_run(market):
    """Entries, stops, targets and exits of the genes that entered; time is one bar later there."""
    pytest.importorskip("backtesting", reason="the library is not installed")
    ours, program = trade_schedule(market, "backtesting.py")
    *_, theirs = program["backtest"](program["read_bars"](str(market)))
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
    ours, program = trade_schedule(gapped_bars, "vectorbt")
    assert len(ours) > 30
    compare_trades(program, ours, gapped_bars)


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


LATE_SWITCH = w.switch("late", w.close > w.open)


@pytest.mark.parametrize(
    ("message", "found", "platform", "words"),
    [
        ({}, (None,), "vectorbt", "nobody|found anybody"),
        ({"delay": w.length("wait", 1, 1, 3)}, ({}, {"wait": 2}), "vectorbt", "^delay is not"),
        (
            {"session": w.session_exit(w.length("minute", 600, 60, 1200))},
            ({}, {"minute": 900}),
            "vectorbt",
            "^session is not",
        ),
        ({"long": LATE_SWITCH | PARTS["long"]}, ({}, {"late": "off"}), "vectorbt", "^late is not"),
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
