"""Formulas: read into one form, computed to the last bit, refused in one line at their place."""

import ast
import decimal
import hashlib
import math
import re
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.metrics import NO_LOSSES, MetricTable, Span, compute_metrics
from optimizer.errors import ConfigError
from optimizer.goals.arithmetic import REASONS, Inputs, evaluate, exp, log
from optimizer.goals.constraints import parse_constraint
from optimizer.goals.formulas import read_formula
from optimizer.goals.objectives import Goals, is_maximised, parse_objective, parse_objectives
from tests.support.paths import ROOT

NUMBERS = ("0", "0.5", "1", "2", "3", "0.1", "7.25", "100", "1e-3", "1e300")
METRICS = ("trades", "cagr", "max_drawdown", "win_rate", "mean_r", "profit_factor", "gene.stop")
OPERATORS = ("+", "-", "*", "/")
SIGNS = ("<", "<=", ">", ">=", "==", "!=")
NAN, INF = math.nan, math.inf


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
    return None if left is None or right is None else OPERATIONS[type(node.op)](left, right)


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
    times, result = OPERATIONS[ast.Mult], 1.0
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


def _apply(function, x):
    """A function of arrays, which is held against decimals below, of one number."""
    with np.errstate(all="ignore"):
        return float(function(np.array([x]))[0])


CALLED = {
    "min": lambda *parts: min(parts) + 0.0,
    "max": lambda *parts: max(parts) + 0.0,
    "abs": abs,
    "sqrt": _root,
    "log": lambda x: _define(_apply(log, x)),
    "exp": lambda x: None if (e := _apply(exp, x)) == INF and x != INF else e,
}
OPERATIONS = {
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


NAMES = METRICS[:-1]


def make_table(columns, why=()):
    """Metrics of individuals in a window, by columns [P]; `why` are reasons of some."""
    values = np.array([columns[name] for name in columns], float).T[:, None]
    reasons = np.zeros(values.shape, np.int8)
    for name, individual, reason in why:
        reasons[individual, 0, list(columns).index(name)] = reason
    return MetricTable(values, reasons, np.zeros(values.shape[:2], bool), tuple(columns))


# What a person writes; the name, the formula and the direction that it stands for.
READ = {
    "cagr/max( max_drawdown,5% )": (
        "cagr / max(max_drawdown, 0.05)", "cagr / max(max_drawdown, 0.05)", True),
    "robust = cagr - (1-cagr):min@worst": ("robust:min@worst", "cagr - (1 - cagr)", False),
    "(cagr - 1) - cagr": ("cagr - 1 - cagr", "cagr - 1 - cagr", True),
    "-cagr^2": ("-cagr ^ 2", "-cagr ^ 2", True),
    "(-cagr)^-2": ("(-cagr) ^ (-2)", "(-cagr) ^ (-2)", True),
    "where(trades>30, cagr, 0)@near": (
        "where(trades > 30, cagr, 0)@near", "where(trades > 30, cagr, 0)", True),
    "gene.stop:min": ("gene.stop:min", "gene.stop", False),
    "gene.länge_1:min": ("gene.länge_1:min", "gene.länge_1", False),
    "std_r:min": ("std_r:min", "std_r", False),
    "(max_drawdown)": ("max_drawdown", "max_drawdown", False),
    "calm = max_drawdown": ("calm:min", "max_drawdown", False),
    "expectancy * 2": ("mean_r * 2", "mean_r * 2", True),
}  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_an_objective_has_one_form(text):
    """It reads back as itself, and its name says whether more is better."""
    name, formula, maximise = READ[text]
    objective = parse_objective(text)
    assert (objective.name, objective.metric, objective.maximise) == (name, formula, maximise)
    assert is_maximised(name) == maximise
    assert read_formula(formula).text == formula


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cagr@worst > 2*max_drawdown soft", "(cagr - 2 * max_drawdown)@worst > 0.0 soft"),
        ("0.3 >= max_drawdown", "max_drawdown<=0.3"),
        ("trades * exposure < 1/4", "trades * exposure < 0.25"),
        ("  max_drawdown<=30% ", "max_drawdown<=0.3"),
        ("sharpe@worst > -1e-3", "sharpe@worst>-0.001"),
        ("trades >= 100 soft", "trades>=100.0 soft"),
        ("expectancy > 0 hard", "mean_r>0.0"),
        ("cagr >= -0", "cagr>=0.0"),
    ],
)
def test_a_constraint_has_one_form(text, expected):
    """Whatever stands on its right side, and whatever spaces, percent or case there are."""
    constraint = parse_constraint(text)
    assert constraint.text == expected
    assert parse_constraint(expected) == constraint


