"""Rows without names by their shape: bars of a program, no bars, or an order that fits them all."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import FIRST_S, LAST_S, PRICES, UNITS, VALUES, Floats, Ints
from data.errors import TableError
from data.providers.columns import MARKET_NAMES, NONE, find_role, list_names, plain, write_option
from data.providers.markets import SIGN, name_market
from data.providers.numbers import COMMA, MISSING, NUMBER, POINT, PROOFS, plain_numbers
from data.providers.time_columns import read_times
from data.providers.times import find_unit
from data.table import RawTable
from data.timeframe import DAY_NS, SECOND_NS

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

KINDS = (
    ("d", "a date", re.compile(
        r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[0-9]{4,9})?(?:[ T].*)?"
        r"|[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}(?:[ T,].*)?"
        r"|(?i:.*\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b.*[0-9].*)")),
    ("t", "a time", re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?")),
    ("k", "a time of day", re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?")),
    ("h", "a whole number", re.compile(r"(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?")),
    ("w", "a whole number", re.compile(r"[+-]?[0-9]+(?:\.0*)?")),
    ("n", "a number", NUMBER),
    ("f", "a side or flag", re.compile(
        "true|false|buy|sell|bid|ask|long|short|up|down|[bsmltf]|(?:zero)?(?:plus|minus)tick",
        re.IGNORECASE)),
    ("x", "a word", re.compile(".*", re.DOTALL)),
)  # fmt: skip
"""Letters of kinds of columns, their words, and the form of most of their cells.

``h`` may be a clock. ``u`` is as long as a time and none, ``q`` one of two prices beside each
other, ``_`` a column without a cell.
"""

W, N = "[nwhu]", "[nwhut_]"
SHAPES = (
    (rf"[tw]{W}{{2,3}}t[fw]*|[tw]{W}{{2}}[tw]{{2}}tf+", "trades", None),
    (r".*q.?.?q.*", "quotes (time, bid, ask)", ()),
    (r"[tu].{5}[tu].{5}", "a Binance dump", ("timestamp", *VALUES, *(f"_{k}" for k in range(6)))),
    (rf"[^tux](?:k|h(?!hhh)){N}{{5}}", "a MetaTrader export", ("date", "time", *VALUES)),
    (rf"[tu]{N}{{5}}[whu]", "a Kraken dump", ("timestamp", *VALUES, "_trades")),
    (rf"[^kf](?!h(?!hhh)){N}{{5}}", "time and values", ("timestamp", *VALUES)),
    (rf"[td]k?{W}{{1,2}}[fwh_]?", "trades or closes alone", ()),
    (rf"t[wh]{W}{{2}}[fwh]|.*[td].*f.*|.*f.*[td].*", "trades", ()),
)
"""Kinds of all columns, what rows are, and names for their columns: none where they are no bars.

None stands where that is sure; else a person may name columns by place, or prices be found.
"""

LARGEST, MOST, CLEAR, WIDEST, NEAR = 1e290, 0.5, 0.5, 2.0, 0.01
"""Largest number, so that sums are finite; share of rows that decide a kind, or in which an average
price lies within its bar; share of the step from a close to the next open that the right order
leaves of any other's; high to low of a usual bar; from bid to ask, or adjusted from other prices.
"""

LOTS = (1, 100, 1000)
"""Shares in a unit of volume, where money stands beside it."""


def refuse_mixed(
    time_ns: Ints, others: Callable[[], Columns], where: str, market: str = "", option: str = ""
) -> None:
    """Refuse rows of several markets, where another column, or two of them, part them into series.

    `market` owns these rows, by its name behind the path, and `option` names the column of names;
    both are empty where there is none.
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
    """Flags of rows [N] in which other columns that part them hold the names of one market."""
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


def show_markets(markets: Sequence[object], again: str = "") -> str:
    """Words for a message about a column that names several markets."""
    shown = ", ".join(repr(str(market))[:24] for market in markets[:3])
    more = ", ..." if len(markets) > 3 else ""
    return f"parts the rows{again} into {len(markets)} markets ({shown}{more})"


