"""Strategies, bars and ledgers as plain values, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from data.bars import Bars, Window
from engine.ledger import Ledger
from engine.wire import Array
from strategy.genes import Gene, GenomeLayout, LessThan
from strategy.spec import Bracket, Comparison, Row, StrategySpec

LEDGER_COLUMNS = tuple(field.name for field in fields(Ledger) if field.name != "rejected")

COLUMNS = ("timestamp", "open", "high", "low", "close", "volume")


def plain_spec(spec: StrategySpec) -> dict[str, object]:
    """A strategy as plain values."""
    return asdict(spec)


def spec_of(told: Mapping[str, Any]) -> StrategySpec:
    """The strategy that `plain_spec` told."""
    layout = GenomeLayout(
        tuple(Gene(**gene) for gene in told["layout"]["genes"]),
        tuple(LessThan(**pair) for pair in told["layout"]["constraints"]),
    )
    return StrategySpec(
        **{
            **told,
            "layout": layout,
            "rows": tuple(Row(**{**row, "lengths": tuple(row["lengths"])}) for row in told["rows"]),
            "entry": tuple(Comparison(**comparison) for comparison in told["entry"]),
            "bracket": Bracket(**told["bracket"]),
        }
    )


def plain_bars(series: Sequence[Bars]) -> tuple[list[list[object]], list[Array]]:
    """Series as names and durations, and their columns one after the other."""
    told: list[list[object]] = [[bars.symbol, bars.timeframe_ns] for bars in series]
    return told, [getattr(bars, name) for bars in series for name in COLUMNS]


def bars_of(told: Sequence[Any], arrays: Sequence[Array]) -> list[Bars]:
    """The series that `plain_bars` told."""
    return [
        Bars(
            **dict(zip(COLUMNS, arrays[6 * i : 6 * i + 6], strict=True)),  # type: ignore[arg-type]
            symbol=symbol,
            timeframe_ns=timeframe_ns,
        )
        for i, (symbol, timeframe_ns) in enumerate(told)
    ]


def plain_ledgers(ledgers: Sequence[Ledger]) -> list[Array]:
    """Ledgers as how long each is, how many signals it rejected, and their columns end to end."""
    counts = np.array([[len(ledger), ledger.rejected] for ledger in ledgers], np.int64)
    columns = [[getattr(ledger, name) for ledger in ledgers] for name in LEDGER_COLUMNS]
    return [counts.reshape(-1, 2), *(np.concatenate(column) for column in columns if column)]


def ledgers_of(arrays: Sequence[Array]) -> list[Ledger]:
    """The ledgers that `plain_ledgers` told."""
    counts, *columns = arrays
    ends = np.cumsum(counts[:, 0])[:-1]
    parts = [np.split(column, ends) for column in columns]
    found = []
    for i, rejected in enumerate(counts[:, 1].tolist()):
        fields_of: Any = {name: part[i] for name, part in zip(LEDGER_COLUMNS, parts, strict=True)}
        found.append(Ledger(**fields_of, rejected=rejected))
    return found


def plain_windows(windows: Sequence[Window]) -> list[list[int]]:
    """Windows as plain values."""
    return [[window.series, window.start, window.end] for window in windows]


def windows_of(told: Sequence[Any]) -> tuple[Window, ...]:
    """The windows that `plain_windows` told."""
    return tuple(Window(*window) for window in told)
