"""A schedule that goes on over bars that come after those it was judged on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data import joined
from data.bars import Bars, Window
from engine.accounts.ledger import Ledger
from optimizer.evidence.out_of_sample import Unseen, measure_out_of_sample
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.evidence.schedule_searches import StepSetup, choose_picks, stitch_picks
from optimizer.evidence.scheduling import open_steps, read_rule
from optimizer.run.purposes import restore_limits, restore_start
from optimizer.run.search import on_other_bars
from optimizer.run.task import Task
from optimizer.schedule import Stitched, parse_schedule
from optimizer.store import RunStore
from optimizer.store.result import RunResult


def build_longer_setup(
    store: RunStore,
    task: Task,
    result: RunResult,
    made: ScheduleRecord,
    series: Sequence[Bars],
    windows: Sequence[Window],
    parts: int,
) -> StepSetup:
    """Setup of the steps of a schedule on longer bars, whose searches are those of the run.

    Args:
        store: Of the run.
        task: Of the run, on whatever bars.
        result: Of the run.
        made: Its schedule.
        series: [S] that windows refer to.
        windows: [W] that begin with those of the run.
        parts: Parts that windows are cut into.
    """
    settings = restore_limits(store, task, result)
    again = on_other_bars(task, series, windows, **settings, parts=parts)
    schedule = parse_schedule(made.every, made.train, made.purge, is_anchored=made.anchored)
    n_bars = sum(window.bars for window in result.data.searched)
    warm_start = restore_start(store, task)
    return StepSetup(again, schedule, read_rule(made), warm_start, again.engine(), n_bars)


def measure_held_out_steps(
    store: RunStore, whole: Task, result: RunResult, made: ScheduleRecord
) -> Unseen:
    """Trades that steps of a schedule enter on held-out bars, as it goes on over them.

    Args:
        store: Of the run, open for writing: steps that are not recorded are searched.
        whole: Task of the run, with what it held out.
        result: Of the run.
        made: Its schedule.
    """
    markets = whole.markets
    by_time = sorted(markets.all_windows, key=lambda window: (window.series, window.start))
    windows = joined([replace(window, role="search") for window in by_time])
    setup = build_longer_setup(
        store, whole, result, made, markets.series, windows, whole.config.parts
    )
    rows = open_steps(store, setup)
    rows.search_missing(setup.run_in_step, len(setup.steps))
    searched = rows.require(len(setup.steps))
    stitched = stitch_picks(setup.task, setup.steps, choose_picks(setup, searched))
    held_out = markets.held_out
    ledgers = [select_trades(stitched, window) for window in held_out]
    return measure_out_of_sample(ledgers, markets.series, held_out)


def select_trades(stitched: Stitched, window: Window) -> Ledger:
    """Trades of a schedule whose signal bar lies in a window of a series."""
    for traded, ledger in zip(stitched.windows, stitched.ledgers, strict=True):
        is_around = traded.start < window.end and window.start < traded.end
        if traded.series == window.series and is_around:
            inside = (ledger.signal_bar >= window.start) & (ledger.signal_bar < window.end)
            return ledger.keep(inside)
    return stitched.ledgers[0].keep(np.zeros(len(stitched.ledgers[0]), np.bool_))
