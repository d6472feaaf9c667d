"""Rows that are bars of something else: of several markets, or with open and close exchanged."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import Floats, Ints
from data.errors import TableError
from data.providers.column_names import MARKET_NAMES, plain, say_column
from data.table import RawTable

FEWEST_BARS = 20
"""Bars from which on the order of columns can be told from what they hold."""

LEAST_SHARED = 0.1
"""Share of rows that repeat a time where several markets stand beside each other."""

OFTEN, SELDOM = 0.5, 0.1
"""Shares of bars that open where the bar before closed."""

ORDER = ("timestamp", "close", "high", "low", "open", "volume")
"""How yfinance writes columns."""


def refuse_mixed(time_ns: Ints, others: Callable[[], pa.Table], where: str) -> None:
    """Refuse rows of several markets, where another column parts them into series.

    Raises:
        TableError: Naming that column, and how to read one market.
    """
    steps = np.diff(time_ns)
    if (steps > 0).all() or (steps < 0).all():
        return
    parted = {}
    table = others()
    for name in table.column_names:
        market = pc.dictionary_encode(table.column(name).combine_chunks())
        if _parts_series(market, time_ns, is_named=plain(name) in MARKET_NAMES):
            parted[name] = market.dictionary.to_pylist()
    if parted:
        name = min(parted, key=lambda name: len(parted[name]))
        markets = parted[name]
        shown = ", ".join(repr(str(market))[:24] for market in markets[:3])
        more = ", ..." if len(markets) > 3 else ""
        raise TableError(
            f"{where}: column {name!r} parts the rows into {len(markets)} markets ({shown}{more}); "
            f"name one of them, such as {where}#{markets[0]} {say_column('symbol', name)}"
        )


def _parts_series(market: pa.DictionaryArray, time_ns: Ints, *, is_named: bool) -> bool:
    """Whether the times of each value of a column are those of one series.

    Markets stand one behind the other, or share many of their times; else a number that happens to
    differ where two rows were exchanged would part them. Series that follow one another in time may
    be parts of one market, such as its months: only a column whose name says so makes markets of
    them.
    """
    count = len(market.dictionary)
    if market.null_count or not 2 <= count <= len(market) // 2:
        return False
    code = market.indices.to_numpy()
    order = np.argsort(code, kind="stable")
    steps, is_same = np.diff(time_ns[order]), np.diff(code[order]) == 0
    if not ((steps[is_same] > 0).all() or (steps[is_same] < 0).all()):
        return False
    n_repeated = len(time_ns) - len(np.unique(time_ns))
    if n_repeated >= LEAST_SHARED * len(time_ns):
        return True
    n_changes = int((np.diff(code) != 0).sum())
    by_time = code[np.argsort(time_ns, kind="stable")]
    are_mixed = int((np.diff(by_time) != 0).sum()) >= count
    return n_changes == count - 1 and (is_named or are_mixed)


def refuse_swapped(table: RawTable, where: str) -> None:
    """Refuse values without names whose first is the close, though they are bars either way.

    Raises:
        TableError: Naming the order that they seem to have.
    """
    order = np.argsort(table.timestamp, kind="stable")
    opens, closes = (table.values[name][order] for name in ("open", "close"))
    if len(opens) < FEWEST_BARS or _share_meeting(opens, closes) > SELDOM:
        return
    share = _share_meeting(closes, opens)
    if share >= OFTEN:
        said = " ".join(f"--column {name}={place}" for place, name in enumerate(ORDER, start=1))
        raise TableError(
            f"{where}: there is no header line, and read as open, high, low, close {share:.0%} of "
            f"bars would close where the bar before opened; if they are close, high, low, open: "
            f"{said}"
        )


def _share_meeting(opens: Floats, closes: Floats) -> float:
    """Share of bars that open where the bar before closed."""
    return float((opens[1:] == closes[:-1]).mean())
