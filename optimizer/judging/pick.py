"""The pick: the member that every verdict is about, named before unseen bars are looked at."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from optimizer.errors import ConfigError
from optimizer.evidence.figures import Figure, encode_figures, make_undefined
from optimizer.evidence.pick import PickRecord
from optimizer.evidence.strength import find_strongest, strength_of_sums
from optimizer.run.problem import Asking, Question
from optimizer.run.task import Task
from optimizer.search.generation import Floats

SUMS = [ACCUMULATOR_INDEX[name] for name in ("trades", "sum_r", "sum_r2")]
TRADES, SUM_R, SUM_R2 = SUMS


@dataclass(frozen=True, eq=False)
class Pick:
    """A member."""

    member: int  # its number in the front
    genome: Floats  # [G]
    strength: Figure  # over the searched windows, pooled
    trades: int  # over them
    mean_r: Figure  # over them; undefined without trades
    # Number of trades by number of the series, where there are any.
    trades_by_series: Mapping[int, int]


def compute_strengths(account: Floats) -> Floats:
    """Strengths [P] of accounts [P, A]; NaN where undefined."""
    moved = account[:, SUM_R2] > 0
    sums = np.where(moved, account[:, SUM_R], np.nan)
    values: Floats = sums / np.sqrt(np.where(moved, account[:, SUM_R2], 1.0))
    return values


def select_pick(engine: Engine, genomes: Floats, member: int | None = None) -> Pick:
    """The pick of a front, or another member that was named.

    Args:
        engine: Of the searched windows.
        genomes: [F, G] by number, F at least 1.
        member: Number of another one.

    Raises:
        ConfigError: When there is no such member.
    """
    if member is not None and not 0 <= member < len(genomes):
        raise ConfigError(f"--pick {member}: the front has members 0 to {len(genomes) - 1}")
    accumulators, account = engine.evaluate_account(genomes)
    return build_pick(engine.windows, genomes, accumulators, account, member)


def ask_pick(windows: Sequence[Window], genomes: Floats) -> Asking[Pick]:
    """The pick of a front; its caller evaluates in windows [W]."""
    answered = yield Question(genomes, len(windows) > 1)
    return build_pick(windows, genomes, answered.accumulators, answered.joint)


def build_pick(
    windows: Sequence[Window],
    genomes: Floats,
    accumulators: Floats,
    account: Floats,
    member: int | None = None,
) -> Pick:
    """The same of accumulators [F, W, A] in windows [W] and account [F, A] of a front."""
    if member is None:
        member = find_strongest(compute_strengths(account), genomes) or 0
    trades, sum_r, squares = account[member, SUMS].tolist()
    by_series: Counter[int] = Counter()
    for window, count in zip(windows, accumulators[member, :, TRADES], strict=True):
        by_series[window.series] += int(count)
    return Pick(
        member,
        genomes[member],
        strength_of_sums(sum_r, squares),
        int(trades),
        Figure(sum_r / trades) if trades else make_undefined("no trades"),
        +by_series,
    )


def build_pick_record(task: Task, pick: Pick, *, is_named: bool) -> PickRecord:
    """The member that is judged, for people and JSON."""
    names = task.markets.names
    return PickRecord(
        pick.member,
        task.spec.layout.show(pick.genome),
        trades=pick.trades,
        is_named=is_named,
        trades_by_symbol={names[key]: n for key, n in pick.trades_by_series.items()},
        **encode_figures(strength=pick.strength, mean_r=pick.mean_r),
    )
