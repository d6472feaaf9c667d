"""Words of genes: numbers, choices and switches that a search may change."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from data.plain import quote_value
from strategy.conditions import Switch
from strategy.errors import StrategyError
from strategy.expressions import Choose, Expression, GeneValue, holds_row
from strategy.gene import Gene
from strategy.language import Claim, Operand, Term, as_condition, as_expression, word
from strategy.pretty_print import format_tree
from strategy.source_location import here, locate_errors

OFF_ON = ("off", "on")
"""Options of a switch."""


@word
def gene(
    name: str,
    default: float | None = None,
    low: float | None = None,
    high: float | None = None,
    unit: str = "1",
    step: float | None = None,
) -> Term:
    """A real number that a search may change, from `low` to `high`, in steps where it has one."""
    return _make_number(name, "float", default, low, high, unit, step)


@word
def length(
    name: str, default: int | None = None, low: int | None = None, high: int | None = None
) -> Term:
    """A whole number of bars that a search may change."""
    return _make_number(name, "int", default, low, high, "bars")


@word
def whole(
    name: str,
    default: int | None = None,
    low: int | None = None,
    high: int | None = None,
    unit: str = "1",
) -> Term:
    """Another whole number that a search may change."""
    return _make_number(name, "int", default, low, high, unit)


class ChosenIndicator:
    """One of several indicators by a gene: called as each of them is, it is a row."""

    def __init__(self, gene: GeneValue, options: Sequence[Callable[..., object]]) -> None:
        self._gene, self._options = gene, tuple(options)
        self.__name__, self.__signature__ = gene.gene.name, inspect.signature(options[0])

    @locate_errors
    def __call__(self, *args: Operand, **kwargs: Operand) -> Term:
        """The row of these arguments."""
        rows = tuple(as_expression(option(*args, **kwargs)) for option in self._options)
        return Term(Choose(self._gene, rows))


@word
def choice(name: str, *options: Any, default: str | None = None) -> Any:  # noqa: ANN401 - of either kind
    """One of several rows, or of several indicators, that a search may choose.

    Args:
        name: Of the gene, whose values are the options by their names.
        options: Rows, each named as it is written; or indicators that take the same, words,
            indicators of one's own, or functions of rows, each named as it is called.
        default: Name of an option; the first of them where it is left out.

    Returns:
        A row; or of indicators what is called as they are.
    """
    rows = [option for option in options if isinstance(option, Term) and holds_row(option.tree)]
    calls = [option for option in options if callable(option) and hasattr(option, "__name__")]
    if len(options) < 2 or len(options) not in (len(rows), len(calls)):
        raise StrategyError(
            f"choice({quote_value(name)}, ...) takes two options or more, all of them rows, such "
            "as close, or all of them indicators without brackets, such as sma"
        )
    if rows:
        trees: list[Expression] = [row.tree for row in rows]
        value = _make_options(name, [format_tree(tree) for tree in trees], default)
        return Term(Choose(value, tuple(trees)))
    _check_parameters(name, calls)
    return ChosenIndicator(_make_options(name, [call.__name__ for call in calls], default), calls)


@word
def switch(name: str, condition: Claim, default: bool = True) -> Claim:
    """A condition that a search may leave out, as if it had not been written."""
    if not isinstance(default, bool):
        raise StrategyError(f"switch: default is True or False, got {quote_value(default)}")
    value = _make_options(name, OFF_ON, OFF_ON[default])
    return Claim(Switch(value, as_condition(condition, "what is switched")))


def _check_parameters(name: str, calls: Sequence[Callable[..., object]]) -> None:
    """Refuse indicators of which two do not take the same."""
    taken = [", ".join(inspect.signature(call).parameters) for call in calls]
    for call, parameters in zip(calls, taken, strict=True):
        if parameters != taken[0]:
            raise StrategyError(
                f"choice('{name}', ...): {calls[0].__name__} takes ({taken[0]}), "
                f"{call.__name__} takes ({parameters}); options of a choice take the same"
            )


def _make_options(name: str, options: Sequence[str], default: str | None) -> GeneValue:
    _check_name(name)
    names = tuple(options)
    if default is not None and default not in names:
        raise StrategyError(
            f"choice('{name}', ...): default is the name of an option, {', '.join(names)}, "
            f"got {quote_value(default)}"
        )
    number = 0 if default is None else names.index(default)
    return GeneValue(Gene(name, "int", 0, len(names) - 1, number, options=names), here())


def _make_number(
    name: str,
    kind: Any,  # noqa: ANN401 - one of two words
    default: float | None,
    low: float | None,
    high: float | None,
    unit: str,
    step: float | None = None,
) -> Term:
    _check_name(name)
    if default is None or low is None or high is None:
        raise StrategyError(
            f"gene '{name}' needs a default and bounds: name, default, low, high, "
            f"as in gene('{name}', 2, 0.5, 4)"
        )
    return Term(GeneValue(Gene(name, kind, low, high, default, unit, step=step), here()))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise StrategyError(f"a gene has a name such as 'stop_mult', got {quote_value(name)}")
