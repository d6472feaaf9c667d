"""Bars: frozen columns of one market, checked and hashed, and windows that cut and part them."""

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from mmap import mmap
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from data.checks import COLUMNS, VALUES, Floats, Ints, check_bars
from data.errors import BarsError, WindowError
from data.hours import Gaps, OpenGaps, list_gaps
from data.timeframe import find_bar_ends, format_timeframe

SHARE = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?)%")

LONGEST_SYMBOL = 64

Role = Literal["search", "held_out", "train", "test"]
"""Purpose of a window: to search on, to judge by what no search has seen, or part of a fold."""


@dataclass(frozen=True)
class Holdout:
    """Bars to keep from a search, as a share or by date."""

    # Share of a window's bars, above 0 and below 1; None where a date decides.
    share: Fraction | None = None
    # ISO 8601 time from which bars are held out; None where a share decides.
    start: str | None = None


@dataclass(frozen=True, eq=False)
class FinerBars:
    """Times and prices of finer bars, oldest first; there may be none."""

    timestamp: Ints  # [K] nanoseconds UTC at which they open, ascending
    prices: Floats  # [4, K] open, high, low and close
    timeframe_ns: int  # duration of one
    source: str = ""

    def __len__(self) -> int:
        return len(self.timestamp)

    @property
    def n_bytes(self) -> int:
        """Bytes that all columns take."""
        return self.timestamp.nbytes + self.prices.nbytes

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, hexadecimal, of times, prices and duration; the source does not count."""
        digest = hashlib.sha256(f"finer 1 timeframe_ns={self.timeframe_ns}\n".encode())
        digest.update(self.timestamp.astype("<i8", copy=False).tobytes())
        digest.update(self.prices.astype("<f8", copy=False).tobytes())
        return digest.hexdigest()

    def between(self, first_ns: int, end_ns: int) -> "FinerBars":
        """Bars that open from a time on and before another."""
        first, end = np.searchsorted(self.timestamp, [first_ns, end_ns])
        return FinerBars(
            self.timestamp[first:end], self.prices[:, first:end], self.timeframe_ns, self.source
        )


@dataclass(frozen=True, eq=False)
class Payments:
    """Times and rates of payments, oldest first; there may be none."""

    timestamp: Ints  # [N] nanoseconds UTC, on the minute
    rates: Floats  # [N] fraction of the price, finite

    def __post_init__(self) -> None:
        for name, kind in (("timestamp", np.int64), ("rates", np.float64)):
            column = np.ascontiguousarray(getattr(self, name), kind).view()
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def between(self, first_ns: int, last_ns: int) -> "Payments":
        """Payments after a time and up to another: a series pays no other, for it begins at 0."""
        first, end = np.searchsorted(self.timestamp, [first_ns, last_ns], side="right")
        return Payments(self.timestamp[first:end], self.rates[first:end])

    def find_bars(self, opens: Ints) -> Ints:
        """First bar of each payment [N] that opens no earlier, of bars that open at `opens` [T]."""
        return np.searchsorted(opens, self.timestamp).astype(np.int64)

    def describe(self) -> bytes:
        """Bytes that tell these payments from others."""
        rates = (self.rates + 0.0).astype("<f8", copy=False)
        return self.timestamp.astype("<i8", copy=False).tobytes() + rates.tobytes()


@dataclass(frozen=True, eq=False)
class Bars:
    """One market's bars, oldest first.

    Columns are contiguous and read-only, so that a hash once taken stays true: they are copied,
    but for those in memory that this process cannot write, such as a mapped file.

    Args:
        timestamp: [T], int64 nanoseconds UTC, the time at which a bar OPENS, strictly ascending.
        open: [T], float64, finite and above zero, as are high, low and close.
        high: [T], at least open and close.
        low: [T], at most open and close.
        volume: [T], finite and not negative.
        symbol: Name of the market, text for people, never a path.
        timeframe_ns: Duration of one bar, nanoseconds.
        source: The spec that the bars were loaded from.
        is_simulated: Whether a program invented the market.
        notes: One line for each repair, assumption or warning.
        extra: Further columns by name, each [T] finite or NaN: what was known at a bar's close.
        dated: Names of extra columns that follow the clock, such as a rate with the time from
            which it was known; each other column is aligned, it belongs to its bar.
        zone: IANA zone of the source's clock: its days and weeks are those that bars merge into.
        open_gaps: Gaps in open hours, of these bars and others before and after; None where no
            closed hours are known.
        finer: Shorter bars of the same market, which order the touches within a bar; None where
            bars are read as a whole.
        payments: Payments by the name of their column; payments outside the bars are dropped.

    Raises:
        BarsError: With the first five offending rows and the option that repairs them.
    """

    timestamp: Ints
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats
    symbol: str
    timeframe_ns: int
    source: str = ""
    is_simulated: bool = False
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Floats] = field(default_factory=dict)
    dated: tuple[str, ...] = ()
    zone: str = "UTC"
    open_gaps: OpenGaps | None = None
    finer: FinerBars | None = None
    payments: Mapping[str, Payments] = field(default_factory=dict)

    def __repr__(self) -> str:
        first, last = (np.datetime64(int(self.timestamp[at]), "ns") for at in (0, -1))
        days = f"{first.astype('datetime64[D]')} .. {last.astype('datetime64[D]')}"
        return f"Bars({self.symbol!r}, {self.timeframe}, {len(self):,} bars, {days})"

    def __post_init__(self) -> None:
        for name in COLUMNS:
            object.__setattr__(self, name, _freeze_column(name, getattr(self, name)))
        extra = {name: _freeze_column(name, self.extra[name]) for name in sorted(self.extra)}
        object.__setattr__(self, "extra", extra)
        self._check_fields()
        check_bars(self.timestamp, {name: getattr(self, name) for name in VALUES})

    @classmethod
    def adopt(cls, columns: Mapping[str, Floats | Ints], **fields: object) -> "Bars":
        """Bars of columns [T] that are handed over: neither copied nor checked once more.

        Their maker has checked them by `check_bars`, and writes to none of them any more. `columns`
        are int64 nanoseconds and float64, further ones among them; `fields` are the others.
        """
        bars = object.__new__(cls)
        for field_ in dataclasses.fields(cls):
            if field_.default_factory is not dataclasses.MISSING:
                object.__setattr__(bars, field_.name, field_.default_factory())
        own = {name: np.ascontiguousarray(column) for name, column in columns.items()}
        for column in own.values():
            column.flags.writeable = False
        extra = {name: own.pop(name) for name in sorted(own.keys() - {*COLUMNS})}
        for name, value in {**own, **fields, "extra": extra}.items():
            object.__setattr__(bars, name, value)
        bars._check_fields()
        return bars

    def _check_fields(self) -> None:
        """Check, and put in order, all but the law of the columns."""
        extra = self.extra
        # Columns may be replaced: names of removed ones are dropped.
        object.__setattr__(self, "dated", tuple(name for name in extra if name in self.dated))
        lengths = {name: len(getattr(self, name)) for name in COLUMNS}
        lengths |= {name: len(column) for name, column in extra.items()}
        if len(set(lengths.values())) != 1:
            raise BarsError(f"columns differ in length: {lengths}")
        if lengths["timestamp"] == 0:
            raise BarsError(f"{self.source or 'bars'}: there are no bars")
        if isinstance(self.timeframe_ns, bool) or not self.timeframe_ns > 0:
            raise BarsError(f"timeframe_ns must be above zero, got {self.timeframe_ns!r}")
        if self.finer is not None and not self.finer.timeframe_ns < self.timeframe_ns:
            raise BarsError(
                f"finer bars of {format_timeframe(self.finer.timeframe_ns)} are not shorter than "
                f"those of {self.timeframe}"
            )
        check_symbol(self.symbol)
        for name, column in extra.items():
            if np.isinf(column).any():
                raise BarsError(
                    f"column '{name}' is infinite at bar {int(np.isinf(column).argmax())}"
                )
        span = int(self.timestamp[0]), int(self.timestamp[-1])
        payments = {name: self.payments[name].between(*span) for name in sorted(self.payments)}
        object.__setattr__(self, "payments", payments)

    def __len__(self) -> int:
        return len(self.timestamp)

    @property
    def n_bytes(self) -> int:
        """Bytes that all columns take."""
        finer_bytes = 0 if self.finer is None else self.finer.n_bytes
        return 8 * len(self) * (len(COLUMNS) + len(self.extra)) + finer_bytes

    @property
    def timeframe(self) -> str:
        """Duration of one bar as text, such as ``15m``."""
        return format_timeframe(self.timeframe_ns)

    def as_finer(self) -> FinerBars:
        """These bars as finer ones of others."""
        prices = np.array([self.open, self.high, self.low, self.close])
        return FinerBars(self.timestamp, prices, self.timeframe_ns, self.source)

    def until(self, end: int) -> "Bars":
        """Bars [0, end): the series as it was before a bar opened, nothing after it."""
        if end >= len(self):
            return self
        return self.cut(0, end)

    def find_range(self, start: str | None, end: str | None) -> tuple[int, int]:
        """First bar that opens from a time on, and first that opens no earlier than another.

        Times are as of `Window.between`.
        """
        first = 0 if start is None else np.searchsorted(self.timestamp, parse_time(start, "--from"))
        last = len(self)
        if end is not None:
            last = int(np.searchsorted(self.timestamp, parse_time(end, "--to")))
        return int(first), last

    @cached_property
    def over_ns(self) -> Ints:
        """When each bar is over, [T] nanoseconds UTC; see `find_bar_ends`."""
        over_ns = find_bar_ends(self.timestamp, self.timeframe_ns)
        over_ns.flags.writeable = False
        return over_ns

    @cached_property
    def finer_spans(self) -> Ints:
        """First finer bar of each bar that is made up of them, and one past its last, [2, T].

        Both are equal for a bar that is not made up.
        """
        if self.finer is None:
            raise BarsError("there are no finer bars")
        prices = {name: getattr(self, name) for name in ("open", "high", "low", "close")}
        return find_spans(self.timestamp, self.over_ns, prices, self.finer)

    def cut(self, start: int, end: int, **changes: object) -> "Bars":
        """Bars [start, end) alone; `changes` are other fields."""
        columns = {name: getattr(self, name)[start:end] for name in COLUMNS}
        extra = {name: column[start:end] for name, column in self.extra.items()}
        finer, times = self.finer, columns["timestamp"]
        if finer is not None and len(times):
            finer = finer.between(int(times[0]), int(self.over_ns[start:end][-1]))
        return replace(self, **{**columns, "extra": extra, "finer": finer, **changes})

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, hexadecimal, of columns, duration, finer bars and payments; no source counts."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        digest = hash_of_columns(self.timeframe_ns, columns, self.extra)
        if self.finer is not None:
            digest = hashlib.sha256(f"{digest}\n{self.finer.content_hash}".encode()).hexdigest()
        for name, paid in self.payments.items():
            about = f"{digest}\npayments {name} {len(paid.rates)}\n".encode()
            digest = hashlib.sha256(about + paid.describe()).hexdigest()
        return digest

    def gaps(self, start: int = 0, end: int | None = None) -> Gaps:
        """Count the steps between neighbours that are longer than one bar.

        Of bars [start, end), those steps count that end at one of them: parts of a series add up.
        """
        return list_gaps(self.timestamp, self.timeframe_ns).count(self.timestamp, start, end)

    def gaps_in_open_hours(self, start: int = 0, end: int | None = None) -> Gaps:
        """Count gaps as `gaps` does, but for closed hours where these are known."""
        if self.open_gaps is None:
            return self.gaps(start, end)
        return self.open_gaps.count(self.timestamp, start, end)


@dataclass(frozen=True)
class Window:
    """A half-open range of bars of one series: an independent backtest.

    Args:
        series: Number of the series, from 0.
        end: The bar after the last; above `start`.
        role: What it is for; where an account has limits, those of a role are one account.

    Raises:
        WindowError: When a number is negative, the range is empty or the role is unknown.
    """

    series: int
    start: int
    end: int
    role: Role = "search"

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise WindowError(f"role must be one of {', '.join(get_args(Role))}, got {self.role!r}")
        if self.series < 0:
            raise WindowError(f"series must not be negative, got {self.series}")
        if not 0 <= self.start < self.end:
            raise WindowError(f"a window needs 0 <= start < end, got {self.start} .. {self.end}")

    def __len__(self) -> int:
        return self.end - self.start

    @classmethod
    def whole(cls, bars: Bars, series: int = 0) -> "Window":
        """The window of all bars of a series."""
        return cls(series, 0, len(bars))

    @classmethod
    def between(
        cls, bars: Bars, start: str | None = None, end: str | None = None, series: int = 0
    ) -> "Window":
        """The window of the bars that open from `start` on and before `end`.

        Times are ISO 8601, UTC where they name no zone; None stands for the first bar and
        for the end.

        Raises:
            WindowError: When a time cannot be read, or no bar opens in between.
        """
        first, last = bars.find_range(start, end)
        if first >= last:
            have = f"{_iso(bars.timestamp[0])} .. {_iso(bars.timestamp[-1])}"
            raise WindowError(
                f"no bar opens from {start or 'the first bar'} before {end or 'the end'}; "
                f"{bars.symbol} has bars from {have} (UTC)"
            )
        return cls(series, first, last)


def groups(start: int, end: int, count: int) -> list[tuple[int, int]]:
    """Cut bars [start, end) into neighbours of nearly equal length.

    >>> groups(0, 103, 5)
    [(0, 20), (20, 41), (41, 61), (61, 82), (82, 103)]
    """
    cuts = [start + i * (end - start) // count for i in range(count + 1)]
    return list(pairwise(cuts))


def parts(windows: Sequence[Window], count: int) -> tuple[Window, ...]:
    """Each window cut into so many windows of its own, which keep its role.

    Raises:
        WindowError: When a window has fewer bars than that.
    """
    for window in windows:
        if not 1 <= count <= len(window):
            raise WindowError(f"a window of {len(window):,} bars cannot be cut into {count} parts")
    return tuple(
        replace(window, start=start, end=end)
        for window in windows
        for start, end in groups(window.start, window.end, count)
    )


def joined(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Windows in their order, neighbours of one series and role that touch as one.

    >>> whole = (Window(0, 0, 9), Window(1, 3, 9))
    >>> joined(parts(whole, 3)) == whole
    True
    """
    merged: list[Window] = []
    for window in windows:
        start = (window.series, window.start, window.role)
        if merged and (merged[-1].series, merged[-1].end, merged[-1].role) == start:
            merged[-1] = replace(merged[-1], end=window.end)
        else:
            merged.append(window)
    return tuple(merged)


