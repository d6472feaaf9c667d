"""Plain values of Python for those of NumPy, pandas and other libraries, fitted to a type.

Every argument of a public function goes through here. A number of any library becomes the number;
anything else is refused in one line that names the argument.
"""

import inspect
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache, wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from data.errors import near_match
from data.timeframe import format_timeframe

WORDS: Mapping[object, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a finite number",
    str: "text",
    NoneType: "None",
}

LARGEST = sys.float_info.max
"""The largest number: a whole one above it is no float."""

LONGEST = 60
"""Characters of a value that a message quotes; of a longer one it names the type."""

Kind = TypeVar("Kind", bound=type)
Called = TypeVar("Called", bound=Callable[..., Any])


def quote_value(value: object) -> str:
    """A value in one line of a message: a long one, or one without a short form, by its type.

    The value of a word is quoted as it is written, without its arguments.

    >>> quote_value("5"), quote_value(max), quote_value([0] * 99)
    ("'5'", 'a function', 'a list')
    """
    if callable(value):
        return "a function"
    word = getattr(value, "written", "")
    if word and isinstance(word, str):
        return f"{word}(...)"
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        # Python writes no whole number of thousands of digits.
        text = "\n"
    is_plain = len(text) <= LONGEST and text.isprintable() and not text.startswith("<")
    kind = "number of many digits" if isinstance(value, int) else type(value).__name__
    return text if is_plain else f"a {kind}"


def make_plain(value: object) -> object:
    """The same value in the forms of Python and JSON; one without such a form stays.

    Numbers, texts, lists and tables; a time is its ISO text, a span one such as ``15m``.

    >>> make_plain(np.int64(3)), make_plain((np.float64(0.5), "a")), make_plain(Decimal("64.0"))
    (3, (0.5, 'a'), 64)
    """
    try:
        return _convert(value)
    except (OverflowError, RecursionError, TypeError):
        return value


def fit(value: object, kind: Any) -> Any:  # noqa: ANN401 - of the kind that is named
    """A value as one of a type: a plain one, a choice, a list, a table, or one of several.

    Types of other things are for `isinstance`; a text that names a thing fits as it is.

    Raises:
        ValueError: When it is of no such type.
    """
    if kind is object or isinstance(kind, str | TypeVar):
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _fit_one(value, inner)
    if origin is Annotated:
        return fit(value, inner[0])
    if origin is os.PathLike:
        return fit(value, str)
    if not isinstance(kind, type) and origin is None:
        return value
    made = make_plain(value)
    if origin is Literal:
        return _require(made, isinstance(made, str) and made in inner)
    if origin is not None and not issubclass(origin, Mapping | Sequence):
        return value
    if origin is not None and issubclass(origin, Mapping):
        table: Any = value.to_dict() if hasattr(value, "to_dict") else made
        _require(table, isinstance(table, dict))
        return {fit(name, inner[0]): fit(entry, inner[1]) for name, entry in table.items()}
    if origin is not None:
        _require(made, isinstance(made, list | tuple))
        return [fit(entry, inner[0]) for entry in made]  # type: ignore[attr-defined]
    return _fit_plain(made, kind)


