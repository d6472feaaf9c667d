"""The pick: the member of greatest strength, named before unseen bars are looked at.

Strength counts standard errors of the trades above zero: the sum of R over the root of the sum
of squares, at most the root of their number. Source: de la Pena, Lai and Shao, "Self-Normalized
Processes", 2009.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import numpy as np

from data import Window
from data.checks import Floats
from engine.accounts.caveats import find_gone
from engine.accounts.curves import add_up
from engine.accounts.ledger import ACCUMULATOR_INDEX
from optimizer.errors import ConfigError
from optimizer.evidence.figures import Figure, Number, encode_figures, make_undefined
from optimizer.evidence.statistic import Numbers, shorten
from optimizer.formatting import format_count
from optimizer.store.caveats import describe_gone
from optimizer.store.payload import OPTIONAL
from optimizer.store.result import find_strongest
from strategy.gene import GeneText

if TYPE_CHECKING:
    from engine.batch import Engine
    from optimizer.run.problem import Asking
    from optimizer.run.task import Task

Prefer = Callable[[Floats, Callable[[int], bool]], "Asking[int | None]"]
"""Names a member in place of the strongest, from all strengths [F] and the accounts that are gone;
None for none."""

SUMS = [ACCUMULATOR_INDEX[name] for name in ("trades", "sum_r", "sum_r2")]
TRADES, SUM_R, SUM_R2 = SUMS


@dataclass(frozen=True)
class PickRecord(Numbers):
    """The member that is judged."""

    member: int
    genes: Mapping[str, GeneText]
    strength: Number
    trades: int
    # True if a person named it; else it is that of greatest strength.
    is_named: Annotated[bool, OPTIONAL] = False
    mean_r: Number = None  # of its trades on the searched bars
    # Number of trades there, of symbols with any.
    trades_by_symbol: Annotated[Mapping[str, int], OPTIONAL] = field(default_factory=dict)

    def describe(self) -> str:
        """Sentence on the member that is the one answer of a run, and why."""
        why = "named by --pick" if self.is_named else "the strongest of the front"
        trades = f"Member {self.member}, {why}: {format_count(self.trades, 'trade')}"
        if self.strength is None:
            return f"{trades}, their strength is {self.format('strength')}."
        mean = "" if self.mean_r is None else f", {self.mean_r:.2f} R each on average"
        strength = shorten(self.strength)
        return f"{trades}{mean} (strength {strength}, before correcting for the search)."


@dataclass(frozen=True, eq=False)
class Pick:
    """A member."""

    member: int  # its number in the front
    genome: Floats  # [G]
    strength: Figure  # over the searched windows, pooled
    trades: int  # over them
    mean_r: Figure  # over them; undefined without trades
    trades_by_series: Mapping[int, int]  # by number of the series, where there are any

    def build_record(self, task: "Task", *, is_named: bool) -> PickRecord:
        """The same for people and JSON."""
        names = task.markets.names
        return PickRecord(
            self.member,
            task.spec.layout.show(self.genome),
            trades=self.trades,
            is_named=is_named,
            trades_by_symbol={names[key]: n for key, n in self.trades_by_series.items()},
            **encode_figures(strength=self.strength, mean_r=self.mean_r),
        )


def compute_strength(r_by_window: Sequence[Floats]) -> Figure:
    """Strength of R in windows: each summed in the order of trades, then windows in theirs."""
    return strength_of_sums(*sum_r_and_squares(r_by_window))


def sum_r_and_squares(r_by_window: Sequence[Floats]) -> tuple[float, float]:
    """Sum of R and of its squares, each window's in the order of trades, then windows in theirs."""
    sums = np.array([(add_up(r), add_up(r * r)) for r in r_by_window]).reshape(-1, 2)
    return add_up(sums[:, 0]), add_up(sums[:, 1])


def strength_of_sums(sum_r: float, sum_r2: float) -> Figure:
    """Strength from accumulators.

    >>> strength_of_sums(6.0, 50.0)
    Figure(value=0.848528137423857, why='')
    """
    if not sum_r2 > 0:
        return make_undefined("no trade moved")
    return Figure(sum_r / math.sqrt(sum_r2))


def compute_strengths(account: Floats) -> Floats:
    """Strengths [P] of accounts [P, A]; NaN where undefined."""
    moved = account[:, SUM_R2] > 0
    sums = np.where(moved, account[:, SUM_R], np.nan)
    values: Floats = sums / np.sqrt(np.where(moved, account[:, SUM_R2], 1.0))
    return values


def select_pick(
    engine: "Engine",
    genomes: Floats,
    member: int | None = None,
    gone: Mapping[int, str] = MappingProxyType({}),
) -> Pick:
    """The pick of a front [F, G], or another member by name.

    `gone` lists by number the members with accounts that stood at nothing; `engine` has the
    searched windows.

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


def replay_gone(task: "Task", genomes: Floats) -> Callable[[int], bool]:
    """True for each of genomes [F, G] with an account at nothing on a task's searched bars.

    The reference replays each on demand.
    """
    if task.spec.account is None:
        return lambda _: False
    # A record is read without a search.
    from optimizer.run.individuals import build_account

    indices = task.markets.places("search")
    windows = [task.markets.all_windows[index] for index in indices]
    account, reference = build_account(task, indices), task.build_reference(windows)

    def is_gone(member: int) -> bool:
        genome = genomes[member]
        return find_gone(account.adapt(genome), reference.trades(genome)) is not None

    return is_gone


def ask_pick(
    task: "Task",
    windows: Sequence[Window],
    genomes: Floats,
    prefer: Prefer | None = None,
) -> "Asking[Pick | None]":
    """The pick of a front; its caller evaluates in windows [W], those of the task.

    None where the accounts of all members are gone.
    """
    from optimizer.run.problem import Question

    answered = yield Question(genomes, len(windows) > 1)
    strengths, is_gone = compute_strengths(answered.joint), replay_gone(task, genomes)
    member = None if prefer is None else (yield from prefer(strengths, is_gone))
    if member is None:
        member = choose_member(strengths, genomes, is_gone)
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