def parse_holdout(text: str) -> Holdout:
    """Read what to hold out: ``20%``, or an ISO 8601 time such as ``2024-01-01``.

    >>> parse_holdout("12.5%").share
    Fraction(1, 8)
    """
    match = SHARE.fullmatch(text.strip())
    if match is not None and (share := Fraction(match[1]) / 100) > 0:
        return Holdout(share=share)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise WindowError(
            f"--holdout {text[:40]!r} must be a share above 0% and below 100%, such as 20%, or the "
            "time from which bars are held out, such as 2024-01-31"
        ) from None
    return Holdout(start=text)


def split_window(bars: Bars, window: Window, holdout: Holdout) -> tuple[Window, Window]:
    """Part a window into bars to search on, and later ones to judge the result on.

    The two are neighbours; a share is rounded down to whole bars.

    Raises:
        WindowError: When one of them would be empty.
    """
    if holdout.share is not None:
        cut = window.end - int(len(window) * holdout.share)
    else:
        start_ns = parse_time(str(holdout.start), "--holdout")
        cut = max(int(np.searchsorted(bars.timestamp, start_ns)), window.start)
    if not window.start < cut < window.end:
        part = "none left to search on" if cut <= window.start else "none held out"
        share = holdout.share
        told = holdout.start if share is None else f"{float(share * 100):g}%"
        raise WindowError(
            f"--holdout {told}: {bars.symbol} has {len(window)} bars in the window, {part}"
        )
    return replace(window, end=cut), Window(window.series, cut, window.end, "held_out")


