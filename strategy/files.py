"""A strategy from a person's own file, with the text of that file kept beside it."""

import __future__

import ast
import builtins
import hashlib
import io
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from data.files import NoFileError, read_ordinary
from strategy import limits, words
from strategy.custom_indicator import OwnIndicator
from strategy.errors import StrategyError, in_one_line, unknown
from strategy.language import NO_ARRAY
from strategy.model import Strategy
from strategy.other_names import suggest_word
from strategy.own_words import TEXT
from strategy.source_location import MISSING, PlacedError, StrategySource, collect_mistakes

MODULE = "strategy_file"
"""Name under which a file runs; no module is known by it."""

LARGEST_TEXT = 10_000_000
"""Bytes of a file of strategies; a larger one is something else."""

UNCALLED = re.compile("'(function|OwnWord)'")
"""Names in Python's messages for a word that was not called."""

FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
"""What a file may switch on for all of its statements."""

LINE = re.compile(r":(\d+): ")
"""Line in the place that a mistake begins with."""

WRAPPED = re.compile(r"\b(Term|Claim)\b")
"""Names in Python's messages for a row and a condition."""


def load_strategy(address: str) -> Strategy:
    """The strategy of a file.

    Args:
        address: ``FILE.py``, or ``FILE.py:NAME`` where it holds several; NAME is that of the
            variable, or of the strategy.

    Returns:
        The strategy, named after its variable in small letters unless it has a name, with the
        text of the file as its `source`.

    Raises:
        StrategyError: In one line: no such file, what is wrong with its text and where, no
            strategy or several, a name that is unknown.
    """
    path, name = _split(address)
    try:
        text = read_strategy_text(Path(path))
    except FileNotFoundError:
        raise StrategyError(_no_file(path)) from None
    except NoFileError as error:
        raise StrategyError(f"{path} cannot be read: it {error.strerror}") from None
    except OSError as error:
        raise StrategyError(f"{path} cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        row = bytes(error.object[: error.start]).count(b"\n") + 1
        raise StrategyError(f"{path}:{row}: is no text in UTF-8; save the file as UTF-8") from None
    return build_strategy(text, path, name)


def read_strategy_text(path: Path) -> str:
    """The text of a file, UTF-8, without the mark that some editors put before it.

    Raises:
        OSError, UnicodeDecodeError: When it cannot be read, or is no file of text.
    """
    text = read_ordinary(path, LARGEST_TEXT).decode("utf-8-sig")
    # Lines end alike on every system, so that a strategy has one digest.
    return io.StringIO(text, newline=None).read()


def build_strategy(text: str, path: str, name: str = "") -> Strategy:
    """The strategy of a file's text; see `load_strategy`.

    Args:
        text: All of the file.
        path: Where it was, for messages.
        name: Of the variable or of the strategy; empty where there is only one.
    """
    strategies = build_strategies(text, path)
    if not strategies:
        raise StrategyError(f"{path} makes no strategy: write NAME = strategy(...)")
    if not name and len(strategies) > 1:
        raise StrategyError(
            f"{path} makes several strategies, {', '.join(strategies)}: name one, as in "
            f"{path}:{next(iter(strategies))}"
        )
    chosen = name or next(iter(strategies))
    by_name = {built.name: built for built in strategies.values()}
    if chosen not in strategies and chosen not in by_name:
        raise StrategyError(f"{path}: {unknown('strategy', chosen, list(strategies))}")
    return strategies.get(chosen) or by_name[chosen]


def build_strategies(text: str, path: str) -> dict[str, Strategy]:
    """All strategies that a file's text makes, by the names of their variables."""
    variables = _run(text, path)
    made = {name: built for name, built in variables.items() if isinstance(built, Strategy)}
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    strategies: dict[str, Strategy] = {}
    by_name: dict[str, Strategy] = {}
    for variable, built in made.items():
        # A second variable of the same strategy adds nothing.
        if any(built is other for other in by_name.values()):
            continue
        name = built.name or variable.lower()
        if name in by_name:
            lines = f"{by_name[name].place} and {built.place}"
            raise StrategyError(f"two strategies are named '{name}': {lines}")
        by_name[name] = built
        source = StrategySource(path, text, sha256, has_functions=bool(built.own))
        strategies[variable] = replace(built, name=name, source=source)
    return strategies


@cache
def rerun_indicator(indicator: OwnIndicator) -> OwnIndicator | None:
    """Indicator of its file run once more, which has kept nothing of other bars yet.

    Its caller only proves it, so it is made once; None for one outside a file.
    """
    text = indicator.function.__globals__.get(TEXT)
    if text is None:
        return None
    made = build_strategies(str(text), indicator.function.__code__.co_filename).values()
    return next(
        (kind for strategy in made for kind in strategy.own.values() if kind == indicator), None
    )


def first_difference(recorded: str, now: str) -> str | None:
    """The first line in which two texts differ, for people; None where they are the same."""
    lines = zip_longest(recorded.splitlines(), now.splitlines())
    for number, (before, after) in enumerate(lines, start=1):
        if before != after:
            return f"line {number}: recorded {_quote_line(before)}, now {_quote_line(after)}"
    return None if recorded == now else "the ends of their lines"


def _quote_line(line: str | None) -> str:
    return "nothing" if line is None else repr(line.strip())


def _split(address: str) -> tuple[str, str]:
    path, colon, name = address.rpartition(":")
    return (path, name) if colon and name.isidentifier() else (address, "")


def _no_file(path: str) -> str:
    folder = Path(path).parent
    known = [file.name for file in folder.glob("*.py")] if folder.is_dir() else []
    near = get_close_matches(Path(path).name, known, n=1)
    hint = f"; did you mean '{folder / near[0]}'?" if near else ""
    return f"there is no file '{path}'{hint}"


def _run(text: str, path: str) -> dict[str, object]:
    """The variables of a file after it ran, as no module that anything could import."""
    variables = _begin_variables(text, path)
    if "\0" in text:
        # Before 3.11.4 Python calls it no fault of syntax.
        raise PlacedError(f"{path}: source code string cannot contain null bytes")
    try:
        flags = compile(text, path, "exec", dont_inherit=True).co_flags & FUTURE
        left = ast.parse(text).body
        with _path_kept(), limits.own_code():
            while left:
                _run_statement(left[0], path, flags, variables)
                del left[0]
    except SyntaxError as error:
        where = f"{error.filename}:{error.lineno}" if error.lineno else path
        raise PlacedError(f"{where}: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except (StrategyError, NameError) as error:
        first = _place_error(error, path)
        others = _find_mistakes(left, path, flags, variables)
        mistakes = sorted({first, *others}, key=_find_line)
        raise PlacedError("\n".join(mistakes), mistakes) from None
    # A library may raise what no `except Exception` catches.
    except BaseException as error:
        raise PlacedError(_place_error(error, path)) from None
    return variables


def _run_statement(
    statement: ast.stmt, path: str, flags: int, variables: dict[str, object]
) -> None:
    """Run one statement of a file."""
    module = ast.Module([statement], [])
    exec(compile(module, path, "exec", flags, dont_inherit=True), variables)


def _begin_variables(text: str, path: str) -> dict[str, object]:
    """Variables of a file before it runs."""
    return {
        "__name__": MODULE,
        "__file__": path,
        "__builtins__": builtins,
        "print": _print,
        TEXT: text,
    }


def _find_line(mistake: str) -> int:
    """Line that a mistake names; 0 without one."""
    line = LINE.search(mistake)
    return int(line[1]) if line else 0


def _find_mistakes(
    left: list[ast.stmt], path: str, flags: int, begun: dict[str, object]
) -> list[str]:
    """Mistakes from a statement on that has one, a line each: behind each of them it goes on."""
    with _path_kept(), limits.own_code(), collect_mistakes() as mistakes:
        variables = _Variables(begun)
        variables.mistakes, variables["print"] = mistakes, lambda *_, **__: None
        for statement in left:
            try:
                _run_statement(statement, path, flags, variables)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                # Another error may be of a value that is missing.
                if isinstance(error, StrategyError) or not mistakes:
                    mistakes.append(_place_error(error, path))
                names = (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
                variables.update({name: MISSING for name in names if name not in variables})
            # Functions above the first mistake read their names there.
            begun.update(variables)
    return mistakes


class _Variables(dict[str, object]):
    """Variables of a file behind a first mistake: a name without any is another.

    Python looks names up in it at a quarter of the pace, so nothing that is kept runs on it.
    """

    mistakes: list[str]

    def __missing__(self, name: str) -> object:
        if hasattr(builtins, name):
            raise KeyError(name)
        error = NameError(name=name)
        place = f"{self['__file__']}:{sys._getframe(1).f_lineno}"
        self.mistakes.append(f"{place}: {_describe_error(error)}")
        return self.setdefault(name, MISSING)


def _place_error(error: BaseException, path: str) -> str:
    """An error in one line that begins with its place."""
    is_placed = isinstance(error, PlacedError)
    return str(error) if is_placed else f"{_place(error, path)}: {_describe_error(error)}"


def _print(*values: object, **options: Any) -> None:  # noqa: ANN401 - those of print itself
    """Print to standard error: a program that reads results would stumble over a file's lines."""
    print(*values, **{"file": sys.stderr, **options})  # noqa: T201 - printed by the file itself


@contextmanager
def _path_kept() -> Iterator[None]:
    """The search path of modules as it was before, whatever a file does to it."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before


def _place(error: BaseException, path: str) -> str:
    """File and last line of that file on the way to an error."""
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == path]
    return f"{path}:{lines[-1]}" if lines else path


def _describe_error(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, StrategyError):
        return str(error)
    if isinstance(error, NameError) and error.name:
        hint = suggest_word(error.name)
        if error.name in words.__all__:
            hint = "; a file begins with: from strategy.words import *"
        return f"the name '{error.name}' is unknown{hint}"
    if isinstance(error, ImportError):
        return f"{error}; a file imports libraries only, its own code stands in it"
    if isinstance(error, limits.TooLongError):
        return f"it runs for more than {limits.LONGEST_S:g} seconds; is this an endless loop?"
    if isinstance(error, RecursionError):
        return "this calls itself without end, or is nested too deep for Python"
    message = " ".join(str(error).split())
    if isinstance(error, TypeError) and UNCALLED.search(message):
        return "a word stands without its brackets: write it as in vwap() or ema(close, 20)"
    if isinstance(error, TypeError) and "does not support ufuncs" in message:
        return f"a row {NO_ARRAY}"
    if isinstance(error, AttributeError | TypeError) and WRAPPED.search(message):
        plain = WRAPPED.sub(lambda match: "row" if match[0] == "Term" else "condition", message)
        return (
            f"{plain}; what rows and conditions know is + - * / > < >= <= & | ~ and the words of "
            "`strategies words`, such as lag(close, 1)"
        )
    return in_one_line(error)
