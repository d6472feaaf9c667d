"""A front in words: why it is empty, the nearest candidate, what to change, its bounds."""

from collections.abc import Container, Iterator, Mapping

import numpy as np

from data.shell import quote_word
from engine.accounts.metrics import FEWEST_DAYS, MetricTable
from engine.accounts.metrics import UNDEFINED as UNDEFINED_METRICS
from optimizer.formatting import format_count, metric, number
from optimizer.goals.arithmetic import REASONS, Inputs, evaluate
from optimizer.goals.constraints import Constraint, find_constraint
from optimizer.goals.formulas import read_formula
from optimizer.goals.objectives import RUINED, TOO_FEW_TRADES, find_base
from optimizer.search.generation import Floats

BROKEN, UNDEFINED = "broken", "undefined"
"""Text before the colon of a failure's name."""

REMEDIES = {
    TOO_FEW_TRADES: "Try longer data, wider bounds (--bound), or fewer --min-trades.",
    RUINED: "Stake less on a trade: a smaller --risk-fraction, or size of account(...); or lower "
    "costs if they are wrong.",
}

AT_A_BOUND = 0.01
"""Nearer to a bound than this share of the range is at the bound."""

Figures = Mapping[str, float | None]


def describe_bounds(
    genomes: Floats, bounds: Mapping[str, tuple[float, float]], unordered: Container[str] = ()
) -> str:
    """Genes of a front [F, G] at their bounds in a sentence, for the best may lie beyond.

    Beyond bounds of unordered genes lies nothing. Empty where no gene is at any.
    """
    phrases = []
    for (name, (low, high)), values in zip(bounds.items(), genomes.T, strict=True):
        near = AT_A_BOUND * (high - low)
        sides = (("minimum", low, values - low), ("maximum", high, high - values))
        for side, bound, distance in sides if high > low and name not in unordered else ():
            if count := int((distance <= near).sum()):
                phrases.append(f"{name} is at its {side} {number(bound)} in {number(count)}")
    if not phrases:
        return ""
    return f"Widen these bounds? {'; '.join(phrases)} of {format_count(len(genomes), 'member')}."


def describe_failures(failures: Mapping[str, int], evaluated: int) -> str:
    """All reasons of a search in a line, the most frequent first.

    >>> describe_failures({"broken:max_drawdown<=0.3": 6, "too_few_trades": 2}, 8)
    'Of 8 evaluated: broken max_drawdown<=0.3 6, too few trades 2.'
    """
    reasons = [f"{_words(name)} {number(failures[name])}" for name in by_count(failures)]
    return f"Of {number(evaluated)} evaluated: {', '.join(reasons) or 'none failed'}."


def by_count(failures: Mapping[str, int]) -> list[str]:
    """Names of failures, the most frequent first; of equals the first."""
    return sorted(failures, key=lambda name: -failures[name])


def describe_nearest(
    failures: Mapping[str, int],
    metrics: Figures,
    undefined: Mapping[str, str],
    formulas: Mapping[str, str] | None = None,
) -> str:
    """The candidate nearest to being feasible: its trades, and its misses.

    Failures are those of the whole search, by name; metrics those of the candidate, with reasons of
    undefined ones; formulas those of objectives with a name, by it.
    """
    named = formulas or {}
    missed = list(dict.fromkeys(_list_missed_limits(failures, metrics, undefined, named)))
    parts = [format_count(int(metrics.get("trades") or 0), "trade")]
    if rejected := int(metrics.get("rejected") or 0):
        parts.append(f"{format_count(rejected, 'signal')} rejected")
    return f"Nearest: {', '.join([*parts, *missed])}."