def refuse_other_order(table: RawTable, columns: Sequence[str], times: pa.Array) -> None:
    """Refuse values in an order that was assumed, where they seem to have another.

    Args:
        table: Rows as read in the usual order.
        columns: How a person names the columns of time and values, by name or place.
        times: The column of times as it is written.
    """
    # Names count from 0, and places from 1.
    is_named = columns[0] == "0"
    reason, order = _find_other_order(table, times, is_named=is_named), SWAPPED
    if reason:
        at = np.argsort(table.timestamp, kind="stable")
        places = guess_order([table.values[name][at] for name in VALUES])
        meant = {place: name for name, place in places.items()}
        values = (meant.get(place, "volume") for place in range(len(VALUES)))
        order = ("timestamp", *values) if places else ()
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


def name_columns(
    rows: Sequence[Sequence[str]], where: str, *, is_numbered: bool
) -> tuple[list[str], str]:
    """Names for the columns of rows without any, and the note on the assumption.

    `is_numbered` is True if a person names columns by their places.
    """
    places = [str(k + 1) for k in range(len(rows[0]))]
    kinds, columns = _read_columns(rows, len(places))
    has_prices = bool(_find_orders(columns, [k for k, kind in enumerate(kinds) if kind in W]))
    shape = "".join(kinds if has_prices else _mark_quotes(kinds, columns))
    for pattern, what, names in SHAPES:
        if not re.fullmatch(pattern, shape) or (is_numbered and names is not None):
            continue
        if has_prices and names is not None:
            held = dict(zip(names, columns, strict=False))
            # A volume is no average of its prices.
            if not names or _is_price(held["volume"], held["low"], held["high"]):
                continue
        if not names:
            raise TableError(f"{where}: these are {what}: no bars; make bars of them first")
        named = ", ".join(name for name in names if not name.startswith("_"))
        return list(names), f"no header line: read as {what} ({named})"
    if is_numbered:
        return places, "no header line: columns are named by their places"
    raise TableError(
        f"{where}: there is no header line, and {len(places)} columns such as "
        f"{list_names(rows[0])} are no known layout; {suggest_columns(rows, places, ' by place,')}"
    )


def suggest_columns(rows: Sequence[Sequence[str]], names: Sequence[str], how: str = ",") -> str:
    """The options that read rows as bars, where all rows at hand are bars so; else their kinds.

    >>> rows = [["AAA", f"2024010{k}", str(k), "10", "7", str(k + 1), "406"] for k in (7, 8, 9)]
    >>> suggest_columns(rows, list("1234567"))[:80]
    'say which is which, such as --column symbol=1 --column timestamp=2 --column open'
    >>> suggest_columns([["x", "5", "7"]], ["1", "2", "3"])
    'they hold a word, 2 times a whole number: bars have a time, open, high, low and close'
    """
    rows = [[cell.strip() for cell in row] for row in rows if len(row) == len(names)]
    kinds, columns = _read_columns(rows, len(names))
    if places := _find_places(rows, kinds, columns):
        options = [write_option(meaning, names[place]) for meaning, place in places.items()]
        if "volume" not in places and len(names) == len(places):
            options.append(write_option("volume", NONE))
        return f"say which is which{how} such as {' '.join(options)}"
    words = {letter: text for letter, text, _ in KINDS} | {"_": "nothing", "u": "a whole number"}
    held = [(text, len(list(same))) for text, same in groupby(words[kind] for kind in kinds)]
    shown = ", ".join(text if count == 1 else f"{count} times {text}" for text, count in held[:12])
    return f"they hold {shown}: bars have a time, open, high, low and close"


def guess_order(columns: Sequence[Floats]) -> dict[str, int]:
    """Places of prices and volume among columns [N] of rows in the order of time; empty if unclear.

    Of four columns side by side one is the high and one the low of each row. A bar opens near the
    close of the one before. An order counts where every other leaves twice the step between them,
    or where it is the usual one and not denied.
    """
    columns = [_drop_largest(column) for column in columns]
    orders = _find_orders(columns, range(len(columns)))
    if not orders:
        return {}
    miss, places = min(orders, key=lambda order: order[0])
    chosen = np.array([columns[places[name]] for name in PRICES])
    rivals = [
        other_miss
        for other_miss, other in orders
        if not np.array_equal(chosen, [columns[other[name]] for name in PRICES], equal_nan=True)
    ]
    is_usual = len(orders) == 2 and places["close"] - places["open"] == len(PRICES) - 1
    if rivals and miss >= CLEAR * min(rivals) and not is_usual:
        return {}
    volume = _find_volume(columns, places)
    return places if volume is None else {**places, "volume": volume}


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