def find_spans(
    timestamp: Ints, over_ns: Ints, prices: Mapping[str, Floats], finer: FinerBars
) -> Ints:
    """First finer bar of each bar, and one past its last, [2, T]; the same for those of none.

    A bar is made up of the finer bars that open from its own opening time on and before it is
    over, if first open, largest high, smallest low and last close are its own in every bit.

    Args:
        timestamp: [T] when bars open, nanoseconds UTC.
        over_ns: [T] when they are over.
        prices: Their columns by name, each [T].
        finer: Of the same market.
    """
    first, end = (np.searchsorted(finer.timestamp, times) for times in (timestamp, over_ns))
    some = np.flatnonzero(end > first)
    spans = np.stack([first, first]).astype(np.int64)
    if len(some):
        start, stop = first[some], end[some]
        edges = np.stack([start, stop], axis=1).reshape(-1)
        opens, highs, lows, closes = np.pad(finer.prices, ((0, 0), (0, 1)))
        is_whole = opens[start] == prices["open"][some]
        is_whole &= np.maximum.reduceat(highs, edges)[::2] == prices["high"][some]
        is_whole &= np.minimum.reduceat(lows, edges)[::2] == prices["low"][some]
        is_whole &= closes[stop - 1] == prices["close"][some]
        spans[1, some[is_whole]] = stop[is_whole]
    return spans


