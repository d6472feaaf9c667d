"""A person's own indicator made known: its text, and the libraries that it needs."""

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module, metadata
from numbers import Integral
from pathlib import Path
from types import FunctionType

from strategy.custom_indicator import OwnIndicator
from strategy.errors import StrategyError
from strategy.expressions import Call
from strategy.functions import text_digest
from strategy.genes import Floats
from strategy.indicator_registry import ROW_NAMES
from strategy.language import Operand, Term, as_setting, check_arguments, word
from strategy.source_location import locate_errors

TEXT = "__strategy_text__"
"""Name under which a loaded file keeps its own text."""

NO_PLAIN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Marks of functions that return something else than the value of `return`."""

KNOWN = {*sys.stdlib_module_names, "numpy", "data", "strategy", "engine", "optimizer"}
"""Packages that a file may import without naming them."""


class OwnWord:
    """A person's own indicator as a word: called with numbers and genes it is a row."""

    def __init__(self, own: OwnIndicator, signature: inspect.Signature) -> None:
        self.own, self.__signature__ = own, signature
        self.__name__, self.__doc__ = own.name, own.function.__doc__

    @locate_errors
    def __call__(self, *args: Operand, **kwargs: Operand) -> Term:
        """The row of these parameters."""
        bound_arguments = check_arguments(self.own.name, self.__signature__, args, kwargs)
        bound_arguments.apply_defaults()
        settings = tuple(as_setting(value) for value in bound_arguments.arguments.values())
        return Term(Call(self.own, None, settings))


@word
def indicator(
    *given: object, warm_up: Callable[..., int] | int | None = None, uses: Sequence[str] = ()
) -> Callable[[Callable[..., Floats]], OwnWord]:
    """Make a function of whole arrays an indicator.

    Args:
        given: Nothing; a function stands here where the brackets were forgotten.
        warm_up: Its parameters to the bars before the first that it knows; or that number.
        uses: Libraries beside numpy and Python's own that its file imports.

    Returns:
        What turns a function (bars, *whole numbers) to [T] float64 into a word; `bars` has
        timestamp, open, high, low, close and volume, each [T] and read-only.

    Raises:
        StrategyError: When an import is not named in `uses`, a name is taken, or bars or a
            parameter cannot be given.
    """
    if given or warm_up is None:
        raise StrategyError(
            "an indicator says how many bars pass before it knows a value: write "
            "@indicator(warm_up=lambda n: n) above def mine(bars, n), or @indicator(warm_up=14)"
        )
    if isinstance(uses, str):
        raise StrategyError(f"uses is a list of libraries: write uses=[{uses!r}]")

    @locate_errors
    def define(function: Callable[..., Floats]) -> OwnWord:
        if not isinstance(function, FunctionType) or function.__code__.co_flags & NO_PLAIN:
            raise StrategyError(
                f"an indicator is a plain function that returns an array, got {function!r}"
            )
        return _define_indicator(function, warm_up, uses)

    return define


def _define_indicator(
    function: FunctionType, warm_up: Callable[..., int] | int, uses: Sequence[str]
) -> OwnWord:
    name = function.__name__
    if name in ROW_NAMES:
        raise StrategyError(f"there is a row '{name}' already; name yours otherwise")
    if function.__closure__:
        around = ", ".join(function.__code__.co_freevars)
        raise StrategyError(f"{name} reads {around} of a function around it; make it a parameter")
    signature = inspect.signature(function)
    parameters = _parameters(name, signature)
    if not callable(warm_up):
        bars = warm_up
        if not isinstance(bars, Integral) or int(bars) < 0:
            raise StrategyError(
                f"{name}: warm_up is a whole number of bars or a function of its "
                f"parameters, got {bars!r}"
            )
        warm_up = lambda *_: bars  # noqa: E731 - what was given stands for a function
    _check_warm_up(name, warm_up, parameters)
    text = _read_file_text(function)
    indicator_of_file = OwnIndicator(
        name,
        tuple(parameter.name for parameter in parameters),
        _digest_function(function, text),
        _versions(name, text, uses),
        function.__code__.co_firstlineno,
        function=function,
        warm_up=warm_up,
    )
    return OwnWord(indicator_of_file, signature.replace(parameters=parameters))


def _parameters(name: str, signature: inspect.Signature) -> list[inspect.Parameter]:
    """Parameters of a function beside the bars, all of them by place and by name."""
    parameters = list(signature.parameters.values())
    starred = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if starred:
        raise StrategyError(
            f"{name}: {starred[0]} leaves open what it takes; name each number, "
            f"as in def {name}(bars, n)"
        )
    if not parameters:
        raise StrategyError(f"{name} takes no bars: write def {name}(bars), or def {name}(bars, n)")
    if any(parameter.kind is not parameter.POSITIONAL_OR_KEYWORD for parameter in parameters):
        raise StrategyError(
            f"{name}: * and / have no place among what it takes; "
            f"write def {name}({', '.join(parameter.name for parameter in parameters)})"
        )
    return parameters[1:]


def _check_warm_up(
    name: str, warm_up: Callable[..., int], taken: Sequence[inspect.Parameter]
) -> None:
    """Refuse a warm-up that cannot be called with the parameters of its indicator."""
    names = ", ".join(parameter.name for parameter in taken)
    try:
        inspect.signature(warm_up).bind(*taken)
    except TypeError:
        raise StrategyError(
            f"{name}: its warm_up is given what stands behind bars, ({names}); write "
            f"warm_up={f'lambda {names}: ...' if names else 'a number of bars'}"
        ) from None
    except ValueError:
        # Some functions of Python's own do not state their arguments.
        return


def _read_file_text(function: FunctionType) -> str:
    """Text of the file that a function stands in; empty where there is none."""
    text = function.__globals__.get(TEXT)
    if text is not None:
        return str(text)
    file = Path(function.__code__.co_filename)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _digest_function(function: FunctionType, text: str) -> str:
    # Typed in, or in a cell of a notebook: its own text and that of its callees.
    return hashlib.sha256(text.encode()).hexdigest() if text else text_digest(function)


def _versions(name: str, text: str, uses: Sequence[str]) -> tuple[tuple[str, str], ...]:
    missing = sorted(set(_imports(text)) - KNOWN - set(uses))
    if missing:
        raise StrategyError(
            f"{name}: its file imports {', '.join(missing)}; name what it needs, as in "
            f"@indicator(warm_up=..., uses={(*uses, *missing)!r})"
        )
    return tuple((library, _version(library)) for library in sorted(set(uses)))


def _imports(text: str) -> Iterator[str]:
    """Packages that a text imports, anywhere in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).split(".")[0]


@cache
def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        pass
    try:
        version = getattr(import_module(library), "__version__", None)
    except ImportError:
        version = None
    if version is None:
        # A distribution may have another name than its import.
        owners = metadata.packages_distributions().get(library, ())
        version = next(map(metadata.version, owners), None)
    if version is None:
        raise StrategyError(f"uses={library!r}: no library of this name says its version")
    return str(version)
