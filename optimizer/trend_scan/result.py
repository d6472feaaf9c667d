"""Result of a scan: a line a symbol, changes, and the rows themselves."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from data.checks import format_time
from data.plain import methods_take_plain
from optimizer.errors import ConfigError
from optimizer.trend_scan import HIGH, LOW
from strategy.errors import StrategyError, unknown
from strategy.expressions import Call, Number
from strategy.genes import Floats, Ints
from strategy.indicator_registry import KINDS, Kind
from strategy.indicators.adaptive_trend import FAMILIES

Int8s = npt.NDArray[np.int8]

LONG, NEUTRAL, SHORT, UNKNOWN = 1, 0, -1, 2

WORDS = {LONG: "long", NEUTRAL: "neutral", SHORT: "short", UNKNOWN: ""}
"""Names of classes."""

DIRECTIONS = {LONG: "long", NEUTRAL: "", SHORT: "short"}
"""Names of directions."""

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure

Column = npt.NDArray[Any]

MOST_ROWS = 20
"""Symbols that a notebook shows of a scan."""


@dataclass(frozen=True)
class ScanParams:
    """Parameters of the trend, and thresholds of its classes.

    Raises:
        ConfigError: When a parameter is unknown or not legal, or thresholds are not in order.

    >>> ScanParams({"ema_len": 21}).parameters[:3]
    (21, 28, 28)
    """

    # Parameters of the indicator by name; unnamed ones have its defaults.
    settings: Mapping[str, float]
    high: float = HIGH  # a trend above it is long
    low: float = LOW  # a trend below it is short; at most `high`
    is_script: bool = False  # whether it is the trend as the script of its author has it

    def __post_init__(self) -> None:
        for name in self.settings:
            if name not in self.names:
                raise ConfigError(unknown("parameter", name, list(self.names)))
        try:
            Call(self.kind.name, None, tuple(Number(value) for value in self._given))
        except StrategyError as error:
            raise ConfigError(str(error)) from None
        # A threshold that is no number is in no order either.
        if not -1 <= self.low <= self.high <= 1:
            raise ConfigError(
                f"--low {self.low:g} and --high {self.high:g}: thresholds lie between -1 and 1, "
                "the low one at or below the high one"
            )

    @property
    def kind(self) -> Kind:
        """The indicator."""
        return KINDS["adaptive_trend_script" if self.is_script else "adaptive_trend"]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of its parameters, in their order."""
        return tuple(parameter.name for parameter in self.kind.parameters)

    @cached_property
    def parameters(self) -> tuple[int, ...]:
        """All of them, as the indicator takes them."""
        return tuple(int(value) for value in self._given)

    @property
    def least_bars(self) -> int:
        """Bars that a symbol needs: the trend's own warm-up and two more."""
        # The warm-up of a strategy is one bar shorter, because a cross adds one.
        return self.kind.warm_up(*self.parameters) + 3

    @property
    def _given(self) -> tuple[float, ...]:
        defaults = dict(zip(self.names, self.kind.defaults, strict=True))
        return tuple({**defaults, **self.settings}.values())


@dataclass(frozen=True, eq=False)
class SymbolRow:
    """The trend of one symbol, bar by bar."""

    symbol: str  # name
    timestamp: Ints  # [T], nanoseconds UTC, at which bars open
    close: Floats  # [T], price
    trend: Floats  # [T], -1 to 1; NaN before the cutout
    votes: Int8s  # [6, T], whole hundredths, families in the order of `FAMILIES`
    classes: Int8s  # [T], codes of `optimizer.trend_scan.result.WORDS`
    directions: Int8s  # [T], codes of `DIRECTIONS` there

    def time(self, bar: int) -> str:
        """When a bar opens, ISO time, UTC."""
        return format_time(int(self.timestamp[bar]))


@dataclass(frozen=True)
class TrendRun:
    """A longest stretch of one class."""

    first: str  # when its first bar opens
    class_: str
    bars: int
    trend: float  # at its first bar
    change: float  # of the close from its first bar to its last, a fraction


@dataclass(frozen=True)
class SymbolTrend:
    """Where a symbol stands at its last closed bar."""

    symbol: str
    class_: str  # its class: long, neutral or short
    trend: float
    bars: int  # in this class, with the last one
    since: str  # when the first of them opens
    since_bar: int  # the number of that bar, from 0
    direction: str  # long or short; empty before the first cross of a threshold
    direction_since: str | None  # date of that turn; None if it never came
    direction_since_bar: int | None
    votes: Mapping[str, int]  # of the families, whole hundredths
    close: float
    last: str  # when the last bar opens
    history: tuple[TrendRun, ...] = ()  # the last runs, oldest first, as many as wanted