def test_drawn_formulas_equal_plain_python():
    """5,000 of them in every bit, by fractions rounded once an operation; so do their texts."""
    rng = np.random.default_rng(69)
    individuals = 3
    n_known = 0
    for _ in range(5000):
        text = draw_formula(rng, int(rng.integers(2, 8)))
        columns = {name: rng.normal(0, 2, individuals).tolist() for name in METRICS}
        columns["trades"] = rng.integers(0, 5, individuals).astype(float).tolist()
        columns["cagr"][0] = NAN
        columns["win_rate"][1] = 0.0
        columns["profit_factor"][2] = NAN
        table = make_table(
            {name: columns[name] for name in NAMES}, [("profit_factor", 2, NO_LOSSES)]
        )
        term = read_formula(text)
        assert read_formula(term.text) == term
        found = evaluate(term, Inputs(table, {"stop": np.array(columns["gene.stop"])})).numbers
        found = np.broadcast_to(found, (individuals, 1))[:, 0].tolist()
        columns["profit_factor"][2] = INF
        for individual, number in enumerate(found):
            values = {
                name: None if math.isnan(column[individual]) else column[individual]
                for name, column in columns.items()
            }
            expected = compute_plainly(text, values)
            n_known += expected is not None
            wanted = (NAN if expected is None else float(expected)).hex()
            assert number.hex() == wanted, (text, values)
    assert n_known > 7_000


def test_logarithms_and_exponentials_are_within_a_last_place():
    """Of exact values; and exact where these are numbers."""
    rng = np.random.default_rng(2)
    x = np.concatenate([np.exp(rng.uniform(-700, 700, 300)), rng.uniform(0.5, 2, 300), [5e-324]])
    with decimal.localcontext(prec=60):
        for numbers, computed, exact in (
            (x, log(x), decimal.Decimal.ln),
            (rng.uniform(-740, 709, 600), None, decimal.Decimal.exp),
        ):
            values = exp(numbers) if computed is None else computed
            for number, value in zip(numbers.tolist(), values.tolist(), strict=True):
                error = abs(decimal.Decimal(value) - exact(decimal.Decimal(number)))
                assert error <= decimal.Decimal(math.ulp(value)), number
    assert (log(np.ones(1))[0], exp(np.zeros(1))[0]) == (0.0, 1.0)
    even = np.arange(1, 4001) / 8
    bits = log(even).tobytes() + exp(250 - even).tobytes()
    # No version changes one.
    assert hashlib.sha256(bits).hexdigest()[:16] == "590d1a44f2348d3f"


# A formula, what it reads, its value, and why it has none.
COMPUTED = {
    "cagr / max_drawdown": ({"cagr": 1.0, "max_drawdown": 0.0}, NAN, "division_by_zero"),
    "1 / (1 / max_drawdown)": ({"max_drawdown": 0.0}, NAN, "division_by_zero"),
    "max_drawdown ^ -1": ({"max_drawdown": 0.0}, NAN, "division_by_zero"),
    "min(5, 1 / max_drawdown)": ({"max_drawdown": 0.0}, NAN, "division_by_zero"),
    "sqrt(cagr)": ({"cagr": -1.0}, NAN, "no_real_number"),
    "log(trades)": ({"trades": 0.0}, NAN, "no_real_number"),
    "cagr ^ 0.5": ({"cagr": -1.0}, NAN, "no_real_number"),
    "exp(trades)": ({"trades": 710.0}, NAN, "overflow"),
    "trades * 1e300": ({"trades": 1e9}, NAN, "overflow"),
    "sharpe + 1": ({"sharpe": "no_variation"}, NAN, "no_variation"),
    "where(trades > 1, trades, sharpe)": ({"trades": 2.0, "sharpe": "no_trades"}, 2.0, ""),
    "where(sharpe > 1, trades, 0)": ({"trades": 2.0, "sharpe": "one_trade"}, NAN, "one_trade"),
    "where(trades > 1, sharpe, cagr)": (
        {"trades": 2.0, "sharpe": "one_trade", "cagr": "no_trades"}, NAN, "one_trade"),
    "where(trades > 2, sharpe, cagr)": (
        {"trades": 2.0, "sharpe": "one_trade", "cagr": "no_trades"}, NAN, "no_trades"),
    "min(profit_factor, 5)": ({"profit_factor": "no_losses"}, 5.0, ""),
    "log(profit_factor)": ({"profit_factor": "no_losses"}, INF, ""),
    "1 / profit_factor": ({"profit_factor": "no_losses"}, 0.0, ""),
    "profit_factor - sortino": (
        {"profit_factor": "no_losses", "sortino": "no_losses"}, NAN, "no_limit"),
    "profit_factor / trades": ({"profit_factor": "no_losses", "trades": 0.0}, NAN,
        "division_by_zero"),
    "2 * profit_factor - trades": ({"profit_factor": "no_losses", "trades": 9.0}, INF, ""),
}  # fmt: skip


