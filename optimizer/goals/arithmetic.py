"""Formulas on whole arrays: float64, one rounding per operation, in the order as written.

Every operation is one of IEEE 754, or a fixed sequence of them, so that each processor gives the
same bits: `exp`, `log` and powers are defined here, for those of libraries differ in the last one.
Undefined values stay undefined: NaN, with the reason of the first value that lacks one. A metric
that lacks nothing but losses is infinity, and a formula of it its limit.

Source: `exp` and `log` after FDLIBM 5.3 (Sun Microsystems, 1993): within one unit of the last
place.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accounts.metrics import NO_DRAWDOWN, NO_LOSSES, OVERFLOW, UNDEFINED, MetricTable, power
from optimizer.errors import ConfigError
from optimizer.formatting import WITHOUT_LOSSES
from optimizer.goals.formulas import FormulaNode
from optimizer.search.generation import Floats

Codes = npt.NDArray[np.int8]

REASONS = (*UNDEFINED, "division_by_zero", "no_real_number", "no_limit")
"""Why a formula is undefined: by a metric, or by itself."""

DIVISION, NO_REAL, NO_LIMIT = range(len(UNDEFINED), len(REASONS))

LARGEST_POWER = 64.0

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
INVERSE_LN2 = 1.44269504088896338700
ROOT_HALF = 0.7071067811865476
LOG_TERMS = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
EXP_TERMS = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
LARGEST_EXPONENT = 800.0
"""Beyond, either way, an exponential is no number or 0."""


class Values(NamedTuple):
    """Values of a formula."""

    numbers: Floats  # [P, W], or what becomes it; NaN where undefined, infinite at a limit
    # As `numbers`, index in `REASONS`; None where all are defined, or reasons are not wanted.
    reasons: Codes | None = None


Compute = Callable[..., Floats]


class Inputs(NamedTuple):
    """Inputs of formulas: metrics of individuals in windows, and their genes."""

    table: MetricTable  # of P individuals in W windows
    genes: Mapping[str, Floats]  # [P] of each gene that is read


def evaluate(term: FormulaNode, inputs: Inputs, *, explains: bool = False) -> Values:
    """Values of a formula, [P, W] once broadcast; with reasons if it explains."""
    if term.kind == "number":
        return Values(np.full((1, 1), term.number))
    if term.kind == "gene":
        return Values(inputs.genes[term.name][:, None])
    if term.kind == "metric":
        numbers = list_values(inputs.table, term.name)
        return Values(
            numbers, _list_reasons(term.name, inputs.table, numbers) if explains else None
        )
    if term.kind == "^":
        term = _write_as_quotient(term)
    parts = [evaluate(part, inputs, explains=explains) for part in term.parts]
    compute, reason = OPERATIONS[term.kind]
    with np.errstate(all="ignore"):
        numbers = compute(*(part.numbers for part in parts))
    divisor = parts[1].numbers if term.kind == "/" else None
    is_end = np.isinf(numbers)
    if is_end.any():
        is_limit = reduce(np.logical_or, (np.isinf(part.numbers) for part in parts))
        if divisor is not None:
            is_limit = is_limit & (divisor != 0.0)
        numbers = np.where(is_end & ~is_limit, np.nan, numbers)
    if not explains or not np.isnan(numbers).any():
        return Values(numbers)
    return Values(numbers, _explain(numbers, parts, reason, chooses=term.kind == "where"))


def _write_as_quotient(power_of: FormulaNode) -> FormulaNode:
    """A power, as 1 over another where its exponent is below 0."""
    base, exponent = power_of.parts
    number = evaluate_constant(exponent)
    if number >= 0.0:
        return power_of
    one, positive = (FormulaNode("number", number=each) for each in (1.0, -number))
    return FormulaNode("/", (one, FormulaNode("^", (base, positive))))


def evaluate_constant(term: FormulaNode) -> float:
    """Value of a formula that reads nothing; NaN if undefined."""
    table = MetricTable(np.empty((1, 1, 0)), np.empty((1, 1, 0), np.int8), np.zeros((1, 1), bool))
    return float(evaluate(term, Inputs(table, {})).numbers[0, 0])


def check_powers(term: FormulaNode) -> None:
    """Refuse exponents that are too large, or no numbers.

    Raises:
        ConfigError: Naming the first.
    """
    for power_of in (each for each in term.walk() if each.kind == "^"):
        exponent = power_of.parts[1]
        if not abs(evaluate_constant(exponent)) <= LARGEST_POWER:
            most = f"{LARGEST_POWER:g}"
            raise ConfigError(f"in ^ {exponent.text}: an exponent is from -{most} to {most}")


def list_values(table: MetricTable, metric: str) -> Floats:
    """A metric [P, W]: infinity if undefined for want of losses, NaN if for another reason."""
    values = table.column(metric)
    known: Floats = np.where(np.isfinite(values), values, np.nan)
    if metric not in WITHOUT_LOSSES:
        return known
    reasons = table.why(metric)
    return np.where((reasons == NO_LOSSES) | (reasons == NO_DRAWDOWN), np.inf, known)


def log(x: Floats) -> Floats:
    """Natural logarithms of numbers; NaN below 0 and at 0."""
    fraction, exponent = np.frexp(x)
    is_low = fraction < ROOT_HALF
    k = np.subtract(exponent, is_low, dtype=np.float64)
    f = fraction * np.add(is_low, 1.0) - 1.0
    s = f / (2.0 + f)
    z = s * s
    series = z * np.polyval(LOG_TERMS[::-1], z)
    half = 0.5 * f * f
    logarithm: Floats = k * LN2_HIGH - ((half - (s * (half + series) + k * LN2_LOW)) - f)
    np.copyto(logarithm, np.nan, where=~(x > 0.0))
    np.copyto(logarithm, np.inf, where=x == np.inf)
    return logarithm


def exp(x: Floats) -> Floats:
    """Exponentials of numbers, infinity where too large."""
    x = np.minimum(np.maximum(x, -LARGEST_EXPONENT), LARGEST_EXPONENT)
    k = np.rint(x * INVERSE_LN2)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    square = r * r
    c = r - square * np.polyval(EXP_TERMS[::-1], square)
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    exponential: Floats = np.ldexp(y, k.astype(np.int32))
    return exponential


def raise_power(base: Floats, exponent: Floats) -> Floats:
    """Powers from 0 on: whole ones by products, fractions by square roots, as `metrics.power`."""
    return np.where(np.isnan(base), np.nan, power(base, float(exponent[0, 0])))


def _list_reasons(metric: str, table: MetricTable, numbers: Floats) -> Codes | None:
    """Reasons of a metric [P, W]; None if defined."""
    is_unknown = np.isnan(numbers)
    if not is_unknown.any():
        return None
    why = table.why(metric)
    return np.where(is_unknown, np.where(why > 0, why, OVERFLOW), 0).astype(np.int8)


def _explain(
    numbers: Floats, parts: Sequence[Values], reason: int, *, chooses: bool = False
) -> Codes:
    """Reasons of an operation: of its first part that lacks a value, else its own.

    With `chooses` the first part is a condition, which says which other one counts.
    """
    is_limit = reduce(np.logical_or, (np.isinf(part.numbers) for part in parts))
    own = np.where(is_limit, NO_LIMIT, OVERFLOW if reason == DIVISION else reason)
    if reason == DIVISION:
        own = np.where(parts[1].numbers == 0.0, DIVISION, own)
    for number, part in reversed(list(enumerate(parts))):
        if part.reasons is not None:
            is_first = part.reasons > 0
            if chooses and number > 0:
                is_first = is_first & (parts[0].numbers == float(number == 1))
            own = np.where(is_first, part.reasons, own)
    return np.where(np.isnan(numbers), own, 0).astype(np.int8)


def _compare(compare: Compute) -> Compute:
    """Comparison as 1 or 0; NaN where a side is, or both are without end."""

    def evaluate_sides(left: Floats, right: Floats) -> Floats:
        holds = compare(left, right).astype(np.float64)
        np.copyto(holds, np.nan, where=np.isnan(left - right))
        return holds

    return evaluate_sides


def _extreme(choose: Compute) -> Compute:
    """The least or the largest of several; a zero has no sign then, for processors differ."""
    return lambda *numbers: reduce(choose, numbers) + 0.0


def _where(condition: Floats, chosen: Floats, other: Floats) -> Floats:
    either = np.where(condition == 1.0, chosen, other)
    np.copyto(either, np.nan, where=np.isnan(condition))
    return either


OPERATIONS: Mapping[str, tuple[Compute, int]] = {
    "+": (np.add, OVERFLOW),
    "-": (np.subtract, OVERFLOW),
    "*": (np.multiply, OVERFLOW),
    "/": (np.divide, DIVISION),
    "^": (raise_power, NO_REAL),
    "negative": (np.negative, OVERFLOW),
    "abs": (np.abs, OVERFLOW),
    "sqrt": (np.sqrt, NO_REAL),
    "log": (log, NO_REAL),
    "exp": (exp, OVERFLOW),
    "min": (_extreme(np.minimum), OVERFLOW),
    "max": (_extreme(np.maximum), OVERFLOW),
    "where": (_where, OVERFLOW),
    "<": (_compare(np.less), OVERFLOW),
    "<=": (_compare(np.less_equal), OVERFLOW),
    ">": (_compare(np.greater), OVERFLOW),
    ">=": (_compare(np.greater_equal), OVERFLOW),
    "==": (_compare(np.equal), OVERFLOW),
    "!=": (_compare(np.not_equal), OVERFLOW),
}
"""Each operation, and why its value is undefined where its parts are defined."""
