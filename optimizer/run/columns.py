"""Extra columns of series, from files that a configuration names and a run keeps beside it."""

import hashlib
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from data import Bars, DataError, load_bars
from data.checks import COLUMNS
from data.files import read_ordinary
from data.providers.source_file import HEAD_BYTES
from data.table import LARGEST_SOURCE_BYTES
from data.zones import LocalZone
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, StoreError
from optimizer.run.money import with_payments
from optimizer.run.sources import FRAME, load_options
from optimizer.store import RunStore
from optimizer.store.files import COLUMN_FOLDER
from optimizer.store.store import ONCE
from strategy.model import Strategy

log = logging.getLogger(__name__)

FITS = "forecast_fits"
"""In a run's header: digests of the forecasts that were fitted on its bars."""

HASHES = "column_hashes"
"""In a run's header: hashes of its extra columns, to name those whose values are others."""

FORM = "NAME=FILE, or NAME=FILE@MINUTES after which a number is forgotten"


def make_column_adder(
    config: RunConfig, tz: LocalZone | None, paid: Collection[str] = ()
) -> Callable[[Bars], Bars]:
    """Function that adds to bars a column for each file: numbers known at the close of each bar.

    `tz` is the zone of times that name none; numbers of the columns named by `paid` are payments
    as well. The function raises ConfigError where a file knows nothing of a symbol.

    Raises:
        ConfigError: When a file is not named as it should be, or a rate is not to be trusted.
        DataError, StrategyError: When a file holds something else.
    """
    read = []
    for name, path, max_age in map(_parse_column_file, config.column_file):
        # Only here, because it imports every reader of files.
        from data.point_in_time import read_dated

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


def _refuse_changed_forecast(path: Path) -> None:
    """Refuse a forecast that is not what was written; other files of numbers are taken as such."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return
    # Only now: few runs read a forecast.
    from optimizer.forecasts.column import read_forecast, read_record

    if read_record(path) is not None:
        read_forecast(path)


def require_columns(spec: Strategy, series: Sequence[Bars], config: RunConfig) -> None:
    """Refuse a strategy that reads an extra column which a series has not.

    Raises:
        ConfigError: Naming the column, and the flag that reads it.
    """
    names = spec.extra_columns
    for name in names:
        for bars in series:
            if name not in bars.extra:
                raise ConfigError(
                    f"strategy '{spec.name}' reads column '{name}', which {bars.symbol} has not: "
                    f"add {_suggest_flag(name, bars, config)}{spec.place_of()}"
                )


def _suggest_flag(name: str, bars: Bars, config: RunConfig) -> str:
    """The flag that would read a column which a strategy asks for."""
    beside, flag = f"--column-file {name}=FILE", f"--aligned-column {name}"
    known = "each of its numbers was known when its bar closed"
    if FRAME.fullmatch(bars.source):
        # Its file holds the columns that were asked for, and no other.
        return f"{flag} to read it from the frame, if it has one and {known}, or {beside}"
    widened = {"aligned_columns": [*config.aligned_columns, name]}
    try:
        load_bars(bars.source, load_options(config.model_copy(update=widened)))
    except (DataError, ConfigError):
        return beside
    return f"{flag} to read it from the bars' own file, if {known}"


def require_same_columns(run: str, recorded: RunConfig, present: RunConfig) -> None:
    """Refuse other extra columns than those of a run.

    Raises:
        StoreError: Naming those that differ.
    """
    for flag, old, new in (
        ("--aligned-column", recorded.aligned_columns, present.aligned_columns),
        ("--column-file", recorded.column_file, present.column_file),
    ):
        was, now = ({text.partition("=")[0] for text in texts} for texts in (old, new))
        if was != now:
            terms = [f"without {name}" for name in sorted(was - now)]
            terms += [f"with {name}" for name in sorted(now - was)]
            raise StoreError(
                f"run '{run}' had other columns: {flag} asks for them {', '.join(terms)}; leave it "
                "out, or start a new run"
            )


def column_hashes(series: Sequence[Bars]) -> dict[str, str]:
    """SHA-256, hexadecimal, of each extra column of all series, by name."""
    hashes: dict[str, str] = {}
    for name in series[0].extra:
        digest = hashlib.sha256()
        for bars in series:
            values = bars.extra[name]
            digest.update(np.where(np.isnan(values), np.nan, values + 0.0).astype("<f8").tobytes())
        hashes[name] = digest.hexdigest()
    return hashes


def tell_changed_columns(store: RunStore, series: Sequence[Bars]) -> None:
    """Say which extra columns have other values than a run recorded: its data is another then."""
    recorded = store.header.get(HASHES)
    if not isinstance(recorded, dict):
        return
    for name, digest in column_hashes(series).items():
        if recorded.get(name, digest) != digest:
            log.info("column '%s' has other values than run '%s' recorded", name, store.run_id)


def list_fits(spec: Strategy, files: Sequence[str], *, is_beside_counted: bool = True) -> list[str]:
    """Digests of forecasts that were fitted until those that a strategy reads were chosen.

    These are what their records name, and unless asked otherwise what their folders hold on the
    same bars.
    """
    # Only now: few runs read a forecast.
    from optimizer.forecasts.column import counted_record, read_record

    names = spec.extra_columns
    read = [Path(path) for name, path, _ in map(_parse_column_file, files) if name in names]
    records = map(counted_record if is_beside_counted else read_record, read)
    return sorted({fit for record in records if record is not None for fit in record.fitted})


def recorded_fits(store: RunStore) -> int:
    """Forecasts that were fitted on a run's bars, of all columns that its strategy reads."""
    fits = store.header.get(FITS, [])
    # Version 0.2.0 kept numbers by column.
    return sum(map(int, fits.values())) if isinstance(fits, dict) else len(cast("list[str]", fits))