@pytest.mark.parametrize("text", COMPUTED)
def test_a_formula_without_a_value_has_a_reason(text):
    """Of the first part that lacks one, or its own; a metric without losses is its limit."""
    columns, value, reason = COMPUTED[text]
    why = [(name, 0, REASONS.index(x)) for name, x in columns.items() if isinstance(x, str)]
    table = make_table({n: [NAN if isinstance(x, str) else x] for n, x in columns.items()}, why)
    numbers, reasons = evaluate(read_formula(text), Inputs(table, {}), explains=True)
    assert np.array_equal(numbers, [[value]], equal_nan=True)
    assert (REASONS[int(reasons[0, 0])] if reasons is not None else "") == reason


def test_who_never_loses_ranks_first_in_what_rises_with_it():
    """And last in what falls with it; of two the one of more trades."""
    table = make_table(
        {"trades": [40.0, 60.0, 50.0], "profit_factor": [NAN, NAN, 3.0]},
        [("profit_factor", 0, NO_LOSSES), ("profit_factor", 1, NO_LOSSES)],
    )
    for text, order in {
        "profit_factor * 2": [1, 0, 2], "2 - profit_factor:min": [1, 0, 2],
        "1 / profit_factor:min": [0, 1, 2],
    }.items():  # fmt: skip
        judged = Goals(parse_objectives(text)).judge(table)
        assert np.argsort(judged.objectives[:, 0], kind="stable").tolist() == order
    judged = Goals(parse_objectives("2 - profit_factor")).judge(table)
    assert np.isnan(judged.objectives[:, 0]).tolist() == [True, True, False]


def test_genes_and_windows_have_their_say():
    """A gene is that of each candidate; windows are taken together after the formula."""
    values = np.array([[[30.0, 2.0], [30.0, 6.0]], [[30.0, 3.0], [30.0, 4.0]]])
    table = MetricTable(
        values, np.zeros(values.shape, np.int8), np.zeros((2, 2), bool), ("trades", "sum_r")
    )
    for text, expected in {
        "sum_r / gene.b@worst": [0.2, 0.15],
        "sum_r - gene.b@mean": [-6, -16.5],
    }.items():
        goals = Goals(parse_objectives(text), over="mean", gene_names=("a", "b"))
        judged = goals.judge(table, genomes=np.array([[0.0, 10.0], [0.0, 20.0]]))
        assert goals.natural(judged.objectives)[:, 0].tolist() == expected


def list_losses():
    """Losses of the page, by the name that they have elsewhere."""
    page = (ROOT / "docs" / "howto" / "goals.md").read_text()
    return dict(re.findall(r"^\| `(\w+HyperOptLoss\w*)` \| `(.+?)` \|", page, re.MULTILINE))


@pytest.mark.parametrize("name", list_losses())
def test_a_loss_of_the_page_is_a_goal(name):
    """Of a candidate with an edge it has a value; of one without, a worse one."""
    accumulators = np.zeros((2, 1, len(ACCUMULATORS)))
    sums = {
        "trades": 60, "wins": 40, "sum_r2": 90, "gain_r": 50, "peak_equity": 1.5,
        "bars_in_market": 600, "max_drawdown": 0.1, "max_drawdown_r": 6, "loss_r2": 20,
    }  # fmt: skip
    for column, value in sums.items():
        accumulators[:, :, ACCUMULATOR_INDEX[column]] = value
    differing = {"sum_r": [20, -5], "loss_r": [30, 55], "equity": [1.2, 0.95]}
    for column, values in differing.items():
        accumulators[:, 0, ACCUMULATOR_INDEX[column]] = values
    goals = Goals(parse_objectives(list_losses()[name]))
    judged = goals.judge(compute_metrics(accumulators, [Span(9000, 1.0)], goals.metrics))
    good, bad = judged.objectives[:, 0]
    assert good < bad


