"""Tables of a scan: a line a symbol, and whole rows as files."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimizer.cli.console import FORMULA_STARTS, Lines, long_table
from optimizer.formatting import format_count, fraction
from optimizer.trend_scan.result import Scan, SymbolTrend
from strategy.indicators.adaptive_trend import FAMILIES

if TYPE_CHECKING:
    import pyarrow as pa

WIDE = 140
"""Columns of a whole line; narrower ones leave out what --json has."""


def print_scan(console: Lines, scan: Scan, history: int) -> None:
    """Print a line a symbol, so many of its last runs, changes, and totals."""
    if scan.symbols:
        console.say(_format_symbols(scan.symbols, console.width))
        console.say("")
    for short in scan.too_short:
        needed = f"{format_count(short.bars, 'bar')} of {short.needed:,} needed"
        console.say(f"too short: {short.symbol}, {needed}")
    if history:
        console.say(_format_runs(scan.symbols, console.width))
        console.say("")
    for change in scan.changes:
        console.say(
            f"changed: {change.symbol} was {change.was} at {_format_time(change.was_at)}, "
            f"{change.now} since {_format_time(change.since)}"
        )
    console.say_all(_list_totals(scan))


def _list_totals(scan: Scan) -> list[str]:
    counts = ", ".join(f"{count:,} {word}" for word, count in scan.counts.items())
    short = f", {len(scan.too_short):,} too short" if scan.too_short else ""
    lines = [f"{counts}{short}", f"{format_count(scan.bars, 'bar')}{_format_last(scan.symbols)}"]
    if scan.compared:
        lines.append(
            f"{len(scan.changes):,} of {format_count(scan.compared, 'symbol')} that an earlier "
            "scan knew changed class"
        )
    return [
        *lines,
        f"{format_count(scan.replayed, 'symbol')} replayed by the readable definition, no bit "
        "differs",
        f"{scan.seconds:.2f} s on {scan.device}",
        f"rows {scan.rows_hash}",
    ]


def _format_last(symbols: Sequence[SymbolTrend]) -> str:
    """When the last bars of the symbols open."""
    times = sorted({_format_time(symbol.last) for symbol in symbols})
    return f", the last at {' to '.join(dict.fromkeys((times[0], times[-1])))}" if times else ""


def _format_symbols(symbols: Sequence[SymbolTrend], width: int) -> str:
    is_wide = width >= WIDE
    headings = ["symbol", "class", "trend", "bars", "since", "direction"]
    headings += ["since", *FAMILIES] if is_wide else []
    headings += ["close", "last bar"] if is_wide else ["close"]
    rows = []
    for symbol in symbols:
        cells = [
            symbol.symbol,
            symbol.class_,
            f"{symbol.trend:.6f}",
            f"{symbol.bars:,}",
            _format_time(symbol.since),
        ]
        cells.append(symbol.direction or "-")
        if is_wide:
            cells += [_format_time(symbol.direction_since), *map(str, symbol.votes.values())]
        rows.append(
            cells + [f"{symbol.close:.8g}", _format_time(symbol.last)][: 2 if is_wide else 1]
        )
    return long_table(headings, rows, width, right=("trend", "bars", "close", *FAMILIES))


def _format_runs(symbols: Sequence[SymbolTrend], width: int) -> str:
    headings = ("symbol", "since", "class", "bars", "trend", "price")
    rows = [
        ("" if nth else symbol.symbol, _format_time(run.first), run.class_, f"{run.bars:,}",
         f"{run.trend:.6f}", fraction(run.change))
        for symbol in symbols
        for nth, run in enumerate(symbol.history)
    ]  # fmt: skip
    return "Last runs\n" + long_table(headings, rows, width, right=("bars", "trend", "price"))


def _format_time(time: str | None) -> str:
    """A time for people, to the minute."""
    return "-" if time is None else time[:16].replace("T", " ")


def _build_table(scan: Scan) -> "pa.Table":
    """Whole rows, a line a bar, as a table that files are written from."""
    import pyarrow as pa

    columns = scan.columns()
    # NaN is unknown: an empty cell in both kinds of file.
    arrays = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
    stamps = pa.array(columns["timestamp"], type=pa.timestamp("ns", tz="UTC"))
    return pa.table({**arrays, "timestamp": stamps})


def encode_csv(scan: Scan) -> bytes:
    """Whole rows as CSV, exact."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.csv import write_csv

    table, file = _build_table(scan), io.BytesIO()
    is_whole = not (scan.columns()["timestamp"] % 10**9).any()
    # A zone in the type makes each of millions of times slow to write.
    times = table["timestamp"].cast(pa.timestamp("s" if is_whole else "ns"))
    table = table.set_column(
        1, "timestamp", pc.binary_join_element_wise(times.cast(pa.string()), "Z", "")
    )
    symbols = table["symbol"].to_numpy()
    for name in scan.rows:
        if name.startswith(FORMULA_STARTS):
            symbols[symbols == name] = f"'{name}"
    write_csv(table.set_column(0, "symbol", pa.array(symbols, pa.string())), file)
    return file.getvalue()


def encode_parquet(scan: Scan) -> bytes:
    """Whole rows as Parquet, exact."""
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(_build_table(scan), file, compression="zstd")
    return file.getvalue()
