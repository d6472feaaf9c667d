"""Sensitivity of the pick to little changes: near genes, other costs, late entries, parts left out.

All of it is on searched bars. House rules throughout; the plateau is what traders look for by eye
in a heat map of parameters (Pardo, "The Evaluation and Optimization of Trading Strategies", 2008).
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from data.checks import Flags, Floats
from data.progress import Progress
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.curves import add_up
from engine.accounts.ledger import Ledger
from engine.accounts.reference import fold_results, take_turns
from engine.accounts.stake import Stake
from engine.accounts.strategy_stakes import build_stake
from engine.accounts.valuation import choose_trades, stake_ledgers
from engine.reference_intrabar import COARSE_SHARE, measure_intrabar, read_bars
from engine.runtime.machine import available_cores
from optimizer.evidence.figures import Figure, Number, encode_figures, make_undefined
from optimizer.evidence.pick import SUM_R, TRADES, Pick, compute_strength, compute_strengths
from optimizer.evidence.splits import combinatorial
from optimizer.evidence.statistic import AGAINST, Around, Statistic, Weighed, shorten
from optimizer.formatting import fraction
from optimizer.goals.near import axis_moves, compute_reach
from optimizer.search.randomness import draw_words, scale_to_index, scale_to_unit
from optimizer.store.payload import OPTIONAL, Payload
from strategy.genes import GenomeLayout

if TYPE_CHECKING:
    from engine.batch import Engine
    from optimizer.evidence.judged_run import JudgedRun
    from optimizer.run.task import Task

CLOUD = 32
KEPT_FRAC = 0.5
COST_TIMES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
ORDERS = 1000

MOST_THREADS = 4
"""That draw them: between their loops they wait for each other."""

QUANTILES_PERCENT = (50, 95, 99)

CHECKED = {
    "neighbours": "plateau",
    "costs": "costs",
    "late entries": "delay",
    "within a bar": "within_bar",
    "left out": "left_out",
}
"""Rows to their checks, C1 to C5."""

CHECKS = tuple(CHECKED.values())

PLATEAU_LEAST = 0.5
BREAK_EVEN_LEAST = 2.0
"""Times the charge."""
DELAY_BARS = 1
UNDECIDED_MOST = COARSE_SHARE
LEFT_OUT_GROUPS = 4


@dataclass(frozen=True)
class CostRecord(Payload):
    """The pick's trades at a multiple of the charged costs."""

    times: float
    strength: Number
    sum_r: float


@dataclass(frozen=True)
class RobustRecord(Statistic):
    """Sensitivity of the pick to little changes, on searched bars."""

    plateau: Number  # share of near neighbours that keep half of its strength
    neighbours: int  # how many there are
    costs: tuple[CostRecord, ...]  # its trades at other costs
    break_even_bp: Number  # costs a side at which nothing is left
    charged_bp: float  # the charged ones
    delay: Number  # strength when each entry comes a bar later
    undecided: Number  # share of undecided trades
    target_first: Number  # strength by the better reading of each of them
    left_out: Mapping[str, Number]  # mean R without each symbol or group of bars, by name
    # Deepest falls of the middle account, and of the worst 5 and 1 % of orders.
    drawdowns: tuple[Number, ...]
    checks: Mapping[str, bool]  # of C1 to C5, whether it passed
    # Undecided trades that were stopped in a bar which touches an open target, and in that of
    # their fill by a price that may be older; their R as it counts, and by the better reading.
    at_target: Annotated[int, OPTIONAL] = 0
    at_fill: Annotated[int, OPTIONAL] = 0
    undecided_r: Annotated[float, OPTIONAL] = 0.0
    better_r: Annotated[float, OPTIONAL] = 0.0

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """A sentence a row; a passed check speaks for neither side, for luck may too."""
        for about, sentence in self._sentences():
            is_passed = self.checks.get(CHECKED.get(about, ""), True)
            yield Weighed(about, sentence, "" if is_passed else AGAINST)

    def _sentences(self) -> Iterator[tuple[str, str]]:
        if self.plateau is None:
            yield "neighbours", f"Undefined: {self.why.get('plateau', '')}."
        else:
            kept = round(self.plateau * self.neighbours)
            share = "half" if KEPT_FRAC == 1 / 2 else fraction(KEPT_FRAC)
            yield (
                "neighbours",
                f"{kept} of {self.neighbours} near neighbours keep {share} of its strength.",
            )
        if self.break_even_bp is not None and self.break_even_bp < 0:
            yield "costs", "It loses before costs."
        else:
            even = self.format("break_even_bp")
            yield "costs", f"Breaks even at {even} bp a side; you pay {self.charged_bp:g}."
        yield "late entries", f"Strength {self.format('delay')} with every entry a bar later."
        yield "within a bar", self._describe_undecided()
        lost = [name for name, mean in self.left_out.items() if mean is None or mean <= 0]
        if lost:
            yield "left out", f"Loses without {', '.join(lost)}."
        else:
            yield "left out", "Still gains when any one symbol or quarter is left out."
        if len(self.drawdowns) > 1 and self.drawdowns[1] is not None:
            fall = fraction(self.drawdowns[1])
            yield "other orders", f"One account in twenty would have fallen by more than {fall}."

    def _describe_undecided(self) -> str:
        if self.undecided == 0:
            return "No trade hangs on what came first within a bar."
        share = "Undefined" if self.undecided is None else f"{self.undecided:.1%}"
        kinds = f"stop or target {self.at_target:,}, stop or fill {self.at_fill:,}"
        return (
            f"{share} of trades hang on what came first within a bar ({kinds}): "
            f"{shorten(self.undecided_r)} R as the worse is taken, {shorten(self.better_r)} R "
            "otherwise; --finer tells."
        )


