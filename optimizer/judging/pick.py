"""The pick: the member that every verdict is about, named before unseen bars are looked at."""

from dataclasses import dataclass

import numpy as np

from engine.batch import Engine
from engine.ledger import ACCUMULATOR_INDEX
from engine.metrics import pool
from optimizer.errors import ConfigError
from optimizer.evidence.compared import strength_of_sums
from optimizer.evidence.figures import Figure
from optimizer.search.generation import Floats
from optimizer.session.task import Task

TRADES, SUM_R, SUM_R2 = (ACCUMULATOR_INDEX[name] for name in ("trades", "sum_r", "sum_r2"))


@dataclass(frozen=True, eq=False)
class Pick:
    """A member.

    Args:
        member: Its number in the front.
        genome: [G].
        strength: Over the searched windows, pooled.
        trades: Over them.
    """

    member: int
    genome: Floats
    strength: Figure
    trades: int


def pooled_sums(accumulators: Floats) -> Floats:
    """Trades, sum of R and of its squares [P, 3] of accumulators [P, W, A], windows pooled."""
    found: Floats = pool(accumulators)[:, (TRADES, SUM_R, SUM_R2)]
    return found


def strengths(accumulators: Floats) -> Floats:
    """Strengths [P] of accumulators [P, W, A], windows pooled; NaN where undefined."""
    _, sum_r, squares = pooled_sums(accumulators).T
    moved = squares > 0
    found: Floats = np.where(moved, sum_r, np.nan) / np.sqrt(np.where(moved, squares, 1.0))
    return found


def pick_of(task: Task, engine: Engine, genomes: Floats, member: int | None = None) -> Pick:
    """The member of greatest strength, the first by genome where equal; or a named one.

    Args:
        task: Its layout orders genomes.
        engine: Of the searched windows.
        genomes: [F, G] by number, F at least 1.
        member: Number of another one.

    Raises:
        ConfigError: When there is no such member.
    """
    if member is not None and member >= len(genomes):
        raise ConfigError(f"--pick {member}: the front has members 0 to {len(genomes) - 1}")
    sums = pooled_sums(engine.evaluate(genomes))
    if member is None:
        found = [strength_of_sums(sum_r, squares) for _, sum_r, squares in sums.tolist()]
        values = np.array([one.value if one.is_defined else -np.inf for one in found])
        best = np.flatnonzero(values == values.max())
        member = int(best[np.lexsort(genomes[best].T[::-1])[0]])
    trades, sum_r, squares = sums[member].tolist()
    return Pick(member, genomes[member], strength_of_sums(sum_r, squares), int(trades))
