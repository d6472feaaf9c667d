"""Every choice has a list: sources, strategies, objectives; and a look at bars."""

from collections.abc import Mapping
from datetime import UTC, datetime

from rich.table import Table

from data import PROVIDERS, Bars
from optimizer.commands.console import facts_table, stdout
from optimizer.commands.output import print_json
from optimizer.config import resolve_config
from optimizer.markets import load_series
from optimizer.objectives import OBJECTIVES
from optimizer.shown import number
from strategy import STRATEGIES

NS_PER_S = 10**9


def data_command(flags: Mapping[str, object], *, as_json: bool) -> None:
    """Print what bars hold: an object for one series, a list for several."""
    series = load_series(resolve_config(None, flags))
    told = [{**facts_of(bars), "notes": list(bars.notes)} for bars in series]
    if as_json:
        print_json(told[0] if len(told) == 1 else told)
        return
    for bars in series:
        stdout().print(facts_table(facts_of(bars)))
        for note in bars.notes:
            stdout().say(f"note: {note}")


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


def providers_command() -> None:
    """Print the sources of bars."""
    table = Table(box=None)
    for heading in ("source", "how to name it", "what it is"):
        table.add_column(heading, overflow="fold")
    for provider in PROVIDERS.values():
        table.add_row(provider.name, provider.form, provider.summary)
    stdout().print(table)


def strategies_command() -> None:
    """Print strategies and their genes."""
    console = stdout()
    for spec in STRATEGIES.values():
        console.say(f"{spec.name}: {spec.summary}")
        table = Table(box=None)
        table.add_column("  gene")
        for heading in ("low", "default", "high"):
            table.add_column(heading, justify="right")
        table.add_column("unit")
        for gene in spec.layout.genes:
            bounds = (number(value) for value in (gene.low, gene.default, gene.high))
            table.add_row(f"  {gene.name}", *bounds, gene.unit)
        console.print(table)
        console.print()


def objectives_command() -> None:
    """Print objectives."""
    table = Table(box=None)
    table.add_column("objective")
    table.add_column("the search")
    for objective in OBJECTIVES.values():
        table.add_row(objective.name, "maximises it" if objective.maximise else "minimises it")
    stdout().print(table)


def _time(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // NS_PER_S, UTC).strftime("%Y-%m-%d %H:%M UTC")