def build_robust_record(run: "JudgedRun") -> RobustRecord:
    """C1 to C5 and their grounds, on searched bars."""
    # A record is read without a search.
    from engine.replay.threads import replay_alone
    from optimizer.run.individuals import build_account

    run.watch(Progress("judging: neighbours, costs and delay"))
    task, engine, pick = run.task, run.engine, run.pick
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
        left_out=left_out,
        drawdowns=simulate_other_orders(ledgers, task.config.seed, stake, task.config.threads),
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


def compute_feasible_strengths(task: "Task", engine: "Engine", genomes: Floats) -> Floats:
    """Strengths [P] of genomes [P, G]; NaN where infeasible or undefined."""
    if not len(genomes):
        return np.empty(0)
    accumulators, account = engine.evaluate_account(genomes)
    judged = task.goals.alone.judge(task.metrics(accumulators, account), genomes=genomes)
    values: Floats = np.where(judged.violations == 0, compute_strengths(account), np.nan)
    return values


def list_neighbours(layout: GenomeLayout, genome: Floats, member: int, seed: int) -> Floats:
    """The near neighbours [n, G] of a member [G]: along each axis, and a cloud with its options.

    Legal, each once, none of them the member, in the order in which they were made.
    """
    cloud = draw_words(seed, member, "near", CLOUD * len(layout)).reshape(CLOUD, len(layout))
    reach = np.where(layout.is_category, 0.0, compute_reach(layout))
    moves = (2 * scale_to_unit(cloud) - 1) * reach
    moves = np.where(layout.grid.is_int, np.floor(moves + 0.5), moves)
    moves = np.concatenate([axis_moves(layout), moves])
    moved, _ = layout.repair(layout.move(genome, moves))
    distinct = dict.fromkeys(map(tuple, moved.tolist()))
    distinct.pop(tuple(genome.tolist()), None)
    return np.array(list(distinct)).reshape(len(distinct), len(layout))


def compute_plateau(strength: Figure, others: Floats) -> Figure:
    """Share of others [n] that are half of a member's own strength or more, which NaN is not.

    Undefined where its own is not above 0, and where there are no others.
    """
    if not strength.value > 0:
        return make_undefined(strength.why or "its own strength is not above 0")
    if not len(others):
        return make_undefined("it has no neighbours")
    return Figure(float(np.mean(is_half_kept(strength, others))))


def is_half_kept(strength: Figure, others: Floats) -> Flags:
    """True for strengths [n] of half of a member's own or more; never where that is not above 0."""
    kept: Flags = (others >= KEPT_FRAC * strength.value) & (strength.value > 0)
    return kept


def evaluate_costs(account: Account, ledgers: Sequence[Ledger]) -> tuple[CostRecord, ...]:
    """A member's trades [W] at multiples of the charged costs; none of them depends on costs.

    At 1 it is the strength of the front, in every bit.
    """
    r_by_times = {t: account.reprice(ledgers, t * account.costs.per_side) for t in COST_TIMES}
    return tuple(
        CostRecord(times, compute_strength([r]).number, add_up(r))
        for times, r in r_by_times.items()
    )


