"""Rows that are bars of something else: of several markets, or with columns in another order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import PRICES, VALUES, Ints
from data.errors import TableError
from data.providers.column_names import MARKET_NAMES, find_role, plain, write_option
from data.providers.markets import SIGN, name_market
from data.providers.shapes import guess_order
from data.providers.times import find_unit
from data.table import RawTable
from data.timeframe import DAY_NS

FEWEST_BARS, MOST_BARS, MOST_COLUMNS = 20, 10_000, 30
"""Bars from which on values show their order, bars that are read so, and columns tried in pairs."""

LEAST_SHARED, OFTEN = 0.1, 0.5
"""Share of rows that repeat a time where markets stand beside each other; of bars that break the
law of bars, and of the step from a close to the next open that is left where both are exchanged."""

SWAPPED: tuple[str, ...] = ("timestamp", "close", "high", "low", "open", "volume")
"""Order in which yfinance writes columns."""

HOURS = ("hour", "hours", "hr", "stunde", "hour_ending", "he")
"""Names of columns of hours, which part no markets."""

Columns = Iterable[tuple[str, pa.Array | pa.ChunkedArray]]
"""Columns of a file, [N] each, with their names; each is read when it is asked for."""


def refuse_mixed(
    time_ns: Ints, others: Callable[[], Columns], where: str, market: str = "", option: str = ""
) -> None:
    """Refuse rows of several markets, where another column, or two of them, part them into series.

    `market` owns these rows, by its name behind the path, and `option` names the column of names;
    both are empty where there is none.

    Raises:
        TableError: Naming the columns, and how to read one market.
    """
    columns = _list_parting(time_ns, others, where)
    names = _find_parting(columns, time_ns, 1) or _find_parting(columns, time_ns, 2)
    if not names:
        return
    values = [_list_markets(columns[name].dictionary) for name in names]
    shown = f"columns {' and '.join(map(repr, names))} part the rows by both"
    if len(names) == 1:
        again = f" of {market!r} once more," if market else ""
        shown = f"column {names[0]!r} {show_markets(values[0], again)}"
    address = name_market(where, *filter(None, [market]), *(held[0] for held in values))
    option = option if market else write_option("symbol", names[0])
    which = "one of each" if len(names) > 1 else "both" if market else "one of them"
    raise TableError(f"{where}: {shown}; name {which}, such as {address}{option and ' '}{option}")


def choose_rows(time_ns: Ints, others: Callable[[], Columns], market: str, where: str) -> pa.Array:
    """Flags of rows [N] in which other columns that part them hold the names of one market.

    Raises:
        TableError: When no such column holds one of them, or all rows are of one series.
    """
    columns = _list_parting(time_ns, others, where)
    rows = pa.array(np.ones(len(time_ns), dtype=np.bool_))
    for part in market.split(SIGN):
        held = [
            (len(column.dictionary), pc.equal(column.indices, markets.index(part)))
            for column in columns.values()
            if part in (markets := _list_markets(column.dictionary))
        ]
        if not held:
            raise TableError(f"{where}: there is no market {part[:40]!r} in this file")
        rows = pc.and_(rows, min(held, key=lambda item: item[0])[1])
    return rows


def find_markets(
    time_ns: Ints, others: Callable[[], Columns], where: str
) -> tuple[str, list[object]] | None:
    """The column that parts rows into series, and its values; None where the rows are of one.

    `others` are columns that may part them, read only where times [N] do not go one way.

    Raises:
        TableError: When a column holds the hours of rows whose times are dates.
    """
    columns = _list_parting(time_ns, others, where)
    names = _find_parting(columns, time_ns, 1)
    return (names[0], _list_markets(columns[names[0]].dictionary)) if names else None


def _list_parting(
    time_ns: Ints, others: Callable[[], Columns], where: str
) -> dict[str, pa.DictionaryArray]:
    """Columns that may part rows into series, as codes; none where times go one way."""
    steps = np.diff(time_ns)
    if (steps > 0).all() or (steps < 0).all():
        return {}
    hours, columns = "", {}
    for name, column in others():
        if plain(name) in HOURS or find_role(name) == "time":
            hours = hours or name
            continue
        codes = _encode(column)
        if not codes.null_count and 2 <= len(codes.dictionary) <= len(codes) // 2:
            columns[name] = codes
    # Local midnights are two moments of UTC.
    are_dates = hours and len(np.unique(time_ns % DAY_NS)) <= 2 and _is_shared(time_ns)
    if are_dates and not _find_parting(columns, time_ns, 1):
        raise TableError(
            f"{where}: column {hours!r} holds the hours of dates that stand in another column; "
            "write both as one, such as 2024-01-31 09:00"
        )
    return columns


def _find_parting(
    columns: Mapping[str, pa.DictionaryArray], time_ns: Ints, count: int
) -> tuple[str, ...]:
    """So many columns that part rows into the fewest series together; none where none do."""
    parted = {}
    if not columns or (count > 1 and not _is_shared(time_ns)):
        return ()
    for names in combinations(list(columns)[:MOST_COLUMNS], count):
        code = np.zeros(len(time_ns), dtype=np.int64)
        for name in names:
            code = code * len(columns[name].dictionary) + columns[name].indices.to_numpy()
        is_named = any(plain(name) in MARKET_NAMES for name in names)
        if _parts_series(code, time_ns, is_named=is_named):
            parted[names] = len(np.unique(code))
    return min(parted, key=lambda names: parted[names], default=())


def _encode(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Values as codes; those of a dictionary that no row holds are none."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(whole.type):
        return pc.dictionary_encode(whole)
    codes = pc.dictionary_encode(whole.indices)
    return pa.DictionaryArray.from_arrays(codes.indices, whole.dictionary.take(codes.dictionary))


def _list_markets(values: pa.Array) -> list[object]:
    """Values as the reader of one market compares them, where they can be written as text."""
    try:
        return list(values.cast(pa.string()).to_pylist())
    except pa.ArrowException:
        return list(values.to_pylist())


def show_markets(markets: Sequence[object], again: str = "") -> str:
    """Words for a message about a column that names several markets."""
    shown = ", ".join(repr(str(market))[:24] for market in markets[:3])
    more = ", ..." if len(markets) > 3 else ""
    return f"parts the rows{again} into {len(markets)} markets ({shown}{more})"


def _parts_series(code: Ints, time_ns: Ints, *, is_named: bool) -> bool:
    """True if the times of each value of a column, as codes [N], form one series.

    Markets stand one behind the other, or share many of their times; else a number that happens to
    differ where two rows were exchanged would part them. Series that follow one another in time
    may be parts of one market, such as its months: only a column of such a name makes markets of
    them.
    """
    count = len(np.unique(code))
    if count > len(code) // 2:
        return False
    order = np.argsort(code, kind="stable")
    steps, is_same = np.diff(time_ns[order]), np.diff(code[order]) == 0
    if not ((steps[is_same] > 0).all() or (steps[is_same] < 0).all()):
        return False
    if _is_shared(time_ns):
        return True
    n_changes = int((np.diff(code) != 0).sum())
    by_time = code[np.argsort(time_ns, kind="stable")]
    are_mixed = int((np.diff(by_time) != 0).sum()) >= count
    return n_changes == count - 1 and (is_named or are_mixed)


def _is_shared(time_ns: Ints) -> bool:
    """True if many rows share their time [N] with others."""
    repeated = np.count_nonzero(np.diff(np.sort(time_ns)) == 0)
    return bool(repeated >= LEAST_SHARED * len(time_ns))


def refuse_other_order(table: RawTable, columns: Sequence[str], times: pa.Array) -> None:
    """Refuse values in an order that was assumed, where they seem to have another.

    Args:
        table: Rows as read in the usual order.
        columns: How a person names the columns of time and values, by name or place.
        times: The column of times as it is written.

    Raises:
        TableError: Naming the order that they seem to have.
    """
    # Names count from 0, and places from 1.
    is_named = columns[0] == "0"
    reason, order = _find_other_order(table, times, is_named=is_named), SWAPPED
    if reason:
        order = _guess_order(table)
        reason += "; say which is which, such as " if order else ", nor are they in another order"
    elif _are_swapped(table):
        reason = (
            " open, high, low, close most bars would close where the bar before opened; if they "
            "are close, high, low, open: "
        )
    if reason:
        what = "names only count columns," if is_named else "there is no header line,"
        what += " and" if is_named else " and read as"
        has_clock = order and len(columns) > len(order)
        order = ("date", "time", *order[1:]) if has_clock else order
        options = " ".join(map(write_option, order, columns))
        raise TableError(f"{table.where}: {what}{reason}{options}")


def _find_other_order(table: RawTable, times: pa.Array, *, is_named: bool) -> str:
    """Reason why rows are not in the usual order, or a list is none of ccxt's; empty if none."""
    # Nanoseconds are beyond the whole numbers that are exact in float64, which decides nothing.
    times = times.cast(pa.float64(), safe=False) if pa.types.is_integer(times.type) else times
    unit = find_unit(times) if is_named else "ms"
    if unit != "ms":
        return f" times are no milliseconds{'' if unit is None else f' but {unit}'}"
    opens, highs, lows, closes = (table.values[name] for name in PRICES)
    is_odd = (highs < np.maximum(opens, closes)) | (lows > np.minimum(opens, closes))
    # A bar of one price breaks no law in any order.
    is_flat = (opens == highs) & (highs == lows) & (lows == closes)
    share = is_odd.sum() / max((~is_flat).sum(), 1)
    order = "" if is_named else " open, high, low, close, volume"
    reason = f"{order} in {share:.0%} of bars a high or low would miss open or close"
    return reason if share >= OFTEN else ""


def _guess_order(table: RawTable) -> tuple[str, ...]:
    """Meanings of the columns of time and values in their order; empty where they are not clear."""
    order = np.argsort(table.timestamp, kind="stable")
    places = guess_order([table.values[name][order] for name in VALUES])
    names = {place: name for name, place in places.items()}
    return ("timestamp", *(names.get(k, "volume") for k in range(len(VALUES)))) if places else ()


def _are_swapped(table: RawTable) -> bool:
    """True if bars close near the open of the one before, and open far from its close."""
    order = np.argsort(table.timestamp, kind="stable")[:MOST_BARS]
    opens, closes = (table.values[name][order] for name in ("open", "close"))
    as_named, exchanged = np.abs(opens[1:] - closes[:-1]), np.abs(closes[1:] - opens[:-1])
    is_told = len(opens) >= FEWEST_BARS and np.isfinite(as_named + exchanged).any()
    return is_told and bool(np.nanmedian(exchanged) < OFTEN * np.nanmedian(as_named))
