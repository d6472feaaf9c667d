"""Sensitivity of the pick: near genes, other costs, late entries, parts left out."""

from dataclasses import replace

import numpy as np

from engine.accounts.stake import build_stake
from engine.batch import Engine
from engine.reference_intrabar import measure_intrabar, read_bars
from engine.replay.threads import replay_alone
from optimizer.evidence.figures import Figure, encode_figure, encode_figures, make_undefined
from optimizer.evidence.pick import SUM_R, TRADES, Pick, compute_strength, compute_strengths
from optimizer.evidence.robust import (
    DELAY_BARS,
    LEFT_OUT_GROUPS,
    RobustRecord,
    break_even_bp,
    compute_means_left_out,
    compute_plateau,
    evaluate_checks,
    evaluate_costs,
    list_neighbours,
    simulate_other_orders,
)
from optimizer.evidence.splits import combinatorial
from optimizer.run.individuals import build_account
from optimizer.run.task import Task
from optimizer.search.generation import Floats


def build_robust_record(task: Task, engine: Engine, pick: Pick) -> RobustRecord:
    """C1 to C5 and what they follow from, on searched bars; `engine` is of those."""
    near = list_neighbours(task.spec.layout, pick.genome, pick.member, task.config.seed)
    plateau = compute_plateau(pick.strength, compute_feasible_strengths(task, engine, near))
    ledgers = engine.trades(pick.genome)
    account = build_account(task, task.markets.places("search")).adapt(pick.genome)
    even = break_even_bp(account, ledgers)
    later = replace(task.costs, entry_delay=task.costs.entry_delay + DELAY_BARS)
    late = task.build_reference(task.markets.windows, later)
    ledgers_late = replay_alone(late, pick.genome, task.config.threads)
    moved = late.account(ledgers_late, range(len(late.windows)), pick.genome)
    strength = float(compute_strengths(moved[None])[0])
    delayed = make_undefined("no trade moved") if np.isnan(strength) else Figure(strength)
    readings = read_bars(
        task.build_reference([]), pick.genome, account.windows, ledgers, account.terms
    )
    within = measure_intrabar(ledgers, readings)
    undecided = Figure(within.share) if within.trades else make_undefined("no trades")
    better = account.order_r(ledgers, [reading.r for reading in readings])
    left_out = _measure_left_out(task, engine, pick)
    stake = build_stake(task.spec, task.costs, task.spec.layout.decode(pick.genome))
    falls = simulate_other_orders(ledgers, task.config.seed, stake, task.config.threads)
    checks = evaluate_checks(
        plateau,
        even,
        strength=pick.strength,
        delayed=delayed,
        undecided_frac=undecided.value,
        left_out=list(left_out.values()),
        costs=task.costs,
    )
    return RobustRecord(
        neighbours=len(near),
        costs=evaluate_costs(account, ledgers),
        charged_bp=task.costs.per_side * 10_000,
        left_out={name: encode_figure(figure) for name, figure in left_out.items()},
        drawdowns=tuple(encode_figure(figure) for figure in falls),
        checks=checks,
        at_target=within.at_target,
        at_fill=within.at_fill,
        undecided_r=within.undecided_r,
        better_r=within.undecided_r + (within.sum_r_target_first - within.sum_r),
        **encode_figures(
            plateau=plateau,
            break_even_bp=even,
            delay=delayed,
            undecided=undecided,
            target_first=compute_strength([better]),
        ),
    )


def compute_feasible_strengths(task: Task, engine: Engine, genomes: Floats) -> Floats:
    """Strengths [P] of genomes [P, G]; NaN where infeasible or undefined."""
    if not len(genomes):
        return np.empty(0)
    accumulators, account = engine.evaluate_account(genomes)
    judged = task.goals.alone.judge(task.metrics(accumulators, account))
    values: Floats = np.where(judged.violations == 0, compute_strengths(account), np.nan)
    return values


def _measure_left_out(task: Task, engine: Engine, pick: Pick) -> dict[str, Figure]:
    """Mean R of the rest without each symbol, and without each of four groups of the bars."""
    markets = task.markets
    means_by_part: dict[str, Figure] = {}
    names = [markets.names[window.series] for window in markets.windows]
    whole = _sum_trades(engine, pick)
    symbols = list(dict.fromkeys(names))
    if len(symbols) > 1:
        of_symbol = [whole[[name == symbol for name in names]].sum(axis=0) for symbol in symbols]
        means_by_part |= zip(
            symbols, compute_means_left_out(*np.transpose(of_symbol).tolist()), strict=True
        )
    splits = combinatorial(markets.series, markets.uncut, count=LEFT_OUT_GROUPS, tests=1)
    of_group = [_sum_trades(engine.on(split.test), pick).sum(axis=0) for split in splits]
    means = compute_means_left_out(*np.transpose(of_group).tolist())
    return means_by_part | {f"quarter {quarter + 1}": mean for quarter, mean in enumerate(means)}


def _sum_trades(engine: Engine, pick: Pick) -> Floats:
    """Trades and sum of R of the pick in each window, [W, 2]."""
    sums: Floats = engine.evaluate(pick.genome[None])[0][:, [TRADES, SUM_R]]
    return sums
