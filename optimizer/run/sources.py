"""Sources that a configuration names, bars and extra columns, and how it wants them read."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from data import Bars, DataError, LoadOptions, expand_spec, load_bars
from data.checks import COLUMNS, format_time
from data.errors import describe_unwritten
from data.point_in_time import DatedNumbers, read_dated
from data.providers import HELD
from data.shell import quote_word
from data.table import FetchOptions
from data.zones import LocalZone
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, OptimizerError
from optimizer.formatting import format_count
from optimizer.store.store import ONCE
from strategy.indicator_registry import ROW_NAMES
from strategy.model import Strategy

FRAME = re.compile(r"parquet:.*\bbars-[0-9a-f]{16}\.parquet", re.DOTALL)
"""A source that `frames.holding_frames` holds, or the file of it that a run keeps."""

log = logging.getLogger(__name__)

LARGEST_RATE = 0.1
"""Share of the price above which a payment is likely meant in percent."""

FORM = "NAME=FILE, or NAME=FILE@MINUTES after which a number is forgotten"


def named_specs(config: RunConfig) -> tuple[str, ...]:
    """The sources that a configuration names, folders and patterns as their files.

    ConfigError when a source is named twice, DataError when a folder or a pattern holds none.
    """
    specs = tuple(spec for named in config.data for spec in expand_spec(named))
    repeated = [spec for spec, count in Counter(specs).items() if count > 1]
    if repeated:
        raise ConfigError(f"--data '{repeated[0]}' is named more than once")
    return specs


def load_options(config: RunConfig, *, may_fetch: bool = True) -> LoadOptions:
    """How a configuration wants sources to be read; its knobs bear the names of the options.

    With `may_fetch` a vendor may send bars that no cache has. ConfigError when no strategy could
    ask for an aligned column by its name, DataError when an option makes no sense.
    """
    known = {name: getattr(config, name) for name in RunConfig.model_fields}
    fetch, load = (
        {part.name: known[part.name] for part in fields(kind) if part.name in known}
        for kind in (FetchOptions, LoadOptions)
    )
    options = LoadOptions(**load, fetch=FetchOptions(**fetch, may_fetch=may_fetch))
    for name in options.aligned:
        if name in ROW_NAMES:
            raise ConfigError(
                f"--aligned-column {name}: a strategy means something else by '{name}'; "
                f"--aligned-column {quote_word(f'{name}_2={options.aligned[name]}')} gives it "
                "another name"
            )
    return options


def keep_frames(config: RunConfig) -> None:
    """Write the rows of frames into the folder of runs, from where their run is read later."""
    for spec in config.data:
        if not (held := HELD.get(spec)):
            continue
        # Only here: few runs are of bars in memory.
        from data.providers.parquet_file import encode_rows

        path, content = Path(spec.partition(":")[2]), encode_rows(held[-1])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file() and path.read_bytes() == content:
                continue
        except OSError as error:
            raise OptimizerError(describe_unwritten(path, error)) from error
        write_whole(path, content)


def make_column_adder(
    config: RunConfig, tz: LocalZone | None, paid: Collection[str] = ()
) -> Callable[[Bars], Bars]:
    """Function that adds to bars a column for each file: numbers known at the close of each bar.

    `tz` is the zone of times that name none; numbers of the columns named by `paid` are payments as
    well. ConfigError when a file is not named as it should be, knows nothing of a symbol, or a rate
    is not to be trusted; DataError, StrategyError when a file holds something else.
    """
    read = []
    for name, path, max_age in map(parse_column_file, config.column_file):
        _refuse_changed_forecast(Path(path))
        numbers = read_dated(path, tz, is_paid=name in paid)
        read.append((name, path, numbers, max_age))
    for name, path, numbers, _ in read:
        if numbers.is_by_day:
            log.info(
                f"column '{name}': {path} gives dates alone; each number is taken as known from "
                f"the first moment of its day, {tz or 'UTC'}",
                extra=ONCE,
            )

    def with_columns(bars: Bars) -> Bars:
        for name, path, numbers, max_age in read:
            if name in bars.extra:
                raise ConfigError(f"--column-file: two columns are named '{name}'")
            column = numbers.of(bars.symbol)
            if not len(column.values):
                raise ConfigError(f"--column-file {name}: {path} has nothing of {bars.symbol}")
            extra = {**bars.extra, name: column.at_closes(bars, max_age)}
            bars = replace(bars, extra=extra, dated=(*bars.dated, name))
            if name in paid:
                trusts = config.trust_rates
                bars = with_payments(bars, name, path, column, trusts_rates=trusts)
        return bars

    return with_columns


def with_payments(
    bars: Bars, name: str, path: str, numbers: DatedNumbers, *, trusts_rates: bool
) -> Bars:
    """Bars that pay by a column's numbers, with a note of times in which nothing is charged.

    ConfigError when a rate is not to be trusted, or no position could pay any of them.
    """
    where, payments = f"--column-file {name}: {path}", numbers.as_payments()
    first_ns, last_ns = int(payments.timestamp[0]), int(payments.timestamp[-1])
    paying = replace(bars, payments={**bars.payments, name: payments})
    paid = paying.payments[name]
    if not len(paid.rates):
        raise ConfigError(
            f"{where} pays from {format_time(first_ns)} to {format_time(last_ns)}, and no bar of "
            f"{bars.symbol} can be charged: name a file of payments from within these bars' time"
        )
    largest = int(np.abs(paid.rates).argmax())
    if abs(paid.rates[largest]) > LARGEST_RATE and not trusts_rates:
        raise ConfigError(
            f"{where} pays {paid.rates[largest]:g} at {format_time(paid.timestamp[largest])}, "
            f"more than {LARGEST_RATE:g} of the price: write rates as fractions, 0.0001 for "
            "0.01 %, or add --trust-rates"
        )
    step_ns = int(np.median(np.diff(payments.timestamp))) if len(payments.rates) > 1 else 0
    free = (bars.timestamp < first_ns - step_ns) | (bars.timestamp > last_ns + step_ns)
    lines = []
    beyond = (payments.timestamp < bars.timestamp[0]) | (payments.timestamp > bars.timestamp[-1])
    if beyond.any():
        total = format_count(len(payments.rates), "payment")
        lines.append(
            f"{int(beyond.sum()):,} of {total} are charged to no bar: they come before the first "
            "or after the last one opens"
        )
    if free.any():
        lines.append(
            f"at {format_count(int(free.sum()), 'bar')} before {format_time(first_ns)} or after "
            f"{format_time(last_ns)} nothing is charged"
        )
    notes = [f"column '{name}': {'; '.join(lines)}"] if lines else []
    return replace(paying, notes=(*bars.notes, *notes))


def _refuse_changed_forecast(path: Path) -> None:
    """Refuse a forecast that changed since it was written; other files are numbers."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return
    # Only now: few runs read a forecast.
    from optimizer.forecasts.column import read_forecast, read_record

    if read_record(path) is not None:
        read_forecast(path)


