"""Extra columns of series, from files that a configuration names."""

from collections.abc import Sequence
from dataclasses import replace

from data import Bars
from data.dated import read_dated
from optimizer.errors import ConfigError
from strategy.columns import DatedColumn
from strategy.model import Strategy
from strategy.narrow import AnyStrategy

FORM = "NAME=FILE, or NAME=FILE@MINUTES after which a number is forgotten"


def with_columns(series: Sequence[Bars], files: Sequence[str]) -> tuple[Bars, ...]:
    """Series with an extra column for each file: what was known at the close of each bar.

    Raises:
        ConfigError: When a file is not named as it should be, or knows nothing of a symbol.
        DataError, StrategyError: When a file holds something else.
    """
    found = tuple(series)
    for text in files:
        name, path, max_age = _parsed(text)
        if any(name in bars.extra for bars in found):
            raise ConfigError(f"--column-file: two columns are named '{name}'")
        numbers = read_dated(path)
        columns = [DatedColumn(*numbers.of(bars.symbol), max_age) for bars in found]
        for bars, column in zip(found, columns, strict=True):
            if not len(column.values):
                raise ConfigError(f"--column-file {name}: {path} has nothing of {bars.symbol}")
        found = tuple(
            replace(bars, extra={**bars.extra, name: column.at(bars)})
            for bars, column in zip(found, columns, strict=True)
        )
    return found


def require_columns(spec: AnyStrategy, series: Sequence[Bars]) -> None:
    """Refuse a strategy that reads an extra column which a series has not.

    Raises:
        ConfigError: Naming the column.
    """
    names = spec.extra_columns if isinstance(spec, Strategy) else ()
    for name in names:
        for bars in series:
            if name not in bars.extra:
                raise ConfigError(
                    f"strategy '{spec.name}' reads column '{name}', which {bars.symbol} has not: "
                    f"add --column-file {name}=FILE"
                )


def _parsed(text: str) -> tuple[str, str, float | None]:
    """Name, path, and minutes after which a number is forgotten.

    >>> _parsed("rate=rates.csv@600")
    ('rate', 'rates.csv', 600.0)
    """
    name, sign, rest = text.partition("=")
    path, at, age = rest.rpartition("@")
    if not at or not age.replace(".", "", 1).isdigit():
        path, age = rest, ""
    if not sign or not name.isidentifier() or not path:
        raise ConfigError(f"--column-file '{text}' must look like {FORM}")
    return name, path, float(age) if age else None