def break_even_bp(account: Account, ledgers: Sequence[Ledger]) -> Figure:
    """Costs a side, in basis points, at which a member's trades [W] sum to 0 R.

    What else they pay, as fees a unit and funding, stays. Negative where they lose even without
    costs of a side; undefined without trades.
    """
    free, dear = (float(account.reprice(ledgers, per_side).sum()) for per_side in (0.0, 1.0))
    turnover = free - dear
    return Figure(10000 * free / turnover) if turnover > 0 else make_undefined("no trades")


def simulate_other_orders(
    ledgers: Sequence[Ledger], seed: int, stake: Stake, threads: int | None = None
) -> tuple[Number, ...]:
    """Deepest falls of the account with the same trades [W] of one member in other orders.

    Each of 1,000 accounts draws as many trades from all windows together, with replacement. Falls
    are fractions of the peak: of the middle account, and of the accounts that 5 and 1 % reach.
    None without trades, and where equity outgrew all numbers.
    """
    count = sum(map(len, ledgers))
    if not count:
        return (None,) * len(QUANTILES_PERCENT)
    # A record is read without a compiler.
    from engine.runtime.compiling.forms import CompiledForm

    trades = stake_ledgers(ledgers, (stake,), np.ones(1)).trades
    turns, fold = take_turns(count), CompiledForm()(fold_results)

    def measure_fall(number: int) -> float:
        drawn = scale_to_index(draw_words(seed, number + 1, "reorder", count), count)
        sums = fold(choose_trades(trades, drawn), stake, turns)
        return sums.max_drawdown if np.isfinite(sums.peak_equity) else np.nan

    with ThreadPoolExecutor(min(MOST_THREADS, available_cores(threads)), "orders") as pool:
        falls = np.array(list(pool.map(measure_fall, range(ORDERS))))
    if np.isnan(falls).any():
        return (None,) * len(QUANTILES_PERCENT)
    falls.sort()
    return tuple(float(falls[-(-q * ORDERS // 100) - 1]) for q in QUANTILES_PERCENT)


def compute_means_left_out(parts: Mapping[str, Sequence[float]]) -> dict[str, Number]:
    """Mean R of the rest with each part left out in turn, of trades and R of each; None of none."""
    means: dict[str, Number] = {}
    for part in parts:
        trades, sum_r = (
            sum(sums[k] for name, sums in parts.items() if name != part) for k in range(2)
        )
        means[part] = sum_r / trades if trades else None
    return means


def evaluate_checks(
    plateau: Figure,
    break_even: Figure,
    *,
    strength: Figure,
    delayed: Figure,
    undecided_frac: float,
    left_out: Sequence[Number],
    costs: Costs,
) -> dict[str, bool]:
    """Outcome of each of `CHECKS` for the pick; an undefined figure passes none."""
    charge_bp = costs.fee_bp + costs.slippage_bp
    passed = (
        plateau.value >= PLATEAU_LEAST,
        break_even.value >= BREAK_EVEN_LEAST * charge_bp,
        bool(is_half_kept(strength, np.array([delayed.value]))[0]),
        undecided_frac <= UNDECIDED_MOST,
        bool(left_out) and all(mean is not None and mean > 0 for mean in left_out),
    )
    return dict(zip(CHECKS, passed, strict=True))


def _measure_left_out(task: "Task", engine: "Engine", pick: Pick) -> dict[str, Number]:
    """Mean R of the rest without each symbol, and without each of four groups of the bars."""
    markets, whole = task.markets, _sum_trades(engine, pick)
    names = [markets.names[window.series] for window in markets.windows]
    symbols = {
        symbol: whole[[name == symbol for name in names]].sum(axis=0).tolist() for symbol in names
    }
    splits = combinatorial(markets.series, markets.uncut, count=LEFT_OUT_GROUPS, tests=1)
    quarters = {
        f"quarter {number}": _sum_trades(engine.on(split.test), pick).sum(axis=0).tolist()
        for number, split in enumerate(splits, start=1)
    }
    of_symbols = compute_means_left_out(symbols) if len(symbols) > 1 else {}
    return of_symbols | compute_means_left_out(quarters)


def _sum_trades(engine: "Engine", pick: Pick) -> Floats:
    """Trades and sum of R of the pick in each window, [W, 2]."""
    sums: Floats = engine.evaluate(pick.genome[None])[0][:, [TRADES, SUM_R]]
    return sums
