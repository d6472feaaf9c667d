"""Constraints, such as ``max_drawdown <= 0.3`` or ``cagr / max_drawdown > 2``, and windows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optimizer.errors import ConfigError
from optimizer.goals.arithmetic import check_powers, evaluate_constant
from optimizer.goals.formulas import FormulaNode, quote, read_comparison
from optimizer.search.generation import Floats

FORM = "FORMULA <= NUMBER, with <, <=, > or >=, and 'soft' behind it if it may be missed"

LEAST_MISS = 2.0**-1000
"""Violation of a bound that is missed by the strictness of a comparison alone."""

LARGEST_MISS = 2.0**1000

RANGES = {
    "trades": (0.0, np.inf),
    "trades_per_year": (0.0, np.inf),
    "win_rate": (0.0, 1.0),
    "std_r": (0.0, np.inf),
    "profit_factor": (0.0, np.inf),
    "total_return": (-1.0, np.inf),
    "cagr": (-1.0, np.inf),
    "max_drawdown": (0.0, 1.0),
    "max_drawdown_r": (0.0, np.inf),
    "exposure": (0.0, 2.0),
    "mean_hold_bars": (0.0, np.inf),
}
"""Ranges of metrics; others can be any number."""

POOLED = "pooled"
MEAN = "mean"
WORST = "worst"
HIGHEST_QUANTILE = 50
FORMS = (
    f"{POOLED}, {MEAN}, {WORST}, or q1 to q{HIGHEST_QUANTILE} (percent of the windows may be worse)"
)
"""How windows may be taken together, in words."""

TURNED = str.maketrans("<>", "><")
"""Signs of a comparison with exchanged sides."""

_QUANTILE = re.compile(r"q([1-9][0-9]?)")


@dataclass(frozen=True)
class Constraint:
    """A comparison of a metric, or of a formula, with a number."""

    metric: str  # canonical text
    sign: str
    bound: float  # the number, finite
    is_soft: bool = False  # whether it may be missed; how far is then one more objective
    over: str = ""  # how windows are taken together, empty for the way of the run

    @property
    def name(self) -> str:
        """Shortest text, such as ``max_drawdown<=0.3``."""
        if self.metric.isidentifier():
            over = f"@{self.over}" if self.over else ""
            return f"{self.metric}{over}{self.sign}{self.bound!r}"
        formula = f"({self.metric})@{self.over}" if self.over else self.metric
        return f"{formula} {self.sign} {self.bound!r}"

    @property
    def text(self) -> str:
        """Text that `parse_constraint` reads back."""
        return f"{self.name} soft" if self.is_soft else self.name

    @property
    def as_objective(self) -> str:
        """The same as an objective, in which nearer to holding is better."""
        over = f"@{self.over}" if self.over else ""
        return f"{self.metric}:{'max' if self.wants_more else 'min'}{over}"

    @property
    def wants_more(self) -> bool:
        """True if larger values are nearer to holding."""
        return self.sign.startswith(">")

    def holds(self, values: Floats) -> npt.NDArray[np.bool_]:
        """Truths for values [P]; never for NaN."""
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
        return np.asarray(compare[self.sign](values, self.bound), np.bool_)

    def misses(self, values: Floats) -> Floats:
        """How far values [P] are from holding, relative to the bound.

        It is 0 where it holds, else above 0 and up to 1: ``d / (d + |bound|)`` for a distance d
        (``d / (d + 1)`` for a bound of 0), and 1 where the value is NaN.
        """
        distance = self.bound - values if self.wants_more else values - self.bound
        distance = np.clip(distance, LEAST_MISS, LARGEST_MISS)
        share = np.maximum(distance / (distance + (abs(self.bound) or 1.0)), LEAST_MISS)
        share = np.where(np.isnan(values), 1.0, share)
        return np.where(self.holds(values), 0.0, share)


def parse_constraint(text: str) -> Constraint:
    """Read one, such as ``max_drawdown <= 30%``, ``sharpe@worst > 0``, ``exposure < 0.5 soft``.

    Raises:
        ConfigError: When it has another form, or names what is unknown (the nearest is offered).

    >>> parse_constraint("max_drawdown <= 30%").text
    'max_drawdown<=0.3'
    """
    try:
        read = read_comparison(text)
        for side in () if read is None else (read.left, read.right):
            check_powers(side)
    except ConfigError as error:
        raise ConfigError(f"constraint {quote(text)} {error}") from None
    if read is None:
        raise ConfigError(f"constraint {quote(text)} must look like {FORM}")
    left, right, sign = read.left, read.right, read.sign
    if left.is_constant:
        left, right, sign = right, left, sign.translate(TURNED)
    if left.is_constant:
        raise ConfigError(f"constraint {quote(text)} names neither a metric nor a gene")
    if not right.is_constant:
        left, right = FormulaNode("-", (left, right)), FormulaNode("number")
    # A zero has no sign: -0 and 0 are one bound, of one name.
    bound = evaluate_constant(right) + 0.0
    if not abs(bound) <= LARGEST_MISS:
        raise ConfigError(f"constraint {quote(text)}: {right.text} is no number, or too large")
    try:
        over = check_aggregation(read.over) if read.over else ""
    except ConfigError as error:
        raise ConfigError(f"constraint {quote(text)}: {error}") from None
    return Constraint(left.text, sign, bound, read.kind == "soft", over)


def find_constraint(text: str) -> Constraint | None:
    """Constraint of a text or a name; None if it is an objective's."""
    try:
        return parse_constraint(text)
    except ConfigError:
        return None