def advise(
    failures: Mapping[str, int],
    metrics: Figures,
    undefined: Mapping[str, str],
    *,
    is_silent: bool = False,
) -> str:
    """Advice on what to change, by the reason that failed most; too few days fail all.

    Arguments are as of `describe_nearest`. Where `is_silent`, no searched bar has a volume.
    """
    asked = (
        _find_metric(name.partition(":")[2]) for name in failures if name.startswith(UNDEFINED)
    )
    if short := [name for name in asked if undefined.get(name) == "few_days"]:
        return (
            f"Fewer than {FEWEST_DAYS} days with bars have no {short[0]}: search on longer data, "
            "or for --objectives strength,total_return."
        )
    first = next(iter(by_count(failures)), TOO_FEW_TRADES)
    if first == TOO_FEW_TRADES and (metrics.get("rejected") or 0) > (metrics.get("trades") or 0):
        return (
            "Most signals are rejected: stop or target lie on the wrong side of the entry, or the "
            "stop is too near; move the stop farther away."
        )
    if first == TOO_FEW_TRADES and is_silent and not metrics.get("trades"):
        return (
            "No bar has a volume, without which rules on volume never fire: search on bars that "
            "have one, or for rules that need none."
        )
    kind, _, text = first.partition(":")
    if kind == BROKEN:
        soft = quote_word(f"{text} soft")
        return f"Loosen the limit that failed most, or let it be missed: --constraint {soft}."
    if kind != UNDEFINED:
        return REMEDIES.get(kind, REMEDIES[TOO_FEW_TRADES])
    name = _find_metric(text)
    if find_constraint(text) is not None:
        return f"Leave out --constraint {quote_word(text)}: most candidates have no {name}."
    return f"Search for defined metrics, such as --objectives strength,mean_r, not {name}."


def _list_missed_limits(
    failures: Mapping[str, int],
    metrics: Figures,
    undefined: Mapping[str, str],
    formulas: Mapping[str, str],
) -> Iterator[str]:
    """Everything that failed in the search and that this candidate misses too."""
    for failure in failures:
        kind, _, text = failure.partition(":")
        if kind not in (BROKEN, UNDEFINED):
            continue
        name = _find_metric(text)
        value, why = _evaluate(formulas.get(text, name), metrics, undefined)
        if value is None:
            yield f"{name} undefined ({why.replace('_', ' ')})"
        elif kind == BROKEN and (bound := find_constraint(text)) and _is_missed(bound, value):
            limit = metric(name, bound.bound)
            yield f"{name} {metric(name, value)} beside a limit of {bound.sign} {limit}"


def _evaluate(
    name: str, metrics: Figures, undefined: Mapping[str, str]
) -> tuple[float | None, str]:
    """A metric or a formula of a candidate's figures; where undefined None, and why."""
    term = read_formula(name) if name not in metrics else None
    known = () if term is None else term.list_names("metric")
    if term is None or term.list_names("gene") or not set(known) <= metrics.keys():
        return metrics.get(name), undefined.get(name, "unknown")
    values = [np.nan if (value := metrics[one]) is None else value for one in known]
    reasons = [UNDEFINED_METRICS.index(undefined.get(one, "")) for one in known]
    shape = (1, 1, len(known))
    table = MetricTable(
        np.reshape(values, shape), np.reshape(reasons, shape).astype(np.int8),
        np.zeros((1, 1), np.bool_), known,
    )  # fmt: skip
    found = evaluate(term, Inputs(table, {}), explains=True)
    if found.reasons is None:
        return float(found.numbers[0, 0]), ""
    return None, REASONS[int(found.reasons[0, 0])]


def _is_missed(bound: Constraint, value: float) -> bool:
    """True if a value of all windows misses a bound; other ways of taking them are unknown."""
    return not bound.over and not bound.holds(np.array([value])).all()


def _find_metric(text: str) -> str:
    """The metric or formula of an objective or a constraint, by its name."""
    bound = find_constraint(text)
    return find_base(text) if bound is None else bound.metric


def _words(failure: str) -> str:
    """A failure's name for people: metrics keep theirs."""
    kind, colon, text = failure.partition(":")
    return f"{kind} {text}" if colon else kind.replace("_", " ")