# Formulas that are refused, with the place and a word of the reason.
REFUSED = {
    "cagr / mx(max_drawdown, 1)": "character 8: function 'mx' is unknown; known: abs, exp, log, "
    "max, min, sqrt, where; did you mean 'max'?",
    "cagr / max_drawdwn": "character 8: metric 'max_drawdwn' is unknown; did you mean",
    "cagr ++ 2": "character 7", "cagr cagr": "character 6: an operator", "(cagr": "at the end",
    "cagr)": "character 5", "max(cagr)": "two or more", "log(cagr, 2)": "takes 1 value, not 2",
    "where(cagr, 1, 2)": "value 1 of where(...) must be a condition",
    "where(cagr > 1, cagr > 2, 2)": "value 2 of where(...) must be a number",
    "max(cagr > 1, 2)": "must be a number, not a condition", "cagr > 1": "a condition is no number",
    "(cagr > 1) + 2": "takes numbers", "-(cagr > 1)": "takes numbers",
    "(cagr > 1) * (trades > 2)": "takes numbers", "cagr < 1 < 2": "second",
    "cagr ^ trades": "exp(y * log(x))", "cagr^2^3": "brackets", "cagr ** 2": "written ^",
    "cagr ^ 65": "from -64 to 64", "cagr ^ (1 / 0)": "from -64 to 64", "1 + 2": "neither",
    "ulcer": "shown members only", "cagr / ulcer": "character 8: 'ulcer' is measured",
    "gene.": "its name is missing", "gene": "unknown", "std_r": ":max or",
    "sharpe = cagr": "'sharpe' is taken", "missed = cagr": "is taken",
    "a = cagr = 2": "missing before",
    f"{'n' * 41} = cagr": "up to 40", "cagr + 1e999": "character 8: 1e999 is too large",
    "cagr + @worst": "at the end", "cagr:up": "direction 'up'", "cagr * 2@often": "or near",
    "SQN * 2": "backtesting.py", "__import__('os').system('true')": "'__import__' is unknown",
    "cagr.__class__": "is unknown", "cagr\x1b[31m": "means nothing|operator is missing",
    "lambda: cagr": "unknown|must look like", "cagr; cagr": "operator", "[cagr]": "means nothing",
    "cagr if cagr else 1": "operator", "'cagr'": "means nothing", "cagr = 2": "unknown|taken",
    "max(cagr,": "at the end", "max(,cagr)": "missing", "max()": "missing", ".": "missing|means",
    "cagr and trades": "operator", "open('/etc/passwd')": "'open' is unknown",
    "1..2 * cagr": "operator", "\u0663 * cagr": "means nothing", "cagr \u00d7 2": "operator",
    "\uff43agr": "unknown|means", "0x10 * cagr": "operator",
}  # fmt: skip


def list_hostile():
    """Formulas that are huge, deep or broken at random."""
    rng = np.random.default_rng(4)
    yield from ("(" * n + "cagr" + ")" * n for n in (31, 200, 400, 20_000))
    yield from ("-" * n + "cagr" for n in (31, 900, 100_000))
    yield from (" + ".join(["cagr"] * n) for n in (51, 120, 50_000))
    yield from ("max(" * n + "cagr" + ", 1)" * n for n in (31, 100, 9_000))
    yield from ("9" * n + " * cagr" for n in (400, 5_000))
    yield from (" " * 100_000 + "§", "cagr^" * 150 + "2", "\0", "\n", "cagr\n;", "(" * 999)
    pieces = ["cagr", "max", "gene.", "where", *"(),^=<2%§'-"]
    while True:
        yield "".join(rng.choice(pieces, int(rng.integers(2, 12))))


def test_each_wrong_formula_is_one_line():
    """200 of them, at their place and with the remedy; none takes long, none is executed."""
    for text, words in REFUSED.items():
        message = find_refusal(text)
        assert any(word in message for word in words.split("|")), (text, message)
    messages = filter(None, map(find_refusal, list_hostile()))
    for message in islice(messages, 200 - len(REFUSED)):
        assert message.isprintable()
        assert len(message) < 700


def find_refusal(text):
    """The line that refuses a text; empty where it is legal."""
    try:
        parse_objective(text)
    except ConfigError as error:
        return str(error)
    return ""