def parse_constraints(texts: Sequence[str]) -> tuple[Constraint, ...]:
    """Read several constraints.

    Raises:
        ConfigError: Naming every wrong one, or one that is given twice.
    """
    constraints: list[Constraint] = []
    problems: list[str] = []
    for text in texts:
        try:
            constraint = parse_constraint(text)
        except ConfigError as error:
            problems.append(str(error))
            continue
        if constraint.name in [other.name for other in constraints]:
            problems.append(f"constraint '{text}' is given twice")
        constraints.append(constraint)
    if problems:
        raise ConfigError("; ".join(problems))
    return tuple(constraints)


def check_constraints(constraints: Sequence[Constraint]) -> None:
    """Refuse bounds outside the range of their metrics, which always or never hold.

    Raises:
        ConfigError: Naming the first such, and the range.
    """
    for constraint in constraints:
        if constraint.metric not in RANGES:
            continue
        low, high = RANGES[constraint.metric]
        if low <= constraint.bound <= high:
            continue
        is_kept = constraint.bound < low if constraint.wants_more else constraint.bound > high
        span = f"{low:g} to {high:g}" if high < np.inf else f"{low:g} or more"
        may_be_percent = high < constraint.bound <= 100 and high < np.inf
        percent = f", write {constraint.bound:g}%" if may_be_percent else ""
        raise ConfigError(
            f"constraint '{constraint.text}' {'holds always' if is_kept else 'can never hold'}: "
            f"{constraint.metric} is {span}{percent}"
        )


def check_aggregation(text: str) -> str:
    """Return ``pooled``, ``mean``, ``worst``, or ``q`` with a whole percentage from 1 to 50."""
    quantile = _QUANTILE.fullmatch(text)
    if text in (POOLED, MEAN, WORST) or (quantile and int(quantile[1]) <= HIGHEST_QUANTILE):
        return text
    raise ConfigError(f"windows cannot be taken together as '{text}'; use {FORMS}")


def over_windows(values: Floats, how: str, *, more_is_better: bool) -> Floats:
    """Take values [P, W] of windows together, [P]; infinity is of nothing lost.

    NaN where a window is undefined, because no number stands for an unknown one; the mean is
    infinity where a window's is. A quantile is one of the values, the nearest one on the worse
    side, so that nothing is interpolated; metrics of windows do not yield ``pooled``.
    """
    is_known, is_endless = ~np.isnan(values).any(axis=1), np.isinf(values).any(axis=1)
    # A mean of numbers may be beyond all numbers.
    with np.errstate(over="ignore"):
        mean = sum_columns(values) / values.shape[1]
        together = mean if how == MEAN else _from_worst(values, how, more_is_better)
    return np.where(is_known & (is_endless | np.isfinite(together)), together, np.nan)


def _from_worst(values: Floats, how: str, more_is_better: bool) -> Floats:
    """The value [P] at the distance `how` from the worst."""
    percent = 0 if how == WORST else int(how[1:])
    rank = percent * (values.shape[1] - 1) // 100
    ordered = np.sort(values, axis=1)
    return np.asarray(ordered[:, rank if more_is_better else -1 - rank])


def measure_misses(values: Mapping[Constraint, Floats], count: int, *, is_soft: bool) -> Floats:
    """How far each hard or each soft constraint is missed, [P, C], by values [P] of its metric."""
    columns = [bound.misses(value) for bound, value in values.items() if bound.is_soft == is_soft]
    return np.column_stack(columns) if columns else np.zeros((count, 0))


def sum_columns(values: Floats) -> Floats:
    """Sum [P] of values [P, N], in the order of columns."""
    total = np.zeros(len(values), dtype=np.float64)
    for column in np.ascontiguousarray(values.T):
        total += column
    return total