def _are_swapped(table: RawTable) -> bool:
    """True if bars close near the open of the one before, and open far from its close."""
    order = np.argsort(table.timestamp, kind="stable")[:MOST_BARS]
    opens, closes = (table.values[name][order] for name in ("open", "close"))
    as_named, exchanged = np.abs(opens[1:] - closes[:-1]), np.abs(closes[1:] - opens[:-1])
    is_told = len(opens) >= FEWEST_BARS and np.isfinite(as_named + exchanged).any()
    return is_told and bool(np.nanmedian(exchanged) < OFTEN * np.nanmedian(as_named))


def _read_columns(rows: Sequence[Sequence[str]], width: int) -> tuple[list[str], list[Floats]]:
    """Kind of each column, and its numbers [N], NaN where a cell is none."""
    cells = [[row[k].strip() for row in rows if len(row) == width] for k in range(width)]
    is_comma = any(re.search(PROOFS[COMMA], cell) for column in cells for cell in column)
    decimal = COMMA if is_comma else POINT
    texts = [plain_numbers(pa.array(column, pa.string()), decimal).to_pylist() for column in cells]
    columns = [
        _drop_largest([float(cell) if NUMBER.fullmatch(cell) else np.nan for cell in column])
        for column in texts
    ]
    kinds = list(map(_find_kind, cells, texts))
    time = next((k for k, kind in enumerate(kinds) if kind in "td"), 0)
    for k in (k for k, kind in enumerate(kinds) if kind == "t"):
        steps, seconds = np.diff(columns[k]), [columns[k] * (unit / 10**9) for _, unit in UNITS]
        is_ordered = k == time or (steps >= 0).all() or (steps <= 0).all()
        are_times = np.any([(s >= FIRST_S) & (s <= LAST_S) for s in seconds], axis=0).all()
        kinds[k] = "t" if is_ordered and are_times else "u"
    return kinds, columns


def _drop_largest(numbers: Sequence[float] | Floats) -> Floats:
    column = np.array(numbers, dtype=np.float64)
    return np.where(np.abs(column) < LARGEST, column, np.nan)


def _find_kind(cells: Sequence[str], texts: Sequence[str]) -> str:
    """The kind of a column by its cells, and by their texts as bare numbers."""
    held = [k for k, cell in enumerate(cells) if cell.lower() not in MISSING]
    for letter, _, form in KINDS:
        column = texts if letter in "wn" else cells
        if sum(form.fullmatch(column[k]) is not None for k in held) > MOST * len(held):
            return letter
    return "x" if held else "_"


