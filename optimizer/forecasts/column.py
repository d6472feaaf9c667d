"""A forecast as a file and in words: numbers, when each was known, and the record of its making.

It is Parquet with the columns known_at, value and symbol, so that any strategy reads it by
`--column-file`; its record stands in the file's own description.
"""

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from data import Bars
from data.checks import Floats, Ints
from data.errors import DataError, describe_unwritten
from data.files import read_ordinary, taking_turns
from data.point_in_time import SYMBOL, VALUE
from data.progress import Watch
from data.table import LARGEST_SOURCE_BYTES
from engine.runtime.machine import versions
from optimizer.atomic_write import write_whole
from optimizer.errors import ConfigError, OptimizerError, StoreError
from optimizer.forecasts.fit import Fitted, code_digest, fit
from optimizer.forecasts.settings import ForecastSettings
from optimizer.forecasts.skill import RIVALS, RivalGain, Skill, SkillFigures, measure_skill
from optimizer.formatting import format_count, fraction, number
from optimizer.store.payload import Payload, encode, read_mapping, sha256

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

RECORD = b"forecast"
"""Name of the record in the file's description."""

KNOWN_FROM = "the close of the bar that it is about, by weights trained before it"

SUFFIX = ".parquet"

AGAIN = "fit it again, or remove it"


@dataclass(frozen=True)
class DataSpan(Payload):
    """Bars that a forecast was fitted on: a symbol, its first and last bar, and their hash."""

    symbol: str
    first: str
    last: str
    bars: int
    content_hash: str

    def overlaps(self, other: "DataSpan") -> bool:
        """True if both are of one symbol and share a time; ISO times are in order as texts."""
        return self.symbol == other.symbol and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class ForecastRecord(Payload):
    """How a forecast was made, and how good it was."""

    what: ClassVar[str] = "the forecast's record"

    settings: Mapping[str, str | int | bool]  # fields of `ForecastSettings`
    features: tuple[str, ...]  # each in the words of the language
    data: tuple[DataSpan, ...]  # its training bars
    bar_s: float  # seconds that a bar lasts
    known_from: str  # when a number could be read
    code: str  # SHA-256 of the text that decided it
    weights: str  # SHA-256 of all trained weights; empty of a model that has none
    column: str  # SHA-256 of symbols, times and numbers
    # Digests of the different forecasts that were fitted on these bars, this included.
    fitted: tuple[str, ...]
    skill: Skill  # out of sample
    versions: Mapping[str, str]  # of the libraries
    is_simulated: bool = False  # whether a program invented one of the markets
    digest: str = ""  # SHA-256 of all of that as it was written

    @property
    def sentence(self) -> str:
        """Verdict on the forecast, with its market."""
        return ("On a simulated market: " if self.is_simulated else "") + self.skill.sentence

    @property
    def fits(self) -> int:
        """Different forecasts that were fitted on these bars, this one included."""
        return len(self.fitted)

    def counting(self, others: Iterable["ForecastRecord"]) -> "ForecastRecord":
        """The record with all fits that others name too, where they share bars; judged by those."""
        fitted = set(self.fitted)
        for other in others:
            if any(theirs.overlaps(ours) for theirs in other.data for ours in self.data):
                fitted |= set(other.fitted)
        return replace(self, fitted=tuple(sorted(fitted)), skill=self.skill.among(len(fitted)))


@dataclass(frozen=True, eq=False)
class Forecast:
    """A forecast with its record."""

    known_at: Ints  # [N] int64 nanoseconds UTC, ascending within a symbol
    values: Floats  # [N], NaN where there is none
    symbols: tuple[str, ...] = field(repr=False)  # [N]
    record: ForecastRecord  # how it was made

    def __repr__(self) -> str:
        settings, rows = self.record.settings, len(self.values)
        ahead = f"{settings['horizon']} bars ahead"
        name = f"Forecast({settings['model']}, {ahead}, {rows:,} rows)"
        return f"{self.record.sentence}\n{name}"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines())


