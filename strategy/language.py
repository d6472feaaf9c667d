"""The language: rows and conditions that build trees from what Python writes.

What looks like arithmetic and comparison is written down, not computed. What Python would compute
at once, such as `and`, has no meaning here and is refused with the word to use in its place.
"""

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast

from data.errors import near_match
from data.plain import make_plain, quote_value
from strategy.conditions import AllOf, AnyOf, Compare, Condition, Relation, negate_condition
from strategy.errors import ArgumentError, StrategyError
from strategy.expressions import Arithmetic, Expression, Number, Operation, Setting
from strategy.gene import write_gene_name
from strategy.nodes import Node, Parameter, check_extent
from strategy.pretty_print import format_tree
from strategy.source_location import PlacedError, here, locate_errors

P = ParamSpec("P")
Result = TypeVar("Result")
Tree = TypeVar("Tree", bound=Node)

NO_TRUTH = (
    "has no truth by itself: write & for and, | for or, ~ for not, each comparison in brackets, "
    "as in (a > b) & (b > c); no if and no a < b < c; minimum and maximum in place of min and max"
)
NO_ARRAY = (
    "is written down, not computed, and numpy and pandas read arrays: minimum, maximum and abs are "
    "words, and whatever else they compute stands in an @indicator of your own"
)
TIGHTER = "binds tighter than > and <: put each comparison in brackets, as in (a > b) & (c > d)"

PANDAS_PRIORITY = 10_000
"""Above that of every pandas object, so that these leave arithmetic with a row to the row."""

NAME = re.compile(r"\w[\w .-]{0,79}")
"""A strategy's name: it stands in records, pages and programs for other platforms."""


class Phrase(Generic[Tree]):
    """A tree as a person writes it, which no library takes for numbers."""

    __slots__ = ("tree",)
    __array_ufunc__ = None
    __pandas_priority__ = PANDAS_PRIORITY

    def __init__(self, tree: Tree) -> None:
        check_extent(tree)
        self.tree = tree

    def __repr__(self) -> str:
        return format_tree(self.tree)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        _refuse(f"{self!r} {NO_ARRAY}")


def _combine(operation: Operation) -> tuple[Callable[["Term", "Operand"], "Term"], ...]:
    """Arithmetic of a row with what stands behind it, and with what stands before it."""

    @locate_errors
    def apply(left: "Operand", right: "Operand") -> "Term":
        return Term(Arithmetic(operation, as_expression(left), as_expression(right)))

    return apply, lambda right, left: apply(left, right)


def _compare(relation: Relation) -> Callable[["Term", "Operand"], "Claim"]:
    """Comparison of a row with what stands behind it."""

    @locate_errors
    def apply(left: "Operand", right: "Operand") -> "Claim":
        return Claim(Compare(as_expression(left), relation, as_expression(right)))

    return apply


def _join(
    kind: type[AllOf] | type[AnyOf], sign: str
) -> tuple[Callable[["Claim", "Claim"], "Claim"], ...]:
    """Two conditions as one: with what stands behind the first, and with what stands before it."""

    @locate_errors
    def apply(left: object, right: object) -> "Claim":
        if not (isinstance(left, Claim) and isinstance(right, Claim)):
            other = right if isinstance(left, Claim) else left
            got = repr(other) if isinstance(other, Term) else quote_value(other)
            raise StrategyError(f"{sign} joins two conditions, {got} is none; {sign} {TIGHTER}")
        return Claim(kind((left.tree, right.tree)))

    return apply, lambda right, left: apply(left, right)


def _never(message: str) -> Callable[..., NoReturn]:
    """Operator that has no meaning."""

    def refuse(*_: object) -> NoReturn:
        _refuse(message)

    return refuse


class Term(Phrase[Expression]):
    """A number at every bar, or one for all of them."""

    __slots__ = ()

    __add__, __radd__ = _combine("+")
    __sub__, __rsub__ = _combine("-")
    __mul__, __rmul__ = _combine("*")
    __truediv__, __rtruediv__ = _combine("/")
    __gt__, __lt__ = _compare(">"), _compare("<")
    __ge__, __le__ = _compare(">="), _compare("<=")

    def __neg__(self) -> "Term":
        return -1 * self

    def __pos__(self) -> "Term":
        return self

    @locate_errors
    def __abs__(self) -> "Term":
        return Term(Arithmetic("abs", self.tree, None))

    __eq__ = _never("== is never written: equals(a, k), or two comparisons")
    __ne__ = _never("!= is never written: ~equals(a, k), or two comparisons")
    __bool__ = _never(f"a row {NO_TRUTH}")
    __and__ = __rand__ = _never(f"& {TIGHTER}")
    __or__ = __ror__ = _never(f"| {TIGHTER}")

    def __invert__(self) -> NoReturn:
        _refuse(f"~{self!r}: ~ is the opposite of a condition, as in ~({self!r} > 70)")

    def __getitem__(self, bars: object) -> NoReturn:
        _refuse(f"{self!r}[{bars!r}]: an earlier value is lag({self!r}, n)")

    def __iter__(self) -> NoReturn:
        _refuse(
            f"{self!r} is not gone through bar by bar: an earlier value is lag({self!r}, n), and "
            "an @indicator of your own is given whole arrays"
        )


