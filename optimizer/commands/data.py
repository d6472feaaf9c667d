"""data: what bars hold, whether they are fit for use, and files in one form."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from data import (
    PROVIDERS,
    Bars,
    inspect_source,
    join_bars,
    keep_bars,
    load_bars,
    longest_gaps,
    quirks_of,
)
from data.bars import check_symbol
from data.cache import CachedSeries, list_cached
from optimizer.commands.chart import price_chart
from optimizer.commands.console import facts_table, stderr, stdout
from optimizer.commands.output import print_json
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.session.markets import load_options, load_series, named_specs
from optimizer.shown import counted, number

NS_PER_S = 10**9


def list_command(flags: Mapping[str, object], *, as_json: bool) -> None:
    """Print the sources of bars, and the series that were fetched and kept."""
    cache = resolve_config(None, flags).cache
    kept = list_cached(None if cache is None else Path(cache))
    if as_json:
        sources = [
            {"source": one.name, "form": one.form, "summary": one.summary}
            for one in PROVIDERS.values()
        ]
        print_json({"sources": sources, "fetched": [_kept(one) for one in kept]})
        return
    table = Table(box=None)
    for heading in ("source", "how to name it", "what it is"):
        table.add_column(heading, overflow="fold")
    for provider in PROVIDERS.values():
        table.add_row(provider.name, provider.form, provider.summary)
    stdout().print(table)
    if not kept:
        return
    table = Table(title="Fetched and kept", title_justify="left", box=None)
    for heading in ("series", "bars", "from", "to", "parts", "MB", "fetched"):
        table.add_column(heading, justify="right" if heading in ("bars", "parts", "MB") else "left")
    for one in kept:
        size, parts = f"{one.size_bytes / 1e6:.1f}", number(one.parts)
        damaged = f" ({counted(one.unreadable, 'damaged file')})" if one.unreadable else ""
        times = (_time(one.start_ns), _time(one.end_ns))
        name = f"{one.name or one.folder}{damaged}"
        table.add_row(name, number(one.bars), *times, parts, size, one.fetched_at[:16])
    stdout().print()
    stdout().print(table)


def _kept(one: CachedSeries) -> dict[str, object]:
    told = asdict(one)
    times = {"start": _time(one.start_ns), "end": _time(one.end_ns)}
    return {**told, "folder": str(one.folder), **times}


def show_command(flags: Mapping[str, object], *, as_json: bool) -> None:
    """Print what bars hold: an object for one series, a list for several."""
    print_series(load_series(resolve_config(None, flags)), as_json=as_json)


def print_series(series: Sequence[Bars], *, as_json: bool) -> None:
    """Print series: their facts, a chart, quirks and notes, or the same as JSON."""
    if as_json:
        told = [_told(bars) for bars in series]
        print_json(told[0] if len(told) == 1 else told)
        return
    console = stdout()
    mark = "\u2503" if "utf" in (sys.stdout.encoding or "").lower() else "|"
    for bars in series:
        console.print(facts_table(facts_of(bars)))
        console.print()
        for line in price_chart(bars, mark=mark):
            console.say(line)
        for quirk in quirks_of(bars):
            console.say(f"quirk: {quirk}")
        for note in bars.notes:
            console.say(f"note: {note}")


def facts_of(bars: Bars) -> dict[str, object]:
    """What a series holds: names in words to values."""
    gaps = bars.gaps()
    first, last = (_time(int(bars.timestamp[i])) for i in (0, -1))
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
    if gaps.count:
        hours = gaps.longest_ns / NS_PER_S / 3600
        ends = _time(int(bars.timestamp[gaps.longest_at]))
        facts["longest gap"] = f"{hours:g} h, ends {ends}"
    return facts


def check_command(flags: Mapping[str, object], *, as_json: bool) -> None:
    """Look at every source, and refuse at the end when one cannot be used.

    Raises:
        ConfigError: Naming how many.
    """
    config = resolve_config(None, flags)
    options = load_options(config)
    specs = named_specs(config)
    found = [inspect_source(spec, options) for spec in _watched(specs, "checking")]
    refused = sum(one.bars is None for one in found)
    if as_json:
        print_json(
            [
                {"source": one.spec, "problems": list(one.problems)}
                | ({} if one.bars is None else _told(one.bars))
                for one in found
            ]
        )
    else:
        for one in found:
            stdout().say(f"{one.spec}: {'refused' if one.bars is None else _summary(one.bars)}")
            notes = () if one.bars is None else (*quirks_of(one.bars), *one.bars.notes)
            for line in (*one.problems, *notes):
                stdout().say(f"  {line}")
    if refused:
        raise ConfigError(
            f"{refused} of {counted(len(specs), 'source')} cannot be used as they are"
        )


def import_command(
    flags: Mapping[str, object],
    folder: Path,
    *,
    join: str | None,
    may_replace: bool,
    as_json: bool,
) -> None:
    """Read sources and keep each as a Parquet file, or all as one; the first that fails ends it.

    Raises:
        DataError: When a source cannot be read, or a file may not be replaced.
    """
    config = resolve_config(None, flags)
    options = load_options(config)
    rows = []
    loaded = (load_bars(spec, options) for spec in _watched(named_specs(config), "importing"))
    for bars in loaded if join is None else [join_bars(list(loaded), check_symbol(join))]:
        for note in bars.notes:
            stderr().say(f"note: {bars.symbol}: {note}")
        path, written = keep_bars(bars, folder, may_replace=may_replace)
        rows.append({**_told(bars), "file": str(path), "written": written})
    if as_json:
        print_json(rows)
        return
    table = Table(box=None)
    for heading in ("symbol", "bars", "", "first bar opens", "last bar opens", "hash", "file"):
        table.add_column(heading, justify="right" if heading == "bars" else "left")
    for row in rows:
        kept = f"{row['file']}{'' if row['written'] else ' (as it was)'}"
        hash_ = str(row["hash"])[:12]
        times = (str(row["first bar opens"]), str(row["last bar opens"]))
        name, frame = str(row["symbol"]), str(row["timeframe"])
        table.add_row(name, number(row["bars"]), frame, *times, hash_, kept)
    stdout().print(table)
    stdout().say(f"use them with --data {folder}")


def _told(bars: Bars) -> dict[str, object]:
    found: dict[str, object] = {
        **facts_of(bars),
        "quirks": list(quirks_of(bars)),
        "longest_gaps": longest_gaps(bars),
        "notes": list(bars.notes),
    }
    return found


def _summary(bars: Bars) -> str:
    first, last = (_time(int(bars.timestamp[i])) for i in (0, -1))
    return f"{counted(len(bars), 'bar')} of {bars.timeframe}, {first} to {last}"


def _watched(specs: Sequence[str], doing: str) -> Iterator[str]:
    """The sources one by one; on a terminal with progress and the time left."""
    console = stderr()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    is_shown = console.is_terminal and len(specs) > 1
    with Progress(*columns, console=console, transient=True, disable=not is_shown) as progress:
        yield from progress.track(specs, description=doing)


def _time(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // NS_PER_S, UTC).strftime("%Y-%m-%d %H:%M UTC")