def _is_price(column: Floats, low: Floats, high: Floats) -> bool:
    """True if most numbers lie within their bar, or are all one share of them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = column / high
    is_share = len(share) > 2 and np.ptp(column) and share.max() <= (1 + NEAR) * share.min()
    return bool(((column >= low) & (column <= high)).mean() > MOST or is_share)


def _mark_quotes(kinds: list[str], columns: Sequence[Floats]) -> list[str]:
    """Kinds, with bid and ask: two columns near each other in one order, or near a third."""
    numbers = [k for k, kind in enumerate(kinds) if kind in W]
    pairs = [
        (a, b) for a, b in combinations(numbers, 2)
        if (np.abs(columns[b] - columns[a]) <= NEAR * np.abs(columns[a])).all()
    ]  # fmt: skip
    near = {place for pair in pairs for place in pair}
    gap = columns[pairs[0][1]] - columns[pairs[0][0]] if pairs else np.zeros(1)
    is_pair = len(near) == 2 and gap.any() and ((gap >= 0).all() or (gap <= 0).all())
    quotes = near if is_pair or len(near) == 3 else ()
    return ["q" if k in quotes else kind for k, kind in enumerate(kinds)]


def _find_places(
    rows: Sequence[Sequence[str]], kinds: list[str], columns: Sequence[Floats]
) -> dict[str, int]:
    """Columns by meaning, where all rows are bars so; else empty."""
    time = next((k for k, kind in enumerate(kinds) if kind in "td"), None)
    if time is None or len(rows) < 2:
        return {}
    has_clock = kinds[time] == "d" and re.match("k|h(?!hhh)", "".join(kinds[time + 1 :]))
    meant = {"date": time, "time": time + 1} if has_clock else {"timestamp": time}
    texts = {name: pa.array([row[k] for row in rows]) for name, k in meant.items()}
    try:
        time_ns, _ = read_times(texts, None, "")
    except TableError:
        # The reader needs their format next.
        time_ns = np.arange(len(rows)) * DAY_NS
    has_market = time > 0 and kinds[0] == "x"
    is_market = np.array([not has_market or row[0] == rows[0][0] for row in rows])
    steps = np.diff(time_ns[is_market])
    step_ns = int(np.abs(steps).min(initial=DAY_NS))
    is_ordered = step_ns >= SECOND_NS and ((steps > 0).all() or (steps < 0).all())
    if not is_ordered or (step_ns < DAY_NS // 2 and (steps % step_ns).any()):
        return {}
    order = np.flatnonzero(is_market)[np.argsort(time_ns[is_market], kind="stable")]
    numbers = [k for k, kind in enumerate(kinds) if kind in W and k > max(meant.values())]
    found = guess_order([columns[k][order] for k in numbers])
    values = {name: numbers[k] for name, k in found.items()}
    return ({"symbol": 0} if has_market else {}) | meant | values if found else {}


def _find_orders(
    columns: Sequence[Floats], numbers: Sequence[int]
) -> list[tuple[float, dict[str, int]]]:
    """Orders of four columns side by side in which all rows are bars.

    Each is the sum of steps from a close to the next open, and places by price.
    """
    orders = []
    for window in (list(numbers[k : k + len(PRICES)]) for k in range(len(numbers))):
        rows = np.array([columns[k] for k in window])
        rows = rows[:, np.isfinite(rows).all(axis=0)]  # [4, M]
        if len(window) < len(PRICES) or window[-1] - window[0] != 3 or rows.shape[1] < 2:
            continue
        low, *_, high = np.argsort(rows.sum(axis=1), kind="stable").tolist()
        if (rows[1] >= rows).all() and (rows[2] <= rows).all():
            high, low = 1, 2
        is_law = (rows[high] >= rows).all() and (rows[low] <= rows).all() and (rows > 0).all()
        if not is_law or np.median(rows[high] / rows[low]) >= WIDEST:
            continue
        between = [k for k in range(len(PRICES)) if k not in (high, low)]
        for opening, close in (between, between[::-1]):
            miss = float(np.abs(rows[opening][1:] - rows[close][:-1]).sum())
            places = [window[k] for k in (opening, high, low, close)]
            orders.append((miss, dict(zip(PRICES, places, strict=True))))
    return orders


def _find_volume(columns: Sequence[Floats], prices: dict[str, int]) -> int | None:
    """The column that must be the volume beside prices; None where none or several could be."""
    low, high = columns[prices["low"]], columns[prices["high"]]
    held = [
        k for k, column in enumerate(columns)
        if k not in prices.values() and not (column < 0).any() and (column > 0).any()
        and not _is_price(column, low, high)
    ]  # fmt: skip
    held = [k for k in held if np.ptp(columns[k])] or held
    traded = [
        a for a in held
        if any(
            ((0.99 * lot * low * columns[a] <= columns[b])
             & (columns[b] <= 1.01 * lot * high * columns[a])).all()
            for lot in LOTS for b in held if a != b
        )
    ]  # fmt: skip
    broken = [k for k in held if (columns[k] % 1).any()]
    # A count of trades stands behind the volume.
    likely = (held, traded, broken if broken == held[:1] else [])
    return next((places[0] for places in likely if len(places) == 1), None)