class ForecastList(NamedTuple):
    """Forecasts of a folder by their files, and what hinders each file that cannot be read."""

    records: dict[Path, ForecastRecord]  # each counts all fits that could be read
    unread: dict[Path, str]


def find_main_gain(record: ForecastRecord) -> RivalGain:
    """The gain that decides: over the mean, of a model that is the mean over nothing."""
    against = record.skill.whole.against
    return against.get(RIVALS[1]) or against[RIVALS[0]]


def format_p(value: float | None) -> str:
    """A p value in four characters at most; a dash for an unknown one."""
    if value is None or math.isnan(value):
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}"[1:] if value < 1 else "1"


def format_slope(figures: SkillFigures) -> str:
    """The slope of targets on forecasts; 1 is calibrated."""
    return "-" if figures.slope is None else f"{figures.slope:.2f}"


def list_skill_cells(record: ForecastRecord) -> list[list[str]]:
    """Figures of each refit and of all: its day, bars, a gain and its p a rival, hits, slope."""
    rows = []
    for name, figures in (*record.skill.folds, ("all", record.skill.whole)):
        cells = [name[:10], number(figures.bars)]
        for rival in record.skill.whole.against:
            gain = figures.against[rival]
            cells += [fraction(gain.gain), format_p(gain.p)]
        hits = "-" if figures.hits is None else f"{figures.hits:.1%}"
        rows.append([*cells, hits, format_slope(figures)])
    return rows


def describe_record(record: ForecastRecord) -> list[str]:
    """Lines on hits, calibration, settings, features and how many were fitted on these bars."""
    whole, settings, lines = record.skill.whole, record.settings, []
    if whole.hits is not None and whole.hits_error is not None and whole.ups is not None:
        lines.append(
            f"hits {whole.hits:.1%} +- {whole.hits_error:.1%} of signs ({whole.ups:.1%} went up)"
        )
    if whole.slope is not None and whole.slope_error is not None:
        lines.append(
            f"calibration: target = {whole.intercept:.3g} + {whole.slope:.2f} +- "
            f"{whole.slope_error:.2f} times the forecast (0 and 1 are best)"
        )
    lines += [
        f"{settings['model']}, {format_count(settings['horizon'], 'bar')} ahead, window "
        f"{settings['window']}, {len(record.skill.folds)} refits on {settings['train']:,} bars, "
        f"target: {settings['target']} return",
        f"features: {'; '.join(record.features)}",
    ]
    if record.fits > 1:
        lines.append(
            f"{record.fits} different forecasts were fitted on these bars; each is a trial"
        )
    return lines


def list_digests(record: ForecastRecord) -> str:
    """The beginning of each digest."""
    digests = {
        "record": record.digest,
        "column": record.column,
        "weights": record.weights,
        "code": record.code,
    }
    return ", ".join(f"{name} {digest[:12] or 'none'}" for name, digest in digests.items())


def make_forecast(
    series: Sequence[Bars],
    settings: ForecastSettings,
    watch: Watch = lambda progress: None,
) -> Forecast:
    """Fit a forecast, judge it as the only one on these bars, and say how it was made; as `fit`."""
    spans = tuple(_span(bars) for bars in series)
    fitted = fit(series, settings, watch)
    known_at, values, symbols = build_column(series, fitted)
    code = code_digest()
    identity = encode([settings.model_dump(), code, [vars(span) for span in spans]], what="a fit")
    record = ForecastRecord(
        settings=settings.model_dump(),
        features=fitted.samples.names,
        data=spans,
        bar_s=fitted.samples.bar_ns / 1e9,
        known_from=KNOWN_FROM,
        code=code,
        weights=fitted.weights,
        column=column_hash(known_at, values, symbols),
        fitted=(sha256(identity).hex(),),
        skill=measure_skill(fitted, settings.model, settings.horizon),
        versions=versions(),
        is_simulated=any(bars.is_simulated for bars in series),
    )
    return Forecast(known_at, values, symbols, record)


