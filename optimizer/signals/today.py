"""Today's genes of a run that is a schedule: its steps until now, searched where they are due."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from data.bars import Window
from data.checks import Floats, format_time
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.evidence.going_on import build_longer_setup
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.evidence.schedule_searches import StepPick, choose_picks
from optimizer.evidence.scheduling import open_steps
from optimizer.run.task import Task
from optimizer.schedule import Step, join_ledgers, stitch
from optimizer.signals.account import ChainAccount, EnteredTrades, TradeChain, TradedChain
from optimizer.store import RunStore
from optimizer.store.payload import Payload
from optimizer.store.result import RunResult


@dataclass(frozen=True, kw_only=True)
class SignalStep(Payload):
    """Step of a schedule whose pick trades now."""

    what: ClassVar[str] = "a step of today"

    date: str  # of its search
    next_date: str
    due: str | None = None  # date of a search that was to be made and is not; None for none


@dataclass(frozen=True, eq=False)
class TodaysGenes:
    """Steps until now, and their picks."""

    step: SignalStep
    steps: tuple[Step, ...]
    genomes: tuple[Floats | None, ...]  # [G] of each; None of an empty front
    windows: tuple[Window, ...]  # [W] that steps were planned on


def find_todays_genes(
    store: RunStore,
    task: Task,
    config: RunConfig,
    result: RunResult,
    made: ScheduleRecord,
    chains: Sequence[TradeChain],
    *,
    may_search: bool,
) -> TodaysGenes:
    """Picks of all steps until the newest closed bars; searches that are due are recorded.

    Args:
        store: Of the run, open for writing where it may search.
        task: Of the run, on all bars.
        config: As it was recorded.
        result: Of the run.
        made: Its schedule.
        chains: Closed bars of its symbols.
        may_search: Whether what is due is searched; else the pick before goes on.

    Raises:
        ConfigError: When these bars do not begin with those of the run.
    """
    if not all(chain.begins_with_run for chain in chains):
        raise ConfigError(
            f"run '{store.run_id}' is a schedule, whose dates follow from where its bars begin: "
            "name bars that hold those too, or a member of its front"
        )
    series = [chain.bars for chain in chains]
    windows = [Window(chain.series, chain.start, len(chain.bars)) for chain in chains]
    setup = build_longer_setup(store, task, result, made, series, windows, config.parts)
    known = open_steps(store, setup)
    count = len(setup.steps)
    if may_search:
        known.search_missing(setup.run_in_step, count)
    missing = known.list_missing(count)
    searched = [known.known[number] for number in range(count) if number not in missing]
    picks = list(choose_picks(setup, searched))
    # The pick before goes on where a search is due and not made.
    last = picks[-1]
    picks += [StepPick(number, last.genome, None) for number in missing]
    steps = setup.steps
    step = SignalStep(
        date=format_time(steps[last.number].date_ns),
        next_date=format_time(steps[-1].date_ns + setup.schedule.every_ns),
        due=format_time(steps[missing[0]].date_ns) if missing else None,
    )
    genomes = tuple(None if pick.genome is None else np.array(pick.genome) for pick in picks)
    return TodaysGenes(step, steps, genomes, setup.task.markets.uncut)


def trade_steps(account: ChainAccount, today: TodaysGenes) -> list[TradedChain]:
    """Trades of all steps until now, of each chain."""
    windows = [
        replace(window, series=account.windows[window.series].series) for window in today.windows
    ]
    stitched = stitch(account.reference, windows, today.steps, today.genomes)
    by_series = {window.series: place for place, window in enumerate(stitched.windows)}
    entered = [stitched.list_entered(step) for step in range(len(today.steps))]
    listed: list[TradedChain] = []
    for own in account.windows:
        place = by_series.get(own.series)
        # A market that ends before the first date trades nothing.
        if place is None:
            listed.append(TradedChain(join_ledgers([]), None, ()))
            continue
        steps, window = stitched.steps[place], stitched.windows[place]
        parts = tuple(
            EnteredTrades(window, genome, ledgers[place])
            for genome, ledgers in zip(today.genomes, entered, strict=True)
            if genome is not None
        )
        entered_by = today.genomes[int(steps[-1])] if len(steps) else None
        listed.append(TradedChain(stitched.ledgers[place], entered_by, parts))
    return listed