@dataclass(frozen=True)
class Change:
    """A symbol in another class than at the last scan of the same question."""

    symbol: str
    was: str  # its class then
    was_at: str  # when the last bar of that scan opens
    now: str  # its class now
    since: str  # when the first bar of this class opens


@dataclass(frozen=True)
class TooShort:
    """A symbol with fewer closed bars than a class needs."""

    symbol: str
    bars: int
    needed: int


@methods_take_plain(ConfigError)
@dataclass(frozen=True, kw_only=True)
class Scan:
    """Result of a scan of all symbols."""

    question: ScanParams  # asked of them
    # Longs by falling trend, shorts by rising trend, then neutral ones by falling trend;
    # equal ones by name.
    symbols: tuple[SymbolTrend, ...]
    too_short: tuple[TooShort, ...]  # symbols that have no class, by name
    changes: tuple[Change, ...]  # symbols in another class than at the last scan, by name
    compared: int  # symbols that an earlier scan of the same question knew
    replayed: int  # symbols that the readable definition confirmed in every bit
    bars: int  # of all rows
    seconds: float  # from bars to this
    device: str  # that computed the rows
    rows_hash: str  # SHA-256 over symbols by name: name, a zero byte, the row's bytes
    notes: tuple[str, ...]  # one line for each repair, assumption or warning
    # The trends bar by bar, by name; too short ones have none.
    rows: Mapping[str, SymbolRow] = field(repr=False)

    def __repr__(self) -> str:
        return f"Scan({', '.join(f'{count} {word}' for word, count in self.counts.items())})"

    def _repr_html_(self) -> str:
        rest = len(self.symbols) - MOST_ROWS
        table = self.frame().head(MOST_ROWS).to_html(index=False, float_format="{:.4g}".format)
        return f"<p>{self!r}</p>{table}" + (f"<p>and {rest:,} more</p>" if rest > 0 else "")

    @property
    def counts(self) -> dict[str, int]:
        """Symbols of each class."""
        classes = [symbol.class_ for symbol in self.symbols]
        return {word: classes.count(word) for word in ("long", "short", "neutral")}

    def payload(self) -> dict[str, object]:
        """All but the rows, ready for JSON."""
        question = self.question
        fields: dict[str, object] = {
            "indicator": question.kind.name,
            "parameters": dict(zip(question.names, question.parameters, strict=True)),
            "high": question.high,
            "low": question.low,
            "counts": self.counts,
        }
        for name in ("symbols", "too_short", "changes"):
            fields[name] = [_plain(asdict(part)) for part in getattr(self, name)]
        rest = ("compared", "replayed", "bars", "seconds", "device", "rows_hash")
        return {**fields, **{name: getattr(self, name) for name in rest}, "notes": list(self.notes)}

    def figure(self, symbol: str, last: int = 500) -> "Figure":
        """The newest bars of a symbol: price by class, the trend, votes and equities of families.

        Raises:
            ConfigError: When no symbol that has a row is named so.
        """
        from optimizer.report.charts.trend import compute_layers, trend

        if symbol not in self.rows:
            raise ConfigError(unknown("symbol", symbol, list(self.rows) or ["none"]))
        row, question = self.rows[symbol], self.question
        layers = compute_layers(row.close, question.parameters, is_script=question.is_script)
        chart = trend(
            symbol,
            row.timestamp,
            row.close,
            layers,
            high=question.high,
            low=question.low,
            last=last,
        )
        return chart.figure()

    def frame(self) -> "DataFrame":
        """A row a symbol, in their order, with the vote of each family in a column of its name.

        Columns: symbol, class, trend, bars, since, since_bar, direction, direction_since,
        direction_since_bar, close, last, ema to kama. All bars: ``pandas.DataFrame(columns())``.
        """
        from pandas import DataFrame

        rows = [vars(trend) | {"class": trend.class_, **trend.votes} for trend in self.symbols]
        turned = ("direction", "direction_since", "direction_since_bar")
        columns = ("symbol", "class", "trend", "bars", "since", "since_bar", *turned)
        return DataFrame(rows, columns=[*columns, "close", "last", *FAMILIES])

    def columns(self) -> dict[str, Column]:
        """All rows as a table, symbols by name, bars oldest first: name of a column to values."""
        rows = [self.rows[name] for name in sorted(self.rows)]
        classes = np.array([WORDS[code] for code in sorted(WORDS)], object)
        directions = np.array([DIRECTIONS[code] for code in sorted(DIRECTIONS)], object)

        def concat_rows(pick: Callable[[SymbolRow], Column], kind: npt.DTypeLike) -> Column:
            return np.concatenate([np.empty(0, kind), *map(pick, rows)], dtype=kind)

        return {
            "symbol": concat_rows(lambda row: np.repeat([row.symbol], len(row.trend)), object),
            "timestamp": concat_rows(lambda row: row.timestamp, np.int64),
            "close": concat_rows(lambda row: row.close, np.float64),
            "trend": concat_rows(lambda row: row.trend, np.float64),
            "class": concat_rows(lambda row: classes[row.classes + 1], object),
            "direction": concat_rows(lambda row: directions[row.directions + 1], object),
            **{
                family: concat_rows(lambda row, k=k: row.votes[k], np.int8)  # type: ignore[misc]
                for k, family in enumerate(FAMILIES)
            },
        }