def build_column(series: Sequence[Bars], fitted: Fitted) -> tuple[Ints, Floats, tuple[str, ...]]:
    """Times [N], forecasts [N] and symbols, from each series' first forecast on.

    A bar without a forecast has NaN, and so has the moment after the last bar: no number is read
    at the wrong bar.
    """
    times, values, symbols, begin = [], [], [], 0
    for bars in series:
        forecasts = fitted.values[begin : begin + len(bars)]
        begin += len(bars)
        first = int((~np.isnan(forecasts)).argmax()) if (~np.isnan(forecasts)).any() else len(bars)
        times.append(np.append(bars.over_ns[first:], bars.over_ns[-1] + 1))
        values.append(np.append(forecasts[first:], np.nan))
        symbols += [bars.symbol] * len(times[-1])
    return np.concatenate(times), np.concatenate(values), tuple(symbols)


def column_hash(known_at: Ints, values: Floats, symbols: Sequence[str]) -> str:
    """SHA-256, hexadecimal, of a column's times, values and symbols."""
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    columns = known_at.astype("<i8").tobytes(), plain.astype("<f8").tobytes()
    return sha256("\n".join(symbols).encode(), *columns).hex()


def write_forecast(forecast: Forecast, path: Path) -> Forecast:
    """Write a forecast whole or not at all, with all fits that its folder knows of.

    Fits that end at the same time take turns, so that each counts those before it. Returns the
    forecast as it was written.
    """
    try:
        with taking_turns(path.parent):
            record = forecast.record.counting(_read_records(path.parent))
            record = replace(record, digest=_hash_record(record.payload()))
            forecast = replace(forecast, record=record)
            write_whole(path, _as_parquet(forecast))
    except OSError as error:
        raise OptimizerError(describe_unwritten(path, error)) from error
    return forecast


def read_forecast(path: Path) -> Forecast:
    """Read a forecast, checked as far as it can be without its bars."""
    table = _table(path)
    record = _decode_record(table.schema, path)
    if record is None:
        raise ConfigError(f"{path} is no forecast: it has no record of how it was made")
    try:
        times = np.asarray(table["known_at"].cast("int64").to_numpy(), np.int64)
        values = np.asarray(table[VALUE].to_numpy(), np.float64)
        symbols = tuple(map(str, table[SYMBOL].to_pylist()))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} has not the columns of a forecast ({error}): {AGAIN}") from None
    if column_hash(times, values, symbols) != record.column:
        raise StoreError(f"{path} holds other numbers than its record says: {AGAIN}")
    forecast = Forecast(times, values, symbols, record)
    if problem := _contradiction(forecast):
        raise StoreError(f"{path}: {problem}: {AGAIN}")
    return forecast


def read_record(path: Path) -> ForecastRecord | None:
    """The record of a forecast; None of a file that is none."""
    try:
        with _open_parquet(path) as (file, _):
            return _decode_record(file.schema_arrow, path)
    except (ConfigError, OSError):
        return None


def list_records(folder: Path) -> ForecastList:
    """Forecasts of a folder; an unreadable file is named, and its fit not counted.

    Whole files other than forecasts are left out.
    """
    by_path: dict[Path, ForecastRecord] = {}
    unread: dict[Path, str] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            with _open_parquet(path) as (file, _):
                record = _decode_record(file.schema_arrow, path)
        except (ConfigError, OSError, StoreError) as error:
            unread[path] = " ".join(str(error).split())
        else:
            by_path |= {} if record is None else {path: record}
    counted = {path: record.counting(by_path.values()) for path, record in by_path.items()}
    return ForecastList(counted, unread)


def counted_record(path: Path) -> ForecastRecord | None:
    """The record of a forecast with all fits that its folder knows of; None of another file."""
    record = read_record(path)
    return record and record.counting(_read_records(path.resolve().parent))