def describe_kind(kind: Any) -> str:  # noqa: ANN401 - any type
    """A type in words.

    >>> describe_kind(int | None), describe_kind(Sequence[str])
    ('a whole number or None', 'a list, each text')
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(describe_kind, inner)))
    if origin is Literal:
        return f"one of {', '.join(inner)}"
    if origin is os.PathLike:
        return "a path"
    if origin is not None and issubclass(origin, Mapping):
        return f"a table, each entry {describe_kind(inner[1])}"
    if origin is not None:
        return f"a list, each {describe_kind(inner[0])}"
    if issubclass(kind, os.PathLike):
        return "a path"
    return WORDS.get(kind) or f"a {kind.__name__}"


def require(name: str, value: object, kind: Any, error: type[Exception]) -> Any:  # noqa: ANN401
    """A value as one of a type, or an error that names it."""
    try:
        return fit(value, kind)
    except (ValueError, OverflowError, RecursionError):
        raise error(f"{name} must be {describe_kind(kind)}, got {quote_value(value)}") from None


def fit_fields(made: object, error: type[Exception]) -> None:
    """Give each field of a frozen dataclass its value as one of the field's type.

    Raises:
        error: Naming a field whose value is of another.
    """
    for name, part in made.__dataclass_fields__.items():  # type: ignore[attr-defined]
        object.__setattr__(made, name, require(name, getattr(made, name), part.type, error))


def fit_arguments(
    function: Callable[..., Any],
    values: Sequence[object],
    named: Mapping[str, object],
    error: type[Exception],
    keywords: Mapping[str, object] | None = None,
) -> inspect.BoundArguments:
    """Arguments of a call, each as one of its type.

    Args:
        function: Its parameters have the types.
        values: Given by their place.
        named: Given by their name.
        error: Raised in one line that names the argument.
        keywords: Types of settings behind the function's own parameters, which refuse what does
            not fit themselves; None where there are none.

    Raises:
        error: When an argument is unknown or of another type.
    """
    signature, where = _read_signature(function), function.__name__
    declared = signature.parameters
    open_ends = [name for name, p in declared.items() if p.kind is p.VAR_KEYWORD]
    known = [name for name in (*declared, *(keywords or ())) if name not in open_ends]
    is_open = bool(open_ends) and keywords is None
    for name in named:
        if not is_open and name not in known:
            hint = near_match(name, known) or f"; help({where}) lists all names"
            raise error(f"{where}: {name} is unknown{hint}")
    try:
        bound = signature.bind(*values, **named)
    except TypeError as problem:
        raise error(f"{where}: {problem}") from None
    for name, value in bound.arguments.items():
        parameter = declared[name]
        kind = parameter.annotation
        if keywords is not None and parameter.kind is parameter.VAR_KEYWORD:
            value = {name: _try(entry, keywords[name]) for name, entry in value.items()}
        elif parameter.kind is parameter.VAR_KEYWORD:
            value = {name: require(name, entry, kind, error) for name, entry in value.items()}
        elif parameter.kind is parameter.VAR_POSITIONAL:
            value = tuple(require(name, entry, kind, error) for entry in value)
        elif value is not parameter.default:
            value = require(f"{where}: {name}", value, kind, error)
        bound.arguments[name] = value
    return bound


def takes_plain(
    error: type[Exception], keywords: Mapping[str, object] | None = None
) -> Callable[[Called], Called]:
    """Let a function take values of other libraries, refuse others, and name them by `error`.

    Its settings have the names and types of `keywords`, also for shells that complete.
    """

    def decorate(function: Called) -> Called:
        @wraps(function)
        def call(*values: object, **named: object) -> object:
            bound = fit_arguments(function, values, named, error, keywords)
            return function(*bound.args, **bound.kwargs)

        if keywords is not None:
            declared = inspect.signature(function)
            own = [p for p in declared.parameters.values() if p.kind is not p.VAR_KEYWORD]
            own += [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=...)
                for name in keywords
                if name not in declared.parameters
            ]
            vars(call)["__signature__"] = declared.replace(parameters=own)
        return call  # type: ignore[return-value]

    return decorate


def methods_take_plain(error: type[Exception]) -> Callable[[Kind], Kind]:
    """`takes_plain` for each public method of a class that has arguments."""

    def decorate(kind: Kind) -> Kind:
        for name, method in list(vars(kind).items()):
            is_public = inspect.isfunction(method) and not name.startswith("_")
            if is_public and len(inspect.signature(method).parameters) > 1:
                setattr(kind, name, takes_plain(error)(method))
        return kind

    return decorate


_read_signature = cache(inspect.signature)


def _fit_one(value: object, kinds: Sequence[Any]) -> object:
    """A value as one of the first type that it fits; a path is more than text."""
    is_path = any(isinstance(kind, type) and issubclass(kind, os.PathLike) for kind in kinds)
    for kind in kinds:
        if kind is str and is_path:
            continue
        try:
            made = fit(value, kind)
        except (ValueError, OverflowError):
            continue
        # A path of a library may write its slashes in another way than the text.
        return make_plain(value) if isinstance(made, os.PathLike) and str in kinds else made
    raise ValueError("of none of these types")


def _fit_plain(made: Any, kind: Any) -> object:  # noqa: ANN401 - what was given
    """A plain value as one of a type without parts."""
    if kind is inspect.Parameter.empty:
        return made
    if kind is int and isinstance(made, int | float) and not isinstance(made, bool):
        return int(_require(made, made == made // 1 and abs(made) < 2**63))
    if kind is float:
        is_number = isinstance(made, int | float) and not isinstance(made, bool)
        return _require(made, is_number and abs(made) <= LARGEST)
    if issubclass(kind, os.PathLike):
        return Path(_require(made, isinstance(made, str) and made != "" and "\0" not in made))
    return _require(made, type(made) is kind if kind in WORDS else isinstance(made, kind))


def _require(made: Any, holds: bool) -> Any:  # noqa: ANN401 - what was given
    if not holds:
        raise ValueError("of another type")
    return made


def _try(value: object, kind: object) -> object:
    """A value as one of a type; else the plain value, for settings to refuse."""
    try:
        return fit(value, kind)
    except (ValueError, OverflowError, RecursionError):
        return make_plain(value)


def _convert(value: Any) -> object:  # noqa: ANN401 - of any type
    if value is None or isinstance(value, bool | type):
        return value
    for kinds, convert in _FORMS:
        if isinstance(value, kinds):
            return convert(value)
    lister = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    return _convert(lister()) if callable(lister) else value


def _convert_number(value: Any) -> object:  # noqa: ANN401 - of either kind
    """A whole number unless it is enormous, else a float."""
    if isinstance(value, Decimal) and not value.is_finite():
        return math.nan
    is_whole = abs(value) < 2**63 and value == int(value)
    return int(value) if is_whole else float(value)


def _convert_scalar(value: Any) -> object:  # noqa: ANN401 - one of NumPy
    if value != value and isinstance(value, np.datetime64 | np.timedelta64):
        return value
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.timedelta64):
        return format_timeframe(int(value.astype("timedelta64[ns]").astype(np.int64)))
    item = value.item()
    return _convert(float(item) if isinstance(item, np.floating) else item)


def _convert_span(value: timedelta) -> object:
    ns = getattr(value, "value", None)
    whole = value // timedelta(microseconds=1) * 1000 if ns is None else ns
    return format_timeframe(int(whole)) if value == value else value


_FORMS: Sequence[tuple[Any, Callable[[Any], object]]] = (
    (np.generic, _convert_scalar),
    (str, str.__str__),
    (int, int),
    (float, float),
    ((Decimal, Fraction), _convert_number),
    (timedelta, _convert_span),
    (date, lambda value: value.isoformat() if value == value else value),
    (os.PathLike, os.fspath),
    (tuple, lambda held: held if hasattr(held, "_fields") else tuple(map(_convert, held))),
    ((list, range), lambda values: [*map(_convert, values)]),
    (Mapping, lambda table: {_convert_key(name): _convert(held) for name, held in table.items()}),
)
"""How values of each type become plain ones, the first type that one is of."""


def _convert_key(name: object) -> object:
    return name if isinstance(name, tuple) else _convert(name)