def keep_columns(files: Sequence[str], run: Path) -> None:
    """Copy column files that a run has not yet into its directory, so that they go with it.

    Raises:
        OptimizerError: When one cannot be written.
    """
    for name, path, _ in map(_parse_column_file, files):
        copy = _copy(run, name, path)
        if not copy.exists():
            (run / COLUMN_FOLDER).mkdir(exist_ok=True)
            write_whole(copy, _content(Path(path)), may_follow=False)


def lacks_columns(files: Sequence[str], run: Path) -> bool:
    """Whether a run has no copy of a column file that is still where it was."""
    named = [
        (_copy(run, name, path), Path(path)) for name, path, _ in map(_parse_column_file, files)
    ]
    return any(path.is_file() and not copy.exists() for copy, path in named)


def kept_columns(files: Sequence[str], run: Path, *, may_read: bool) -> list[str]:
    """Column files of a run: as they were named while they are what they were, else its copies.

    With `may_read` a file may be read where the record names it; else copies alone are.

    Raises:
        StoreError: When both are gone.
    """
    column_files = []
    for text in files:
        name, path, _ = _parse_column_file(text)
        copy = _copy(run, name, path)
        if not may_read:
            column_files.append(
                text.replace(f"{name}={path}", f"{name}={_own_copy(copy, name)}", 1)
            )
            continue
        if not copy.exists() and not Path(path).exists():
            raise StoreError(
                f"column '{name}': {path} is gone, and so is the run's own copy {copy}; put it "
                f"back, or name another with --column-file {name}=FILE"
            )
        if not copy.is_file() or _is_same(Path(path), copy):
            column_files.append(text)
            continue
        note = f"column '{name}': {path} is not what it was; the run's own copy is read"
        log.info(note, extra=ONCE)
        column_files.append(text.replace(f"{name}={path}", f"{name}={copy}", 1))
    return column_files


def _copy(run: Path, name: str, path: str) -> Path:
    folder = run / COLUMN_FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is a link or no folder, and is not followed: move it away")
    return folder / f"{name}{Path(path).suffix}"


def _own_copy(copy: Path, name: str) -> Path:
    """A run's own copy of a column file, which has to be a plain file of its folder."""
    if copy.is_symlink() or not copy.is_file():
        raise StoreError(
            f"column '{name}': the run has no copy {copy} of its own, and was not begun here, so "
            f"no other file is read: name one with --column-file {name}=FILE, or add --trust"
        )
    return copy


def _is_same(path: Path, copy: Path) -> bool:
    try:
        content = _content(copy)
    except OSError as error:
        raise StoreError(
            f"{copy} cannot be read ({error.strerror}): delete it, and {path} is read while it is "
            "what it was"
        ) from None
    with suppress(OSError):
        return _content(path) == content
    return False


def _content(path: Path) -> bytes:
    return read_ordinary(path, LARGEST_SOURCE_BYTES + HEAD_BYTES)


def _parse_column_file(text: str) -> tuple[str, str, float | None]:
    """Name, path, and minutes after which a number is forgotten.

    >>> _parse_column_file("rate=rates.csv@600")
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
