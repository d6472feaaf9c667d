"""How alike two components are: the correlation of their R a UTC day."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.checks import Floats, Ints
from engine.portfolio import Component, Ledgers
from optimizer.evidence.returns import daily_returns, list_days

FEWEST_DAYS = 20
"""Below so many days there is no correlation."""


@dataclass(frozen=True)
class Correlation:
    """Correlation of daily R (UTC) of two components, by number."""

    first: int
    second: int
    days: int  # with a bar of either, from the later beginning to the earlier end
    value: float | None  # None below `FEWEST_DAYS` and where one does not vary


def correlate_days(
    components: Sequence[Component], ledgers: Ledgers, first: int, second: int
) -> Correlation:
    """Pearson's correlation of R a UTC day, 0 where nothing closed.

    Days are those with a bar of either, from the later beginning to the earlier end.
    """
    columns = []
    for number in (first, second):
        component = components[number]
        days = list_days(component.series, component.windows)
        r = daily_returns([ledgers[number]], component.series, component.windows, days)[:, 0]
        columns.append((days, r))
    return Correlation(first, second, *correlate_common_days(*columns))


def correlate_common_days(
    first: tuple[Ints, Floats], second: tuple[Ints, Floats]
) -> tuple[int, float | None]:
    """Days that two columns have in common, and their correlation as in `Correlation`.

    Each is its dates [D] with a bar, ascending, and the R of the trades closed on each [D].
    """
    days = np.union1d(first[0], second[0])
    start, end = (pick(first[0][at], second[0][at]) for pick, at in ((max, 0), (min, -1)))
    is_common = (days >= start) & (days <= end)
    columns = []
    for own_days, r in (first, second):
        column = np.zeros(len(days))
        column[np.searchsorted(days, own_days)] = r
        columns.append(column[is_common])
    count = int(is_common.sum())
    return count, correlate(*columns) if count >= FEWEST_DAYS else None


def correlate(x: Floats, y: Floats) -> float | None:
    """Pearson's correlation of two columns [D]; None where one does not vary.

    >>> correlate(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    if not ((x != x[0]).any() and (y != y[0]).any()):
        return None
    around_x, around_y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((around_x**2).sum() * (around_y**2).sum()))
    return float((around_x * around_y).sum()) / spread if spread > 0.0 else None
