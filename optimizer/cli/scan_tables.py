"""What a scan found: a line a symbol, and whole rows as files."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimizer.cli.console import FORMULA_STARTS, Lines, long_table
from optimizer.shown import format_count, fraction
from optimizer.trend_scan.result import Scan, SymbolTrend
from strategy.indicators.adaptive_trend import FAMILIES

if TYPE_CHECKING:
    import pyarrow as pa

WIDE = 140
"""Columns that everything a line says takes; narrower ones leave out what --json tells."""


def print_scan(console: Lines, found: Scan, history: int) -> None:
    """Print a line a symbol, so many of its last runs, what has changed, and totals."""
    if found.symbols:
        console.say(_stands(found.symbols, console.width))
        console.say("")
    for one in found.too_short:
        console.say(
            f"too short: {one.symbol}, {format_count(one.bars, 'bar')} of {one.needed:,} needed"
        )
    if history:
        console.say(_runs(found.symbols, console.width))
        console.say("")
    for change in found.changes:
        console.say(
            f"changed: {change.symbol} was {change.was} at {_format_time(change.was_at)}, "
            f"{change.now} since {_format_time(change.since)}"
        )
    for line in _totals(found):
        console.say(line)


def _totals(found: Scan) -> list[str]:
    counts = ", ".join(f"{count:,} {word}" for word, count in found.counts.items())
    short = f", {len(found.too_short):,} too short" if found.too_short else ""
    lines = [f"{counts}{short}", f"{format_count(found.bars, 'bar')}{_until(found.symbols)}"]
    if found.compared:
        lines.append(
            f"{len(found.changes):,} of {format_count(found.compared, 'symbol')} that an earlier "
            "scan knew changed class"
        )
    return [
        *lines,
        f"{format_count(found.replayed, 'symbol')} replayed by the readable definition, no bit "
        "differs",
        f"{found.seconds:.2f} s on {found.device}",
        f"rows {found.rows_hash}",
    ]


def _until(symbols: Sequence[SymbolTrend]) -> str:
    """When the last bars of the symbols open."""
    times = sorted({_format_time(one.last) for one in symbols})
    return f", the last at {' to '.join(dict.fromkeys((times[0], times[-1])))}" if times else ""


def _stands(symbols: Sequence[SymbolTrend], width: int) -> str:
    """A line a symbol."""
    is_wide = width >= WIDE
    headings = ["symbol", "class", "trend", "bars", "since", "direction"]
    headings += ["since", *FAMILIES] if is_wide else []
    headings += ["close", "last bar"] if is_wide else ["close"]
    rows = []
    for one in symbols:
        cells = [
            one.symbol,
            one.class_,
            f"{one.trend:.6f}",
            f"{one.bars:,}",
            _format_time(one.since),
        ]
        cells.append(one.direction or "-")
        if is_wide:
            cells += [_format_time(one.direction_since), *map(str, one.votes.values())]
        rows.append(cells + [f"{one.close:.8g}", _format_time(one.last)][: 2 if is_wide else 1])
    return long_table(headings, rows, width, right=("trend", "bars", "close", *FAMILIES))


def _runs(symbols: Sequence[SymbolTrend], width: int) -> str:
    """The last runs of each symbol."""
    headings = ("symbol", "since", "class", "bars", "trend", "price")
    rows = [
        ("" if nth else one.symbol, _format_time(run.first), run.class_, f"{run.bars:,}",
         f"{run.trend:.6f}", fraction(run.change))
        for one in symbols
        for nth, run in enumerate(one.history)
    ]  # fmt: skip
    return "Last runs\n" + long_table(headings, rows, width, right=("bars", "trend", "price"))


def _format_time(time: str | None) -> str:
    """A time for people, to the minute."""
    return "-" if time is None else time[:16].replace("T", " ")


def _table(found: Scan) -> "pa.Table":
    """Whole rows, a line a bar, as a table that files are written from."""
    import pyarrow as pa

    columns = found.columns()
    # NaN is unknown: an empty cell in both kinds of file.
    given = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
    stamps = pa.array(columns["timestamp"], type=pa.timestamp("ns", tz="UTC"))
    return pa.table({**given, "timestamp": stamps})


def csv_bytes(found: Scan) -> bytes:
    """Whole rows as CSV, exact."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.csv import write_csv

    table, file = _table(found), io.BytesIO()
    is_whole = not (found.columns()["timestamp"] % 10**9).any()
    # A zone in the type makes each of millions of times slow to write.
    times = table["timestamp"].cast(pa.timestamp("s" if is_whole else "ns"))
    table = table.set_column(
        1, "timestamp", pc.binary_join_element_wise(times.cast(pa.string()), "Z", "")
    )
    symbols = table["symbol"].to_numpy()
    for name in found.rows:
        if name.startswith(FORMULA_STARTS):
            symbols[symbols == name] = f"'{name}"
    write_csv(table.set_column(0, "symbol", pa.array(symbols, pa.string())), file)
    return file.getvalue()


def parquet_bytes(found: Scan) -> bytes:
    """Whole rows as Parquet, exact."""
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(_table(found), file, compression="zstd")
    return file.getvalue()
