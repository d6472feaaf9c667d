"""The pick: the member that every verdict is about, named before unseen bars are looked at."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from data import Window
from engine.accounts.caveats import find_gone
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from optimizer.errors import ConfigError
from optimizer.evidence.figures import Figure, encode_figures, make_undefined
from optimizer.evidence.pick import PickRecord
from optimizer.evidence.strength import strength_of_sums
from optimizer.run.individuals import build_account
from optimizer.run.problem import Asking, Question
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from optimizer.store.caveats import describe_gone
from optimizer.store.result import find_strongest

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


def select_pick(
    engine: Engine,
    genomes: Floats,
    member: int | None = None,
    gone: Mapping[int, str] = MappingProxyType({}),
) -> Pick:
    """The pick of a front, or another member that was named.

    Args:
        engine: Of the searched windows.
        genomes: [F, G] by number, F at least 1, one of which can be picked.
        member: Number of another one.
        gone: When the accounts of members stood at nothing, by number.

    Raises:
        ConfigError: When there is no such member, or its account is gone.
    """
    if member is not None and not 0 <= member < len(genomes):
        raise ConfigError(f"--pick {member}: the front has members 0 to {len(genomes) - 1}")
    if member is not None and member in gone:
        raise ConfigError(f"--pick {member}: {describe_gone(gone[member])}; name another member")
    accumulators, account = engine.evaluate_account(genomes)
    if member is None:
        member = choose_member(compute_strengths(account), genomes, gone.__contains__)
    assert member is not None, "a front of which none can be picked is not judged"
    return build_pick(engine.windows, genomes, accumulators, account, member)


def choose_member(strengths: Floats, genomes: Floats, is_gone: Callable[[int], bool]) -> int | None:
    """The strongest member of strengths [F] and genomes [F, G], or the first without any.

    None where the accounts of all are gone.
    """
    strongest = find_strongest(strengths, genomes, is_gone)
    standing = (member for member in range(len(genomes)) if not is_gone(member))
    return next(standing, None) if strongest is None else strongest


def replay_gone(task: Task, genomes: Floats) -> Callable[[int], bool]:
    """Whether the account of each of genomes [F, G] stood at nothing on a task's searched bars.

    They are replayed by the reference, each when it is asked for.
    """
    if task.spec.account is None:
        return lambda _: False
    indices = task.markets.places("search")
    windows = [task.markets.all_windows[index] for index in indices]
    account, reference = build_account(task, indices), task.build_reference(windows)

    def is_gone(member: int) -> bool:
        genome = genomes[member]
        return find_gone(account.adapt(genome), reference.trades(genome)) is not None

    return is_gone


def ask_pick(task: Task, windows: Sequence[Window], genomes: Floats) -> Asking[Pick | None]:
    """The pick of a front; its caller evaluates in windows [W], those of the task.

    None where the accounts of all members are gone.
    """
    answered = yield Question(genomes, len(windows) > 1)
    strengths = compute_strengths(answered.joint)
    member = choose_member(strengths, genomes, replay_gone(task, genomes))
    if member is None:
        return None
    return build_pick(windows, genomes, answered.accumulators, answered.joint, member)


def build_pick(
    windows: Sequence[Window],
    genomes: Floats,
    accumulators: Floats,
    account: Floats,
    member: int,
) -> Pick:
    """A pick, of accumulators [F, W, A] in windows [W] and account [F, A] of a front."""
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