def _contradiction(forecast: Forecast) -> str:
    """Contradiction of a record to the rest; empty where there is none."""
    record, bar_ns = forecast.record, round(forecast.record.bar_s * 1e9)
    whose = np.array(forecast.symbols, object)
    for span in record.data:
        times = forecast.known_at[whose == span.symbol]
        if not len(times):
            return f"it has no number of {span.symbol}, which its record names"
        # The last moment marks that there is no number behind the last bar.
        last = str(np.datetime64(int(times.max()) - 1 - bar_ns, "ns").astype("datetime64[s]"))
        if last != span.last:
            return (
                f"its times are not those of its bars: the last of {span.symbol} is for {last}, "
                f"the last bar is that of {span.last}"
            )
    if record.skill.among(record.fits) != record.skill:
        return "what it says of its skill does not follow from its figures"
    return ""


def _read_records(folder: Path) -> list[ForecastRecord]:
    """Forecasts of a folder as they were written."""
    return [record for path in sorted(folder.glob(f"*{SUFFIX}")) if (record := read_record(path))]


def _as_parquet(forecast: Forecast) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(dict.fromkeys(forecast.symbols))
    numbers = pa.array([names.index(symbol) for symbol in forecast.symbols], pa.int32())
    columns = {
        "known_at": pa.array(forecast.known_at, pa.timestamp("ns", tz="UTC")),
        VALUE: pa.array(forecast.values),
        SYMBOL: pa.DictionaryArray.from_arrays(numbers, pa.array(names)),
    }
    record = encode(forecast.record.payload(), what=ForecastRecord.what)
    table, file = pa.table(columns).replace_schema_metadata({RECORD: record}), io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _table(path: Path) -> "pa.Table":
    if not path.is_file():
        raise ConfigError(f"there is no forecast '{path}'")
    from data.providers.parquet_file import read_capped
    from data.providers.source_file import refuse_expanded

    with _open_parquet(path) as (file, source):
        names = file.schema_arrow.names
        used = [name for name in names if name in ("known_at", VALUE, SYMBOL)]
        table = read_capped(file, source, used, str(path), LARGEST_SOURCE_BYTES)
        refuse_expanded(table, str(path), LARGEST_SOURCE_BYTES)
    return table.replace_schema_metadata(file.schema_arrow.metadata)


@contextmanager
def _open_parquet(path: Path) -> "Iterator[tuple[pq.ParquetFile, io.BytesIO]]":
    """A file, open, and its content; its fault in one line."""
    import pyarrow as pa

    from data.providers.parquet_file import open_capped

    try:
        source = io.BytesIO(read_ordinary(path, LARGEST_SOURCE_BYTES))
        with open_capped(source, str(path), LARGEST_SOURCE_BYTES) as file:
            yield file, source
    except DataError as error:
        raise ConfigError(str(error)) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise ConfigError(f"{path} cannot be read: {why or str(error).splitlines()[0]}") from None


def _decode_record(schema: "pa.Schema", path: Path) -> ForecastRecord | None:
    """The record in a file's description; None where there is none, or that of another program."""
    try:
        payload = read_mapping((schema.metadata or {})[RECORD])
    except (KeyError, ValueError):
        return None
    record = ForecastRecord.read(payload)
    if not {"model", "horizon"} <= record.settings.keys():
        raise StoreError(f"{path}: its record lacks the model or the horizon: {AGAIN}")
    if _hash_record(payload) != record.digest:
        raise StoreError(f"{path}: its record was changed after it was written: {AGAIN}")
    return record


def _hash_record(payload: Mapping[str, object]) -> str:
    return sha256(encode({**payload, "digest": ""}, what=ForecastRecord.what)).hex()


def _span(bars: Bars) -> DataSpan:
    first, last = (
        str(np.datetime64(int(bars.timestamp[bar]), "ns").astype("datetime64[s]"))
        for bar in (0, -1)
    )
    return DataSpan(bars.symbol, first, last, len(bars), bars.content_hash)
