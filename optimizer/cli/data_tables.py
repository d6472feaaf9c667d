"""Tables of bars and their sources, and a small chart of prices."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from data import PROVIDERS, Bars, longest_gaps, quirks_of
from data.cache import CachedSeries
from data.inspection import Inspection
from data.shell import quote_word
from optimizer.cli.console import facts_table, plain_table, print_json, stdout
from optimizer.formatting import format_count, minute, number

NS_PER_S = 10**9

WIDTH, HEIGHT = 72, 10


def print_sources(kept: Sequence[CachedSeries], *, as_json: bool) -> None:
    """Print the sources of bars, and the series that were fetched and kept."""
    if as_json:
        sources = [
            {"source": source.name, "form": source.form, "summary": source.summary}
            for source in PROVIDERS.values()
        ]
        fetched = [
            asdict(entry)
            | {"folder": str(entry.folder), "start": _format_time(entry.start_ns)}
            | {"end": _format_time(entry.end_ns)}
            for entry in kept
        ]
        print_json({"sources": sources, "fetched": fetched})
        return
    table = plain_table("source", "how to name it", "what it is", is_folded=True)
    for provider in PROVIDERS.values():
        table.add_row(provider.name, provider.form, provider.summary)
    stdout().print(table)
    if not kept:
        return
    headings = ("series", "bars", "from", "to", "parts", "MB", "fetched")
    table = plain_table(*headings, right=("bars", "parts", "MB"), title="Fetched and kept")
    for source in kept:
        size, cells = f"{source.size_bytes / 1e6:.1f}", number(source.parts)
        damaged = (
            f" ({format_count(source.unreadable, 'damaged file')})" if source.unreadable else ""
        )
        times = (_format_time(source.start_ns), _format_time(source.end_ns))
        name = f"{source.name or source.folder}{damaged}"
        table.add_row(name, number(source.bars), *times, cells, size, source.fetched_at[:16])
    stdout().print()
    stdout().print(table)


def print_series(series: Sequence[Bars], *, as_json: bool) -> None:
    """Print series: their facts, a chart, quirks and notes, or the same as JSON."""
    if as_json:
        described = [describe_bars(bars) for bars in series]
        print_json(described[0] if len(described) == 1 else described)
        return
    console = stdout()
    mark = "\u2503" if "utf" in (sys.stdout.encoding or "").lower() else "|"
    for bars in series:
        console.print(facts_table(collect_facts(bars)))
        console.print()
        console.say_all(price_chart(bars, mark=mark))
        console.say_all(list_remarks(bars))


def collect_facts(bars: Bars) -> dict[str, object]:
    """Facts of a series: names in words to values."""
    gaps = bars.gaps_in_open_hours()
    first, last = (_format_time(int(bars.timestamp[i])) for i in (0, -1))
    facts: dict[str, object] = {
        "symbol": bars.symbol,
        "simulated": "yes, a program invented it" if bars.is_simulated else "no",
        "timeframe": bars.timeframe,
        "bars": len(bars),
        "first bar opens": first,
        "last bar opens": last,
        "lowest low": float(bars.low.min()),
        "highest high": float(bars.high.max()),
        "bars without volume": int((bars.volume == 0).sum()),
        "gaps": gaps.count,
        "bars missing in gaps": gaps.missing_bars,
        "hash": bars.content_hash,
    }
    if bars.open_gaps is not None:
        facts["pauses in closed hours"] = bars.open_gaps.pauses
    if bars.extra:
        facts["further columns"] = ", ".join(bars.extra)
    if gaps.count:
        hours = gaps.longest_ns / NS_PER_S / 3600
        ends = _format_time(int(bars.timestamp[gaps.longest_at]))
        facts["longest gap"] = f"{hours:g} h, ends {ends}"
    return facts


def print_inspected(inspected: Sequence[Inspection], *, as_json: bool) -> None:
    """Print problems of sources, and facts of the others."""
    if as_json:
        print_json(
            [
                {"source": report.spec, "problems": list(report.problems)}
                | ({} if report.bars is None else describe_bars(report.bars))
                for report in inspected
            ]
        )
    else:
        for report in inspected:
            stdout().say(
                f"{report.spec}: {'refused' if report.bars is None else _summary(report.bars)}"
            )
            for line in (*report.problems, *list_remarks(report.bars)):
                stdout().say(f"  {line}")


def list_remarks(bars: Bars | None, about: str = "") -> list[str]:
    """Quirks and notes of a series, a line each, under a name; none of refused bars."""
    if bars is None:
        return []
    quirks = [f"quirk: {about}{quirk}" for quirk in quirks_of(bars)]
    return quirks + [f"note: {about}{note}" for note in bars.notes]


def print_imported(
    rows: Sequence[Mapping[str, object]], folder: Path, aligned: Iterable[str], *, as_json: bool
) -> None:
    """Print the files of bars that were kept, and how they are named from now on."""
    if as_json:
        print_json(rows)
        return
    headings = ("symbol", "bars", "", "first bar opens", "last bar opens", "hash", "file")
    table = plain_table(*headings, right=("bars",))
    for row in rows:
        kept = f"{row['file']}{'' if row['written'] else ' (as it was)'}"
        hash_ = str(row["hash"])[:12]
        times = (str(row["first bar opens"]), str(row["last bar opens"]))
        name, frame = str(row["symbol"]), str(row["timeframe"])
        table.add_row(name, number(row["bars"]), frame, *times, hash_, kept)
    stdout().print(table)
    beside = "".join(f" --aligned-column {quote_word(name)}" for name in aligned)
    stdout().say(f"use them with --data {quote_word(folder)}{beside}")


def price_chart(bars: Bars, *, mark: str = "|") -> list[str]:
    """Draw the range of prices over time, in lines from the highest high to the lowest low.

    Each column covers a like number of bars, from their lowest low to their highest high.
    """
    edges = np.linspace(0, len(bars), min(WIDTH, len(bars)) + 1).round().astype(int)[:-1]
    low, high = np.minimum.reduceat(bars.low, edges), np.maximum.reduceat(bars.high, edges)
    bottom, top = float(low.min()), float(high.max())
    step = (top - bottom) / HEIGHT or 1.0
    first = np.clip(((low - bottom) / step).astype(int), 0, HEIGHT - 1)
    last = np.clip(np.ceil((high - bottom) / step).astype(int) - 1, first, HEIGHT - 1)
    labels = {HEIGHT - 1: number(top), 0: number(bottom)}
    margin = max(map(len, labels.values()))
    return [
        f"{labels.get(row, ''):>{margin}} "
        + "".join(
            mark if a <= row <= b else " "
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ).rstrip()
        for row in reversed(range(HEIGHT))
    ]


def describe_bars(bars: Bars) -> dict[str, object]:
    """Facts of a series for JSON."""
    return {
        **collect_facts(bars),
        "quirks": list(quirks_of(bars)),
        "longest_gaps": longest_gaps(bars),
        "notes": list(bars.notes),
    }


def _summary(bars: Bars) -> str:
    first, last = (_format_time(int(bars.timestamp[i])) for i in (0, -1))
    return f"{format_count(len(bars), 'bar')} of {bars.timeframe}, {first} to {last}"


def _format_time(time_ns: int) -> str:
    return f"{minute(time_ns)} UTC"