class Claim(Phrase[Condition]):
    """A condition."""

    __slots__ = ()

    __and__, __rand__ = _join(AllOf, "&")
    __or__, __ror__ = _join(AnyOf, "|")

    @locate_errors
    def __invert__(self) -> "Claim":
        return Claim(negate_condition(self.tree))

    __eq__ = _never("== is never written: two conditions are joined by & and |")
    __ne__ = _never("!= is never written: two conditions are joined by & and |")
    __bool__ = _never(f"a condition {NO_TRUTH}")

    def _refuse_comparison(self, other: object) -> NoReturn:
        _refuse(f"{self!r} is a condition and is not compared; & and | {TIGHTER}")

    __gt__ = __lt__ = __ge__ = __le__ = _refuse_comparison


Operand = Term | float


WORDS: dict[str, Callable[..., object]] = {}
"""Words that are called, by their names."""


def word(function: Callable[P, Result]) -> Callable[P, Result]:
    """A word of the language: its mistakes begin with the place, wrong arguments are named."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        bound = check_arguments(function.__name__, signature, args, kwargs)
        return function(*bound.args, **bound.kwargs)

    located = locate_errors(call)
    WORDS[function.__name__] = located
    return located


def build_word(
    name: str,
    about: str,
    taken: Mapping[str, object],
    make: Callable[..., Result],
    made: object = inspect.Signature.empty,
    by_name: Collection[str] = (),
    suggest: Callable[[str], str] | None = None,
) -> Callable[..., Result]:
    """A word made of data.

    Args:
        name: As it is written.
        about: Its docstring.
        taken: What it takes by name, each with its default or `Parameter.empty`.
        make: Is given all of that by name.
        made: The type that it makes, for people.
        by_name: Names among them that are always written.
        suggest: What to write in place of an unknown name; empty without an idea.
    """
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter(keyword, kinds[keyword in by_name], default=default)
            for keyword, default in taken.items()
        ],
        return_annotation=made,
    )

    @locate_errors
    def call(*args: object, **kwargs: object) -> Result:
        arguments = check_arguments(name, signature, args, kwargs, suggest)
        arguments.apply_defaults()
        return make(**arguments.arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__, call.__signature__ = about, signature  # type: ignore[attr-defined]
    WORDS[name] = call
    return call


def check_arguments(
    name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    suggest: Callable[[str], str] | None = None,
) -> inspect.BoundArguments:
    """Plain arguments of a word by name; wrong ones are refused with the legal ones."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        takes, message = ", ".join(signature.parameters), str(error)
        # An unknown name often stands for a missing one, so it is named first.
        if strange := [keyword for keyword in kwargs if keyword not in signature.parameters]:
            known = {key: ours for key in strange if suggest and (ours := suggest(key))}
            if len(known) == len(strange):
                told = [f"{name} has no '{key}': here it is {ours}" for key, ours in known.items()]
                raise ArgumentError("; ".join(told), strange) from None
            named = [f"'{key}'{near_match(key, signature.parameters)}" for key in strange]
            message = f"got an unexpected keyword argument {' and '.join(named)}"
        by_name = [
            one.name for one in signature.parameters.values() if one.kind is one.KEYWORD_ONLY
        ]
        if "positional" in message and by_name:
            message = f"{message}; write {by_name[0]}=... and so on"
        raise ArgumentError(f"{name}({takes}): {message}", strange) from None
    bound.arguments = {name: make_plain(value) for name, value in bound.arguments.items()}
    return bound


def as_expression(value: object) -> Expression:
    """The tree of a row, a gene or a number."""
    if isinstance(value, Term):
        return value.tree
    if isinstance(value, Claim):
        raise StrategyError(f"'{value!r}' is a condition; here stands a number, a row or a gene")
    name = str(getattr(value, "__name__", ""))
    if callable(value) and name.isidentifier():
        raise StrategyError(f"{name} is a word that takes arguments: write {name}(...)")
    return Number(cast(float, value))


def as_setting(value: object) -> Setting:
    """The tree of a constant or a gene; the node that takes it refuses all else."""
    return cast(Setting, as_expression(value))


def as_condition(value: object, what: str) -> Condition:
    """The tree of a condition; anything else is refused by the name of its use."""
    if isinstance(value, Claim):
        return value.tree
    got = f"'{value!r}'" if isinstance(value, Term) else quote_value(value)
    raise StrategyError(f"{what} is a condition, such as close > open, got {got}")


def check_name(value: object) -> str:
    """The name of a strategy; one that is no plain name, or that of a file, is refused."""
    if (
        isinstance(value, str)
        and not value.endswith(".py")
        and (not value or NAME.fullmatch(value))
    ):
        return value
    raise StrategyError(
        f"name={value!r}: a strategy's name is letters, digits, spaces, _ - and dots, begins "
        "with a letter or digit, is no longer than 80, and is no .py file"
    )


def check_constant(label: str, parameter: Parameter, value: object) -> None:
    """Refuse all but a number that a parameter admits: a word is written out by it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and parameter.admits(cast(float, value))):
        wanted = f"{parameter.name} {parameter.wanted or 'finite'}, and no gene"
        raise StrategyError(f"{label} needs {wanted}, got {quote_value(value)}")


def check_pairs(less_than: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401 - a person gave it
    """The names of `less_than`; anything else than a list of pairs is refused."""
    pairs = less_than if isinstance(less_than, list | tuple) else [less_than]
    for pair in pairs:
        names = pair if isinstance(pair, list | tuple) else []
        if [type(name) for name in names] != [str, str]:
            raise StrategyError(
                "less_than is a list of pairs of genes by name, as in "
                f"less_than=[('quick', 'slow')], got {quote_value(pair)} in it"
            )
    return tuple((write_gene_name(left), write_gene_name(right)) for left, right in pairs)


def _refuse(message: str) -> NoReturn:
    raise PlacedError(f"{here()}: {message}")
