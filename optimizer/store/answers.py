"""Numbers of a run's pick, taken from its record as far as they stand there: for lists of runs."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

Record = Mapping[str, object]

OPENED = "opened"
"""Name of the evidence that held-out bars were looked at."""

FEWEST_DAYS = 20
"""Below so many days nothing is said of a year."""


class RunAnswer(NamedTuple):
    """Answer of a run; None and empty where its record does not hold it."""

    symbols: tuple[str, ...] = ()  # that are or were searched on, each once
    strength: float | None = None  # of the pick or a schedule's account, as all that follows
    total_return: float | None = None
    trades: int | None = None
    cagr: float | None = None
    max_drawdown: float | None = None


def read_answer(header: Record, result: Record | None, judgement: Record | None) -> RunAnswer:
    """Symbols and pick of a run, by the rules of `judging.verdict.picked`, without its libraries.

    Args:
        header: Of the run, whose genes stand in order.
        result: What it ended with; None before.
        judgement: The newest one; None without.
    """
    if result is None:
        return RunAnswer(_list_texts(header.get("symbols")) or _parse_symbol(header.get("data")))
    windows = _list_mappings(mapping_or_empty(result.get("data")).get("windows"))
    symbols = _list_texts([entry.get("symbol") for entry in windows])
    schedule = mapping_or_empty(mapping_or_empty(judgement).get("schedule"))
    if schedule:
        return _read_stitched(symbols, schedule, windows)
    front = _list_mappings(result.get("front"))
    pick = mapping_or_empty(mapping_or_empty(judgement).get("pick"))
    names = [entry.get("name") for entry in _list_mappings(header.get("genes"))]
    member = (
        _find_member(front, pick["genes"]) if "genes" in pick else _find_strongest(front, names)
    )
    metrics = mapping_or_empty(member.get("metrics"))
    strength, trades = pick.get("strength", metrics.get("strength")), pick.get("trades")
    return RunAnswer(
        symbols,
        _read_figure(strength),
        _read_figure(metrics.get("total_return")),
        _read_whole(_count_trades(member, windows) if trades is None else trades),
        _read_figure(metrics.get("cagr")),
        _read_figure(metrics.get("max_drawdown")),
    )


def compute_growth(equity: float, first: str, last: str) -> float | None:
    """Growth a year of an account from 1, compounded; None below `FEWEST_DAYS`.

    >>> round(compute_growth(1.21, "2023-01-01T00:00Z", "2024-12-31T12:00Z"), 9)
    0.1
    """
    try:
        length = datetime.fromisoformat(last) - datetime.fromisoformat(first)
    except ValueError:
        return None
    days = length.total_seconds() / 86_400
    return max(equity, 0.0) ** (365.25 / days) - 1.0 if days >= FEWEST_DAYS else None


def _read_stitched(
    symbols: tuple[str, ...], schedule: Record, windows: Sequence[Record]
) -> RunAnswer:
    """Answer of a run whose verdict is about the account of all steps of a schedule."""
    equity = _read_figure(schedule.get("equity"))
    steps = _list_mappings(schedule.get("rows"))
    ends = _list_texts([w.get("last") for w in windows if w.get("sample") != "held out"])
    growth = None
    if equity is not None and steps and ends:
        growth = compute_growth(equity, str(steps[0].get("date")), max(ends))
    return RunAnswer(
        symbols,
        _read_figure(schedule.get("strength")),
        None if equity is None else equity - 1.0,
        _read_whole(schedule.get("trades")),
        growth,
        _read_figure(schedule.get("max_drawdown")),
    )


def _find_member(front: Sequence[Record], genes: object) -> Record:
    return next((member for member in front if member.get("genes") == genes), {})


def _find_strongest(front: Sequence[Record], names: Sequence[object]) -> Record:
    """The member of greatest strength, the first by genome if equal."""

    def place(member: Record) -> tuple[float, list[float]]:
        genes = mapping_or_empty(member.get("genes"))
        genome = [_read_figure(genes.get(name)) or 0.0 for name in map(str, names)]
        return -(_read_strength(member) or 0.0), genome

    standing = (member for member in front if not member.get("gone"))
    return min(
        (member for member in standing if _read_strength(member) is not None),
        key=place,
        default={},
    )


def _read_strength(member: Record) -> float | None:
    return _read_figure(mapping_or_empty(member.get("metrics")).get("strength"))


def _count_trades(member: Record, windows: Sequence[Record]) -> object:
    """Trades in all windows that were searched: as a metric they may be a mean over windows."""
    counts = mapping_or_empty(member.get("by_window")).get("trades")
    if not isinstance(counts, list) or not counts:
        return mapping_or_empty(member.get("metrics")).get("trades")
    searched = zip(counts, windows, strict=False)
    return sum(
        _read_figure(count) or 0 for count, window in searched if window.get("sample") != "held out"
    )


def mapping_or_empty(value: object) -> Record:
    """A part of a record that should be a mapping, an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def _list_mappings(value: object) -> list[Record]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _parse_symbol(data: object) -> tuple[str, ...]:
    """The one symbol in the bars of an older header, such as ``BTC/USDT 15m``."""
    name = data.rpartition(" ")[0] if isinstance(data, str) else ""
    return () if not name or re.search(r"^\d+ symbols|,$", name) else (name,)


def _list_texts(values: object) -> tuple[str, ...]:
    """Texts of a list, each once."""
    texts = [item for item in values if isinstance(item, str)] if isinstance(values, list) else []
    return tuple(dict.fromkeys(texts))


def _read_figure(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _read_whole(value: object) -> int | None:
    known = _read_figure(value)
    return None if known is None else int(known)