def require_columns(spec: Strategy, series: Sequence[Bars], config: RunConfig) -> None:
    """Refuse a strategy that reads an extra column which a series has not, naming its flag."""
    names = spec.extra_columns
    for name in names:
        for bars in series:
            if name not in bars.extra:
                raise ConfigError(
                    f"strategy '{spec.name}' reads column '{name}', which {bars.symbol} has not: "
                    f"add {_suggest_flag(name, bars, config)}{spec.place_of()}"
                )


def _suggest_flag(name: str, bars: Bars, config: RunConfig) -> str:
    """Flag that reads a column of a strategy."""
    beside, flag = f"--column-file {name}=FILE", f"--aligned-column {name}"
    known = "each of its numbers was known when its bar closed"
    if FRAME.fullmatch(bars.source):
        # Its file holds the named columns, and no other.
        return f"{flag} to read it from the frame, if it has one and {known}, or {beside}"
    widened = {"aligned_columns": [*config.aligned_columns, name]}
    try:
        load_bars(bars.source, load_options(config.model_copy(update=widened)))
    except (DataError, ConfigError):
        return beside
    return f"{flag} to read it from the bars' own file, if {known}"


def parse_column_file(text: str) -> tuple[str, str, float | None]:
    """Name, path, and minutes after which a number is forgotten.

    >>> parse_column_file("rate=rates.csv@600")
    ('rate', 'rates.csv', 600.0)
    """
    name, sign, rest = text.partition("=")
    path, at, age = rest.rpartition("@")
    if not at or not age.replace(".", "", 1).isdecimal():
        path, age = rest, ""
    if not sign or not name.isidentifier() or not path:
        raise ConfigError(f"--column-file '{text}' must look like {FORM}")
    if name in COLUMNS:
        raise ConfigError(f"--column-file '{text}': all bars have '{name}' already")
    return name, path, float(age) if age else None
