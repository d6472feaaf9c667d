"""Record of a schedule, for people and JSON."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from data.bars import Window
from data.checks import Floats, format_time
from engine.accounts.account import Account
from engine.accounts.account_trades import Folded
from engine.accounts.caveats import find_gone
from engine.accounts.ledger import Ledger
from engine.replay.threads import replay_alone
from optimizer.evidence.bootstrap import choose_block_length, compute_mean_p
from optimizer.evidence.figures import (
    Figure,
    encode_figures,
    make_undefined,
)
from optimizer.evidence.folds import list_ranges, measure_drift
from optimizer.evidence.null import NullRecord
from optimizer.evidence.out_of_sample import measure_out_of_sample
from optimizer.evidence.returns import compute_efficiency, daily_returns, list_days
from optimizer.evidence.schedule import ScheduleRecord, ScheduleStep
from optimizer.evidence.schedule_searches import StepPick, StepSetup, stitch_picks
from optimizer.formatting import minute
from optimizer.run.individuals import build_picks_account
from optimizer.run.task import Task
from optimizer.schedule import Stitched, format_days
from strategy.gene import GeneText


def build_schedule_record(
    setup: StepSetup,
    picks: Sequence[StepPick],
    *,
    mismatches: int,
    null: NullRecord | None,
) -> ScheduleRecord:
    """Record of a schedule.

    Args:
        setup: Of its steps.
        picks: Of each step, by its rule.
        mismatches: Searches that pick otherwise on bars that end at their date.
        null: The same schedule on null markets; None where there is none.
    """
    task, schedule, steps = setup.task, setup.schedule, setup.steps
    stitched = stitch_picks(task, steps, picks)
    unseen = measure_out_of_sample(stitched.ledgers, stitched.series, stitched.windows)
    equity, fall = measure_account(task, stitched, picks)
    first_picks = _keep_first(picks)
    kept = stitch_picks(task, steps, first_picks)
    first = measure_out_of_sample(kept.ledgers, kept.series, kept.windows)
    gain, gain_p = _compare_with_first(task, stitched, kept)
    genomes = [None if pick.genome is None else np.array(pick.genome) for pick in picks]
    is_changed = [a.genome != b.genome for a, b in pairwise(picks)]
    figures = {
        "mean_r": unseen.mean_r,
        "strength": unseen.strength,
        "psr": unseen.psr,
        "turnover": measure_drift(task.spec.layout, genomes),
        "changed": Figure(float(np.mean(is_changed)))
        if is_changed
        else make_undefined("there is one step"),
        "first_mean_r": first.mean_r,
        "gain": gain,
        "gain_p": gain_p,
    }
    return ScheduleRecord(
        every=format_days(schedule.every_ns),
        train=format_days(schedule.train_ns),
        anchored=schedule.is_anchored,
        purge=schedule.purge,
        pick_by=setup.pick_by,
        rows=tuple(_describe_step(setup, stitched, pick) for pick in picks),
        next_date=format_time(steps[-1].date_ns + schedule.every_ns),
        trades=unseen.trades,
        closing_days=unseen.closing_days,
        equity=equity,
        max_drawdown=fall,
        over_border=stitched.n_over_border,
        first_equity=measure_account(task, kept, first_picks)[0],
        mismatches=mismatches,
        null=null,
        skipped=sum(ledger.skipped for ledger in stitched.ledgers),
        gone=_find_gone(task, stitched, genomes),
        **encode_figures(**figures),
    )


def _keep_first(picks: Sequence[StepPick]) -> list[StepPick]:
    """The first pick that there is, from its step on."""
    first = next((pick for pick in picks if pick.genome is not None), None)
    return [
        pick
        if first is None or pick.number < first.number
        else StepPick(pick.number, first.genome, None)
        for pick in picks
    ]


def fold_steps(task: Task, stitched: Stitched, genomes: Sequence[Floats | None]) -> Folded | None:
    """Trades of all steps as one account, given the genome [G] of each; None without a pick."""
    joined = join_steps(task, stitched, genomes)
    return None if joined is None else joined[0].fold(joined[1])


def join_steps(
    task: Task, stitched: Stitched, genomes: Sequence[Floats | None]
) -> tuple[Account, list[Ledger]] | None:
    """The account of all steps and its ledgers, given the genome [G] of each; None without a pick.

    Trades of a step in a window are a window by themselves, for the genes that entered a trade
    size it.
    """
    entered = [
        (window, genome, ledger)
        for step, genome in enumerate(genomes)
        if genome is not None
        for window, ledger in zip(stitched.windows, stitched.list_entered(step), strict=True)
    ]
    if not entered:
        return None
    traded = [(window, genome) for window, genome, _ in entered]
    account = build_picks_account(task, stitched.series, traded)
    return account, [ledger for *_, ledger in entered]


def _find_gone(task: Task, stitched: Stitched, genomes: Sequence[Floats | None]) -> str:
    """Close at which the account of all steps stood at nothing, as of `Caveats`."""
    joined = join_steps(task, stitched, genomes)
    gone_ns = None if joined is None else find_gone(*joined)
    return "" if gone_ns is None else minute(gone_ns)


def measure_account(
    task: Task, stitched: Stitched, picks: Sequence[StepPick]
) -> tuple[float, float]:
    """Equity at the end of the account of a ledger, and its deepest fall by trades.

    `picks` are those of each step.
    """
    genomes = [None if pick.genome is None else np.array(pick.genome) for pick in picks]
    folded = fold_steps(task, stitched, genomes)
    worth = np.ones(1) if folded is None else np.append(folded.cash, folded.worth)
    peaks = np.maximum.accumulate(worth)
    return float(worth[-1] / worth[0]), float(((peaks - worth) / peaks).max())


def _compare_with_first(task: Task, stitched: Stitched, kept: Stitched) -> tuple[Figure, Figure]:
    """R a day more than keeping the first pick, and p of its not being above 0."""
    days = list_days(stitched.series, stitched.windows)
    daily = daily_returns([stitched.ledgers, kept.ledgers], stitched.series, stitched.windows, days)
    differences = (daily[:, :1] - daily[:, 1:]).astype(np.float64)
    gain = Figure(float(differences.mean()))
    config, block = task.config, choose_block_length(differences)
    return gain, compute_mean_p(
        differences, block, config.seed, config.resamples, threads=config.threads
    )


def _describe_step(setup: StepSetup, stitched: Stitched, pick: StepPick) -> ScheduleStep:
    task, step = setup.task, setup.steps[pick.number]
    entered = stitched.list_entered(pick.number)
    r = np.concatenate([ledger.r for ledger in entered])
    total = float(sum(r.tolist()))
    mean = Figure(total / len(r)) if len(r) else make_undefined("no trades")
    efficiency = make_undefined("nobody was feasible")
    genes: dict[str, GeneText] = {}
    if pick.genome is not None:
        genes = task.spec.layout.show(np.array(pick.genome))
        before = _list_daily(task, step.train, np.array(pick.genome))
        n_days = _count_days(setup, stitched, pick.number)
        efficiency = compute_efficiency(before, np.full(n_days, total / max(n_days, 1)))
    return ScheduleStep(
        date=format_time(step.date_ns),
        train=list_ranges(task, step.train),
        genes=genes,
        strength=pick.strength,
        trades=len(r),
        **encode_figures(mean_r=mean, efficiency=efficiency),
    )


def _list_daily(task: Task, windows: Sequence[Window], genome: Floats) -> Floats:
    """R of each day of a training [D]."""
    ledgers = replay_alone(task.build_reference(windows), genome, task.config.threads)
    series = task.markets.series
    days = list_days(series, windows)
    daily: Floats = daily_returns([ledgers], series, windows, days)[:, 0]
    return daily


def _count_days(setup: StepSetup, stitched: Stitched, number: int) -> int:
    """Days on which there is a bar that a step trades."""
    windows = [
        Window(window.series, cuts[number], cuts[number + 1])
        for window, cuts in zip(stitched.windows, stitched.borders, strict=True)
        if cuts[number] < cuts[number + 1]
    ]
    return len(list_days(stitched.series, windows)) if windows else 0


def count_mismatches(setup: StepSetup, found: Sequence[StepPick]) -> int:
    """Searches of the middle and the last step that pick otherwise on bars that end there."""
    numbers = {len(found) // 2, len(found) - 1}
    return sum(setup.repeat(number) != found[number].genome for number in sorted(numbers))