def classify_bars(row: Floats, high: float, low: float) -> Int8s:
    """Class at each bar: long above `high`, short below `low`, unknown where the row is NaN.

    Args:
        row: [T], -1 to 1 or NaN.
        high: At least `low`.
        low: A row at a threshold itself is neutral.

    Returns:
        [T], codes of `WORDS`.

    >>> classify_bars(np.array([np.nan, 0.1, 0.2, -0.2]), 0.1, -0.1).tolist()
    [2, 0, 1, -1]
    """
    codes = (row > high).astype(np.int8) - (row < low).astype(np.int8)
    codes[np.isnan(row)] = UNKNOWN
    return codes


def find_directions(row: Floats, high: float, low: float) -> Int8s:
    """Direction at each bar: of the last rise through `high` or fall through `low`, 0 before one.

    Args:
        row: [T], -1 to 1 or NaN, which crosses nothing.
        high: At least `low`.
        low: A row at a threshold itself has not crossed it.

    Returns:
        [T], codes of `DIRECTIONS`.

    >>> find_directions(np.array([0.2, 0.0, 0.2, 0.0, -0.2]), 0.1, -0.1).tolist()
    [0, 0, 1, 1, -1]
    """
    turns = np.zeros(len(row), np.int8)
    now, before = row[1:], row[:-1]
    turns[1:] += (now > high) & (before <= high)
    turns[1:] -= (now < low) & (before >= low)
    last = np.where(turns != 0, np.arange(len(row)), 0)
    return turns[np.maximum.accumulate(last)]


def run_starts(codes: Int8s) -> Ints:
    """First bars of the longest stretches of one code, [K] ascending; of [T], at least 1 bar.

    >>> run_starts(np.array([2, 2, 1, 1, 0], np.int8)).tolist()
    [0, 2, 4]
    """
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1)).astype(np.int64)


def summarise_symbol(row: SymbolRow, history: int) -> SymbolTrend:
    """Where a symbol stands at its last bar, with so many of its last runs."""
    starts, turned = run_starts(row.classes), run_starts(row.directions)
    begun, turned_at = int(starts[-1]), int(turned[-1])
    direction = DIRECTIONS[int(row.directions[-1])]
    return SymbolTrend(
        symbol=row.symbol,
        class_=WORDS[int(row.classes[-1])],
        trend=float(row.trend[-1]),
        bars=len(row.trend) - begun,
        since=row.time(begun),
        since_bar=begun,
        direction=direction,
        direction_since=row.time(turned_at) if direction else None,
        direction_since_bar=turned_at if direction else None,
        votes=dict(zip(FAMILIES, row.votes[:, -1].tolist(), strict=True)),
        close=float(row.close[-1]),
        last=row.time(-1),
        history=_history(row, starts, history),
    )


def build_sort_key(trend: SymbolTrend) -> tuple[int, float, str]:
    """Sort key of symbols: longs, shorts, neutral ones; the strongest first, then names."""
    rank = ("long", "short", "neutral").index(trend.class_)
    return rank, trend.trend if trend.class_ == "short" else -trend.trend, trend.symbol


def hash_rows(rows: Mapping[str, SymbolRow]) -> str:
    """SHA-256, hexadecimal, over symbols by name: name, a zero byte, the row's bytes."""
    digest = hashlib.sha256()
    for name in sorted(rows):
        digest.update(name.encode() + b"\0")
        digest.update(rows[name].trend.astype("<f8", copy=False).tobytes())
    return digest.hexdigest()


def _history(row: SymbolRow, starts: Ints, count: int) -> tuple[TrendRun, ...]:
    """The last runs of a class, oldest first; unknown bars are none."""
    ends = np.append(starts[1:], len(row.trend))
    last = slice(max(len(starts) - count, 0), None)
    return tuple(
        TrendRun(
            first=row.time(first),
            class_=WORDS[int(row.classes[first])],
            bars=end - first,
            trend=float(row.trend[first]),
            change=float(row.close[end - 1] / row.close[first]) - 1.0,
        )
        for first, end in zip(starts[last].tolist(), ends[last].tolist(), strict=True)
        if row.classes[first] != UNKNOWN
    )


def _plain(value: object) -> object:
    """`class_` is called class outside of Python, which has another use for that word."""
    if isinstance(value, dict):
        return {name.removesuffix("_"): _plain(field) for name, field in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
