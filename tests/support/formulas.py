"""Formulas drawn at random, and the same arithmetic in plain Python on fractions."""

import ast
import math
from fractions import Fraction

NUMBERS = ("0", "0.5", "1", "2", "3", "0.1", "7.25", "100", "1e-3", "1e300")
METRICS = ("trades", "cagr", "max_drawdown", "win_rate", "mean_r", "profit_factor", "gene.stop")
OPERATORS = ("+", "-", "*", "/")
SIGNS = ("<", "<=", ">", ">=", "==", "!=")


def draw_formula(rng, size):
    """Text of a formula of about so many names, spaces and brackets at random."""
    gap = " " * int(rng.integers(0, 2))
    if size <= 1:
        return str(rng.choice(NUMBERS if rng.random() < 0.3 else METRICS))
    left = int(rng.integers(1, size))
    a, b = (draw_formula(rng, part) for part in (left, size - left))
    kind = rng.random()
    if kind < 0.55:
        text = f"{a}{gap}{rng.choice(OPERATORS)}{gap}{b}"
        return f"({text})" if rng.random() < 0.4 else text
    if kind < 0.65:
        return f"{rng.choice(('min', 'max'))}({a},{gap}{b})"
    if kind < 0.75:
        third = draw_formula(rng, 1)
        return f"where({a} {rng.choice(SIGNS)} {third},{gap}{b}, {draw_formula(rng, 1)})"
    if kind < 0.9:
        name = rng.choice(("abs", "sqrt", "log", "exp"))
        return f"{name}({a}){gap}{rng.choice(OPERATORS)} {b}"
    if kind < 0.95:
        return f"-{a} * {b}"
    return f"({a}) ^ {rng.choice(('2', '3', '0.5', '-1', '1.25', '(1 / 3)'))} - {b}"


def compute_plainly(text, values):
    """Value of a formula by Python's own grammar; None where it is undefined.

    `values` are numbers by name: None where undefined, infinite where nothing was lost.
    """
    return _compute(ast.parse(text.strip().replace("^", "**"), mode="eval").body, values)


def _compute(node, values):
    match node:
        case ast.Constant():
            return float(node.value)
        case ast.Name():
            return values[node.id]
        case ast.Attribute():
            return values[f"gene.{node.attr}"]
        case ast.UnaryOp():
            value = _compute(node.operand, values)
            return None if value is None else -value
        case ast.Compare():
            left, right = _compute(node.left, values), _compute(node.comparators[0], values)
            return None if _is_unknown(left, right) else COMPARED[type(node.ops[0])](left, right)
        case ast.Call(func=ast.Name("where")):
            condition, *either = (_compute(part, values) for part in node.args)
            return None if condition is None else either[0 if condition else 1]
        case ast.Call():
            parts = [_compute(part, values) for part in node.args]
            return None if None in parts else CALLED[node.func.id](*parts)
    left, right = _compute(node.left, values), _compute(node.right, values)
    return None if left is None or right is None else COMPUTED[type(node.op)](left, right)


def _is_unknown(left, right):
    return left is None or right is None or (math.isinf(left) and left == right)


def _rational(operate):
    """An operation on fractions, rounded once; infinities by the rules of limits."""

    def compute(left, right):
        if math.isinf(left) or math.isinf(right):
            return _define(operate(left, right))
        try:
            exact = operate(Fraction(left), Fraction(right))
            return float(exact) if exact else operate(left, right)
        except (OverflowError, ZeroDivisionError):
            return None

    return compute


def _define(value):
    return None if math.isnan(value) else value


def _divide(left, right):
    return None if right == 0 else _rational(lambda a, b: a / b)(left, right)


def _raise(base, exponent):
    """Whole powers one multiplication after another, fractions a root after another, of 53 bits."""
    times, result = COMPUTED[ast.Mult], 1.0
    whole = int(abs(exponent))
    rest, root = abs(exponent) - whole, base
    for _ in range(whole):
        result = None if result is None else times(result, base)
    for _ in range(53):
        if not rest or result is None:
            break
        root, rest = _root(root), 2 * rest
        if root is None:
            return None
        if rest >= 1:
            result, rest = times(result, root), rest - 1
    return result if result is None or exponent >= 0 else _divide(1.0, result)


def _root(x):
    return math.sqrt(x) if x >= 0 else None


def _log(x):
    if x <= 0 or math.isinf(x):
        return x if x > 0 else None
    fraction, k = math.frexp(x)
    if fraction < math.sqrt(0.5):
        fraction, k = 2 * fraction, k - 1
    f = fraction - 1.0
    s = f / (2.0 + f)
    series = (s * s) * _sum_powers(s * s, LOG_TERMS)
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + series) + k * LN2_LOW)) - f)


def _exp(x):
    x = min(max(x, -800.0), 800.0) if math.isfinite(x) else math.copysign(800.0, x)
    k = float(round(x * 1.44269504088896338700))
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    c = r - (r * r) * _sum_powers(r * r, EXP_TERMS)
    try:
        return math.ldexp(1.0 - ((low - (r * c) / (2.0 - c)) - high), int(k))
    except OverflowError:
        return math.inf


def _sum_powers(z, terms):
    total = z * terms[-1] + terms[-2]
    for term in terms[-3::-1]:
        total = z * total + term
    return total


LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG_TERMS = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860510658591e-01,
)  # fmt: skip
EXP_TERMS = (
    1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05,
    -1.65339022054652515390e-06, 4.13813679705723846039e-08,
)  # fmt: skip
CALLED = {
    "min": lambda *parts: min(parts) + 0.0,
    "max": lambda *parts: max(parts) + 0.0,
    "abs": abs,
    "sqrt": _root,
    "log": _log,
    "exp": lambda x: None if (e := _exp(x)) == math.inf and math.isfinite(x) else e,
}
COMPUTED = {
    ast.Add: _rational(lambda a, b: a + b),
    ast.Sub: _rational(lambda a, b: a - b),
    ast.Mult: _rational(lambda a, b: a * b),
    ast.Div: _divide,
    ast.Pow: _raise,
}
COMPARED = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
