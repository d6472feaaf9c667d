"""Tasks and runs on markets made for tests, to be judged."""

import numpy as np

from data.bars import Window
from engine.accounts.costs import Costs
from optimizer import evolve
from optimizer.config.run_config import RunConfig
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judged_run import Plan
from optimizer.evidence.lookahead import cut_front
from optimizer.run.markets import Markets
from optimizer.run.task import Task, parse_goals
from optimizer.schedule import Schedule, plan_steps, stitch
from optimizer.store import RunStore
from strategy import find_strategy
from tests.support.references import compiled_reference
from tests.support.series import csv_text

COLUMNS = ("timestamp", "open", "high", "low", "close", "volume")

SMALL = {"population": 16, "generations": 3, "min_trades": 10, "polish": 64, "threads": 1}
"""A search that takes a blink, and has a front on a market of a thousand hours; on one core, so
that no processes are begun."""


def make_task(*series, windows=(), spec=None, costs=None, **settings):
    """A task on bars in memory, without anything held out."""
    config = RunConfig(**{"device": "cpu", **SMALL, **settings})
    windows = windows or [Window.whole(bars, number) for number, bars in enumerate(series)]
    published = find_strategy("seller_exhaustion").for_timeframe(series[0].timeframe_ns / 1e9)
    markets = Markets(tuple(series), tuple(windows))
    strategy = spec or published
    goals = parse_goals(config, strategy.layout)
    return Task(config, markets, strategy, costs or Costs(), goals)


def find_causal(task, genomes):
    """What cuts find of individuals of a task."""
    return cut_front(task, task.engine(), genomes)


def write_bars(path, bars):
    """Write bars as CSV; what to name as ``--data``."""
    path.write_text(csv_text({name: getattr(bars, name) for name in COLUMNS}))
    return f"csv:{path}"


def recorded_run(folder, bars, **settings):
    """Record a small run on bars in a folder; the path of its directory."""
    data = write_bars(folder / f"{bars.symbol.lower()}.csv", bars)
    defaults = {"judge": False, "data": [data], "runs": str(folder / "runs")}
    return evolve(**{**SMALL, **defaults, **settings}).path


def judge_briefly(path, **plan):
    """What a plan finds out about a run, by default nothing that takes long."""
    # As in a command: null searches go with a look for later bars.
    defaults = {"folds": 0, "blocks": 0, "causal": plan.get("null", 0) > 0, **plan}
    return judge_run(path, Plan(**defaults), {}, lambda progress: None)


def trade_recorded_steps(path, task, bars, every, train):
    """One ledger over all picks that the searches of a schedule recorded, and its dates' bars."""
    with RunStore.open(path) as store:
        rows = {row["number"]: row["genome"] for name, row in store.evidence if name == "schedule"}
    windows = [Window.whole(bars)]
    steps = plan_steps([bars], windows, Schedule(every, train, 0, anchored=False))
    picks = [None if rows[k] is None else np.array(rows[k]) for k in range(len(steps))]
    reference = compiled_reference(task.spec, [bars], windows, task.costs)
    (ledger,) = stitch(reference, windows, steps, picks).ledgers
    return ledger, [step.borders[0] for step in steps]
