"""What a search is after: metrics as objectives to minimise, and who is infeasible and why.

An individual is infeasible, with a named reason, when it trades too seldom to be judged or when one
of its objectives is undefined. Both are settled here, before any ranking, so that no NaN and no
infinity is ever compared with a number.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.metrics import METRICS, MetricTable
from optimizer.errors import ConfigError
from optimizer.generation import Evaluation, Floats
from strategy.errors import unknown

TOO_FEW_TRADES = "too_few_trades"
"""Name of the failure of individuals with fewer trades than `Goals.min_trades`."""


@dataclass(frozen=True)
class Objective:
    """One thing to strive for.

    Args:
        name: How people ask for it, a key of `OBJECTIVES`.
        metric: A name in `METRICS`.
        maximise: Whether more of it is better.

    Raises:
        ConfigError: When there is no such metric.
    """

    name: str
    metric: str
    maximise: bool

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ConfigError(unknown("metric", self.metric, list(METRICS)))


MAXIMISED = (
    "calmar",
    "mean_r",
    "profit_factor",
    "sharpe",
    "sharpe_annual",
    "sortino",
    "sum_r",
    "total_return",
    "trades",
    "trades_per_year",
    "win_rate",
)
MINIMISED = ("exposure", "max_drawdown", "max_drawdown_r")

OBJECTIVES = {
    name: Objective(name, metric=name, maximise=name in MAXIMISED)
    for name in sorted(MAXIMISED + MINIMISED)
}
"""All objectives by name; each bears the name of its metric."""


@dataclass(frozen=True)
class Goals:
    """The objectives of a run and its constraint.

    Several windows count through the mean of each metric over them, trades included; a metric that
    is undefined in one window is undefined.

    Args:
        objectives: [O], at least one, names unique.
        min_trades: Individuals with fewer trades are infeasible, at least 0.

    Raises:
        ConfigError: When objectives are missing or repeat, or `min_trades` is negative.
    """

    objectives: tuple[Objective, ...]
    min_trades: int = 30

    def __post_init__(self) -> None:
        names = [objective.name for objective in self.objectives]
        if not names:
            raise ConfigError(f"no objective given; known: {', '.join(OBJECTIVES)}")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ConfigError(f"objective '{repeated[0]}' is given more than once")
        if self.min_trades < 0:
            raise ConfigError(f"min_trades must be at least 0, got {self.min_trades}")

    @cached_property
    def failure_names(self) -> tuple[str, ...]:
        """Names of the failure codes, [O + 2]: none, too few trades, one for each objective."""
        undefined = (f"undefined:{objective.name}" for objective in self.objectives)
        return ("", TOO_FEW_TRADES, *undefined)

    def judge(self, metrics: MetricTable) -> Evaluation:
        """Turn metrics into objectives to minimise, violations and failures.

        A violation says how far an individual is from being feasible, so that a search without any
        feasible individual still has a direction:

        - too few trades: the missing share of `min_trades`, above 0 and up to 1;
        - else undefined objectives: 1 plus the mean of the undefined share of objectives and
          1 / (1 + trades), above 1 and up to 2; the failure names the first of them. More trades
          count as nearer, since most undefined metrics only lack trades.

        Args:
            metrics: Of P individuals in W windows, W at least 1. A value that is not finite counts
                as undefined.

        Returns:
            The evaluation; objectives of infeasible individuals are NaN.
        """
        trades = _mean_over_windows(metrics.column("trades"))  # [P]
        values = np.stack(
            [_mean_over_windows(metrics.column(goal.metric)) for goal in self.objectives], axis=1
        )  # [P, O]
        is_undefined = ~np.isfinite(values)
        is_rare = trades < self.min_trades
        is_vague = ~is_rare & is_undefined.any(axis=1)
        shortfall = (self.min_trades - trades) / max(self.min_trades, 1)
        vagueness = 1.0 + 0.5 * (is_undefined.sum(axis=1) / len(self.objectives) + 1 / (1 + trades))
        violations = np.where(is_rare, shortfall, np.where(is_vague, vagueness, 0.0))
        codes = np.where(is_rare, 1, np.where(is_vague, 2 + is_undefined.argmax(axis=1), 0))
        objectives = np.where(violations[:, None] > 0, np.nan, self._signs * values)
        return Evaluation(objectives, violations, codes.astype(np.int16))

    def natural(self, objectives: Floats) -> Floats:
        """Turn minimised objectives [..., O] back to the sign that people know."""
        natural: Floats = self._signs * objectives + 0.0
        return natural

    @cached_property
    def _signs(self) -> Floats:
        """-1 for each objective that is maximised, else 1, [O]."""
        return np.array([-1.0 if goal.maximise else 1.0 for goal in self.objectives])


def parse_objectives(text: str) -> tuple[Objective, ...]:
    """Read objectives from a comma-separated list, such as ``"sharpe,max_drawdown"``.

    Args:
        text: Names in `OBJECTIVES`; spaces around a name do not count.

    Returns:
        [O] in the order given.

    Raises:
        ConfigError: When a name is unknown (the nearest one is offered) or missing.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not name:
            raise ConfigError(f"objectives '{text}' lack a name; known: {', '.join(OBJECTIVES)}")
        if name not in OBJECTIVES:
            raise ConfigError(unknown("objective", name, list(OBJECTIVES)))
    return tuple(OBJECTIVES[name] for name in names)


def _mean_over_windows(values: Floats) -> Floats:
    """Mean [P] of values [P, W], summed in the order of windows; NaN where one is not finite."""
    total = np.zeros(len(values), dtype=np.float64)
    for window in values.T:
        total = total + np.where(np.isfinite(window), window, np.nan)
    mean: Floats = total / values.shape[1]
    return mean