def has_finer(series: Iterable[Bars]) -> bool:
    """True if bars of any series carry finer ones."""
    return any(bars.finer is not None for bars in series)


def hash_of_columns(
    timeframe_ns: int, columns: Mapping[str, Floats | Ints], extra: Mapping[str, Floats]
) -> str:
    """SHA-256, hexadecimal, of bars [T]: duration, their columns, further ones in any order."""
    digest = hashlib.sha256(f"bars 1 timeframe_ns={timeframe_ns}\n".encode())
    for name in COLUMNS:
        column = columns[name]
        little = column.astype(column.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {little.dtype.str} {len(little)}\n".encode())
        digest.update(little.tobytes())
    for name, column in sorted(extra.items()):
        digest.update(f"extra {name} <f8 {len(column)}\n".encode())
        # A NaN has no payload, a zero no sign.
        plain = np.where(np.isnan(column), np.nan, column + 0.0)
        digest.update(plain.astype("<f8", copy=False).tobytes())
    return digest.hexdigest()


def check_symbol(symbol: str) -> str:
    """Refuse a symbol that could harm a terminal or a page: empty, long, or unprintable."""
    if not isinstance(symbol, str) or not symbol.strip():
        raise BarsError("the symbol is empty")
    if len(symbol) > LONGEST_SYMBOL:
        raise BarsError(
            f"the symbol has {len(symbol)} characters ({symbol[:16]!r}...), "
            f"at most {LONGEST_SYMBOL} are allowed"
        )
    if not symbol.isprintable():
        raise BarsError(f"the symbol {symbol!a} holds characters that cannot be printed")
    return symbol


def parse_time(text: str, flag: str = "") -> int:
    """Nanoseconds UTC of an ISO 8601 time; UTC where it names no zone.

    Raises:
        WindowError: When it is none, beginning with the flag that named it, if there was one.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        message = f"{flag} {text!r} is no time; write it as 2024-01-31 or 2024-01-31T09:30"
        raise WindowError(message.strip()) from None
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    microseconds = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    # The first number stands for no time, and numpy cannot write the day that begins there.
    return min(max(microseconds * 1000, -(2**63) + 2 * 86_400 * 10**9), 2**63 - 1)


def _freeze_column(name: str, column: npt.ArrayLike) -> Ints | Floats:
    array = np.asarray(column)
    allowed = "iu" if name == "timestamp" else "iuf"
    if array.ndim != 1 or (array.dtype.kind not in allowed and array.size):
        raise BarsError(
            f"column '{name}' must be one row of "
            f"{'whole nanoseconds' if name == 'timestamp' else 'numbers'}, "
            f"got shape {array.shape} of {array.dtype}"
        )
    if array.dtype == (np.int64 if name == "timestamp" else np.float64) and _is_fixed(array):
        return array
    frozen: Ints | Floats
    frozen = array.astype(np.int64) if name == "timestamp" else array.astype(np.float64)
    frozen.flags.writeable = False
    return frozen


def _is_fixed(column: npt.NDArray[np.generic]) -> bool:
    """True if a column is contiguous in memory that this process cannot write."""
    owner: object = column
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    is_fixed = isinstance(owner, bytes) or (isinstance(owner, mmap) and memoryview(owner).readonly)
    return is_fixed and column.flags.c_contiguous and column.flags.aligned


def _iso(time_ns: np.int64) -> str:
    return str(np.datetime64(int(time_ns), "ns").astype("datetime64[s]"))
